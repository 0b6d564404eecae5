//! The tables of the book name tests that exist.

#![allow(
    clippy::expect_used,
    reason = "a helper of a test, where a panic is a failed test"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The tables, and how many lines each has at least.
const TABLES: [(&str, usize); 2] = [
    ("## The rules about destruction, and their tests", 30),
    (
        "## What the Go implementation gets wrong, and the tests that show it right",
        35,
    ),
];

/// Names of all tests in the sources under a folder.
fn tests(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            tests(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.extend(tests_in(&fs::read_to_string(&path).expect("a text")));
        }
    }
}

/// Names of the functions that are marked as tests, those of properties among them.
fn tests_in(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_marked = false;
    for line in source.lines().map(str::trim_start) {
        is_marked |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let declared = line.strip_prefix("async ").unwrap_or(line);
        if let Some(rest) = declared.strip_prefix("fn ") {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            found.extend(is_marked.then(|| name.to_owned()));
            is_marked = false;
        }
    }
    found
}

#[test]
fn only_what_is_marked_is_a_test() {
    let source = "
        fn helper() {}
        #[test]
        fn plain() { helper() }
        fn other_helper() {}
        #[tokio::test(start_paused = true)]
        #[should_panic]
        async fn with_time() {}
        async fn third_helper() {}
        proptest! {
            #[test]
            fn a_property(value in 0..9) {}
        }
        // #[test]
        fn former() {}
    ";
    assert_eq!(tests_in(source), ["plain", "with_time", "a_property"]);
}

#[test]
fn every_line_of_the_tables_names_tests_that_exist() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let book = fs::read_to_string(root.join("docs/testing.md")).expect("the book");
    let mut known = BTreeSet::new();
    tests(&root.join("crates"), &mut known);
    for (heading, least) in TABLES {
        let (_, rest) = book.split_once(heading).expect("the table");
        let table = rest.lines().skip_while(|line| !line.starts_with('|'));
        let mut lines = 0;
        for line in table.take_while(|line| line.starts_with('|')).skip(2) {
            let (_, second) = line.trim_end_matches('|').rsplit_once('|').expect("two columns");
            let tests: Vec<&str> = second.split('`').skip(1).step_by(2).collect();
            assert!(!tests.is_empty(), "no test: {line}");
            for test in tests {
                assert!(known.contains(test), "there is no test {test}");
            }
            lines += 1;
        }
        assert!(lines >= least, "{heading}: {lines}");
    }
}
