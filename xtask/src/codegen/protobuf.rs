//! The protobuf messages of the built-in kinds, as a text table that the decoder reads.
//!
//! Field numbers and types come from the `generated.proto` files, the JSON side from the Go structs' tags. The `.proto`
//! files are machine-made and use a sliver of the language (flat messages, one field a line), so that is all that is
//! read here; anything else stops the generator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use apiary_semantics::builtin;

use super::go_tags::{self, Tags};
use super::modules::KubernetesModules;

const HEADER: &str = "\
# Protobuf messages of the built-in kinds and their JSON form. Written by `cargo xtask codegen builtin`; do not edit.
#
# A message is its name, then a line per field: number, JSON name, type. `-` for a name: the field's own fields stand in
# its parent. `.`: the field is its message's whole value. `[]T` is a list, `{}T` a map with string keys, `T?` is left
# out when zero. `json` is bytes that hold a JSON text.
";

/// Message types whose JSON form is a scalar that the decoder knows.
const SCALARS: [(&str, &str); 3] = [
    ("k8s.io.apimachinery.pkg.apis.meta.v1.Time", "time"),
    ("k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime", "microtime"),
    ("k8s.io.apimachinery.pkg.util.intstr.IntOrString", "intorstring"),
];

/// Message types whose JSON form is the value of one of their fields. Bytes in them are JSON texts.
const TRANSPARENT: [&str; 9] = [
    "k8s.io.api.authentication.v1.ExtraValue",
    "k8s.io.api.authorization.v1.ExtraValue",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
    "k8s.io.apimachinery.pkg.api.resource.Quantity",
    "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "k8s.io.apimachinery.pkg.runtime.RawExtension",
];

/// Messages that are sent to every group.
const COMMON: [&str; 2] = [
    "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "k8s.io.apimachinery.pkg.apis.meta.v1.Status",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Single,
    List,
    Map,
}

#[derive(Debug)]
struct Field {
    number: u32,
    label: Label,
    proto_type: String,
}

/// A package's messages and the tags of its structs.
#[derive(Debug)]
struct Package {
    messages: BTreeMap<String, Vec<Field>>,
    tags: Tags,
}

/// The table's text.
pub(super) fn table(sources: &KubernetesModules) -> Result<String> {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    let mut written: BTreeMap<String, String> = BTreeMap::new();
    let mut waiting: BTreeSet<String> = COMMON.iter().map(ToString::to_string).collect();
    waiting.extend(
        builtin::all()
            .iter()
            .chain(builtin::reviews())
            .map(|kind| proto_name(kind.type_name)),
    );
    while let Some(name) = waiting.pop_first() {
        let (package, message) = name
            .rsplit_once('.')
            .with_context(|| format!("odd message {name}"))?;
        if !packages.contains_key(package) {
            packages.insert(package.to_owned(), read_package(sources, package)?);
        }
        let mut text = String::new();
        for reached in describe(&packages[package], package, message, &mut text)? {
            if !written.contains_key(&reached) && reached != name {
                waiting.insert(reached);
            }
        }
        written.insert(name, text);
    }
    let mut table = String::from(HEADER);
    for (name, fields) in written {
        writeln!(table, "{}", table_name(&name))?;
        table.push_str(&fields);
    }
    Ok(table)
}

/// `io.k8s.api.core.v1.Pod` to `k8s.io.api.core.v1.Pod`.
fn proto_name(openapi_name: &str) -> String {
    openapi_name
        .replacen("io.k8s.", "k8s.io.", 1)
        .replace("apiextensions-apiserver", "apiextensions_apiserver")
}

/// The inverse of [`proto_name`].
fn table_name(proto_name: &str) -> String {
    proto_name
        .replacen("k8s.io.", "io.k8s.", 1)
        .replace("apiextensions_apiserver", "apiextensions-apiserver")
}

/// Writes the field lines of one message; returns the messages it refers to.
fn describe(package: &Package, package_name: &str, message: &str, text: &mut String) -> Result<Vec<String>> {
    let full_name = format!("{package_name}.{message}");
    let transparent = TRANSPARENT.contains(&full_name.as_str());
    let fields = package
        .messages
        .get(message)
        .with_context(|| format!("no message {full_name}"))?;
    let mut reached = Vec::new();
    for field in fields {
        let (name, tag) = if transparent {
            (".", None)
        } else {
            let tag = package
                .tags
                .get(&(message.to_owned(), field.number))
                .with_context(|| format!("no Go field for {full_name} number {}", field.number))?;
            (
                if tag.json_name.is_empty() {
                    "-"
                } else {
                    tag.json_name.as_str()
                },
                Some(tag),
            )
        };
        let mut omitted = tag.is_some_and(|tag| tag.omits_empty);
        let shown = match field.proto_type.as_str() {
            "string" | "bool" | "double" => field.proto_type.clone(),
            "int32" | "int64" => "int".to_owned(),
            "bytes" if transparent => "json".to_owned(),
            "bytes" => "bytes".to_owned(),
            message_type if message_type.contains('.') || message_type.starts_with(char::is_uppercase) => {
                omitted = tag.is_some_and(|tag| tag.omits_zero);
                let target = match message_type.strip_prefix('.') {
                    Some(absolute) => absolute.to_owned(),
                    None => format!("{package_name}.{message_type}"),
                };
                match SCALARS.iter().find(|(name, _)| *name == target) {
                    Some((_, scalar)) => (*scalar).to_owned(),
                    None => {
                        let shown = table_name(&target);
                        reached.push(target);
                        shown
                    }
                }
            }
            other => bail!("{full_name} has a field of type {other}, which the decoder does not know"),
        };
        let (before, after) = match field.label {
            Label::Single => ("", if omitted { "?" } else { "" }),
            Label::List => ("[]", ""),
            Label::Map => ("{}", ""),
        };
        writeln!(text, " {} {name} {before}{shown}{after}", field.number)?;
    }
    Ok(reached)
}

fn read_package(sources: &KubernetesModules, package: &str) -> Result<Package> {
    let folder = sources.package_folder(package)?;
    let path = folder.join("generated.proto");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let messages = messages(&text).with_context(|| format!("in {}", path.display()))?;
    Ok(Package {
        messages,
        tags: go_tags::read(&folder)?,
    })
}

fn messages(text: &str) -> Result<BTreeMap<String, Vec<Field>>> {
    let mut messages = BTreeMap::new();
    let mut current: Option<(String, Vec<Field>)> = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("message ") {
            current = Some((name.trim_end_matches(['{', ' ']).to_owned(), Vec::new()));
        } else if line == "}" {
            messages.extend(current.take());
        } else if let Some((name, fields)) = &mut current
            && !line.is_empty()
            && !line.starts_with("//")
        {
            fields.push(field(line).with_context(|| format!("cannot read `{line}` of {name}"))?);
        }
    }
    Ok(messages)
}

/// `optional string name = 1;`, `repeated T items = 2;`, `map<string, T> data = 3;`
fn field(line: &str) -> Option<Field> {
    let (declaration, number) = line.strip_suffix(';')?.split_once(" = ")?;
    let (head, _name) = declaration.rsplit_once(' ')?;
    let (label, proto_type) = if let Some(value) = head.strip_prefix("map<string, ") {
        (Label::Map, value.strip_suffix('>')?)
    } else {
        match head.split_once(' ')? {
            ("optional", proto_type) => (Label::Single, proto_type),
            ("repeated", proto_type) => (Label::List, proto_type),
            _ => return None,
        }
    };
    Some(Field {
        number: number.parse().ok()?,
        label,
        proto_type: proto_type.to_owned(),
    })
}
