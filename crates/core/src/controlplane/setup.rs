//! What is around an EKS cluster that is up: its endpoint, whether that answers, and the Secrets that let others in.

use std::time::Duration;

use capt_api::{
    captcontrolplane::{
        CAPTControlPlaneSpec, CAPTControlPlaneStatus, ControlPlaneState as State, EndpointCheck,
    },
    conditions::{
        Word as _,
        captcontrolplane::{CAPTControlPlaneCondition as Type, CAPTControlPlaneReason as Reason},
        find_condition,
    },
    endpoint::ApiEndpoint,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};

use super::{
    access, connection, endpoint,
    judging::{Answer, Note, Setup},
    kubeconfig,
    snapshot::{Silence, Snapshot},
};
use crate::{
    decision::{Desired, Guard},
    owned::{OutputProblem, OwnedSeen, Owner},
    timing::between,
};

/// How long silence is no news. Cluster API's own probe has the same patience.
pub const PATIENCE: Duration = Duration::from_secs(50);
/// How long an API server may be silent before it counts as not serving.
pub const DEAD_AFTER: Duration = Duration::from_secs(5 * 60);
/// How long an answer is believed.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(5 * 60);

/// What is said where every Secret that lets others in is there.
const ALL_THERE: &str = "The kubeconfig is there";

/// What is around an EKS cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// Where the API server answers.
    pub endpoint: Option<ApiEndpoint>,
    /// Whether it does.
    pub answer: Answer,
    /// Secrets that have to be written.
    pub secrets: Vec<Desired>,
    /// How all of it stands.
    pub setup: Setup,
    /// How the kubeconfig stands.
    pub kubeconfig: Result<Note, Note>,
    /// What is not wholly as it should be.
    pub impairments: Vec<Note>,
    /// When time alone may change any of this.
    pub look_again: Option<Duration>,
}

/// What a control plane is called, where.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The Cluster.
    pub cluster: &'a str,
    /// The cluster's name in AWS.
    pub in_aws: &'a str,
    /// Its region.
    pub region: Option<&'a str>,
}

/// Whether the API server has to answer.
#[must_use]
pub fn check(spec: &CAPTControlPlaneSpec) -> EndpointCheck {
    let access = spec
        .control_plane_config
        .as_ref()
        .and_then(|config| config.endpoint_access.as_ref());
    let is_private = access.and_then(|access| access.public) == Some(false);
    spec.endpoint_check.unwrap_or(if is_private {
        EndpointCheck::Optional
    } else {
        EndpointCheck::Required
    })
}

/// Where an API server answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// Where.
    pub endpoint: ApiEndpoint,
    /// Why what the module says now is not believed.
    pub doubt: Option<Note>,
}

/// Where the API server answers: what the module says, or what was known before. What served does not stop doing so because
/// an output was spoilt.
///
/// # Errors
///
/// The module says something that is no endpoint, or nothing.
pub fn locate(snapshot: &Snapshot, seen: &OwnedSeen, was_initialized: bool) -> Result<Located, Note> {
    let told = connection::output(snapshot, seen, "cluster_endpoint");
    let is_spoilt = !matches!(&told, Err(OutputProblem::Missing { .. }));
    let problem = match told.map(endpoint::parse) {
        Ok(Ok(endpoint)) => {
            return Ok(Located {
                endpoint,
                doubt: None,
            });
        }
        Ok(Err(problem)) => {
            let message = format!(
                "The module's output cluster_endpoint cannot be understood: {problem}. Make it a URL or a host, such as \
                 https://example.org"
            );
            Note::new(Reason::EndpointError, seen.naming_template(&message))
        }
        Err(problem) => Note::new(Reason::OutputInvalid, seen.naming_template(&problem.to_string())),
    };
    // Status does not move, but the endpoint of the Cluster does, and there is none before something served.
    let cluster = snapshot.cluster.as_ref();
    let has_served = was_initialized || cluster.is_some_and(|cluster| cluster.endpoint.is_some());
    let stored = snapshot.control_plane.spec.control_plane_endpoint.as_ref();
    match stored.and_then(endpoint::stored) {
        Some(endpoint) if has_served || !is_spoilt => Ok(Located {
            doubt: is_spoilt.then(|| {
                let known = endpoint::display(&endpoint);
                let message = format!(
                    "{}; until then {known} counts, as it was told before",
                    problem.message
                );
                Note::new(problem.reason, message)
            }),
            endpoint,
        }),
        _ => Err(problem),
    }
}

/// What is known of an API server that nobody asked.
fn unasked(snapshot: &Snapshot) -> Answer {
    match check(&snapshot.control_plane.spec) {
        EndpointCheck::Optional => Answer::NotChecked,
        EndpointCheck::Required => Answer::Unknown,
    }
}

/// Whether the API server answers.
#[must_use]
pub fn answer(
    snapshot: &Snapshot,
    endpoint: &ApiEndpoint,
    was_initialized: bool,
    now: Timestamp,
) -> (Answer, Option<Duration>) {
    let unknown = || unasked(snapshot);
    let is_optional = unknown() == Answer::NotChecked;
    let before = said_before(snapshot, endpoint);
    // Silence does not begin anew because we did. It was told when patience had ended.
    let silence_before = before
        .filter(|said| said.status == "False" && !is_optional)
        .map(|said| PATIENCE + between(said.last_transition_time.0, now));
    if let (None, Some(said)) = (&snapshot.probe, before) {
        // Nobody asked since we started, so that what was said last counts.
        let message = || said.message.clone();
        match silence_before {
            Some(silence) if was_initialized && silence >= DEAD_AFTER => {
                return (Answer::Dead(message()), None);
            }
            Some(_) => return (Answer::Silent(message()), None),
            None if said.status == "True" && (was_initialized || is_optional) => return (Answer::Yes, None),
            None => {}
        }
    }
    let probe = snapshot
        .probe
        .as_ref()
        .filter(|probe| endpoint::is_same(&probe.endpoint, endpoint))
        .filter(|probe| between(probe.seen_at, now) < FORGOTTEN_AFTER);
    let Some(probe) = probe else {
        return (unknown(), None);
    };
    let Some((since, why)) = &probe.silence else {
        return (Answer::Yes, None);
    };
    if is_optional {
        return (Answer::NotChecked, None);
    }
    let silence = between(*since, now).max(silence_before.unwrap_or_default());
    let place = endpoint::display(endpoint);
    let message = match why {
        Silence::Nobody(why) => format!(
            "The API server does not answer at {place}: {why}. If it cannot be reached from here, write spec.endpointCheck: \
             Optional"
        ),
        Silence::Stranger(why) => format!(
            "Who answers at {place} is not the API server of this cluster, by the module's output \
             cluster_certificate_authority_data: {why}. Mend that output, or cluster_endpoint"
        ),
        Silence::Untimely(why) => format!(
            "The API server cannot be believed at {place}: {why}. Mend its certificate, or the clock of whoever runs capt"
        ),
        Silence::NoAuthority => format!(
            "The API server cannot be asked at {place}: the module's output cluster_certificate_authority_data is no \
             certificate. Mend that output"
        ),
    };
    if !was_initialized {
        (Answer::Silent(message), None)
    } else if silence >= DEAD_AFTER {
        (Answer::Dead(message), None)
    } else if silence >= PATIENCE {
        (Answer::Silent(message), Some(DEAD_AFTER.saturating_sub(silence)))
    } else {
        // Silence is no news only of one that answered.
        let has_answered = before.is_some_and(|said| said.status == "True");
        let answer = if has_answered {
            Answer::Yes
        } else {
            Answer::Unknown
        };
        (answer, Some(PATIENCE.saturating_sub(silence)))
    }
}

/// What was said last about whether the API server answers at an endpoint.
fn said_before<'a>(snapshot: &'a Snapshot, endpoint: &ApiEndpoint) -> Option<&'a Condition> {
    let status = snapshot.control_plane.status.as_ref()?;
    let is_same = status.endpoint.as_deref() == Some(endpoint::display(endpoint).as_str());
    let conditions = status.conditions.as_deref().unwrap_or_default();
    find_condition(conditions, Type::EndpointAnswers.as_str()).filter(|_| is_same)
}

/// Looks at what is around an EKS cluster that is up, or was.
#[must_use]
pub fn look(
    snapshot: &Snapshot,
    owner: &Owner<'_>,
    names: &Names<'_>,
    seen: &OwnedSeen,
    was_initialized: bool,
    now: Timestamp,
) -> Surroundings {
    let nothing = |setup: Setup, note: &Note| Surroundings {
        endpoint: None,
        answer: unasked(snapshot),
        secrets: Vec::new(),
        setup,
        kubeconfig: Err(note.clone()),
        impairments: Vec::new(),
        look_again: None,
    };
    let Located { endpoint, doubt } = match locate(snapshot, seen, was_initialized) {
        Ok(located) => located,
        // Outputs and Secret arrive after the Workspace says that it is ready.
        Err(note)
            if note.reason == Reason::OutputInvalid
                && snapshot.connection.is_none()
                && !connection::has_outputs(seen) =>
        {
            let note = access::secret_missing(snapshot, owner, seen, "cluster_endpoint");
            return nothing(Setup::Outstanding(note.clone()), &note);
        }
        Err(note) => return nothing(Setup::Broken(note.clone()), &note),
    };
    let (answer, silence) = answer(snapshot, &endpoint, was_initialized, now);
    let access = access::look(snapshot, owner, names, seen, &endpoint, now);
    let mut around = Surroundings {
        endpoint: Some(endpoint),
        answer,
        secrets: access.secrets,
        setup: Setup::Done,
        kubeconfig: Ok(Note::new(Reason::KubeconfigGenerated, ALL_THERE)),
        impairments: doubt.into_iter().chain(access.impairment).collect(),
        look_again: [silence, access.look_again].into_iter().flatten().min(),
    };
    match access.outcome {
        Ok(Some(remark)) => around.kubeconfig = Ok(remark),
        Ok(None) => {}
        Err(setup) => {
            let (Setup::Outstanding(note) | Setup::Broken(note)) = &setup else {
                return around;
            };
            around.kubeconfig = Err(note.clone());
            around.setup = setup;
            return around;
        }
    }
    match &around.answer {
        Answer::Yes | Answer::NotChecked => {}
        Answer::Unknown if was_initialized => {}
        Answer::Unknown => {
            let message = "Waiting for the API server to answer";
            around.setup = Setup::Outstanding(Note::new(Reason::EndpointNotReady, message));
        }
        Answer::Silent(message) if was_initialized => {
            around
                .impairments
                .push(Note::new(Reason::EndpointNotReady, message));
        }
        Answer::Silent(message) => {
            around.setup = Setup::Outstanding(Note::new(Reason::EndpointNotReady, message));
        }
        Answer::Dead(_) => {}
    }
    around
}

/// Secrets that were there by what was said last, and that somebody deleted, whether they can be written again or not.
/// What was said since is said once.
pub(super) fn deleted(
    snapshot: &Snapshot,
    status: &CAPTControlPlaneStatus,
    cluster: &str,
    around: &Surroundings,
) -> Vec<String> {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let Some(said) =
        find_condition(conditions, Type::KubeconfigReady.as_str()).filter(|said| said.status == "True")
    else {
        return Vec::new();
    };
    let kubeconfig = kubeconfig::secret_name(cluster);
    // Where anything was the matter, or something else was wanted, the others may never have been there.
    let is_all_there = said.message == ALL_THERE
        && status.state == Some(State::Ready)
        && status.observed_generation == snapshot.control_plane.metadata.generation;
    let others = around
        .secrets
        .iter()
        .filter(|secret| is_all_there && secret.guard == Guard::Absent && secret.target.name != kubeconfig);
    let others: Vec<String> = others.map(|secret| secret.target.name.clone()).collect();
    // Without a token it cannot be written yet.
    let kubeconfig = snapshot.kubeconfig.is_none().then_some(kubeconfig);
    kubeconfig.into_iter().chain(others).collect()
}
