//! What is generated from the structs is what the repository holds, and is what Kubernetes accepts.

use std::{collections::BTreeMap, fs, path::PathBuf};

use capt_api::manifests::{self, Manifest};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds")
}

#[test]
fn the_checked_in_crds_are_those_of_the_structs() {
    let generated: BTreeMap<String, String> = manifests::crd_files()
        .expect("CRDs can be written as YAML")
        .into_iter()
        .map(|Manifest { file_name, yaml }| (file_name, yaml))
        .collect();
    if std::env::var_os("CAPT_UPDATE").is_some() {
        fs::create_dir_all(folder()).expect("the folder can be made");
        for (name, yaml) in &generated {
            fs::write(folder().join(name), yaml).expect("the file can be written");
        }
    }
    let checked_in: BTreeMap<String, String> = fs::read_dir(folder())
        .expect("deploy/crds exists")
        .map(|entry| {
            let path = entry.expect("the folder can be read").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a plain name")
                .to_owned();
            (name, fs::read_to_string(&path).expect("a text file"))
        })
        .collect();
    for (name, yaml) in &generated {
        assert_eq!(
            checked_in.get(name),
            Some(yaml),
            "deploy/crds/{name} is stale: run `cargo xtask codegen crds`"
        );
    }
    let extra: Vec<&String> = checked_in
        .keys()
        .filter(|name| !generated.contains_key(*name))
        .collect();
    assert!(
        extra.is_empty(),
        "deploy/crds holds files that nothing generates: {extra:?}"
    );
}
