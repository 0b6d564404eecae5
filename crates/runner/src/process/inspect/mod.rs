//! What a module says about itself: its variables, and what it needs before it can be planned.
//!
//! Terraform knows better and has the last word. What cannot be read here is taken for a module that needs everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use hcl_edit::{
    expr::{Expression, ObjectKey},
    structure::{Block, Body},
};
use serde_json::Value;

use crate::folder::{EntryKind, Folder};

use super::workdir::SRC;

/// What a module says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct About {
    /// Its variables, and how text for them is to be read.
    pub(super) variables: BTreeMap<String, Reading>,
    /// Not all of it could be read.
    pub(super) unreadable: bool,
    /// The type of its backend, or `cloud`.
    pub(super) backend: Option<String>,
    /// That backend keeps state somewhere else than in the folder that Terraform runs in.
    pub(super) keeps_elsewhere: bool,
    /// It calls other modules.
    pub(super) calls_modules: bool,
    /// The providers that have to be installed for it, and what it says about them.
    pub(super) providers: BTreeSet<String>,
}

/// How Terraform reads the text of `-var`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// As it is.
    Literal,
    /// As an expression of its language.
    Expression,
}

impl About {
    /// What the module in this folder of the source says about itself.
    pub(super) fn of_folder(folder: &Folder, run_in: &Path, is_tofu: bool) -> io::Result<Self> {
        Self::of_files(folder, run_in, is_tofu, |_| true)
    }

    /// The same, by some of its files.
    pub(super) fn of_files(
        folder: &Folder,
        run_in: &Path,
        is_tofu: bool,
        counts: impl Fn(&str) -> bool,
    ) -> io::Result<Self> {
        let mut about = Self::default();
        let src = Path::new(SRC);
        for (file, kind) in folder.list(src.join(run_in))? {
            let name = file.to_string_lossy();
            let is_json = match configuration(&name, is_tofu).filter(|_| counts(&name)) {
                Some(is_json) if kind != EntryKind::Folder => is_json,
                _ => continue,
            };
            // A module may share files among its folders by links.
            let content = folder.read_linked(src, &run_in.join(&file))?;
            match content.and_then(|content| String::from_utf8(content).ok()) {
                Some(text) if is_json => about.json(&text),
                Some(text) => about.hcl(&text),
                None => about.unreadable = true,
            }
        }
        Ok(about)
    }

    /// It can be planned as it is, without `init`.
    pub(super) fn needs_no_init(&self) -> bool {
        !(self.unreadable || self.calls_modules || !self.providers.is_empty() || self.backend.is_some())
    }

    fn hcl(&mut self, text: &str) {
        let Ok(body) = text.parse::<Body>() else {
            self.unreadable = true;
            return;
        };
        for block in body.blocks() {
            let label = block.labels.first().map(|label| label.as_str().to_owned());
            match (block.ident.as_str(), label) {
                ("variable", Some(name)) => {
                    let reading = block
                        .body
                        .get_attribute("type")
                        .map(|attribute| reading(&attribute.value));
                    self.variables.insert(name, reading.unwrap_or(Reading::Literal));
                }
                ("module", _) => self.calls_modules = true,
                ("provider" | "resource" | "data" | "ephemeral", Some(name)) => self.uses(&name),
                ("terraform", _) => self.settings(&block.body),
                _ => {}
            }
        }
    }

    fn settings(&mut self, settings: &Body) {
        for block in settings.blocks() {
            match block.ident.as_str() {
                "backend" => {
                    let label = block.labels.first();
                    let kind = label.map_or(String::new(), |label| label.as_str().to_owned());
                    self.keeps(kind, block.body.is_empty());
                }
                "cloud" => self.keeps("cloud".to_owned(), false),
                "required_providers" => self.providers.extend(required_providers(block)),
                _ => {}
            }
        }
    }

    fn json(&mut self, text: &str) {
        let Ok(Value::Object(file)) = serde_json::from_str(text) else {
            self.unreadable = true;
            return;
        };
        for (name, content) in &file {
            // Any block may be given once or as a list.
            let bodies = match content {
                Value::Array(bodies) => bodies.iter().collect(),
                body => vec![body],
            };
            for body in bodies.into_iter().filter_map(Value::as_object) {
                match name.as_str() {
                    "variable" => self.json_variables(body),
                    "module" => self.calls_modules |= !body.is_empty(),
                    "provider" | "resource" | "data" | "ephemeral" => {
                        body.keys().for_each(|name| self.uses(name))
                    }
                    "terraform" => self.json_settings(body),
                    _ => {}
                }
            }
        }
    }

    fn json_variables(&mut self, variables: &serde_json::Map<String, Value>) {
        for (name, variable) in variables {
            let variable = variable
                .as_array()
                .and_then(|list| list.first())
                .unwrap_or(variable);
            let reading = match variable["type"].as_str() {
                None => Reading::Literal,
                Some(constraint) => constraint
                    .parse::<Expression>()
                    .map_or(Reading::Expression, |constraint| reading(&constraint)),
            };
            self.variables.insert(name.clone(), reading);
        }
    }

    fn json_settings(&mut self, settings: &serde_json::Map<String, Value>) {
        if let Some(backend) = settings.get("backend") {
            let backend = backend
                .as_array()
                .and_then(|list| list.first())
                .unwrap_or(backend);
            let (kind, content) = backend
                .as_object()
                .and_then(|backend| backend.iter().next())
                .map_or((String::new(), None), |(kind, content)| {
                    (kind.clone(), Some(content))
                });
            let is_plain = content
                .and_then(Value::as_object)
                .is_some_and(serde_json::Map::is_empty);
            self.keeps(kind, is_plain);
        }
        if settings.contains_key("cloud") {
            self.keeps("cloud".to_owned(), false);
        }
        if let Some(required) = settings.get("required_providers") {
            self.providers.insert(required.to_string());
        }
    }

    fn keeps(&mut self, kind: String, is_plain: bool) {
        self.keeps_elsewhere |= kind != "local" || !is_plain;
        self.backend = Some(kind);
    }

    /// A type belongs to the provider that its name begins with, and one provider is built in.
    fn uses(&mut self, type_or_provider: &str) {
        let provider = type_or_provider.split('_').next().unwrap_or_default();
        if provider != "terraform" {
            self.providers.insert(provider.to_owned());
        }
    }
}

/// Whether this is a file of a module, and then whether it is JSON.
pub(super) fn configuration(name: &str, is_tofu: bool) -> Option<bool> {
    if name.starts_with('.') || name.ends_with('~') {
        return None;
    }
    let ends = |end: &str| name.ends_with(end);
    if ends(".tf") || is_tofu && ends(".tofu") {
        Some(false)
    } else if ends(".tf.json") || is_tofu && ends(".tofu.json") {
        Some(true)
    } else {
        None
    }
}

/// Terraform reads text for simple types as it is, and for all others as an expression.
fn reading(constraint: &Expression) -> Reading {
    let name = match constraint {
        Expression::Variable(name) => name.as_str(),
        // The way to write it before version 0.12.
        Expression::String(name) => name.as_str(),
        _ => return Reading::Expression,
    };
    match name {
        "string" | "number" | "bool" => Reading::Literal,
        _ => Reading::Expression,
    }
}

/// What is said about each provider that is not built in.
fn required_providers(block: &Block) -> impl Iterator<Item = String> {
    let attributes = block.body.attributes();
    let installed = attributes.filter(|attribute| {
        let source = match &attribute.value {
            Expression::Object(object) => object
                .iter()
                .find(|(key, _)| match key {
                    ObjectKey::Ident(name) => name.as_str() == "source",
                    ObjectKey::Expression(name) => name.as_str() == Some("source"),
                })
                .and_then(|(_, value)| value.expr().as_str()),
            _ => None,
        };
        !source.is_some_and(|source| source.starts_with("terraform.io/builtin/"))
    });
    installed.map(|attribute| format!("{} = {}", attribute.key.as_str(), attribute.value))
}

#[cfg(test)]
mod tests;
