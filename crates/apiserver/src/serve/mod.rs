//! Serving the API to other processes: TLS, identity, connections, and the files a client needs.
//!
//! The rest of the crate is an [`axum::Router`] that trusts its caller.
//! This module puts it on a socket so that nobody unknown becomes a caller:
//!
//! * [`lock`] gives a data directory to one process, unless [`exposure`] says that others may change it;
//! * [`private_file`] reads and writes files that are their owner's alone;
//! * [`certs`] keeps a certificate authority and what it has issued;
//! * [`kubeconfig`] tells clients where the server is and who they are;
//! * [`auth`] lets only known identities through, and tells handlers which one asks;
//! * [`listener`] accepts connections, and lets them finish when the process stops.
//!
//! It must never know a kind, a path below the API root, or the store.

pub mod auth;
pub mod certs;
pub mod exposure;
pub mod identity;
pub mod kubeconfig;
pub mod listener;
pub mod lock;
pub mod private_file;
pub mod tls;

pub use self::{
    auth::Authenticator,
    certs::{Pki, PkiRequest},
    identity::Identity,
    kubeconfig::Kubeconfig,
    listener::{Limits, Listener, Serving},
    lock::DataDirLock,
};
