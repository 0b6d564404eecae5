//! The schemas of the built-in kinds, cut out of Kubernetes' OpenAPI v3 documents.
//!
//! One gzip file per group version, each complete in itself, so that the server inflates only what is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use apiary_semantics::builtin;
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value};

use super::{Files, modules::KubernetesModules};

/// Types that every group's operations take or return.
const COMMON: [&str; 2] = [
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
];
const REFERENCE: &str = "#/components/schemas/";

/// The files, below `folder`.
pub(super) fn files(sources: &KubernetesModules, folder: &Path) -> Result<Files> {
    let mut roots: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for kind in builtin::all().iter().chain(builtin::reviews()) {
        roots
            .entry((kind.group, kind.version))
            .or_default()
            .push(kind.type_name);
    }
    let mut files = Files::new();
    for ((group, version), mut names) in roots {
        let path = sources.openapi(group, version);
        let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let document: Value =
            serde_json::from_slice(&text).with_context(|| format!("bad {}", path.display()))?;
        let schemas = document["components"]["schemas"]
            .as_object()
            .context("no components.schemas")?;
        // A group of reviews has nothing that could be deleted.
        names.extend(COMMON.iter().filter(|name| schemas.contains_key(**name)));
        let kept = reachable(schemas, &names).with_context(|| format!("in {}", path.display()))?;
        let group = if group.is_empty() { "core" } else { group };
        files.insert(
            folder.join(format!("{group}.{version}.json.gz")),
            gzip(&serde_json::to_vec(&kept)?)?,
        );
    }
    Ok(files)
}

fn reachable(schemas: &Map<String, Value>, roots: &[&str]) -> Result<Map<String, Value>> {
    let mut kept = Map::new();
    let mut waiting: BTreeSet<String> = roots.iter().map(ToString::to_string).collect();
    while let Some(name) = waiting.pop_first() {
        let schema = schemas.get(&name).with_context(|| format!("no schema {name}"))?;
        let mut found = Vec::new();
        references(schema, &mut found);
        kept.insert(name, schema.clone());
        waiting.extend(found.into_iter().filter(|name| !kept.contains_key(name)));
    }
    Ok(kept)
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                found.push(name.trim_start_matches(REFERENCE).to_owned());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Without a time stamp, so that the same input gives the same bytes.
fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    writer.write_all(content)?;
    Ok(writer.finish()?)
}
