//! Puts everything that is known about a CAPTCluster into a snapshot.

use capt_api::{CAPTCluster, references::WorkspaceTemplateReference};
use capt_core::{
    captcluster::{
        self, SecretSeen, Snapshot,
        snapshot::{self, ClusterSeen, SecretName, TemplateSeen},
    },
    owned::{self, OwnedSeen},
    wta::owner,
};

use super::CaptClusters;
use crate::{
    engine::{execute::Failure, key::ObjectKey, wakes::Reader},
    facts::{indexes, owned::connection_secret},
    grants::crd_obstacle,
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
        if let Some(unread) = facts.unread_applies(reader, namespace) {
            return Err(unread);
        }
        let cluster = snapshot::owner(&captcluster).and_then(|name| {
            let place = ObjectKey::within(namespace, name);
            facts.clusters.glance(reader, indexes::SPEC, &place)
        });
        let paused_by = match snapshot::owner(&captcluster) {
            Some(_) => None,
            None => facts.paused_by(reader, indexes::INFRASTRUCTURE, key),
        };
        let applies = facts.owned(
            reader,
            namespace,
            &owner::label("CAPTCluster", key.name()),
            &captcluster::apply_names(&captcluster),
        );
        let apply = captcluster::apply_of(&captcluster, &applies);
        let reference = captcluster.spec.vpc_template_ref.as_ref();
        let template_key = reference.map(|reference| template_key(namespace, reference));
        let template = match &template_key {
            Some(place) => facts.readable_template(reader, place).await,
            None => None,
        };
        let template = template.map(|view| TemplateSeen::of(&view.template));
        let revision = template.as_ref().map(|template| template.revision.as_str());
        let peers = match &template_key {
            Some(template) if owned::needs_peers(apply, revision) => {
                facts.peers(reader, namespace, apply, template)
            }
            _ => Vec::new(),
        };
        let workspace = match apply {
            Some(apply) => facts.workspace_of(reader, key, &apply.wta),
            None => {
                let name = captcluster::apply_name(&captcluster, &applies);
                facts.workspace_left_for(reader, namespace, &name)
            }
        };
        let left = match captcluster::name_left(&captcluster, &applies) {
            Some(name) => facts.left(&self.hands, reader, namespace, &name).await?,
            None => None,
        };
        let workspace_secret = workspace
            .as_deref()
            .and_then(|workspace| connection_secret(namespace, workspace))
            .map(|(namespace, name)| SecretName { namespace, name });
        let secrets = self
            .secrets(reader, &captcluster, apply, workspace_secret.as_ref())
            .await?;
        let crd_obstacle = match captcluster.metadata.deletion_timestamp {
            Some(_) => crd_obstacle(&self.hands.client).await?,
            None => None,
        };
        let control_planes = self.control_planes(reader, key, &captcluster, apply).await?;
        Ok(Some(Snapshot {
            cluster: cluster.as_deref().map(ClusterSeen::of),
            paused_by,
            control_planes,
            template,
            peers,
            workspace_uid: workspace.map(|workspace| workspace.uid.clone()),
            workspace_secret,
            crd_obstacle,
            left,
            secrets,
            captcluster: (*captcluster).clone(),
            applies,
        }))
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
