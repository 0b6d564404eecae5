//! What is taken out by its length, what never, and what large Secrets take.

use serde_json::json;

use super::{super::*, in_pieces, redactor};

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
    let mut both = Secrets::default();
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

#[test]
fn a_token_is_held_back_until_the_next_byte() {
    let redactor = redactor(&["prod"]);
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    for (piece, expected) in [
        ("is prod", "is "),
        ("\n", "is (redacted)\n"),
        ("pro", "is (redacted)\n"),
        ("of x", "is (redacted)\nproof x"),
        ("prod ", "is (redacted)\nproof xprod "),
    ] {
        stream.push(piece.as_bytes(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
