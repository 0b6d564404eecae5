//! What lets others into an EKS cluster that is up: its certificate authority, and kubeconfigs with a token or as the
//! module gives them.

use std::time::Duration;

use capt_api::{conditions::captcontrolplane::CAPTControlPlaneReason as Reason, endpoint::ApiEndpoint};
use k8s_openapi::jiff::Timestamp;

use super::{
    connection,
    judging::{Note, Setup},
    kubeconfig::{self, Source},
    setup::Names,
    snapshot::{SecretSeen, Snapshot, Token},
};
use crate::{
    decision::Desired,
    owned::{OutputProblem, OwnedSeen, Owner},
    timing::between,
};

/// The Secrets that let others in.
pub(super) struct Access {
    /// What has to be written.
    pub(super) secrets: Vec<Desired>,
    /// Whether others can get in; a note is worth telling although they can.
    pub(super) outcome: Result<Option<Note>, Setup>,
    /// What nobody needs here and is wrong all the same.
    pub(super) impairment: Option<Note>,
    /// When time alone may change any of this.
    pub(super) look_again: Option<Duration>,
}

/// Looks at what lets others in.
pub(super) fn look(
    snapshot: &Snapshot,
    owner: &Owner<'_>,
    names: &Names<'_>,
    seen: &OwnedSeen,
    endpoint: &ApiEndpoint,
    now: Timestamp,
) -> Access {
    let mut access = Access {
        secrets: Vec::new(),
        outcome: Ok(None),
        impairment: None,
        look_again: None,
    };
    let authority = Authority::of(snapshot, owner, seen);
    let mut wanted = Vec::new();
    let kubeconfig = match kubeconfig::source(&snapshot.control_plane.spec, &endpoint.host) {
        Source::Output => {
            access.impairment = match &authority.told {
                Err(Setup::Broken(note)) if authority.is_told => Some(note.clone()),
                _ => None,
            };
            // Nothing hangs on it here, and whoever looks for its Secret has to know why there is none.
            if let (Err(Setup::Broken(_)), false) = (&authority.told, authority.is_told) {
                let message = seen.naming_template(&format!(
                    "The kubeconfig is there. The module has no output cluster_certificate_authority_data, so that there is \
                     no Secret {}; add the output where somebody needs that",
                    kubeconfig::ca_secret_name(names.cluster)
                ));
                access.outcome = Ok(Some(Note::new(Reason::KubeconfigGenerated, message)));
            }
            from_output(snapshot, owner, seen, names).map(Some)
        }
        Source::AwsIam => {
            if let Err(trouble) = &authority.told {
                access.outcome = Err(trouble.clone());
            }
            match &authority.data {
                // That it is not there was said above.
                None => Ok(None),
                Some(ca_data) => {
                    if let Some(region) = names.region {
                        let people =
                            kubeconfig::for_people(names.cluster, endpoint, ca_data, names.in_aws, region);
                        wanted.push((people, snapshot.user_kubeconfig.as_ref(), false));
                    }
                    let token =
                        kubeconfig::current_token(snapshot.token.as_ref(), snapshot.kubeconfig.as_ref(), now);
                    access.look_again = renewal(token.as_ref(), now);
                    token_or_trouble(token, snapshot.token_trouble.as_deref()).map(|(token, remark)| {
                        if let Ok(place) = &mut access.outcome {
                            *place = remark;
                        }
                        Some(kubeconfig::with_token(names.cluster, endpoint, ca_data, &token))
                    })
                }
            }
        }
    };
    match kubeconfig {
        Ok(kubeconfig) => {
            wanted.extend(kubeconfig.map(|kubeconfig| (kubeconfig, snapshot.kubeconfig.as_ref(), true)));
        }
        Err(setup) => access.outcome = Err(setup),
    }
    if let Ok(certificate) = &authority.told {
        let ca = kubeconfig::ca(names.cluster, certificate);
        wanted.push((ca, snapshot.ca.as_ref(), false));
    }
    for (secret, present, is_contract) in wanted {
        match secret.change(owner, present, is_contract) {
            Ok(change) => access.secrets.extend(change),
            Err(message) if is_contract => {
                access.outcome = Err(Setup::Broken(Note::new(Reason::SecretError, message)));
            }
            Err(message) => {
                if let Ok(remark) = &mut access.outcome {
                    *remark = Some(Note::new(Reason::SecretError, message));
                }
            }
        }
    }
    access
}

/// The token to use, and what is to be told although there is one.
fn token_or_trouble(token: Option<Token>, trouble: Option<&str>) -> Result<(Token, Option<Note>), Setup> {
    let failed = |message: String| Note::new(Reason::KubeconfigGenerationFailed, message);
    match (token, trouble) {
        (Some(token), trouble) => Ok((
            token,
            trouble.map(|trouble| failed(format!("The token is valid, and could not be renewed: {trouble}"))),
        )),
        (None, Some(trouble)) => Err(Setup::Outstanding(failed(format!(
            "No token could be had: {trouble}"
        )))),
        (None, None) => Err(Setup::Outstanding(failed("Waiting for a token".to_owned()))),
    }
}

/// The certificate authority of a cluster.
struct Authority {
    /// The certificate that the module tells, or why it tells none.
    told: Result<String, Setup>,
    /// The module tells something.
    is_told: bool,
    /// What goes into kubeconfigs: what the module tells, or what it told before. What let others in does not stop doing so
    /// because an output went missing or was spoilt.
    data: Option<String>,
}

impl Authority {
    fn of(snapshot: &Snapshot, owner: &Owner<'_>, seen: &OwnedSeen) -> Self {
        const OUTPUT: &str = "cluster_certificate_authority_data";
        let broken = |found: &str| {
            let message = format!(
                "The module's output {OUTPUT} of the Workspace {} is {found}. Make it base64 of a PEM certificate, as the EKS \
                 cluster has it",
                seen.workspace_name()
            );
            let message = seen.naming_template(&message);
            Err(Setup::Broken(Note::new(Reason::OutputInvalid, message)))
        };
        let output = connection::output(snapshot, seen, OUTPUT);
        let is_told = !matches!(&output, Err(OutputProblem::Missing { .. }));
        let told = match output {
            Err(OutputProblem::WrongType { found, .. }) => broken(found),
            Err(problem) => Err(missing(snapshot, owner, seen, &problem.to_string())),
            Ok(ca_data) => match kubeconfig::ca_certificate(ca_data) {
                Some(certificate) => Ok((ca_data.to_owned(), certificate)),
                None => broken("no certificate"),
            },
        };
        let known = || {
            let is_ours = |secret: &&SecretSeen| {
                let controller = secret.controller.as_ref();
                controller.is_some_and(|(_, uid)| uid == owner.uid)
            };
            let certificate = snapshot.ca.as_ref().filter(is_ours)?.text("ca.crt")?;
            Some(kubeconfig::ca_data(certificate))
        };
        Self {
            data: told.as_ref().ok().map(|(data, _)| data.clone()).or_else(known),
            is_told,
            told: told.map(|(_, certificate)| certificate),
        }
    }
}

fn from_output(
    snapshot: &Snapshot,
    owner: &Owner<'_>,
    seen: &OwnedSeen,
    names: &Names<'_>,
) -> Result<kubeconfig::Wanted, Setup> {
    match connection::output(snapshot, seen, "kubeconfig") {
        Ok(text) => match kubeconfig::unusable(text) {
            None => Ok(kubeconfig::from_output(names.cluster, text)),
            Some(why) => Err(Setup::Broken(Note::new(
                Reason::KubeconfigGenerationFailed,
                seen.naming_template(&format!("The module's output kubeconfig {why}")),
            ))),
        },
        Err(_) if snapshot.connection.is_some() => Err(Setup::Broken(Note::new(
            Reason::OutputInvalid,
            seen.naming_template(
                "The module has no output kubeconfig, from which the kubeconfig is to be taken. Add it, marked as \
                 sensitive, or set spec.kubeconfig.source to AwsIam",
            ),
        ))),
        Err(_) => Err(Setup::Outstanding(secret_missing(
            snapshot,
            owner,
            seen,
            "kubeconfig",
        ))),
    }
}

/// What is missing is the module's fault only if everything else is there: what is sensitive stands in the Secret alone.
fn missing(snapshot: &Snapshot, owner: &Owner<'_>, seen: &OwnedSeen, problem: &str) -> Setup {
    if snapshot.connection.is_none() {
        let key = "cluster_certificate_authority_data";
        Setup::Outstanding(secret_missing(snapshot, owner, seen, key))
    } else {
        Setup::Broken(Note::new(Reason::OutputInvalid, seen.naming_template(problem)))
    }
}

/// That the connection Secret is not there, which one that is, and how it comes back.
pub(super) fn secret_missing(snapshot: &Snapshot, owner: &Owner<'_>, seen: &OwnedSeen, fact: &str) -> Note {
    let template = snapshot.template.as_ref();
    let names = connection::secret_names(
        &snapshot.control_plane.spec,
        owner.name,
        template.and_then(|template| Some(template.spec.as_ref()?.spec())),
        Some(seen),
    );
    let name = names.first().map_or(connection::FIXED_NAME, String::as_str);
    Note::new(
        Reason::SecretError,
        format!(
            "The connection Secret {name} of the EKS cluster is not there, from which {fact} is taken. Its Workspace \
             writes it; to have it written again: {}",
            seen.retry_command()
        ),
    )
}

/// When the next token is due; after that, when this one ends.
fn renewal(token: Option<&Token>, now: Timestamp) -> Option<Duration> {
    let token = token?;
    let due = between(now, kubeconfig::renew_by(Some(token), now));
    let end = between(now, token.expires_at);
    [due, end].into_iter().find(|left| !left.is_zero())
}
