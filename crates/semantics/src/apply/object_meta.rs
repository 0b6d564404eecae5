//! The schema of every object's `metadata`, which custom kinds do not describe.

use std::sync::LazyLock;

use crate::schema::{Additional, JsonType, ListType, MapType, Node, Schema};

/// The schema.
pub(super) fn schema() -> &'static Schema {
    static OBJECT_META: LazyLock<Schema> = LazyLock::new(build);
    &OBJECT_META
}

fn build() -> Schema {
    let mut nodes = Vec::new();
    let mut add = |node: Node| {
        nodes.push(node);
        u32::try_from(nodes.len() - 1).unwrap_or_default()
    };
    let typed = |json_type| Node {
        json_type: Some(json_type),
        ..Node::default()
    };
    let text = add(typed(JsonType::String));
    let integer = add(typed(JsonType::Integer));
    let text_map = add(Node {
        additional: Additional::Node(text),
        ..typed(JsonType::Object)
    });
    let text_set = add(Node {
        items: Some(text),
        list_type: ListType::Set,
        ..typed(JsonType::Array)
    });
    let boolean = add(typed(JsonType::Boolean));
    let owner = add(Node {
        map_type: MapType::Atomic,
        properties: [
            ("apiVersion", text),
            ("kind", text),
            ("name", text),
            ("uid", text),
            ("controller", boolean),
            ("blockOwnerDeletion", boolean),
        ]
        .map(|(name, id)| (name.to_owned(), id))
        .into(),
        ..typed(JsonType::Object)
    });
    let owners = add(Node {
        items: Some(owner),
        list_type: ListType::Map(vec!["uid".to_owned()]),
        ..typed(JsonType::Array)
    });
    let anything = add(Node {
        preserve_unknown: true,
        ..Node::default()
    });
    let managed = add(Node {
        items: Some(anything),
        ..typed(JsonType::Array)
    });
    let root = add(Node {
        properties: [
            ("annotations", text_map),
            ("creationTimestamp", text),
            ("deletionGracePeriodSeconds", integer),
            ("deletionTimestamp", text),
            ("finalizers", text_set),
            ("generateName", text),
            ("generation", integer),
            ("labels", text_map),
            ("managedFields", managed),
            ("name", text),
            ("namespace", text),
            ("ownerReferences", owners),
            ("resourceVersion", text),
            ("selfLink", text),
            ("uid", text),
        ]
        .map(|(name, id)| (name.to_owned(), id))
        .into(),
        ..typed(JsonType::Object)
    });
    Schema {
        nodes,
        root,
        typed: true,
    }
}
