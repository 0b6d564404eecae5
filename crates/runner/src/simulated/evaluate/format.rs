//! The function `format`.

use hcl::Value;

/// The text with its verbs replaced by values.
pub(super) fn format(text: &str, values: &[Value]) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut values = values.iter();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            out.push(char);
            continue;
        }
        let mut options = String::new();
        let verb = loop {
            match chars.next() {
                Some(option) if option.is_ascii_digit() || ".-+".contains(option) => options.push(option),
                Some(verb) => break verb,
                None => return Err("the text ends in the middle of a verb".to_owned()),
            }
        };
        if verb == '%' {
            out.push('%');
            continue;
        }
        let value = values.next().ok_or("there are not enough arguments")?;
        out.push_str(&one(verb, &options, value)?);
    }
    Ok(out)
}

fn one(verb: char, options: &str, value: &Value) -> Result<String, String> {
    let (width, precision) = options.split_once('.').unwrap_or((options, ""));
    let number = || value.as_f64().ok_or("a number is required");
    let text = match verb {
        's' | 'v' => plain(value)?,
        'q' => serde_json::Value::from(plain(value)?).to_string(),
        't' => value.as_bool().ok_or("a bool is required")?.to_string(),
        'd' => format!("{:.0}", number()?.trunc()),
        'f' => format!("{:.*}", precision.parse().unwrap_or(6), number()?),
        'x' => format!("{:x}", value.as_u64().ok_or("a whole number is required")?),
        other => return Err(format!("the verb %{other} is not known")),
    };
    let pad = if width.starts_with('0') { "0" } else { " " };
    let missing = width
        .trim_start_matches('0')
        .parse::<usize>()
        .unwrap_or(0)
        .min(1000);
    Ok(pad.repeat(missing.saturating_sub(text.chars().count())) + &text)
}

/// A value as text, as templates have it.
pub(super) fn plain(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        other => serde_json::to_string(other).map_err(|error| error.to_string()),
    }
}
