mod properties;
mod tokens;

use base64::{Engine as _, engine::general_purpose};
use serde_json::{Value, json};

use super::*;

fn redactor(values: &[&str]) -> Redactor {
    let mut secrets = Secrets::default();
    values.iter().for_each(|value| secrets.value(value));
    Redactor::new(&secrets)
}

fn in_pieces(redactor: &Redactor, bytes: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut stream = redactor.stream();
    for piece in bytes.chunks(size) {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    out
}

#[test]
fn takes_out_every_spelling() {
    let secret = "pä ss\"w<ord\n+/\\&x";
    let redactor = redactor(&[secret]);
    let go_json = serde_json::to_string(secret)
        .unwrap()
        .replace('<', "\\u003c")
        .replace('&', "\\u0026");
    let quoted = serde_json::to_string(secret).unwrap();
    let cases = [
        secret.to_owned(),
        quoted.clone(),
        go_json,
        serde_json::to_string(&quoted).unwrap(),
        general_purpose::STANDARD.encode(secret),
        general_purpose::STANDARD.encode(format!("user:{secret}@host")),
        general_purpose::STANDARD.encode(format!("users:{secret}@host")),
        general_purpose::STANDARD.encode(format!("us:{secret}@host")),
        general_purpose::URL_SAFE_NO_PAD.encode(format!("a{secret}")),
        "p%C3%A4%20ss%22w%3Cord%0A%2B%2F%5C%26x".to_owned(),
        "p%c3%a4+ss%22w%3cord%0a%2b%2f%5c%26x".to_owned(),
        hex(secret),
        hex(secret).to_uppercase(),
    ];
    for text in cases {
        let clean = redactor.text(&format!("before {text} after"));
        assert!(clean.contains(PLACEHOLDER), "{text} left as {clean}");
        assert!(
            clean.starts_with("before ") && clean.ends_with(" after"),
            "{text} left as {clean}"
        );
        assert!(
            clean.len() <= "before  after".len() + PLACEHOLDER.len() + 20,
            "{text} left as {clean}"
        );
    }
}

#[test]
fn leaves_ordinary_text_alone() {
    let redactor = redactor(&["yes", "  ab  ", "", "s3cr3t-value"]);
    for text in [
        "",
        "yes and no",
        "s3cr3t",
        "about s3cr3t-valu",
        "s3cr3t-s3cr3t-val",
    ] {
        assert_eq!(redactor.text(text), text);
    }
    assert_eq!(Redactor::default().text("anything"), "anything");
}

#[test]
fn overlapping_secrets_leave_nothing_of_each_other() {
    let redactor = redactor(&[
        "abcdefghijklmnopqrst",
        "ijklmnopqrstuvwxyz01",
        "efghijklmnopqrstuvwxyz0123",
        "abcdefghijklmnop",
    ]);
    let cases = [
        ("abcdefghijklmnopqrstuvwxyz01", "(redacted)"),
        ("0abcdefghijklmnop0", "0(redacted)0"),
        ("abcdefghijklmnopqrstuvwxyz0123456", "(redacted)456"),
        ("abcdefghijklmnopabcdefghijklmnop", "(redacted)(redacted)"),
        ("abcdefghijklmnoabcdefghijklmnopq", "abcdefghijklmno(redacted)q"),
    ];
    for (text, expected) in cases {
        assert_eq!(redactor.text(text), expected);
        for size in 1..text.len() {
            assert_eq!(in_pieces(&redactor, text.as_bytes(), size), expected.as_bytes());
        }
    }
}

#[test]
fn lines_leave_as_soon_as_they_are_harmless() {
    let redactor = redactor(&["first line of it\nsecond line of it"]);
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    stream.push(b"harmless\n", &mut out);
    assert_eq!(out, b"harmless\n");
    stream.push(b"first line", &mut out);
    assert_eq!(out, b"harmless\n");
    stream.push(b" up\n", &mut out);
    assert_eq!(out, b"harmless\nfirst line up\n");
}

#[test]
fn half_a_secret_at_a_cut_is_taken_out() {
    let redactor = redactor(&["correct-horse-battery", "hunter22"]);
    for (text, expected) in [
        ("is correct-horse…", "is (redacted)…"),
        ("is hunt…", "is (redacted)…"),
        ("is cor…", "is cor…"),
        ("is correct-horse", "is correct-horse"),
        ("is hunter22…", "is (redacted)…"),
        ("…", "…"),
    ] {
        assert_eq!(redactor.text(text), expected);
    }
}

#[test]
fn overlaps_without_end_fill_no_memory() {
    let redactor = redactor(&["abababababababab"]);
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    for _ in 0..10_000 {
        stream.push(b"ab", &mut out);
        assert!(stream.held_bytes() <= 32);
    }
    stream.push(b"!", &mut out);
    stream.finish(&mut out);
    assert_eq!(out, b"(redacted)!");
}

/// The end of this one is short, as the ends of keys are.
const KEY: &str = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA7bq1\nx9=\n-----END KEY-----\n";

#[test]
fn short_lines_of_a_secret_go_where_they_stand_in_their_order() {
    let pins = "471\n081\n\n{\n12b\n}";
    let redactor = redactor(&[KEY, pins]);
    let cases = [
        // Line by line, each behind something else.
        (
            "10:00 x (local-exec): 471\n10:00 x (local-exec): 081\n10:00 x (local-exec): 12b\n10:00 done\n",
            "10:00 x (local-exec): (redacted)\n10:00 x (local-exec): (redacted)\n10:00 x (local-exec): (redacted)\n10:00 done\n",
        ),
        // With what says nothing between them, which stays.
        (
            " + 081\r\n\n  {\n    12b\n  }\n",
            " + (redacted)\r\n\n  {\n    (redacted)\n  }\n",
        ),
        // Beside a longer one, and at the end of all.
        (
            "│ MIIEowIBAAKCAQEA7bq1\n│ x9=\n│ end",
            "│ (redacted)\n│ (redacted)\n│ end",
        ),
        ("> 471\n> 081", "> (redacted)\n> (redacted)"),
        // Alone, in another order, inside a word, with something else between them.
        ("x9=\n471\n", "x9=\n471\n"),
        ("081\n471\n", "081\n471\n"),
        ("a471\nb081\n", "a471\nb081\n"),
        ("471 times\n081 times\n", "471 times\n081 times\n"),
        ("471\nyes\n081\n", "471\nyes\n081\n"),
        // Brackets of anybody.
        ("{\n  {\n  }\n}\n}\n{\n", "{\n  {\n  }\n}\n}\n{\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(redactor.text(text), expected);
        for size in 1..text.len() {
            let out = in_pieces(&redactor, text.as_bytes(), size);
            assert_eq!(String::from_utf8_lossy(&out), expected, "in pieces of {size}");
        }
    }
    assert_eq!(redactor.text(pins), PLACEHOLDER, "the whole of it is one");
}

#[test]
fn what_other_secrets_leave_of_a_line_is_known_too() {
    let redactor = redactor(&["hunter22", "x hunter22 y\nend"]);
    let text = "a: x hunter22 y\na: end\n";
    assert_eq!(redactor.text(text), "a: (redacted)\na: (redacted)\n");
}

#[test]
fn lines_without_end_fill_no_memory() {
    let redactor = redactor(&["ab\ncd\nefg"]);
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    for _ in 0..10_000 {
        stream.push(b"ab ab\n \n", &mut out);
    }
    stream.push(&b"x".repeat(1 << 20), &mut out);
    assert!(out.len() > (1 << 20) + 70_000, "{}", out.len());
    stream.push(b" ab\ncd\nefg", &mut out);
    stream.finish(&mut out);
    assert!(out.ends_with(b"xxx (redacted)"), "the whole of it is one");
}

#[test]
fn every_value_of_a_file_is_secret_and_no_name() {
    let mut secrets = Secrets::default();
    secrets.file(
        "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\nregion = us-east-1\npassword: \"hunter22\"\n",
    );
    secrets.file(
        r#"{"type":"service_account","nested":[{"private_key_id":"0123456789"}],"region":"us-east-1"}"#,
    );
    secrets.file("token = \"hunter33\"");
    let redactor = Redactor::new(&secrets);
    for gone in [
        "AKIAIOSFODNN7EXAMPLE",
        "hunter22",
        "hunter33",
        "0123456789",
        "us-east-1",
        "service_account",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
    ] {
        assert_eq!(redactor.text(gone), PLACEHOLDER);
    }
    let names = "aws_access_key_id, region, password, type, nested, private_key_id, token";
    assert_eq!(redactor.text(names), names);
}

#[test]
fn what_terraform_marks() {
    let plan: Value = serde_json::from_str(include_str!("../../tests/fixtures/show-plan.json")).unwrap();
    let state: Value =
        serde_json::from_str(include_str!("../../tests/fixtures/backend-secret.tfstate")).unwrap();
    let attributes = json!({"resources": [{"instances": [{
        "attributes": {"password": "attribute-secret", "input": {"type": "string", "value": {"deep": ["x", "deep-secret"]}}},
        "sensitive_attributes": [
            [{"type": "get_attr", "value": "password"}],
            [{"type": "get_attr", "value": "input"}, {"type": "get_attr", "value": "deep"},
             {"type": "index", "value": {"value": 1, "type": "number"}}],
            [{"type": "get_attr", "value": "missing"}],
        ],
    }]}]});
    let changes = json!({"resource_changes": [{"change": {
        "before": {"a": ["plain-text", "list-secret"]}, "before_sensitive": {"a": [false, true]},
        "after": {"b": {"c": "map-secret"}}, "after_sensitive": {"b": true},
    }}]});
    let public = json!({
        "resource_changes": [{"type": "aws_vpc", "name": "main", "index": "key-of-it", "module_address": "module.network[\"a.list\"].module.inner"}],
        "output_changes": {
            "region": {"before": null, "before_sensitive": false, "after": "eu-central-1", "after_sensitive": false},
            "db_password": {"after": "hunter22", "after_sensitive": false},
            "hidden": {"after": "hunter33", "after_sensitive": true},
        },
        "outputs": {
            "zone": {"value": ["eu-central-1a"], "sensitive": false},
            "api_token": {"value": "hunter44"},
            "kept": {"value": "hunter55", "sensitive": true},
        },
        "resources": [{"type": "aws_subnet", "name": "public", "module": "module.other", "instances": []}],
    });
    let text = "aws_vpc main network inner eu-central-1 aws_subnet public other eu-central-1a";
    let hidden = "key-of-it a.list hunter22 hunter33 hunter44 hunter55";
    let mut secrets = Secrets::default();
    text.split(' ')
        .chain(hidden.split(' '))
        .for_each(|word| secrets.value(word));
    let before = Redactor::new(&secrets).text(text);
    assert_eq!(
        before.matches(PLACEHOLDER).count(),
        text.split(' ').count(),
        "{before}"
    );
    sensitive_in_plan(&public, &mut secrets);
    sensitive_in_state(&public, &mut secrets);
    let redactor = Redactor::new(&secrets);
    assert_eq!(redactor.text(text), text);
    for word in hidden.split(' ') {
        assert_eq!(redactor.text(word), PLACEHOLDER, "{word}");
    }

    let mut secrets = Secrets::default();
    sensitive_in_plan(&plan, &mut secrets);
    sensitive_in_plan(&changes, &mut secrets);
    assert_eq!(
        Redactor::new(&secrets).text("s3cr3t-value list-secret map-secret"),
        "(redacted) (redacted) (redacted)"
    );
    assert_eq!(Redactor::new(&secrets).text("plain-text"), "plain-text");

    let mut secrets = Secrets::default();
    sensitive_in_state(&state, &mut secrets);
    assert_eq!(Redactor::new(&secrets).text("s3cr3t-value"), PLACEHOLDER);
    let mut secrets = Secrets::default();
    sensitive_in_state(&attributes, &mut secrets);
    assert_eq!(
        Redactor::new(&secrets).text("attribute-secret deep-secret"),
        "(redacted) (redacted)"
    );
}

#[test]
fn debug_output_has_no_secret() {
    let mut secrets = Secrets::default();
    secrets.value("s3cr3t-value");
    assert!(!format!("{secrets:?}{:?}", Redactor::new(&secrets)).contains("s3cr3t"));
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}
