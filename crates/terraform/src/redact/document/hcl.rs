//! Values in Terraform's language.

use hcl_edit::{
    Span,
    expr::{Expression, ObjectKey, ObjectValue},
    structure::Body,
    template::{Element, Strip},
    visit::{self, Visit},
};

use super::Values;
use crate::redact::number::decimal;

/// The values of a file.
pub(super) fn values(text: &str) -> Values {
    let mut found = ValueCollector::new(text);
    match text.parse::<Body>() {
        Ok(body) => found.visit_body(&body),
        Err(_) => found.values.is_whole = false,
    }
    found.values
}

/// The values of one expression.
pub(super) fn expression_values(text: &str) -> Values {
    let mut found = ValueCollector::new(text);
    match text.parse::<Expression>() {
        Ok(expression) => found.visit_expr(&expression),
        Err(_) => found.values.is_whole = false,
    }
    found.values
}

struct ValueCollector<'a> {
    text: &'a str,
    values: Values,
}

impl<'a> ValueCollector<'a> {
    fn new(text: &'a str) -> Self {
        let values = Values {
            is_whole: true,
            ..Values::default()
        };
        Self { text, values }
    }

    /// What stands in the text between the quotes.
    fn written(&self, node: &impl Span) -> Option<&'a str> {
        let text = self.text.get(node.span()?)?;
        text.strip_prefix('"')?.strip_suffix('"')
    }
}

impl Visit for ValueCollector<'_> {
    fn visit_expr(&mut self, node: &Expression) {
        match node {
            Expression::Null(_) | Expression::Bool(_) => {}
            Expression::Number(number) => {
                let text = number.span().and_then(|span| self.text.get(span));
                let text = text.map_or_else(|| number.value().to_string(), str::to_owned);
                self.values.meant.push(text);
            }
            Expression::String(text) => {
                let written = self.written(text).filter(|written| written != text.value());
                self.values.written.extend(written.map(str::to_owned));
                self.values.meant.push(text.value().clone());
            }
            Expression::StringTemplate(_) | Expression::HeredocTemplate(_) => {
                if let Expression::StringTemplate(template) = node {
                    let written = self.written(template).map(str::to_owned);
                    self.values.written.extend(written);
                }
                match constant_text(node) {
                    Some(text) => self.values.meant.push(text),
                    None => {
                        self.values.is_whole = false;
                        visit::visit_expr(self, node);
                    }
                }
            }
            Expression::Array(_) | Expression::Object(_) | Expression::Parenthesis(_) => {
                visit::visit_expr(self, node);
            }
            _ => {
                self.values.is_whole = false;
                visit::visit_expr(self, node);
            }
        }
    }

    fn visit_object_item(&mut self, _: &ObjectKey, value: &ObjectValue) {
        self.visit_expr(value.expr());
    }

    fn visit_element(&mut self, node: &Element) {
        match node {
            Element::Literal(text) => self.values.meant.push(text.value().clone()),
            Element::Interpolation(_) | Element::Directive(_) => visit::visit_element(self, node),
        }
    }
}

/// What an expression of constants is as text.
fn constant_text(expression: &Expression) -> Option<String> {
    match expression {
        Expression::String(text) => Some(text.value().clone()),
        Expression::Number(number) => decimal(&number.value().to_string()),
        Expression::Bool(value) => Some(value.value().to_string()),
        Expression::Parenthesis(inner) => constant_text(inner.inner()),
        Expression::StringTemplate(template) => constant_elements(template.iter()),
        Expression::HeredocTemplate(heredoc) => constant_elements(heredoc.template.iter()),
        _ => None,
    }
}

fn constant_elements<'a>(elements: impl Iterator<Item = &'a Element>) -> Option<String> {
    let text = |element: &Element| match element {
        Element::Literal(text) => Some(text.value().clone()),
        Element::Interpolation(inner) if inner.strip == Strip::None => constant_text(&inner.expr),
        Element::Interpolation(_) | Element::Directive(_) => None,
    };
    elements.map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `terraform show` printed of these values.
    #[test]
    fn values_are_those_that_terraform_reads() {
        for (text, meant) in [
            ("a = \"b\" # c\n", vec!["b"]),
            ("/* x */ a = \"b\" // c\n", vec!["b"]),
            (
                "a = [\"b\", [\"c\"], { d = \"e\", \"f g\" = \"h\", (\"i\") : \"j\" }]\n",
                vec!["b", "c", "e", "h", "j"],
            ),
            (
                r#"a = "a\"b\\c\td$${x}%%{y}\u0007\U0001F600""#,
                vec!["a\"b\\c\td${x}%{y}\u{7}\u{1f600}"],
            ),
            (
                "a = [1e3, 1.50, 1234567890123456789, -5.0]\n",
                vec!["1e3", "1.50", "1234567890123456789", "-5.0"],
            ),
            (
                "a = <<EOT\n  in \\n \"it\" $${x}\n\n  EOTx\nEOT\n",
                vec!["  in \\n \"it\" ${x}\n\n  EOTx\n"],
            ),
            (
                "a = <<-EOT\n    one\n      \"two\"\n  EOT\n",
                vec!["one\n  \"two\"\n"],
            ),
            ("a = { b = <<EOT\nin\nEOT\n}\n", vec!["in\n"]),
            ("a = <<EOT\nEOT\n", vec![""]),
            ("a = (\n\"b\"\n)\n", vec!["b"]),
            ("a = [true, null]\nb = \"\"\n", vec![""]),
            ("", vec![]),
        ] {
            let found = values(text);
            assert_eq!(found.meant, meant, "{text}");
            assert!(found.is_whole, "{text}");
        }
    }

    #[test]
    fn templates_of_constants_are_one_value() {
        for (text, whole) in [
            (r#"a = "hun${"ter"}22""#, "hunter22"),
            (r#"a = "${1.50}${(true)}""#, "1.5true"),
            ("a = <<-EOT\n    one\n    ${\"two\"}\n    EOT\n", "one\ntwo\n"),
        ] {
            let found = values(text);
            assert_eq!(found.meant, [whole], "{text}");
            assert!(found.is_whole, "{text}");
        }
    }

    #[test]
    fn what_is_no_constant_is_not_the_whole() {
        for (text, meant) in [
            ("a = hunter22\n", vec![]),
            ("a = ab-cd/ef\n", vec![]),
            ("a = upper(\"hunter22\")\n", vec!["hunter22"]),
            ("a = true ? \"one\" : [\"two\"]\n", vec!["one", "two"]),
            ("a = \"hun${ter}22\"\n", vec!["hun", "22"]),
            ("a = \"hun ${~ \"ter\" ~} 22\"\n", vec!["hun ", "ter", " 22"]),
            ("a = [for x in [\"one\"]: x]\n", vec!["one"]),
            ("a = [\"one\"\n", vec![]),
            ("{\"a\": \"b\"}", vec![]),
            // Terraform reads this, and hcl-edit does not.
            ("a = 12345678901234567890123\n", vec![]),
        ] {
            let found = values(text);
            assert_eq!(found.meant, meant, "{text}");
            assert!(!found.is_whole, "{text}");
        }
        for deep in ["[", "{a=", "(", "\"${", "-", "!"] {
            assert!(
                !values(&format!("a = {}", deep.repeat(100_000))).is_whole,
                "{deep}"
            );
        }
    }

    #[test]
    fn what_is_written_otherwise_is_known_as_it_stands() {
        let found = values(r#"a = ["hun\u0074er", "plain"]"#);
        assert_eq!(found.meant, ["hunter", "plain"]);
        assert_eq!(found.written, [r"hun\u0074er"]);
    }
}
