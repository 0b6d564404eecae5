//! Reading requests: where they point, what they ask for, what they bring, what answer they accept.

mod accept;
mod body;
mod path;
mod query;

pub use accept::{Form, accepted_form, wants_aggregated};
pub(crate) use body::{decode_document, media_type, read_body};
pub use path::{Target, parse_path};
pub(crate) use query::patch_options_invalid;
pub use query::{FieldValidation, Query, VersionMatch};
