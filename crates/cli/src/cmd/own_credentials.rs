//! Which namespaces may use the AWS identity of the process.

use capt_core::tenancy::NamespaceSet;

use crate::args;

/// Which namespaces may use the AWS identity of the process.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct OwnCredentialsArgs {
    /// Let this namespace use the AWS identity of the process; repeat it for several, or write * for all. Tokens for its
    /// clusters may be signed with it, and its runs inherit AWS_* and read the files that these variables name: trust
    /// it with every cluster and account that this identity reaches [default: none; with `capt up` all]
    #[arg(long = "own-credentials", value_name = "NAMESPACE", value_parser = args::namespace_or_all)]
    own_credentials: Vec<String>,
}

impl OwnCredentialsArgs {
    /// The namespaces that were named, if any were.
    pub(crate) fn named(&self) -> Option<NamespaceSet> {
        let names = (!self.own_credentials.is_empty()).then(|| self.own_credentials.join(","));
        names.map(|names| NamespaceSet::parse(&names))
    }

    /// The namespaces that were named, or none.
    pub(crate) fn set(&self) -> NamespaceSet {
        self.named().unwrap_or_else(NamespaceSet::none)
    }
}
