use std::{
    fs::{self, File},
    os::{
        fd::AsFd as _,
        unix::{fs::symlink, net::UnixListener},
    },
    process::Command,
};

use super::*;

/// A secret beside a folder that a run writes to.
struct World {
    all: tempfile::TempDir,
    folder: Folder,
}

impl World {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        fs::create_dir_all(all.path().join("victim/sub")).unwrap();
        fs::write(all.path().join("victim/secret"), "hunter2").unwrap();
        fs::create_dir_all(all.path().join("run/src/sub")).unwrap();
        fs::write(all.path().join("run/src/own"), "mine").unwrap();
        let folder = Folder::new(all.path().join("run"));
        Self { all, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.all.path().join(name)
    }

    /// Plants links to the victim at each place of a path. The victim can be read through all of them.
    fn plant(&self) -> Vec<&'static str> {
        symlink(self.path("victim"), self.path("run/folder")).unwrap();
        symlink(self.path("victim/secret"), self.path("run/src/file")).unwrap();
        symlink("../../victim/secret", self.path("run/src/relative")).unwrap();
        let planted = vec!["folder/secret", "src/file", "src/relative"];
        for path in &planted {
            let read = fs::read(self.folder.path(path)).unwrap();
            assert_eq!(read, b"hunter2", "{path}");
        }
        planted
    }

    fn is_unharmed(&self) {
        let names: Vec<_> = Folder::new(self.path("victim"))
            .list("")
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(fs::read(self.path("victim/secret")).unwrap(), b"hunter2");
    }
}

#[test]
fn nothing_is_read_through_a_link_or_outside() {
    let world = World::new();
    let folder = &world.folder;
    for path in world.plant() {
        assert_eq!(folder.read(path).unwrap(), None, "{path}");
        assert_eq!(folder.stamp(path).unwrap(), None, "{path}");
        let linked = folder.read_linked(Path::new(""), Path::new(path));
        assert_eq!(linked.unwrap(), None, "{path}");
    }
    assert_eq!(folder.list("folder").unwrap(), []);
    assert_eq!(folder.kind("folder").unwrap(), Some(EntryKind::Link));
    assert_eq!(folder.read("src/own").unwrap().unwrap(), b"mine");
    let absolute = world.path("victim/secret");
    for path in [Path::new("../victim/secret"), &absolute] {
        assert!(fs::exists(folder.path(path)).unwrap());
        assert!(folder.read(path).is_err(), "{path:?}");
    }
}

#[test]
fn links_of_a_module_are_followed_inside_it() {
    let world = World::new();
    let (folder, src) = (&world.folder, Path::new("src"));
    fs::write(world.path("run/beside"), "beside").unwrap();
    symlink("../own", world.path("run/src/sub/shared")).unwrap();
    symlink("../../beside", world.path("run/src/sub/out")).unwrap();
    let read = |path| folder.read_linked(src, Path::new(path)).unwrap();
    assert_eq!(read("sub/shared").as_deref(), Some(&b"mine"[..]));
    assert_eq!(read("sub/out"), None);
}

#[test]
fn nothing_is_written_through_a_link() {
    let world = World::new();
    let folder = &world.folder;
    world.plant();
    folder.write("src/file", b"new").unwrap();
    folder.write_durably("src/relative", b"new").unwrap();
    assert_eq!(fs::read(world.path("run/src/file")).unwrap(), b"new");
    folder.link(Path::new("/nowhere"), "src/file").unwrap();
    assert_eq!(folder.read_link("src/file").unwrap(), Some("/nowhere".into()));
    assert!(folder.rename("src/own", "folder/own").is_err());
    assert!(folder.try_lock("folder/lock").is_err());
    folder.remove("folder/secret").unwrap();
    world.is_unharmed();
    // A link in the way of a folder is replaced by one.
    folder.write("folder/new", b"new").unwrap();
    assert_eq!(folder.kind("folder").unwrap(), Some(EntryKind::Folder));
    assert_eq!(folder.read("folder/new").unwrap().unwrap(), b"new");
    world.is_unharmed();
}

#[test]
fn a_lock_is_no_link() {
    let world = World::new();
    symlink(world.path("victim/lock"), world.path("run/lock")).unwrap();
    assert!(world.folder.try_lock("lock").is_err());
    world.is_unharmed();
    let held = world.folder.try_lock("src/lock").unwrap();
    assert!(held.is_some());
    assert!(world.folder.try_lock("src/lock").unwrap().is_none());
}

#[test]
fn what_is_removed_ends_at_a_link() {
    let world = World::new();
    world.plant();
    symlink(world.path("victim"), world.path("run/src/sub/folder")).unwrap();
    world.folder.remove("src").unwrap();
    world.folder.remove("folder").unwrap();
    world.folder.remove("folder").unwrap();
    assert_eq!(world.folder.list("").unwrap(), []);
    world.is_unharmed();
}

#[test]
fn however_deep_it_is_removed() {
    let world = World::new();
    let mut folder = system::open(world.path("run/src"), DIRECTORY, Mode::empty()).unwrap();
    // Deeper than a path may be long.
    for _ in 0..3000 {
        system::mkdirat(&folder, "d", Mode::RWXU).unwrap();
        let file = OFlags::CREATE | OFlags::WRONLY;
        system::openat(&folder, "f", file, FILE_MODE).unwrap();
        folder = system::openat(&folder, "d", DIRECTORY, Mode::empty()).unwrap();
    }
    drop(folder);
    world.folder.remove("src").unwrap();
    assert_eq!(world.folder.list("").unwrap(), []);
}

#[test]
fn only_regular_files_are_read_and_only_so_much() {
    let world = World::new();
    let folder = &world.folder;
    let made = Command::new("mkfifo").arg(folder.path("src/pipe")).status();
    assert!(made.unwrap().success());
    let _listener = UnixListener::bind(folder.path("src/socket")).unwrap();
    for path in ["src/pipe", "src/socket", "src/sub", "src/none", "none/none"] {
        assert_eq!(folder.read(path).unwrap(), None, "{path}");
    }
    let large = File::create(folder.path("src/large")).unwrap();
    large.set_len(MAX_FILE + 1).unwrap();
    let error = folder.read("src/large").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    large.set_len(5).unwrap();
    assert_eq!(folder.read("src/large").unwrap(), Some(vec![0; 5]));
}

#[test]
fn a_copy_has_links_and_not_what_they_lead_to() {
    let world = World::new();
    world.plant();
    fs::write(world.path("run/src/sub/program"), "#!/bin/sh\n").unwrap();
    let program = world.path("run/src/sub/program");
    assert!(
        Command::new("chmod")
            .arg("755")
            .arg(&program)
            .status()
            .unwrap()
            .success()
    );
    let copy = Folder::new(world.path("victim/sub"));
    copy.copy_from(&world.folder, Path::new(""), Path::new("copy"))
        .unwrap();
    assert_eq!(copy.kind("copy/src/file").unwrap(), Some(EntryKind::Link));
    assert_eq!(copy.kind("copy/folder").unwrap(), Some(EntryKind::Link));
    assert_eq!(copy.read("copy/src/own").unwrap().unwrap(), b"mine");
    let ran = Command::new(copy.path("copy/src/sub/program")).status();
    assert!(ran.unwrap().success());
}

#[test]
fn other_systems_open_paths_in_the_same_way() {
    let world = World::new();
    let planted = world.plant();
    let root = File::open(world.path("run")).unwrap();
    let open = |path: &Path| {
        let both = [open_beneath, open::walk];
        both.map(|open| open(root.as_fd(), path, READ, Mode::empty()).map(drop))
    };
    for path in planted {
        assert!(open(Path::new(path)).iter().all(Result::is_err), "{path}");
    }
    assert_eq!(open(Path::new("src/own")), [Ok(()), Ok(())]);
    assert_eq!(open(Path::new("src/none")), [Err(Errno::NOENT); 2]);
    assert_eq!(open(Path::new("../victim/secret")), [Err(Errno::XDEV); 2]);
    assert_eq!(open(&world.path("victim/secret")), [Err(Errno::XDEV); 2]);
}

#[test]
fn several_make_the_same_folder_at_once() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::new(root.path());
    for round in 0..50 {
        let inside = format!("{round}/a/b/c/d");
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let makers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        folder.make(&inside)
                    })
                })
                .collect();
            for maker in makers {
                maker.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::new(root.path());
    folder.write("file", b"text").unwrap();
    assert_eq!(folder.read_up_to("file", 4).unwrap(), Some(b"text".to_vec()));
    assert!(folder.read_up_to("file", 3).is_err());
    assert_eq!(folder.read_up_to("none", 3).unwrap(), None);
}
