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
fn short_secrets_are_taken_out_as_whole_tokens() {
    let redactor = redactor(&[
        "prod",
        "5432",
        "1e3",
        "p w!d",
        "$ab$",
        "abc",
        "fifteen-bytes-x",
        "sixteen-bytes-xy",
    ]);
    let cases = [
        ("prod", "(redacted)"),
        ("product prods", "product prods"),
        ("vpc-prod-1 x_prod prod_x", "vpc-(redacted)-1 x_prod prod_x"),
        (
            "postgres://user:prod@host:5432/db",
            "postgres://user:(redacted)@host:(redacted)/db",
        ),
        ("\"a\\nprod\\n\"", "\"a\\n(redacted)\\n\""),
        ("?a=b%3Dprod&c", "?a=b%3D(redacted)&c"),
        ("\u{1b}[31mprod\u{1b}[0m", "\u{1b}[31m(redacted)\u{1b}[0m"),
        ("│prod│", "│(redacted)│"),
        ("15432 54321 1000 1e3", "15432 54321 (redacted) 1e3"),
        ("xp w!d", "xp w!d"),
        ("x $ab$x", "x (redacted)x"),
        ("abc", "abc"),
        (
            "xfifteen-bytes-x fifteen-bytes-x.",
            "xfifteen-bytes-x (redacted).",
        ),
        ("xsixteen-bytes-xyz", "x(redacted)z"),
        // The longest that is a token counts, and a longer one that is none does not hide a shorter one.
        ("fifteen-bytes-x-prod", "(redacted)-(redacted)"),
    ];
    for (text, expected) in cases {
        assert_eq!(redactor.text(text), expected);
        for size in 1..text.len() {
            let out = in_pieces(&redactor, text.as_bytes(), size);
            assert_eq!(String::from_utf8_lossy(&out), expected, "in pieces of {size}");
        }
    }
}

#[test]
fn a_token_inside_one_that_is_none_is_taken_out() {
    let redactor = redactor(&["prod", "a-prod", "b-a-prod-x"]);
    for (text, expected) in [
        ("xa-prod", "xa-(redacted)"),
        ("b-a-prod-y", "b-(redacted)-y"),
        ("b-a-prod-x", "(redacted)"),
        ("b-a-prod-xy", "b-(redacted)-xy"),
    ] {
        assert_eq!(redactor.text(text), expected);
    }
}

#[test]
fn ordinary_words_and_what_is_public_stay() {
    let mut secrets = Secrets::default();
    secrets.exempt("eu-central-1");
    for word in [
        "true",
        "False",
        "null",
        "redacted",
        "(redacted)",
        "eu-central-1",
        "vpc-0123456789abcdef0",
        "hunter22",
    ] {
        secrets.value(word);
    }
    secrets.exempt_json(&json!({"id": ["vpc-0123456789abcdef0"], "n": 1000}));
    secrets.value("1e3");
    let text = "true False null redacted (redacted) eu-central-1 vpc-0123456789abcdef0 1000";
    let redactor = Redactor::new(&secrets);
    assert_eq!(redactor.text(text), text);
    // Only the value itself is public.
    assert_eq!(redactor.text("hunter22"), PLACEHOLDER);
    let other = Secrets::default();
    let mut both = other.clone();
    both.value("eu-central-1");
    assert_eq!(Redactor::new(&both).text("eu-central-1"), PLACEHOLDER);
    both.extend(&secrets);
    assert_eq!(Redactor::new(&both).text(text), text, "whichever was known first");
}

#[test]
fn lines_of_public_values_are_public() {
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUE9\n";
    let mut secrets = Secrets::default();
    secrets.value(&format!("{certificate}c2VjcmV0IGxpbmUgb2YgaXQ=\n"));
    secrets.exempt(certificate);
    let redactor = Redactor::new(&secrets);
    assert_eq!(redactor.text(certificate), certificate);
    assert_eq!(redactor.text("c2VjcmV0IGxpbmUgb2YgaXQ="), PLACEHOLDER);
}

#[test]
fn the_revision_tells_of_every_change() {
    let mut secrets = Secrets::default();
    let mut revision = secrets.revision();
    let mut is_changed =
        |secrets: &Secrets| std::mem::replace(&mut revision, secrets.revision()) != secrets.revision();
    secrets.value("hunter22");
    assert!(is_changed(&secrets));
    secrets.value("hunter22");
    secrets.value("abc");
    secrets.exempt("eu-central-1");
    secrets.value("eu-central-1");
    assert!(!is_changed(&secrets));
    secrets.exempt("hunter22");
    assert!(is_changed(&secrets));
    let other = secrets.clone();
    secrets.extend(&other);
    assert!(!is_changed(&secrets));
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

/// Whether a value is a whole token of what was left between placeholders. Where such a part begins or ends, a word may
/// have gone on.
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

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

proptest! {
    /// Few letters, so that secrets overlap, repeat and begin inside each other.
    #[test]
    fn no_secret_ever_leaves(
        values in proptest::collection::vec("[ab\"é\n]{16,20}", 1..5),
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
        for value in values.iter().map(|value| value.trim()).filter(|value| value.len() >= MIN_LENGTH_ANYWHERE) {
            prop_assert!(!whole.contains(value), "{value:?} is in {whole:?}");
        }
        prop_assert_eq!(in_pieces(&redactor, input.as_bytes(), size), whole.as_bytes());
    }

    #[test]
    fn no_spelling_ever_leaves(value in "[!-'*-~][ !-'*-~]{14,78}[!-'*-~]", before in "[ -~]{0,5}", after in "[ -~]{0,5}", size in 1usize..40) {
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

    /// Of a spelling that stands alone nothing stays but what encloses it.
    #[test]
    fn nothing_stays_of_a_spelling(value in "[!-~][ -~é\n]{2,90}[!-~]", margin in "[ -/]{0,5}") {
        let redactor = redactor(&[&value]);
        let quoted = serde_json::to_string(&value).unwrap();
        let encoded = general_purpose::STANDARD.encode(&value);
        for form in [
            hex(&value),
            hex(&value).to_uppercase(),
            encoded.clone(),
            general_purpose::STANDARD_NO_PAD.encode(&value),
            general_purpose::URL_SAFE.encode(&value),
            quoted[1..quoted.len() - 1].to_owned(),
        ] {
            let form = form.trim();
            prop_assert_eq!(redactor.text(form), PLACEHOLDER, "{}", form);
            let clean = redactor.text(&format!("{margin} {form} {margin}"));
            prop_assert!(!clean.contains(form), "{} in {}", form, clean);
        }
        for width in [64, 76] {
            let lines: Vec<&str> = encoded.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap()).collect();
            let clean = redactor.text(&lines.iter().map(|line| format!("{margin} {line}\n")).collect::<String>());
            for line in lines.iter().filter(|line| line.len() >= MIN_LENGTH) {
                prop_assert!(!clean.contains(line), "{} in {}", line, clean);
            }
        }
    }

    /// Few letters here too, and what separates tokens.
    #[test]
    fn no_token_ever_leaves(
        values in proptest::collection::vec("[ab_ .\"é]{4,15}", 1..5),
        text in proptest::collection::vec("[ab_ .é\\\\n]{0,5}", 0..12),
        picks in proptest::collection::vec(0usize..5, 0..12),
        size in 1usize..9,
    ) {
        let mut input = String::new();
        for (at, word) in text.iter().enumerate() {
            input.push_str(word);
            if let Some(value) = picks.get(at).and_then(|pick| values.get(*pick)) {
                input.push_str(value.trim());
            }
        }
        let redactor = redactor(&values.iter().map(String::as_str).collect::<Vec<_>>());
        let whole = redactor.text(&input);
        // What stays is what stood there.
        let stays: Vec<&str> = whole.split(PLACEHOLDER).collect();
        let mut rest = input.as_str();
        for part in &stays {
            let at = rest.find(part);
            prop_assert!(at.is_some(), "{part:?} of {whole:?} is not of {input:?}");
            rest = &rest[at.unwrap_or(0) + part.len()..];
        }
        for value in values.iter().map(|value| value.trim()).filter(|value| value.len() >= MIN_LENGTH) {
            for part in &stays {
                prop_assert!(!has_token(part, value), "{value:?} is in {whole:?}");
            }
        }
        prop_assert_eq!(in_pieces(&redactor, input.as_bytes(), size), whole.as_bytes());
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

/// A Secret may be a mebibyte, and all spellings of it would be forty.
#[test]
fn large_secrets_take_bounded_room() {
    const SIZE: usize = 1 << 19;
    let cut_short = "\"a\":".repeat(SIZE / 4);
    let tokens: Vec<String> = (0..SIZE / 10).map(|number| format!("\"t{number:06}\"")).collect();
    let lines: String = (0..SIZE / 70)
        .map(|number| format!("k{number} = \"{}\"\n", format!("{number:08}").repeat(7)))
        .collect();
    for (content, format, value) in [
        (cut_short, Format::Hcl, None),
        (format!("[{}]", tokens.join(",")), Format::Json, Some("t012345")),
        (
            lines,
            Format::Hcl,
            Some("00000123000001230000012300000123000001230000012300000123"),
        ),
    ] {
        let mut secrets = Secrets::default();
        secrets.variables(&content, format);
        let bytes: usize = secrets.patterns().keys().map(Vec::len).sum();
        assert!(bytes < 8 * content.len() + 40 * forms::THOROUGH_UP_TO, "{bytes}");
        if let Some(value) = value {
            assert_eq!(Redactor::new(&secrets).text(value), PLACEHOLDER);
        }
    }
}
