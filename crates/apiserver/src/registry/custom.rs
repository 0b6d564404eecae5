//! From an established CustomResourceDefinition to the resources it adds.

use apiary_semantics::naming::NameRule;
use apiary_semantics::table;
use serde_json::Value;

use super::definition::is_established;
use super::written_schema::WrittenSchema;
use super::{Custom, Origin, Quirk, Registry, Resource, Selectable};
use crate::store::Object;

/// One resource per served version; the previous registry lends the schemas of definitions that did not change.
pub(super) fn resources(definition: &Object, previous: &Registry) -> Vec<Resource> {
    let document = definition.value();
    if !is_established(&document) {
        return Vec::new();
    }
    let versions = document["spec"]["versions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let served = versions
        .iter()
        .filter(|version| version["served"] == Value::Bool(true));
    served
        .map(|version| resource(definition, &document, version, previous))
        .collect()
}

fn resource(definition: &Object, document: &Value, version: &Value, previous: &Registry) -> Resource {
    let spec = &document["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .map(|list| list.iter().map(text).collect())
            .unwrap_or_default()
    };
    let names = &document["status"]["acceptedNames"];
    let (group, plural, version_name) = (
        text(&spec["group"]),
        text(&names["plural"]),
        text(&version["name"]),
    );
    let generation = document["metadata"]["generation"].as_i64().unwrap_or(0);
    let same = previous
        .get(&group, &version_name, &plural)
        .and_then(|resource| resource.custom())
        .filter(|custom| {
            *custom.definition_uid == *definition.uid && custom.definition_generation == generation
        });
    let (schema_since, schema) = match same {
        Some(custom) => (custom.schema_since, custom.schema.clone()),
        None => {
            let written = WrittenSchema::new(&version["schema"]["openAPIV3Schema"]);
            (definition.revision, written)
        }
    };
    let all = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let storage = all
        .iter()
        .find(|version| version["storage"] == Value::Bool(true))
        .unwrap_or(version);
    let columns = version["additionalPrinterColumns"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let selectable = version["selectableFields"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let paths = selectable.iter().filter_map(|field| field["jsonPath"].as_str());
    let api_version = format!("{group}/{version_name}");
    let deprecation = (version["deprecated"] == Value::Bool(true)).then(|| {
        let standard = || format!("{api_version} {} is deprecated", text(&names["kind"]));
        version["deprecationWarning"]
            .as_str()
            .map_or_else(standard, str::to_owned)
    });
    Resource {
        id: format!("{plural}.{group}").into(),
        singular: text(&names["singular"]),
        kind: text(&names["kind"]),
        list_kind: text(&names["listKind"]),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        has_status: version["subresources"]["status"].is_object(),
        has_generation: true,
        name_rule: NameRule::DnsSubdomain,
        selectable: paths.map(Selectable::json_path).collect(),
        columns: table::custom_columns(columns),
        quirk: Quirk::None,
        origin: Origin::Custom(Custom {
            definition_uid: definition.uid.to_string(),
            definition_revision: definition.revision,
            definition_generation: generation,
            schema_since,
            storage_schema: if storage["name"] == version["name"] {
                schema.clone()
            } else {
                WrittenSchema::new(&storage["schema"]["openAPIV3Schema"])
            },
            schema,
            storage_version: text(&storage["name"]),
            terminating: definition.deleting,
            deprecation: deprecation.into_iter().collect(),
        }),
        group,
        version: version_name,
        plural,
    }
}
