//! Everything that was recorded from real runs, damaged in every way that a crash, a full disk or another version could,
//! gets an answer and no panic.
//!
//! `PROPTEST_CASES` asks for more cases; `cargo xtask fuzz` does.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::{env, fs, path::PathBuf, sync::LazyLock};

use capt_terraform::{
    diagnostics,
    plan::{Plan, dependencies, parse_show},
    progress::{Durations, Operation, Tracker},
    redact::{Format, MIN_LENGTH_ANYWHERE, Redactor, Secrets, sensitive_in_plan, sensitive_in_state},
    state::{Candidate, CreatedSince, LastGood, Location, Source, State, newest, pack, unpack},
    stream::{Event, Kind, Line, LineSplitter, parse_line},
};
use jiff::{SignedDuration, Timestamp};
use proptest::{prelude::*, sample::Index};
use serde_json::Value;

/// Everything that was recorded: streams, plans and states.
static RECORDED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
});

/// One way to damage a file.
#[derive(Clone, Debug)]
enum Damage {
    /// A byte is another.
    Byte(Index, u8),
    /// It ends here.
    Cut(Index),
    /// A part is missing.
    Remove(Index, Index),
    /// A part is there twice.
    Repeat(Index, Index),
    /// A part of another file is in it.
    Splice(Index, Index, Index, Index),
    /// A word of the format is in the wrong place.
    Word(Index, &'static str),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<Index>;
    let words = prop::sample::select(vec![
        "null",
        "{}",
        "[]",
        "-1",
        "1e999",
        "18446744073709551616",
        "\"\"",
        "true",
        "\\u0000",
        "\\ud800",
        "\n",
        "}",
        "]",
        ",",
        "[[[[[[[[",
        "{\"a\":",
        "\"@message\":",
        "\"type\":\"apply_start\"",
        "\u{feff}",
        "\0",
    ]);
    prop_oneof![
        (index(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        index().prop_map(Damage::Cut),
        (index(), index()).prop_map(|(from, to)| Damage::Remove(from, to)),
        (index(), index()).prop_map(|(from, to)| Damage::Repeat(from, to)),
        (index(), index(), index(), index())
            .prop_map(|(at, which, from, to)| Damage::Splice(at, which, from, to)),
        (index(), words).prop_map(|(at, word)| Damage::Word(at, word)),
    ]
}

fn range(from: Index, to: Index, length: usize) -> std::ops::Range<usize> {
    let (from, to) = (from.index(length + 1), to.index(length + 1));
    from.min(to)..from.max(to)
}

fn damaged(mut file: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    /// Repeating doubles; a few times of that is enough.
    const ENOUGH: usize = 1 << 20;
    for damage in damages {
        let length = file.len();
        match damage {
            _ if length == 0 || length > ENOUGH => break,
            Damage::Byte(at, byte) => file[at.index(length)] = *byte,
            Damage::Cut(at) => file.truncate(at.index(length)),
            Damage::Remove(from, to) => drop(file.drain(range(*from, *to, length))),
            Damage::Repeat(from, to) => {
                let range = range(*from, *to, length);
                let part = file[range.clone()].to_vec();
                file.splice(range.end..range.end, part);
            }
            Damage::Splice(at, which, from, to) => {
                let other = which.get(&RECORDED);
                let part = other[range(*from, *to, other.len())].to_vec();
                let at = at.index(length);
                file.splice(at..at, part);
            }
            Damage::Word(at, word) => {
                let at = at.index(length);
                file.splice(at..at, word.bytes());
            }
        }
    }
    file
}

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    (any::<Index>(), prop::collection::vec(damage(), 0..6))
        .prop_map(|(which, damages)| damaged(which.get(&RECORDED).clone(), &damages))
}

/// As many cases as are asked for, else few: each goes through everything.
fn config() -> ProptestConfig {
    let asked = env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(100),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn lines(file: &[u8], chunk: usize, limit: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut splitter = LineSplitter::with_limit(limit);
    for piece in file.chunks(chunk) {
        splitter.push(piece, |line| lines.push(parse_line(line)));
    }
    splitter.finish(|line| lines.push(parse_line(line)));
    lines
}

fn events(lines: Vec<Line>) -> Vec<Event> {
    let event = |line| match line {
        Line::Event(event) => Some(*event),
        _ => None,
    };
    lines.into_iter().filter_map(event).collect()
}

proptest! {
    #![proptest_config(config())]

    /// As a stream: everything that looks at events takes what comes.
    #[test]
    fn a_stream_gets_an_answer(file in mutated(), chunk in 1usize..5000, limit in 64usize..100_000) {
        let events = events(lines(&file, chunk, limit));
        let plan = Plan::from_events(&events);
        prop_assert!(plan.text(10).len() < 1 << 20);
        prop_assert_eq!(plan.id(), Plan::from_events(&events).id());
        let mut created = CreatedSince::default();
        let mut tracker = Tracker::new(Operation::Apply, 5, Durations::default());
        let (mut now, mut percent) = (Timestamp::UNIX_EPOCH, 0);
        for event in &events {
            created.observe(event);
            tracker.observe(event, now);
            let progress = tracker.progress(now);
            prop_assert!(progress.percent >= percent && progress.percent <= 100);
            percent = progress.percent;
            now = now.saturating_add(SignedDuration::from_secs(1)).unwrap();
            if let Kind::Diagnostic(diagnostic) = &event.kind {
                let _ = diagnostics::classify(diagnostic).is_transient();
                let _ = diagnostics::LockHolder::from_diagnostic(diagnostic);
            }
        }
        let _ = created.missing_from(None);
        tracker.teach(&mut Durations::default());
    }

    /// As a plan that was shown.
    #[test]
    fn a_plan_gets_an_answer(file in mutated()) {
        if let Ok(plan) = parse_show(&file) {
            let _ = plan.text(10);
            let _ = plan.is_destructive();
        }
        let _ = dependencies(&file);
        if let Ok(value) = serde_json::from_slice::<Value>(&file) {
            let mut secrets = Secrets::default();
            sensitive_in_plan(&value, &mut secrets);
            sensitive_in_state(&value, &mut secrets);
            let _ = Redactor::new(&secrets).text(&String::from_utf8_lossy(&file));
        }
    }

    /// As a file of a Secret: what is read of it is taken out of it, whatever its format.
    #[test]
    fn a_secret_gets_an_answer(file in mutated(), format in prop::sample::select(vec![Some(Format::Hcl), Some(Format::Json), None])) {
        let file = &file[..file.len().min(2 << 10)];
        let text = String::from_utf8_lossy(file);
        let mut secrets = Secrets::default();
        match format {
            Some(format) => secrets.variables(&text, format),
            None => secrets.file(&text),
        }
        let clean = Redactor::new(&secrets).text(&text);
        let longest = text.lines().map(str::trim).max_by_key(|line| line.len()).unwrap_or_default();
        prop_assert!(longest.len() < MIN_LENGTH_ANYWHERE || !clean.contains(longest), "{longest} left");
    }

    /// As a state: it is whole or refused, never taken for less than it was, and survives being kept.
    #[test]
    fn a_state_gets_an_answer(file in mutated(), other in mutated()) {
        let mut last = LastGood::default();
        last.offer(&file);
        last.offer(&other);
        let candidates = [
            Candidate { source: Source::Replica, file: &file },
            Candidate { source: Source::WorkingFile, file: &other },
        ];
        match newest(&candidates) {
            None => prop_assert!(State::parse(&file).is_err() && State::parse(&other).is_err()),
            Some((best, state)) => {
                prop_assert!(State::parse(best.file).is_ok());
                if let Ok(replica) = State::parse(&file) {
                    prop_assert_eq!(&state.lineage, &replica.lineage);
                    prop_assert!(state.serial >= replica.serial);
                }
            }
        }
        let location = Location::new("demo", "capt").unwrap();
        let secrets = pack(&location, &file);
        let parts = secrets.iter().map(|secret| (secret.name.as_str(), secret.data.as_slice()));
        prop_assert_eq!(unpack(parts).unwrap(), Some(file));
    }

    /// As Secrets of a state, damaged themselves.
    #[test]
    fn damaged_secrets_are_never_taken_for_another_state(which in any::<Index>(), damages in prop::collection::vec(damage(), 1..4)) {
        let file = which.get(&RECORDED);
        let location = Location::new("demo", "capt").unwrap();
        let packed = pack(&location, file).swap_remove(0);
        let broken = damaged(packed.data.clone(), &damages);
        if let Ok(Some(read)) = unpack([(packed.name.as_str(), broken.as_slice())]) {
            prop_assert!(&read == file, "another state was read");
        }
    }
}
