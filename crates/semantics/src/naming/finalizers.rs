//! Finalizers of built-in kinds: a name without a domain must be one that Kubernetes itself uses.

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
}
