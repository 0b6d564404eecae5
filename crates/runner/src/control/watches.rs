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
        ProviderConfig, ProviderConfigUsage, Workspace, providerconfig::TerraformConfig,
    },
    lean::{Head, Lean},
    marks,
};
use capt_core::render::WorkspaceGroup;
use futures::StreamExt as _;
use k8s_openapi::{
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
};
use crate::{
    Which,
    inputs::{ConfigKind, ConfigRef, Configured, KnownConfigs, Listed, ObjectKind, ObjectRef},
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
    /// Of this group there are only these.
    Only(WorkspaceGroup, HashSet<Key>),
    /// Something that inputs may be read from changed, or is gone.
    Changed { reference: Reference, change: Change },
    /// An object that is named like one of ours lacks what ours are found by, and has this left; or it lacks nothing, or is
    /// gone.
    Bare {
        object: ObjectRef,
        metadata: Option<Box<ObjectMeta>>,
    },
    /// All objects of a kind are told of anew.
    Anew(ObjectKind),
    /// Of Secrets with state and copies of it there are only these: namespaces and names.
    OnlyStates(HashSet<(String, String)>),
    /// Of Secrets that belong to Workspaces there are only these, in these versions.
    OnlyConnections(HashMap<(String, String), String>),
    /// Something that inputs may be read from may have gone unseen.
    Unsure,
    /// By a mark of this kind, provider-terraform says that it uses the Workspace with this uid, or does no more.
    Used(&'static str, String, bool),
    /// By marks of this kind it uses only the Workspaces with these uids.
    OnlyUsed(&'static str, HashSet<String>),
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
    which: &Which,
    known: &KnownConfigs,
) -> (JoinSet<()>, mpsc::Receiver<Notice>) {
    let (sender, receiver) = mpsc::channel(BUFFER);
    let (defined_sender, defined) = watch::channel(Defined::default());
    let mut tasks = JoinSet::new();
    tasks.spawn(definitions(client.clone(), defined_sender));
    let watching = Watching {
        client: client.clone(),
        sender,
        defined,
    };
    let label = match which {
        Which::All => None,
        Which::Labelled(name) => Some(format!("{}={name}", marks::RUNNER)),
    };
    tasks.spawn(
        watching
            .clone()
            .workspaces::<Workspace>(WorkspaceGroup::Namespaced, label.clone()),
    );
    tasks.spawn(
        watching
            .clone()
            .workspaces::<ClusterWorkspace>(WorkspaceGroup::ClusterScoped, label.clone()),
    );
    tasks.spawn(watching.clone().objects::<Secret>(ObjectKind::Secret));
    tasks.spawn(watching.clone().objects::<ConfigMap>(ObjectKind::ConfigMap));
    tasks.spawn(
        watching
            .clone()
            .configs::<ProviderConfig>(ConfigKind::Namespaced, known.clone()),
    );
    tasks.spawn(
        watching
            .clone()
            .configs::<ClusterProviderConfig>(ConfigKind::Cluster, known.clone()),
    );
    tasks.spawn(
        watching
            .clone()
            .configs::<LegacyProviderConfig>(ConfigKind::Legacy, known.clone()),
    );
    if label.is_some() {
        tasks.spawn(watching.clone().usages::<ProviderConfigUsage>());
        tasks.spawn(watching.usages::<LegacyProviderConfigUsage>());
    }
    (tasks, receiver)
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
    client: Client,
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
    async fn workspaces<K>(self, group: WorkspaceGroup, label: Option<String>)
    where
        K: Custom + Seen,
    {
        let config = label.map_or_else(watcher::Config::default, |label| {
            watcher::Config::default().labels(&label)
        });
        let mut all = HashSet::new();
        let notice = move |event: watcher::Event<Lean<K>>| match event {
            watcher::Event::Init => {
                all.clear();
                None
            }
            watcher::Event::InitDone => Some(Notice::Only(group, std::mem::take(&mut all))),
            watcher::Event::InitApply(object) => {
                all.insert(key(group, &object));
                seen(object)
            }
            watcher::Event::Apply(object) => seen(object),
            watcher::Event::Delete(object) => Some(Notice::Gone(key(group, &object))),
        };
        let gone = || Notice::Only(group, HashSet::new());
        self.while_defined(K::crd_name(), config, notice, gone).await;
    }

    /// Secrets or ConfigMaps.
    async fn objects<K>(self, kind: ObjectKind)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let mut lists = 0;
        let mut states = HashSet::new();
        let mut connections = HashMap::new();
        let mut bare = HashSet::new();
        let notice = move |event: watcher::Event<Head<K>>| {
            if let watcher::Event::InitDone = event {
                let mut notices = Vec::new();
                if kind == ObjectKind::Secret {
                    notices.push(Notice::OnlyStates(std::mem::take(&mut states)));
                    notices.push(Notice::OnlyConnections(std::mem::take(&mut connections)));
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
                return vec![Notice::Anew(kind)];
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
        self.follow(watcher::Config::default(), notice).await;
    }

    /// Provider configurations of one kind.
    async fn configs<K: Custom + Configured>(self, kind: ConfigKind, known: KnownConfigs) {
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
                    noted.only(kind, std::mem::take(&mut all));
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
        let gone = || {
            known.forget(kind);
            Notice::Unsure
        };
        let config = watcher::Config::default();
        self.while_defined(K::crd_name(), config, notice, gone).await;
    }

    /// Signs that provider-terraform runs something.
    async fn usages<K: Custom>(self) {
        let mut all = HashSet::new();
        let notice = move |event: watcher::Event<PartialObjectMeta<K>>| match event {
            watcher::Event::Init => {
                all.clear();
                None
            }
            watcher::Event::InitApply(object) => {
                all.insert(object.name_any());
                None
            }
            watcher::Event::InitDone => Some(Notice::OnlyUsed(K::crd_name(), std::mem::take(&mut all))),
            watcher::Event::Apply(object) => Some(Notice::Used(K::crd_name(), object.name_any(), true)),
            watcher::Event::Delete(object) => Some(Notice::Used(K::crd_name(), object.name_any(), false)),
        };
        let gone = || Notice::OnlyUsed(K::crd_name(), HashSet::new());
        self.while_defined(K::crd_name(), watcher::Config::default(), notice, gone)
            .await;
    }

    /// Follows the objects of a kind whenever it is defined. They go with their kind, and `gone` tells so.
    async fn while_defined<W, N: IntoIterator<Item = Notice, IntoIter: Send> + Send>(
        self,
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
                () = self.follow(config.clone(), &mut notice) => {}
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
        config: watcher::Config,
        mut notice: impl FnMut(watcher::Event<W>) -> N + Send,
    ) where
        W: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let api: Api<W> = Api::all(self.client.clone());
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
fn content<K: Configured>(object: &DeserializeGuard<K>) -> Option<TerraformConfig> {
    let object = object.0.as_ref().ok()?;
    Some(object.content().clone())
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

/// The kind of marks by which provider-terraform says that it uses a Workspace of this group.
pub(crate) fn usages_of(group: WorkspaceGroup) -> &'static str {
    match group {
        WorkspaceGroup::Namespaced => ProviderConfigUsage::crd_name(),
        WorkspaceGroup::ClusterScoped => LegacyProviderConfigUsage::crd_name(),
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
