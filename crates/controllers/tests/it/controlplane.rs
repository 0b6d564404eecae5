//! Hands for what a user does with control planes, the EKS clusters that the played runner makes, and their API servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate,
    captcontrolplane::{CAPTControlPlaneStatus, ControlPlanePhase as Phase, ControlPlaneState as State},
    conditions::find_condition,
    endpoint::ApiEndpoint,
    foreign::Cluster,
};
use capt_controllers::{Credentials, Endpoints, OwnCredentials};
use capt_core::controlplane::snapshot::Silence;
use capt_testkit::{Process, World};
use futures::{StreamExt as _, future::BoxFuture};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::DeleteParams,
    runtime::{WatchStreamExt as _, watcher},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    network::{cluster, existing_network, made_network},
    stage::User,
};

pub(crate) const CA: &str = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
pub(crate) const KUBECONFIG: &str = "apiVersion: v1\nclusters: []\nusers: []\n";

/// What is outside of the API in a world: API servers, which answer unless they are told not to, and the credentials of
/// the process itself, of which there are none unless it is given some.
#[derive(Clone, Default)]
pub(crate) struct Elsewhere(Arc<Mutex<Outside>>);

#[derive(Default)]
struct Outside {
    silence: Option<&'static str>,
    asked: Vec<String>,
    keys: Option<Credentials>,
}

impl Elsewhere {
    /// API servers answer no more, or answer again.
    pub(crate) fn silence(&self, why: Option<&'static str>) {
        self.0.lock().silence = why;
    }

    /// The process has credentials, or none.
    pub(crate) fn keys(&self, keys: Option<Credentials>) {
        self.0.lock().keys = keys;
    }

    /// Where was asked last.
    pub(crate) fn asked(&self) -> Option<String> {
        self.0.lock().asked.last().cloned()
    }
}

impl Endpoints for Elsewhere {
    fn ask<'a>(
        &'a self,
        endpoint: &'a ApiEndpoint,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), Silence>> {
        let mut outside = self.0.lock();
        outside.asked.push(format!("{}:{}", endpoint.host, endpoint.port));
        let answer = outside
            .silence
            .map_or(Ok(()), |why| Err(Silence::Nobody(why.to_owned())));
        Box::pin(std::future::ready(answer))
    }
}

impl OwnCredentials for Elsewhere {
    fn find(&self) -> BoxFuture<'_, Result<Credentials, String>> {
        let keys = self.0.lock().keys.clone();
        Box::pin(std::future::ready(
            keys.ok_or_else(|| "there are none".to_owned()),
        ))
    }
}

/// A template of an EKS cluster.
pub(crate) fn eks_template(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"forProvider": {
            "source": "Inline",
            "module": "locals {\n  cluster = \"${cluster_name}\"\n  version = \"${kubernetes_version}\"\n  vpc = \
                       \"${vpc_id}\"\n}\n",
        }}}},
    })
}

/// A control plane made from the template `eks`.
pub(crate) fn control_plane(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"version": "1.31", "workspaceTemplateRef": {"name": "eks"}},
    })
}

/// A Cluster with a CAPTCluster and a CAPTControlPlane of the same name.
pub(crate) fn whole_cluster(name: &str) -> Value {
    let mut cluster = cluster(name);
    cluster["spec"]["controlPlaneRef"] = json!({
        "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "CAPTControlPlane", "name": name,
    });
    cluster
}

/// What the module of an EKS cluster says, and what of it is sensitive. `edits` come over it; nulls take away. What is in
/// `hides` is sensitive too.
pub(crate) fn outputs(
    module: &str,
    edits: &BTreeMap<String, Value>,
    hides: &BTreeSet<&str>,
) -> Option<(Value, Value)> {
    let (_, rest) = module.split_once("version = \"")?;
    let (version, _) = rest.split_once('"')?;
    let (_, rest) = module.split_once("cluster = \"")?;
    let (cluster, _) = rest.split_once('"')?;
    let mut plain = json!({
        "cluster_name": cluster,
        "cluster_endpoint": "https://10.0.0.1:6443",
        "cluster_certificate_authority_data": STANDARD.encode(CA),
        "cluster_version": version,
    });
    let mut hidden = json!({"kubeconfig": KUBECONFIG});
    for (name, value) in edits {
        let of = if name == "kubeconfig" {
            &mut hidden
        } else {
            &mut plain
        };
        of[name] = value.clone();
    }
    for name in hides {
        hidden[*name] = plain[*name].take();
    }
    for of in [&mut plain, &mut hidden] {
        of.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    }
    Some((plain, hidden))
}

/// What a user does with control planes.
pub(crate) trait ControlPlaneUser: User {
    /// Everything that a whole cluster needs, in an existing network.
    async fn make_whole_cluster(&self, name: &str, control_plane: Value) {
        let _: WorkspaceTemplate = self.create(eks_template("eks")).await;
        let _: Cluster = self.create(whole_cluster(name)).await;
        let _: CAPTCluster = self.create(existing_network(name)).await;
        let _: CAPTControlPlane = self.create(control_plane).await;
    }

    /// The same, with a network that is made for it.
    async fn make_cluster_with_network(&self, name: &str, control_plane: Value) {
        self.make_template("net").await;
        let _: WorkspaceTemplate = self.create(eks_template("eks")).await;
        let _: Cluster = self.create(whole_cluster(name)).await;
        let _: CAPTCluster = self.create(made_network(name)).await;
        let _: CAPTControlPlane = self.create(control_plane).await;
    }

    async fn plane(&self, name: &str) -> Option<CAPTControlPlane> {
        self.api().get_opt(name).await.unwrap()
    }

    async fn status(&self, name: &str) -> CAPTControlPlaneStatus {
        let plane = self.plane(name).await;
        plane.and_then(|plane| plane.status).unwrap_or_default()
    }

    async fn delete_plane(&self, name: &str) {
        let api: Api<CAPTControlPlane> = self.api();
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    async fn secret(&self, name: &str) -> Option<Secret> {
        self.api().get_opt(name).await.unwrap()
    }

    /// Status and reason of a condition of a CAPTControlPlane.
    async fn plane_says(&self, name: &str, type_: &str) -> String {
        said(&self.status(name).await, type_)
    }

    async fn until_plane_says(&self, name: &str, type_: &str, what: &str) {
        let wait = format!("the control plane {name}: {type_}={what}");
        self.world()
            .until(&wait, async || self.plane_says(name, type_).await == what)
            .await;
    }

    async fn until_state(&self, name: &str, state: State) {
        let wait = format!("the control plane {name} to be {state:?}");
        self.world()
            .until(&wait, async || self.status(name).await.state == Some(state))
            .await;
    }

    async fn until_plane_is_gone(&self, name: &str) {
        self.world()
            .until(&format!("the control plane {name} to be gone"), async || {
                self.plane(name).await.is_none()
            })
            .await;
    }
}

impl<T: User> ControlPlaneUser for T {}

/// Status and reason of a condition.
pub(crate) fn said(status: &CAPTControlPlaneStatus, type_: &str) -> String {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    find_condition(conditions, type_).map_or_else(String::new, |condition| {
        format!("{}/{}", condition.status, condition.reason)
    })
}

/// The text in a Secret under a key.
pub(crate) fn text(secret: &Secret, key: &str) -> String {
    let data = secret.data.as_ref().unwrap();
    String::from_utf8(data[key].0.clone()).unwrap()
}

/// Looks at every version of every control plane, and fails the test if its fields do not tell the same story. Gives the
/// states that were gone through.
pub(crate) fn start_witness(world: &World) -> Arc<Mutex<Vec<State>>> {
    let states: Arc<Mutex<Vec<State>>> = Arc::default();
    let (book, client) = (states.clone(), world.client());
    world.start("witness", move |process: Process| {
        let (book, client) = (book.clone(), client.clone());
        async move {
            let api: Api<CAPTControlPlane> = Api::namespaced(client, &process.namespace);
            let events = watcher(api, watcher::Config::default())
                .default_backoff()
                .applied_objects();
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                let Ok(plane) = event else { continue };
                let Some(status) = plane.status else { continue };
                agree(&status);
                let mut book = book.lock();
                if let Some(state) = status.state
                    && book.last() != Some(&state)
                {
                    book.push(state);
                }
            }
        }
    });
    states
}

fn agree(status: &CAPTControlPlaneStatus) {
    let Some(state) = status.state else { return };
    let holds = |type_| said(status, type_).starts_with("True");
    let is_deleting = state == State::Deleting;
    let has_failed = state == State::Failed || said(status, "Deleting") == "True/DeletionFailed";
    let initialization = status.initialization.as_ref();
    let told = initialization.and_then(|one| one.control_plane_initialized) == Some(true);
    let is_agreed = (status.phase == Some(Phase::Failed)) == (state == State::Failed)
        && (status.phase == Some(Phase::Deleting)) == is_deleting
        // A pause keeps everything but the words about it from changing.
        && (holds("Deleting") == is_deleting || said(status, "Deleting") == "True/Paused")
        && holds("Failed") == has_failed
        && status.failure_reason.is_some() == has_failed
        && status.failure_message.is_some() == has_failed
        && holds("Ready") == status.ready
        && holds("Creating") == (status.phase == Some(Phase::Creating))
        && holds("Initialized") == status.initialized
        && told == status.initialized
        && (!status.ready || status.initialized);
    assert!(is_agreed, "{status:#?}");
}
