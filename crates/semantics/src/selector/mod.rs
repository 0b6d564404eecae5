//! Label and field selectors.
//!
//! Both are parsed once per request and matched against every object of a list or watch, so matching borrows
//! everything.

mod field;
mod label;
#[cfg(test)]
mod tests;

pub use field::FieldSelector;
pub use label::LabelSelector;
