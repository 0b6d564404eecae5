//! What a field selector's label stands for in a document.

use serde_json::Value;

/// The text that a field selector compares, for a label of [`Builtin::selectable`](super::Builtin::selectable) or
/// `metadata.name`, `metadata.namespace`. What is absent reads as its zero value, as it does in Go.
#[must_use]
pub fn selectable_value(label: &str, object: &Value) -> String {
    match label {
        "spec.unschedulable" | "spec.hostNetwork" => {
            text_at(object, label).unwrap_or_else(|| "false".to_owned())
        }
        "status.successful" => text_at(object, "status.succeeded").unwrap_or_else(|| "0".to_owned()),
        "source" => text_at(object, "source.component")
            .filter(|component| !component.is_empty())
            .or_else(|| text_at(object, "reportingComponent"))
            .unwrap_or_default(),
        path => text_at(object, path).unwrap_or_default(),
    }
}

fn text_at(object: &Value, path: &str) -> Option<String> {
    let value = path
        .split('.')
        .try_fold(object, |value, segment| value.get(segment))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_read_as_upstream() {
        let event =
            json!({"source": {"component": "kubelet"}, "reportingComponent": "other", "type": "Normal"});
        let bare_event = json!({"source": {}, "reportingComponent": "other"});
        let pod = json!({"status": {"podIPs": [{"ip": "10.0.0.1"}]}});
        let job = json!({"status": {"succeeded": 2}});
        let cases = [
            (&event, "source", "kubelet"),
            (&event, "type", "Normal"),
            (&event, "involvedObject.name", ""),
            (&bare_event, "source", "other"),
            // The label is accepted, but no object has a value for it.
            (&pod, "status.podIPs", ""),
            (&pod, "spec.hostNetwork", "false"),
            (&job, "status.successful", "2"),
            (&pod, "status.successful", "0"),
        ];
        for (object, label, expected) in cases {
            assert_eq!(selectable_value(label, object), expected, "{label} of {object}");
        }
    }
}
