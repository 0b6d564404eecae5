use super::*;

fn state(serial: u64, lineage: &str, ids: &[(&str, &str)]) -> Vec<u8> {
    let resources: Vec<_> = ids
        .iter()
        .map(|(name, id)| {
            serde_json::json!({"mode": "managed", "type": "terraform_data", "name": name,
                "instances": [{"attributes": {"id": id}}]})
        })
        .collect();
    serde_json::to_vec(
        &serde_json::json!({"version": 4, "serial": serial, "lineage": lineage,
        "terraform_version": "1.11.4", "outputs": {}, "resources": resources}),
    )
    .unwrap()
}

fn made(name: &str, id: &str) -> String {
    let resource = serde_json::json!({"addr": format!("terraform_data.{name}"), "resource_type": "terraform_data",
        "resource_name": name, "module": "", "resource": format!("terraform_data.{name}"),
        "implied_provider": "terraform", "resource_key": null});
    let hook = serde_json::json!({"resource": resource, "action": "create", "id_key": "id", "id_value": id,
        "elapsed_seconds": 0});
    serde_json::json!({"@level": "info", "@message": "x", "type": "apply_complete", "hook": hook}).to_string()
}

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn files(&self) -> StateFiles {
        let folder = WorkDir::of(self.folder.path(), "u").unwrap();
        folder.make().unwrap();
        StateFiles::of(&folder, "w", Path::new(""))
    }
}

#[test]
fn the_newest_whole_state_of_the_same_history_counts() {
    let old = state(1, "a", &[]);
    let new = state(2, "a", &[]);
    let newer = state(3, "a", &[]);
    let foreign = state(9, "b", &[]);
    let torn = &newer[..newer.len() - 9];
    let dump = serde_json::json!({"@level": "error", "@message": "x", "type": "log",
        "state": serde_json::from_slice::<serde_json::Value>(&newer).unwrap()})
    .to_string();
    // Replica, working file, last good, errored file, what was printed; what counts.
    type Case<'a> = ([Option<&'a [u8]>; 5], Option<(Source, &'a [u8])>);
    let cases: [Case<'_>; 9] = [
        ([None; 5], None),
        (
            [Some(&old), None, None, None, None],
            Some((Source::Replica, &old)),
        ),
        (
            [Some(&old), Some(&new), None, None, None],
            Some((Source::WorkingFile, &new)),
        ),
        (
            [Some(&new), Some(&new), Some(&new), None, None],
            Some((Source::Replica, &new)),
        ),
        (
            [Some(&new), Some(&old), None, None, None],
            Some((Source::Replica, &new)),
        ),
        (
            [Some(&old), Some(torn), Some(&new), None, None],
            Some((Source::WorkingFile, &new)),
        ),
        (
            [Some(&old), Some(torn), None, None, None],
            Some((Source::Replica, &old)),
        ),
        (
            [Some(&old), Some(&new), None, Some(&newer), None],
            Some((Source::ErroredFile, &newer)),
        ),
        (
            [Some(&old), Some(&foreign), None, None, None],
            Some((Source::Replica, &old)),
        ),
    ];
    for (number, ([replica, working, good, errored, output], expected)) in cases.into_iter().enumerate() {
        let world = World::new();
        let files = world.files();
        let all = [
            (&files.working, working),
            (&files.good, good),
            (&files.errored, errored),
            (&files.output, output),
        ];
        for (path, content) in all {
            if let Some(content) = content {
                files.folder.write(path, content).unwrap();
            }
        }
        let found = files.find(replica, None).unwrap();
        let seen = found
            .state
            .as_ref()
            .map(|(source, file)| (*source, file.as_slice()));
        assert_eq!(seen, expected, "case {number}");
        files.settle(&found).unwrap();
        assert_eq!(
            files.folder.read(&files.working).unwrap().as_deref(),
            expected.map(|(_, file)| file)
        );
        assert_eq!(files.folder.kind(&files.errored).unwrap(), None);
    }
    let world = World::new();
    let files = world.files();
    files.folder.write(&files.output, dump.as_bytes()).unwrap();
    let found = world.files().find(Some(&old), None).unwrap();
    let (source, file) = found.state.unwrap();
    assert_eq!(source, Source::EmergencyDump);
    assert_eq!(capt_terraform::state::State::parse(&file).unwrap().serial, 3);
}

#[test]
fn lists_what_is_in_no_state_until_it_is_complete() {
    let world = World::new();
    let files = world.files();
    let output = format!("{}\n{}\n{{\"@level\":\"in", made("kept", "1"), made("lost", "2"));
    files.folder.write(&files.output, output.as_bytes()).unwrap();
    let replica = state(1, "a", &[("kept", "1")]);
    let found = files.find(Some(&replica), None).unwrap();
    let missing: Vec<_> = found
        .missing
        .iter()
        .map(|made| (made.address.as_str(), made.id.as_deref()))
        .collect();
    assert_eq!(missing, [("terraform_data.lost", Some("2"))]);
    assert_eq!(files.find(None, None).unwrap().missing.len(), 2);
    files.complete().unwrap();
    files.complete().unwrap();
    assert!(files.find(Some(&replica), None).unwrap().missing.is_empty());
}

#[test]
fn a_copy_of_an_earlier_version_is_not_lost() {
    let world = World::new();
    let files = world.files();
    let (old, new) = (state(1, "a", &[]), state(2, "a", &[]));
    files.folder.write(&files.working, b"{torn").unwrap();
    files.folder.write(&files.former_good, &new).unwrap();
    let found = files.find(Some(&old), None).unwrap();
    assert_eq!(found.state, Some((Source::WorkingFile, new.clone())));
    files.settle(&found).unwrap();
    assert_eq!(files.folder.read(&files.working).unwrap(), Some(new));
    assert_eq!(files.folder.kind(&files.former_good).unwrap(), None);
}

#[test]
fn what_a_run_plants_is_no_state() {
    let world = World::new();
    let files = world.files();
    let (own, foreign) = (state(1, "a", &[]), state(9, "a", &[("victim", "1")]));
    let victim = world.folder.path().join("victim.tfstate");
    std::fs::write(&victim, &foreign).unwrap();
    for path in [&files.working, &files.errored, &files.former_good] {
        let whole = files.folder.path(path);
        std::fs::create_dir_all(whole.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&victim, &whole).unwrap();
        assert_eq!(std::fs::read(&whole).unwrap(), foreign);
    }
    let found = files.find(Some(&own), None).unwrap();
    assert_eq!(found.state, Some((Source::Replica, own.clone())));
    files.settle(&found).unwrap();
    assert_eq!(files.folder.read(&files.working).unwrap(), Some(own));
    assert_eq!(std::fs::read(&victim).unwrap(), foreign);
}
