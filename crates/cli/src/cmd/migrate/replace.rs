//! Replacing the CRD of templates by ours.
//!
//! Both have the same name, and the kind of a CRD cannot be changed, so that the old one has to go before ours can come,
//! and its objects go with it. Therefore nothing is removed before every object is in a file and was accepted, for
//! trial, by a CRD with our schema.

use std::{collections::BTreeMap, fs::File, io::Write as _, path::Path, time::Duration};

use anyhow::Context as _;
use capt_api::CAPTControlPlaneTemplate;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
    core::{ApiResource, GroupVersionKind, ObjectMeta, TypeMeta},
    runtime::{
        conditions::{is_crd_established, is_deleted},
        wait::await_condition,
    },
};

use tokio::time::Instant;

use super::read::{OldCrd, TEMPLATE_CRD, TEMPLATE_KIND, objects_of};
use crate::objects::{CallError, call, call_opt};

/// How long a CRD may take to come or to go.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait before a kind that is not known yet is tried again.
const A_MOMENT: Duration = Duration::from_millis(500);
/// The group of the CRD for trials.
const TRIAL_GROUP: &str = "trial.controlplane.cluster.x-k8s.io";
const FIELD_MANAGER: &str = "capt-cli";
/// What kubectl remembers about an object in the words of the old kind.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Why the CRD was not replaced. Nothing was changed, unless it says otherwise.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplaceError {
    /// There is no file to keep the objects in.
    #[error("there are {0} objects of the old CRD; name a file to keep them in: capt migrate --backup FILE")]
    NoBackup(usize),
    /// Something holds an object.
    #[error("{0} has finalizers or is being deleted, so that it cannot be replaced now; nothing was changed")]
    Held(String),
    /// Our schema does not take an object.
    #[error("capt's schema does not accept {object}: {problem}. Change it first; nothing was changed")]
    NotAccepted {
        /// Which.
        object: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Somebody wrote meanwhile.
    #[error("somebody changed the objects meanwhile; nothing was changed, try again")]
    Changed,
    /// It takes too long to come or to go.
    #[error("the CRD {0} took too long to come or to go; objects that are gone are in the file, see above")]
    TooLong(String),
    /// Some objects are not back.
    #[error("{0} could not be put back; it is safe in the file, see above how to put it back")]
    NotBack(String),
}

/// Replaces the CRD, and says what was done.
pub(super) async fn replace(client: &Client, old: &OldCrd, backup: Option<&Path>) -> anyhow::Result<String> {
    let objects = old.objects.iter().map(rewritten).collect::<Result<Vec<_>, _>>()?;
    if !objects.is_empty() {
        let backup = backup.ok_or(ReplaceError::NoBackup(objects.len()))?;
        try_out(client, &objects).await?;
        keep(backup, &objects).with_context(|| format!("cannot keep the objects in {}", backup.display()))?;
        eprintln!(
            "The objects are in {}. If this is interrupted, put them back by: capt manifests crds | kubectl apply \
             --server-side -f - && kubectl apply -f {}",
            backup.display(),
            backup.display()
        );
    }
    let now = objects_of(client, &old.crd).await?;
    if versions(&now) != versions(&old.objects) {
        return Err(ReplaceError::Changed.into());
    }
    remove(client, &old.crd, old.crd.resource_version()).await?;
    install(client, ours()?).await?;
    let gvk = GroupVersionKind::gvk("controlplane.cluster.x-k8s.io", "v1beta1", TEMPLATE_KIND);
    for object in &objects {
        let api = api(client, &gvk, object);
        let put_back = create(&api, &PostParams::default(), object).await;
        if let Err(error) = put_back {
            let found = call_opt(api.get(&object.name_any())).await?;
            if found.is_none_or(|found| found.data["spec"] != object.data["spec"]) {
                return Err(anyhow::Error::from(error).context(ReplaceError::NotBack(place(object))));
            }
        }
    }
    Ok(format!(
        "The CRD of {} is replaced by that of {TEMPLATE_KIND}, with {} objects.\n",
        old.kind(),
        objects.len()
    ))
}

/// An object as ours: what people wrote, and nothing that a server did.
fn rewritten(object: &DynamicObject) -> Result<DynamicObject, ReplaceError> {
    let metadata = &object.metadata;
    if metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty())
        || metadata.deletion_timestamp.is_some()
    {
        return Err(ReplaceError::Held(place(object)));
    }
    let annotations: Option<BTreeMap<String, String>> =
        metadata.annotations.clone().map(|mut annotations| {
            annotations.remove(LAST_APPLIED);
            annotations
        });
    let new = DynamicObject {
        types: Some(TypeMeta {
            api_version: "controlplane.cluster.x-k8s.io/v1beta1".to_owned(),
            kind: TEMPLATE_KIND.to_owned(),
        }),
        metadata: ObjectMeta {
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            labels: metadata.labels.clone(),
            annotations: annotations.filter(|annotations| !annotations.is_empty()),
            owner_references: metadata.owner_references.clone(),
            ..ObjectMeta::default()
        },
        data: serde_json::json!({"spec": object.data["spec"]}),
    };
    let not_accepted = |error: serde_json::Error| ReplaceError::NotAccepted {
        object: place(object),
        problem: error.to_string(),
    };
    let value = serde_json::to_value(&new).map_err(not_accepted)?;
    serde_json::from_value::<CAPTControlPlaneTemplate>(value).map_err(not_accepted)?;
    Ok(new)
}

/// Has every object accepted by a CRD with our schema, without making any of them.
async fn try_out(client: &Client, objects: &[DynamicObject]) -> anyhow::Result<()> {
    let mut trial = ours()?;
    trial.metadata.name = Some(format!("{}.{TRIAL_GROUP}", trial.spec.names.plural));
    trial.metadata.labels = None;
    trial.spec.group = TRIAL_GROUP.to_owned();
    trial.spec.names.short_names = None;
    trial.spec.names.categories = None;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = trial.name_any();
    let accepted = async {
        install(client, trial).await?;
        let gvk = GroupVersionKind::gvk(TRIAL_GROUP, "v1beta1", TEMPLATE_KIND);
        for object in objects {
            let mut object = object.clone();
            object.types = Some(TypeMeta {
                api_version: format!("{TRIAL_GROUP}/v1beta1"),
                kind: TEMPLATE_KIND.to_owned(),
            });
            object.metadata.owner_references = None;
            let api = api(client, &gvk, &object);
            let params = PostParams {
                dry_run: true,
                ..PostParams::default()
            };
            match create(&api, &params, &object).await {
                Ok(_) => {}
                Err(CallError::Refused(problem) | CallError::Forbidden(problem)) => {
                    let object = place(&object);
                    return Err(ReplaceError::NotAccepted { object, problem }.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        anyhow::Ok(())
    }
    .await;
    // Whatever came of it, nothing of the trial stays.
    if let Some(trial) = call_opt(crds.get(&name)).await? {
        remove(client, &trial, None).await?;
    }
    accepted
}

/// Creates an object. An API server may need a moment more until it knows a kind that it calls established.
async fn create(
    api: &Api<DynamicObject>,
    params: &PostParams,
    object: &DynamicObject,
) -> Result<DynamicObject, CallError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match call_opt(api.create(params, object)).await? {
            Some(created) => return Ok(created),
            None if Instant::now() < end => tokio::time::sleep(A_MOMENT).await,
            None => return call(api.create(params, object)).await,
        }
    }
}

/// Writes the objects to a file that was not there before, and sees to it that they stay there.
fn keep(path: &Path, objects: &[DynamicObject]) -> anyhow::Result<()> {
    let documents = objects
        .iter()
        .map(serde_saphyr::to_string)
        .collect::<Result<Vec<_>, _>>()?;
    let mut file = File::create_new(path)?;
    file.write_all(documents.join("---\n").as_bytes())?;
    file.sync_all()?;
    Ok(())
}

/// Removes a CRD, if it still is the one that was read, and waits until it is gone.
async fn remove(
    client: &Client,
    crd: &CustomResourceDefinition,
    read_at: Option<String>,
) -> anyhow::Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let uid = crd.uid().unwrap_or_default();
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(uid.clone()),
            resource_version: read_at,
        }),
        ..DeleteParams::default()
    };
    let name = crd.name_any();
    call(crds.delete(&name, &params)).await?;
    let gone = await_condition(crds, &name, is_deleted(&uid));
    match tokio::time::timeout(PATIENCE, gone).await {
        Ok(gone) => gone.map(drop).context("cannot see whether the old CRD is gone"),
        Err(_) => Err(ReplaceError::TooLong(name).into()),
    }
}

/// Installs a CRD, and waits until it can be used.
async fn install(client: &Client, crd: CustomResourceDefinition) -> anyhow::Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = crd.name_any();
    let params = PatchParams::apply(FIELD_MANAGER).force();
    call(crds.patch(&name, &params, &Patch::Apply(crd))).await?;
    let established = await_condition(crds, &name, is_crd_established());
    match tokio::time::timeout(PATIENCE, established).await {
        Ok(established) => established
            .map(drop)
            .context("cannot see whether the new CRD is there"),
        Err(_) => Err(ReplaceError::TooLong(name).into()),
    }
}

fn ours() -> anyhow::Result<CustomResourceDefinition> {
    let mut all = capt_api::crds().into_iter();
    let ours = all.find(|crd| crd.name_any() == TEMPLATE_CRD);
    ours.context("this build of capt has no CRD for templates of control planes")
}

fn api(client: &Client, gvk: &GroupVersionKind, object: &DynamicObject) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk_with_plural(gvk, "captcontrolplanetemplates");
    let namespace = object.namespace().unwrap_or_default();
    Api::namespaced_with(client.clone(), &namespace, &resource)
}

/// What tells whether objects were changed.
fn versions(objects: &[DynamicObject]) -> BTreeMap<String, Option<String>> {
    let versions = objects
        .iter()
        .map(|object| (place(object), object.resource_version()));
    versions.collect()
}

fn place(object: &DynamicObject) -> String {
    let namespace = object.namespace().unwrap_or_default();
    format!("captcontrolplanetemplate/{} in {namespace}", object.name_any())
}
