//! Variables as text, read as Terraform reads `-var`, in a file: arguments can be seen by everybody on the machine.

use std::fmt::Write as _;

use hcl_edit::expr::Expression;

use super::inspect::{About, Reading};

/// The file with these variables. Fails with what is wrong and what to do.
pub(super) fn file(vars: &[(String, String)], module: &About) -> Result<String, String> {
    let mut file = String::new();
    // The last one counts, as with arguments; a file may have each only once.
    let mut seen = Vec::new();
    for (name, value) in vars.iter().rev() {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let reading = match module.variables.get(name) {
            Some(reading) => *reading,
            // Terraform will say what is wrong with the module.
            None if module.unreadable => Reading::Literal,
            None => return Err(undeclared(name, module)),
        };
        let value = match reading {
            Reading::Literal => quoted(value),
            Reading::Expression => expression(name, value)?.to_owned(),
        };
        // Writing to a String cannot fail. In parentheses a value may go over several lines.
        let _ = writeln!(file, "{name} = (\n{value}\n)");
    }
    Ok(file)
}

fn undeclared(name: &str, module: &About) -> String {
    let declared: Vec<&str> = module.variables.keys().map(String::as_str).take(50).collect();
    let declared = match declared.as_slice() {
        [] => "It declares none.".to_owned(),
        names => format!("It declares {}.", names.join(", ")),
    };
    format!(
        "The module has no variable {name:?}. {declared} Correct the name in spec.forProvider.vars, or declare the \
         variable in the module."
    )
}

fn expression<'a>(name: &str, value: &'a str) -> Result<&'a str, String> {
    match value.parse::<Expression>() {
        Ok(_) => Ok(value),
        Err(error) => {
            let message = error.message();
            Err(format!(
                "The value of variable {name:?} must be an expression of Terraform's language, because of the \
                 variable's type, and cannot be read at line {}, column {}: {message}",
                error.location().line(),
                error.location().column(),
            ))
        }
    }
}

/// Text between quotes, so that it means itself.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Doubled, it begins no template.
            '$' | '%' if chars.peek() == Some(&'{') => out.extend([char, char]),
            char if char.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module() -> About {
        let mut module = About::default();
        module.variables.insert("text".to_owned(), Reading::Literal);
        module.variables.insert("list".to_owned(), Reading::Expression);
        module
    }

    fn of(name: &str, value: &str) -> Result<String, String> {
        file(&[(name.to_owned(), value.to_owned())], &module())
    }

    #[test]
    fn each_is_written_as_its_type_says() {
        let cases = [
            ("text", "plain", "text = (\n\"plain\"\n)\n"),
            ("text", "[1]", "text = (\n\"[1]\"\n)\n"),
            (
                "text",
                "q\"\\\n${x}%{y}$",
                "text = (\n\"q\\\"\\\\\\n$${x}%%{y}$\"\n)\n",
            ),
            ("text", "\u{0}", "text = (\n\"\\u0000\"\n)\n"),
            ("list", "[1,\n 2]", "list = (\n[1,\n 2]\n)\n"),
            ("list", "{ a = \"b\" }", "list = (\n{ a = \"b\" }\n)\n"),
        ];
        for (name, value, expected) in cases {
            assert_eq!(of(name, value).as_deref(), Ok(expected), "{name}={value}");
        }
    }

    #[test]
    fn a_value_is_never_more_than_a_value() {
        for value in ["1\n)\ntext = (\"x\"", "[1]\ntext = \"x\"", "", "[1", "1)"] {
            let problem = of("list", value).unwrap_err();
            assert!(problem.contains("\"list\""), "{value}: {problem}");
        }
    }

    #[test]
    fn names_what_is_not_declared() {
        let problem = of("tetx", "a").unwrap_err();
        assert!(
            problem.contains("\"tetx\"") && problem.contains("list, text"),
            "{problem}"
        );
        let mut broken = module();
        broken.unreadable = true;
        let vars = [("tetx".to_owned(), "a".to_owned())];
        assert!(file(&vars, &broken).is_ok());
        let problem = file(&vars, &About::default()).unwrap_err();
        assert!(problem.contains("declares none"), "{problem}");
    }

    #[test]
    fn the_last_of_a_name_counts() {
        let vars = [("text", "1"), ("text", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(file(&vars, &module()).as_deref(), Ok("text = (\n\"2\"\n)\n"));
    }
}
