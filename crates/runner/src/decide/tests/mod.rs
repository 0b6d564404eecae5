//! Each rule in a test that is named after it, by what it is about.

mod approving;
mod doubting;
mod going;
mod pausing;
mod resting;

use std::time::Duration;

use super::*;

const HOUR: i64 = 3600;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a valid time")
}

fn ready(hash: &str) -> InputFacts {
    InputFacts::Ready {
        hash: hash.to_owned(),
        home: "home".to_owned(),
    }
}

fn about() -> About {
    About {
        hash: "h1".to_owned(),
        generation: 1,
    }
}

/// A Workspace that is applied and was looked at now.
fn settled() -> Snapshot {
    Snapshot {
        uid: "uid".to_owned(),
        name: "vpc".to_owned(),
        generation: 1,
        finalizers: vec![CROSSPLANE_FINALIZER.to_owned()],
        external_name: Some("vpc".to_owned()),
        poll: Some(Duration::from_secs(600)),
        memory: Some(Memory {
            settled: Some(about()),
            looked: Some(Looked::At(at(0))),
            ..Memory::default()
        }),
        inputs: Some(ready("h1")),
        home: Some("home".to_owned()),
        state: Some(StateFacts::Something),
        namespace: Some(NamespaceFacts::Stays),
        ..Snapshot::default()
    }
}

fn with(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let mut snapshot = settled();
    change(&mut snapshot);
    snapshot
}

fn memory(snapshot: &mut Snapshot) -> &mut Memory {
    snapshot.memory.get_or_insert_default()
}

fn failed(what: What, is_transient: bool, count: u32) -> Failed {
    Failed {
        what,
        about: about(),
        is_transient,
        has_acted: false,
        count,
        at: at(0),
    }
}

fn running(what: What) -> Option<Running> {
    Some(Running {
        what,
        is_cancelled: false,
    })
}

/// What is done now, without the exact time that is waited for.
fn now(snapshot: &Snapshot) -> Next {
    match decide(snapshot, at(1)) {
        Next::Wait(Some(_)) => Next::Wait(Some(Timestamp::MAX)),
        next => next,
    }
}

const ORPHAN: Policy = Policy::Granted(Grants {
    create: true,
    update: true,
    delete: false,
});
const FOR_A_WHILE: Next = Next::Wait(Some(Timestamp::MAX));
const FOR_EVER: Next = Next::Wait(None);
const POLL: Next = Next::Run(What::Converge, Priority::Poll);
const CHANGE: Next = Next::Run(What::Converge, Priority::User);
const CREATE: Next = Next::Run(What::Converge, Priority::Create);
const DESTROY: Next = Next::Run(What::Destroy, Priority::Delete);
const PLAN: Next = Next::Run(What::Plan, Priority::User);
