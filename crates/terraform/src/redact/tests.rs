use base64::{Engine as _, engine::general_purpose};
use proptest::prelude::*;
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
    let redactor = redactor(&["abcdefgh", "efghijkl", "cdefghijklmn", "abcdef"]);
    let cases = [
        ("abcdefghijkl", "(redacted)"),
        ("xabcdefy", "x(redacted)y"),
        ("abcdefghijklmnopq", "(redacted)opq"),
        ("abcdefabcdef", "(redacted)(redacted)"),
        ("abcdeabcdefg", "abcde(redacted)g"),
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
fn overlaps_without_end_fill_no_memory() {
    let redactor = redactor(&["abababab"]);
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    for _ in 0..10_000 {
        stream.push(b"ab", &mut out);
        assert!(stream.held_bytes() <= 16);
    }
    stream.push(b"!", &mut out);
    stream.finish(&mut out);
    assert_eq!(out, b"(redacted)!");
}

/// The end of this one is short, as the ends of keys are.
const KEY: &str = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA7bq1\nx9Q=\n-----END KEY-----\n";

#[test]
fn short_lines_of_a_secret_go_where_they_stand_in_their_order() {
    let pins = "4711\n0815\n\n{\n12 ab\n}";
    let redactor = redactor(&[KEY, pins]);
    let cases = [
        // Told line by line, each after something else.
        (
            "10:00 x (local-exec): 4711\n10:00 x (local-exec): 0815\n10:00 x (local-exec): 12 ab\n10:00 done\n",
            "10:00 x (local-exec): (redacted)\n10:00 x (local-exec): (redacted)\n10:00 x (local-exec): (redacted)\n10:00 done\n",
        ),
        // With what says nothing between them, which stays.
        (
            " + 0815\r\n\n  {\n    12 ab\n  }\n",
            " + (redacted)\r\n\n  {\n    (redacted)\n  }\n",
        ),
        // Beside a longer one, and at the end of all.
        (
            "│ MIIEowIBAAKCAQEA7bq1\n│ x9Q=\n│ end",
            "│ (redacted)\n│ (redacted)\n│ end",
        ),
        ("> 4711\n> 0815", "> (redacted)\n> (redacted)"),
        // Alone, in another order, inside a word, with something else between them.
        ("x9Q=\n4711\n", "x9Q=\n4711\n"),
        ("0815\n4711\n", "0815\n4711\n"),
        ("a4711\nb0815\n", "a4711\nb0815\n"),
        ("4711 times\n0815 times\n", "4711 times\n0815 times\n"),
        ("4711\nyes\n0815\n", "4711\nyes\n0815\n"),
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
    let redactor = redactor(&["hunter22", "pw=hunter22\nend"]);
    let text = "a: pw=hunter22\na: end\n";
    assert_eq!(redactor.text(text), "a: (redacted)\na: (redacted)\n");
}

#[test]
fn lines_without_end_fill_no_memory() {
    let redactor = redactor(&["ab\ncd\nefgh"]);
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    for _ in 0..10_000 {
        stream.push(b"ab ab\n \n", &mut out);
    }
    stream.push(&b"x".repeat(1 << 20), &mut out);
    assert!(out.len() > (1 << 20) + 70_000, "{}", out.len());
    stream.push(b" ab\ncd\nefgh", &mut out);
    stream.finish(&mut out);
    assert!(out.ends_with(b"xxx (redacted)"), "the whole of it is one");
}

#[test]
fn parts_of_files() {
    let mut secrets = Secrets::default();
    secrets.file(
        "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\nregion = us-east-1\npassword: \"hunter22\"\n",
    );
    secrets.file(
        r#"{"type":"service_account","nested":[{"private_key_id":"0123456789"}],"region":"us-east-1"}"#,
    );
    let redactor = Redactor::new(&secrets);
    for gone in [
        "AKIAIOSFODNN7EXAMPLE",
        "hunter22",
        "0123456789",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
    ] {
        assert_eq!(redactor.text(gone), PLACEHOLDER);
    }
    assert_eq!(
        redactor.text("region us-east-1 type service_account"),
        "region us-east-1 type service_account"
    );
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

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

proptest! {
    /// Few letters, so that secrets overlap, repeat and begin inside each other.
    #[test]
    fn no_secret_ever_leaves(
        values in proptest::collection::vec("[ab\"é\n]{6,12}", 1..5),
        text in proptest::collection::vec("[ab\"é\n]{0,9}", 0..12),
        picks in proptest::collection::vec(0usize..5, 0..12),
        size in 1usize..9,
    ) {
        let mut input = String::new();
        for (at, word) in text.iter().enumerate() {
            input.push_str(word);
            if let Some(value) = picks.get(at).and_then(|pick| values.get(*pick)) {
                input.push_str(value);
            }
        }
        let redactor = redactor(&values.iter().map(String::as_str).collect::<Vec<_>>());
        let whole = redactor.text(&input);
        for value in values.iter().map(|value| value.trim()).filter(|value| value.len() >= MIN_LENGTH) {
            prop_assert!(!whole.contains(value), "{value:?} is in {whole:?}");
        }
        prop_assert_eq!(in_pieces(&redactor, input.as_bytes(), size), whole.as_bytes());
    }

    #[test]
    fn no_spelling_ever_leaves(value in "[!-'*-~][ !-'*-~]{6,38}[!-'*-~]", before in "[ -~]{0,5}", after in "[ -~]{0,5}", size in 1usize..40) {
        let redactor = redactor(&[&value]);
        let encoded = general_purpose::STANDARD.encode(format!("{before}{value}{after}"));
        let inner = &encoded[before.len().div_ceil(3) * 4..];
        let input = format!("{before}{value}{after}\n{}\n{encoded}", serde_json::to_string(&value).unwrap());
        let out = in_pieces(&redactor, input.as_bytes(), size);
        prop_assert!(!contains(&out, value.as_bytes()));
        // Of base64 at most the characters that it shares with its neighbours stay.
        let core = &inner[..inner.len().min(value.len().saturating_sub(4))];
        prop_assert!(core.len() < 8 || !contains(&out, core.as_bytes()), "{}", String::from_utf8_lossy(&out));
    }

    /// However a secret is told line by line, no two of its lines leave together.
    #[test]
    fn no_lines_leave_in_their_order(
        lines in proptest::collection::vec("[a-c]{3,7}", 2..6),
        margin in "[ -~]{0,9} ",
        before in "[ a-c\n]{0,20}",
        size in 1usize..30,
    ) {
        let redactor = redactor(&[&lines.join("\n")]);
        let mut input = format!("{before}\n");
        lines.iter().for_each(|line| input.push_str(&format!("{margin}{line}\n")));
        let clean = redactor.text(&input);
        let after: Vec<&str> = clean.lines().rev().take(lines.len()).collect();
        for (line, clean) in lines.iter().rev().zip(after) {
            prop_assert!(!clean.ends_with(line.as_str()), "{line:?} is in {clean:?}");
        }
        prop_assert_eq!(in_pieces(&redactor, input.as_bytes(), size), clean.as_bytes());
    }

    #[test]
    fn any_bytes_pass(bytes in proptest::collection::vec(any::<u8>(), 0..300), size in 1usize..50) {
        let redactor = redactor(&["never there at all"]);
        prop_assert_eq!(in_pieces(&redactor, &bytes, size), bytes);
    }
}
