//! What is generated from the structs is what the repository holds, and is what Kubernetes accepts.

#![allow(clippy::expect_used)]

use std::{collections::BTreeMap, fs, path::PathBuf};

use capt_api::manifests::{self, Manifest};
use serde_json::{Value, json};

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

/// Calls `check` with every schema in a schema, and its path.
fn each(schema: &Value, path: &str, check: &mut impl FnMut(&str, &Value)) {
    check(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        each(property, &format!("{path}.{name}"), check);
    }
    if schema["items"].is_object() {
        each(&schema["items"], &format!("{path}[]"), check);
    }
    if schema["additionalProperties"].is_object() {
        each(&schema["additionalProperties"], &format!("{path}.*"), check);
    }
}

fn root_schemas() -> Vec<(String, Value)> {
    capt_api::crds()
        .into_iter()
        .chain(capt_api::foreign::crds())
        .map(|crd| {
            let schema = crd.spec.versions[0]
                .schema
                .as_ref()
                .and_then(|schema| schema.open_api_v3_schema.as_ref());
            let name = crd.metadata.name.clone().unwrap_or_default();
            (name, serde_json::to_value(schema).expect("a schema is JSON"))
        })
        .collect()
}

#[test]
fn every_field_is_explained_and_nothing_is_left_to_chance() {
    for (name, root) in root_schemas() {
        each(&root, &name, &mut |path, schema| {
            let element = path.ends_with("[]") || path.ends_with(".*");
            let explained = schema["description"]
                .as_str()
                .is_some_and(|text| !text.trim().is_empty());
            assert!(explained || element, "{path} has no doc comment");
            assert!(schema.get("nullable").is_none(), "{path} is nullable");
            for shape in ["anyOf", "oneOf", "allOf", "not", "$ref"] {
                assert!(schema.get(shape).is_none(), "{path} has {shape}");
            }
            let typed = schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true;
            assert!(typed, "{path} has no type");
            assert_eq!(
                schema["type"] == "array",
                schema["x-kubernetes-list-type"].is_string(),
                "{path}"
            );
        });
    }
}

/// The real API server estimates what a rule may cost from these bounds, and refuses a CRD that may cost too much.
#[test]
fn what_rules_look_at_is_bounded() {
    for (name, root) in root_schemas() {
        each(&root, &name, &mut |path, schema| {
            if schema["x-kubernetes-validations"].is_null() {
                return;
            }
            match schema["type"].as_str() {
                Some("string") => assert!(schema["maxLength"].is_number(), "{path} has no maxLength"),
                Some("array") => assert!(schema["maxItems"].is_number(), "{path} has no maxItems"),
                _ => {}
            }
        });
    }
}

#[test]
fn our_kinds_are_found_by_cluster_api() {
    for crd in capt_api::crds() {
        let (name, labels) = (
            crd.metadata.name.unwrap_or_default(),
            crd.metadata.labels.unwrap_or_default(),
        );
        let contracts: Vec<_> = labels
            .iter()
            .filter(|(key, _)| key.starts_with("cluster.x-k8s.io/"))
            .collect();
        assert_eq!(
            json!(contracts),
            json!([["cluster.x-k8s.io/v1beta2", "v1beta1"]]),
            "{name}"
        );
        let singular = crd.spec.names.kind.to_lowercase();
        let plural = singular
            .strip_suffix('y')
            .map_or(format!("{singular}s"), |stem| format!("{stem}ies"));
        assert_eq!(name, format!("{plural}.{}", crd.spec.group));
        assert_eq!(crd.spec.scope, "Namespaced", "{name}");
        assert_eq!(
            crd.spec.names.categories,
            Some(vec!["capt".to_owned(), "cluster-api".to_owned()]),
            "{name}"
        );
    }
}

#[test]
fn columns_are_those_of_the_design() {
    let columns: BTreeMap<String, Vec<String>> = capt_api::crds()
        .into_iter()
        .map(|crd| {
            let columns = crd.spec.versions[0]
                .additional_printer_columns
                .clone()
                .unwrap_or_default();
            let narrow = columns
                .into_iter()
                .filter(|column| column.priority.unwrap_or(0) == 0);
            (crd.spec.names.kind, narrow.map(|column| column.name).collect())
        })
        .collect();
    assert_eq!(columns["CAPTCluster"], ["VPC-ID", "READY", "ENDPOINT", "AGE"]);
    assert_eq!(
        columns["CAPTControlPlane"],
        ["READY", "PHASE", "VERSION", "ENDPOINT", "AGE"]
    );
}

/// What is wanted and refused must not look as if it ran.
#[test]
fn the_version_in_a_column_is_the_one_that_runs() {
    let crds = capt_api::crds();
    let plane = crds.iter().find(|crd| crd.spec.names.kind == "CAPTControlPlane");
    let columns = plane.and_then(|crd| crd.spec.versions[0].additional_printer_columns.as_ref());
    let column = |name: &str| {
        let mut columns = columns.into_iter().flatten();
        columns
            .find(|column| column.name == name)
            .map(|column| column.json_path.as_str())
    };
    assert_eq!(column("VERSION"), Some(".status.version"));
    assert_eq!(column("WANTED"), Some(".spec.version"));
}

#[test]
fn the_yaml_says_what_the_crds_say() {
    for (crd, manifest) in capt_api::crds()
        .iter()
        .zip(manifests::crd_files().expect("CRDs can be written"))
    {
        let read: Value = serde_saphyr::from_str(&manifest.yaml).expect("what is written can be read");
        assert_eq!(
            read,
            serde_json::to_value(crd).expect("a CRD is JSON"),
            "{}",
            manifest.file_name
        );
    }
    let all = manifests::crds_yaml().expect("CRDs can be written");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&all).expect("what is written can be read");
    assert_eq!(documents.len(), 6);
}
