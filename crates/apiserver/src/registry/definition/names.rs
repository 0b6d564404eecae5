//! The names of a definition: their form, and who in a group has which.

use apiary_semantics::{FieldError, naming};
use serde_json::{Value, json};

use super::{list, text};

/// What became of the names that a definition asks for.
pub(super) struct Verdict {
    /// `status.acceptedNames`: what it asks for and may have, and what it had and may not change.
    pub(super) accepted: Value,
    /// The condition's reason and message, if a name is taken; the last one found.
    pub(super) refusal: Option<(&'static str, String)>,
}

/// Decides the names of a definition among the others of its group.
pub(super) fn judge(definition: &Value, others: &[Value]) -> Verdict {
    let group = &definition["spec"]["group"];
    let taken: Vec<&Value> = others
        .iter()
        .filter(|other| {
            other["spec"]["group"] == *group && other["metadata"]["name"] != definition["metadata"]["name"]
        })
        .map(|other| &other["status"]["acceptedNames"])
        .collect();
    let is_resource = |name: &Value| {
        taken.iter().any(|names| {
            names["plural"] == *name
                || names["singular"] == *name
                || list(&names["shortNames"]).contains(name)
        })
    };
    let is_kind = |name: &Value| {
        taken
            .iter()
            .any(|names| names["kind"] == *name || names["listKind"] == *name)
    };
    let wanted = &definition["spec"]["names"];
    let mut accepted = definition["status"]["acceptedNames"].clone();
    if !accepted.is_object() {
        // Required of the status, so that one without any accepted name says so.
        accepted = json!({"plural": "", "kind": ""});
    }
    let mut refusal = None;
    let in_use = |name: &Value| format!("{name} is already in use");
    let mut decide = |field: &str, reason: &'static str, is_taken: &dyn Fn(&Value) -> bool| {
        let name = &wanted[field];
        if *name != accepted[field] && is_taken(name) {
            refusal = Some((reason, in_use(name)));
        } else if !name.is_null() {
            accepted[field] = name.clone();
        }
    };
    decide("plural", "PluralConflict", &is_resource);
    decide("singular", "SingularConflict", &is_resource);
    let (had, short) = (list(&accepted["shortNames"]), list(&wanted["shortNames"]));
    let conflicts: Vec<String> = short
        .iter()
        .filter(|name| !had.contains(name) && is_resource(name))
        .map(in_use)
        .collect();
    let mut shorts_refused = None;
    match conflicts.as_slice() {
        [] if short.is_empty() => {
            if let Some(names) = accepted.as_object_mut() {
                names.remove("shortNames");
            }
        }
        [] => accepted["shortNames"] = Value::Array(short.to_vec()),
        [only] => shorts_refused = Some(only.clone()),
        several => shorts_refused = Some(format!("[{}]", several.join(", "))),
    }
    if let Some(message) = shorts_refused {
        refusal = Some(("ShortNamesConflict", message));
    }
    let mut decide = |field: &str, reason: &'static str| {
        let name = &wanted[field];
        if *name != accepted[field] && is_kind(name) {
            refusal = Some((reason, in_use(name)));
        } else if !name.is_null() {
            accepted[field] = name.clone();
        }
    };
    decide("kind", "KindConflict");
    decide("listKind", "ListKindConflict");
    match wanted.get("categories") {
        Some(categories) => accepted["categories"] = categories.clone(),
        None => {
            if let Some(names) = accepted.as_object_mut() {
                names.remove("categories");
            }
        }
    }
    Verdict { accepted, refusal }
}

/// What is wrong with the form of names.
pub(super) fn check(names: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut label = |name: &str, field: String, prefix: &str, value: &Value| {
        let found = naming::dns_1035_label_errors(name);
        if !found.is_empty() {
            let detail = format!("{prefix}{}", found.join(","));
            errors.push(FieldError::invalid(field, value.clone(), detail));
        }
    };
    for field in ["plural", "singular"] {
        let name = text(&names[field]);
        if !name.is_empty() {
            label(name, format!("{path}.{field}"), "", &names[field]);
        }
    }
    for field in ["kind", "listKind"] {
        let name = text(&names[field]).to_lowercase();
        if !name.is_empty() {
            let prefix = "may have mixed case, but should otherwise match: ";
            label(&name, format!("{path}.{field}"), prefix, &names[field]);
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in list(&names[field]).iter().enumerate() {
            label(text(name), format!("{path}.{field}[{index}]"), "", name);
        }
    }
    if !text(&names["kind"]).is_empty() && names["kind"] == names["listKind"] {
        errors.push(FieldError::invalid(
            format!("{path}.listKind"),
            names["listKind"].clone(),
            "kind and listKind may not be the same",
        ));
    }
}
