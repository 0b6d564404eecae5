//! Nodes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Column, age, condition, items, joined, string, text, text_of, text_or, wide};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::name(),
        text("Status", "Whether it is ready for pods.", |node, _| {
            status(node).into()
        }),
        text("Roles", "What it is for.", |node, _| roles(node).into()),
        age(),
        text("Version", "The version of its kubelet.", |node, _| {
            string(&node["status"]["nodeInfo"]["kubeletVersion"])
        }),
        wide("Internal-IP", "Its address inside the cluster.", |node, _| {
            address(node, "InternalIP").into()
        }),
        wide("External-IP", "Its address outside the cluster.", |node, _| {
            address(node, "ExternalIP").into()
        }),
        wide("OS-Image", "Its operating system.", |node, _| {
            info(node, "osImage").into()
        }),
        wide("Kernel-Version", "Its kernel.", |node, _| {
            let kernel = info(node, "kernelVersion");
            match text_of(&node["status"]["nodeInfo"]["architecture"]) {
                "" => kernel.into(),
                architecture => format!("{kernel} ({architecture})").into(),
            }
        }),
        wide("Container-Runtime", "What runs its containers.", |node, _| {
            info(node, "containerRuntimeVersion").into()
        }),
    ]
}

fn status(node: &Value) -> String {
    let mut status = match condition(node, "Ready").map(|ready| text_of(&ready["status"])) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object();
    let roles: BTreeSet<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None if key == ROLE_LABEL => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() {
        "<none>".to_owned()
    } else {
        joined(roles, ",")
    }
}

fn address<'a>(node: &'a Value, kind: &str) -> &'a str {
    items(&node["status"]["addresses"])
        .iter()
        .find(|address| address["type"] == kind)
        .map_or("<none>", |address| text_of(&address["address"]))
}

fn info<'a>(node: &'a Value, name: &str) -> &'a str {
    text_or(&node["status"]["nodeInfo"][name], "<unknown>")
}
