//! What survives: every acknowledged batch, once, whatever the last write left behind.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::*;

fn record(name: &str, value: u32, revision: u64) -> Record {
    let document = json!({"metadata": {"namespace": "ns", "name": name, "uid": name}, "data": value});
    Record::Put("things".into(), Arc::new(Draft::new(&document).at(revision)))
}

fn removal(name: &str) -> Record {
    Record::Remove("things".into(), ObjectKey::new("ns", name))
}

fn contents(loaded: &Loaded) -> Vec<String> {
    let shown = |object: &Object| {
        format!(
            "{}={}@{}",
            object.key.name(),
            object.value()["data"],
            object.revision
        )
    };
    loaded.objects.iter().map(|(_, object)| shown(object)).collect()
}

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("objects.redb");
        Self {
            _folder: folder,
            path,
        }
    }

    fn journal(&self) -> PathBuf {
        self.path.with_extension("journal")
    }

    fn open(&self) -> (Journal, Loaded) {
        let mut journal = Journal::open(&self.path).unwrap();
        let loaded = journal.load().unwrap();
        (journal, loaded)
    }

    /// The state of both files if the process died now: nothing that runs on a clean end has run.
    fn die(&self, journal: Journal) {
        let kept = fs::read(self.journal()).unwrap();
        let mut journal = journal;
        journal.gathered.clear();
        drop(journal);
        fs::write(self.journal(), kept).unwrap();
    }
}

#[test]
fn what_was_appended_is_there_after_a_crash_and_after_a_clean_end() {
    let place = Place::new();
    let (mut journal, loaded) = place.open();
    assert_eq!(loaded.revision, 0);
    journal.persist(2, &[record("a", 1, 2)]).unwrap();
    journal
        .persist(4, &[record("b", 1, 3), record("a", 2, 4)])
        .unwrap();
    journal.persist(5, &[removal("b")]).unwrap();
    place.die(journal);
    let (journal, loaded) = place.open();
    assert_eq!(
        (loaded.revision, contents(&loaded)),
        (5, vec!["a=2@4".to_owned()])
    );
    assert_eq!(
        fs::metadata(place.journal()).unwrap().len(),
        0,
        "it is in the database now"
    );
    drop(journal);
    let (mut journal, loaded) = place.open();
    assert_eq!(contents(&loaded), ["a=2@4"]);
    journal.persist(6, &[record("c", 1, 6)]).unwrap();
    drop(journal);
    assert_eq!(fs::metadata(place.journal()).unwrap().len(), 0);
    assert_eq!(contents(&place.open().1), ["a=2@4", "c=1@6"]);
}

#[test]
fn a_torn_or_broken_tail_loses_nothing_before_it() {
    let whole = {
        let place = Place::new();
        let (mut journal, _) = place.open();
        journal.persist(2, &[record("a", 1, 2)]).unwrap();
        let first = fs::metadata(place.journal()).unwrap().len();
        journal.persist(3, &[record("b", 1, 3)]).unwrap();
        let bytes = fs::read(place.journal()).unwrap();
        place.die(journal);
        (bytes, usize::try_from(first).unwrap())
    };
    let (bytes, first) = whole;
    for end in first..bytes.len() {
        let place = Place::new();
        drop(place.open());
        fs::write(place.journal(), &bytes[..end]).unwrap();
        let (_, loaded) = place.open();
        assert_eq!(
            (loaded.revision, contents(&loaded)),
            (2, vec!["a=1@2".to_owned()]),
            "cut at {end}"
        );
    }
    let place = Place::new();
    drop(place.open());
    let mut flipped = bytes;
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(place.journal(), flipped).unwrap();
    assert_eq!(contents(&place.open().1), ["a=1@2"]);
}

#[test]
fn a_crash_between_moving_and_starting_anew_repeats_nothing() {
    let place = Place::new();
    let (mut journal, _) = place.open();
    journal.persist(2, &[record("a", 1, 2)]).unwrap();
    journal.persist(3, &[removal("a")]).unwrap();
    let stale = fs::read(place.journal()).unwrap();
    journal.move_on().unwrap();
    journal.persist(4, &[record("a", 9, 4)]).unwrap();
    drop(journal);
    fs::write(place.journal(), stale).unwrap();
    let (_, loaded) = place.open();
    assert_eq!(
        (loaded.revision, contents(&loaded)),
        (4, vec!["a=9@4".to_owned()])
    );
}

#[test]
fn much_is_moved_into_the_database_on_the_way() {
    let place = Place::new();
    let (mut journal, _) = place.open();
    let big = |revision: u64| {
        let document = json!({"metadata": {"name": format!("n{revision}")}, "data": "x".repeat(1 << 20)});
        Record::Put("things".into(), Arc::new(Draft::new(&document).at(revision)))
    };
    for revision in 2..12 {
        journal.persist(revision, &[big(revision)]).unwrap();
    }
    let left = fs::metadata(place.journal()).unwrap().len();
    assert!(left < 5 << 20, "{left}");
    place.die(journal);
    assert_eq!(place.open().1.objects.len(), 10);
}
