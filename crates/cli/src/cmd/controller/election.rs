//! Options of the election of a leader.

use std::time::Duration;

use capt_election::{Candidacy, Terms, TermsError};
use uuid::Uuid;

use crate::{access::Cluster, args, cmd::engine::clock};

/// How one of several is chosen.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Leader election")]
pub(crate) struct ElectionArgs {
    /// Act only while holding a lease, so that several can run at once
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    leader_elect: bool,

    /// Namespace of the lease [default: that of the service account or context, else default]
    #[arg(long, value_name = "NAMESPACE", value_parser = args::namespace)]
    leader_election_namespace: Option<String>,

    /// Name of the lease. Controllers for different parts of a cluster need different ones
    #[arg(long, value_name = "NAME", default_value = "capt-controller", value_parser = args::object_name)]
    leader_elect_name: String,

    /// What others read in the lease; no two may have the same [default: the machine's name and a random part]
    #[arg(long, value_name = "TEXT")]
    leader_elect_identity: Option<String>,

    /// How long others wait for a leader that gives no sign of life; whole seconds
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = args::length)]
    leader_elect_lease_duration: Duration,

    /// How long a leader goes on without being able to renew its lease; shorter than the lease
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = args::length)]
    leader_elect_renew_deadline: Duration,

    /// How often the lease is renewed; shorter than the deadline
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = args::length)]
    leader_elect_retry_period: Duration,
}

impl ElectionArgs {
    fn terms(&self) -> Terms {
        Terms {
            duration: self.leader_elect_lease_duration,
            deadline: self.leader_elect_renew_deadline,
            retry: self.leader_elect_retry_period,
        }
    }

    /// What makes no sense together.
    pub(super) fn contradiction(&self) -> Option<String> {
        let terms = self.terms();
        let Terms {
            duration,
            deadline,
            retry,
        } = terms;
        let error = terms.checked().err().filter(|_| self.leader_elect)?;
        Some(match error {
            TermsError::DurationUnusable => {
                format!("--leader-elect-lease-duration {duration:?}: {error}. Write such a duration, as 15s")
            }
            TermsError::DeadlineTooLong => format!(
                "--leader-elect-renew-deadline {deadline:?} is not shorter than --leader-elect-lease-duration {duration:?}: a \
                 leader that cannot renew its lease would still write when the next one takes over. Make the deadline \
                 shorter, or the lease longer"
            ),
            TermsError::RetryTooLong => format!(
                "--leader-elect-retry-period {retry:?} is not shorter than --leader-elect-renew-deadline {deadline:?}: a leader \
                 would give up before it tries to renew its lease. Make the period shorter, or the deadline longer"
            ),
        })
    }

    /// The namespace of the lease, if one was named.
    pub(crate) fn lease_namespace(&self) -> Option<&str> {
        self.leader_election_namespace.as_deref()
    }

    /// The name of the lease, unless leaders are not elected.
    pub(crate) fn lease_name(&self) -> Option<&str> {
        self.leader_elect.then_some(self.leader_elect_name.as_str())
    }

    /// Who would lead, unless leaders are not elected.
    pub(crate) fn candidacy(&self, cluster: &Cluster) -> anyhow::Result<Option<Candidacy>> {
        if !self.leader_elect {
            return Ok(None);
        }
        Ok(Some(Candidacy::new(
            cluster.client.clone(),
            self.lease_namespace().unwrap_or(&cluster.namespace),
            &self.leader_elect_name,
            &self.leader_elect_identity.clone().unwrap_or_else(identity),
            self.terms().checked()?,
            clock(),
        )))
    }
}

/// Another one each time: whoever had the lease before us may still run.
fn identity() -> String {
    let machine = rustix::system::uname();
    format!("{}_{}", machine.nodename().to_string_lossy(), Uuid::new_v4())
}
