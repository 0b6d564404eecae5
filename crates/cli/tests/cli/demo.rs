//! `capt up --demo`: the sample cluster from nothing to ready, what it is good for, and its end.

use std::{collections::BTreeSet, time::Duration};

use capt_api::{
    CAPTCluster, CAPTControlPlane, WorkspaceTemplate, WorkspaceTemplateApply,
    foreign::{Cluster, Workspace},
};
use futures::StreamExt;
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Namespace, Secret},
        events::v1::Event,
    },
};
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    api::{DeleteParams, ListParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::watcher::{self, Event as Watched, watcher},
};
use serde::{Serialize, de::DeserializeOwned};
use tempfile::{TempDir, tempdir};

use crate::{
    support::{Up, awaited, capt},
    terraform::has_terraform,
};

/// What stays: how the runner hides secrets in its logs, and the token of the API that plays the EKS cluster.
const KEPT_SECRETS: [&str; 2] = ["capt-runner", "sandbox-api"];
/// What people are told of the sample cluster.
const QUICKSTART: &str = include_str!("../../../../docs/quickstart.md");
/// The last of the things to try.
const LAST_STEP: &str = "kubectl delete cluster demo";
/// Nothing that is waited for takes longer, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(300);

struct Demo {
    home: TempDir,
    up: Up,
    client: Client,
    /// What it printed up to the last of the things to try.
    shown: String,
}

impl Demo {
    async fn start(args: &[&str], is_simulated: bool) -> Self {
        let home = tempdir().unwrap();
        let data = home.path().join("data");
        let all = [
            &["--demo", "--in-memory", "--data-dir", data.to_str().unwrap()],
            args,
        ]
        .concat();
        let mut up = Up::start(home.path(), &all);
        let engine = &up.engine_line;
        assert_eq!(engine.contains("simulated"), is_simulated, "{engine}");
        let shown = up.read_until(LAST_STEP);
        let client = up.client().await;
        Self {
            home,
            up,
            client,
            shown,
        }
    }

    fn capt(&self, args: &[&str]) -> String {
        let output = capt(self.home.path())
            .env("KUBECONFIG", &self.up.kubeconfig)
            .args(args)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    /// All objects of a kind, as text.
    async fn text<K>(&self) -> String
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let listed = self.api::<K>().list(&ListParams::default()).await.unwrap();
        serde_json::to_string(&listed.items).unwrap()
    }

    async fn names<K>(&self) -> BTreeSet<String>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let listed = self.api::<K>().list(&ListParams::default()).await.unwrap();
        listed.iter().map(ResourceExt::name_any).collect()
    }

    /// The workload cluster answers to the kubeconfig that it has.
    async fn check_that_it_answers(&self) {
        let kubeconfig = Kubeconfig::from_yaml(&self.capt(&["kubeconfig", "demo"])).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .unwrap();
        let workload = Client::try_from(config).unwrap();
        let namespaces: Api<Namespace> = Api::all(workload);
        assert!(namespaces.get("kube-system").await.is_ok());
    }

    /// The token stands nowhere but in Secrets.
    async fn check_that_the_token_is_hidden(&self) {
        let token = std::fs::read_to_string(self.home.path().join("data/pki/token")).unwrap();
        let token = token.trim();
        assert!(token.len() > 20);
        let texts = [
            self.text::<ConfigMap>().await,
            self.text::<Event>().await,
            self.text::<Cluster>().await,
            self.text::<CAPTCluster>().await,
            self.text::<CAPTControlPlane>().await,
            self.text::<WorkspaceTemplateApply>().await,
            self.text::<WorkspaceTemplate>().await,
            self.text::<Workspace>().await,
            self.capt(&["logs", "workspace/demo-eks-controlplane"]),
            self.capt(&["plan", "wtapply/demo-eks-controlplane-apply"]),
            self.shown.clone(),
        ];
        for text in texts {
            assert!(!text.contains(token), "{text}");
        }
        assert!(self.text::<ConfigMap>().await.contains("terraform_data.cluster"));
    }

    /// Deletes the Cluster, and gives the names of the Workspaces in the order in which they went.
    async fn delete(&self) -> Vec<String> {
        let before = self.names::<Secret>().await;
        let mut watched = watcher(self.api::<Workspace>(), watcher::Config::default()).boxed();
        while !matches!(watched.next().await, Some(Ok(Watched::InitDone))) {}
        self.api::<Cluster>()
            .delete("demo", &DeleteParams::default())
            .await
            .unwrap();
        let gone = |cluster: Option<&Cluster>| cluster.is_none();
        awaited(self.api::<Cluster>(), "demo", "gone", gone).await;
        // What belonged to something that is gone goes after it.
        for secret in before
            .iter()
            .filter(|name| !KEPT_SECRETS.contains(&name.as_str()))
        {
            let gone = |secret: Option<&Secret>| secret.is_none();
            awaited(self.api::<Secret>(), secret, "gone", gone).await;
        }
        let mut order = Vec::new();
        while order.len() < 2 {
            let next = tokio::time::timeout(PATIENCE, watched.next()).await.unwrap();
            if let Some(Ok(Watched::Delete(workspace))) = next {
                order.push(workspace.name_any());
            }
        }
        order
    }

    async fn check_that_nothing_is_left(&self) {
        let none = BTreeSet::new();
        assert_eq!(self.names::<CAPTCluster>().await, none);
        assert_eq!(self.names::<CAPTControlPlane>().await, none);
        assert_eq!(self.names::<WorkspaceTemplateApply>().await, none);
        assert_eq!(self.names::<Workspace>().await, none);
        assert_eq!(self.names::<Lease>().await, none);
        assert_eq!(
            self.names::<Secret>().await,
            KEPT_SECRETS.map(str::to_owned).into()
        );
    }

    /// What stays by design is told, so that nobody takes it for forgotten.
    async fn check_that_what_stays_is_told(&self) {
        let mut stays = self.names::<Secret>().await;
        // What is told of a Workspace goes some time after it.
        let others = ListParams::default().labels(&format!("!{}", capt_api::marks::RUN_OF));
        let maps = self.api::<ConfigMap>().list(&others).await.unwrap();
        stays.extend(maps.iter().map(ResourceExt::name_any));
        for name in stays {
            let told = match name.ends_with("-statistics") {
                true => "-statistics`".to_owned(),
                false => format!("`{name}`"),
            };
            assert!(QUICKSTART.contains(&told), "{name}");
        }
    }
}

async fn from_nothing_to_nothing(args: &[&str], is_simulated: bool) {
    let demo = Demo::start(args, is_simulated).await;
    for part in [
        "✔ cluster/demo",
        "✔ captcontrolplane/demo",
        "cluster/demo is available",
    ] {
        assert!(demo.shown.contains(part), "{part}: {}", demo.shown);
    }
    assert!(
        demo.capt(&["tree", "cluster/demo"])
            .contains("✔ captcluster/demo")
    );
    assert!(demo.capt(&["describe", "cluster/demo"]).contains("demo"));
    demo.check_that_it_answers().await;
    demo.check_that_the_token_is_hidden().await;
    assert_eq!(demo.delete().await, ["demo-eks-controlplane", "demo-vpc"]);
    demo.check_that_nothing_is_left().await;
    demo.check_that_what_stays_is_told().await;
}

/// With Terraform or OpenTofu where there is one, and simulated where there is none, unless `CAPT_REQUIRE_TERRAFORM=1` asks
/// for one.
#[tokio::test]
async fn the_sample_cluster_comes_up_answers_and_goes() {
    from_nothing_to_nothing(&[], !has_terraform()).await;
}

#[tokio::test]
async fn the_same_is_seen_where_everything_is_simulated() {
    from_nothing_to_nothing(&["--engine", "simulated"], true).await;
}
