//! The versions of a definition: schemas, subresources, columns and selectable fields.
//!
//! What is the same in all versions counts as said once for all of them, and errors about it name a place that only
//! exists in that reading (`spec.validation`). The words are upstream's.

use apiary_semantics::schema::Schema;
use apiary_semantics::{FieldError, naming};
use serde_json::{Value, json};

use super::{fields, list, text};

/// What may stand at the root of a schema that is cut in two by a status subresource.
const ROOT_KEYWORDS: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// One occurrence of something that versions have: where it stands and what it is.
struct Place<'a> {
    path: String,
    value: &'a Value,
    /// The version that has it, or the first one if all do.
    version: &'a Value,
}

/// Where `field` stands: once if all versions have the same, else in each version.
fn places<'a>(spec: &'a Value, field: &str, shared_path: &str) -> Vec<Place<'a>> {
    let versions = list(&spec["versions"]);
    let Some(first) = versions.first() else {
        return Vec::new();
    };
    if versions.iter().all(|version| version[field] == first[field]) {
        return vec![Place {
            path: shared_path.to_owned(),
            value: &first[field],
            version: first,
        }];
    }
    let place = |(index, version): (usize, &'a Value)| Place {
        path: format!("spec.versions[{index}].{field}"),
        value: &version[field],
        version,
    };
    versions.iter().enumerate().map(place).collect()
}

/// The schemas that differ.
pub(super) fn distinct_schemas(spec: &Value) -> Vec<&Value> {
    places(spec, "schema", "")
        .iter()
        .map(|place| &place.value["openAPIV3Schema"])
        .filter(|schema| schema.is_object())
        .collect()
}

/// What is wrong with the versions.
pub(super) fn check(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(&spec["versions"]);
    for (index, version) in versions.iter().enumerate() {
        check_version(version, &format!("spec.versions[{index}]"), errors);
    }
    if let Some(first) = versions.first() {
        // The first name counts once more as that of the whole definition.
        label(&first["name"], "spec.version", errors);
    }
    let mut refuse = |detail: &str| {
        errors.push(FieldError::invalid(
            "spec.versions",
            spec["versions"].clone(),
            detail,
        ));
    };
    let mut names: Vec<&str> = versions.iter().map(|version| text(&version["name"])).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() != versions.len() {
        refuse("must contain unique version names");
    }
    let is_stored = |version: &&Value| version["storage"] == json!(true);
    if versions.iter().filter(is_stored).count() != 1 {
        refuse("must have exactly one version marked as storage version");
    }
    let any_status = versions
        .iter()
        .any(|version| version["subresources"]["status"].is_object());
    let schemas = places(spec, "schema", "spec.validation");
    let shared = schemas.len() == 1;
    for place in schemas {
        let has_status = if shared {
            any_status
        } else {
            place.version["subresources"]["status"].is_object()
        };
        let schema = &place.value["openAPIV3Schema"];
        if !schema.is_null() {
            check_schema(
                schema,
                &format!("{}.openAPIV3Schema", place.path),
                has_status,
                errors,
            );
        }
    }
    for place in places(spec, "subresources", "spec.subresources") {
        fields::check_scale(&place.value["scale"], &format!("{}.scale", place.path), errors);
    }
    for place in places(spec, "additionalPrinterColumns", "spec.additionalPrinterColumns") {
        for (index, column) in list(place.value).iter().enumerate() {
            fields::check_column(column, &format!("{}[{index}]", place.path), errors);
        }
    }
    for place in places(spec, "selectableFields", "spec.selectableFields") {
        let schema = &place.version["schema"]["openAPIV3Schema"];
        fields::check_selectable(list(place.value), schema, &place.path, errors);
    }
}

fn label(name: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let found = naming::dns_1035_label_errors(text(name));
    if !found.is_empty() {
        errors.push(FieldError::invalid(path, name.clone(), found.join(",")));
    }
}

fn check_version(version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if version["schema"]["openAPIV3Schema"].is_null() {
        errors.push(FieldError::required(format!("{path}.schema.openAPIV3Schema"), ""));
    }
    label(&version["name"], &format!("{path}.name"), errors);
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut refuse = |detail: String| {
        let field = format!("{path}.deprecationWarning");
        errors.push(FieldError::invalid(field, json!(warning), detail));
    };
    if version["deprecated"] != json!(true) {
        refuse("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > 256 {
        refuse("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        refuse("must not be an empty string".to_owned());
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        refuse(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

fn check_schema(schema: &Value, path: &str, has_status: bool, errors: &mut Vec<FieldError>) {
    if has_status {
        let mut keywords = schema.as_object().into_iter().flat_map(serde_json::Map::keys);
        if !matches!(text(&schema["type"]), "" | "object") {
            errors.push(FieldError::invalid(
                format!("{path}.type"),
                schema["type"].clone(),
                "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled",
            ));
        } else if keywords.any(|keyword| !ROOT_KEYWORDS.contains(&keyword.as_str())) {
            errors.push(FieldError::invalid(
                path,
                schema.clone(),
                format!(
                    "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                    ROOT_KEYWORDS.join(" ")
                ),
            ));
        }
    }
    if let Err(found) = Schema::from_crd(schema, path) {
        errors.extend(found);
    }
}
