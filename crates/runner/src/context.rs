//! What everything in a runner shares.

use capt_api::foreign::{LegacyProviderConfigUsage, ProviderConfigUsage};
use capt_core::render::WorkspaceGroup;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use sha2::{Digest as _, Sha256};

use crate::{
    Options, Which,
    api::{CallError, call, words},
    decide::Whose,
    events::Herald,
    inputs::{ApiLookup, Glance, KnownConfigs, Surroundings},
    ownership::ownership,
    report::Learned,
    salt,
    store::{Locks, StateStore},
    view::WorkspaceView,
    workspace::{Common, Handle, Record},
};

/// What everything in a runner shares.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) lookup: ApiLookup,
    /// What watches tell of provider configurations.
    pub(crate) configs: KnownConfigs,
    pub(crate) surroundings: Surroundings,
    pub(crate) locks: Locks,
    pub(crate) store: StateStore,
    pub(crate) herald: Herald,
    pub(crate) learned: Learned,
    /// When this runner started.
    pub(crate) start: Timestamp,
    salt: String,
}

impl Context {
    /// Gathers what an earlier runner left behind.
    pub(crate) async fn new(client: Client, options: Options) -> Self {
        Self {
            lookup: ApiLookup::new(client.clone()),
            configs: KnownConfigs::default(),
            surroundings: Surroundings {
                namespace: options.system_namespace.clone(),
                server: options.server.clone(),
                own_credentials: options.own_credentials.clone(),
            },
            locks: Locks::new(client.clone(), &options.identity, options.clock.clone())
                .with_grace(options.grace),
            store: StateStore::new(client.clone()),
            herald: Herald::new(client.clone(), &options.identity, options.clock.clone()),
            learned: Learned::load(&client, &options.system_namespace).await,
            start: (options.clock)(),
            salt: salt::load(&client, &options.system_namespace).await,
            client,
            options,
        }
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Timestamp {
        (self.options.clock)()
    }

    /// Where inputs are read from to be looked at, which wakes its Workspace when something changes.
    pub(crate) fn glance(&self) -> Glance<'_> {
        Glance {
            known: &self.configs,
            api: &self.lookup,
        }
    }

    /// What is the same for all Workspaces when it is decided about them.
    pub(crate) fn common(&self) -> Common {
        Common {
            poll: self.options.poll_interval,
            seed: self.options.seed,
        }
    }

    /// A name for inputs that may be written down: without the salt nobody can tell which secrets it was made from.
    pub(crate) fn fingerprint(&self, hash: &str) -> String {
        let digest = Sha256::digest(format!("{} {hash}", self.salt).as_bytes());
        digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Writes what the status is to say, if it does not say so already.
    pub(crate) async fn tell(&self, view: &WorkspaceView, record: &mut Record) -> Result<(), CallError> {
        if record.told == record.standing {
            return Ok(());
        }
        let handle = Handle::new(&self.client, view);
        match handle.tell(view, &record.standing).await {
            Ok(version) => {
                record.told = record.standing.clone();
                record.told_in = version;
                Ok(())
            }
            // To be tried again is no help to whoever waits and sees nothing.
            Err(error) if error.is_invalid() => {
                let (why, now) = (words(&error), self.now());
                let refused = record.standing.refused(&record.told, &why, view.generation, now);
                // These are our own words too, and nobody is to be woken by them.
                record.told_in = handle.tell(view, &refused).await?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether provider-terraform uses a Workspace, asked freshly: watches may tell of the Workspace sooner than of that.
    pub(crate) async fn is_used_by_others(&self, view: &WorkspaceView) -> Result<bool, CallError> {
        let client = self.client.clone();
        let found = match (view.group, view.namespace.as_deref()) {
            (WorkspaceGroup::Namespaced, Some(namespace)) => {
                let api: Api<ProviderConfigUsage> = Api::namespaced(client, namespace);
                call(api.get_metadata(&view.uid)).await.map(drop)
            }
            _ => {
                let api: Api<LegacyProviderConfigUsage> = Api::all(client);
                call(api.get_metadata(&view.uid)).await.map(drop)
            }
        };
        match found {
            Ok(()) => Ok(true),
            // Nor is it there where nobody defined such a kind, which the server tells in words of its own.
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whose a Workspace is just now. Only where runners share a cluster, it can be somebody else's.
    pub(crate) async fn whose_now(&self, view: &WorkspaceView) -> Result<Whose, CallError> {
        let is_shared = matches!(self.options.which, Which::Labelled(_));
        match self.whose(view) {
            Whose::Ours if is_shared && self.is_used_by_others(view).await? => Ok(Whose::Disputed),
            whose => Ok(whose),
        }
    }

    /// Whose a Workspace is, by its namespace and its labels.
    pub(crate) fn whose(&self, view: &WorkspaceView) -> Whose {
        ownership(&self.options.which, &self.options.namespaces, view)
    }
}
