//! From the union of both groups of Workspaces, which templates are written in, to one of them.

use capt_api::{
    foreign::{
        forprovider::KeyReference,
        workspace::{
            ClusterWorkspaceSpec, DeletionPolicy, LocalSecretReference, ManagementPolicy,
            ProviderConfigReference, WorkspaceSpec,
        },
    },
    references::SecretReference,
    workspacetemplate::WorkspaceBlueprint,
};
use serde::{Deserialize, Serialize};

use super::problem::RenderProblem;

const SPEC: &str = "spec.template.spec";
const CLUSTER_PROVIDER_CONFIG: &str = "ClusterProviderConfig";
const PROVIDER_CONFIG: &str = "ProviderConfig";
/// The provider configuration that is meant where none is named.
const DEFAULT_PROVIDER_CONFIG: &str = "default";

/// A group of Workspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WorkspaceGroup {
    /// `tf.m.upbound.io`, whose Workspaces are in namespaces.
    Namespaced,
    /// `tf.upbound.io`, whose Workspaces are not.
    ClusterScoped,
}

impl WorkspaceGroup {
    /// The name of the API group.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespaced => "tf.m.upbound.io",
            Self::ClusterScoped => "tf.upbound.io",
        }
    }

    /// The group of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Namespaced, Self::ClusterScoped]
            .into_iter()
            .find(|group| group.name() == name)
    }
}

/// What becomes of references to ConfigMaps and Secrets in other namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ForeignNamespaces {
    /// They are problems.
    #[default]
    Refuse,
    /// They stay and are reported, where a Workspace can have them: for objects taken over from the Go implementation.
    Report,
}

/// The spec of a Workspace without its management policies, which say what may be done now, and which no template
/// can know.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RenderedSpec {
    /// Of a namespaced Workspace.
    Namespaced(WorkspaceSpec),
    /// Of a cluster-scoped Workspace.
    ClusterScoped(ClusterWorkspaceSpec),
}

/// What a template says about its Workspace besides the spec.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The infrastructure must never be destroyed: the template has the policy `Orphan`, or policies without Delete.
    pub retain: bool,
    /// The template's own policies. What the Workspace is allowed must not go beyond them.
    pub management_policies: Option<Vec<ManagementPolicy>>,
    /// The Secret that the outputs are written to, with its namespace.
    pub connection_secret: Option<SecretReference>,
    /// References that lead to other namespaces, if those are reported.
    pub foreign: Vec<ForeignReference>,
}

/// A reference that leads to another namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignReference {
    /// Where the namespace is named.
    pub path: String,
    /// The namespace.
    pub namespace: String,
}

/// A Secret for the outputs, and where it is named.
pub(super) struct ConnectionSecret {
    pub(super) secret: SecretReference,
    pub(super) path: &'static str,
}

/// Where a Workspace is made.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) group: WorkspaceGroup,
    pub(super) namespace: &'a str,
    pub(super) foreign_namespaces: ForeignNamespaces,
}

/// The spec for one group, from a template whose holes are filled.
pub(super) fn fit(
    blueprint: WorkspaceBlueprint,
    connection_secret: Option<ConnectionSecret>,
    target: Target<'_>,
) -> Result<(RenderedSpec, Facts), Vec<RenderProblem>> {
    let mut fitting = Fitting {
        target,
        foreign: Vec::new(),
        problems: Vec::new(),
    };
    let spec = fitting.spec(blueprint, connection_secret);
    if fitting.problems.is_empty() {
        let (spec, mut facts) = spec;
        facts.foreign = fitting.foreign;
        Ok((spec, facts))
    } else {
        Err(fitting.problems)
    }
}

struct Fitting<'a> {
    target: Target<'a>,
    foreign: Vec<ForeignReference>,
    problems: Vec<RenderProblem>,
}

impl Fitting<'_> {
    fn spec(
        &mut self,
        blueprint: WorkspaceBlueprint,
        connection_secret: Option<ConnectionSecret>,
    ) -> (RenderedSpec, Facts) {
        let mut facts = Facts {
            retain: is_retained(&blueprint),
            management_policies: blueprint.management_policies,
            ..Facts::default()
        };
        let mut for_provider = blueprint.for_provider;
        for (index, variable) in for_provider.env.iter_mut().flatten().enumerate() {
            let path = format!("{SPEC}.forProvider.env[{index}]");
            self.key_references(
                &path,
                &mut variable.config_map_key_ref,
                &mut variable.secret_key_ref,
            );
        }
        for (index, file) in for_provider.var_files.iter_mut().flatten().enumerate() {
            let path = format!("{SPEC}.forProvider.varFiles[{index}]");
            self.key_references(&path, &mut file.config_map_key_ref, &mut file.secret_key_ref);
        }
        let connection_secret = connection_secret.map(|ConnectionSecret { mut secret, path }| {
            self.namespace(&mut secret.namespace, || format!("{path}.namespace"));
            secret
        });
        facts.connection_secret = connection_secret.clone().map(|mut secret| {
            secret
                .namespace
                .get_or_insert_with(|| self.target.namespace.to_owned());
            secret
        });
        let provider_config_ref = Some(self.provider_config(blueprint.provider_config_ref.unwrap_or_else(
            || ProviderConfigReference {
                name: DEFAULT_PROVIDER_CONFIG.to_owned(),
                ..ProviderConfigReference::default()
            },
        )));
        let publish = blueprint.publish_connection_details_to;
        let spec = match self.target.group {
            WorkspaceGroup::Namespaced => {
                if publish.is_some() {
                    let path = format!("{SPEC}.publishConnectionDetailsTo");
                    self.problems.push(RenderProblem::NotInGroup {
                        path,
                        group: self.target.group.name(),
                    });
                }
                RenderedSpec::Namespaced(WorkspaceSpec {
                    for_provider,
                    management_policies: None,
                    provider_config_ref,
                    write_connection_secret_to_ref: connection_secret
                        .map(|secret| LocalSecretReference { name: secret.name }),
                })
            }
            WorkspaceGroup::ClusterScoped => RenderedSpec::ClusterScoped(ClusterWorkspaceSpec {
                for_provider,
                management_policies: None,
                // Delete is what is meant without it. Orphan stays, as a second lock besides the policies.
                deletion_policy: blueprint
                    .deletion_policy
                    .filter(|policy| *policy == DeletionPolicy::Orphan),
                provider_config_ref,
                write_connection_secret_to_ref: connection_secret,
                publish_connection_details_to: publish,
            }),
        };
        (spec, facts)
    }

    fn key_references(
        &mut self,
        path: &str,
        config_map: &mut Option<KeyReference>,
        secret: &mut Option<KeyReference>,
    ) {
        for (field, reference) in [("configMapKeyRef", config_map), ("secretKeyRef", secret)] {
            if let Some(reference) = reference {
                self.namespace(&mut reference.namespace, || format!("{path}.{field}.namespace"));
            }
        }
    }

    /// Namespaced Workspaces name no namespace; the others must.
    fn namespace(&mut self, namespace: &mut Option<String>, path: impl Fn() -> String) {
        let own = self.target.namespace;
        let is_namespaced = self.target.group == WorkspaceGroup::Namespaced;
        match namespace {
            Some(other) if other != own => {
                if !is_namespaced && self.target.foreign_namespaces == ForeignNamespaces::Report {
                    self.foreign.push(ForeignReference {
                        path: path(),
                        namespace: other.clone(),
                    });
                } else {
                    self.problems.push(RenderProblem::ForeignNamespace {
                        path: path(),
                        namespace: other.clone(),
                        own: own.to_owned(),
                    });
                }
            }
            _ if is_namespaced => *namespace = None,
            _ => *namespace = Some(own.to_owned()),
        }
    }

    fn provider_config(&mut self, mut reference: ProviderConfigReference) -> ProviderConfigReference {
        match reference.kind.as_deref() {
            None | Some(CLUSTER_PROVIDER_CONFIG | PROVIDER_CONFIG) => {}
            Some(kind) => self.problems.push(RenderProblem::ProviderConfigKind {
                path: format!("{SPEC}.providerConfigRef.kind"),
                kind: kind.to_owned(),
            }),
        }
        match self.target.group {
            WorkspaceGroup::Namespaced => {
                reference
                    .kind
                    .get_or_insert_with(|| CLUSTER_PROVIDER_CONFIG.to_owned());
                reference.policy = None;
            }
            // There is one kind only, which has no name in the reference.
            WorkspaceGroup::ClusterScoped => reference.kind = None,
        }
        reference
    }
}

/// Whether a template forbids to destroy. `Orphan` does so even beside a policy that allows it: of two answers to
/// such a question, the one that can be taken back counts.
fn is_retained(blueprint: &WorkspaceBlueprint) -> bool {
    let may_delete = blueprint.management_policies.as_ref().is_none_or(|policies| {
        policies
            .iter()
            .any(|policy| matches!(policy, ManagementPolicy::Delete | ManagementPolicy::All))
    });
    blueprint.deletion_policy == Some(DeletionPolicy::Orphan) || !may_delete
}
