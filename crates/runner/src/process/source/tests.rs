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

#[test]
fn fetches_only_what_may_have_changed() {
    let (folder, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("main.tf"), "").unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    let commit = format!("git::https://x.example/y.git?depth=1&ref={}", "0a".repeat(20));
    let branch = "git::https://x.example/y.git?ref=main".to_owned();
    let content = digest::tree(folder.path()).unwrap();
    let kept = |address: &str, content: &str| Fetched {
        address: address.to_owned(),
        subfolder: PathBuf::new(),
        content: content.to_owned(),
        locks: None,
    };
    let src = folder.path();
    let gone = must_fetch(empty.path(), Some(&kept(&branch, "x")), &branch, true);
    assert!(gone.unwrap());
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
        let found = must_fetch(src, kept.as_ref(), address, if_not_present).unwrap();
        assert_eq!(found, expected, "{address} {if_not_present} {kept:?}");
    }
}

#[test]
fn knows_addresses_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for address in [
        path.to_owned(),
        format!("{path}//sub"),
        format!("file://{path}?archive=false"),
    ] {
        assert_eq!(local(&address).as_deref(), Some(folder.path()), "{address}");
    }
    for address in [
        "git::file:///x",
        "https://x.example/y.zip",
        "hashicorp/vpc/aws",
        "/there/is/no/such",
    ] {
        assert_eq!(local(address), None, "{address}");
    }
}

#[test]
fn an_address_is_only_an_address() {
    assert_eq!(quoted("a\"b\\c${d}%{e}\n"), r#""a\"b\\c$${d}%%{e}\n""#);
}

#[test]
fn finds_the_folder_in_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let package = data.join("modules/module");
    let cases = [
        ("git::https://x.example/y.git//sub/dir?ref=v1", "sub/dir"),
        ("git::https://x.example/y.git?ref=v1", ""),
        ("/local//sub", "sub"),
    ];
    for (address, expected) in cases {
        assert_eq!(
            subfolder(&data, &package, address),
            Path::new(expected),
            "{address}"
        );
    }
    let manifest = serde_json::json!({"Modules": [
        {"Key": "", "Source": "", "Dir": "."},
        {"Key": "module", "Source": "x", "Dir": "data/modules/module/inner"}]});
    workdir::write(
        &data.join("modules/modules.json"),
        manifest.to_string().as_bytes(),
    )
    .unwrap();
    assert_eq!(subfolder(&data, &package, "registry/x/y"), Path::new("inner"));
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
