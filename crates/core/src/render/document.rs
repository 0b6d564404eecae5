//! A template as a document: its fields as JSON, and its module's text apart, because that has holes of its own kind.

use capt_api::{
    foreign::forprovider::{FileFormat, ModuleSource},
    workspacetemplate::WorkspaceTemplateSpec,
};
use serde_json::Value;

use super::{hash::to_value, inline::Place, path::Path};

/// Where the Workspace's spec is.
pub(super) const DOCUMENT: Path<'static> = Path::root("spec.template.spec");
/// Where the template's own Secret is named.
pub(super) const CONNECTION_SECRET: Path<'static> = Path::root("spec.writeConnectionSecretToRef");
const MODULE: Path<'static> = Path::root("spec.template.spec.forProvider.module");

/// The parts of a template that may have holes.
pub(super) struct Document {
    /// The Workspace's spec. An inline module's text is taken out of it.
    pub(super) spec: Value,
    /// The template's own `writeConnectionSecretToRef`.
    pub(super) connection_secret: Value,
    module: Option<(String, FileFormat)>,
}

impl Document {
    pub(super) fn of(template: &WorkspaceTemplateSpec) -> Self {
        let mut spec = to_value(&template.template.spec);
        let for_provider = &template.template.spec.for_provider;
        let module = (for_provider.source == ModuleSource::Inline)
            .then(|| spec.pointer_mut("/forProvider/module").map(Value::take))
            .flatten()
            .and_then(|text| match text {
                Value::String(text) => Some((text, for_provider.inline_format.unwrap_or(FileFormat::HCL))),
                _ => None,
            });
        Self {
            spec,
            connection_secret: to_value(&template.write_connection_secret_to_ref),
            module,
        }
    }

    /// The text of an inline module.
    pub(super) fn module(&self) -> Option<(&str, Place<'static>)> {
        let (text, format) = self.module.as_ref()?;
        Some((
            text,
            Place {
                path: MODULE,
                format: *format,
            },
        ))
    }

    /// Puts an inline module's text back.
    pub(super) fn set_module(&mut self, text: String) {
        if let Some(module) = self.spec.pointer_mut("/forProvider/module") {
            *module = Value::String(text);
        }
    }
}
