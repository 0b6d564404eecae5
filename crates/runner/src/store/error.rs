//! Why state could not be read, written or locked.

use capt_terraform::{
    diagnostics::Class,
    lock::Holder,
    state::{StateError, UnpackError},
};
use k8s_openapi::jiff::Timestamp;

use crate::{
    api::{CallError, words},
    engine::{Failure, FailureKind},
};

/// Why state could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The API did not do it.
    #[error("{doing} Secret {namespace}/{name} failed")]
    Call {
        /// What was tried: `reading`, `writing` or `deleting`.
        doing: &'static str,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Why.
        source: CallError,
    },
    /// What is there is no state.
    #[error(
        "Secret {namespace}/{name} holds no state that can be read, and there is no other copy: restore it from a backup"
    )]
    Damaged {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Why.
        source: UnpackError,
    },
    /// What is to be written is no state.
    #[error("what was to be kept is no state")]
    NoState(#[source] StateError),
    /// Somebody else wrote it meanwhile.
    #[error(
        "somebody else wrote the state in Secret {namespace}/{name} meanwhile (serial {theirs}, ours is {ours}), so \
         that ours was not written over it"
    )]
    Overtaken {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Their serial, or words why there is none.
        theirs: String,
        /// Our serial.
        ours: u64,
    },
    /// Something still exists, so that its state must stay.
    #[error(
        "the state in Secret {namespace}/{name} still lists {resources} resources, so that it was not deleted"
    )]
    NotEmpty {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// How many.
        resources: usize,
    },
}

impl StoreError {
    /// Whether the same may succeed later with nothing changed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Call { source, .. } => source.is_transient() || source.is_conflict(),
            Self::Overtaken { .. } => true,
            Self::Damaged { .. } | Self::NoState(_) | Self::NotEmpty { .. } => false,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let class = match &error {
            StoreError::Call { source, .. } if source.is_namespace_terminating() => {
                return failure(FailureKind::NamespaceTerminating, words(&error));
            }
            StoreError::Call { source, .. } if source.is_forbidden() => Class::Denied,
            StoreError::Call { .. } if error.is_transient() => Class::Network,
            StoreError::Overtaken { .. } => Class::StalePlan,
            _ => Class::Other,
        };
        failure(FailureKind::Machine(class), words(&error))
    }
}

/// Why the lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("{}", held(.holder, .namespace, .lease))]
    Held {
        /// Namespace of the Lease.
        namespace: String,
        /// Name of the Lease.
        lease: String,
        /// Who. Its `until` is when to try again; without one a person must decide.
        holder: Box<Holder>,
    },
    /// The API did not do it.
    #[error("Lease {namespace}/{lease} could not be written")]
    Call {
        /// Namespace of the Lease.
        namespace: String,
        /// Name of the Lease.
        lease: String,
        /// Why.
        source: CallError,
    },
}

impl LockError {
    /// When it is worth trying again, if that is known. The lock of a runner of ours expires; others do not.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Held { holder, .. } => holder.until,
            Self::Call { .. } => None,
        }
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        let kind = match &error {
            LockError::Held { .. } => FailureKind::Terraform(Class::Locked),
            LockError::Call { source, .. } if source.is_namespace_terminating() => {
                FailureKind::NamespaceTerminating
            }
            LockError::Call { source, .. } if source.is_forbidden() => FailureKind::Machine(Class::Denied),
            LockError::Call { .. } => FailureKind::Machine(Class::Network),
        };
        failure(kind, words(&error))
    }
}

fn failure(kind: FailureKind, message: String) -> Failure {
    Failure {
        kind,
        message,
        diagnostics: Vec::new(),
        state: None,
        missing: Vec::new(),
    }
}

fn held(holder: &Holder, namespace: &str, lease: &str) -> String {
    let info = holder.info.clone().unwrap_or_default();
    let or = |text: &str, other: &str| {
        if text.is_empty() {
            other.to_owned()
        } else {
            text.to_owned()
        }
    };
    let since = or(&info.created, "an unknown time");
    if let Some(runner) = &holder.runner {
        let whose = or(&info.info, "a Workspace");
        let then = match holder.until {
            Some(_) => "it is taken over if that runner stopped",
            None => "it is free when that is done",
        };
        return format!("the state is locked by the runner {runner} for {whose} since {since}; {then}");
    }
    format!(
        "the state is locked by {} since {since} for {} (lock {}). Wait until that is done. If it never will be, free \
         it with `kubectl -n {namespace} delete lease {lease}`",
        or(&info.who, "somebody"),
        or(&info.operation, "an unknown operation"),
        holder.id,
    )
}
