use proptest::prelude::*;

use super::*;

fn event(line: &str) -> Event {
    match parse_line(line.as_bytes()) {
        Line::Event(event) => *event,
        other => panic!("{line} is {other:?}"),
    }
}

#[test]
fn knows_every_type() {
    let resource = r#"{"addr":"aws_vpc.a","resource_type":"aws_vpc"}"#;
    let cases = [
        (
            r#""type":"version","tofu":"1.10.0","ui":"1.2""#.to_owned(),
            "Version",
        ),
        (r#""type":"log""#.to_owned(), "Log"),
        (r#""type":"log","state":{"version":4}"#.to_owned(), "Log"),
        (
            r#""type":"diagnostic","diagnostic":{"severity":"warning","summary":"s"}"#.to_owned(),
            "Diagnostic",
        ),
        (
            format!(r#""type":"planned_change","change":{{"resource":{resource},"action":"create"}}"#),
            "PlannedChange",
        ),
        (
            format!(r#""type":"resource_drift","change":{{"resource":{resource},"action":"update"}}"#),
            "ResourceDrift",
        ),
        (
            r#""type":"change_summary","changes":{"add":1,"operation":"destroy"}"#.to_owned(),
            "ChangeSummary",
        ),
        (
            r#""type":"outputs","outputs":{"a":{"sensitive":true}}"#.to_owned(),
            "Outputs",
        ),
        (
            format!(r#""type":"apply_start","hook":{{"resource":{resource},"action":"read"}}"#),
            "Apply(Started",
        ),
        (
            format!(r#""type":"apply_progress","hook":{{"resource":{resource}}}"#),
            "Apply(Progress",
        ),
        (
            format!(r#""type":"apply_complete","hook":{{"resource":{resource}}}"#),
            "Apply(Complete",
        ),
        (
            format!(r#""type":"apply_errored","hook":{{"resource":{resource}}}"#),
            "Apply(Errored",
        ),
        (
            format!(r#""type":"refresh_start","hook":{{"resource":{resource}}}"#),
            "Refresh(Started",
        ),
        (
            format!(r#""type":"refresh_complete","hook":{{"resource":{resource}}}"#),
            "Refresh(Complete",
        ),
        (
            format!(r#""type":"provision_progress","hook":{{"resource":{resource},"output":"x"}}"#),
            "Provision(Progress",
        ),
        (
            format!(r#""type":"ephemeral_op_errored","hook":{{"resource":{resource}}}"#),
            "Ephemeral(Errored",
        ),
        (
            format!(r#""type":"ephemeral_action_started","hook":{{"resource":{resource}}}"#),
            "Ephemeral(Started",
        ),
        (
            r#""type":"init_output","message_code":"initializing_backend_message""#.to_owned(),
            "Init",
        ),
        (r#""type":"state_lock_acquire""#.to_owned(), "StateLock"),
        (r#""type":"test_run","test_run":{}"#.to_owned(), "Test"),
        (
            r#""type":"planned_action_invocation","x":1"#.to_owned(),
            "Unknown",
        ),
        (r#""type":"apply_complete","hook":7"#.to_owned(), "Unknown"),
        (r#""type":"diagnostic""#.to_owned(), "Unknown"),
        (r#""other":1"#.to_owned(), "Unknown"),
    ];
    for (fields, expected) in cases {
        let event = event(&format!(r#"{{"@level":"info","@message":"m",{fields}}}"#));
        let kind = format!("{:?}", event.kind);
        assert!(kind.starts_with(expected), "{fields} is {kind}");
        assert_eq!(event.message, "m");
    }
}

#[test]
fn anything_else_is_text() {
    for line in [
        "",
        "plain",
        "42",
        "[1]",
        "{\"a\":1}",
        "{not json",
        "panic: runtime error",
        "{}",
    ] {
        assert_eq!(parse_line(line.as_bytes()), Line::Text(line.to_owned()));
    }
    assert_eq!(parse_line(b"a\xffb\r\n"), Line::Text("a\u{fffd}b".to_owned()));
}

#[test]
fn keeps_what_a_newer_version_says_in_new_words() {
    let line = r#"{"@message":"","type":"apply_start","hook":{"resource":{"addr":"a.b","resource_key":3},"action":"mend"}}"#;
    let Kind::Apply(Step::Started, hook) = event(line).kind else {
        panic!()
    };
    assert_eq!(hook.action, Action::Other("mend".to_owned()));
    assert_eq!(hook.resource.resource_key, Some(serde_json::json!(3)));
}

#[test]
fn rescues_a_state_byte_for_byte() {
    let state = r#"{"version":4, "big":12345678901234567890123456789.5}"#;
    let line = format!(r#"{{"@message":"Emergency state dump","state":{state},"type":"log"}}"#);
    assert_eq!(
        event(&line).kind,
        Kind::Log {
            state: Some(state.to_owned())
        }
    );
}

#[test]
fn addresses_without_keys() {
    let cases = [
        ("a.b", "a.b"),
        ("a.b[0]", "a.b"),
        (r#"a.b["x"]"#, "a.b"),
        (
            r#"module.m["a]b"].module.n[1].data.a.b["q\"]\\"]"#,
            "module.m.module.n.data.a.b",
        ),
        ("a.b[", "a.b"),
        ("", ""),
    ];
    for (address, expected) in cases {
        assert_eq!(configuration_address(address), expected);
    }
}

#[test]
fn actions_of_plans() {
    let cases: [(&[&str], Action); 8] = [
        (&["no-op"], Action::Noop),
        (&["create"], Action::Create),
        (&["delete", "create"], Action::Replace),
        (&["create", "delete"], Action::Replace),
        (&["forget", "create"], Action::Replace),
        (&["forget"], Action::Forget),
        (&[], Action::Noop),
        (&["x", "y"], Action::Other("x+y".to_owned())),
    ];
    for (words, expected) in cases {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(Action::from_list(&words), expected);
    }
}

fn split(chunks: &[&[u8]], limit: usize) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut splitter = LineSplitter::with_limit(limit);
    for chunk in chunks {
        splitter.push(chunk, |line| lines.push(line.to_vec()));
    }
    splitter.finish(|line| lines.push(line.to_vec()));
    lines
}

#[test]
fn splits_lines_across_chunks() {
    assert_eq!(
        split(&[b"a\nb", b"c\n\nd"], 100),
        [b"a".to_vec(), b"bc".to_vec(), b"".to_vec(), b"d".to_vec()]
    );
    assert_eq!(
        split(&[b"abcdefg\nh"], 3),
        [b"abc".to_vec(), b"def".to_vec(), b"g".to_vec(), b"h".to_vec()]
    );
}

const LINE: &str = r#"{"@level":"info","@message":"terraform_data.vpc: Creating...","@module":"terraform.ui","@timestamp":"2026-11-15T06:00:50.711967Z","hook":{"resource":{"addr":"terraform_data.vpc","module":"","resource":"terraform_data.vpc","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"vpc","resource_key":null},"action":"create"},"type":"apply_start"}"#;

#[test]
fn a_line_cut_anywhere_is_torn_and_never_an_event() {
    for end in 3..LINE.len() {
        assert!(
            matches!(parse_line(&LINE.as_bytes()[..end]), Line::Torn(_)),
            "cut at {end}"
        );
    }
    assert!(matches!(parse_line(LINE.as_bytes()), Line::Event(_)));
}

proptest! {
    #[test]
    fn any_bytes_are_some_line(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_line(&bytes);
    }

    #[test]
    fn a_line_with_bytes_changed_is_some_line(at in 0..LINE.len(), with in any::<u8>(), cut in 0..LINE.len()) {
        let mut bytes = LINE.as_bytes().to_vec();
        bytes[at] = with;
        let _ = parse_line(&bytes);
        let _ = parse_line(&bytes[cut..]);
    }

    #[test]
    fn lines_do_not_depend_on_chunks(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..100), at in 0usize..100) {
        let at = at.min(bytes.len());
        prop_assert_eq!(split(&[&bytes], 1000), split(&[&bytes[..at], &bytes[at..]], 1000));
    }
}
