//! What holds for every template and every value.

use capt_api::foreign::forprovider::FileFormat;
use hcl_edit::{
    expr::Expression,
    structure::{Block, Body, Structure},
};
use proptest::prelude::*;

use super::*;

/// Values made of what could do harm.
pub(super) fn value() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "\"",
        "\\",
        "\n",
        "\r\n",
        "$",
        "${",
        "$${",
        "%",
        "%{",
        "{",
        "}",
        "~",
        "${a}",
        "%{ if true }",
        "%{ endif }",
        "EOT",
        "\nEOT\n",
        "\u{0}",
        "\u{feff}",
        "\u{202e}",
        "'",
        "#",
        "//",
        "/*",
        "*/",
        "resource \"x\" \"y\" {}",
        "\",\"x\":\"",
        "- ",
        ": ",
        "é",
        "😀",
        "a",
    ]);
    prop_oneof![
        prop::collection::vec(nasty, 0..8).prop_map(|parts| parts.concat()),
        any::<String>(),
    ]
}

/// Text of a module made of what could meet a hole. Every piece is whole by itself, so that most modules can be parsed.
pub(super) fn quoted_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "${a}",
        "${b}",
        "${ a }",
        "${~ b ~}",
        "$${a}",
        "%%{",
        "%",
        "{",
        "}",
        " ",
        "x",
        "\\\"",
        "\\\\",
        "\\n",
        "\\u00e9",
        "${var.a}",
        "${upper(\"${a}\")}",
        "%{ if var.a }${a}%{ else }-${b}%{ endif }",
        "${[for a in b : \"${a}${b}\"]}",
        "é",
    ]);
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

pub(super) fn hcl_module() -> impl Strategy<Value = String> {
    (quoted_text(), quoted_text(), quoted_text()).prop_map(|(one, two, three)| {
        let heredoc = three.replace("\\\"", "\"");
        format!(
            "a = \"{one}\"\nb \"c\" {{\n  d = [\"{two}\", {{ \"{one}\" = 1 }}]\n  e = <<-EOT\n    {heredoc}\n    EOT\n}}\n"
        )
    })
}

fn json_module() -> impl Strategy<Value = String> {
    (quoted_text(), quoted_text()).prop_map(|(one, two)| {
        let (one, two) = (one.replace("\\u00e9", "e"), two.replace("\\u00e9", "e"));
        json!({"a": one, "b": [{"c": two}, 1, null], "d": {"e": one}}).to_string()
    })
}

/// What a module consists of, but for the texts in it.
pub(super) fn blocks(body: &Body) -> Vec<String> {
    let mut shape = Vec::new();
    for structure in body {
        match structure {
            Structure::Attribute(attribute) => {
                shape.push(format!(
                    "{} = {}",
                    attribute.key.as_str(),
                    expression(&attribute.value)
                ));
            }
            Structure::Block(block) => {
                shape.push(format!("{} {:?}", block.ident.as_str(), labels(block)));
                shape.extend(blocks(&block.body));
                shape.push("end".to_owned());
            }
        }
    }
    shape
}

fn labels(block: &Block) -> Vec<&str> {
    block.labels.iter().map(|label| label.as_str()).collect()
}

fn expression(expression: &Expression) -> String {
    match expression {
        Expression::Array(items) => items.iter().map(self::expression).collect::<Vec<_>>().join(","),
        Expression::Object(items) => format!("object of {}", items.len()),
        Expression::String(_) | Expression::StringTemplate(_) | Expression::HeredocTemplate(_) => {
            "text".to_owned()
        }
        other => other.to_string(),
    }
}

/// Every path of a document with the type of what is there.
fn shape(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            paths.push(format!("{path} list"));
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| shape(item, &format!("{path}[{index}]"), paths));
        }
        Value::Object(fields) => {
            paths.push(format!("{path} map"));
            fields
                .iter()
                .for_each(|(name, field)| shape(field, &format!("{path}.{name}"), paths));
        }
        Value::String(_) => paths.push(format!("{path} text")),
        other => paths.push(format!("{path} {other}")),
    }
}

fn shape_of(value: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    shape(value, "", &mut paths);
    paths
}

pub(super) fn fill(format: FileFormat, text: &str, a: &str, b: &str) -> String {
    let format = if format == FileFormat::HCL { "HCL" } else { "JSON" };
    module(format, text, &[("a", a), ("b", b)])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_value_changes_the_shape_of_hcl(text in hcl_module(), a in value(), b in value()) {
        prop_assume!(holes(&inline("HCL", &text)).is_ok());
        let filled = fill(FileFormat::HCL, &text, &a, &b);
        let (before, after): (Body, Body) = (text.parse().unwrap(), filled.parse().unwrap());
        prop_assert_eq!(blocks(&before), blocks(&after));
        // Filled once, nothing is left to fill: a value is not a template.
        prop_assert_eq!(fill(FileFormat::HCL, &filled, "other", "other"), filled);
    }

    #[test]
    fn no_value_changes_the_shape_of_a_json_module(text in json_module(), a in value(), b in value()) {
        prop_assume!(holes(&inline("JSON", &text)).is_ok());
        let filled = fill(FileFormat::JSON, &text, &a, &b);
        let (before, after): (Value, Value) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_str(&filled).unwrap());
        prop_assert_eq!(shape_of(&before), shape_of(&after));
        prop_assert_eq!(fill(FileFormat::JSON, &filled, "other", "other"), filled);
    }

    #[test]
    fn no_value_changes_the_shape_of_a_spec(a in value(), b in value()) {
        let spec = json!({
            "forProvider": {
                "source": "Remote", "module": "m-${a}", "entrypoint": "${b}",
                "vars": [{"key": "k", "value": "${a}${b}"}, {"key": "k-${b}", "value": "$${a}"}],
                "varmap": {"x": ["${a}", {"y": "${b}", "z": 1}]},
            },
            "providerConfigRef": {"name": "p-${a}"},
        });
        let filled = rendered(&template(&spec), &[("a", &a), ("b", &b)]);
        let plain = rendered(&template(&spec), &[("a", "a"), ("b", "b")]);
        prop_assert_eq!(shape_of(&filled), shape_of(&plain));
        prop_assert_eq!(filled["forProvider"]["vars"][0]["value"].as_str().unwrap(), format!("{a}{b}"));
        prop_assert_eq!(filled["forProvider"]["vars"][1]["value"].as_str().unwrap(), "${a}");
    }

    /// The parser reads back what was written, so that what Terraform sees is the value.
    #[test]
    fn a_quoted_value_is_read_back(a in value().prop_filter("not empty", |value| !value.is_empty())) {
        for text in ["a = \"<${a}>\"", "a = \"${a}\""] {
            let filled = fill(FileFormat::HCL, text, &a, "");
            let body: Body = filled.parse().unwrap();
            let Some(Expression::String(read)) = body.get_attribute("a").map(|attribute| &attribute.value) else {
                return Err(TestCaseError::fail(filled));
            };
            let expected = if text.contains('<') { format!("<{a}>") } else { a.clone() };
            prop_assert_eq!(read.as_str(), expected);
        }
    }

    #[test]
    fn the_same_input_gives_the_same_rendering(text in hcl_module(), a in value(), b in value()) {
        let (template, variables) = (inline("HCL", &text), variables(&[("a", &a), ("b", &b)]));
        let input = input(&template, &variables);
        prop_assert_eq!(render(&input), render(&input));
    }

    /// Whatever is thrown at it, rendering answers; and without variables it leaves a module alone, or says which it needs.
    #[test]
    fn any_text_gets_an_answer(
        text in prop_oneof![any::<String>(), quoted_text(), value(), hcl_module(), json_module()],
        cut in any::<prop::sample::Index>(),
        format in prop::sample::select(vec!["HCL", "JSON"]),
        name in value(),
        given in value(),
    ) {
        let end = (0..=cut.index(text.len() + 1)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        for text in [text.as_str(), &text[..end]] {
            let template = inline(format, text);
            let open = unfilled(&template, &BTreeMap::new());
            match render(&input(&template, &BTreeMap::new())) {
                Ok(rendering) => {
                    let spec = serde_json::to_value(rendering.spec).unwrap();
                    let written = spec["forProvider"]["module"].as_str().unwrap().to_owned();
                    if open.as_ref().is_ok_and(Vec::is_empty) && rendering.filled.is_empty() {
                        prop_assert_eq!(written, text);
                    }
                    prop_assert_eq!(open.unwrap(), []);
                }
                Err(_) => prop_assert!(!open.is_ok_and(|open| open.is_empty()) || text.len() > MAX_BYTES / 8),
            }
            let _ = render(&input(&template, &variables(&[(&name, &given), ("a", &given)])));
            let remote = super::template(&json!({"forProvider": {"source": "Remote", "module": text}}));
            let _ = render(&input(&remote, &variables(&[(&name, &given)])));
        }
    }
}
