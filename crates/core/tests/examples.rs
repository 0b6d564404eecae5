//! The templates that we show to newcomers can be rendered.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, fs, path::Path};

use capt_api::WorkspaceTemplate;
use capt_core::render::{ForeignNamespaces, RenderInput, WorkspaceGroup, holes, render};
use serde_json::Value;

#[test]
fn every_template_of_the_examples_can_be_rendered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let documents: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(&path).unwrap()).unwrap();
        for document in documents
            .into_iter()
            .filter(|document| document["kind"] == "WorkspaceTemplate")
        {
            let template: WorkspaceTemplate = serde_json::from_value(document).unwrap();
            check(&template, &path);
            seen += 1;
        }
    }
    assert!(seen > 0);
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
