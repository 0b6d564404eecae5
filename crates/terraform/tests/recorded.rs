//! Everything that was recorded from real runs goes through the parser, whole and damaged.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::{fs, path::PathBuf};

use capt_terraform::{
    diagnostics::{self, Class},
    plan::Plan,
    state::{Candidate, CreatedSince, Source, newest},
    stream::{Action, Diagnostic, Event, Kind, Line, LineSplitter, parse_line},
};
use proptest::prelude::*;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn streams() -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ndjson"))
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read(path).unwrap(),
            )
        })
        .collect();
    found.sort();
    found
}

fn events(stream: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut splitter = LineSplitter::default();
    splitter.push(stream, |line| match parse_line(line) {
        Line::Event(event) => events.push(*event),
        other => panic!("{other:?}"),
    });
    splitter.finish(|line| panic!("no end: {line:?}"));
    events
}

fn errors(stream: &[u8]) -> Vec<Diagnostic> {
    let kinds = events(stream).into_iter().map(|event| event.kind);
    kinds
        .filter_map(|kind| {
            if let Kind::Diagnostic(diagnostic) = kind {
                Some(*diagnostic)
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn every_line_is_an_event_that_we_know() {
    let streams = streams();
    assert!(streams.len() >= 10);
    for (name, stream) in streams {
        let events = events(&stream);
        assert!(
            matches!(events[0].kind, Kind::Version { .. }),
            "{name} begins with {:?}",
            events[0]
        );
        for event in events {
            assert!(!matches!(event.kind, Kind::Unknown { .. }), "{name}: {event:?}");
            assert!(
                event.at.is_some() && !event.message.is_empty(),
                "{name}: {event:?}"
            );
        }
    }
}

#[test]
fn events_carry_what_was_printed() {
    for (name, stream) in streams() {
        for event in events(&stream) {
            let address = match &event.kind {
                Kind::Apply(_, hook) | Kind::Refresh(_, hook) | Kind::Ephemeral(_, hook) => {
                    &hook.resource.addr
                }
                Kind::Provision(_, hook) => &hook.resource.addr,
                Kind::PlannedChange(change) | Kind::ResourceDrift(change) => &change.resource.addr,
                _ => continue,
            };
            assert!(
                event.message.starts_with(address.as_str()) && !address.is_empty(),
                "{name}: {event:?}"
            );
        }
    }
}

#[test]
fn failures_are_told_apart() {
    let cases = [
        (
            "plan-precondition-failed.ndjson",
            Class::Configuration,
            "region quota exhausted",
        ),
        ("apply-exec-failed.ndjson", Class::Other, "terraform_data.cluster"),
        (
            "apply-disk-full.ndjson",
            Class::DiskFull,
            "no space left on device",
        ),
        ("apply-sigint.ndjson", Class::Other, "signal: killed"),
    ];
    for (name, class, words) in cases {
        let errors = errors(&fs::read(fixtures().join(name)).unwrap());
        assert_eq!(diagnostics::verdict(&errors), Some(class), "{name}");
        let message = diagnostics::message(&errors, 1000).unwrap();
        assert!(message.contains(words), "{name}: {message}");
    }
}

#[test]
fn a_state_that_found_no_room_is_found_again() {
    let errored = fs::read(fixtures().join("errored.tfstate")).unwrap();
    // What was on the disk when it was full: the beginning of it.
    let candidates = [
        Candidate {
            source: Source::WorkingFile,
            file: &errored[..8192],
        },
        Candidate {
            source: Source::ErroredFile,
            file: &errored,
        },
    ];
    let (found, state) = newest(&candidates).unwrap();
    assert_eq!(found.source, Source::ErroredFile);
    let mut created = CreatedSince::default();
    for event in events(&fs::read(fixtures().join("apply-disk-full.ndjson")).unwrap()) {
        created.observe(&event);
    }
    assert_eq!(created.missing_from(Some(&state)), []);
    assert_eq!(created.missing_from(None).len(), 39);
}

#[test]
fn an_apply_repeats_its_plan() {
    for (plan, apply) in [
        ("plan-mixed.ndjson", "apply-mixed.ndjson"),
        ("plan.ndjson", "apply.ndjson"),
    ] {
        // Moves are not worth repeating to Terraform: nothing is done for them.
        let read = |name: &str| {
            let mut plan = Plan::from_events(&events(&fs::read(fixtures().join(name)).unwrap()));
            plan.changes.retain(|change| change.action != Action::Move);
            plan.changes
        };
        assert_eq!(read(plan), read(apply), "{plan}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn damaged_streams_never_panic(
        which in 0usize..10,
        damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..8),
        chunk in 1usize..5000,
    ) {
        let mut stream = streams().swap_remove(which).1;
        for (at, with) in damage {
            let at = at % stream.len();
            stream[at] = with;
        }
        let mut seen = Vec::new();
        let mut splitter = LineSplitter::with_limit(3000);
        for piece in stream.chunks(chunk) {
            splitter.push(piece, |line| seen.push(parse_line(line)));
        }
        splitter.finish(|line| seen.push(parse_line(line)));
        let events: Vec<Event> = seen.into_iter().filter_map(|line| if let Line::Event(event) = line { Some(*event) } else { None }).collect();
        let _ = Plan::from_events(&events).text(10);
    }
}
