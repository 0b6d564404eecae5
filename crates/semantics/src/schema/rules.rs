//! What a schema says of a value beyond its shape.

use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::cel::Rule;
use super::format::Format;
use super::node::NodeId;

/// Rules about a value that do not change its shape: `enum`, `pattern`, bounds, `format`, value-only `allOf`…, CEL.
#[derive(Debug, Clone, Default)]
pub struct ValueRules {
    /// Most nodes have none, and there are thousands of nodes.
    rules: Option<Box<Rules>>,
    /// What is worth a walk below this node.
    pub(super) below: Below,
}

/// Which checks have anything to do at a node or below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Below {
    /// Embedded resources.
    pub(super) embedded: bool,
    /// Lists whose items must be unique.
    pub(super) unique: bool,
    /// CEL rules.
    pub(super) cel: bool,
}

impl Below {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            embedded: self.embedded || other.embedded,
            unique: self.unique || other.unique,
            cel: self.cel || other.cel,
        }
    }
}

/// A compiled `pattern`.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// As written, for messages.
    pub(super) text: String,
    pub(super) regex: Arc<Regex>,
}

/// The rules themselves, named as in OpenAPI.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    pub(super) enum_values: Vec<Value>,
    pub(super) pattern: Option<Pattern>,
    pub(super) format: Option<Format>,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) all_of: Vec<NodeId>,
    pub(super) any_of: Vec<NodeId>,
    pub(super) one_of: Vec<NodeId>,
    pub(super) not: Option<NodeId>,
    /// `additionalProperties: false`
    pub(super) no_additional: bool,
    /// A `resource.Quantity`: a string or a number.
    pub(super) quantity: bool,
    /// Duplicates in a set or map list are refused. Built-in kinds have checks of their own and leave this off.
    pub(super) unique: bool,
    /// `x-kubernetes-validations`
    pub(super) cel: Vec<Arc<Rule>>,
}

impl ValueRules {
    pub(super) fn get(&self) -> Option<&Rules> {
        self.rules.as_deref()
    }

    pub(super) fn edit(&mut self) -> &mut Rules {
        self.rules.get_or_insert_default()
    }

    pub(super) fn format(&self) -> Option<&Format> {
        self.get().and_then(|rules| rules.format.as_ref())
    }

    pub(super) fn is_quantity(&self) -> bool {
        self.get().is_some_and(|rules| rules.quantity)
    }
}

impl Rules {
    /// Whether there is anything to check.
    pub(super) fn says_anything(&self) -> bool {
        let has_bound = [self.minimum, self.maximum, self.multiple_of]
            .iter()
            .any(Option::is_some)
            || [
                self.min_length,
                self.max_length,
                self.min_items,
                self.max_items,
                self.min_properties,
                self.max_properties,
            ]
            .iter()
            .any(Option::is_some);
        let has_junctor = self.not.is_some()
            || ![&self.all_of, &self.any_of, &self.one_of]
                .iter()
                .all(|schemas| schemas.is_empty());
        has_bound
            || has_junctor
            || self.pattern.is_some()
            || self.format.is_some()
            || !self.enum_values.is_empty()
            || !self.cel.is_empty()
            || self.no_additional
            || self.quantity
            || self.unique
    }
}
