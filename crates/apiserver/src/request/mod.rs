//! Reading requests: where they point, what they ask for, what they bring, what answer they accept.

mod accept;
mod body;
mod path;
mod query;

pub use accept::{Form, MetaVersion, accepted_form, wants_aggregated};
pub(crate) use body::{Undecodable, decode_document, decode_json, decode_object, media_type, read_body};
pub use path::{Target, parse_path};
pub use query::{FieldValidation, Query, VersionMatch};
pub(crate) use query::{delete_options_invalid, patch_options_invalid};
