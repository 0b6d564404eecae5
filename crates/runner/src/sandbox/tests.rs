use std::{fs, os::unix::fs::symlink};

use super::*;

#[test]
fn a_kernel_decides_what_becomes_of_a_mode() {
    use SandboxMode::{Auto, Off, Required};
    use SandboxStatus::{Confined, Disabled, Unsupported};
    for (mode, abi, expected, restricts) in [
        (Off, 0, Some(Disabled), false),
        (Off, 7, Some(Disabled), false),
        (Auto, 0, Some(Unsupported { abi: 0 }), false),
        (Auto, 2, Some(Unsupported { abi: 2 }), true),
        (Auto, 3, Some(Confined { abi: 3 }), true),
        (Auto, 12, Some(Confined { abi: 12 }), true),
        (Required, 0, None, false),
        (Required, 2, None, false),
        (Required, 3, Some(Confined { abi: 3 }), true),
    ] {
        let decided = SandboxStatus::decide(mode, abi).ok();
        assert_eq!(decided, expected, "{mode} {abi}");
        assert_eq!(
            decided.is_some_and(SandboxStatus::restricts),
            restricts,
            "{mode} {abi}"
        );
    }
}

#[test]
fn what_is_not_restricted_is_named() {
    for (abi, named, not_named) in [
        (2, "truncating files, signals", ""),
        (3, "signals and abstract", "truncating"),
        (5, "signals and abstract", "truncating"),
        (6, "Unix sockets in the file system, the network", "signals"),
        (8, "Unix sockets in the file system, the network", "signals"),
        (9, "not restricted: the network", "sockets"),
    ] {
        let text = SandboxStatus::decide(SandboxMode::Auto, abi).unwrap().to_string();
        assert!(
            text.contains(named) && text.contains(&format!("ABI {abi} ")),
            "{text}"
        );
        assert!(not_named.is_empty() || !text.contains(not_named), "{text}");
    }
    let none = SandboxStatus::decide(SandboxMode::Auto, 0).unwrap().to_string();
    assert!(none.contains("no Landlock"), "{none}");
    for (abi, has) in [(0, "the kernel has no Landlock"), (2, "the kernel has ABI 2")] {
        let error = SandboxStatus::decide(SandboxMode::Required, abi).unwrap_err();
        assert!(error.to_string().contains(has), "{error}");
    }
}

#[test]
fn a_mode_is_spelt_as_it_is_read() {
    for mode in SandboxMode::ALL {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    assert!("on".parse::<SandboxMode>().is_err());
}

#[test]
fn an_allowed_path_is_there_and_gives_no_working_folder_away() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().canonicalize().unwrap();
    for name in ["work/root/uid", "work/beside", "modules"] {
        fs::create_dir_all(all.join(name)).unwrap();
    }
    symlink(all.join("work/root/uid"), all.join("link")).unwrap();
    symlink(all.join("modules"), all.join("alias")).unwrap();
    let root = all.join("work/root");
    let new = |path: &str| Sandbox::new(SandboxMode::Off, &[all.join(path)], &root);
    for (path, expected) in [
        ("modules", "modules"),
        ("alias", "modules"),
        ("work/beside", "work/beside"),
    ] {
        assert_eq!(new(path).unwrap().allowed(), [all.join(expected)], "{path}");
    }
    let nested = [
        all.join("modules"),
        all.join("work/beside"),
        all.join("modules/vpc"),
    ];
    fs::create_dir(&nested[2]).unwrap();
    let sandbox = Sandbox::new(SandboxMode::Off, &nested, &root).unwrap();
    assert_eq!(sandbox.allowed(), &nested[..2]);
    assert!(matches!(new("none"), Err(SandboxError::Path { .. })));
    for path in ["", "work", "work/root", "work/root/uid", "link"] {
        assert!(
            matches!(new(path), Err(SandboxError::WorkingFolder { .. })),
            "{path}"
        );
    }
}
