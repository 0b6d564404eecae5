//! Which objects of a table a request is about.

use serde_json::Value;

use super::Call;
use crate::registry::{Resource, Selectable};
use crate::request::Query;
use crate::status::{ApiError, ApiResult};
use crate::store::{Object, ObjectKey, Table};
use apiary_semantics::selector::{FieldSelector, LabelSelector};

/// Namespace, name, labels and fields to match.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    namespace: String,
    name: Option<String>,
    labels: LabelSelector,
    fields: FieldSelector,
    /// Fields beyond name and namespace that the selector names, for which a document must be parsed.
    inner: Vec<Selectable>,
}

impl Selection {
    /// Reads a request's selection, refusing fields that cannot be selected by.
    pub(crate) fn of(call: &Call) -> ApiResult<Self> {
        let Query { labels, fields, .. } = &call.query;
        let mut inner = Vec::new();
        for field in fields.fields() {
            if matches!(field, "metadata.name" | "metadata.namespace") {
                continue;
            }
            inner.push(selectable(&call.resource, field)?.clone());
        }
        let name = match call.target.name.as_str() {
            "" => fields.exact("metadata.name").map(str::to_owned),
            name => Some(name.to_owned()),
        };
        Ok(Self {
            namespace: call.target.namespace.clone(),
            name,
            labels: labels.clone(),
            fields: fields.clone(),
            inner,
        })
    }

    /// Whether more than the namespace is asked for.
    pub(crate) fn is_selective(&self) -> bool {
        self.name.is_some() || !self.labels.is_empty() || !self.fields.is_empty()
    }

    /// Whether the object is one of them.
    pub(crate) fn matches(&self, resource: &Resource, object: &Object) -> bool {
        if !self.namespace.is_empty() && object.key.namespace() != self.namespace {
            return false;
        }
        if self.name.as_deref().is_some_and(|name| object.key.name() != name) {
            return false;
        }
        if !self.labels.is_empty() && !self.labels.matches(|key| object.label(key)) {
            return false;
        }
        self.fields.is_empty() || self.matches_fields(resource, object)
    }

    fn matches_fields(&self, resource: &Resource, object: &Object) -> bool {
        let mut document = if self.inner.is_empty() {
            Value::Null
        } else {
            object.value()
        };
        resource.show(&mut document);
        let found: Vec<(&str, String)> = self
            .inner
            .iter()
            .map(|field| (field.name.as_str(), resource.selectable_text(field, &document)))
            .collect();
        self.fields.matches(|field| match field {
            "metadata.name" => object.key.name(),
            "metadata.namespace" => object.key.namespace(),
            other => found
                .iter()
                .find(|(name, _)| *name == other)
                .map_or("", |(_, value)| value.as_str()),
        })
    }

    /// The part of the table worth looking at, from `after` on.
    pub(crate) fn candidates<'a>(
        &'a self,
        table: &'a Table,
        after: Option<&ObjectKey>,
    ) -> impl Iterator<Item = &'a std::sync::Arc<Object>> {
        let start = match after {
            Some(key) => std::ops::Bound::Excluded(key.clone()),
            None => std::ops::Bound::Included(ObjectKey::new(&self.namespace, "")),
        };
        table
            .range((start, std::ops::Bound::Unbounded))
            .map(|(_, object)| object)
            .take_while(|object| self.namespace.is_empty() || object.key.namespace() == self.namespace)
    }
}

fn selectable<'a>(resource: &'a Resource, field: &str) -> ApiResult<&'a Selectable> {
    let found = resource.selectable.iter().find(|known| known.name == field);
    found.ok_or_else(|| {
        ApiError::bad_request(if resource.custom().is_none() && resource.selectable.is_empty() {
            format!(
                "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            )
        } else {
            format!("field label not supported: {field}")
        })
    })
}
