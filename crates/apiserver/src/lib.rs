//! A Kubernetes API as a library.
pub mod clock;
pub mod status;
pub mod store;
