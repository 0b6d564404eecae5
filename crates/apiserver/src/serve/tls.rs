//! TLS as the server speaks it, and who a client's certificate says it is.

use std::sync::Arc;

pub use rustls::ServerConfig;
use rustls::{
    RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
    server::WebPkiClientVerifier,
};

use super::{
    certs::{Facts, Pki},
    identity::Identity,
};

/// Why TLS cannot be set up with the certificates there are.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate or key is unreadable.
    #[error("the server's certificates are unreadable: {0}")]
    Unreadable(String),
    /// The certificates do not work together.
    #[error("the server's certificates are unusable")]
    Unusable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The server's side of TLS: HTTP/2 is preferred, and a client may show a certificate but need not.
///
/// A certificate that the authority did not issue ends the connection; the absence of one is for
/// [`auth`](super::auth) to judge, since a token or a health check needs none.
pub fn server_config(pki: &Pki) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let authority = CertificateDer::from_pem_slice(pki.ca_certificate.as_bytes())
        .map_err(|error| TlsError::Unreadable(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    roots.add(authority).map_err(unusable)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(unusable)?;
    let certificate = pki.server.certificate_der().map_err(TlsError::Unreadable)?;
    let key = pki.server.key_der().map_err(TlsError::Unreadable)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate], key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The identity in a certificate that TLS has verified: the common name is the user, the organisations
/// are the groups. A certificate without a common name identifies nobody.
pub(super) fn identity_of(chain: &[CertificateDer<'_>]) -> Option<Identity> {
    let facts = Facts::of(chain.first()?).ok()?;
    Some(Identity::authenticated(facts.user?, facts.groups))
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> TlsError {
    TlsError::Unusable(Box::new(error))
}
