//! A world with the controllers and a runner in it, and hands for what a user does.

use std::{ops::Deref, sync::Arc};

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply, conditions::find_condition, marks};
use capt_controllers::{ClusterController, Metrics, Options, Outside, Readiness};
use capt_core::{render::WorkspaceGroup, tenancy::NamespaceSet, wta::snapshot::Runner};
use capt_testkit::{Process, World};
use k8s_openapi::api::{core::v1::Namespace, events::v1::Event};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::{DynamicObject, NamespaceResourceScope},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    controlplane::Elsewhere,
    runner::{self, Ledger, resource},
};

/// What the controllers are called in a world.
pub(crate) const CAPT: &str = "capt";
/// What the runner is called in a world.
pub(crate) const RUNNER: &str = "runner";

/// How the controllers are started.
#[derive(Clone)]
pub(crate) struct Setting {
    pub(crate) runner: Runner,
    pub(crate) workspace_api: Option<WorkspaceGroup>,
    /// Look at all namespaces, not at the world's alone.
    pub(crate) everywhere: bool,
    /// Watch these namespaces too, beside the world's own.
    pub(crate) beside: &'static [&'static str],
    /// Look only at what is labelled with this.
    pub(crate) watch_filter: Option<String>,
    pub(crate) elsewhere: Elsewhere,
    /// Namespaces that may use the controllers' own credentials.
    pub(crate) own_credentials: NamespaceSet,
    /// Whether Clusters are looked after.
    pub(crate) cluster_controller: ClusterController,
    /// Where it is counted. Every start of the controllers counts from the beginning if left out.
    pub(crate) metrics: Option<Metrics>,
    /// Where it is told whether they know everything.
    pub(crate) readiness: Readiness,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            runner: Runner::Ours { label: None },
            workspace_api: None,
            everywhere: false,
            beside: &[],
            watch_filter: None,
            elsewhere: Elsewhere::default(),
            own_credentials: NamespaceSet::All,
            cluster_controller: ClusterController::Auto,
            metrics: None,
            readiness: Readiness::default(),
        }
    }
}

/// A world with the controllers and a runner.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) ledger: Ledger,
    pub(crate) elsewhere: Elsewhere,
}

impl Deref for Stage {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

/// Starts the controllers in a world.
pub(crate) fn start_controllers(world: &World, setting: &Setting) {
    let setting = setting.clone();
    world.start(CAPT, move |process: Process| {
        let setting = setting.clone();
        async move {
            let clock = process.clock.clone();
            let mut options = Options::new(Arc::new(move || clock.now()), setting.runner);
            options.workspace_api = setting.workspace_api;
            options.own_credentials = setting.own_credentials;
            options.watch_filter = setting.watch_filter;
            options.cluster_controller = setting.cluster_controller;
            options.metrics = setting.metrics.unwrap_or_default();
            options.readiness = setting.readiness;
            options.outside = Outside {
                endpoints: Arc::new(setting.elsewhere.clone()),
                credentials: Arc::new(setting.elsewhere),
            };
            if !setting.everywhere {
                let own = std::iter::once(process.namespace.as_str());
                options.namespaces = NamespaceSet::only(own.chain(setting.beside.iter().copied()));
            }
            capt_controllers::run(process.client, options, CancellationToken::new())
                .await
                .unwrap();
        }
    });
}

/// Starts the runner in a world. Nothing goes wrong with it: it is not what is tested.
pub(crate) fn start_runner(world: &World) -> Ledger {
    let ledger = Ledger::default();
    start_runner_in(world, world.namespace(), &ledger);
    ledger
}

/// The same, for one namespace and with a book that others may write to as well.
pub(crate) fn start_runner_in(world: &World, namespace: &str, ledger: &Ledger) {
    let (book, client, namespace) = (ledger.clone(), world.client(), namespace.to_owned());
    world.start(RUNNER, move |process| {
        let process = Process {
            client: client.clone(),
            namespace: namespace.clone(),
            ..process
        };
        runner::run(process, book.clone())
    });
}

impl Stage {
    /// A world as `CAPT_TEST_KUBECONFIG` says.
    pub(crate) async fn new() -> Self {
        Self::set(World::new().await, &Setting::default())
    }

    /// A world with a garbage collector and a namespace controller.
    pub(crate) async fn embedded() -> Self {
        Self::set(World::embedded_only().await, &Setting::default())
    }

    pub(crate) fn set(world: World, setting: &Setting) -> Self {
        start_controllers(&world, setting);
        let ledger = start_runner(&world);
        Self {
            world,
            ledger,
            elsewhere: setting.elsewhere.clone(),
        }
    }
}

/// What a user does, in any world.
pub(crate) trait User {
    /// The world.
    fn world(&self) -> &World;

    /// The namespace that the user works in.
    fn home(&self) -> &str {
        self.world().namespace()
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.world().client(), self.home())
    }

    fn workspaces(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.world().client(), self.home(), &resource("tf.m.upbound.io"))
    }

    async fn create<K>(&self, object: Value) -> K
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + DeserializeOwned
            + Serialize
            + Clone
            + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap()
    }

    /// A template whose module is `resource "a" {}` with a hole for `size`.
    async fn make_template(&self, name: &str) -> WorkspaceTemplate {
        self.create(template(name, "small")).await
    }

    async fn make_apply(&self, name: &str, template: &str) -> WorkspaceTemplateApply {
        self.create(apply(name, template)).await
    }

    async fn patch<K>(&self, name: &str, patch: Value) -> K
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        let api: Api<K> = self.api();
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap()
    }

    async fn annotate(&self, apply: &str, name: &str, value: Option<&str>) {
        let _: WorkspaceTemplateApply = self
            .patch(apply, json!({"metadata": {"annotations": {name: value}}}))
            .await;
    }

    async fn delete_apply(&self, name: &str) {
        let api: Api<WorkspaceTemplateApply> = self.api();
        api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    async fn delete_workspace(&self, name: &str) {
        self.workspaces()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    async fn apply(&self, name: &str) -> Option<WorkspaceTemplateApply> {
        self.api().get_opt(name).await.unwrap()
    }

    async fn workspace(&self, name: &str) -> Option<DynamicObject> {
        self.workspaces().get_opt(name).await.unwrap()
    }

    /// Waits until a condition of an apply has this status and reason, written as `True/Applied`.
    async fn until_says(&self, name: &str, type_: &str, what: &str) {
        self.world()
            .until(&format!("{name}: {type_}={what}"), async || {
                self.says(name, type_).await == what
            })
            .await;
    }

    /// The status and the reason of a condition of an apply.
    async fn says(&self, name: &str, type_: &str) -> String {
        let apply = self.apply(name).await;
        let status = apply.and_then(|apply| apply.status).unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        find_condition(&conditions, type_).map_or_else(String::new, |condition| {
            format!("{}/{}", condition.status, condition.reason)
        })
    }

    /// What people were told about an object, as `Warning WorkspaceTemplateNotFound: ...`.
    async fn told_about(&self, kind: &str, name: &str) -> Vec<String> {
        let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
        let is_about = |event: &Event| {
            let regarding = event.regarding.as_ref();
            regarding.is_some_and(|it| it.kind.as_deref() == Some(kind) && it.name.as_deref() == Some(name))
        };
        let told = events.into_iter().filter(is_about).map(|event| {
            let word = Option::unwrap_or_default;
            format!(
                "{} {}: {}",
                word(event.type_),
                word(event.reason),
                word(event.note)
            )
        });
        told.collect()
    }

    /// Waits until an apply is applied and its Workspace is ready.
    async fn until_ready(&self, name: &str) {
        self.until_says(name, "Ready", "True/Available").await;
        self.until_says(name, "Applied", "True/Applied").await;
    }

    async fn until_gone(&self, name: &str) {
        self.world()
            .until(&format!("{name} to be gone"), async || {
                self.apply(name).await.is_none()
            })
            .await;
    }
}

/// A user of another namespace than the world's own.
pub(crate) struct Neighbour<'a> {
    world: &'a World,
    namespace: &'static str,
}

impl<'a> Neighbour<'a> {
    /// Makes the namespace.
    pub(crate) async fn of(world: &'a World, namespace: &'static str) -> Self {
        let made: Namespace = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
        let namespaces: Api<Namespace> = Api::all(world.client());
        namespaces.create(&PostParams::default(), &made).await.unwrap();
        Self { world, namespace }
    }
}

impl User for Neighbour<'_> {
    fn world(&self) -> &World {
        self.world
    }

    fn home(&self) -> &str {
        self.namespace
    }
}

impl User for World {
    fn world(&self) -> &World {
        self
    }
}

impl User for Stage {
    fn world(&self) -> &World {
        &self.world
    }
}

/// A template with a value in its module and a hole for `size`.
pub(crate) fn template(name: &str, text: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            // A network does not say what size it is.
            "variables": [{"name": "size", "default": "1"}],
            "template": {"spec": {"forProvider": {
                "source": "Inline",
                "module": format!("locals {{\n  text = \"{text}\"\n  size = \"${{size}}\"\n}}\n"),
            }}},
        },
    })
}

/// An apply of a template.
pub(crate) fn apply(name: &str, template: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"templateRef": {"name": template}, "variables": {"size": "1"}},
    })
}

/// The external name of a Workspace.
pub(crate) fn external_name(workspace: &DynamicObject) -> String {
    workspace.annotations()[capt_api::foreign::marks::EXTERNAL_NAME].clone()
}

/// What a Workspace lets a runner do.
pub(crate) fn policies(workspace: &DynamicObject) -> Value {
    workspace
        .data
        .pointer("/spec/managementPolicies")
        .cloned()
        .unwrap_or_default()
}

/// Whether a Workspace is the apply's.
pub(crate) fn is_of(workspace: &DynamicObject, apply: &str) -> bool {
    workspace
        .labels()
        .get(marks::WTA_NAME)
        .is_some_and(|name| name == apply)
}
