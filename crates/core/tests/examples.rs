//! The templates that we show to newcomers can be rendered.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use capt_api::WorkspaceTemplate;
use capt_core::render::{ForeignNamespaces, RenderInput, WorkspaceGroup, holes, render};
use serde_json::Value;

/// The templates in all examples.
fn templates() -> Vec<(PathBuf, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut templates = Vec::new();
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let documents: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(&path).unwrap()).unwrap();
        let found = documents
            .into_iter()
            .filter(|document| document["kind"] == "WorkspaceTemplate");
        templates.extend(found.map(|document| (path.clone(), document)));
    }
    templates
}

#[test]
fn every_template_of_the_examples_can_be_rendered() {
    let templates = templates();
    assert!(!templates.is_empty());
    for (path, document) in templates {
        let template: WorkspaceTemplate = serde_json::from_value(document).unwrap();
        check(&template, &path);
    }
}

/// An example that is complete in one file has the templates of all the others, so that nothing changes for who applies both.
#[test]
fn templates_of_a_name_are_the_same_in_all_examples() {
    let mut known: BTreeMap<String, (PathBuf, Value)> = BTreeMap::new();
    let mut copies = 0;
    for (path, mut document) in templates() {
        let metadata = document["metadata"].as_object_mut().unwrap();
        metadata.remove("namespace");
        let name = metadata["name"].as_str().unwrap().to_owned();
        if let Some((other, same)) = known.get(&name) {
            let (path, other) = (path.display(), other.display());
            assert_eq!(*same, document, "{name} in {path} and in {other}");
            copies += 1;
        } else {
            known.insert(name, (path, document));
        }
    }
    assert!(copies > 0);
}

fn check(template: &WorkspaceTemplate, path: &Path) {
    // Every hole in a field gets a value; the module's text is to be Terraform's alone or filled as well.
    let holes = holes(&template.spec).unwrap();
    let declared = template
        .spec
        .variables
        .iter()
        .flatten()
        .map(|variable| variable.name.clone());
    let variables: BTreeMap<String, String> = holes
        .into_iter()
        .map(|hole| hole.name)
        .chain(declared)
        .map(|name| (name, "x".to_owned()))
        .collect();
    for group in [WorkspaceGroup::Namespaced, WorkspaceGroup::ClusterScoped] {
        let rendering = render(&RenderInput {
            template: &template.spec,
            variables: &variables,
            workspace_name: "example",
            namespace: template.metadata.namespace.as_deref().unwrap_or("default"),
            group,
            connection_secret: None,
            foreign_namespaces: ForeignNamespaces::Refuse,
        });
        if let Err(problems) = rendering {
            panic!("{}: {problems:?}", path.display());
        }
    }
}
