//! TLS, who may come in, and the file that tells clients so.

use std::{net::SocketAddr, sync::Arc, time::SystemTime};

use apiary::{
    Identity,
    serve::{
        Authenticator, Kubeconfig, Pki, PkiRequest,
        certs::Token,
        tls::{self, ServerConfig},
    },
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::place::Place;
use crate::listen::ListenAddress;

/// What the context in the kubeconfig is called.
const CONTEXT: &str = "capt";
const ADMIN_USER: &str = "capt-admin";
const ADMIN_GROUP: &str = "system:masters";

/// What a client without a certificate of its own has to know.
#[derive(Clone)]
pub(super) struct Showing {
    pub(super) url: String,
    pub(super) token: Token,
    ca_certificate: String,
}

impl Showing {
    /// The certificate authority, as a kubeconfig has it.
    pub(super) fn ca_data(&self) -> String {
        STANDARD.encode(&self.ca_certificate)
    }
}

/// How clients get in.
pub(super) struct Door {
    pub(super) tls: Arc<ServerConfig>,
    pub(super) authenticator: Arc<Authenticator>,
    /// For the clients; not written yet.
    pub(super) kubeconfig: Kubeconfig,
    pub(super) showing: Showing,
}

impl Door {
    /// Makes certificates as needed, and the kubeconfig for a server at `address`.
    pub(super) fn prepare(
        listen: &ListenAddress,
        place: &Place,
        address: SocketAddr,
    ) -> anyhow::Result<Self> {
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "other machines can reach this address; they need the kubeconfig to get in");
        }
        let request = PkiRequest {
            server_names: listen.names(address),
            admin_user: ADMIN_USER.to_owned(),
            admin_group: ADMIN_GROUP.to_owned(),
            now: SystemTime::now(),
        };
        let pki = Pki::load_or_create(&place.dir().join("pki"), &request)?;
        let identity = Identity::authenticated(ADMIN_USER, [ADMIN_GROUP.to_owned()]);
        let authenticator = Arc::new(Authenticator::new(&pki.token, identity));
        Ok(Self {
            tls: tls::server_config(&pki)?,
            authenticator,
            kubeconfig: Kubeconfig::for_admin(CONTEXT, listen.url(address), &pki),
            showing: Showing {
                url: listen.url(address),
                token: pki.token,
                ca_certificate: pki.ca_certificate,
            },
        })
    }
}
