//! What is told about a Workspace beside it: how far an operation is, what a plan would do, what Terraform printed.
//!
//! Nothing in here decides anything, and nothing leaves without having passed the redactor of the operation.

mod learned;
mod log;
mod missing;
mod page;
mod values;
mod words;

pub use learned::DURATIONS_CONFIG_MAP;
pub(crate) use learned::Learned;
pub(crate) use log::{Log, Room, readable};
pub(crate) use missing::{may_be, missing, missing_names, missing_words, told};
pub(crate) use page::{Changes, FIELD_MANAGER, Page, name_of, with_report, with_rotated_log};
pub(crate) use words::{MAX_PLAN_TEXT, drift, plan, preparing, progress, rows, warnings};
