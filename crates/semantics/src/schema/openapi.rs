//! Reading the types of built-in kinds from OpenAPI v3 documents.
//!
//! Upstream's documents describe Go structs: they refer to each other, even to themselves, and carry the zero values
//! of Go as defaults. Named types are read once and shared; zero-valued defaults are dropped.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::crd::{json_type, list_type, map_type};
use super::encoding::Encoding;
use super::format::Format;
use super::node::{Additional, JsonType, Node, NodeId, PatchHints, Schema};
use super::raw::{additional, entries, is_zero, items, list, set, strings, text};

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";

/// The ends of the names of types that show even a time that was never set, as null. The documents do not tell.
const SHOW_UNSET_TIMES: [&str; 5] = [
    "Condition",
    ".Event",
    ".EventSeries",
    ".ContainerStateRunning",
    ".ContainerStateTerminated",
];

impl Schema {
    /// Reads one named type of an OpenAPI v3 document's `components.schemas`, following `$ref`. A type that is not
    /// there, here or further down, lets everything pass.
    ///
    /// `omitted` gives the properties of a named type that are left out when they are zero, which the documents do not
    /// tell.
    #[must_use]
    pub fn from_openapi(
        components: &Map<String, Value>,
        name: &str,
        omitted: fn(&str) -> Vec<&'static str>,
    ) -> Self {
        let mut reader = Reader {
            components,
            omitted,
            nodes: Vec::new(),
            named: HashMap::new(),
            narrowed: Vec::new(),
        };
        let root = reader.named(name);
        let Reader {
            mut nodes, narrowed, ..
        } = reader;
        for Narrowed { id, of, says } in narrowed {
            let mut node = nodes[of as usize].clone();
            says.apply(&mut node);
            nodes[id as usize] = node;
        }
        Self {
            nodes,
            root,
            typed: true,
        }
    }
}

/// A reference that says more than the type it refers to. The type may still be in the making when the reference is
/// met, so these are resolved at the end.
struct Narrowed {
    id: NodeId,
    of: NodeId,
    says: Says,
}

/// What may stand next to a `$ref`.
struct Says {
    default: Option<Value>,
    patch: PatchHints,
    atomic_map: bool,
}

impl Says {
    fn read(schema: &Value) -> Option<Self> {
        let says = Self {
            default: real_default(schema),
            patch: patch_hints(schema),
            atomic_map: text(schema, "x-kubernetes-map-type") == "atomic",
        };
        let is_something = says.default.is_some() || says.patch != PatchHints::default() || says.atomic_map;
        is_something.then_some(says)
    }

    fn apply(self, node: &mut Node) {
        node.default = self.default;
        node.patch = self.patch;
        if self.atomic_map {
            node.map_type = super::MapType::Atomic;
        }
    }
}

/// A default that means something: the documents also print Go's zero values.
fn real_default(schema: &Value) -> Option<Value> {
    set(schema, "default").filter(|value| !is_zero(value)).cloned()
}

fn patch_hints(schema: &Value) -> PatchHints {
    let strategy = text(schema, "x-kubernetes-patch-strategy");
    let key = text(schema, "x-kubernetes-patch-merge-key");
    PatchHints {
        merge: strategy.split(',').any(|word| word == "merge"),
        retain_keys: strategy.split(',').any(|word| word == "retainKeys"),
        merge_key: (!key.is_empty()).then(|| key.to_owned()),
    }
}

fn anything() -> Node {
    Node {
        preserve_unknown: true,
        nullable: true,
        ..Node::default()
    }
}

/// The name in `#/components/schemas/NAME`, of a plain `$ref` or of the `allOf` that wraps one to add to it.
fn reference(schema: &Value) -> Option<&str> {
    let target = match (text(schema, "$ref"), list(schema, "allOf")) {
        ("", [only]) => text(only, "$ref"),
        (target, _) => target,
    };
    target.rsplit('/').next().filter(|name| !name.is_empty())
}

struct Reader<'a> {
    components: &'a Map<String, Value>,
    omitted: fn(&str) -> Vec<&'static str>,
    nodes: Vec<Node>,
    named: HashMap<&'a str, NodeId>,
    narrowed: Vec<Narrowed>,
}

impl<'a> Reader<'a> {
    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        // Documents have thousands of nodes, not billions.
        NodeId::try_from(self.nodes.len() - 1).unwrap_or(NodeId::MAX)
    }

    fn named(&mut self, name: &str) -> NodeId {
        if let Some(&id) = self.named.get(name) {
            return id;
        }
        let Some((name, schema)) = self.components.get_key_value(name) else {
            return self.add(anything());
        };
        // The place is taken first, so that the type can refer to itself.
        let id = self.add(Node::default());
        self.named.insert(name, id);
        let node = match name.as_str() {
            QUANTITY => {
                let mut node = Node::default();
                node.values.edit().quantity = true;
                node
            }
            INT_OR_STRING => Node {
                int_or_string: true,
                ..Node::default()
            },
            TIME | MICRO_TIME => Node {
                json_type: Some(JsonType::String),
                encoding: Some(if name == TIME {
                    Encoding::Time
                } else {
                    Encoding::MicroTime
                }),
                ..Node::default()
            },
            _ => self.node(schema),
        };
        self.nodes[id as usize] = node;
        let omitted = (self.omitted)(name);
        self.nodes[id as usize].omitted = omitted.into_iter().map(str::to_owned).collect();
        if SHOW_UNSET_TIMES.iter().any(|end| name.ends_with(end)) {
            let times = entries(schema, "properties")
                .filter(|(_, inner)| {
                    reference(inner).is_some_and(|target| matches!(target, TIME | MICRO_TIME))
                })
                .map(|(name, _)| (name.clone(), Value::Null));
            self.nodes[id as usize].zeros.extend(times);
        }
        id
    }

    fn child(&mut self, schema: &'a Value) -> NodeId {
        let Some(name) = reference(schema) else {
            let node = self.node(schema);
            return self.add(node);
        };
        let of = self.named(name);
        match Says::read(schema) {
            None => of,
            Some(says) => {
                let id = self.add(Node::default());
                self.narrowed.push(Narrowed { id, of, says });
                id
            }
        }
    }

    fn node(&mut self, schema: &'a Value) -> Node {
        if text(schema, "format") == "int-or-string" {
            return Node {
                int_or_string: true,
                patch: patch_hints(schema),
                ..Node::default()
            };
        }
        let kind = text(schema, "type");
        let Some(json_type) = json_type(kind) else {
            return anything();
        };
        let mut node = Node {
            json_type: Some(json_type),
            required: strings(schema, "required").map(ToOwned::to_owned).collect(),
            default: real_default(schema),
            list_type: list_type(schema),
            map_type: map_type(schema),
            patch: patch_hints(schema),
            ..Node::default()
        };
        for (name, inner) in entries(schema, "properties") {
            let id = self.child(inner);
            node.properties.insert(name.clone(), id);
            if let Some(zero) = set(inner, "default").filter(|value| is_zero(value)) {
                node.zeros.push((name.clone(), zero.clone()));
            }
        }
        node.items = items(schema).map(|inner| self.child(inner));
        if let Some(inner) = additional(schema) {
            node.additional = Additional::Node(self.child(inner));
        }
        let is_bare = node.properties.is_empty() && node.additional == Additional::Unsaid;
        // `RawExtension`, `FieldsV1` and their like: an object of which nothing is said.
        node.preserve_unknown = json_type == JsonType::Object && is_bare;
        if json_type == JsonType::String && text(schema, "format") == "byte" {
            node.encoding = Some(Encoding::Base64);
        }
        // Built-in strings are parsed by their own types; only the width of integers is a rule of the schema.
        if json_type == JsonType::Integer
            && let Some(format) = Format::parse(kind, text(schema, "format"))
        {
            node.values.edit().format = Some(format);
        }
        node
    }
}
