//! Puts everything that is known about a WorkspaceTemplateApply into a snapshot.

use std::{collections::BTreeMap, sync::Arc};

use capt_api::{WorkspaceTemplateApply, foreign::marks as foreign_marks, marks, workspacetemplateapply};
use capt_core::{
    decision::Target,
    render::WorkspaceGroup,
    wta::{
        self, Snapshot, owner,
        snapshot::{
            self, Awaited, ClusterSeen, OwnerSeen, PendingPlan, ProviderConfigSeen, Served, StateSecretSeen,
            TemplateSeen, Usage, WorkspaceSeen,
        },
    },
};
use k8s_openapi::{api::core::v1::Namespace, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Resource, core::PartialObjectMeta};
use serde_json::Value;

use super::{Applies, kept_in, waits};
use crate::{
    engine::{
        call::within_deadline,
        execute::Failure,
        key::ObjectKey,
        table::{Serving, Table},
        wakes::Reader,
    },
    facts::{
        elsewhere::Sight,
        indexes::{self, within},
        views::HeldView,
    },
    grants::crd_obstacle,
};

/// What there is to decide about.
pub(super) enum Observed {
    /// There is no such object.
    Gone,
    /// It is for another instance of the controllers.
    NotOurs,
    /// Something that it depends on is being asked for; it is looked at again when that is known.
    Unknown,
    /// Everything.
    Known(Box<Snapshot>),
}

impl Applies {
    /// Everything that is known about an object.
    pub(super) async fn observe(&self, reader: &Reader, key: &ObjectKey) -> Result<Observed, Failure> {
        let Some(wta) = self.facts.applies.get(reader, key) else {
            return Ok(Observed::Gone);
        };
        if !self.is_to_be_looked_after(reader, key, &wta) {
            return Ok(Observed::NotOurs);
        }
        let Some(mut snapshot) = self.first_facts(reader, key, &wta) else {
            return Ok(Observed::Unknown);
        };
        (snapshot.rendering, snapshot.unknown_variables) = self.renderings.render(key, &snapshot);
        let (progress, pending_plan, used_approval) = self.told_by_runner(reader, &snapshot);
        snapshot.progress = progress;
        snapshot.pending_plan = pending_plan;
        snapshot.used_approval = used_approval;
        snapshot.provider_config = self.provider_config(reader, key, &snapshot);
        snapshot.state_secrets = self.state_secrets(reader, key, &snapshot);
        snapshot.missing_inputs = self.missing_inputs(reader, key, &snapshot).await?;
        snapshot.namespace_terminating = self.is_namespace_terminating(reader, key, &snapshot).await?;
        if wta.metadata.deletion_timestamp.is_some() {
            snapshot.crd_obstacle = crd_obstacle(&self.client).await?;
        }
        Ok(Observed::Known(Box::new(snapshot)))
    }

    /// Whether the object is for this instance of the controllers: by its owner, or, if it has none of our kinds, by its own
    /// label. One whose owner is gone is for whoever finds it, because somebody has to say so.
    fn is_to_be_looked_after(&self, reader: &Reader, key: &ObjectKey, wta: &WorkspaceTemplateApply) -> bool {
        if self.options.watch_filter.is_none() {
            return true;
        }
        let Some(label) = owner::recorded(wta).filter(|_| owner::silent(wta).is_none()) else {
            return self.options.are_for(&wta.metadata);
        };
        let label = within(key.namespace(), &label);
        let facts = &self.facts;
        let is_for_us = |metadata: &ObjectMeta| self.options.are_for(metadata);
        of_owner(&facts.captclusters, reader, &label, is_for_us)
            .or_else(|| of_owner(&facts.captcontrolplanes, reader, &label, is_for_us))
            .unwrap_or(true)
    }

    /// What does not depend on the rendering, if all of it is known.
    fn first_facts(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        wta: &WorkspaceTemplateApply,
    ) -> Option<Snapshot> {
        let template = self.template(reader, key, wta);
        let awaited_workspaces = self.awaited_workspaces(reader, key, wta);
        let facts = &self.facts;
        let labels = wta.metadata.labels.as_ref();
        let cluster = labels.and_then(|labels| labels.get(foreign_marks::CLUSTER_NAME));
        Some(Snapshot {
            wta: wta.clone(),
            namespace_terminating: false,
            crd_obstacle: None,
            cluster: cluster
                .and_then(|name| {
                    let place = ObjectKey::within(key.namespace(), name);
                    facts.clusters.glance(reader, indexes::SPEC, &place)
                })
                .map(|cluster| ClusterSeen {
                    paused: cluster.spec.paused == Some(true),
                }),
            owner: self.owner(reader, key, wta),
            template: template?,
            rendering: Err(Vec::new()),
            unknown_variables: Vec::new(),
            kept: facts
                .renderings
                .get(reader, &kept_in(key))
                .map(|kept| kept.read()),
            workspaces: self.workspaces(reader, key, wta),
            served: Served {
                namespaced: serving(&facts.workspaces, reader),
                cluster_scoped: serving(&facts.cluster_workspaces, reader),
                preferred: self.options.workspace_api,
            },
            awaited_secrets: self.awaited_secrets(reader, key, wta),
            awaited_workspaces: awaited_workspaces?,
            waits: waits::graph(&facts.applies, reader, key),
            missing_inputs: Vec::new(),
            runner: self.options.runner.clone(),
            provider_config: None,
            state_secrets: Vec::new(),
            pending_plan: None,
            used_approval: None,
            progress: None,
        })
    }

    fn owner(&self, reader: &Reader, key: &ObjectKey, wta: &WorkspaceTemplateApply) -> Option<OwnerSeen> {
        let label = within(key.namespace(), &owner::recorded(wta)?);
        let facts = &self.facts;
        of_owner(&facts.captclusters, reader, &label, |metadata| {
            owner_seen(metadata, false)
        })
        .or_else(|| {
            of_owner(&facts.captcontrolplanes, reader, &label, |metadata| {
                owner_seen(metadata, true)
            })
        })
    }

    /// The template that an object refers to. Nothing at all if that is not known yet.
    fn template(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        wta: &WorkspaceTemplateApply,
    ) -> Option<Option<TemplateSeen>> {
        let reference = &wta.spec.template_ref;
        let namespace = reference.namespace.as_deref().unwrap_or(key.namespace());
        let place = ObjectKey::within(namespace, &reference.name);
        match self.facts.template(reader, &place) {
            Sight::Unknown => None,
            Sight::Absent => Some(None),
            Sight::Hidden => Some(Some(TemplateSeen {
                namespace: namespace.to_owned(),
                hidden: true,
                ..TemplateSeen::default()
            })),
            Sight::There(view) => Some(Some(view.seen(namespace))),
        }
    }

    fn awaited_secrets(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        wta: &WorkspaceTemplateApply,
    ) -> Vec<Awaited> {
        let references = wta.spec.wait_for_secrets.iter().flatten();
        references
            .map(|reference| {
                let namespace = reference.namespace.as_deref().unwrap_or(key.namespace());
                let secret = self
                    .facts
                    .secrets
                    .get(reader, &ObjectKey::within(namespace, &reference.name));
                Awaited {
                    other_namespace: (namespace != key.namespace()).then(|| namespace.to_owned()),
                    name: reference.name.clone(),
                    not_shared: false,
                    hidden: false,
                    exists: secret.is_some(),
                    ready: secret.is_some(),
                    trouble: None,
                }
            })
            .collect()
    }

    /// What is waited for. Nothing at all if that is not known yet.
    fn awaited_workspaces(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        wta: &WorkspaceTemplateApply,
    ) -> Option<Vec<Awaited>> {
        let references = wta.spec.wait_for_workspaces.iter().flatten();
        references
            .map(|reference| {
                let namespace = reference.namespace.as_deref().unwrap_or(key.namespace());
                let place = ObjectKey::within(namespace, &reference.name);
                let seen = self.facts.workspace(reader, &place);
                let whole = ObjectKey::cluster_scoped(&reference.name);
                let workspace = match &seen {
                    Sight::There(workspace) => Some(workspace.clone()),
                    _ => self.facts.cluster_workspaces.get(reader, &whole),
                };
                if workspace.is_none() && seen == Sight::Unknown {
                    return None;
                }
                let is_here = namespace == key.namespace();
                let is_ours = is_here && matches!(seen, Sight::There(_));
                // What is not shared looks like what does not exist.
                let workspace = workspace
                    .as_deref()
                    .filter(|workspace| is_ours || waits::is_shared(workspace, key.namespace()));
                let trouble = workspace.and_then(wta::snapshot::trouble);
                Some(Awaited {
                    trouble: trouble.map(|trouble| match is_ours {
                        true => trouble,
                        false => "it says why".to_owned(),
                    }),
                    other_namespace: (namespace != key.namespace()).then(|| namespace.to_owned()),
                    name: reference.name.clone(),
                    not_shared: workspace.is_none() && !is_here && seen != Sight::Hidden,
                    hidden: workspace.is_none() && seen == Sight::Hidden,
                    exists: workspace.is_some(),
                    ready: workspace.is_some_and(|workspace| workspace.is("Ready") && !workspace.deleting),
                })
            })
            .collect()
    }

    /// How far our runner is, whether it waits for an approval, and which approval is used up.
    fn told_by_runner(
        &self,
        reader: &Reader,
        snapshot: &Snapshot,
    ) -> (
        Option<workspacetemplateapply::WorkspaceProgress>,
        Option<PendingPlan>,
        Option<String>,
    ) {
        let workspace =
            wta::workspace_of(snapshot).filter(|workspace| workspace.used_by_provider != Usage::Yes);
        let Some(workspace) = workspace else {
            return (None, None, None);
        };
        let told = self.facts.reports.find(reader, indexes::RUN_OF, &workspace.uid);
        let own = snapshot.wta.metadata.namespace.as_deref().unwrap_or_default();
        // Labels can be written in any namespace.
        let Some((_, view)) = told.into_iter().find(|(place, _)| place.namespace() == own) else {
            return (None, None, None);
        };
        let plan = view.report.plan.as_ref().filter(|plan| plan.awaits_approval);
        let pending = plan.map(|plan| PendingPlan {
            id: plan.id.clone(),
            summary: plan.summary.clone(),
        });
        let used_approval = view.report.answered.get(capt_api::marks::APPROVED).cloned();
        (view.report.progress.clone(), pending, used_approval)
    }

    /// The provider configuration that the Workspace uses, or would use.
    fn provider_config(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        snapshot: &Snapshot,
    ) -> Option<ProviderConfigSeen> {
        let workspace = wta::workspace_of(snapshot);
        let kept = snapshot.kept.as_ref().and_then(|seen| seen.kept.as_ref());
        let fresh = snapshot.rendering.as_ref().ok();
        let spec = workspace
            .map(|workspace| &workspace.spec)
            .or_else(|| kept.map(|kept| &kept.rendering.spec))
            .or_else(|| fresh.map(|rendered| &rendered.spec))?;
        let group = workspace
            .and_then(|workspace| workspace.group)
            .or_else(|| kept.and_then(|kept| WorkspaceGroup::from_name(&kept.location.group)))
            .or_else(|| wta::place_of(snapshot).map(|(group, _)| group))?;
        let field = |name| {
            spec.pointer("/providerConfigRef")
                .and_then(|reference| reference.get(name))
                .and_then(Value::as_str)
        };
        let name = field("name").unwrap_or("default");
        let facts = &self.facts;
        let (table, place) = match (group, field("kind")) {
            (WorkspaceGroup::ClusterScoped, _) => {
                (&facts.legacy_provider_configs, ObjectKey::cluster_scoped(name))
            }
            (WorkspaceGroup::Namespaced, Some("ProviderConfig")) => {
                (&facts.provider_configs, ObjectKey::within(key.namespace(), name))
            }
            (WorkspaceGroup::Namespaced, _) => {
                (&facts.cluster_provider_configs, ObjectKey::cluster_scoped(name))
            }
        };
        let found = table.get(reader, &place).map(|config| (*config).clone());
        let hidden = || ProviderConfigSeen {
            hidden: true,
            ..ProviderConfigSeen::default()
        };
        found.or_else(|| table.is_hidden(reader).then(hidden))
    }

    /// Secrets with the state: by the labels of the kubernetes backend, and, because anybody can strip those, by what our
    /// runner wrote on them.
    fn state_secrets(&self, reader: &Reader, key: &ObjectKey, snapshot: &Snapshot) -> Vec<StateSecretSeen> {
        let Some(external_name) = wta::external_name_of(snapshot) else {
            return Vec::new();
        };
        let secrets = &self.facts.secrets;
        let by_label = secrets.find(
            reader,
            indexes::STATE_OF,
            &within(key.namespace(), &external_name),
        );
        let by_claim = wta::place_of(snapshot).map(|(group, name)| {
            let namespace = match group {
                WorkspaceGroup::Namespaced => key.namespace(),
                WorkspaceGroup::ClusterScoped => "",
            };
            let claim = format!("{}/{namespace}/{name}", group.name());
            secrets.find(reader, indexes::CLAIM, &within(key.namespace(), &claim))
        });
        let all: BTreeMap<ObjectKey, Arc<HeldView>> = by_label
            .into_iter()
            .chain(by_claim.into_iter().flatten())
            .collect();
        all.into_iter()
            .map(|(place, secret)| StateSecretSeen {
                name: place.name().to_owned(),
                uid: secret.uid.clone(),
                deleting: secret.deleting,
                moves: secret.moves,
                is_held: secret.is_held,
            })
            .collect()
    }

    /// Whether the namespace goes away. The deletion of an object in it may be known sooner than its own, so that it is
    /// asked for where infrastructure could be destroyed, or something made that the API would not refuse.
    async fn is_namespace_terminating(
        &self,
        reader: &Reader,
        key: &ObjectKey,
        snapshot: &Snapshot,
    ) -> Result<bool, Failure> {
        let place = ObjectKey::cluster_scoped(key.namespace());
        let known = self.facts.namespaces.get(reader, &place);
        let is_known = known.is_some();
        let is_known_to_go = known.is_some_and(|namespace| namespace.terminating);
        let makes_something = wta::workspace_of(snapshot).is_none() || snapshot.kept.is_none();
        let is_asked = snapshot.wta.metadata.deletion_timestamp.is_some()
            || (makes_something && !(is_known && is_made_within(snapshot)));
        if is_known_to_go || !is_asked {
            return Ok(is_known_to_go);
        }
        let api: Api<Namespace> = Api::all(self.client.clone());
        let found: Option<PartialObjectMeta<Namespace>> =
            within_deadline(api.get_metadata_opt(key.namespace()))
                .await
                .map_err(|source| Failure::Call {
                    action: "look at",
                    target: Target {
                        api_version: "v1".to_owned(),
                        kind: "Namespace".to_owned(),
                        namespace: None,
                        name: key.namespace().to_owned(),
                    },
                    source,
                })?;
        Ok(found.is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_some()))
    }
}

/// Whether everything that is made for an object is in its own namespace. The API makes nothing in one that goes, however
/// late we hear of that.
fn is_made_within(snapshot: &Snapshot) -> bool {
    let place = wta::place_of(snapshot);
    place.is_none_or(|(group, _)| group == WorkspaceGroup::Namespaced)
}

/// Whether the Workspaces of a group are known. Where nobody knows yet there may be some.
fn serving(table: &Table<WorkspaceSeen>, reader: &Reader) -> snapshot::Serving {
    match table.serving(reader) {
        Serving::No => snapshot::Serving::No,
        Serving::Unknown | Serving::Hidden => snapshot::Serving::Hidden,
        Serving::Yes => snapshot::Serving::Yes,
    }
}

/// What is read from the metadata of an owner of a kind, by the label that it is recorded by.
fn of_owner<T: PartialEq + Resource, S>(
    table: &Table<T>,
    reader: &Reader,
    label: &str,
    read: impl FnOnce(&ObjectMeta) -> S,
) -> Option<S> {
    let key = table.members(reader, indexes::LABEL, label).into_iter().next()?;
    let owner = table.glance(reader, indexes::OWNERSHIP, &key)?;
    Some(read(owner.meta()))
}

fn owner_seen(metadata: &ObjectMeta, takes_turns: bool) -> OwnerSeen {
    let annotations = metadata.annotations.as_ref();
    OwnerSeen {
        deleting: metadata.deletion_timestamp.is_some(),
        paused: annotations.is_some_and(|annotations| annotations.contains_key(foreign_marks::PAUSED)),
        takes_turns,
        turn: annotations.and_then(|annotations| annotations.get(marks::TURN).cloned()),
        cluster: metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(foreign_marks::CLUSTER_NAME).cloned()),
    }
}
