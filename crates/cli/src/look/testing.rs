//! Objects for tests, as a few lines of JSON.

use capt_api::foreign::Workspace;
use capt_core::graph::Snapshot;
use k8s_openapi::jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::group::{Part, namespaced};

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

/// A condition that is as it is since a minute after the beginning.
pub(crate) fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": at(60).to_string(),
    })
}

/// A namespace with these objects, by the names of the lists of a [`Snapshot`]. Metadata is completed, and what our
/// runner reports about a Workspace stands in it.
pub(crate) fn part(objects: &Value) -> Part {
    fn read<T: DeserializeOwned>(objects: &Value, list: &str) -> Vec<T> {
        let list = objects[list].as_array().into_iter().flatten();
        list.map(|object| {
            let mut object = object.clone();
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.insert("namespace".to_owned(), json!("team"));
            metadata.insert("creationTimestamp".to_owned(), json!(at(0).to_string()));
            serde_json::from_value(object).unwrap()
        })
        .collect()
    }
    let mut part = Part {
        snapshot: Snapshot {
            namespace: "team".to_owned(),
            clusters: read(objects, "clusters"),
            captclusters: read(objects, "captclusters"),
            control_planes: read(objects, "controlPlanes"),
            applies: read(objects, "applies"),
            templates: read(objects, "templates"),
            ..Snapshot::default()
        },
        ..Part::default()
    };
    for object in objects["workspaces"].as_array().into_iter().flatten() {
        let list = json!({"workspaces": [object]});
        let workspace: Workspace = read(&list, "workspaces").remove(0);
        part.snapshot.workspaces.push(namespaced(&workspace));
        if let Some(report) = object.get("report").filter(|report| !report.is_null()) {
            let id = format!("Workspace/{}", object["metadata"]["name"].as_str().unwrap());
            let report = serde_json::from_value(report.clone()).unwrap();
            part.reports.insert(id, report);
        }
    }
    part
}
