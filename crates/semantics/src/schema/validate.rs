//! Checking a document against its schema: the order of the checks, and what stops what.

use serde_json::Value;

use super::cel::{self, Found};
use super::check::Check;
use super::embedded;
use super::node::{NodeId, Schema};
use super::path::Path;
use super::unique;
use crate::{FieldError, FieldErrorKind};

/// What there is to say about a document.
#[derive(Debug, Default)]
pub struct Review {
    /// What refuses it.
    pub errors: Vec<FieldError>,
    /// Broken rules about values that the old document had too.
    pub forgiven: Vec<FieldError>,
}

impl Schema {
    /// Checks a document: types, value rules, list uniqueness, CEL. With `old`, unchanged parts that were
    /// already wrong pass (ratcheting) and transition rules see `oldSelf`.
    #[must_use]
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.review(object, old).errors
    }

    /// Like [`Self::validate`], and says which broken rules were let pass because nothing changed for them.
    #[must_use]
    pub fn review(&self, object: &Value, old: Option<&Value>) -> Review {
        let cursor = self.cursor();
        let below = cursor.node().values.below;
        let mut check = Check::default();
        check.value(cursor, object, old, &Path::Root);
        let mut errors = check.into_errors();
        if below.embedded {
            embedded::check(cursor, object, &Path::Root, &mut errors);
        }
        if below.unique {
            let mut old_errors = Vec::new();
            if let Some(old) = old {
                unique::check(cursor, old, &Path::Root, &mut old_errors);
            }
            if old_errors.is_empty() {
                unique::check(cursor, object, &Path::Root, &mut errors);
            }
        }
        let mut forgiven = Vec::new();
        if below.cel {
            if errors.iter().any(blocks_rules) {
                errors.push(FieldError::invalid(
                    "",
                    Value::Null,
                    "some validation rules were not checked because the object was invalid; \
                     correct the existing errors to complete validation",
                ));
            } else {
                let mut found = Found::default();
                cel::check(cursor, object, old, true, true, &Path::Root, &mut found);
                errors.append(&mut found.errors);
                forgiven = found.forgiven;
            }
        }
        Review { errors, forgiven }
    }

    /// Checks the defaults at a node and below. Defaults below `additionalProperties` are not looked at; upstream
    /// does not either.
    pub(super) fn check_defaults(&self, id: NodeId, field: &str, errors: &mut Vec<FieldError>) {
        let cursor = self.cursor().at(id);
        let node = cursor.node();
        if let Some(default) = &node.default {
            let field = format!("{field}.default");
            errors.append(&mut self.default_errors(id, default, &field));
        }
        if let Some(id) = node.items {
            self.check_defaults(id, &format!("{field}.items"), errors);
        }
        for (name, &id) in &node.properties {
            self.check_defaults(id, &format!("{field}.properties[{name}]"), errors);
        }
    }

    fn default_errors(&self, id: NodeId, default: &Value, field: &str) -> Vec<FieldError> {
        let cursor = self.cursor().at(id);
        let mut errors = Vec::new();
        let mut pruned = default.clone();
        if !super::prune::prune_at(cursor, &mut pruned).is_empty() {
            errors.push(FieldError::invalid(
                field,
                default.clone(),
                "must not have unknown fields",
            ));
        }
        let mut found = Vec::new();
        embedded::check(cursor, default, &Path::Root, &mut found);
        if found.is_empty() {
            let mut check = Check::default();
            check.value(cursor, default, None, &Path::Root);
            // Upstream hangs the whole path below the default, with a dot even before an index.
            for mut error in check.into_errors() {
                if !error.field.is_empty() {
                    error.field.insert(0, '.');
                }
                found.push(error);
            }
        }
        if found.is_empty() && cursor.node().values.below.cel {
            let root = cursor.node().embedded_resource;
            // As an update that changes nothing, then as a creation.
            for old in [Some(default), None] {
                if found.is_empty() {
                    let mut broken = Found::default();
                    cel::check(cursor, default, old, false, root, &Path::Root, &mut broken);
                    found = broken.errors;
                }
            }
        }
        for mut error in found {
            let dot = if error.field.is_empty() || error.field.starts_with(['[', '.']) {
                ""
            } else {
                "."
            };
            error.field = format!("{field}{dot}{}", error.field);
            errors.push(error);
        }
        errors
    }
}

/// Rules are written for values that have their type and size.
fn blocks_rules(error: &FieldError) -> bool {
    matches!(
        error.kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}
