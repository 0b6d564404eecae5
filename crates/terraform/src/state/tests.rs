use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::stream::{Event, Line, parse_line};

const FILE: &[u8] = include_bytes!("../../tests/fixtures/backend-secret.tfstate");
const SECRET: &str = include_str!("../../tests/fixtures/backend-secret.json");

fn file(serial: u64, lineage: &str, ids: &[&str]) -> Vec<u8> {
    let instance = |id: &&str| json!({"index_key": *id, "attributes": {"id": *id}});
    let resource = json!({"mode": "managed", "type": "t", "name": "n", "instances": ids.iter().map(instance).collect::<Vec<_>>()});
    json!({"version": 4, "serial": serial, "lineage": lineage, "resources": [resource]})
        .to_string()
        .into_bytes()
}

#[test]
fn reads_what_terraform_writes() {
    let state = State::parse(FILE).unwrap();
    let addresses: Vec<&str> = state
        .resources
        .iter()
        .map(|resource| resource.address.as_str())
        .collect();
    assert_eq!(
        addresses,
        [
            "terraform_data.one",
            "terraform_data.three[0]",
            "terraform_data.three[1]",
            "terraform_data.two[\"x\"]",
            "terraform_data.two[\"y\\\"z\"]",
            "module.child.data.terraform_remote_state.none",
            "module.child.terraform_data.inner",
        ]
    );
    assert_eq!(state.managed().count(), 6);
    assert!(
        state
            .managed()
            .all(|resource| resource.id.is_some() && !resource.tainted)
    );
    assert!(state.outputs["password"].sensitive && !state.outputs["id"].sensitive);
    assert!(!state.lineage.is_empty() && state.serial > 0 && !state.is_empty());
}

#[test]
fn knows_tainted_and_leftover() {
    let state = State::parse(include_bytes!("../../tests/fixtures/state-tainted.tfstate")).unwrap();
    let tainted: Vec<_> = state
        .resources
        .iter()
        .filter(|resource| resource.tainted)
        .collect();
    assert_eq!(tainted.len(), 1);
    assert_eq!(tainted[0].address, "terraform_data.flaky");

    let deposed = json!({"version": 4, "serial": 1, "lineage": "l", "resources": [{"mode": "managed", "type": "t", "name": "n",
        "instances": [{"deposed": "abcd", "attributes": {"id": "1"}}]}]});
    let state = State::parse(deposed.to_string().as_bytes()).unwrap();
    assert_eq!(state.resources[0].deposed.as_deref(), Some("abcd"));
}

#[test]
fn refuses_torn_and_foreign_files() {
    for end in 0..FILE.trim_ascii_end().len() {
        assert!(
            matches!(State::parse(&FILE[..end]), Err(StateError::Torn(_))),
            "cut at {end}"
        );
    }
    assert!(matches!(
        State::parse(br#"{"version":3,"serial":1,"lineage":"l"}"#),
        Err(StateError::Version(3))
    ));
}

#[test]
fn the_last_whole_state_counts() {
    let mut last = LastGood::default();
    let (one, two) = (file(1, "l", &["a"]), file(2, "l", &["a", "b"]));
    assert!(matches!(last.offer(b""), Accepted::Torn(_)));
    assert!(matches!(last.offer(&one), Accepted::Newer));
    assert!(matches!(last.offer(&one), Accepted::Same));
    assert!(matches!(last.offer(&two[..two.len() - 1]), Accepted::Torn(_)));
    assert_eq!(last.file(), Some(one.as_slice()));
    assert!(matches!(last.offer(&two), Accepted::Newer));
    assert!(matches!(last.offer(&one), Accepted::Older { serial: 1 }));
    assert!(matches!(
        last.offer(&file(9, "other", &[])),
        Accepted::Foreign { .. }
    ));
    assert_eq!(last.state().unwrap().serial, 2);
}

#[test]
fn the_newest_copy_of_the_same_history_counts() {
    let (one, two, other) = (file(1, "l", &[]), file(2, "l", &[]), file(7, "other", &[]));
    let torn = &two[..10];
    type Copies<'a> = &'a [(Source, &'a [u8])];
    let cases: [(Copies<'_>, Option<Source>); 8] = [
        (&[], None),
        (&[(Source::Replica, torn)], None),
        (
            &[(Source::Replica, &one), (Source::WorkingFile, &two)],
            Some(Source::WorkingFile),
        ),
        (
            &[(Source::WorkingFile, torn), (Source::Replica, &one)],
            Some(Source::Replica),
        ),
        (
            &[(Source::Replica, &one), (Source::ErroredFile, &one)],
            Some(Source::ErroredFile),
        ),
        (
            &[(Source::ErroredFile, &other), (Source::Replica, &one)],
            Some(Source::Replica),
        ),
        (
            &[(Source::ErroredFile, &two), (Source::WorkingFile, &one)],
            Some(Source::ErroredFile),
        ),
        (
            &[(Source::Staged, &two), (Source::Replica, torn)],
            Some(Source::Staged),
        ),
    ];
    for (copies, expected) in cases {
        let candidates: Vec<Candidate<'_>> = copies
            .iter()
            .map(|(source, file)| Candidate {
                source: *source,
                file,
            })
            .collect();
        assert_eq!(
            newest(&candidates).map(|(candidate, _)| candidate.source),
            expected,
            "{copies:?}"
        );
    }
}

fn apply(step: &str, action: &str, address: &str, id: &str) -> Event {
    let line = json!({"@message": "", "type": format!("apply_{step}"),
        "hook": {"resource": {"addr": address}, "action": action, "id_key": "id", "id_value": id}});
    match parse_line(line.to_string().as_bytes()) {
        Line::Event(event) => *event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn lists_what_the_state_forgot() {
    let state = State::parse(&file(1, "l", &["a", "b"])).unwrap();
    type Steps = &'static [(&'static str, &'static str, &'static str, &'static str)];
    let cases: [(Steps, &[&str]); 6] = [
        (&[("complete", "create", "t.n[\"a\"]", "a")], &[]),
        (&[("complete", "create", "t.n[\"c\"]", "c")], &["t.n[\"c\"] c"]),
        (
            &[("start", "create", "t.n[\"c\"]", "")],
            &["t.n[\"c\"] ? unfinished"],
        ),
        (
            &[
                ("complete", "create", "t.n[\"c\"]", "c"),
                ("complete", "delete", "t.n[\"c\"]", "c"),
            ],
            &[],
        ),
        // Deleted, then made again: the state still has the predecessor.
        (
            &[
                ("complete", "delete", "t.n[\"a\"]", "a"),
                ("complete", "create", "t.n[\"a\"]", "new"),
            ],
            &["t.n[\"a\"] new"],
        ),
        // Made again, then the predecessor deleted.
        (
            &[
                ("complete", "create", "t.n[\"a\"]", "new"),
                ("complete", "delete", "t.n[\"a\"]", "a"),
            ],
            &["t.n[\"a\"] new"],
        ),
    ];
    for (events, expected) in cases {
        let mut since = CreatedSince::default();
        events
            .iter()
            .for_each(|(step, action, address, id)| since.observe(&apply(step, action, address, id)));
        let missing: Vec<String> = since
            .missing_from(Some(&state))
            .iter()
            .map(|made| {
                let end = if made.unfinished { " unfinished" } else { "" };
                format!("{} {}{end}", made.address, made.id.as_deref().unwrap_or("?"))
            })
            .collect();
        assert_eq!(missing, expected);
    }
}

#[test]
fn what_takes_the_place_of_something_is_not_there_because_that_is() {
    let planned = match parse_line(
        json!({"@message": "", "type": "planned_change", "change": {"resource": {"addr": "t.n"}, "action": "replace"}})
            .to_string()
            .as_bytes(),
    ) {
        Line::Event(event) => *event,
        other => panic!("{other:?}"),
    };
    let start = apply("start", "create", "t.n", "");
    let deleted = apply("complete", "delete", "t.n", "old");
    let deleting = apply("start", "delete", "t.n", "old");
    let noted = || [("t.n".to_owned(), "old".to_owned())].into();
    // What is replaced, what was said, ids in the state with whether they are leftovers, whether something is missing.
    type Case<'a> = (
        BTreeMap<String, String>,
        Vec<&'a Event>,
        &'a [(&'a str, bool)],
        bool,
    );
    let cases: [Case<'_>; 11] = [
        // It is made first: the state has the predecessor, as it was or as a leftover, until it has the new one.
        (noted(), vec![&planned, &start], &[("old", false)], true),
        (noted(), vec![&planned, &start], &[("old", true)], true),
        (
            noted(),
            vec![&planned, &start],
            &[("old", true), ("new", false)],
            false,
        ),
        (noted(), vec![&planned, &start], &[("new", false)], false),
        (noted(), vec![&planned, &start], &[], true),
        // Nobody knows what the predecessor was called.
        (BTreeMap::new(), vec![&planned, &start], &[("old", false)], true),
        (BTreeMap::new(), vec![&planned, &start], &[("new", false)], true),
        // The predecessor was deleted first, and the state does not know it yet.
        (
            BTreeMap::new(),
            vec![&planned, &deleted, &start],
            &[("old", false)],
            true,
        ),
        (BTreeMap::new(), vec![&deleting, &start], &[("old", false)], true),
        (
            BTreeMap::new(),
            vec![&planned, &deleted, &start],
            &[("new", false)],
            false,
        ),
        // A leftover of that address is not what was being made.
        (BTreeMap::new(), vec![&start], &[("old", true)], true),
    ];
    for (number, (replaced, events, objects, is_listed)) in cases.into_iter().enumerate() {
        let instance = |(id, is_left): &(&str, bool)| match is_left {
            true => json!({"deposed": "00000001", "attributes": {"id": id}}),
            false => json!({"attributes": {"id": id}}),
        };
        let instances: Vec<Value> = objects.iter().map(instance).collect();
        let file = json!({"version": 4, "serial": 1, "lineage": "l", "terraform_version": "1.11.4", "resources": [
            {"mode": "managed", "type": "t", "name": "n", "instances": instances}]});
        let state = State::parse(file.to_string().as_bytes()).unwrap();
        let mut since = CreatedSince::replacing(replaced);
        events.into_iter().for_each(|event| since.observe(event));
        assert_eq!(
            !since.missing_from(Some(&state)).is_empty(),
            is_listed,
            "case {number}"
        );
    }
}

#[test]
fn a_provisioner_that_was_cut_off_is_told_although_the_state_has_its_resource() {
    let provision = |step: &str| {
        let line = json!({"@message": "", "type": format!("provision_{step}"),
            "hook": {"resource": {"addr": "t.n"}, "provisioner": "local-exec"}});
        match parse_line(line.to_string().as_bytes()) {
            Line::Event(event) => *event,
            other => panic!("{other:?}"),
        }
    };
    let state = |status: Option<&str>| {
        let file = json!({"version": 4, "serial": 1, "lineage": "l", "terraform_version": "1.11.4", "resources": [
            {"mode": "managed", "type": "t", "name": "n", "instances": [{"status": status, "attributes": {"id": "1"}}]}]});
        State::parse(file.to_string().as_bytes()).unwrap()
    };
    let (whole, tainted, empty) = (state(None), state(Some("tainted")), State::default());
    let start = apply("start", "create", "t.n", "");
    let done = apply("complete", "create", "t.n", "1");
    let (begins, ends, fails) = (provision("start"), provision("complete"), provision("errored"));
    let cases = [
        (vec![&start, &begins], &whole, true),
        (vec![&start, &begins], &tainted, false),
        (vec![&start, &begins, &ends], &whole, false),
        (vec![&start, &begins, &fails], &whole, false),
        (vec![&start, &begins, &ends, &done], &whole, false),
    ];
    for (number, (events, state, is_told)) in cases.into_iter().enumerate() {
        let mut since = CreatedSince::default();
        events.into_iter().for_each(|event| since.observe(event));
        let missing = since.missing_from(Some(state));
        let told: Vec<_> = missing
            .iter()
            .filter_map(|one| one.provisioner.as_deref())
            .collect();
        assert_eq!(told == ["local-exec"], is_told, "case {number}");
        assert_eq!(missing.len(), told.len(), "case {number}");
        for one in missing {
            assert_eq!(one.id.as_deref(), Some("1"));
            assert!(!one.is_settled_by(&whole) && one.is_settled_by(&tainted) && one.is_settled_by(&empty));
        }
    }
}

#[test]
fn what_has_no_id_is_found_by_its_address() {
    let line = json!({"@message": "", "type": "apply_complete",
        "hook": {"resource": {"addr": "t.n[\"a\"]"}, "action": "create", "id_key": "name", "id_value": "alice"}});
    let Line::Event(event) = parse_line(line.to_string().as_bytes()) else {
        panic!("no event");
    };
    let mut since = CreatedSince::default();
    since.observe(&event);
    let state = State::parse(&file(1, "l", &["a"])).unwrap();
    assert_eq!(since.missing_from(Some(&state)), []);
    assert_eq!(since.missing_from(None).len(), 1);
}

#[test]
fn what_failed_is_in_the_state_as_far_as_it_exists_once_terraform_told_why_it_ends() {
    let said = |severity: &str, summary: &str| {
        let line = json!({"@message": "", "type": "diagnostic",
            "diagnostic": {"severity": severity, "summary": summary, "detail": ""}});
        match parse_line(line.to_string().as_bytes()) {
            Line::Event(event) => *event,
            other => panic!("{other:?}"),
        }
    };
    let (start, errored) = (
        apply("start", "create", "t.n", ""),
        apply("errored", "create", "t.n", ""),
    );
    let (why, why_not) = (said("error", "no room"), said("warning", "no room"));
    let given_up = said("error", "operation canceled");
    let cases = [
        (vec![&start, &errored], true),
        (vec![&start, &errored, &why], false),
        (vec![&start, &errored, &why_not], true),
        (vec![&start, &errored, &given_up], true),
        // It was never told what became of it.
        (vec![&start, &why], true),
    ];
    for (number, (events, is_listed)) in cases.into_iter().enumerate() {
        let mut since = CreatedSince::default();
        events.into_iter().for_each(|event| since.observe(event));
        assert_eq!(!since.missing_from(None).is_empty(), is_listed, "case {number}");
    }
}

#[test]
fn reads_a_secret_that_terraform_wrote() {
    let secret: Value = serde_json::from_str(SECRET).unwrap();
    let data = STANDARD
        .decode(secret["data"]["tfstate"].as_str().unwrap())
        .unwrap();
    let name = secret["metadata"]["name"].as_str().unwrap();
    let file = unpack([(name, data.as_slice())]).unwrap().unwrap();
    assert_eq!(State::parse(&file).unwrap(), State::parse(FILE).unwrap());

    let location = Location::new("team-b", "demo").unwrap();
    let ours = &pack(&location, &file)[0];
    assert_eq!(ours.name, name);
    assert_eq!(json!(ours.labels), secret["metadata"]["labels"]);
    assert_eq!(json!(ours.annotations), secret["metadata"]["annotations"]);
    assert_eq!(&ours.data[..4], &data[..4]);
}

#[test]
fn locations() {
    let location = Location::new("team-1", "vpc").unwrap();
    assert_eq!(location.secret_name(0), "tfstate-team-1-vpc");
    assert_eq!(location.secret_name(2), "tfstate-team-1-vpc-part-2");
    assert_eq!(location.lease_name(), "lock-tfstate-team-1-vpc");
    let long = "a".repeat(64);
    for (workspace, suffix) in [
        ("a", "b-1"),
        ("a", "12"),
        ("A", "b"),
        ("a", ""),
        ("", "b"),
        ("a_b", "c"),
        (&long, "b"),
    ] {
        assert!(Location::new(workspace, suffix).is_err(), "{workspace} {suffix}");
    }
    for (name, part) in [
        ("tfstate-a-b", 0),
        ("tfstate-a-b-part-1", 1),
        ("tfstate-a-b-part-12", 12),
    ] {
        assert_eq!(part_index(name), part);
    }
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    (0..length)
        .map(|_| {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            (word >> 32) as u8
        })
        .collect()
}

fn parts(secrets: &BTreeMap<String, Vec<u8>>, staged: bool) -> Vec<(&str, &[u8])> {
    let wanted = secrets
        .iter()
        .filter(|(name, _)| name.starts_with("staged-") == staged);
    wanted
        .map(|(name, data)| (name.as_str(), data.as_slice()))
        .collect()
}

#[test]
fn a_crash_at_any_write_leaves_a_whole_state() {
    let location = Location::new("a", "b").unwrap();
    let replicate = |file: &[u8], live: usize, staged: usize| {
        replicate::steps(&location, secret::pack_by(100, &location, file), live, staged)
    };
    let sizes = [10, 50, 150, 1200];
    for (before, after) in sizes
        .iter()
        .flat_map(|before| sizes.iter().map(move |after| (*before, *after)))
    {
        let (old, new) = (noise(before), noise(after + 1));
        let mut start = BTreeMap::new();
        for step in replicate(&old, 0, 0) {
            write(&mut start, step);
        }
        let steps = replicate(&new, parts(&start, false).len(), 0);
        for crash in 0..=steps.len() {
            let mut secrets = start.clone();
            steps[..crash]
                .iter()
                .for_each(|step| write(&mut secrets, step.clone()));
            let live = unpack(parts(&secrets, false)).ok().flatten();
            let staged = unpack(parts(&secrets, true)).ok().flatten();
            let counts = live.clone().or(staged);
            assert!(
                counts == Some(old.clone()) || counts == Some(new.clone()),
                "crash at {crash}"
            );
            if crash == steps.len() {
                assert_eq!(live, Some(new.clone()));
                assert!(parts(&secrets, true).is_empty());
            }
            // Whatever the crash left, the next write ends well.
            let (live, staged) = (parts(&secrets, false).len(), parts(&secrets, true).len());
            replicate(&old, live, staged)
                .into_iter()
                .for_each(|step| write(&mut secrets, step));
            assert_eq!(unpack(parts(&secrets, false)).unwrap(), Some(old.clone()));
            assert!(parts(&secrets, true).is_empty());
        }
    }
}

fn write(secrets: &mut BTreeMap<String, Vec<u8>>, step: Step) {
    match step {
        Step::Put(secret) => {
            secrets.insert(secret.name, secret.data);
        }
        Step::Delete(name) => {
            secrets.remove(&name);
        }
    }
}

#[test]
fn missing_and_mixed_parts_are_noticed() {
    let location = Location::new("a", "b").unwrap();
    let secrets = pack(&location, &noise(CHUNK_SIZE * 3));
    assert_eq!(secrets.len(), 4);
    let part = |at: usize| (secrets[at].name.as_str(), secrets[at].data.as_slice());
    assert!(matches!(
        unpack([part(0), part(2), part(3)]),
        Err(UnpackError::Missing(1))
    ));
    assert!(matches!(unpack([part(1)]), Err(UnpackError::Missing(0))));
    assert!(matches!(unpack([part(0), part(1)]), Err(UnpackError::Damaged(_))));
    assert!(matches!(
        unpack([("tfstate-a-b", b"not gzip".as_slice())]),
        Err(UnpackError::Damaged(_))
    ));
    assert_eq!(unpack([]).unwrap(), None);
    assert_eq!(unpack([("tfstate-a-b", b"".as_slice())]).unwrap(), None);
    assert!(unpack([part(3), part(1), part(0), part(2)]).unwrap().is_some());
}

proptest! {
    #[test]
    fn any_file_comes_back(file in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let secrets = pack(&Location::new("a", "b").unwrap(), &file);
        let parts: Vec<_> = secrets.iter().map(|secret| (secret.name.as_str(), secret.data.as_slice())).collect();
        prop_assert_eq!(unpack(parts).unwrap(), Some(file));
    }

    #[test]
    fn damage_never_panics(at in 0..FILE.len(), with in any::<u8>()) {
        let mut bytes = FILE.to_vec();
        bytes[at] = with;
        let _ = State::parse(&bytes);
        let _ = unpack([("x", bytes.as_slice())]);
    }
}
