//! A Kubernetes API as a library.
pub mod clock;
pub mod serve;
pub mod status;
pub mod store;

pub use serve::Identity;
