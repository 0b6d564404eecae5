//! What every story begins with: a namespace, the sandbox's modules as templates, and a Cluster made from them.
//!
//! The EKS cluster of the sandbox is the API server of the side that the story begins on, so that kubeconfigs, checks of
//! endpoints and Cluster API's own connection to the cluster are real. Each module has a witness: a resource that writes
//! down when it is made and destroyed, so that nothing has to be believed.

use std::fs;

use anyhow::{Context, ensure};
use capt_api::{foreign::marks as foreign_marks, marks};
use serde_json::{Value, json};

use super::kinds::{
    APPLY, CLUSTER, CONFIG, CONTROL_PLANE, NAMESPACE, NETWORK, OF_A_CLUSTER, SECRET, TEMPLATE, WORKSPACE,
};
use super::side::{Side, Terraform};
use crate::foreign::ledger::Ledger;
use crate::objects::{self, Kind, is, name};
use crate::provider_terraform::{STATE_SUFFIX, backend_beside};
use crate::workspace;

/// What the Cluster of most stories is called.
pub(super) const NAME: &str = "blue";
/// The version that clusters begin with.
pub(super) const VERSION: &str = "v1.33.0";

/// Writes down what becomes of it. A tag called `slow` makes a second thing, which takes as many seconds as it says.
const WITNESS: &str = r#"
variable "ledger" { type = string }
variable "role" { type = string }

resource "terraform_data" "witness" {
  input = { ledger = var.ledger, role = var.role }

  provisioner "local-exec" {
    command = "echo made ${self.input.role} ${self.id} >> '${self.input.ledger}'"
  }

  provisioner "local-exec" {
    when    = destroy
    command = "echo gone ${self.input.role} ${self.id} >> '${self.input.ledger}'"
  }
}

resource "terraform_data" "slow" {
  for_each = { for key, value in var.tags : key => value if key == "slow" }
  input    = { ledger = var.ledger, seconds = each.value }

  provisioner "local-exec" {
    command = "echo begun slow ${self.id} >> '${self.input.ledger}'; sleep ${self.input.seconds}; echo made slow ${self.id} >> '${self.input.ledger}'"
  }

  provisioner "local-exec" {
    when    = destroy
    command = "echo gone slow ${self.id} >> '${self.input.ledger}'"
  }
}
"#;

/// One namespace in which a story is played.
pub(super) struct Story<'a> {
    pub(super) side: &'a Side,
    pub(super) namespace: String,
    pub(super) ledger: Ledger,
    /// The name of the Cluster, and of its parts where a person names them.
    name: &'static str,
}

impl<'a> Story<'a> {
    /// Makes the namespace and the templates in it.
    pub(super) async fn begin(side: &'a Side, namespace: &str) -> anyhow::Result<Self> {
        Self::begin_with(side, namespace, namespace).await
    }

    /// Like [`Self::begin`], with the templates in another namespace.
    pub(super) async fn begin_with(
        side: &'a Side,
        namespace: &str,
        of_templates: &str,
    ) -> anyhow::Result<Self> {
        let story = Self {
            side,
            namespace: namespace.to_owned(),
            ledger: Ledger::new(side.folder(), namespace)?,
            name: NAME,
        };
        let mut namespaces = vec![namespace, of_templates];
        namespaces.dedup();
        for name in namespaces {
            side.objects.create(NAMESPACE, "", named(name)).await?;
        }
        story.configure_runner(side).await?;
        for template in [story.vpc_template()?, story.eks_template()?] {
            let mut template = template;
            if of_templates != namespace {
                template["spec"]["sharedWith"] = json!([namespace]);
            }
            side.objects.create(TEMPLATE, of_templates, template).await?;
        }
        Ok(story)
    }

    /// Says where provider-terraform keeps state. The text is the same wherever the story goes on, because state whose
    /// place has changed is not touched.
    async fn configure_runner(&self, side: &Side) -> anyhow::Result<()> {
        if side.terraform == Terraform::Foreign {
            let configuration = backend_beside(&self.namespace, STATE_SUFFIX);
            let mut config = named("default");
            config["spec"] = json!({"credentials": [], "configuration": configuration});
            side.objects.create(CONFIG, &self.namespace, config).await?;
        }
        Ok(())
    }

    /// Brings to another side what clusterctl does not: how Terraform is run there.
    pub(super) async fn prepare(&self, side: &Side) -> anyhow::Result<()> {
        if side.terraform == Terraform::Foreign {
            side.objects.create(NAMESPACE, "", named(&self.namespace)).await?;
        }
        self.configure_runner(side).await
    }

    /// The same story as it goes on elsewhere.
    pub(super) fn on<'b>(&self, side: &'b Side) -> Story<'b> {
        Story {
            side,
            namespace: self.namespace.clone(),
            ledger: self.ledger.clone(),
            name: self.name,
        }
    }

    /// The same story with a Cluster of another name.
    pub(super) fn with_cluster(&self, name: &'static str) -> Story<'a> {
        Story {
            name,
            ..self.on(self.side)
        }
    }

    fn vpc_template(&self) -> anyhow::Result<Value> {
        let variables = json!([
            {"name": "cluster_name", "required": true, "replaces": true},
            {"name": "region", "required": true, "replaces": true},
            {"name": "vpc_name", "required": true},
            {"name": "tags", "default": "{}"},
        ]);
        self.template("vpc", &variables, &[])
    }

    fn eks_template(&self) -> anyhow::Result<Value> {
        let variables = json!([
            {"name": "cluster_name", "required": true, "replaces": true},
            // Nobody plans there: who wants to be asked before an upgrade says that it may replace something.
            {"name": "kubernetes_version", "required": true, "replaces": self.side.terraform == Terraform::Foreign},
            {"name": "region", "required": true, "replaces": true},
            {"name": "vpc_id", "required": true, "replaces": true},
            {"name": "private_subnets", "required": true},
            {"name": "tags", "default": "{}"},
        ]);
        let access = &self.side.access;
        let endpoint = [
            ("endpoint", access.server.as_str()),
            ("certificate_authority_data", access.authority.as_str()),
            ("token", access.token.as_str()),
        ];
        self.template("eks", &variables, &endpoint)
    }

    /// A template around a module of the sandbox and its witness.
    fn template(&self, role: &str, variables: &Value, fixed: &[(&str, &str)]) -> anyhow::Result<Value> {
        let folder = workspace::root().join("terraform/sandbox").join(role);
        let mut module = String::new();
        for file in ["variables.tf", "main.tf", "outputs.tf"] {
            let path = folder.join(file);
            module += &fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        }
        module += WITNESS;
        let ledger = self.ledger.path();
        let filled = variables.as_array().into_iter().flatten().map(|variable| {
            let name = variable["name"].as_str().unwrap_or_default();
            json!({"key": name, "value": format!("${{{name}}}")})
        });
        let fixed = [("ledger", ledger.as_str()), ("role", role), ("time_scale", "0")]
            .into_iter()
            .chain(fixed.iter().copied())
            .map(|(key, value)| json!({"key": key, "value": value}));
        let mut spec = json!({
            "forProvider": {
                "source": "Inline",
                "module": module,
                "vars": filled.chain(fixed).collect::<Vec<_>>(),
            },
        });
        if self.side.terraform == Terraform::Foreign {
            spec["providerConfigRef"] = json!({"kind": "ProviderConfig", "name": "default"});
        }
        Ok(json!({
            "metadata": {"name": role, "labels": {(marks::SANDBOX): "true"}},
            "spec": {"variables": variables, "template": {"spec": spec}},
        }))
    }

    /// Makes a Cluster with its parts. `network` is merged into the spec of the CAPTCluster.
    pub(super) async fn make_cluster(&self, of_templates: &str, network: Value) -> anyhow::Result<()> {
        let reference = |name: &str| json!({"name": name, "namespace": of_templates});
        let mut spec = json!({"region": "eu-central-1", "vpcTemplateRef": reference("vpc")});
        objects::merge(&mut spec, network);
        self.create(NETWORK, json!({"metadata": {"name": self.name}, "spec": spec}))
            .await?;
        let control_plane = json!({
            "metadata": {"name": self.name},
            "spec": {
                "version": VERSION,
                "workspaceTemplateRef": reference("eks"),
                "endpointCheck": "Required",
            },
        });
        self.create(CONTROL_PLANE, control_plane).await?;
        let cluster = json!({
            "metadata": {"name": self.name},
            "spec": {
                "infrastructureRef": {"apiGroup": NETWORK.group(), "kind": NETWORK.name(), "name": self.name},
                "controlPlaneRef": {
                    "apiGroup": CONTROL_PLANE.group(), "kind": CONTROL_PLANE.name(), "name": self.name,
                },
            },
        });
        self.create(CLUSTER, cluster).await
    }

    /// Makes an object in the namespace.
    pub(super) async fn create(&self, kind: Kind, object: Value) -> anyhow::Result<()> {
        self.side.objects.create(kind, &self.namespace, object).await?;
        Ok(())
    }

    /// Changes an object in the namespace.
    pub(super) async fn change(&self, kind: Kind, name: &str, patch: &Value) -> anyhow::Result<()> {
        self.side.objects.change(kind, &self.namespace, name, patch).await
    }

    /// Pauses the Cluster, or lets it go on.
    pub(super) async fn pause(&self, is_paused: bool) -> anyhow::Result<()> {
        self.change(CLUSTER, self.name, &json!({"spec": {"paused": is_paused}}))
            .await
    }

    /// Waits until something is true of an object in the namespace.
    pub(super) async fn until(
        &self,
        kind: Kind,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let objects = &self.side.objects;
        objects.until(kind, &self.namespace, name, what, is_so).await
    }

    /// Waits until Cluster API says that the cluster is available, and gives the Cluster.
    pub(super) async fn available(&self) -> anyhow::Result<Value> {
        let until = self
            .until(CLUSTER, self.name, "it is available", |cluster| {
                is(cluster, "Available", "True") && cluster["status"]["phase"] == "Provisioned"
            })
            .await;
        match until {
            Ok(cluster) => Ok(cluster),
            // What the Cluster says is seldom enough to tell why.
            Err(error) => Err(error.context(self.told().await)),
        }
    }

    /// Everything of a kind in the namespace.
    pub(super) async fn list(&self, kind: Kind) -> anyhow::Result<Vec<Value>> {
        self.side.objects.list(kind, &self.namespace).await
    }

    /// The WorkspaceTemplateApply that makes the EKS cluster.
    pub(super) async fn eks(&self) -> anyhow::Result<Value> {
        let applies = self.list(APPLY).await?.into_iter();
        let mut eks = applies.filter(|apply| apply["spec"]["variables"]["kubernetes_version"].is_string());
        eks.next()
            .context("no WorkspaceTemplateApply makes an EKS cluster")
    }

    /// Everything that the cluster consists of.
    pub(super) async fn everything(&self) -> anyhow::Result<Vec<(Kind, Value)>> {
        let mut all = Vec::new();
        for kind in OF_A_CLUSTER {
            let found = self.list(*kind).await?.into_iter();
            all.extend(found.map(|object| (*kind, object)));
        }
        Ok(all)
    }

    /// The Secrets with state that is not Terraform's own empty one.
    pub(super) async fn states(&self) -> anyhow::Result<Vec<Value>> {
        let mut secrets = self.list(SECRET).await?;
        secrets.retain(|secret| {
            let labels = &secret["metadata"]["labels"];
            labels["tfstate"] == "true" && labels["tfstateWorkspace"] != "default"
        });
        Ok(secrets)
    }

    /// Fails unless a network and a cluster were made once, and both are still there.
    pub(super) fn holds(&self, roles: &[&str]) -> anyhow::Result<()> {
        let made: Vec<String> = self.ledger.made()?.iter().map(|line| role(line)).collect();
        let gone = self.ledger.gone()?;
        ensure!(
            made == roles && gone.is_empty(),
            "{roles:?} should have been made and nothing destroyed; made: {made:?}, destroyed: {gone:?}"
        );
        Ok(())
    }

    /// Deletes the Cluster, and waits until nothing of it is left, be it an object or infrastructure.
    pub(super) async fn end(&self) -> anyhow::Result<()> {
        self.delete().await?;
        self.until_left("nothing", |left| left.is_empty()).await?;
        let (mut made, mut gone) = (self.ledger.made()?, self.ledger.gone()?);
        let last = gone.last().map(|line| role(line));
        ensure!(
            last.as_deref() == Some("vpc"),
            "the network should be the last to go; destroyed: {gone:?}"
        );
        made.sort();
        gone.sort();
        ensure!(
            made == gone,
            "all that was made should have been destroyed; made: {made:?}, destroyed: {gone:?}"
        );
        Ok(())
    }

    /// Deletes the Cluster, and waits until it is gone.
    pub(super) async fn delete(&self) -> anyhow::Result<()> {
        let objects = &self.side.objects;
        objects.delete(CLUSTER, &self.namespace, self.name).await?;
        match objects.until_gone(CLUSTER, &self.namespace, self.name).await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(self.told().await)),
        }
    }

    /// Waits until what is left of the cluster is as it should be. The garbage collector takes its time.
    pub(super) async fn until_left(
        &self,
        what: &str,
        is_so: impl Fn(&[String]) -> bool,
    ) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + objects::PATIENCE;
        loop {
            let left = self.left().await?;
            if is_so(&left) {
                return Ok(());
            }
            ensure!(
                tokio::time::Instant::now() < deadline,
                "{what} should be left, and these are: {left:?}"
            );
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    }

    /// What is left of a cluster.
    async fn left(&self) -> anyhow::Result<Vec<String>> {
        let all = self.everything().await?;
        Ok(all
            .iter()
            .map(|(kind, object)| format!("{} {}", kind.name(), name(object)))
            .filter(|text| !is_not_of_a_cluster(text))
            .collect())
    }

    /// How everything is, for a failure.
    pub(super) async fn told(&self) -> String {
        let mut text = String::from("how everything is:");
        for kind in [CLUSTER, NETWORK, CONTROL_PLANE, APPLY, WORKSPACE] {
            for object in self.list(kind).await.unwrap_or_default() {
                text += &format!(
                    "\n  {} {}: {}",
                    kind.name(),
                    name(&object),
                    objects::summary(&object)
                );
            }
        }
        text
    }
}

/// What a namespace has for other reasons: how long templates take, and the state that Terraform itself begins with.
fn is_not_of_a_cluster(text: &str) -> bool {
    let has_statistics = text.starts_with("ConfigMap ") && text.ends_with("-statistics");
    has_statistics
        || text == format!("Secret tfstate-default-{STATE_SUFFIX}")
        || text == format!("Lease lock-tfstate-default-{STATE_SUFFIX}")
}

/// The beginning of an object.
fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn role(line: &str) -> String {
    line.split(' ').next().unwrap_or_default().to_owned()
}

/// Whether the object belongs to this Cluster, as Cluster API says it.
pub(super) fn belongs_to_cluster(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let has_owner = owners
        .into_iter()
        .flatten()
        .any(|owner| owner["kind"] == CLUSTER.name() && owner["name"] == NAME);
    has_owner && object["metadata"]["labels"][foreign_marks::CLUSTER_NAME] == NAME
}
