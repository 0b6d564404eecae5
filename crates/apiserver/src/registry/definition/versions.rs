//! The versions of a definition: schemas, subresources, columns and selectable fields.
//!
//! What is the same in all versions counts as said once for all of them, and errors about it name a place that only
//! exists in that reading (`spec.validation`). The words are upstream's.

use apiary_semantics::schema::Schema;
use apiary_semantics::{FieldError, FieldErrorKind, naming};
use serde_json::{Value, json};

use super::{list, text};

const MAX_SELECTABLE_FIELDS: usize = 8;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
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
        check_scale(&place.value["scale"], &format!("{}.scale", place.path), errors);
    }
    for place in places(spec, "additionalPrinterColumns", "spec.additionalPrinterColumns") {
        for (index, column) in list(place.value).iter().enumerate() {
            check_column(column, &format!("{}[{index}]", place.path), errors);
        }
    }
    for place in places(spec, "selectableFields", "spec.selectableFields") {
        let schema = &place.version["schema"]["openAPIV3Schema"];
        check_selectable(list(place.value), schema, &place.path, errors);
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

/// Paths of the scale subresource, which is not served but may be said.
fn check_scale(scale: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !scale.is_object() {
        return;
    }
    let mut check = |field: &str, roots: &[&str], place: &str| {
        let value = text(&scale[field]);
        let path = format!("{path}.{field}");
        if value.is_empty() {
            if field != "labelSelectorPath" {
                errors.push(FieldError::required(path, ""));
            }
        } else if !simple_path(value, &path, errors) && !roots.iter().any(|root| value.starts_with(root)) {
            let detail = format!("should be a json path under {place}");
            errors.push(FieldError::invalid(path, json!(value), detail));
        }
    };
    check("specReplicasPath", &[".spec."], ".spec");
    check("statusReplicasPath", &[".status."], ".status");
    check(
        "labelSelectorPath",
        &[".spec.", ".status."],
        "either .spec or .status",
    );
}

/// Whether a path was refused.
fn simple_path(value: &str, path: &str, errors: &mut Vec<FieldError>) -> bool {
    if value.starts_with('.') {
        return false;
    }
    let detail = "must be a simple json path starting with .";
    errors.push(FieldError::invalid(path, json!(value), detail));
    true
}

fn check_column(column: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if text(&column["name"]).is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    }
    let types = format!("must be one of {}", COLUMN_TYPES.join(","));
    match text(&column["type"]) {
        "" => errors.push(FieldError::required(format!("{path}.type"), types)),
        known if COLUMN_TYPES.contains(&known) => {}
        other => errors.push(FieldError::invalid(format!("{path}.type"), json!(other), types)),
    }
    let format = text(&column["format"]);
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid(
            format!("{path}.format"),
            json!(format),
            detail,
        ));
    }
    let json_path = text(&column["jsonPath"]);
    let field = format!("{path}.JSONPath");
    if json_path.is_empty() {
        errors.push(FieldError::required(field, ""));
    } else {
        simple_path(json_path, &field, errors);
    }
}

fn check_selectable(fields: &[Value], schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !fields.is_empty() && schema.is_null() {
        let detail = "may only be set when validations.schema is included";
        errors.push(FieldError::invalid(path, json!(""), detail));
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let json_path = text(&field["jsonPath"]);
        if json_path.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let mut refuse = |detail: &str| {
            errors.push(FieldError::invalid(at.clone(), json!(json_path), detail));
        };
        match field_schema(json_path, schema) {
            Err(why) => {
                refuse(&format!("is an invalid path: {why}"));
                continue;
            }
            Ok(found) => {
                if json_path.starts_with(".metadata") {
                    refuse("must not point to fields in metadata");
                }
                if !matches!(text(&found["type"]), "string" | "boolean" | "integer") {
                    refuse(
                        "must point to a field of type string, boolean or integer. Enum string fields and strings \
                         with formats are allowed.",
                    );
                }
            }
        }
        if seen.contains(&json_path) {
            errors.push(FieldError::duplicate(at, json!(json_path)));
        } else {
            seen.push(json_path);
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        errors.push(FieldError::new(
            FieldErrorKind::TooMany,
            path,
            Some(json!(seen.len())),
            format!("must have at most {MAX_SELECTABLE_FIELDS} items"),
        ));
    }
}

/// The schema that a dotted path leads to.
fn field_schema<'a>(json_path: &str, schema: &'a Value) -> Result<&'a Value, String> {
    if json_path.contains('[') {
        return Err("array notation is not allowed".to_owned());
    }
    let Some(rest) = json_path.strip_prefix('.') else {
        let start = json_path.split('.').next().unwrap_or_default();
        return Err(format!("expected [ or . but got: {start}"));
    };
    if rest.is_empty() {
        return Err("unexpected end of JSON path".to_owned());
    }
    rest.split('.').try_fold(schema, |at, name| {
        let inner = match &at["properties"] {
            Value::Null => &at["additionalProperties"],
            properties => &properties[name],
        };
        if inner.is_object() {
            Ok(inner)
        } else {
            Err("does not refer to a valid field".to_owned())
        }
    })
}
