//! Finalizers: a name without a domain should be one that Kubernetes itself uses, and in built-in kinds must be.

use serde_json::Value;

use crate::FieldError;

const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Finalizers of a built-in kind's document that are neither standard nor qualified by a domain.
#[must_use]
pub fn standard_finalizer_errors(document: &Value) -> Vec<FieldError> {
    let list = document["metadata"]["finalizers"].as_array();
    let names = list.map(Vec::as_slice).unwrap_or_default().iter().enumerate();
    names
        .filter_map(|(index, name)| Some((index, name.as_str()?)))
        .filter(|(_, name)| !name.contains('/') && !STANDARD.contains(name))
        .map(|(index, name)| {
            FieldError::invalid(
                format!("metadata.finalizers[{index}]"),
                Value::from(name),
                "name is neither a standard finalizer name nor is it fully qualified",
            )
        })
        .collect()
}

/// What to tell about the finalizers that a custom resource's document adds to the old one.
#[must_use]
pub fn finalizer_warnings(document: &Value, old: Option<&Value>) -> Vec<String> {
    let list = |document: &Value| -> Vec<String> {
        let names = document["metadata"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let had = old.map(list).unwrap_or_default();
    let mut added = list(document);
    added.retain(|name| !had.contains(name) && !name.contains('/') && !STANDARD.contains(&name.as_str()));
    added.sort_unstable();
    added.dedup();
    let told = added.iter().map(|name| {
        let path = if name.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        )
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_known_names_need_no_domain() {
        let document = json!({"metadata": {"finalizers": ["orphan", "example.com/x", "plain"]}});
        let errors = standard_finalizer_errors(&document);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].field, "metadata.finalizers[2]");
    }

    #[test]
    fn new_names_without_a_domain_are_told() {
        let document = json!({"metadata": {"finalizers": ["orphan", "example.com/x", "plain", "a.b"]}});
        let warnings = finalizer_warnings(&document, None);
        assert_eq!(warnings.len(), 2);
        assert!(
            warnings[0].contains("\"a.b\": prefer a domain-qualified finalizer name including a path (/)")
        );
        assert!(finalizer_warnings(&document, Some(&document)).is_empty());
    }
}
