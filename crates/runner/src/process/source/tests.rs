use std::{fs, os::unix::fs::symlink};

use capt_terraform::diagnostics::Class;

use super::*;

#[test]
fn an_entrypoint_stays_inside() {
    let cases = [
        ("", "", Some("")),
        ("", "sub/dir", Some("sub/dir")),
        ("sub", "/dir/", Some("sub/dir")),
        ("", "./a/./b", Some("a/b")),
        ("", "..", None),
        ("sub", "../x", None),
        ("", "a/../../b", None),
    ];
    for (subfolder, entrypoint, expected) in cases {
        let found = run_in(Path::new(subfolder), entrypoint);
        assert_eq!(
            found.ok().as_deref(),
            expected.map(Path::new),
            "{subfolder:?} {entrypoint:?}"
        );
    }
}

fn workdir(root: &tempfile::TempDir) -> WorkDir {
    let folder = WorkDir::of(root.path(), "u").unwrap();
    folder.make().unwrap();
    folder
}

#[test]
fn fetches_only_what_may_have_changed() {
    let (package, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(package.path().join("main.tf"), "").unwrap();
    let path = package.path().to_str().unwrap().to_owned();
    let commit = format!("git::https://x.example/y.git?depth=1&ref={}", "0a".repeat(20));
    let branch = "git::https://x.example/y.git?ref=main".to_owned();
    let content = digest::tree(&Folder::new(package.path()), Path::new("")).unwrap();
    let kept = |address: &str, content: &str| Fetched {
        address: address.to_owned(),
        subfolder: PathBuf::new(),
        content: content.to_owned(),
        locks: None,
    };
    let folder = workdir(&root);
    let must = |kept: Option<&Fetched>, address: &str, if_not_present| {
        must_fetch(&folder, kept, address, if_not_present, &LocalModules::Any).unwrap()
    };
    assert!(must(Some(&kept(&branch, "x")), &branch, true), "it is empty");
    folder.files.write("src/main.tf", b"").unwrap();
    let cases = [
        (None, &branch, true, true),
        (Some(kept("other", "x")), &branch, true, true),
        (Some(kept(&branch, "x")), &branch, true, false),
        (Some(kept(&branch, "x")), &branch, false, true),
        (Some(kept(&commit, "x")), &commit, false, false),
        (Some(kept(&path, &content)), &path, false, false),
        (Some(kept(&path, "x")), &path, false, true),
        (Some(kept(&path, "x")), &path, true, false),
    ];
    for (kept, address, if_not_present, expected) in cases {
        let found = must(kept.as_ref(), address, if_not_present);
        assert_eq!(found, expected, "{address} {if_not_present} {kept:?}");
    }
}

#[test]
fn knows_addresses_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let path = root.to_str().unwrap();
    let open = LocalModules::Below(vec![root.clone()]);
    let closed = LocalModules::Below(Vec::new());
    for address in [
        path.to_owned(),
        format!("{path}//sub"),
        format!("file://{path}?archive=false"),
        format!("file::{path}"),
    ] {
        let found = |modules| {
            let found = local(&address, modules).unwrap();
            found.map(|(folder, at)| folder.path(at))
        };
        let expected = Some(root.join(""));
        assert_eq!(found(&LocalModules::Any), expected, "{address}");
        assert_eq!(found(&open), expected, "{address}");
        assert_eq!(found(&closed), None, "{address}");
    }
    for address in [
        "git::file:///x",
        "https://x.example/y.zip",
        "hashicorp/vpc/aws",
        "/there/is/no/such",
    ] {
        assert_eq!(local(address, &LocalModules::Any).unwrap(), None, "{address}");
    }
}

#[test]
fn a_package_that_is_a_link_is_only_the_folder_that_the_address_names() {
    let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = workdir(&root);
    let (secret, open) = (other.path().join("secret"), other.path().join("open"));
    for path in [&secret, &open] {
        fs::create_dir(path).unwrap();
    }
    fs::write(secret.join("state"), "hunter2").unwrap();
    fs::write(open.join("main.tf"), "").unwrap();
    symlink(secret.join("state"), open.join("state")).unwrap();
    folder.files.make("fetching/data/modules").unwrap();
    folder
        .files
        .link(&secret, "fetching/data/modules/module")
        .unwrap();
    assert!(folder.path("fetching/data/modules/module/state").exists());
    let modules = LocalModules::Below(vec![open.canonicalize().unwrap()]);
    for address in ["git::https://x.example/y.git", &secret.display().to_string()] {
        assert!(
            package(&folder, address, &modules).unwrap().is_none(),
            "{address}"
        );
    }
    let address = open.display().to_string();
    let package = package(&folder, &address, &modules).unwrap().unwrap();
    swap(&folder, &mut Kept::default(), &address, &package, PathBuf::new()).unwrap();
    let names = folder.files.list("src").unwrap();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(folder.files.kind("src/state").unwrap(), Some(EntryKind::Link));
}

#[test]
fn an_address_is_only_an_address() {
    assert_eq!(quoted("a\"b\\c${d}%{e}\n"), r#""a\"b\\c$${d}%%{e}\n""#);
}

#[test]
fn finds_the_folder_in_the_package() {
    let root = tempfile::tempdir().unwrap();
    let folder = workdir(&root);
    let cases = [
        ("git::https://x.example/y.git//sub/dir?ref=v1", "sub/dir"),
        ("git::https://x.example/y.git?ref=v1", ""),
        ("/local//sub", "sub"),
    ];
    for (address, expected) in cases {
        assert_eq!(
            subfolder(&folder, address).unwrap(),
            Path::new(expected),
            "{address}"
        );
    }
    let manifest = serde_json::json!({"Modules": [
        {"Key": "", "Source": "", "Dir": "."},
        {"Key": "module", "Source": "x", "Dir": "data/modules/module/inner"}]});
    let path = "fetching/data/modules/modules.json";
    folder.files.write(path, manifest.to_string().as_bytes()).unwrap();
    assert_eq!(subfolder(&folder, "registry/x/y").unwrap(), Path::new("inner"));
}

#[test]
fn the_cause_is_told_in_one_line() {
    let framed = |words: &str| {
        format!(
            "There are some problems with the CLI configuration:\n╷\n│ Warning: x\n╵\n\nError: Failed to download module\n\n  \
             on main.tf line 1:\n   1: module \"module\" {{\n\nCould not download module \"module\" (main.tf:1) source \
             code from\n{words}\n"
        )
    };
    for (printed, expected) in [
        (
            framed(
                "\"git::https://127.0.0.1:1/x.git\": error downloading\n'https://127.0.0.1:1/x.git': /usr/bin/git exited \
                 with 128: Cloning into\n'.terraform/modules/module'...\nfatal: unable to access: Couldn't connect to server",
            ),
            "/usr/bin/git exited with 128: fatal: unable to access: Couldn't connect to server",
        ),
        (
            framed("\"x\": something else"),
            "Failed to download module Could not download module \"module\" (main.tf:1) source code from \"x\": something \
             else",
        ),
        ("killed".to_owned(), "killed"),
    ] {
        assert_eq!(cause(&plain(&printed)), expected);
    }
}

#[test]
fn an_archive_that_cannot_be_unpacked_is_called_broken_and_not_tried_again() {
    for (address, words, is_broken) in [
        ("/srv/m.tar.gz", "unexpected EOF", true),
        ("https://example.com/m.tar.gz", "unexpected EOF", false),
        (
            "https://example.com/m.tgz",
            "Error opening a gzip reader for x: gzip: invalid header",
            true,
        ),
        ("https://example.com/m.zip", "zip: not a valid zip file", true),
        ("https://example.com/m.zip", "connection refused", false),
    ] {
        let class = Class::Network;
        let failure = failure::new(FailureKind::Terraform(class), words);
        let failure = unavailable(address, false, failure);
        let expected = match is_broken {
            true => FailureKind::ModuleUnavailable,
            false => FailureKind::Terraform(class),
        };
        assert_eq!(failure.kind, expected, "{words}");
        assert_eq!(
            failure.message.contains(BROKEN_ARCHIVE),
            is_broken,
            "{}",
            failure.message
        );
    }
}
