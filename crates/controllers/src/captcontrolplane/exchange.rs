//! One HTTP request over a connection of its own: for API servers of clusters that we look after, and for whoever hands
//! out credentials. Few requests, to many places, are not worth keeping connections for.
//!
//! This module must never know what is asked, and never follows where an answer leads.

use std::{io, sync::Arc, time::Duration};

use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use rustls::{
    CertificateError, ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

mod anybody;

/// No answer that we ask for is longer.
const MAX_ANSWER: usize = 64 * 1024;

/// Whom to believe.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trust<'a> {
    /// Whoever a certificate authority vouches for, which is given as PEM.
    Authority(&'a str),
    /// Whoever this machine believes.
    System,
    /// Whoever answers. Nothing may be sent that is worth anything.
    Anybody,
    /// Whoever answers, without TLS: only for addresses that do not leave the machine.
    Plain,
}

/// Where to ask, and whom to believe there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// Host name or IP address.
    pub(super) host: &'a str,
    /// Port.
    pub(super) port: u16,
    /// Whom to believe.
    pub(super) trust: Trust<'a>,
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// The certificate authority cannot be read.
    #[error("the certificate authority is no PEM certificate")]
    Authority,
    /// There is nobody there.
    #[error("no connection")]
    Connection(#[source] io::Error),
    /// It is not whom we ask for, or does not speak TLS.
    #[error("no TLS connection")]
    Tls(#[source] io::Error),
    /// TLS cannot be used at all.
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
    /// The host is neither a name nor an address.
    #[error("{0} is neither a host name nor an IP address")]
    Host(String),
    /// It does not speak HTTP.
    #[error("no HTTP answer")]
    Http(#[source] hyper::Error),
    /// The answer cannot be used.
    #[error("the answer ended early or is too long")]
    Answer,
    /// There was no answer in time.
    #[error("no answer within {} seconds", .0.as_secs())]
    Deadline(Duration),
}

impl ExchangeError {
    /// What is wrong with the certificate of whoever answered, if that is why he is not believed.
    pub(super) fn distrust(&self) -> Option<&CertificateError> {
        let Self::Tls(error) = self else { return None };
        match error.get_ref()?.downcast_ref()? {
            rustls::Error::InvalidCertificate(problem) => Some(problem),
            _ => None,
        }
    }
}

/// Asks once, and waits for the answer only so long.
pub(super) async fn ask(
    place: Place<'_>,
    mut request: Request<Full<Bytes>>,
    deadline: Duration,
) -> Result<Response<Bytes>, ExchangeError> {
    let host = match (place.port, place.host.contains(':')) {
        (443, false) => place.host.to_owned(),
        (port, false) => format!("{}:{port}", place.host),
        (port, true) => format!("[{}]:{port}", place.host),
    };
    let host = header::HeaderValue::try_from(host).map_err(|_| ExchangeError::Host(place.host.to_owned()))?;
    request.headers_mut().entry(header::HOST).or_insert(host);
    let exchange = async {
        let stream = TcpStream::connect((place.host, place.port))
            .await
            .map_err(ExchangeError::Connection)?;
        let Some(config) = tls(place.trust)? else {
            return speak(stream, request).await;
        };
        let name = ServerName::try_from(place.host.to_owned())
            .map_err(|_| ExchangeError::Host(place.host.to_owned()))?;
        let stream = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .map_err(ExchangeError::Tls)?;
        speak(stream, request).await
    };
    match timeout(deadline, exchange).await {
        Ok(answer) => answer,
        Err(_) => Err(ExchangeError::Deadline(deadline)),
    }
}

async fn speak<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, ExchangeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(ExchangeError::Http)?;
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    let answer: Response<Incoming> = sender.send_request(request).await.map_err(ExchangeError::Http)?;
    let (parts, body) = answer.into_parts();
    let body = Limited::new(body, MAX_ANSWER)
        .collect()
        .await
        .map_err(|_| ExchangeError::Answer)?;
    Ok(Response::from_parts(parts, body.to_bytes()))
}

fn tls(trust: Trust<'_>) -> Result<Option<ClientConfig>, ExchangeError> {
    let provider = Arc::new(ring::default_provider());
    let builder = |provider: Arc<CryptoProvider>| {
        ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(ExchangeError::Setup)
    };
    let mut roots = RootCertStore::empty();
    match trust {
        Trust::Plain => return Ok(None),
        Trust::Anybody => {
            let verifier = Arc::new(anybody::Anybody::new(&provider));
            let config = builder(provider)?
                .dangerous()
                .with_custom_certificate_verifier(verifier)
                .with_no_client_auth();
            return Ok(Some(config));
        }
        Trust::Authority(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|_| ExchangeError::Authority)?;
                roots.add(certificate).map_err(|_| ExchangeError::Authority)?;
            }
            if roots.is_empty() {
                return Err(ExchangeError::Authority);
            }
        }
        Trust::System => {
            // What cannot be read is not believed, and whoever it would have vouched for is refused.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(Some(
        builder(provider)?
            .with_root_certificates(roots)
            .with_no_client_auth(),
    ))
}

#[cfg(test)]
mod tests;
