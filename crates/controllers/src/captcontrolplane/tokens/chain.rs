//! The credentials that the process itself has, found where AWS's own programs look for them, in the same order:
//! environment, shared files, web identity (IRSA), container, instance.

mod around;
mod container;
mod files;
mod instance;
mod web_identity;

pub(super) use around::{Around, Machine};

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::jiff::SignedDuration;
use tokio::sync::Mutex;

use super::{credentials::Credentials, sts::StsError};
use crate::{Clock, captcontrolplane::exchange::ExchangeError};

/// Credentials that end sooner are looked for again.
const FRESH_FOR: SignedDuration = SignedDuration::from_mins(16);
/// Credentials of whose end nothing is known are looked for again after this time, because they may have been rotated.
const BELIEVED_FOR: SignedDuration = SignedDuration::from_mins(1);

/// The credentials that the process itself has.
pub trait OwnCredentials: Send + Sync {
    /// Finds them, or says why there are none. Never a secret.
    fn find(&self) -> BoxFuture<'_, Result<Credentials, String>>;
}

/// Why there are no credentials.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChainError {
    /// They are nowhere.
    #[error(
        "there are no credentials for AWS: neither in the Workspace's provider configuration, nor in the environment, in \
         shared files, by web identity, in a container or of an instance"
    )]
    Nowhere,
    /// A profile says too little.
    #[error("the profile {0} has no credentials and does not say where they are")]
    Profile(String),
    /// Profiles lead to each other.
    #[error("the profile {0} leads to too many others")]
    Profiles(String),
    /// A file cannot be read.
    #[error("{what} cannot be read")]
    File {
        /// What it is.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// Whoever has them does not answer.
    #[error("{who} does not answer")]
    Silent {
        /// Who.
        who: &'static str,
        /// Why.
        source: ExchangeError,
    },
    /// Whoever has them refuses.
    #[error("{who} answered {status}")]
    Refused {
        /// Who.
        who: &'static str,
        /// HTTP status.
        status: u16,
    },
    /// Whoever has them says something else.
    #[error("the answer of {0} has no credentials in it")]
    Answer(&'static str),
    /// An address cannot be used.
    #[error("{0} is no address that credentials may come from")]
    Address(&'static str),
    /// AWS gives none.
    #[error("AWS gives no credentials for the role {role}")]
    Role {
        /// The role.
        role: String,
        /// Why.
        source: StsError,
    },
}

/// The credentials of this process.
pub struct ProcessCredentials {
    around: Arc<dyn Around>,
    clock: Clock,
    known: Mutex<Option<Known>>,
}

struct Known {
    credentials: Credentials,
    believed_until: k8s_openapi::jiff::Timestamp,
}

impl ProcessCredentials {
    /// The credentials of this process, on this machine.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self::within(Arc::new(Machine), clock)
    }

    fn within(around: Arc<dyn Around>, clock: Clock) -> Self {
        Self {
            around,
            clock,
            known: Mutex::default(),
        }
    }

    async fn look(&self) -> Result<Credentials, ChainError> {
        let now = (self.clock)();
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.believed_until > now) {
            return Ok(known.credentials.clone());
        }
        let credentials = search(&*self.around, now).await?;
        let believed_until = match credentials.expires_at {
            Some(end) => end.checked_sub(FRESH_FOR),
            None => now.checked_add(BELIEVED_FOR),
        };
        *known = believed_until.ok().map(|believed_until| Known {
            credentials: credentials.clone(),
            believed_until,
        });
        Ok(credentials)
    }
}

impl OwnCredentials for ProcessCredentials {
    fn find(&self) -> BoxFuture<'_, Result<Credentials, String>> {
        Box::pin(async move { self.look().await.map_err(|error| told(&error)) })
    }
}

async fn search(around: &dyn Around, now: k8s_openapi::jiff::Timestamp) -> Result<Credentials, ChainError> {
    let from_environment = Credentials::named(|name| around.variable(&name.to_ascii_uppercase()));
    if let Some(credentials) = from_environment {
        return Ok(credentials);
    }
    if let Some(credentials) = files::find(around, now).await? {
        return Ok(credentials);
    }
    if let Some(credentials) = web_identity::find(around).await? {
        return Ok(credentials);
    }
    if let Some(credentials) = container::find(around).await? {
        return Ok(credentials);
    }
    instance::find(around).await?.ok_or(ChainError::Nowhere)
}

/// The region that roles are taken on in, where nothing else says one.
fn region(around: &dyn Around) -> String {
    let names = ["AWS_REGION", "AWS_DEFAULT_REGION"];
    let known = names.into_iter().find_map(|name| around.variable(name));
    known.unwrap_or_else(|| "us-east-1".to_owned())
}

/// An error with its causes.
pub(super) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
