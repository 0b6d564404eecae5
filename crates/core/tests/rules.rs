//! The table of the rules about destruction in the book names tests that exist.

#![allow(
    clippy::expect_used,
    reason = "a helper of a test, where a panic is a failed test"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const HEADING: &str = "## The rules about destruction, and their tests";

/// Names of all functions in the sources under a folder.
fn functions(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            functions(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a text");
            let names = text
                .split("fn ")
                .skip(1)
                .filter_map(|rest| rest.split('(').next());
            into.extend(names.map(str::to_owned));
        }
    }
}

#[test]
fn every_rule_about_destruction_names_tests_that_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let book = fs::read_to_string(root.join("docs/testing.md")).expect("the book");
    let (_, rest) = book.split_once(HEADING).expect("the table");
    let table = rest.lines().skip_while(|line| !line.starts_with('|'));
    let mut known = BTreeSet::new();
    functions(&root.join("crates"), &mut known);
    let mut rules = 0;
    for line in table.take_while(|line| line.starts_with('|')).skip(2) {
        let tests: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "no test: {line}");
        for test in tests {
            assert!(known.contains(test), "there is no test {test}");
        }
        rules += 1;
    }
    assert!(rules >= 30, "{rules}");
}
