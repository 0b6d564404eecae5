//! What is done for a CAPTControlPlane that lives, is not paused and belongs to a Cluster.

use capt_api::{
    conditions::captcontrolplane::CAPTControlPlaneReason as Reason, endpoint::ApiEndpoint,
    foreign::marks as foreign_marks, region::Region, workspacestatus::WorkspaceTemplateStatus,
};
use serde_json::json;

use super::{
    advancing, clock, connection,
    deciding::{Deciding, event},
    eks::{self, Reading},
    endpoint,
    fargate::{
        self,
        ground::{self, Lack},
    },
    judging::{self, Answer, Eks, Facts, Note, Profiles, Recovery, Setup},
    making,
    setup::{self, Names, Surroundings},
    snapshot::{ClusterSeen, InfrastructureSeen, LeftAlone, Snapshot},
    taking, validity, view, vpc,
};
use crate::{
    captcluster::facts::PRIVATE_SUBNETS,
    decision::EventKind,
    owned::{self, OwnedSeen},
};

/// Decides about a control plane of this Cluster.
pub(super) fn decide(deciding: &mut Deciding<'_>, cluster: &ClusterSeen) {
    let snapshot = deciding.snapshot;
    let was_initialized = deciding.was_initialized();
    let valid = validity::check(snapshot, cluster, &deciding.found);
    let seen = deciding.found.usable();
    let infrastructure = infrastructure(deciding, cluster, seen);
    let mut impairments = Vec::new();
    let mut is_written = false;
    let mut held_back = None;
    if let (Ok(valid), Ok(())) = (&valid, &infrastructure) {
        let made = making::make(deciding, cluster, valid);
        is_written = made.is_written;
        held_back = made.held_back;
        impairments.extend(made.impairments);
    } else {
        deciding.keep_retry_for(seen, deciding.was_unwell());
    }
    let told = real_revision(deciding);
    let mut reading = eks::read(deciding.found.name(), seen, is_written, told.as_deref());
    making::name_versions(deciding, &mut reading);
    // What a person is waited for comes first: it is what the whole is called, and by that it is known afterwards.
    let (place, impairment) = match &reading.impairment {
        Some(note) if note.reason == Reason::WaitingForApproval => (0, Some(note)),
        other => (impairments.len(), other.as_ref()),
    };
    impairments.splice(place..place, impairment.cloned());
    impairments.extend(infrastructure_impairment(deciding));
    impairments.extend(seen.and_then(|seen| making::version_output(deciding, seen)));
    let around = surroundings(deciding, cluster, seen, &reading, was_initialized);
    match (&around, seen) {
        (Some(around), _) => publish(deciding, cluster, around, &mut impairments),
        (None, Some(seen)) if matches!(reading.eks, Eks::Building(_)) => prepare(deciding, cluster, seen),
        (None, _) => {}
    }
    report(deciding, seen);
    let ground = match &valid {
        Ok(valid) => ground::look(snapshot, seen, Some(valid.region.as_str())),
        Err(_) => Err(Lack::Cluster),
    };
    let parts = fargate::make(deciding, &ground);
    let restarts = restarts(deciding, is_written);
    let mut facts = Facts {
        was_initialized,
        infrastructure,
        problem: valid.err(),
        eks: reading.eks,
        setup: around.as_ref().map_or_else(
            || Setup::Outstanding(Note::new(Reason::EndpointNotReady, "EKS is not up yet")),
            |around| around.setup.clone(),
        ),
        answer: around
            .as_ref()
            .map_or(Answer::Unknown, |around| around.answer.clone()),
        profiles: Profiles::default(),
        recovery: Recovery::default(),
        impairments,
        expired: None,
        remark: reading
            .remark
            .or_else(|| kept_subnets(snapshot, seen?))
            .or_else(|| {
                let message = format!("The control plane serves. {}", held_back?);
                Some(Note::new(Reason::Ready, message))
            }),
    };
    clock::judge(deciding, &mut facts, seen, restarts);
    let mut late = fargate::late(&parts);
    if facts.expired.is_some() || seen.is_some_and(|seen| !is_written && eks::is_unwell(seen)) {
        late.push(deciding.found.name().to_owned());
    }
    let turns = taking::hand_out(deciding, &late, &fargate::unwanted_names(&parts));
    let is_queued = seen.is_some_and(|seen| !is_written && eks::waits_for_turn(seen));
    if let Eks::Building(note) = &mut facts.eks
        && is_queued
        && turns.queue.iter().any(|name| name == deciding.found.name())
    {
        note.message = turns.place(deciding.found.name());
    }
    facts.profiles = fargate::tell(deciding, &parts, &turns);
    let verdict = judging::judge(&facts);
    advancing::advance(deciding, &facts, seen, restarts, &verdict.note.message);
    // What was said of one that served counts until somebody can look again.
    if around.is_some() || !was_initialized {
        deciding.say(view::endpoint(&facts.answer));
        deciding.say(view::kubeconfig(&around.map_or_else(
            || Err(Note::new(Reason::WorkspaceNotReady, "EKS is not up yet")),
            |around| around.kubeconfig,
        )));
    }
    deciding.arrive(&verdict, &facts.answer);
}

/// Hash of the rendering that is real, as it was told last.
fn real_revision(deciding: &Deciding<'_>) -> Option<String> {
    let told = deciding.status.workspace_template_status.as_ref();
    told.and_then(|told| told.last_applied_revision.clone())
}

/// Whether time is to begin anew: a person asked for another try, or changed the spec of something that is not well. An
/// operation that waits for an approval goes on, whatever is made of it.
fn restarts(deciding: &mut Deciding<'_>, is_written: bool) -> bool {
    let generation = deciding.snapshot.control_plane.metadata.generation;
    let is_changed = deciding.status.observed_generation != generation;
    let is_asked_for = deciding.answer_retry() || (deciding.retry().is_some() && is_written);
    deciding.was_unwell() && !deciding.waited_for_person() && (is_asked_for || is_changed)
}

/// Whether the infrastructure was ready once; else what is waited for.
fn infrastructure(
    deciding: &Deciding<'_>,
    cluster: &ClusterSeen,
    seen: Option<&OwnedSeen>,
) -> Result<(), Note> {
    if deciding.was_initialized() || seen.is_some_and(OwnedSeen::has_workspace) {
        return Ok(());
    }
    let infrastructure = deciding.snapshot.infrastructure.as_ref();
    // Whoever owns a network may delete it, so that nothing of another Cluster is made in it.
    if let Some((name, other)) = infrastructure
        .and_then(|infrastructure| Some((&infrastructure.name, infrastructure.cluster.as_ref()?)))
        .filter(|(_, other)| **other != cluster.name)
    {
        let message = format!(
            "Waiting for a network: the CAPTCluster {name} belongs to the Cluster {other}. Name another one in \
             spec.infrastructureRef of the Cluster {}",
            cluster.name
        );
        return Err(Note::new(Reason::WaitingForVpc, message));
    }
    let seen_ready = infrastructure.is_some_and(|infrastructure| infrastructure.provisioned);
    if cluster.infrastructure_provisioned || seen_ready || cluster.infrastructure_ref.is_none() {
        return Ok(());
    }
    let message = match infrastructure {
        Some(infrastructure) => awaited(infrastructure, deciding.owner.namespace),
        None => nowhere(cluster),
    };
    Err(Note::new(Reason::WaitingForVpc, message))
}

/// That a CAPTCluster is not provisioned yet, and why not, as far as it is known.
fn awaited(infrastructure: &InfrastructureSeen, namespace: &str) -> String {
    let name = &infrastructure.name;
    let waiting = format!("Waiting for the CAPTCluster {name}");
    match infrastructure.left_alone {
        Some(LeftAlone::ExternallyManaged) => format!(
            "{waiting}, which somebody else manages ({}): whoever that is has to set \
             status.initialization.provisioned",
            foreign_marks::MANAGED_BY
        ),
        Some(LeftAlone::Deleted) => format!(
            "{waiting}, which is being deleted and goes when this control plane is gone. Delete the Cluster, and make it anew"
        ),
        Some(LeftAlone::Paused) => format!(
            "{waiting}, which is paused. To end the pause: {}",
            infrastructure.unpause_command(Some(namespace))
        ),
        None if infrastructure.message.is_empty() => waiting,
        None => format!("{waiting}: {}", infrastructure.message),
    }
}

/// That there is no CAPTCluster where the Cluster refers to. Other kinds are not looked at.
fn nowhere(cluster: &ClusterSeen) -> String {
    let name = &cluster.name;
    match &cluster.infrastructure_ref {
        Some((kind, missing)) if kind == "CAPTCluster" => format!(
            "Waiting for the CAPTCluster {missing}, which does not exist. Make it, or mend spec.infrastructureRef of the \
             Cluster {name}"
        ),
        Some((kind, other)) => format!(
            "Waiting for the {kind} {other}: the Cluster {name} does not say yet that its infrastructure is provisioned"
        ),
        None => "Waiting for the infrastructure that the Cluster refers to".to_owned(),
    }
}

fn infrastructure_impairment(deciding: &Deciding<'_>) -> Option<Note> {
    let infrastructure = deciding.snapshot.infrastructure.as_ref()?;
    (infrastructure.provisioned && !infrastructure.ready).then(|| {
        let message = format!(
            "The CAPTCluster {} is not ready any more: {}",
            infrastructure.name, infrastructure.message
        );
        Note::new(Reason::WaitingForVpc, message)
    })
}

/// That a cluster stays in subnets which the network, that was there before, does not name any more, if its template cannot
/// do without.
fn kept_subnets(snapshot: &Snapshot, seen: &OwnedSeen) -> Option<Note> {
    let infrastructure = snapshot
        .infrastructure
        .as_ref()
        .filter(|seen| seen.existed_before)?;
    let told = vpc::read(snapshot.vpc_secret.as_ref()?).ok()?;
    let variables = seen.wta.spec.variables.as_ref()?;
    let kept = variables.get(PRIVATE_SUBNETS)?;
    if told.private_subnets.is_some() || !validity::needs(snapshot, &[PRIVATE_SUBNETS]) {
        return None;
    }
    let message = format!(
        "The control plane serves, and stays in the subnets {kept}, which the CAPTCluster {} does not name any more: write \
         them to its spec.existingSubnetIds again, or others",
        infrastructure.name
    );
    Some(Note::new(Reason::Ready, message))
}

/// What is around the EKS cluster, if that is up or was.
fn surroundings(
    deciding: &mut Deciding<'_>,
    cluster: &ClusterSeen,
    seen: Option<&OwnedSeen>,
    reading: &Reading,
    was_initialized: bool,
) -> Option<Surroundings> {
    let seen = seen?;
    if reading.eks != Eks::Up && !was_initialized && !eks::is_there(seen) {
        return None;
    }
    let around = look_around(deciding, cluster, seen, was_initialized);
    deciding.look_again(around.look_again);
    Some(around)
}

/// Looks at what is around the EKS cluster.
fn look_around(
    deciding: &Deciding<'_>,
    cluster: &ClusterSeen,
    seen: &OwnedSeen,
    was_initialized: bool,
) -> Surroundings {
    let region = validity::region(deciding.snapshot, Some(seen)).ok();
    let names = Names {
        cluster: &cluster.name,
        in_aws: name_in_aws(deciding, cluster, seen),
        region: region.as_ref().map(Region::as_str),
    };
    setup::look(
        deciding.snapshot,
        &deciding.owner,
        &names,
        seen,
        was_initialized,
        deciding.now,
    )
}

/// Writes what lets others in as soon as the outputs of a first creation are there, so that nothing but the status is left
/// to write when the Workspace is ready. Nothing is said of it before.
fn prepare(deciding: &mut Deciding<'_>, cluster: &ClusterSeen, seen: &OwnedSeen) {
    if !connection::is_of_this_workspace(deciding.snapshot, seen) {
        return;
    }
    deciding.is_prepared = true;
    let around = look_around(deciding, cluster, seen, false);
    deciding.children.extend(around.secrets);
    let told = &deciding.snapshot.control_plane.spec.control_plane_endpoint;
    if let (Some(endpoint), None) = (around.endpoint, told) {
        deciding
            .own
            .spec
            .insert("controlPlaneEndpoint".to_owned(), json!(endpoint));
    }
}

/// What the cluster is called in AWS.
pub(super) fn name_in_aws<'a>(
    deciding: &Deciding<'a>,
    cluster: &'a ClusterSeen,
    seen: &'a OwnedSeen,
) -> &'a str {
    let variables = seen.wta.spec.variables.as_ref();
    let told = variables.and_then(|variables| variables.get("cluster_name"));
    connection::output(deciding.snapshot, seen, "cluster_name")
        .unwrap_or_else(|_| told.map_or(cluster.name.as_str(), String::as_str))
}

/// Tells others where the API server answers, and lets them in.
fn publish(
    deciding: &mut Deciding<'_>,
    cluster: &ClusterSeen,
    around: &Surroundings,
    impairments: &mut Vec<Note>,
) {
    let mut lost = setup::deleted(deciding.snapshot, &deciding.status, &cluster.name, around);
    for secret in &around.secrets {
        let mut secret = secret.clone();
        let name = &secret.target.name;
        if let Some(index) = lost.iter().position(|lost| lost == name) {
            let message = format!("The Secret {name} was deleted, and is written again");
            secret.loss = Some(event(EventKind::Warning, Reason::SecretRestored, &message));
            lost.swap_remove(index);
        }
        deciding.children.push(secret);
    }
    for name in lost {
        let message =
            format!("The Secret {name} was deleted, and is written again when what it says is known");
        deciding.tell(EventKind::Warning, Reason::SecretError, &message);
    }
    impairments.extend(around.impairments.iter().cloned());
    let Some(new) = &around.endpoint else { return };
    deciding.status.endpoint = Some(endpoint::display(new));
    let old = deciding
        .snapshot
        .control_plane
        .spec
        .control_plane_endpoint
        .as_ref();
    if old != Some(new) {
        deciding
            .own
            .spec
            .insert("controlPlaneEndpoint".to_owned(), json!(new));
        if let Some(old) = old
            .and_then(endpoint::stored)
            .filter(|old| !endpoint::is_same(old, new))
        {
            let message = format!(
                "The endpoint changed from {} to {}",
                endpoint::display(&old),
                endpoint::display(new)
            );
            deciding.tell(EventKind::Warning, Reason::EndpointChanged, &message);
        }
    }
    impairments.extend(copy_of_endpoint(cluster, new, &around.answer));
}

/// What is wrong with the endpoint that the Cluster has: Cluster API copies it once and never again.
fn copy_of_endpoint(cluster: &ClusterSeen, new: &ApiEndpoint, answer: &Answer) -> Option<Note> {
    let copied = cluster
        .endpoint
        .as_ref()
        .filter(|copied| !endpoint::is_same(copied, new))?;
    let name = &cluster.name;
    let meant = endpoint::stored(copied);
    let message = if meant.as_ref().is_some_and(|meant| endpoint::is_same(meant, new)) {
        format!(
            "spec.controlPlaneEndpoint of the Cluster {name} has the host {}, which is none, as the Go implementation wrote \
             it. Write the host {} and the port {}, or let `capt migrate` do that",
            copied.host, new.host, new.port
        )
    } else {
        let when = match answer {
            Answer::Yes | Answer::NotChecked => "",
            Answer::Unknown | Answer::Silent(_) | Answer::Dead(_) => " when it answers there",
        };
        format!(
            "The Cluster still says {}, and the API server is told to be at {}. Change spec.controlPlaneEndpoint of the \
             Cluster {name}{when}",
            endpoint::display(meant.as_ref().unwrap_or(copied)),
            endpoint::display(new),
        )
    };
    Some(Note::new(Reason::EndpointChanged, message))
}

/// What is told about the Workspace and the version.
fn report(deciding: &mut Deciding<'_>, seen: Option<&OwnedSeen>) {
    let Some(seen) = seen.filter(|seen| seen.wta.status.is_some()) else {
        return;
    };
    let before = deciding.status.workspace_template_status.take();
    let report = owned::report(seen, before.as_ref());
    // A status is not worth writing to say that nothing is known yet.
    let is_news = before.is_some() || report != WorkspaceTemplateStatus::default();
    deciding.status.workspace_template_status = is_news.then_some(report);
    // What a cluster runs counts when it is there.
    let told = making::certain_version(deciding, seen)
        .filter(|_| eks::is_there(seen) || deciding.status.version.is_some());
    // A module that does not tell is believed when it is done.
    let rendered = making::rendered_version(seen)
        .filter(|_| making::running_version(deciding, seen).is_none() && seen.holds() && !seen.is_change());
    if let Some(running) = told.or(rendered) {
        making::tell_version(deciding, running);
    }
}
