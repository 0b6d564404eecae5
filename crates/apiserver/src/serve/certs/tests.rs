use std::{fs, os::unix::fs::PermissionsExt};

use super::*;

fn request() -> PkiRequest {
    PkiRequest {
        server_names: Vec::new(),
        admin_user: "somebody".to_owned(),
        admin_group: "system:masters".to_owned(),
        now: SystemTime::now(),
    }
}

/// What of a PKI is not what it was.
fn changes(before: &Pki, after: &Pki) -> Vec<&'static str> {
    let parts = [
        ("ca", &before.ca_certificate, &after.ca_certificate),
        ("server", &before.server.to_pem(), &after.server.to_pem()),
        ("admin", &before.admin.to_pem(), &after.admin.to_pem()),
        ("token", &before.token.0, &after.token.0),
    ]
    .map(|(name, before, after)| (name, before != after));
    parts
        .iter()
        .filter(|(_, changed)| *changed)
        .map(|(name, _)| *name)
        .collect()
}

#[test]
fn the_first_start_makes_everything_for_its_owner_alone() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("pki");
    let pki = Pki::load_or_create(&dir, &request()).unwrap();

    let mut files: Vec<(String, u32)> = fs::read_dir(&dir)
        .unwrap()
        .map(Result::unwrap)
        .map(|file| {
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            (file.file_name().into_string().unwrap(), mode)
        })
        .collect();
    files.sort();
    let expected = ["admin.pem", "ca.pem", "server.pem", "token"].map(|name| (name.to_owned(), 0o600));
    assert_eq!(files, expected);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);

    let admin = pki.admin.facts().unwrap();
    assert_eq!(
        (admin.user.as_deref(), admin.groups),
        (Some("somebody"), vec!["system:masters".to_owned()])
    );
    assert!(
        pki.server
            .facts()
            .unwrap()
            .covers(&STANDARD_NAMES.map(str::to_owned))
    );
}

#[test]
fn later_starts_renew_only_what_they_must() {
    let days = |days: u64| SystemTime::now() + Duration::from_secs(days * 24 * 3600);
    type Case = (&'static str, PkiRequest, &'static [&'static str]);
    let cases: [Case; 7] = [
        ("nothing changed", request(), &[]),
        (
            "far from expiring",
            PkiRequest {
                now: days(699),
                ..request()
            },
            &[],
        ),
        (
            "about to expire",
            PkiRequest {
                now: days(701),
                ..request()
            },
            &["server", "admin"],
        ),
        (
            "the authority about to expire",
            PkiRequest {
                now: days(3640),
                ..request()
            },
            &["ca", "server", "admin"],
        ),
        (
            "a new address",
            PkiRequest {
                server_names: vec!["10.1.2.3".to_owned()],
                ..request()
            },
            &["server"],
        ),
        (
            "a name it has",
            PkiRequest {
                server_names: vec!["LOCALHOST".to_owned()],
                ..request()
            },
            &[],
        ),
        (
            "another admin",
            PkiRequest {
                admin_user: "root".to_owned(),
                ..request()
            },
            &["admin"],
        ),
    ];
    for (case, later, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let before = Pki::load_or_create(dir.path(), &request()).unwrap();
        let after = Pki::load_or_create(dir.path(), &later).unwrap();
        assert_eq!(changes(&before, &after), expected, "{case}");
        let again = Pki::load_or_create(dir.path(), &later).unwrap();
        assert_eq!(changes(&after, &again), [""; 0], "{case}, once more");
    }
}

#[test]
fn what_a_lost_authority_issued_is_issued_again() {
    let dir = tempfile::tempdir().unwrap();
    let before = Pki::load_or_create(dir.path(), &request()).unwrap();
    fs::remove_file(dir.path().join("ca.pem")).unwrap();
    let after = Pki::load_or_create(dir.path(), &request()).unwrap();
    assert_eq!(changes(&before, &after), ["ca", "server", "admin"]);
}

#[test]
fn a_damaged_file_is_named_and_left_alone() {
    for file in ["ca.pem", "server.pem", "admin.pem", "token"] {
        let dir = tempfile::tempdir().unwrap();
        Pki::load_or_create(dir.path(), &request()).unwrap();
        let path = dir.path().join(file);
        fs::write(&path, "scribble").unwrap();

        let error = Pki::load_or_create(dir.path(), &request())
            .unwrap_err()
            .to_string();
        assert!(error.contains(file) && error.contains("remove it"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "scribble");
    }
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    let dir = tempfile::tempdir().unwrap();
    let pki = Pki::load_or_create(dir.path(), &request()).unwrap();
    let shown = format!("{pki:?}");
    assert!(
        !shown.contains("PRIVATE KEY") && !shown.contains(pki.token.reveal()),
        "{shown}"
    );
}
