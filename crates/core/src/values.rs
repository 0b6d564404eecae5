//! Values for modules, as text that Terraform reads in whatever way the type of a variable asks for.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{
    json,
    ser::{CharEscape, Formatter, Serializer},
};

/// JSON that is also an expression of Terraform's language, and means the same in it.
#[must_use]
pub(crate) fn json(value: impl Serialize) -> String {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = json!(value).serialize(&mut Serializer::with_formatter(&mut text, OfBoth));
    String::from_utf8(text).unwrap_or_default()
}

/// What is written the same in both.
struct OfBoth;

impl Formatter for OfBoth {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // In a text of Terraform's these begin a template, but not where the first sign is written by its number.
        let fragment = fragment.replace("${", "\\u0024{").replace("%{", "\\u0025{");
        writer.write_all(fragment.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        let text = match escape {
            CharEscape::Quote => "\\\"",
            CharEscape::ReverseSolidus => "\\\\",
            CharEscape::Solidus => "/",
            CharEscape::LineFeed => "\\n",
            CharEscape::CarriageReturn => "\\r",
            CharEscape::Tab => "\\t",
            // Terraform knows no short form of these.
            CharEscape::Backspace => "\\u0008",
            CharEscape::FormFeed => "\\u000c",
            CharEscape::AsciiControl(byte) => return write!(writer, "\\u{byte:04x}"),
        };
        writer.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use hcl_edit::expr::Expression;
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_written_is_json_and_an_expression_of_the_same_value() {
        for text in [
            "plain",
            "{\"a\":\"${FOO}\"}",
            "%{ if true }$${x}%%{y}$",
            "q\"\\ \u{8}\u{c}\n\r\t\u{1}\u{7f}/ä𝄞",
            "\\${x}",
        ] {
            let value = json!([{"name": text}]);
            let written = json(&value);
            assert_eq!(
                serde_json::from_str::<Value>(&written).ok(),
                Some(value),
                "{written}"
            );
            let expression: Expression = written.parse().expect(&written);
            let Expression::Array(items) = expression else {
                panic!("{written}")
            };
            let Some(Expression::Object(object)) = items.get(0) else {
                panic!("{written}")
            };
            let (_, read) = object.iter().next().expect("a field");
            assert_eq!(read.expr().as_str(), Some(text), "{written}");
        }
    }
}
