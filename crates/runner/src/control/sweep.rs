//! What is left on this machine of Workspaces that are gone, or somebody else's by now.
//!
//! It goes when everything that counts in it is kept elsewhere: in Secrets, or in a backend of the user's. Anything else
//! stays and is told about, because it may be the only record of what exists.

use std::{collections::HashSet, sync::Arc, time::Duration};

use capt_api::foreign::{ClusterWorkspace, Workspace};
use capt_core::tenancy::NamespaceSet;
use capt_terraform::state::{LABEL_STATE, LABEL_SUFFIX, LABEL_WORKSPACE, Location, State};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Resource, ResourceExt as _, api::ListParams, core::PartialObjectMeta};
use serde::de::DeserializeOwned;

use super::watches::within;
use crate::{
    Options,
    api::{CallError, patiently, words},
    context::Context,
    engine::{Engine, Remains},
    ownership::{cluster_scoped_workspaces, namespaced_workspaces},
    store::Place,
};

/// How long one list is tried.
const PATIENCE: Duration = Duration::from_secs(15);

/// Removes what is left of Workspaces that are not there any more. `known` are uids of some that are there, and of what
/// was left alone before. Returns the uids of what is left alone now.
pub(crate) async fn sweep(ctx: Arc<Context>, known: HashSet<String>) -> HashSet<String> {
    let mut left = HashSet::new();
    let Ok(engine) = ctx.options.engines.for_workspace(false) else {
        return left;
    };
    let remains = match engine.remains(&known).await {
        Ok(remains) => remains,
        Err(error) => {
            tracing::warn!(%error, "it cannot be told what is left of Workspaces that are gone");
            return left;
        }
    };
    if remains.is_empty() {
        return left;
    }
    // Watches may be behind, and what is removed is gone.
    let living = match living(&ctx).await {
        Ok(living) => living,
        Err(error) => {
            tracing::warn!(
                error = words(&error),
                "what is left of Workspaces that are gone is not removed yet"
            );
            return left;
        }
    };
    for one in remains.into_iter().filter(|one| !living.contains(&one.uid)) {
        if !clear(&ctx, engine.as_ref(), &one).await {
            left.insert(one.uid);
        }
    }
    left
}

/// Removes what is left of one Workspace, if nothing gets lost. Says whether it is gone.
async fn clear(ctx: &Context, engine: &dyn Engine, remains: &Remains) -> bool {
    let uid = &remains.uid;
    if let Some(reason) = keep_why(ctx, remains).await {
        tracing::warn!(
            uid,
            reason,
            "the working folder of a Workspace that is not ours any more stays: look at it, then remove it by hand"
        );
        return false;
    }
    let is_gone = engine.forget_idle(uid).await;
    if is_gone {
        tracing::info!(
            uid,
            "removed the working folder of a Workspace that is not ours any more"
        );
    }
    is_gone
}

/// Why something in it may be nowhere else.
async fn keep_why(ctx: &Context, remains: &Remains) -> Option<String> {
    if let Some(reason) = &remains.unsettled {
        return Some(reason.clone());
    }
    for (workspace, file) in &remains.states {
        let Ok(state) = State::parse(file) else {
            return Some("it has a state that cannot be read".to_owned());
        };
        // What lists nothing is no loss.
        if state.is_empty() {
            continue;
        }
        match kept(ctx, workspace).await {
            Ok(kept) if kept.iter().any(|kept| is_as_new(kept, &state)) => {}
            Ok(_) => return Some("it has a state that is in no Secret".to_owned()),
            Err(error) => return Some(format!("it cannot be told whether its state is kept: {error}")),
        }
    }
    None
}

fn is_as_new(kept: &State, state: &State) -> bool {
    kept.lineage == state.lineage && kept.serial >= state.serial
}

/// The states that are kept for a Terraform workspace, in whatever namespace of the runner's.
async fn kept(ctx: &Context, workspace: &str) -> Result<Vec<State>, String> {
    let (label, value) = LABEL_STATE;
    let chosen = ListParams::default().labels(&format!("{label}={value},{LABEL_WORKSPACE}={workspace}"));
    let place = |secret: &PartialObjectMeta<Secret>| {
        let suffix = secret.labels().get(LABEL_SUFFIX)?;
        Some(Place {
            namespace: secret.namespace()?,
            location: Location::new(workspace, suffix).ok()?,
            labels: [].into(),
        })
    };
    let mut places = HashSet::new();
    for scope in ctx.options.namespaces.scopes() {
        let api: Api<Secret> = within(&ctx.client, &scope);
        let found = patiently(PATIENCE, || api.list_metadata(&chosen)).await;
        let found = found.map_err(|error| words(&error))?;
        places.extend(found.iter().filter_map(place));
    }
    let mut states = Vec::new();
    for place in places {
        let kept = ctx.store.read(&place).await.map_err(|error| words(&error))?;
        states.extend(kept.replica.and_then(|file| State::parse(&file).ok()));
    }
    Ok(states)
}

/// uids of all Workspaces that this runner acts on.
async fn living(ctx: &Context) -> Result<HashSet<String>, CallError> {
    let Options {
        which, namespaces, ..
    } = &ctx.options;
    let mut uids = HashSet::new();
    for scope in namespaces.scopes() {
        let api: Api<Workspace> = within(&ctx.client, &scope);
        uids.extend(living_of(&api, &namespaced_workspaces(which)).await?);
    }
    if let Some(chosen) = cluster_scoped_workspaces(which, namespaces) {
        let api: Api<ClusterWorkspace> = Api::all(ctx.client.clone());
        match living_of(&api, &chosen).await {
            Ok(found) => uids.extend(found),
            // With Roles alone it can act on none of them.
            Err(error) if error.is_forbidden() && *namespaces != NamespaceSet::All => {}
            Err(error) => return Err(error),
        }
    }
    Ok(uids)
}

async fn living_of<K>(api: &Api<K>, chosen: &[String]) -> Result<HashSet<String>, CallError>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let chosen = ListParams::default().labels(&chosen.join(","));
    match patiently(PATIENCE, || api.list_metadata(&chosen)).await {
        Ok(found) => Ok(found.iter().filter_map(|one| one.uid()).collect()),
        // There are none of a kind that is not defined.
        Err(error) if error.is_not_found() => Ok(HashSet::new()),
        Err(error) => Err(error),
    }
}
