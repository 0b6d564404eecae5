//! Which namespaces capt works in, and where it is installed.

use capt_core::tenancy::NamespaceSet;

use crate::{
    args,
    cmd::{namespaces::NamespaceArgs, refuse},
};

/// Which namespaces capt works in, and where it is installed.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("namespaces", |namespaces| namespaces.help(
    "Work in this namespace only, which has to exist; repeat it for several. Each gets a Role, and nothing grants Secrets of \
     other namespaces [default: all namespaces]"
)))]
pub(super) struct TenantArgs {
    #[command(flatten)]
    namespaces: NamespaceArgs,

    /// Namespace to install it in, which is created
    #[arg(long, value_name = "NAMESPACE", default_value = "capt-system", value_parser = args::namespace)]
    target_namespace: String,
}

impl TenantArgs {
    /// The namespace that it is installed in.
    pub(super) fn target(&self) -> &str {
        &self.target_namespace
    }

    /// The options of the process that name the namespaces.
    pub(super) fn options(&self) -> impl Iterator<Item = String> {
        let names = self.namespaces.names().iter();
        names.map(|name| format!("--namespace={name}"))
    }

    /// The namespaces that the process works in. Ends this process if it would have no rights in one of them.
    pub(super) fn checked(&self, of_process: &NamespaceArgs) -> NamespaceSet {
        let namespaces = of_process.set();
        refuse((namespaces != self.namespaces.set()).then(|| {
            "--namespace after -- grants no rights: write it before --, which passes it to the process too".to_owned()
        }));
        refuse_system_namespaces(self.namespaces.names().iter().map(String::as_str));
        refuse_system_namespaces([self.target()]);
        namespaces
    }
}

/// Ends the process if one of these is a namespace of Kubernetes' own, where capt gets no rights.
pub(super) fn refuse_system_namespaces<'a>(names: impl IntoIterator<Item = &'a str>) {
    let mut names = names.into_iter();
    let of_system = names.find(|name| name.starts_with("kube-"));
    refuse(of_system.map(|name| {
        format!(
            "{name} is a namespace of Kubernetes itself, and capt needs no rights there: name another one"
        )
    }));
}
