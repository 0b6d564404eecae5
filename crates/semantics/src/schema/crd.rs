//! Reading a CRD's `openAPIV3Schema`.

use std::sync::Arc;

use serde_json::Value;

use super::cel::{self, Scope};
use super::format::Format;
use super::node::{Additional, JsonType, ListType, MapType, Node, NodeId, Schema};
use super::raw::{additional, entries, flag, items, list, set, strings, text};
use super::rules::{Below, Pattern, Rules};
use super::{crd_rules, pattern, structural};
use crate::FieldError;

impl Schema {
    /// Reads `spec.versions[*].schema.openAPIV3Schema` of a CRD, refusing what is not structural.
    /// `field` is the path of the schema in the CRD, for error messages.
    pub fn from_crd(schema: &Value, field: &str) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        if structural::is_readable(schema) {
            errors.extend(structural::errors(schema, field));
        }
        errors.extend(crd_rules::errors(schema, field));
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut reader = Reader::default();
        let root = reader.node(schema);
        let mut read = Self {
            nodes: reader.nodes,
            root,
            typed: false,
        };
        read.compile_rules(schema, root, &Scope::root(), field, &mut errors);
        read.look_below();
        if errors.is_empty() {
            read.check_defaults(root, field, &mut errors);
        }
        if errors.is_empty() { Ok(read) } else { Err(errors) }
    }

    /// Compiles `x-kubernetes-validations` at a node and below. It runs over the finished shape because a rule is
    /// checked against the fields it names.
    fn compile_rules(
        &mut self,
        schema: &Value,
        id: NodeId,
        scope: &Scope,
        field: &str,
        errors: &mut Vec<FieldError>,
    ) {
        let mut compiled = Vec::new();
        for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
            let field = format!("{field}.x-kubernetes-validations[{index}]");
            match cel::compile(rule, self.cursor().at(id), scope, &field) {
                Ok(rule) => compiled.push(Arc::new(rule)),
                Err(found) => errors.extend(found),
            }
        }
        if !compiled.is_empty() {
            self.nodes[id as usize].values.edit().cel = compiled;
        }
        let node = &self.nodes[id as usize];
        let (items_id, additional_id) = (node.items, node.additional);
        if let (Some(inner), Additional::Node(id)) = (additional(schema), additional_id) {
            let field = format!("{field}.additionalProperties");
            self.compile_rules(inner, id, &scope.inside(), &field, errors);
        }
        for (name, inner) in entries(schema, "properties") {
            let Some(&id) = self.nodes[id as usize].properties.get(name) else {
                continue;
            };
            self.compile_rules(
                inner,
                id,
                &scope.inside(),
                &format!("{field}.properties[{name}]"),
                errors,
            );
        }
        if let (Some(inner), Some(id)) = (items(schema), items_id) {
            let is_map = text(schema, "x-kubernetes-list-type") == "map";
            let scope = if is_map {
                scope.inside()
            } else {
                scope.uncorrelatable(field)
            };
            self.compile_rules(inner, id, &scope, &format!("{field}.items"), errors);
        }
    }

    /// Notes at every node what its subtree holds, so that a walk can stop early.
    pub(super) fn look_below(&mut self) {
        loop {
            let mut changed = false;
            for id in 0..self.nodes.len() {
                let node = &self.nodes[id];
                let rules = node.values.get();
                let mut below = Below {
                    embedded: node.embedded_resource,
                    unique: rules.is_some_and(|rules| rules.unique),
                    cel: rules.is_some_and(|rules| !rules.cel.is_empty()),
                };
                let inner = node.properties.values().copied().chain(node.items);
                let additional = match node.additional {
                    Additional::Node(id) => Some(id),
                    Additional::Any | Additional::Unsaid => None,
                };
                for child in inner.chain(additional) {
                    below = below.or(self.nodes[child as usize].values.below);
                }
                if below != node.values.below {
                    self.nodes[id].values.below = below;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }
}

pub(super) fn json_type(name: &str) -> Option<JsonType> {
    Some(match name {
        "object" => JsonType::Object,
        "array" => JsonType::Array,
        "string" => JsonType::String,
        "integer" => JsonType::Integer,
        "number" => JsonType::Number,
        "boolean" => JsonType::Boolean,
        _ => return None,
    })
}

/// `x-kubernetes-list-type` and `-map-keys`.
pub(super) fn list_type(schema: &Value) -> ListType {
    match text(schema, "x-kubernetes-list-type") {
        "set" => ListType::Set,
        "map" => ListType::Map(
            strings(schema, "x-kubernetes-list-map-keys")
                .map(ToOwned::to_owned)
                .collect(),
        ),
        _ => ListType::Atomic,
    }
}

/// `x-kubernetes-map-type`.
pub(super) fn map_type(schema: &Value) -> MapType {
    match text(schema, "x-kubernetes-map-type") {
        "atomic" => MapType::Atomic,
        _ => MapType::Granular,
    }
}

/// Turns checked JSON into nodes.
#[derive(Default)]
struct Reader {
    nodes: Vec<Node>,
}

impl Reader {
    fn node(&mut self, schema: &Value) -> NodeId {
        let int_or_string = flag(schema, "x-kubernetes-int-or-string");
        let mut node = Node {
            json_type: if int_or_string {
                None
            } else {
                json_type(text(schema, "type"))
            },
            nullable: flag(schema, "nullable"),
            int_or_string,
            preserve_unknown: flag(schema, "x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag(schema, "x-kubernetes-embedded-resource"),
            required: strings(schema, "required").map(ToOwned::to_owned).collect(),
            default: set(schema, "default").cloned(),
            list_type: list_type(schema),
            map_type: map_type(schema),
            ..Node::default()
        };
        for (name, inner) in entries(schema, "properties") {
            let id = self.node(inner);
            node.properties.insert(name.clone(), id);
        }
        node.additional = match set(schema, "additionalProperties") {
            None => Additional::Unsaid,
            Some(Value::Object(_)) => {
                additional(schema).map_or(Additional::Any, |inner| Additional::Node(self.node(inner)))
            }
            Some(value) => {
                if value == &Value::Bool(false) {
                    node.values.edit().no_additional = true;
                }
                Additional::Any
            }
        };
        node.items = items(schema).map(|inner| self.node(inner));
        self.rules(schema, &mut node);
        self.nodes.push(node);
        // A schema larger than this cannot pass the request size limit.
        NodeId::try_from(self.nodes.len() - 1).unwrap_or(NodeId::MAX)
    }

    fn rules(&mut self, schema: &Value, node: &mut Node) {
        let json_type = if node.int_or_string {
            ""
        } else {
            text(schema, "type")
        };
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let rules = Rules {
            enum_values: list(schema, "enum").to_vec(),
            pattern: Some(text(schema, "pattern"))
                .filter(|text| !text.is_empty())
                .and_then(|text| {
                    let regex = Arc::new(pattern::compile(text).ok()?);
                    Some(Pattern {
                        text: text.to_owned(),
                        regex,
                    })
                }),
            format: Format::parse(json_type, text(schema, "format")),
            minimum: number("minimum"),
            exclusive_minimum: flag(schema, "exclusiveMinimum"),
            maximum: number("maximum"),
            exclusive_maximum: flag(schema, "exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            all_of: list(schema, "allOf")
                .iter()
                .map(|inner| self.node(inner))
                .collect(),
            any_of: list(schema, "anyOf")
                .iter()
                .map(|inner| self.node(inner))
                .collect(),
            one_of: list(schema, "oneOf")
                .iter()
                .map(|inner| self.node(inner))
                .collect(),
            not: set(schema, "not").map(|inner| self.node(inner)),
            unique: node.list_type != ListType::Atomic,
            no_additional: node.values.get().is_some_and(|rules| rules.no_additional),
            quantity: false,
            cel: Vec::new(),
        };
        if rules.says_anything() {
            *node.values.edit() = rules;
        }
    }
}
