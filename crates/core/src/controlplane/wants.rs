//! What has to be found out in the world, by probers, for the next decision.

use std::time::Duration;

use capt_api::endpoint::ApiEndpoint;
use k8s_openapi::jiff::Timestamp;

use super::{
    connection,
    deciding::Deciding,
    eks, endpoint,
    kubeconfig::{self, Source},
    setup::{self, Located},
    snapshot::Snapshot,
    validity, work,
};
use crate::owned::OwnedSeen;

/// How often an API server is asked that does not answer yet.
const EAGER: Duration = Duration::from_secs(5);
/// How often one is asked that does.
const CALM: Duration = Duration::from_secs(60);

/// What has to be found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wants {
    /// Where to ask, and how often. Nothing else is to be asked, and what is not named any more is to be forgotten.
    pub probe: Option<ProbeWish>,
    /// The token to issue, and by when.
    pub token: Option<TokenWish>,
}

/// An API server that is to be asked whether it answers, with whatever status.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeWish {
    /// Where it is.
    pub endpoint: ApiEndpoint,
    /// Its certificate authority, as PEM; without one, that it answers at all is enough.
    pub ca: Option<String>,
    /// How often.
    pub every: Duration,
}

/// A token that is to be issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenWish {
    /// The cluster's name in AWS, which the token is for.
    pub cluster_name: String,
    /// Its region.
    pub region: String,
    /// The WorkspaceTemplateApply whose Workspace has the credentials to sign with; without any there, the process's
    /// own are used.
    pub apply: String,
    /// By when. It has come if this is not in the future; a try that failed is made again after a pause of ten seconds
    /// or more, and told by [`Snapshot::token_trouble`].
    pub by: Timestamp,
}

/// Says what has to be found out for the next decision.
#[must_use]
pub fn wants(snapshot: &Snapshot, now: Timestamp) -> Wants {
    let deciding = Deciding::new(snapshot, now);
    let (Some(cluster), Some(seen)) = (&snapshot.cluster, deciding.found.usable()) else {
        return Wants::default();
    };
    let was_initialized = deciding.was_initialized();
    // A token that was handed out is renewed in a pause too.
    let is_there = eks::is_there(seen) || seen.rests_well();
    if deciding.is_deleting() || !(is_there || was_initialized) {
        return Wants::default();
    }
    let Ok(Located { endpoint, .. }) = setup::locate(snapshot, seen, was_initialized) else {
        return Wants::default();
    };
    let ca_data = connection::output(snapshot, seen, "cluster_certificate_authority_data").ok();
    let answers = snapshot
        .probe
        .as_ref()
        .is_some_and(|probe| probe.silence.is_none() && endpoint::is_same(&probe.endpoint, &endpoint));
    let token = token(&deciding, cluster, seen, &endpoint, now);
    Wants {
        probe: Some(ProbeWish {
            ca: ca_data.and_then(kubeconfig::ca_certificate),
            endpoint,
            every: if answers { CALM } else { EAGER },
        }),
        token,
    }
}

fn token(
    deciding: &Deciding<'_>,
    cluster: &super::snapshot::ClusterSeen,
    seen: &OwnedSeen,
    endpoint: &ApiEndpoint,
    now: Timestamp,
) -> Option<TokenWish> {
    let snapshot = deciding.snapshot;
    if kubeconfig::source(&snapshot.control_plane.spec, &endpoint.host) != Source::AwsIam {
        return None;
    }
    let region = validity::region(snapshot, Some(seen)).ok()?;
    let current = kubeconfig::current_token(snapshot.token.as_ref(), snapshot.kubeconfig.as_ref(), now);
    Some(TokenWish {
        cluster_name: work::name_in_aws(deciding, cluster, seen).to_owned(),
        region: region.as_str().to_owned(),
        apply: seen.name().to_owned(),
        by: kubeconfig::renew_by(current.as_ref(), now),
    })
}
