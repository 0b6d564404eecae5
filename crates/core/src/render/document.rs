//! A template as a document: its fields as JSON, and its module's text apart, because that has holes of its own kind.

use capt_api::{
    foreign::forprovider::{FileFormat, ModuleSource},
    workspacetemplate::WorkspaceTemplateSpec,
};
use serde_json::Value;

use super::{
    hash::to_value,
    inline::{Module, Place},
    path::Path,
    problem::RenderProblem,
};

/// Where the Workspace's spec is.
pub(super) const DOCUMENT: Path<'static> = Path::root("spec.template.spec");
/// Where the template's own Secret is named.
pub(super) const CONNECTION_SECRET: Path<'static> = Path::root("spec.writeConnectionSecretToRef");
/// Where the text of a module is.
pub(super) const MODULE: Path<'static> = Path::root("spec.template.spec.forProvider.module");

/// An inline module, if there is one.
pub(super) type ParsedModule = Option<Result<Module, Vec<RenderProblem>>>;

/// Parses an inline module.
pub(super) fn parse_module(template: &WorkspaceTemplateSpec) -> ParsedModule {
    let for_provider = &template.template.spec.for_provider;
    let place = Place {
        path: MODULE,
        format: for_provider.inline_format.unwrap_or(FileFormat::HCL),
    };
    (for_provider.source == ModuleSource::Inline).then(|| Module::parse(&for_provider.module, place))
}

/// The parts of a template that may have holes.
pub(super) struct Document {
    /// The Workspace's spec. An inline module's text is taken out of it.
    pub(super) spec: Value,
    /// The template's own `writeConnectionSecretToRef`.
    pub(super) connection_secret: Value,
}

impl Document {
    pub(super) fn of(template: &WorkspaceTemplateSpec) -> Self {
        let mut spec = to_value(&template.template.spec);
        let is_inline = template.template.spec.for_provider.source == ModuleSource::Inline;
        if let Some(text) = spec.pointer_mut("/forProvider/module").filter(|_| is_inline) {
            *text = Value::Null;
        }
        Self {
            spec,
            connection_secret: to_value(&template.write_connection_secret_to_ref),
        }
    }

    /// Puts an inline module's text back.
    pub(super) fn set_module(&mut self, text: String) {
        if let Some(module) = self.spec.pointer_mut("/forProvider/module") {
            *module = Value::String(text);
        }
    }
}
