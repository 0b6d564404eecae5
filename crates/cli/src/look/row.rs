//! One line about an object.

use capt_api::foreign::marks as foreign_marks;
use capt_core::graph::{Health, Node, age};
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;

use super::{
    Gathered,
    kinds::shown,
    style::{Colour, colour},
    table::Cell,
    text,
    tree::percent,
    view::{Object, View, typed},
};
use crate::target::Kind;

/// One line about an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// What a person types to mean it.
    pub(crate) object: String,
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) namespace: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ready: Option<bool>,
    pub(crate) state: String,
    #[serde(skip)]
    pub(crate) health: Option<Health>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) percent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// All of it, for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    /// The same on one line, for tables.
    #[serde(skip)]
    pub(crate) line: String,
}

/// The lines about the objects of some kind and of some name, or about all of them.
pub(crate) fn rows(gathered: &Gathered, kind: Option<Kind>, name: Option<&str>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (namespace, part) in &gathered.namespaces {
        let view = View::new(part);
        for kind in shown(kind) {
            let of_kind = view.graph.nodes().filter(|(id, node)| {
                // What is named and is not there is no object, and a template of another namespace is not this one's.
                let is_here = id.split('/').count() == 2 && node.created_at.is_some();
                let is_of_kind = id.split_once('/').is_some_and(|(own, _)| own == kind);
                is_of_kind && is_here && name.is_none_or(|name| node.name == name)
            });
            rows.extend(of_kind.map(|(id, node)| row(&view, namespace, id, node)));
        }
    }
    rows
}

/// The line about one object.
pub(crate) fn row(view: &View<'_>, namespace: &str, id: &str, node: &Node) -> Row {
    // Who asks for another try without having heard of it makes it a second time.
    let torn = view.torn(id).filter(|_| view.running(id).is_none());
    let torn = |shown: fn(&str) -> String| torn.map(|torn| format!("ResourcesMissing: {}", shown(torn)));
    Row {
        object: typed(id),
        kind: node.kind.clone(),
        namespace: match id.starts_with("ClusterWorkspace/") {
            true => String::new(),
            false => namespace.to_owned(),
        },
        name: node.name.clone(),
        ready: view.is_ready(id),
        state: node.status.clone(),
        health: Some(node.health),
        percent: view.percent(id),
        created_at: node.created_at,
        since: node.since,
        cluster: cluster(view, id),
        reason: text::plain(&node.reason),
        message: torn(text::whole).unwrap_or_else(|| view.whole_why(id)),
        line: torn(text::line).unwrap_or_else(|| view.why(id)),
    }
}

fn cluster(view: &View<'_>, id: &str) -> Option<String> {
    let label = match view.object(id)? {
        Object::Cluster(one) => return one.metadata.name.clone(),
        Object::CaptCluster(one) => one.metadata.labels.as_ref()?.get(foreign_marks::CLUSTER_NAME),
        Object::ControlPlane(one) => one.metadata.labels.as_ref()?.get(foreign_marks::CLUSTER_NAME),
        Object::Apply(one) => one.metadata.labels.as_ref()?.get(foreign_marks::CLUSTER_NAME),
        Object::Workspace(_) => return view.makers(id).find_map(|maker| cluster(view, maker)),
    };
    label.cloned()
}

/// Which columns are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) namespace: bool,
    pub(crate) wide: bool,
}

impl Columns {
    /// The names of the columns.
    pub(crate) fn header(self) -> Vec<Cell> {
        let mut names = vec!["NAME", "READY", "STATE", "DONE", "AGE"];
        if self.namespace {
            names.insert(0, "NAMESPACE");
        }
        if self.wide {
            names.extend(["SINCE", "CLUSTER", "REASON"]);
        }
        names.push("MESSAGE");
        names
            .into_iter()
            .map(|name| Cell::in_colour(name, Colour::Dim))
            .collect()
    }

    /// What stands in them.
    pub(crate) fn cells(self, row: &Row, now: Timestamp) -> Vec<Cell> {
        let ago = |time: Option<Timestamp>| time.map_or_else(String::new, |time| age(time, now));
        let paint = row.health.map(colour);
        let coloured = |text: &str| Cell {
            text: text.to_owned(),
            colour: paint,
        };
        let ready = row.ready.map_or("", |ready| if ready { "yes" } else { "no" });
        let mut cells = vec![
            Cell::from(row.object.clone()),
            ready.into(),
            coloured(&row.state),
            percent(row.percent).into(),
            ago(row.created_at).into(),
        ];
        if self.namespace {
            cells.insert(0, row.namespace.clone().into());
        }
        if self.wide {
            cells.push(ago(row.since).into());
            cells.push(row.cluster.clone().unwrap_or_default().into());
            cells.push(row.reason.clone().into());
        }
        cells.push(row.line.clone().into());
        cells
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::look::testing::{condition, part};

    #[test]
    fn what_an_operation_that_was_cut_short_left_is_told_whatever_else_is_well() {
        let part = part(&json!({"workspaces": [{
            "metadata": {"name": "net"},
            "spec": {"forProvider": {"source": "Inline", "module": ""}},
            "status": {"conditions": [
                condition("Synced", "True", "ReconcileSuccess", ""),
                condition("Ready", "True", "Available", ""),
                condition("StateComplete", "False", "ResourcesMissing", "the state does not have terraform_data.b"),
            ]},
        }]}));
        let view = View::new(&part);
        let node = view.graph.node("Workspace/net").unwrap();
        assert_eq!(
            row(&view, "team", "Workspace/net", node).message,
            "ResourcesMissing: the state does not have terraform_data.b"
        );
    }

    #[test]
    fn programs_get_a_message_whole_and_tables_on_one_line() {
        let failed = "It failed:\n  on main.tf line 1\nMend it. Ask for another try: capt retry captcluster/net -n team";
        let part = part(&json!({"captclusters": [{
            "metadata": {"name": "net"},
            "spec": {"region": "eu-central-1"},
            "status": {"failureReason": "VPCCreationFailed", "conditions": [
                condition("Ready", "False", "VPCCreationFailed", failed),
            ]},
        }]}));
        let view = View::new(&part);
        let node = view.graph.node("CAPTCluster/net").unwrap();
        let row = row(&view, "team", "CAPTCluster/net", node);
        assert_eq!(row.message, format!("VPCCreationFailed: {failed}"));
        assert_eq!(
            row.line,
            "VPCCreationFailed: It failed: on main.tf line 1 … Ask for another try: capt retry captcluster/net -n team"
        );
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(json["message"], row.message);
        assert_eq!(json.get("line"), None);
    }

    #[test]
    fn what_somebody_else_manages_is_as_ready_as_it_says() {
        for (status, ready, state) in [
            (json!({"initialization": {"provisioned": true}}), true, "Ready"),
            (
                json!({"ready": true, "initialization": {"provisioned": true}}),
                true,
                "Ready",
            ),
            (json!({"ready": false}), false, "NotReady"),
        ] {
            let part = part(&json!({"captclusters": [{
                "metadata": {"name": "net", "annotations": {"cluster.x-k8s.io/managed-by": "others"}},
                "spec": {"region": "eu-central-1"},
                "status": status,
            }]}));
            let view = View::new(&part);
            let node = view.graph.node("CAPTCluster/net").unwrap();
            let row = row(&view, "team", "CAPTCluster/net", node);
            assert_eq!((row.ready, row.state.as_str()), (Some(ready), state), "{status}");
            assert!(
                row.message.contains("somebody else manages it"),
                "{}",
                row.message
            );
        }
    }
}
