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
    structure::Body,
};
use serde_json::Value;

use crate::folder::{EntryKind, Folder};

use super::mirror::is_built_in;

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
    /// The names under which it calls other modules.
    pub(super) calls: BTreeSet<String>,
    /// The providers that it needs, by the names that it has for them.
    pub(super) providers: BTreeMap<String, AskedProvider>,
}

/// What a module says about a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AskedProvider {
    /// Its address, if that is not the one that its name implies.
    pub(super) source: Option<String>,
    /// Constraints for its version.
    pub(super) versions: BTreeSet<String>,
}

impl AskedProvider {
    fn is_installed(&self) -> bool {
        !self.source.as_deref().is_some_and(is_built_in)
    }
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
    /// What a module says about itself. It may share files by links with what else is below `base`.
    pub(super) fn of_folder(folder: &Folder, base: &Path, module: &Path, is_tofu: bool) -> io::Result<Self> {
        Self::of_files(folder, base, module, is_tofu, |_| true)
    }

    /// The same, by some of its files.
    pub(super) fn of_files(
        folder: &Folder,
        base: &Path,
        module: &Path,
        is_tofu: bool,
        counts: impl Fn(&str) -> bool,
    ) -> io::Result<Self> {
        let mut about = Self::default();
        for (file, kind) in folder.list(base.join(module))? {
            let name = file.to_string_lossy();
            let is_json = match configuration(&name, is_tofu).filter(|_| counts(&name)) {
                Some(is_json) if kind != EntryKind::Folder => is_json,
                _ => continue,
            };
            let content = folder.read_linked(base, &module.join(&file))?;
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
        !(self.unreadable || self.may_install() || self.backend.is_some())
    }

    /// It needs providers, or the modules that it calls may.
    pub(super) fn may_install(&self) -> bool {
        self.unreadable || !self.calls.is_empty() || self.providers.values().any(AskedProvider::is_installed)
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
                ("module", Some(name)) => drop(self.calls.insert(name)),
                ("provider", Some(name)) => {
                    let version = block.body.get_attribute("version");
                    let version = version.map(|attribute| attribute.value.as_str().map(str::to_owned));
                    self.configures(&name, version);
                }
                ("resource" | "data" | "ephemeral", Some(kind)) => self.has(&kind, &block.body),
                ("check", _) => {
                    for data in block.body.get_blocks("data") {
                        if let Some(kind) = data.labels.first() {
                            self.has(kind.as_str(), &data.body);
                        }
                    }
                }
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
                "required_providers" => self.required_providers(&block.body),
                _ => {}
            }
        }
    }

    fn required_providers(&mut self, required: &Body) {
        for attribute in required.attributes() {
            let (mut source, mut version) = (None, None);
            match &attribute.value {
                Expression::Object(object) => {
                    for (key, value) in object.iter() {
                        let key = match key {
                            ObjectKey::Ident(name) => Some(name.as_str()),
                            ObjectKey::Expression(name) => name.as_str(),
                        };
                        let value = value.expr().as_str().map(str::to_owned);
                        match key {
                            Some("source") => source = Some(value),
                            Some("version") => version = Some(value),
                            _ => {}
                        }
                    }
                }
                // The way to write it before version 0.13.
                value => version = Some(value.as_str().map(str::to_owned)),
            }
            self.requires(attribute.key.as_str(), source, version);
        }
    }

    /// A resource or the like belongs to the provider that it names, or else to the one that the name of its type begins with.
    fn has(&mut self, kind: &str, body: &Body) {
        let named = body.get_attribute("provider").map(|attribute| &attribute.value);
        let named = named.and_then(|value| match value {
            Expression::Variable(name) => Some(name.as_str()),
            Expression::Traversal(alias) => alias.expr.as_variable().map(|name| name.as_str()),
            value => value.as_str().map(before_alias),
        });
        self.uses(named.unwrap_or(of_kind(kind)));
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
                    "module" => self.calls.extend(body.keys().cloned()),
                    "provider" => {
                        for (name, configured) in body {
                            for configured in listed(configured) {
                                let version = configured.get("version");
                                let version = version.map(|version| version.as_str().map(str::to_owned));
                                self.configures(name, version);
                            }
                        }
                    }
                    "resource" | "data" | "ephemeral" => self.json_resources(body),
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
        let required = settings.get("required_providers").into_iter().flat_map(listed);
        for (name, asked) in required.filter_map(Value::as_object).flatten() {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let (source, version) = match asked {
                Value::Object(asked) => (asked.get("source").map(text), asked.get("version").map(text)),
                version => (None, Some(text(version))),
            };
            self.requires(name, source, version);
        }
    }

    fn json_resources(&mut self, kinds: &serde_json::Map<String, Value>) {
        for (kind, resources) in kinds {
            let named = listed(resources).filter_map(Value::as_object).flatten();
            for body in named.flat_map(|(_, bodies)| listed(bodies)) {
                let provider = body.get("provider").and_then(Value::as_str).map(before_alias);
                self.uses(provider.unwrap_or(of_kind(kind)));
            }
        }
    }

    fn keeps(&mut self, kind: String, is_plain: bool) {
        self.keeps_elsewhere |= kind != "local" || !is_plain;
        self.backend = Some(kind);
    }

    /// Takes note of a requirement. Texts that are not plain are known to the engine alone.
    fn requires(&mut self, name: &str, source: Option<Option<String>>, version: Option<Option<String>>) {
        self.unreadable |= matches!(source, Some(None)) || matches!(version, Some(None));
        let asked = self.providers.entry(name.to_owned()).or_default();
        asked.source = source.flatten().or(asked.source.take());
        asked.versions.extend(version.flatten());
    }

    fn configures(&mut self, name: &str, version: Option<Option<String>>) {
        self.uses(name);
        if version.is_some() {
            self.requires(name, None, version);
        }
    }

    /// One provider is built in.
    fn uses(&mut self, name: &str) {
        if name != "terraform" {
            self.providers.entry(name.to_owned()).or_default();
        }
    }
}

/// The provider that a type of resources belongs to, unless it names another.
fn of_kind(kind: &str) -> &str {
    kind.split('_').next().unwrap_or_default()
}

/// The name of a provider, without that of one of its configurations.
fn before_alias(named: &str) -> &str {
    named.split('.').next().unwrap_or_default()
}

/// Anything may be given once or as a list.
fn listed(value: &Value) -> impl Iterator<Item = &Value> {
    let list = value.as_array();
    let one = list.is_none().then_some(value);
    list.into_iter().flatten().chain(one)
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

#[cfg(test)]
mod tests;
