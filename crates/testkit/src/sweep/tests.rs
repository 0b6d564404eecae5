use bytes::Bytes;
use jiff::Timestamp;

use super::*;
use crate::call::{Call, Verb};
use crate::recorder::Entry;
use crate::snapshot::Snapshot;

fn write(verb: Verb, name: &str, code: u16) -> Entry {
    Entry {
        at: Timestamp::UNIX_EPOCH,
        call: Call {
            caller: "controller".to_owned(),
            verb,
            group: String::new(),
            version: "v1".to_owned(),
            resource: "secrets".to_owned(),
            subresource: String::new(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            path: String::new(),
            body: Bytes::new(),
        },
        executed: Some(code),
        told: Some(code),
        resource_version: String::new(),
    }
}

fn outcome(writes: &[(Verb, &str, u16)]) -> Outcome {
    Outcome {
        end: Snapshot::default(),
        writes: writes
            .iter()
            .map(|(verb, name, code)| write(*verb, name, *code))
            .collect(),
        acted: true,
        missed: false,
    }
}

/// What a sweep that was meant to fail says.
fn complaint(sweep: impl FnOnce() -> SweepReport) -> String {
    let panic = catch_unwind(AssertUnwindSafe(sweep)).expect_err("the sweep passes");
    message(panic.as_ref())
}

#[test]
fn creations_and_deletions_must_be_those_of_the_undisturbed_run() {
    type Writes<'a> = &'a [(Verb, &'a str, u16)];
    let made: Writes<'_> = &[(Verb::Create, "a", 201)];
    let cases: [(Writes<'_>, Writes<'_>, &[&str]); 7] = [
        (made, made, &[]),
        (made, &[(Verb::Create, "a", 409), made[0]], &[]),
        (made, &[(Verb::Apply, "a", 201)], &[]),
        (made, &[], &["secrets default/a was created 0 times, not 1"]),
        (
            made,
            &[made[0], made[0]],
            &["secrets default/a was created 2 times, not 1"],
        ),
        (&[], made, &["secrets default/a was created 1 times, not 0"]),
        (
            &[],
            &[(Verb::Delete, "a", 200)],
            &["secrets default/a was deleted, which must not happen"],
        ),
    ];
    for (expected, found, wrong) in cases {
        assert_eq!(outcome(expected).compare(&outcome(found)), wrong, "{found:?}");
    }
    let missed = Outcome {
        missed: true,
        ..outcome(made)
    };
    assert_eq!(outcome(made).compare(&missed), missed.misses());
    assert_eq!(missed.misses().len(), 1);
}

#[test]
fn a_sweep_of_nothing_fails() {
    let stage = || World::builder().without_crds();
    let idle = async |_: &World| {};
    for said in [
        complaint(|| for_each_write_crash(stage(), idle)),
        complaint(|| {
            Sweep::new(stage())
                .faults([Fault::Refuse])
                .run_and_check(idle, idle)
        }),
    ] {
        assert!(said.contains("made no writes"), "{said}");
    }
    let said = complaint(|| Sweep::new(stage()).run(idle));
    assert!(said.contains("no faults"), "{said}");
}

#[test]
fn a_fault_that_happens_in_no_case_is_named() {
    let reference = outcome(&[(Verb::Create, "a", 201), (Verb::Create, "b", 201)]);
    let sweep = |one_in| {
        Sweep::new(World::builder())
            .faults([Fault::CrashBefore, Fault::CrashAfter])
            .may_miss()
            .one_in(one_in)
    };
    let survived = |case: &Case, acted: bool| Judged {
        acted: acted && case.number == 2,
        wrong: Vec::new(),
    };
    let report = sweep(1).each_case(&reference, |case| survived(case, true));
    assert_eq!(report.cases, 4, "each fault happened once");
    for (name, one_in, missing) in [
        ("none happens", 1, "crash-before, crash-after"),
        ("the choice leaves one out", 2, "crash-after"),
    ] {
        let said = complaint(|| sweep(one_in).each_case(&reference, |case| survived(case, one_in > 1)));
        assert!(said.contains(&format!("happen: {missing}.")), "{name}: {said}");
    }
}

#[test]
fn a_case_that_does_not_exist_is_named_with_those_that_do() {
    let sweep = Sweep::new(World::builder()).faults([Fault::CrashBefore, Fault::CrashAfter]);
    let reference = outcome(&[(Verb::Create, "a", 201), (Verb::Create, "b", 201)]);
    let chosen = |only| -> Vec<String> {
        let cases = choose(sweep.cases(&reference), only);
        cases.iter().map(Case::to_string).collect()
    };
    assert_eq!(chosen(None).len(), 4);
    let wanted = "controller#2 crash-after";
    assert_eq!(chosen(Some(wanted)), [wanted]);

    let panic = catch_unwind(AssertUnwindSafe(|| chosen(Some("controller#3 crash-after")))).unwrap_err();
    let said = message(panic.as_ref());
    assert!(said.contains("controller#3") && said.contains(wanted), "{said}");
}
