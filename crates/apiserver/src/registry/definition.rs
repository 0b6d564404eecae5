//! CustomResourceDefinitions as objects: what is filled in, what is refused, and the conditions they carry.

use apiary_semantics::schema::Schema;
use apiary_semantics::{FieldError, FieldErrorKind, naming};
use serde_json::{Value, json};

/// Holds a definition until its objects are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether a definition's kinds are served.
pub(super) fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    conditions
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

/// Fills in names, the conversion strategy, and on creation the finalizer.
pub(super) fn complete(definition: &mut Value, old: Option<&Value>) {
    let kind = definition["spec"]["names"]["kind"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if let Some(names) = definition["spec"]["names"].as_object_mut() {
        names
            .entry("singular")
            .or_insert_with(|| json!(kind.to_lowercase()));
        names
            .entry("listKind")
            .or_insert_with(|| json!(format!("{kind}List")));
    }
    if let Some(spec) = definition["spec"].as_object_mut() {
        spec.entry("conversion")
            .or_insert_with(|| json!({"strategy": "None"}));
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

/// Whether another definition of the group claims one of these names; the claimed name if so.
#[must_use]
pub fn names_conflict<'a>(definition: &Value, others: impl Iterator<Item = &'a Value>) -> Option<String> {
    let taken: Vec<&Value> = others
        .filter(|other| {
            other["spec"]["group"] == definition["spec"]["group"]
                && other["metadata"]["name"] != definition["metadata"]["name"]
        })
        .collect();
    let resource_names = |of: &Value| -> Vec<String> {
        let names = &of["spec"]["names"];
        let shorts = names["shortNames"].as_array().cloned().unwrap_or_default();
        let all = [names["plural"].clone(), names["singular"].clone()]
            .into_iter()
            .chain(shorts);
        all.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let kind_names = |of: &Value| -> Vec<String> {
        let names = &of["spec"]["names"];
        [&names["kind"], &names["listKind"]]
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    };
    let claimed = |names: fn(&Value) -> Vec<String>| -> Option<String> {
        names(definition)
            .into_iter()
            .find(|name| taken.iter().any(|other| names(other).contains(name)))
    };
    claimed(resource_names).or_else(|| claimed(kind_names))
}

/// The status of a definition: accepted names and the two conditions, decided at once.
pub fn conditions(definition: &mut Value, conflict: Option<&str>, now: &str) {
    let condition = |kind: &str, status: bool, reason: &str, message: String| {
        json!({
            "type": kind,
            "status": if status { "True" } else { "False" },
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        })
    };
    let wanted = match conflict {
        None => [
            condition(
                "NamesAccepted",
                true,
                "NoConflicts",
                "no conflicts found".to_owned(),
            ),
            condition(
                "Established",
                true,
                "InitialNamesAccepted",
                "the initial names have been accepted".to_owned(),
            ),
        ],
        Some(name) => [
            condition(
                "NamesAccepted",
                false,
                "ShortNamesConflict",
                format!("\"{name}\" is already in use"),
            ),
            condition(
                "Established",
                false,
                "NotAccepted",
                "not all names are accepted".to_owned(),
            ),
        ],
    };
    let names = definition["spec"]["names"].clone();
    let storage = definition["spec"]["versions"]
        .as_array()
        .and_then(|versions| versions.iter().find(|version| version["storage"] == json!(true)))
        .map(|version| version["name"].clone());
    let status = &mut definition["status"];
    if !status.is_object() {
        *status = json!({});
    }
    let mut kept = status["conditions"].as_array().cloned().unwrap_or_default();
    for new in wanted {
        match kept.iter_mut().find(|have| have["type"] == new["type"]) {
            Some(have) if have["status"] == new["status"] => {}
            Some(have) => *have = new,
            None => kept.push(new),
        }
    }
    status["conditions"] = Value::Array(kept);
    if conflict.is_none() {
        status["acceptedNames"] = names;
    }
    let mut stored = status["storedVersions"].as_array().cloned().unwrap_or_default();
    if let Some(name) = storage
        && !stored.contains(&name)
    {
        stored.push(name);
    }
    status["storedVersions"] = Value::Array(stored);
}

/// What upstream refuses in a definition, as far as this server uses it.
pub(super) fn check(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let name = text(&definition["metadata"]["name"]);
    if name != format!("{plural}.{group}") {
        let must = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", json!(name), must));
    }
    require_names(spec, &mut errors);
    match spec["scope"].as_str() {
        Some("Namespaced" | "Cluster") => {}
        None | Some("") => errors.push(FieldError::required("spec.scope", "")),
        Some(other) => errors.push(FieldError::new(
            FieldErrorKind::NotSupported,
            "spec.scope",
            Some(json!(other)),
            "supported values: \"Cluster\", \"Namespaced\"",
        )),
    }
    check_versions(spec, &mut errors);
    if let Some(old) = old {
        for (field, path) in [("group", "spec.group"), ("scope", "spec.scope")] {
            if old["spec"][field] != spec[field] {
                errors.push(FieldError::invalid(
                    path,
                    spec[field].clone(),
                    "field is immutable",
                ));
            }
        }
        for field in ["plural", "kind"] {
            if old["spec"]["names"][field] != spec["names"][field] {
                let value = spec["names"][field].clone();
                errors.push(FieldError::invalid(
                    format!("spec.names.{field}"),
                    value,
                    "field is immutable",
                ));
            }
        }
    }
    errors
}

fn require_names(spec: &Value, errors: &mut Vec<FieldError>) {
    if spec["group"].as_str().unwrap_or_default().is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !spec["group"].as_str().unwrap_or_default().contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", spec["group"].clone(), detail));
    }
    for field in ["plural", "kind"] {
        let path = format!("spec.names.{field}");
        let value = spec["names"][field].as_str().unwrap_or_default();
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        for detail in naming::name_errors(naming::NameRule::DnsLabel, &value.to_lowercase()) {
            errors.push(FieldError::invalid(path.clone(), json!(value), detail));
        }
    }
}

fn check_versions(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let stored = versions
        .iter()
        .filter(|version| version["storage"] == json!(true))
        .count();
    if stored != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid(
            "spec.versions",
            spec["versions"].clone(),
            detail,
        ));
    }
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        let name = version["name"].as_str().unwrap_or_default();
        for detail in naming::name_errors(naming::NameRule::DnsLabel, name) {
            errors.push(FieldError::invalid(format!("{path}.name"), json!(name), detail));
        }
        let schema = &version["schema"]["openAPIV3Schema"];
        let field = format!("{path}.schema.openAPIV3Schema");
        if schema.is_null() {
            errors.push(FieldError::required(field, "schemas are required"));
        } else if let Err(found) = Schema::from_crd(schema, &field) {
            errors.extend(found);
        }
    }
}
