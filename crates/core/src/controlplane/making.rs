//! The WorkspaceTemplateApply of an EKS cluster: what it is told.

use capt_api::{
    captcontrolplane::ReportedVersion,
    conditions::captcontrolplane::CAPTControlPlaneReason as Reason,
    marks,
    version::{Minor, Version},
    workspacetemplateapply::WorkspaceTemplateApplySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::{
    connection,
    deciding::Deciding,
    eks::Reading,
    judging::{Eks, Note},
    snapshot::{ClusterSeen, Snapshot},
    validity::Valid,
    variables::{self, Inputs},
    version::{self, Known},
};
use crate::{
    commands,
    decision::EventKind,
    metadata,
    owned::{self, OutputProblem, OwnedSeen, Role, Standing, Wanted, is_without_template, standing},
};

/// What became of making the WorkspaceTemplateApply.
pub(super) struct Made {
    /// It is about to be written, with another rendering.
    pub(super) is_written: bool,
    /// What is not wholly as it should be.
    pub(super) impairments: Vec<Note>,
    /// Why it is not made by the template as that is now.
    pub(super) held_back: Option<String>,
}

/// Makes the WorkspaceTemplateApply what it should be.
pub(super) fn make(deciding: &mut Deciding<'_>, cluster: &ClusterSeen, valid: &Valid) -> Made {
    let snapshot = deciding.snapshot;
    let seen = deciding.found.usable();
    let spec = &snapshot.control_plane.spec;
    let mut made = Made {
        is_written: false,
        impairments: Vec::new(),
        held_back: None,
    };
    let name = deciding.found.name().to_owned();
    let named = spec.workspace_template_apply_name.as_deref();
    if named != Some(&name) {
        let field = "workspaceTemplateApplyName".to_owned();
        deciding.own.spec.insert(field, json!(name));
    }
    // A name that was written over leads nowhere, and what exists cannot be called otherwise.
    if let Some(wrong) = named.filter(|named| *named != name) {
        let message = owned::name_put_right(wrong, &name);
        deciding.tell(EventKind::Warning, Reason::InvalidSpec, &message);
    }
    let before = seen.and_then(|seen| seen.wta.spec.variables.as_ref());
    // What exists keeps its name in AWS.
    let cluster_name = before
        .and_then(|before| before.get("cluster_name"))
        .map_or(cluster.name.as_str(), String::as_str);
    let step = version::next(&known_versions(deciding, valid.version));
    made.impairments
        .extend(version_note(deciding, &spec.version, &step));
    remember_ahead(deciding, &step);
    let released = owned::release(
        seen,
        snapshot
            .template
            .as_ref()
            .map(|template| template.revision.as_str()),
        &snapshot.peers,
    );
    made.held_back = released.held_back;
    let template = snapshot
        .template
        .as_ref()
        .and_then(|template| Some(template.spec.as_ref()?.spec()));
    let vpc_secret = snapshot.vpc_secret.as_ref().map(|secret| secret.name.clone());
    deciding.hold_back_retry(seen);
    let wanted = Wanted {
        name: name.clone(),
        role: Role::Eks,
        template: spec.workspace_template_ref.clone(),
        revision: released.revision,
        variables: variables::variables(&Inputs {
            spec,
            cluster_name,
            version: step.variable,
            region: &valid.region,
            vpc: valid.vpc.as_ref(),
            before,
        }),
        connection_secret: connection::wanted_name(
            spec,
            deciding.owner.name,
            template,
            seen,
            snapshot.left_secret.as_deref(),
            snapshot.connection.as_ref(),
        ),
        wait_for_secrets: waits(seen, Awaited::told(vpc_secret), |spec| {
            let names = spec.wait_for_secrets.as_deref().unwrap_or_default();
            names.iter().map(|reference| reference.name.clone()).collect()
        }),
        wait_for_workspaces: waits(seen, vpc_workspace(snapshot), |spec| {
            let names = spec.wait_for_workspaces.as_deref().unwrap_or_default();
            names.iter().map(|reference| reference.name.clone()).collect()
        }),
        retain: false,
        retry: deciding.retry_for(seen, deciding.was_unwell()).map(str::to_owned),
    };
    if let Some(seen) = seen {
        if seen.is_deleting() {
            deciding.keep_retry_for(Some(seen), true);
            return made;
        }
        if wanted.changes_template(&deciding.owner, seen) {
            made.impairments.push(Note::new(
                Reason::InvalidSpec,
                format!(
                    "spec.workspaceTemplateRef cannot be changed while the cluster exists: it is made from {}. Write \
                     that again",
                    seen.wta.spec.template_ref.name
                ),
            ));
        }
    }
    if let Some(change) = wanted.change(&deciding.owner, seen) {
        let authored = seen.and_then(|seen| seen.annotation(marks::AUTHORED));
        made.is_written = authored != change.rendered_from.as_deref() || wanted.retry.is_some();
        deciding.children.push(change);
    }
    // The first status may come later than what was made, and what is told goes with it.
    if seen.is_none() || snapshot.control_plane.status.is_none() {
        deciding.made = Some(format!("The WorkspaceTemplateApply {name} is made"));
    }
    made
}

/// What the network has that must be there before the EKS cluster.
enum Awaited {
    /// This one.
    Named(String),
    /// There is none, and never will be.
    Nothing,
    /// Nobody tells at the moment.
    Untold,
}

impl Awaited {
    fn told(name: Option<String>) -> Self {
        name.map_or(Self::Untold, Self::Named)
    }
}

/// The Workspace that makes the network. One that existed before has none, whatever made the network that was there before it.
fn vpc_workspace(snapshot: &Snapshot) -> Awaited {
    match &snapshot.infrastructure {
        Some(infrastructure) if infrastructure.existed_before => Awaited::Nothing,
        Some(infrastructure) => Awaited::told(infrastructure.vpc_workspace_name.clone()),
        None => Awaited::Untold,
    }
}

/// What is waited for is decided once: it only matters before the Workspace is made, and what was adopted keeps its own.
/// What nobody tells at the moment, because somebody emptied a status, was known when it was written.
fn waits(
    seen: Option<&OwnedSeen>,
    awaited: Awaited,
    of: fn(&WorkspaceTemplateApplySpec) -> Vec<String>,
) -> Vec<String> {
    // What we authored is stated again, and what others wrote is left to them.
    let before = seen
        .filter(|seen| seen.annotation(marks::AUTHORED).is_some())
        .map(|seen| of(&seen.wta.spec));
    let is_made = seen.is_some_and(OwnedSeen::has_workspace);
    match awaited {
        Awaited::Named(name) if !is_made => vec![name],
        Awaited::Nothing if !is_made => Vec::new(),
        _ => before.unwrap_or_default(),
    }
}

fn known_versions(deciding: &Deciding<'_>, wanted: Minor) -> Known {
    let seen = deciding.found.usable();
    let rendered = seen.and_then(rendered_version);
    let running = seen.and_then(|seen| running_version(deciding, seen));
    let ahead = metadata::annotation(&deciding.snapshot.control_plane.metadata, marks::VERSION_AHEAD);
    Known {
        wanted,
        rendered,
        running,
        // What was put to rest by a pause is done too: the next step is written down and waits for the end of that, as
        // every other change does.
        is_settled: seen.is_some_and(|seen| {
            let is_done = seen.holds() || seen.rests_well();
            is_done && !seen.is_change() && is_without_template(seen).is_none()
        }),
        has_begun: seen.is_some_and(OwnedSeen::may_have_begun),
        has_failed: seen.is_some_and(|seen| matches!(standing(seen), Standing::Failed { .. })),
        is_disputed: version_in_secret(deciding).is_some_and(|told| Some(told) != running),
        was_ahead: ahead.is_some() && ahead == running.map(|running| running.to_string()).as_deref(),
    }
}

/// The version that the connection Secret tells, where outputs stand too.
fn version_in_secret(deciding: &Deciding<'_>) -> Option<Minor> {
    let secret = deciding.snapshot.connection.as_ref()?;
    Version::from(secret.text("cluster_version")?.trim()).minor()
}

/// The version that runs, if the module tells.
pub(super) fn running_version(deciding: &Deciding<'_>, seen: &OwnedSeen) -> Option<Minor> {
    let text = connection::output(deciding.snapshot, seen, "cluster_version").ok()?;
    Version::from(text.trim()).minor()
}

/// The version that runs, if the module tells and nothing speaks against it: the Secret has the same outputs, and EKS leaves
/// out no version. What somebody wrote into the status of a Workspace has neither.
pub(super) fn certain_version(deciding: &Deciding<'_>, seen: &OwnedSeen) -> Option<Minor> {
    let running = running_version(deciding, seen)?;
    let is_disputed = version_in_secret(deciding).is_some_and(|told| told != running);
    let leaves_out = rendered_version(seen).is_some_and(|rendered| running.minor > rendered.minor + 1);
    (!is_disputed && !leaves_out).then_some(running)
}

/// Tells which version runs.
pub(super) fn tell_version(deciding: &mut Deciding<'_>, running: Minor) {
    let version = version::in_form_of(&deciding.snapshot.control_plane.spec.version, running);
    deciding.status.versions = Some(vec![ReportedVersion {
        version: version.clone(),
    }]);
    deciding.status.version = Some(version);
}

/// The version that Terraform was told.
pub(super) fn rendered_version(seen: &OwnedSeen) -> Option<Minor> {
    let variables = seen.wta.spec.variables.as_ref()?;
    Version::from(variables.get("kubernetes_version")?.as_str()).minor()
}

/// What is wrong with what the module tells about its version, if it tells anything.
pub(super) fn version_output(deciding: &Deciding<'_>, seen: &OwnedSeen) -> Option<Note> {
    const OUTPUT: &str = "cluster_version";
    let found = match connection::output(deciding.snapshot, seen, OUTPUT) {
        Err(OutputProblem::Missing { .. }) => return None,
        Err(OutputProblem::WrongType { found, .. }) => found,
        Ok(text) if Version::from(text.trim()).minor().is_some() => return None,
        Ok(_) => "no Kubernetes version",
    };
    let message = format!(
        "The module's output {OUTPUT} of the Workspace {} is {found}. Make it the text of a version, such as \"1.31\", or \
         leave it out; until then the version that the module got last is taken to run",
        seen.workspace_name()
    );
    Some(Note::new(Reason::OutputInvalid, seen.naming_template(&message)))
}

/// That it was AWS cannot be told any more once the module got that version.
fn remember_ahead(deciding: &mut Deciding<'_>, step: &version::Step) {
    let before = metadata::annotation(&deciding.snapshot.control_plane.metadata, marks::VERSION_AHEAD);
    let now = (step.verdict == version::Verdict::Ahead).then(|| step.variable.to_string());
    if now.as_deref() != before {
        let mark = marks::VERSION_AHEAD.to_owned();
        deciding.own.annotations.insert(mark, now);
    }
}

/// The command by which the runner compares the status of the Workspace with the state.
fn look_again(deciding: &Deciding<'_>) -> String {
    let metadata = ObjectMeta {
        name: deciding
            .found
            .usable()
            .map(|seen| seen.workspace_name().to_owned()),
        namespace: deciding.snapshot.control_plane.metadata.namespace.clone(),
        ..ObjectMeta::default()
    };
    commands::capt("retry workspace", &metadata, "")
}

fn version_note(deciding: &Deciding<'_>, wanted: &Version, step: &version::Step) -> Option<Note> {
    let running = step.variable;
    match step.verdict {
        version::Verdict::Fine | version::Verdict::Walking => None,
        version::Verdict::TooLow => Some(Note::new(
            Reason::VersionTooLow,
            format!(
                "spec.version {wanted} is below {running}, which runs, and EKS cannot go back. Write {running} again, or more"
            ),
        )),
        version::Verdict::TooLate => Some(Note::new(
            Reason::VersionTooLow,
            format!(
                "spec.version {wanted} is below {running}, which Terraform is going to, and EKS cannot be stopped on its way \
                 there nor go back. Write {running} again, or more"
            ),
        )),
        version::Verdict::Ahead => Some(Note::new(
            Reason::VersionAhead,
            format!(
                "AWS upgraded the cluster to {running}, and spec.version still says {wanted}. Write {running}, or more"
            ),
        )),
        version::Verdict::Doubtful(told) => Some(Note::new(
            Reason::VersionAhead,
            format!(
                "The status of the Workspace says that {told} runs, and Terraform was told {running}. Either the connection Secret \
                 says something else, or it is more than the one version that EKS goes up at a time, so that nothing is \
                 changed because of that. If {told} runs, write spec.version {told}, or more; if not, let Terraform look \
                 again: {}",
                look_again(deciding)
            ),
        )),
        version::Verdict::NotReached(told) => {
            let again = commands::capt(
                "retry captcontrolplane",
                &deciding.snapshot.control_plane.metadata,
                "",
            );
            let applied = step.variable;
            Some(Note::new(
                Reason::VersionNotReached,
                format!(
                    "Terraform applied the variable kubernetes_version {applied}, and the module's output cluster_version \
                     still says {told}, so that nothing goes on to {wanted}. Let the module give the variable to the cluster \
                     and read the output from it, or leave the output out; then ask for another try: {again}. Or write \
                     spec.version {told} again"
                ),
            ))
        }
    }
}

/// Says which version is on the way, where there is one, and what the runner is about to do to a cluster that serves.
pub(super) fn name_versions(deciding: &Deciding<'_>, reading: &mut Reading) {
    let Some(seen) = deciding.found.usable() else {
        return;
    };
    if let Eks::AwaitsPerson(note) = &mut reading.eks
        && note.reason == Reason::Paused
        && let Some(words) = way_to_go(deciding, seen)
    {
        note.message = note.message.replacen(" waits,", &format!(" waits ({words}),"), 1);
    }
    let Eks::Building(note) = &mut reading.eks else {
        return;
    };
    let plan = seen.run.as_ref().and_then(|run| run.plan.as_ref());
    let plan = plan
        .filter(|_| deciding.was_initialized())
        .map(|plan| format!("plan {}: {}", plan.id, plan.summary));
    for words in way_to_go(deciding, seen).into_iter().chain(plan) {
        note.message = format!("{}; {words}", note.message);
    }
}

/// The versions that are gone through.
fn way_to_go(deciding: &Deciding<'_>, seen: &OwnedSeen) -> Option<String> {
    let wanted = deciding.snapshot.control_plane.spec.version.minor()?;
    let going = version::next(&known_versions(deciding, wanted)).variable;
    match running_version(deciding, seen) {
        Some(running) if running < going => {
            Some(format!("upgrading {}", version::way(running, going.max(wanted))))
        }
        _ if going < wanted => Some(format!("going {}", version::way(going, wanted))),
        _ => None,
    }
}
