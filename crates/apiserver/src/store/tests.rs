//! The store's promises: order, conditions, durability, history.

use serde_json::{Value, json};

use super::*;

fn document(name: &str, value: u32) -> Value {
    json!({"metadata": {"namespace": "ns", "name": name, "uid": name}, "data": value})
}

fn put(expect: Expect, name: &str, value: u32) -> Change {
    Change {
        resource: "things".into(),
        expect,
        write: Write::Put(Draft::new(&document(name, value))),
        requires: Vec::new(),
    }
}

fn remove(revision: u64, name: &str) -> Change {
    let write = Write::Remove(Draft::new(&document(name, 0)));
    Change {
        resource: "things".into(),
        expect: Expect::Revision(revision),
        write,
        requires: Vec::new(),
    }
}

fn names(table: &Table) -> Vec<String> {
    table
        .values()
        .map(|object| format!("{}={}", object.key.name(), object.value()["data"]))
        .collect()
}

#[tokio::test]
async fn a_write_needs_its_condition() {
    let store = Store::in_memory(State::default(), Retention::default());
    let first = store.commit(put(Expect::Absent, "a", 1)).await.unwrap();
    assert_eq!(
        store.commit(put(Expect::Absent, "a", 2)).await.unwrap_err(),
        CommitError::Conflict
    );
    assert_eq!(
        store.commit(put(Expect::Revision(99), "a", 2)).await.unwrap_err(),
        CommitError::Conflict
    );
    let second = store
        .commit(put(Expect::Revision(first.revision), "a", 2))
        .await
        .unwrap();
    assert!(second.revision > first.revision);
    assert_eq!(
        store.commit(remove(first.revision, "a")).await.unwrap_err(),
        CommitError::Conflict
    );
    store.commit(remove(second.revision, "a")).await.unwrap();
    assert!(store.visible().table("things").is_empty());
}

#[tokio::test]
async fn earlier_revisions_can_be_read_until_compacted() {
    let store = Store::in_memory(State::default(), Retention::default());
    let things: ResourceId = "things".into();
    let a = store.commit(put(Expect::Absent, "a", 1)).await.unwrap().revision;
    let b = store.commit(put(Expect::Absent, "b", 1)).await.unwrap().revision;
    let a2 = store
        .commit(put(Expect::Revision(a), "a", 2))
        .await
        .unwrap()
        .revision;
    store.commit(remove(b, "b")).await.unwrap();
    let at = |revision| names(&store.table_at(&things, revision).unwrap());
    assert_eq!(at(a), ["a=1"]);
    assert_eq!(at(b), ["a=1", "b=1"]);
    assert_eq!(at(a2), ["a=2", "b=1"]);
    assert_eq!(names(&store.visible().table("things")), ["a=2"]);
    assert!(store.table_at(&things, 0).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn durable_writes_are_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let open = || Store::durable(Box::new(RedbBackend::open(&path).unwrap()), Retention::default()).unwrap();
    let store = open();
    let a = store.commit(put(Expect::Absent, "a", 1)).await.unwrap();
    let b = store.commit(put(Expect::Absent, "b", 1)).await.unwrap();
    store
        .commit(put(Expect::Revision(b.revision), "b", 2))
        .await
        .unwrap();
    store.commit(remove(a.revision, "a")).await.unwrap();
    let revision = store.visible().revision;
    store.close().await;
    assert_eq!(
        store.commit(put(Expect::Absent, "c", 1)).await.unwrap_err(),
        CommitError::Closed
    );
    drop(store);

    let reopened = open();
    assert_eq!(reopened.visible().revision, revision);
    let table = reopened.visible().table("things");
    assert_eq!(names(&table), ["b=2"]);
    let b = table.values().next().unwrap();
    assert_eq!(
        b.value()["metadata"]["resourceVersion"],
        json!(b.revision.to_string())
    );
    // History did not survive, and says so.
    assert!(
        reopened
            .log(&"things".into())
            .between(revision - 1, revision, 9)
            .is_err()
    );
    assert!(
        reopened
            .log(&"things".into())
            .between(revision, revision, 9)
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_is_told_that_the_file_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let _first = RedbBackend::open(&path).unwrap();
    assert!(matches!(
        RedbBackend::open(&path),
        Err(BackendError::InUse { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writers_all_get_through_in_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let backend = RedbBackend::open(&folder.path().join("store.redb")).unwrap();
    let store = Arc::new(Store::durable(Box::new(backend), Retention::default()).unwrap());
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for n in 0..10 {
                    store
                        .commit(put(Expect::Absent, &format!("w{writer}-{n}"), 1))
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let state = store.visible();
    assert_eq!(state.table("things").len(), 160);
    let events = store
        .log(&"things".into())
        .between(1, state.revision, usize::MAX)
        .unwrap();
    let revisions: Vec<u64> = events.iter().map(|event| event.revision()).collect();
    assert_eq!(revisions, (2..=161).collect::<Vec<_>>());
}

/// Keeps some batches, then fails or panics.
struct Failing {
    good_batches: usize,
    panics: bool,
}

impl Backend for Failing {
    fn load(&mut self) -> Result<Loaded, BackendError> {
        Ok(Loaded::default())
    }

    fn persist(&mut self, _: u64, _: &[Record]) -> Result<(), BackendError> {
        if self.good_batches > 0 {
            self.good_batches -= 1;
            return Ok(());
        }
        assert!(!self.panics, "the backend panics");
        Err(BackendError::InUse { path: String::new() })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_fails_ends_all_promises_and_says_so() {
    for panics in [false, true] {
        let backend = Failing {
            good_batches: 1,
            panics,
        };
        let store = Store::durable(Box::new(backend), Retention::default()).unwrap();
        let kept = store.commit(put(Expect::Absent, "a", 1)).await.unwrap();
        let lost = store
            .commit(put(Expect::Revision(kept.revision), "a", 2))
            .await
            .unwrap_err();
        assert!(
            matches!(lost, CommitError::Failed | CommitError::Closed),
            "{lost}"
        );
        store.failed().await;
        assert!(store.has_failed());
        assert_eq!(
            store.commit(put(Expect::Absent, "b", 1)).await.unwrap_err(),
            CommitError::Failed
        );
        // Nobody builds on, or waits for, what was lost.
        assert_eq!(store.accepted().revision, kept.revision);
        assert_eq!(
            store.settled(kept.revision + 1).await.unwrap_err(),
            CommitError::Failed
        );
        assert_eq!(names(&store.visible().table("things")), ["a=1"]);
        store.close().await;
    }
}

#[tokio::test]
async fn a_write_needs_what_it_belongs_to() {
    let store = Store::in_memory(State::default(), Retention::default());
    let parent = store.commit(put(Expect::Absent, "parent", 1)).await.unwrap();
    let needing = |uid: Option<&str>| Change {
        requires: vec![Requirement {
            resource: "things".into(),
            key: parent.key.clone(),
            uid: uid.map(Into::into),
        }],
        ..put(Expect::Absent, "child", 1)
    };
    assert_eq!(
        store.commit(needing(Some("other"))).await.unwrap_err(),
        CommitError::Orphaned
    );
    let child = store.commit(needing(Some("parent"))).await.unwrap();
    store.commit(remove(child.revision, "child")).await.unwrap();
    store.commit(remove(parent.revision, "parent")).await.unwrap();
    assert_eq!(
        store.commit(needing(None)).await.unwrap_err(),
        CommitError::Orphaned
    );
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let _open = RedbBackend::open(&path).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
