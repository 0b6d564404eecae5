//! The shape of a schema: an arena of nodes, shared by custom and built-in kinds.
//!
//! Built-in kinds refer to each other and to themselves (a CustomResourceDefinition contains JSON schemas), so nodes
//! point at each other by index and a walk carries a [`Cursor`].

use std::collections::BTreeMap;

use serde_json::Value;

/// Index of a node in its [`Schema`].
pub type NodeId = u32;

/// A schema: nodes and where to start.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// All nodes; [`NodeId`] indexes it.
    pub nodes: Vec<Node>,
    /// The node that describes a whole document.
    pub root: NodeId,
    /// Whether it describes a built-in kind, whose documents upstream decodes into structs.
    pub typed: bool,
}

/// A JSON type as `type:` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

/// How server-side apply merges a list (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    /// Replaced whole. What an unmarked list is.
    #[default]
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects told apart by these keys.
    Map(Vec<String>),
}

/// How server-side apply merges an object (`x-kubernetes-map-type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapType {
    /// Field by field. What an unmarked object is.
    #[default]
    Granular,
    /// Replaced whole.
    Atomic,
}

/// What `additionalProperties` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Additional {
    /// Nothing: unnamed properties are unknown.
    #[default]
    Unsaid,
    /// `true`: any value.
    Any,
    /// A schema for every unnamed property.
    Node(NodeId),
}

/// Strategic merge's view of a field (`x-kubernetes-patch-strategy`, `-merge-key`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchHints {
    /// The list is merged, not replaced.
    pub merge: bool,
    /// Keys missing from `$retainKeys` are cleared.
    pub retain_keys: bool,
    /// The key that tells the list's items apart.
    pub merge_key: Option<String>,
}

/// One node.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// `type`; `None` for int-or-string and for anything goes.
    pub json_type: Option<JsonType>,
    /// `nullable`
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// `properties`
    pub properties: BTreeMap<String, NodeId>,
    /// `additionalProperties`
    pub additional: Additional,
    /// `items`
    pub items: Option<NodeId>,
    /// `required`
    pub required: Vec<String>,
    /// `default`
    pub default: Option<Value>,
    /// `x-kubernetes-list-type` and `-map-keys`
    pub list_type: ListType,
    /// `x-kubernetes-map-type`
    pub map_type: MapType,
    /// Strategic merge hints (built-in kinds only).
    pub patch: PatchHints,
    /// Properties that are always shown, with their zero values (built-in kinds only).
    pub zeros: Vec<(String, Value)>,
    /// Properties that are left out when they are zero (built-in kinds only).
    pub omitted: Vec<String>,
    /// What the text encodes (built-in kinds only).
    pub encoding: Option<super::Encoding>,
    /// Value rules: `enum`, `pattern`, bounds, `format`, `allOf`… Owned by the schema module.
    pub values: super::ValueRules,
}

/// A place in a schema: what a walk over a document carries along.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    schema: &'a Schema,
    id: NodeId,
}

impl Schema {
    /// Where the whole document is described.
    #[must_use]
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor {
            schema: self,
            id: self.root,
        }
    }

    /// A schema that lets everything pass: objects are granular maps, lists atomic.
    #[must_use]
    pub fn anything() -> Self {
        Self {
            nodes: vec![Node {
                preserve_unknown: true,
                ..Node::default()
            }],
            root: 0,
            typed: false,
        }
    }
}

impl<'a> Cursor<'a> {
    /// Whether the schema describes a built-in kind.
    #[must_use]
    pub fn is_typed(self) -> bool {
        self.schema.typed
    }

    /// The node here.
    #[must_use]
    pub fn node(self) -> &'a Node {
        &self.schema.nodes[self.id as usize]
    }

    /// This cursor, moved to another node of the same schema.
    #[must_use]
    pub fn at(self, id: NodeId) -> Self {
        Self {
            schema: self.schema,
            id,
        }
    }

    /// The schema of the property `name`: a named one, else `additionalProperties`; `None` if the schema does not say.
    #[must_use]
    pub fn property(self, name: &str) -> Option<Self> {
        let node = self.node();
        match (node.properties.get(name), node.additional) {
            (Some(&id), _) | (None, Additional::Node(id)) => Some(self.at(id)),
            (None, _) => None,
        }
    }

    /// The schema of the list's items.
    #[must_use]
    pub fn items(self) -> Option<Self> {
        self.node().items.map(|id| self.at(id))
    }
}
