//! Finishing touches on derived CRDs that the derive cannot express, in one place.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use crate::{
    foreign::marks::{CLUSTERCTL, CONTRACT_V1BETA2, MOVE},
    marks::LEAN_VIEW,
};

/// Formats that an API server knows; others only make it warn.
const KNOWN_FORMATS: &[&str] = &["int32", "int64", "date-time"];

/// Finishes the CRD of one of our own kinds.
pub(crate) fn finish_own(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    each_schema(&mut crd, &mut tidy);
    let version = crd
        .spec
        .versions
        .first()
        .map(|version| version.name.clone())
        .unwrap_or_default();
    let labels = crd.metadata.labels.get_or_insert_default();
    labels.insert(CONTRACT_V1BETA2.to_owned(), version);
    // clusterctl adds this one itself when it installs us; other ways of installing must not lose the ability to move.
    labels.insert(CLUSTERCTL.to_owned(), String::new());
    if crd.spec.names.kind == "WorkspaceTemplate" {
        // No Cluster owns a template, yet the applies that move need it on the other side.
        labels.insert(MOVE.to_owned(), String::new());
    }
    crd
}

/// Finishes the CRD of a foreign kind: it refuses nothing that the original would take, and keeps every field.
pub(crate) fn finish_foreign(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    each_schema(&mut crd, &mut |schema| {
        tidy(schema);
        schema.x_kubernetes_validations = None;
        if schema.properties.is_some() {
            schema.x_kubernetes_preserve_unknown_fields = Some(true);
        }
    });
    crd.metadata
        .annotations
        .get_or_insert_default()
        .insert(LEAN_VIEW.to_owned(), "true".to_owned());
    crd
}

/// Finishes the CRD of a foreign kind that takes part in the contracts of Cluster API.
pub(crate) fn finish_foreign_contract(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let mut crd = finish_foreign(crd);
    let version = crd
        .spec
        .versions
        .first()
        .map(|version| version.name.clone())
        .unwrap_or_default();
    let labels = crd.metadata.labels.get_or_insert_default();
    labels.insert(CONTRACT_V1BETA2.to_owned(), version);
    labels.insert(CLUSTERCTL.to_owned(), String::new());
    crd
}

/// An absent field and a null are the same to our structs. An API server drops a null of a field that is not
/// nullable, and a rule's `has()` is false then, as one would think.
fn tidy(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.title = None;
    if let Some(description) = &mut schema.description {
        *description = unwrap_lines(description);
    }
    if schema.items.is_some() && schema.x_kubernetes_list_type.is_none() {
        schema.x_kubernetes_list_type = Some("atomic".to_owned());
    }
    if let Some(values) = &mut schema.enum_ {
        values.retain(|value| !value.0.is_null());
    }
    if schema
        .format
        .as_deref()
        .is_some_and(|format| !KNOWN_FORMATS.contains(&format))
    {
        schema.format = None;
    }
}

/// Joins the lines that a doc comment was broken into, because `kubectl explain` breaks lines itself.
fn unwrap_lines(text: &str) -> String {
    let paragraphs: Vec<String> = text
        .split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "))
        .collect();
    paragraphs.join("\n\n")
}

fn each_schema(crd: &mut CustomResourceDefinition, change: &mut impl FnMut(&mut JSONSchemaProps)) {
    for version in &mut crd.spec.versions {
        if let Some(schema) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        {
            visit(schema, change);
        }
    }
}

fn visit(schema: &mut JSONSchemaProps, change: &mut impl FnMut(&mut JSONSchemaProps)) {
    change(schema);
    for property in schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
    {
        visit(property, change);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => visit(items, change),
        Some(JSONSchemaPropsOrArray::Schemas(all)) => all.iter_mut().for_each(|items| visit(items, change)),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        visit(values, change);
    }
}
