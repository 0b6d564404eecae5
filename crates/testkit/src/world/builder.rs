//! Setting up a world.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use apiary::Image;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};

use super::embedded::{self, Embedded};
use super::{World, real, time};
use crate::fault::Faults;
use crate::process::Processes;
use crate::recorder::Recorder;

/// The environment variable that moves tests to a real API server.
const SWITCH: &str = "CAPT_TEST_KUBECONFIG";
const FIELD_MANAGER: &str = "capt-testkit";

/// The kinds of capt and the foreign ones it uses. Deriving them takes a while, and sweeps make many worlds.
static CRDS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(|| {
    capt_api::crds()
        .into_iter()
        .chain(capt_api::foreign::crds())
        .collect()
});

/// An embedded API with those kinds installed: the first world makes it, the others start from it.
static WITH_CAPT: OnceLock<Image> = OnceLock::new();

/// How a world is set up. By default it has the kinds of capt and stands where `CAPT_TEST_KUBECONFIG` says.
#[derive(Debug, Clone)]
pub struct Builder {
    with_capt: bool,
    crds: Vec<CustomResourceDefinition>,
    kubeconfig: Option<PathBuf>,
}

impl Default for Builder {
    fn default() -> Self {
        let kubeconfig = env::var_os(SWITCH)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from);
        Self {
            with_capt: true,
            crds: Vec::new(),
            kubeconfig,
        }
    }
}

impl Builder {
    /// In this process, whatever the environment says.
    #[must_use]
    pub fn embedded_only(mut self) -> Self {
        self.kubeconfig = None;
        self
    }

    /// On the API server of this kubeconfig, whatever the environment says.
    #[must_use]
    pub fn on(mut self, kubeconfig: &Path) -> Self {
        self.kubeconfig = Some(kubeconfig.to_owned());
        self
    }

    /// Without the kinds of capt, for worlds that must not have them.
    #[must_use]
    pub fn without_crds(mut self) -> Self {
        self.with_capt = false;
        self
    }

    /// With another kind.
    #[must_use]
    pub fn crd(mut self, crd: CustomResourceDefinition) -> Self {
        self.crds.push(crd);
        self
    }

    /// Makes the world. Call it inside a current-thread runtime, as `#[tokio::test]` makes one.
    ///
    /// # Panics
    /// If the world cannot be made: a test has no use for half of one.
    pub async fn start(self) -> World {
        match self.try_start().await {
            Ok(world) => world,
            Err(error) => panic!("cannot set up the world: {error:?}"),
        }
    }

    async fn try_start(self) -> Result<World, Box<dyn std::error::Error>> {
        let image = WITH_CAPT
            .get()
            .filter(|_| self.with_capt && self.kubeconfig.is_none());
        let (embedded, client, namespace, clock) = match &self.kubeconfig {
            None => {
                time::make_virtual();
                let (embedded, client, clock) = Embedded::start(image.cloned()).await?;
                (Some(embedded), client, embedded::NAMESPACE.to_owned(), clock)
            }
            Some(kubeconfig) => {
                time::make_real();
                let (client, namespace, clock) = real::connect(kubeconfig).await?;
                (None, client, namespace, clock)
            }
        };
        if self.with_capt && image.is_none() {
            install(&client, &CRDS).await?;
            if let Some(embedded) = &embedded {
                // Another test may have been faster, and its image is as good.
                let _ = WITH_CAPT.set(embedded.image());
            }
        }
        install(&client, &self.crds).await?;
        real::make_namespace(&client, &namespace).await?;
        Ok(World {
            embedded,
            client,
            namespace,
            recorder: Recorder::new(clock.clone()),
            clock,
            faults: Faults::default(),
            processes: Processes::default(),
        })
    }
}

async fn install(
    client: &Client,
    crds: &[CustomResourceDefinition],
) -> Result<(), Box<dyn std::error::Error>> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in crds {
        // Worlds of other tests may be installing the same at this moment, so nobody may insist on being first.
        let apply = PatchParams::apply(FIELD_MANAGER).force();
        api.patch(&crd.name_any(), &apply, &Patch::Apply(crd)).await?;
    }
    for crd in crds {
        await_condition(api.clone(), &crd.name_any(), conditions::is_crd_established()).await?;
    }
    Ok(())
}
