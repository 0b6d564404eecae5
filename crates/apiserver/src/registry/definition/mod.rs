//! CustomResourceDefinitions as objects: what is filled in, what is refused, and the conditions they carry.

mod check;
mod fields;
mod names;
mod tidy;
mod versions;

use serde_json::{Value, json};

pub(super) use check::check;

/// Holds a definition until its objects are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether a definition's kinds are served.
pub(super) fn is_established(definition: &Value) -> bool {
    list(&definition["status"]["conditions"])
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

/// Fills in names, the conversion strategy, and on creation the finalizer; drops what a schema says by saying nothing.
pub(super) fn complete(definition: &mut Value, old: Option<&Value>) {
    let kind = text(&definition["spec"]["names"]["kind"]).to_owned();
    if let Some(Value::Object(names)) = definition.pointer_mut("/spec/names")
        && !kind.is_empty()
    {
        names
            .entry("singular")
            .or_insert_with(|| json!(kind.to_lowercase()));
        names
            .entry("listKind")
            .or_insert_with(|| json!(format!("{kind}List")));
    }
    if let Some(Value::Object(spec)) = definition.get_mut("spec") {
        spec.entry("conversion")
            .or_insert_with(|| json!({"strategy": "None"}));
        let versions = spec.get_mut("versions").and_then(Value::as_array_mut);
        for version in versions.into_iter().flatten() {
            if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
                tidy::schema(schema);
            }
        }
    }
    if old.is_none() {
        let finalizers = &mut definition["metadata"]["finalizers"];
        match finalizers.as_array_mut() {
            Some(list) if list.iter().any(|name| name == CLEANUP_FINALIZER) => {}
            Some(list) => list.push(json!(CLEANUP_FINALIZER)),
            None => *finalizers = json!([CLEANUP_FINALIZER]),
        }
    }
}

/// Formats that mean nothing to the server, which the client is told about unless the old version had them too.
pub(super) fn warnings(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let unknown = |definition: &Value| -> Vec<String> {
        versions::distinct_schemas(&definition["spec"])
            .into_iter()
            .flat_map(apiary_semantics::schema::unrecognized_formats)
            .collect()
    };
    let known_before = old.map(unknown).unwrap_or_default();
    unknown(definition)
        .into_iter()
        .filter(|format| !known_before.contains(format))
        .map(|format| format!("unrecognized format {format:?}"))
        .collect()
}

/// The status of a definition among all others: accepted names, stored versions and the two conditions, at once.
pub fn settle(definition: &mut Value, others: &[Value], now: &str) {
    let verdict = names::judge(definition, others);
    let accepted = verdict.refusal.is_none();
    let condition = |kind: &str, status: bool, reason: &str, message: &str| {
        json!({
            "type": kind,
            "status": if status { "True" } else { "False" },
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        })
    };
    let names_accepted = match &verdict.refusal {
        None => condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
        Some((reason, message)) => condition("NamesAccepted", false, reason, message),
    };
    let mut wanted = vec![names_accepted];
    if accepted {
        let message = "the initial names have been accepted";
        wanted.push(condition("Established", true, "InitialNamesAccepted", message));
    } else if !is_established(definition) {
        wanted.push(condition(
            "Established",
            false,
            "NotAccepted",
            "not all names are accepted",
        ));
    }
    let storage = list(&definition["spec"]["versions"])
        .iter()
        .find(|version| version["storage"] == json!(true))
        .map(|version| version["name"].clone());
    let status = &mut definition["status"];
    if !status.is_object() {
        *status = json!({});
    }
    let mut kept = list(&status["conditions"]).to_vec();
    for mut new in wanted {
        match kept.iter_mut().find(|have| have["type"] == new["type"]) {
            Some(have) => {
                if have["status"] == new["status"] {
                    new["lastTransitionTime"] = have["lastTransitionTime"].clone();
                }
                *have = new;
            }
            None => kept.push(new),
        }
    }
    status["conditions"] = Value::Array(kept);
    status["acceptedNames"] = verdict.accepted;
    let mut stored = list(&status["storedVersions"]).to_vec();
    if let Some(name) = storage
        && !stored.contains(&name)
    {
        stored.push(name);
    }
    status["storedVersions"] = Value::Array(stored);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests;
