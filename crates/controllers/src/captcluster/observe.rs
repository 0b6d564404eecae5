//! Puts everything that is known about a CAPTCluster into a snapshot.

use capt_api::{CAPTCluster, references::WorkspaceTemplateReference};
use capt_core::{
    captcluster::{
        self, SecretSeen, Snapshot,
        snapshot::{self, ClusterSeen, SecretName, TemplateSeen},
    },
    owned::{self, OwnedSeen},
    render::WorkspaceGroup,
    wta::owner,
};
use serde_json::Value;

use super::CaptClusters;
use crate::{
    engine::{execute::Failure, key::ObjectKey, wakes::Reader},
    facts::indexes,
};

impl CaptClusters {
    /// Everything that is known about an object, if there is such an object and it is ours to look after.
    pub(super) async fn observe(
        &self,
        reader: &Reader,
        key: &ObjectKey,
    ) -> Result<Option<Snapshot>, Failure> {
        let facts = &self.hands.facts;
        let found = facts.captclusters.get(reader, key);
        let Some(captcluster) = found.filter(|found| self.hands.options.are_for(&found.metadata)) else {
            return Ok(None);
        };
        let namespace = key.namespace();
        let cluster = snapshot::owner(&captcluster).and_then(|name| {
            let place = ObjectKey::within(namespace, name);
            facts.clusters.glance(reader, indexes::SPEC, &place)
        });
        let applies = facts.owned(
            reader,
            namespace,
            &owner::label("CAPTCluster", &key.name),
            &captcluster::apply_names(&captcluster),
        );
        let apply = captcluster::apply_of(&captcluster, &applies);
        let reference = captcluster.spec.vpc_template_ref.as_ref();
        let template_key = reference.map(|reference| template_key(namespace, reference));
        let template = match &template_key {
            Some(place) => facts.readable_template(reader, place).await,
            None => None,
        };
        let template =
            template.map(|view| TemplateSeen::with_revision(&view.template, view.revision.clone()));
        let revision = template.as_ref().map(|template| template.revision.as_str());
        let peers = match &template_key {
            Some(template) if owned::needs_peers(apply, revision) => facts.peers(reader, apply, template),
            _ => Vec::new(),
        };
        let workspace_secret = apply.and_then(|apply| self.workspace_secret(reader, key, apply));
        let secrets = self
            .secrets(reader, &captcluster, apply, workspace_secret.as_ref())
            .await?;
        let control_planes = self.control_planes(reader, key, &captcluster, apply).await?;
        Ok(Some(Snapshot {
            cluster: cluster.as_deref().map(ClusterSeen::of),
            control_planes,
            template,
            peers,
            workspace_secret,
            secrets,
            captcluster: (*captcluster).clone(),
            applies,
        }))
    }

    /// The Secret that the Workspace of the network writes.
    fn workspace_secret(&self, reader: &Reader, key: &ObjectKey, apply: &OwnedSeen) -> Option<SecretName> {
        let workspace = self.hands.facts.workspace_of(reader, key, &apply.wta)?;
        let reference = workspace.spec.get("writeConnectionSecretToRef")?;
        let field = |name: &str| reference.get(name).and_then(Value::as_str);
        let namespace = match workspace.group {
            Some(WorkspaceGroup::ClusterScoped) => field("namespace")?,
            _ => key.namespace(),
        };
        Some(SecretName {
            namespace: namespace.to_owned(),
            name: field("name")?.to_owned(),
        })
    }

    async fn secrets(
        &self,
        reader: &Reader,
        captcluster: &CAPTCluster,
        apply: Option<&OwnedSeen>,
        workspace_secret: Option<&SecretName>,
    ) -> Result<Vec<SecretSeen>, Failure> {
        let mut seen = Vec::new();
        for name in captcluster::secrets_to_read(captcluster, apply, workspace_secret) {
            let place = ObjectKey::within(&name.namespace, &name.name);
            if let Some(secret) = self.hands.secrets.get(reader, &place).await? {
                seen.push(SecretSeen::of(&secret));
            }
        }
        Ok(seen)
    }
}

fn template_key(namespace: &str, reference: &WorkspaceTemplateReference) -> ObjectKey {
    ObjectKey::within(
        reference.namespace.as_deref().unwrap_or(namespace),
        &reference.name,
    )
}
