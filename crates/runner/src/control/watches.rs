//! What wakes Workspaces: themselves, and everything that their inputs are read from.
//!
//! Kinds that are defined by somebody else may come and go; their definitions are watched too. Of everything but the
//! Workspaces and the few provider configurations that they share only names are kept, and those only for a moment: what
//! an object says is read when it is needed.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt::Debug,
    sync::Arc,
};

use capt_api::{
    foreign::{
        ClusterProviderConfig, ClusterWorkspace, LegacyProviderConfig, LegacyProviderConfigUsage,
        ProviderConfig, ProviderConfigUsage, Workspace,
    },
    lean::{Head, Lean},
};
use capt_core::{render::WorkspaceGroup, tenancy::WatchScope};
use futures::StreamExt as _;
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client, CustomResourceExt, Resource, ResourceExt as _,
    core::{DeserializeGuard, PartialObjectMeta},
    runtime::{WatchStreamExt as _, watcher},
};
use serde::de::DeserializeOwned;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::{
    complaint::Complaint, connections::version_of, key::Key, states::is_of_state, stripped::is_bare,
    usages::Usage,
};
use crate::{
    Options, Which,
    inputs::{ConfigFound, ConfigKind, ConfigRef, Configured, KnownConfigs, Listed, ObjectKind, ObjectRef},
    ownership::{cluster_scoped_workspaces, namespaced_workspaces},
    view::{Seen, WorkspaceView},
    workspace::Reference,
};

/// What happened.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A Workspace is there or changed.
    Seen(Box<WorkspaceView>),
    /// A Workspace is gone, or is none of our business any more.
    Gone(Key),
    /// Of this group there are only these in this scope.
    Only(WorkspaceGroup, WatchScope, HashSet<Key>),
    /// Something that inputs may be read from changed, or is gone.
    Changed { reference: Reference, change: Change },
    /// An object that is named like one of ours lacks what ours are found by, and has this left; or it lacks nothing, or is
    /// gone.
    Bare {
        object: ObjectRef,
        metadata: Option<Box<ObjectMeta>>,
    },
    /// All objects of a kind and scope are listed anew.
    Anew(ObjectKind, WatchScope),
    /// Of Secrets with state and copies of it there are only these in this scope: namespaces and names.
    OnlyStates(WatchScope, HashSet<(String, String)>),
    /// Of Secrets that belong to Workspaces there are only these in this scope, in these versions.
    OnlyConnections(WatchScope, HashMap<(String, String), String>),
    /// Something that inputs may be read from may have gone unseen.
    Unsure,
    /// provider-terraform uses a Workspace of this group, or does no more.
    Used {
        group: WorkspaceGroup,
        usage: Usage,
        is_used: bool,
    },
    /// Of this group and scope it uses only these.
    OnlyUsed(WorkspaceGroup, WatchScope, HashSet<Usage>),
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is there, as it may have been before.
    Listed,
    /// It was written; its version, if it is a Secret that belongs to a Workspace.
    Written(Option<String>),
    /// It is gone.
    Gone,
}

impl Change {
    /// The version of a Secret that belongs to a Workspace, if anything happened to it.
    pub(crate) fn version(self) -> Option<Option<String>> {
        match self {
            Self::Listed => None,
            Self::Written(version) => Some(version),
            Self::Gone => Some(None),
        }
    }
}

/// Notices that may wait to be read.
const BUFFER: usize = 1024;

/// Begins to watch, and to write down what provider configurations say. Ends when what is returned is dropped.
pub(crate) fn start(
    client: &Client,
    options: &Options,
    known: &KnownConfigs,
) -> (JoinSet<()>, mpsc::Receiver<Notice>) {
    let (sender, receiver) = mpsc::channel(BUFFER);
    let (defined_sender, defined) = watch::channel(Defined::default());
    let mut tasks = JoinSet::new();
    tasks.spawn(definitions(client.clone(), defined_sender));
    let is_shared = matches!(options.which, Which::Labelled(_));
    for scope in options.namespaces.scopes() {
        let watching = Watching {
            scope: scope.clone(),
            sender: sender.clone(),
            defined: defined.clone(),
        };
        let chosen = namespaced_workspaces(&options.which);
        tasks.spawn(watching.clone().workspaces::<Workspace>(
            within(client, &scope),
            WorkspaceGroup::Namespaced,
            chosen,
        ));
        let secrets = within(client, &scope);
        tasks.spawn(watching.clone().objects::<Secret>(secrets, ObjectKind::Secret));
        let config_maps = within(client, &scope);
        tasks.spawn(
            watching
                .clone()
                .objects::<ConfigMap>(config_maps, ObjectKind::ConfigMap),
        );
        tasks.spawn(watching.clone().configs::<ProviderConfig>(
            within(client, &scope),
            ConfigKind::Namespaced,
            known.clone(),
        ));
        if is_shared {
            let usages = within(client, &scope);
            tasks.spawn(watching.usages::<ProviderConfigUsage>(usages, WorkspaceGroup::Namespaced));
        }
    }
    let watching = Watching {
        scope: WatchScope::Cluster,
        sender,
        defined,
    };
    let all = || client.clone();
    if let Some(chosen) = cluster_scoped_workspaces(&options.which, &options.namespaces) {
        tasks.spawn(watching.clone().workspaces::<ClusterWorkspace>(
            Api::all(all()),
            WorkspaceGroup::ClusterScoped,
            chosen,
        ));
    }
    tasks.spawn(watching.clone().configs::<ClusterProviderConfig>(
        Api::all(all()),
        ConfigKind::Cluster,
        known.clone(),
    ));
    tasks.spawn(watching.clone().configs::<LegacyProviderConfig>(
        Api::all(all()),
        ConfigKind::Legacy,
        known.clone(),
    ));
    if is_shared {
        let group = WorkspaceGroup::ClusterScoped;
        tasks.spawn(watching.usages::<LegacyProviderConfigUsage>(Api::all(all()), group));
    }
    (tasks, receiver)
}

/// The objects of a namespaced kind in a scope.
pub(crate) fn within<K>(client: &Client, scope: &WatchScope) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match scope.namespace() {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Which kinds are defined.
#[derive(Clone, Debug, Default)]
enum Defined {
    /// Nobody has looked yet.
    #[default]
    NotKnown,
    /// We may not look, so everything may be.
    Perhaps,
    /// These.
    Only(Arc<BTreeSet<String>>),
}

impl Defined {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::NotKnown => false,
            Self::Perhaps => true,
            Self::Only(names) => names.contains(name),
        }
    }
}

/// Follows which kinds are defined.
async fn definitions(client: Client, sender: watch::Sender<Defined>) {
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    let mut names = BTreeSet::new();
    // A list that has just begun says nothing about what is missing in it.
    let mut listed = BTreeSet::new();
    let mut complaint = Complaint::default();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(watcher::Event::InitApply(one)) => {
                listed.insert(one.name_any());
                continue;
            }
            Ok(watcher::Event::InitDone) => names = std::mem::take(&mut listed),
            Ok(watcher::Event::Apply(one)) => {
                if !names.insert(one.name_any()) {
                    continue;
                }
            }
            Ok(watcher::Event::Delete(one)) => {
                names.remove(&one.name_any());
            }
            Err(error) if is_forbidden(&error) => {
                sender.send_replace(Defined::Perhaps);
                continue;
            }
            Err(error) => {
                match complaint.about(&error) {
                    Some(cause) => tracing::warn!(cause, "definitions cannot be watched"),
                    None => tracing::debug!(%error, "definitions cannot be watched"),
                }
                continue;
            }
        }
        complaint.settle();
        sender.send_replace(Defined::Only(Arc::new(names.clone())));
    }
}

fn is_forbidden(error: &watcher::Error) -> bool {
    let source = match error {
        watcher::Error::InitialListFailed(source)
        | watcher::Error::WatchStartFailed(source)
        | watcher::Error::WatchFailed(source) => source,
        watcher::Error::WatchError(status) => return status.is_forbidden(),
        _ => return false,
    };
    matches!(source, kube::Error::Api(status) if status.is_forbidden())
}

#[derive(Clone)]
struct Watching {
    scope: WatchScope,
    sender: mpsc::Sender<Notice>,
    defined: watch::Receiver<Defined>,
}

/// A kind that a CRD defines, and that may come and go.
trait Custom:
    Resource<DynamicType = ()> + CustomResourceExt + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Custom for K where
    K: Resource<DynamicType = ()>
        + CustomResourceExt
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

impl Watching {
    /// Workspaces of one group, for as long as there is such a kind.
    async fn workspaces<K>(self, api: Api<Lean<K>>, group: WorkspaceGroup, chosen: Vec<String>)
    where
        K: Custom + Seen,
    {
        let config = watcher::Config::default().labels(&chosen.join(","));
        let scope = self.scope.clone();
        let mut all = HashSet::new();
        let notice = move |event: watcher::Event<Lean<K>>| match event {
            watcher::Event::Init => {
                all.clear();
                None
            }
            watcher::Event::InitDone => Some(Notice::Only(group, scope.clone(), std::mem::take(&mut all))),
            watcher::Event::InitApply(object) => {
                all.insert(key(group, &object));
                seen(object)
            }
            watcher::Event::Apply(object) => seen(object),
            watcher::Event::Delete(object) => Some(Notice::Gone(key(group, &object))),
        };
        let scope = self.scope.clone();
        let gone = || Notice::Only(group, scope.clone(), HashSet::new());
        self.while_defined(api, K::crd_name(), config, notice, gone).await;
    }

    /// Secrets or ConfigMaps.
    async fn objects<K>(self, api: Api<Head<K>>, kind: ObjectKind)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let scope = self.scope.clone();
        let mut lists = 0;
        let mut states = HashSet::new();
        let mut connections = HashMap::new();
        let mut bare = HashSet::new();
        let notice = move |event: watcher::Event<Head<K>>| {
            if let watcher::Event::InitDone = event {
                let mut notices = Vec::new();
                if kind == ObjectKind::Secret {
                    notices.push(Notice::OnlyStates(scope.clone(), std::mem::take(&mut states)));
                    let listed = std::mem::take(&mut connections);
                    notices.push(Notice::OnlyConnections(scope.clone(), listed));
                }
                notices.extend(is_repeated(&mut lists).then_some(Notice::Unsure));
                return notices;
            }
            let is_listed = matches!(event, watcher::Event::InitApply(_));
            let is_there = !matches!(event, watcher::Event::Delete(_));
            let Some(object) = object_of(event) else {
                states.clear();
                connections.clear();
                bare.clear();
                return vec![Notice::Anew(kind, scope.clone())];
            };
            let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
            let version = version_of(&object.metadata).filter(|_| kind == ObjectKind::Secret);
            if is_listed && kind == ObjectKind::Secret && is_of_state(&name) {
                states.insert((namespace.clone(), name.clone()));
            }
            if let Some(version) = version.clone().filter(|_| is_listed) {
                connections.insert((namespace.clone(), name.clone()), version);
            }
            let change = match (is_listed, is_there) {
                (true, _) => Change::Listed,
                (false, true) => Change::Written(version),
                (false, false) => Change::Gone,
            };
            let is_bare = is_there && is_bare(kind, &object.metadata);
            let object_ref = ObjectRef {
                kind,
                namespace,
                name,
            };
            let is_other = match is_bare {
                true => {
                    bare.insert(object_ref.clone());
                    true
                }
                false => bare.remove(&object_ref),
            };
            let of_marks = is_other.then(|| Notice::Bare {
                object: object_ref.clone(),
                metadata: is_bare.then(|| Box::new(lean(object.metadata))),
            });
            let reference = Reference::Object(object_ref);
            let changed = Notice::Changed { reference, change };
            std::iter::once(changed).chain(of_marks).collect()
        };
        self.follow(api, watcher::Config::default(), notice).await;
    }

    /// Provider configurations of one kind.
    async fn configs<K: Custom + Configured>(
        self,
        api: Api<DeserializeGuard<K>>,
        kind: ConfigKind,
        known: KnownConfigs,
    ) {
        let scope = self.scope.clone();
        let mut lists = 0;
        let mut all = Listed::new();
        let noted = known.clone();
        // It is written down before Workspaces are woken by it, and after a gap before all of them are.
        let notice = move |event: watcher::Event<DeserializeGuard<K>>| {
            let change = match &event {
                watcher::Event::Init => {
                    all.clear();
                    return None;
                }
                watcher::Event::InitDone => {
                    noted.only(kind, &scope, std::mem::take(&mut all));
                    return is_repeated(&mut lists).then_some(Notice::Unsure);
                }
                watcher::Event::InitApply(object) => {
                    all.insert(config_ref(kind, object), content(object));
                    Change::Written(None)
                }
                watcher::Event::Apply(object) => {
                    noted.note(&config_ref(kind, object), content(object));
                    Change::Written(None)
                }
                watcher::Event::Delete(object) => {
                    noted.gone(&config_ref(kind, object));
                    Change::Gone
                }
            };
            let reference = Reference::Config(config_ref(kind, &object_of(event)?));
            Some(Notice::Changed { reference, change })
        };
        let scope = self.scope.clone();
        let gone = || {
            known.forget(kind, &scope);
            Notice::Unsure
        };
        let config = watcher::Config::default();
        self.while_defined(api, K::crd_name(), config, notice, gone).await;
    }

    /// Signs that provider-terraform runs something.
    async fn usages<K: Custom>(self, api: Api<PartialObjectMeta<K>>, group: WorkspaceGroup) {
        let scope = self.scope.clone();
        let mut all = HashSet::new();
        let usage = |object: &PartialObjectMeta<K>| Usage {
            namespace: object.namespace(),
            uid: object.name_any(),
        };
        let notice = move |event: watcher::Event<PartialObjectMeta<K>>| match event {
            watcher::Event::Init => {
                all.clear();
                None
            }
            watcher::Event::InitApply(object) => {
                all.insert(usage(&object));
                None
            }
            watcher::Event::InitDone => {
                Some(Notice::OnlyUsed(group, scope.clone(), std::mem::take(&mut all)))
            }
            watcher::Event::Apply(object) => Some(Notice::Used {
                group,
                usage: usage(&object),
                is_used: true,
            }),
            watcher::Event::Delete(object) => Some(Notice::Used {
                group,
                usage: usage(&object),
                is_used: false,
            }),
        };
        let scope = self.scope.clone();
        let gone = || Notice::OnlyUsed(group, scope.clone(), HashSet::new());
        self.while_defined(api, K::crd_name(), watcher::Config::default(), notice, gone)
            .await;
    }

    /// Follows the objects of a kind whenever it is defined. They go with their kind, and `gone` tells so.
    async fn while_defined<W, N: IntoIterator<Item = Notice, IntoIter: Send> + Send>(
        self,
        api: Api<W>,
        name: &str,
        config: watcher::Config,
        mut notice: impl FnMut(watcher::Event<W>) -> N + Send,
        gone: impl Fn() -> Notice + Send,
    ) where
        W: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let mut defined = self.defined.clone();
        while defined.wait_for(|defined| defined.has(name)).await.is_ok() {
            tokio::select! {
                () = self.follow(api.clone(), config.clone(), &mut notice) => {}
                ended = defined.wait_for(|defined| !defined.has(name)) => {
                    if ended.is_err() {
                        return;
                    }
                }
            }
            if self.sender.send(gone()).await.is_err() {
                return;
            }
        }
    }

    /// Follows the objects of a kind.
    async fn follow<W, N: IntoIterator<Item = Notice, IntoIter: Send> + Send>(
        &self,
        api: Api<W>,
        config: watcher::Config,
        mut notice: impl FnMut(watcher::Event<W>) -> N + Send,
    ) where
        W: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let mut events = watcher(api, config).default_backoff().boxed();
        let mut complaint = Complaint::default();
        let kind = W::kind(&());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    // Each try begins with Init, which proves nothing.
                    if !matches!(event, watcher::Event::Init) {
                        complaint.settle();
                    }
                    // Nobody listens any more when the runner stops.
                    for notice in notice(event) {
                        if self.sender.send(notice).await.is_err() {
                            return;
                        }
                    }
                }
                Err(error) => match complaint.about(&error) {
                    Some(cause) => {
                        tracing::warn!(%kind, cause, "objects cannot be watched, which is tried again")
                    }
                    None => tracing::debug!(%kind, %error, "a watch failed and is begun again"),
                },
            }
        }
    }
}

/// Who wrote which field is of no use to us.
fn lean(mut metadata: ObjectMeta) -> ObjectMeta {
    metadata.managed_fields = None;
    metadata
}

fn key<K: Resource>(group: WorkspaceGroup, object: &K) -> Key {
    Key {
        group,
        namespace: object.namespace(),
        name: object.name_any(),
    }
}

fn config_ref<K: Resource>(kind: ConfigKind, object: &K) -> ConfigRef {
    ConfigRef {
        kind,
        namespace: object.namespace(),
        name: object.name_any(),
    }
}

/// What a provider configuration says, if it can be understood.
fn content<K: Configured>(object: &DeserializeGuard<K>) -> Option<ConfigFound> {
    let object = object.0.as_ref().ok()?;
    Some(object.found())
}

/// A Workspace that cannot be read is no Workspace to us.
fn seen<K: Resource + Seen>(object: Lean<K>) -> Option<Notice> {
    let name = object.name_any();
    match K::view(object) {
        Ok(view) => Some(Notice::Seen(Box::new(view))),
        Err(error) => {
            tracing::warn!(workspace = name, %error, "a Workspace cannot be read");
            None
        }
    }
}

/// A second list comes after a gap, in which something may have gone.
fn is_repeated(lists: &mut u32) -> bool {
    *lists = lists.saturating_add(1);
    *lists > 1
}

fn object_of<K>(event: watcher::Event<K>) -> Option<K> {
    match event {
        watcher::Event::Apply(object)
        | watcher::Event::InitApply(object)
        | watcher::Event::Delete(object) => Some(object),
        watcher::Event::Init | watcher::Event::InitDone => None,
    }
}
