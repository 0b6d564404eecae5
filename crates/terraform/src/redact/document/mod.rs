//! Values in documents: what a Secret holds is rarely one value.
//!
//! Keys are no values. What a document's declared format does not explain is split without regard to it, since Terraform
//! prints the lines of files that it refuses.

mod hcl;
mod json;
mod text;

pub(super) use text::{pieces, values as text_values};

/// How a file of variables is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// In Terraform's language.
    Hcl,
    /// In JSON.
    Json,
}

/// What was found in a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    /// Values as they are meant.
    pub(super) meant: Vec<String>,
    /// The same as they stand in the document, where that differs.
    pub(super) written: Vec<String>,
    /// The format explains all of the document, and every value is a constant.
    pub(super) is_whole: bool,
}

/// The values of a document of this format.
pub(super) fn values(text: &str, format: Format) -> Values {
    match format {
        Format::Hcl => hcl::values(text),
        Format::Json => json::values(text),
    }
}

/// The values of a text that is an object or a list. `None` if it is none.
pub(super) fn structure(text: &str) -> Option<Values> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let json = json::values(text);
    let found = match json.is_whole {
        true => json,
        false => hcl::expression_values(text),
    };
    found.is_whole.then_some(found)
}
