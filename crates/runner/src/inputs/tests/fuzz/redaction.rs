//! Whatever a Secret holds, in whatever format: no value of it is in what leaves.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose};
use capt_terraform::redact::{MIN_LENGTH, MIN_LENGTH_ANYWHERE, PLACEHOLDER, Redactor, Secrets};
use proptest::prelude::*;
use serde_json::json;

use super::super::{Maps, loaded, namespaced};
use crate::inputs::ConfigKind;

/// A value of a variable.
#[derive(Clone, Debug)]
enum Node {
    Text(String),
    /// As it is written.
    Number(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    fn leaves<'a>(&'a self, found: &mut Vec<&'a Node>) {
        match self {
            Self::Text(_) | Self::Number(_) => found.push(self),
            Self::List(items) => items.iter().for_each(|item| item.leaves(found)),
            Self::Map(fields) => fields.iter().for_each(|(_, field)| field.leaves(found)),
        }
    }

    /// As Terraform has it.
    fn value(&self) -> String {
        match self {
            Self::Number(text) => plain_number(text),
            Self::Text(text) => text.clone(),
            Self::List(_) | Self::Map(_) => String::new(),
        }
    }
}

/// Terraform's decimal form of `WHOLE`, `WHOLE.FRACTION` and `WHOLEeZEROS`.
fn plain_number(text: &str) -> String {
    match (text.split_once('.'), text.split_once('e')) {
        (Some((whole, fraction)), _) => match fraction.trim_end_matches('0') {
            "" => whole.to_owned(),
            fraction => format!("{whole}.{fraction}"),
        },
        (_, Some((whole, zeros))) => format!("{whole}{}", "0".repeat(zeros.parse().unwrap())),
        _ => text.to_owned(),
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9]{4,12}",
        "[!-~]{4,30}",
        "[a-zA-Z0-9+/]{16,90}={0,2}",
        "[ -~]{4,40}",
        "[a-d\"\\\\${}%#=:,;'é\n\t ]{4,40}",
        "[a-z]{3,20}(\n[a-z=: ]{0,20}){1,4}",
    ]
}

/// Longer ones make a file one that hcl-edit refuses.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        "[1-9][0-9]{3,17}",
        "[1-9][0-9]{2,5}\\.[0-9]{1,4}",
        "[1-9][0-9]{1,3}e[1-9]"
    ]
}

fn key() -> impl Strategy<Value = String> {
    "[a-z][a-z_]{0,8}"
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![4 => text().prop_map(Node::Text), 1 => number().prop_map(Node::Number)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Node::List),
            prop::collection::btree_map(key(), inner, 1..4)
                .prop_map(|fields| Node::Map(fields.into_iter().collect())),
        ]
    })
}

#[derive(Clone, Copy, Debug)]
enum Style {
    HclLine,
    HclCommented,
    HclHeredoc,
    Json,
    JsonPretty,
    Ini,
    Dotenv,
    Yaml,
}

fn quoted_hcl(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    json.replace("${", "$${").replace("%{", "%%{")
}

fn hcl(node: &Node, style: Style) -> String {
    let is_line = matches!(style, Style::HclLine);
    let (open, next, comment) = match is_line {
        true => ("", ", ", ""),
        false => ("\n", ",\n", " # a \"comment\"\n// another\n/* a = \"third\" */ "),
    };
    match node {
        Node::Number(text) => text.clone(),
        // The line of the delimiter belongs to nothing else.
        Node::Text(text) if matches!(style, Style::HclHeredoc) && !text.contains('\r') => {
            format!("<<EOT\n{}\nEOT\n", text.replace("${", "$${").replace("%{", "%%{"))
        }
        Node::Text(text) => quoted_hcl(text),
        Node::List(items) => {
            let items: Vec<String> = items.iter().map(|item| hcl(item, style)).collect();
            format!("[{open}{comment}{}{open}]", items.join(next))
        }
        Node::Map(fields) => {
            let field = |(at, (name, field)): (usize, &(String, Node))| {
                let sign = if at % 2 == 0 { " = " } else { " : " };
                format!("\"{name}\"{sign}{}", hcl(field, style))
            };
            let fields: Vec<String> = fields.iter().enumerate().map(field).collect();
            // Behind a heredoc a line has ended already.
            let next = if matches!(style, Style::HclHeredoc) {
                "\n"
            } else {
                next
            };
            format!("{{{open}{comment}{}{open}}}", fields.join(next))
        }
    }
}

fn json(node: &Node, space: &str) -> String {
    let list = |items: Vec<String>| format!("{space}{}{space}", items.join(&format!(",{space}")));
    match node {
        Node::Number(text) => text.clone(),
        Node::Text(text) => serde_json::to_string(text).unwrap(),
        Node::List(items) => format!("[{}]", list(items.iter().map(|item| json(item, space)).collect())),
        Node::Map(fields) => {
            let field = |(name, field): &(String, Node)| format!("\"{name}\"{space}: {}", json(field, space));
            format!("{{{}}}", list(fields.iter().map(field).collect()))
        }
    }
}

/// Lines of `NAME SIGN VALUE`, one for each leaf.
fn lines(nodes: &[(String, Node)], style: Style) -> String {
    let mut leaves = Vec::new();
    nodes.iter().for_each(|(_, node)| node.leaves(&mut leaves));
    let mut out = match style {
        Style::Ini => "[default]\n".to_owned(),
        _ => String::new(),
    };
    for (at, leaf) in leaves.into_iter().enumerate() {
        let text = match leaf {
            Node::Number(text) | Node::Text(text) => text.trim(),
            Node::List(_) | Node::Map(_) => "",
        };
        let quoted = serde_json::to_string(text).unwrap();
        let is_plain = !text.contains('\n') && !text.starts_with(['"', '\'', '#', ';', '|', '>']);
        let value = if is_plain { text } else { &quoted };
        let line = match style {
            Style::Ini => format!("name_{at} = {value} ; a comment"),
            Style::Dotenv => format!("export NAME_{at}={value}"),
            _ if at % 2 == 0 => format!("- name_{at}: {value}"),
            _ => format!("  name_{at}: {quoted} # a comment"),
        };
        writeln!(out, "{line}").unwrap();
    }
    out
}

/// What the runner takes for secret when a Secret holds these values.
fn collected(nodes: &[(String, Node)], style: Style) -> Secrets {
    let fields = |one: &dyn Fn(&Node) -> String, sign: &str, next: &str| {
        let field = |(name, node): &(String, Node)| format!("{name}{sign}{}", one(node));
        nodes.iter().map(field).collect::<Vec<_>>().join(next)
    };
    let (format, content) = match style {
        Style::HclLine | Style::HclCommented | Style::HclHeredoc => {
            ("HCL", fields(&|node| hcl(node, style), " = ", "\n") + "\n")
        }
        Style::Json => ("JSON", json(&Node::Map(nodes.to_vec()), "")),
        Style::JsonPretty => ("JSON", json(&Node::Map(nodes.to_vec()), "\n  ")),
        Style::Ini | Style::Dotenv | Style::Yaml => ("", lines(nodes, style)),
    };
    let (view, maps) = match format {
        "" => {
            let view =
                json!({"forProvider": {}, "providerConfigRef": {"kind": "ProviderConfig", "name": "own"}});
            let config = json!({"credentials": [
                {"filename": "f", "source": "Secret", "secretRef": {"namespace": "team", "name": "s", "key": "k"}},
            ]});
            (
                namespaced(view),
                Maps::default().config(ConfigKind::Namespaced, "own", config),
            )
        }
        format => {
            let file =
                json!({"source": "SecretKey", "format": format, "secretKeyRef": {"name": "s", "key": "k"}});
            (
                namespaced(json!({"forProvider": {"varFiles": [file]}})),
                Maps::default(),
            )
        }
    };
    let inputs = loaded(&view, &maps.secret("team", "s", "k", &content))
        .unwrap()
        .inputs;
    let given = inputs.files.iter().map(|file| &file.content);
    let given: Vec<_> = given
        .chain(inputs.var_files.iter().map(|file| &file.content))
        .collect();
    assert_eq!(given, [content.as_bytes()], "Terraform reads it");
    inputs.secrets
}

/// As Terraform prints a value in a plan.
fn in_plan(value: &str) -> String {
    let value = value.trim();
    match value.contains('\n') {
        true => {
            let lines = value.lines().map(|line| format!("            {line}\n"));
            format!("  + x = <<-EOT\n{}        EOT\n", lines.collect::<String>())
        }
        false => format!("  + x = {}\n", serde_json::to_string(value).unwrap()),
    }
}

fn wrapped(encoded: &str, width: usize) -> String {
    let lines = encoded
        .as_bytes()
        .chunks(width)
        .map(|line| str::from_utf8(line).unwrap());
    lines.map(|line| format!("x (local-exec): {line}\n")).collect()
}

/// A value in a text that is printed, in this spelling.
fn printed(value: &str) -> Vec<(String, String)> {
    let value = value.trim();
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let encoded = general_purpose::STANDARD.encode(value);
    let json = serde_json::to_string(value).unwrap();
    let json = json[1..json.len() - 1].to_owned();
    let event = serde_json::to_string(&format!("x: {json}.")).unwrap();
    let twice = serde_json::to_string(&json).unwrap();
    let twice = twice[1..twice.len() - 1].to_owned();
    vec![
        (value.to_owned(), format!("is ({value}).\n")),
        (value.to_owned(), format!("│ {value}\n")),
        (json.clone(), format!("{{\"@message\":\"{json}\"}}\n")),
        (json.clone(), format!("\"\\n{json}\\n\"\n")),
        (twice, event),
        (encoded.clone(), format!("\n\"{encoded}\"\n")),
        (hex.clone(), format!("{hex}\n")),
        (hex.to_uppercase(), format!("{}\n", hex.to_uppercase())),
    ]
}

/// Whether a value is a whole token of what was left between placeholders, where a word may have gone on.
fn has_token(part: &str, value: &str) -> bool {
    let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    part.match_indices(value).any(|(at, _)| {
        let before = part[..at].chars().next_back();
        let after = part[at + value.len()..].chars().next();
        let is_bounded = |beside: Option<char>, own: Option<char>| {
            beside.is_some_and(|char| !is_word(char)) || !own.is_some_and(is_word)
        };
        is_bounded(before, value.chars().next()) && is_bounded(after, value.chars().next_back())
    })
}

/// Words that are never secret, and what the Workspace is called.
fn is_public(value: &str) -> bool {
    [
        "true",
        "false",
        "null",
        "redacted",
        "(redacted)",
        "team",
        "team-vpc-abc",
    ]
    .contains(&value)
}

fn in_pieces(redactor: &Redactor, text: &str, size: usize) -> String {
    let mut out = Vec::new();
    let mut stream = redactor.stream();
    for piece in text.as_bytes().chunks(size) {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_value_of_a_secret_leaves(
        nodes in prop::collection::btree_map(key(), node(), 1..4),
        style in prop::sample::select(vec![
            Style::HclLine, Style::HclCommented, Style::HclHeredoc, Style::Json, Style::JsonPretty,
            Style::Ini, Style::Dotenv, Style::Yaml,
        ]),
        size in 1usize..200,
    ) {
        let nodes: Vec<(String, Node)> = nodes.into_iter().collect();
        let redactor = Redactor::new(&collected(&nodes, style));
        let mut leaves = Vec::new();
        nodes.iter().for_each(|(_, node)| node.leaves(&mut leaves));
        for leaf in leaves {
            let value = leaf.value();
            let value = value.trim();
            if value.len() < MIN_LENGTH || is_public(value) {
                continue;
            }
            for (form, text) in printed(value) {
                prop_assert!(text.contains(&form), "{} is not in {}", form, text);
                let clean = redactor.text(&text);
                let is_left = match form.len() {
                    MIN_LENGTH_ANYWHERE.. => clean.contains(&form),
                    _ => clean.split(PLACEHOLDER).any(|part| has_token(part, &form)),
                };
                prop_assert!(!is_left, "{:?} is in {:?}, which was {:?}", form, clean, text);
                prop_assert_eq!(in_pieces(&redactor, &text, size), clean);
            }
            let plan = in_plan(value);
            let clean = redactor.text(&plan);
            // Brackets alone make no line secret.
            let tells = |line: &&str| line.chars().any(char::is_alphanumeric) && !is_public(line);
            for line in value.lines().map(str::trim).filter(|line| line.len() >= MIN_LENGTH).filter(tells) {
                let is_left = clean.split(PLACEHOLDER).any(|part| has_token(part, line));
                prop_assert!(!is_left, "{:?} is in {:?}, which was {:?}", line, clean, plan);
            }
            let encoded = general_purpose::STANDARD.encode(value);
            for width in [64, 76] {
                let clean = redactor.text(&wrapped(&encoded, width));
                for line in encoded.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap()) {
                    prop_assert!(line.len() < MIN_LENGTH_ANYWHERE || !clean.contains(line), "{} is in {}", line, clean);
                }
            }
        }
    }
}
