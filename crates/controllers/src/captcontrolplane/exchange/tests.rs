use capt_api::endpoint::ApiEndpoint;
use capt_core::controlplane::snapshot::Silence;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::captcontrolplane::prober::{Endpoints as _, NetworkEndpoints};

const SOON: Duration = Duration::from_secs(20);

/// A server that answers every connection with the same bytes, or with silence, and the authority that vouches for it.
async fn serve(answer: Option<&'static [u8]>) -> (u16, String) {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = ca.self_signed(&ca_key).unwrap().pem();
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not believe us ends the handshake.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = [0; 512];
            let _ = stream.read(&mut request).await;
            if let Some(answer) = answer {
                let _ = stream.write_all(answer).await;
                let _ = stream.shutdown().await;
            }
            kept.push(stream);
        }
    });
    (port, authority)
}

async fn get(port: u16, trust: Trust<'_>, deadline: Duration) -> Result<Response<Bytes>, ExchangeError> {
    let request = Request::get("/version").body(Full::default()).unwrap();
    let place = Place {
        host: "127.0.0.1",
        port,
        trust,
    };
    ask(place, request, deadline).await
}

#[tokio::test]
async fn any_status_of_whom_the_authority_vouches_for_is_an_answer() {
    for (bytes, status) in [
        (&b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"[..], 200),
        (
            &b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"[..],
            401,
        ),
        (
            &b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"[..],
            503,
        ),
    ] {
        let (port, authority) = serve(Some(bytes)).await;
        for trust in [Trust::Authority(&authority), Trust::Anybody] {
            let answer = get(port, trust, SOON).await.unwrap();
            assert_eq!(answer.status().as_u16(), status);
        }
    }
}

#[tokio::test]
async fn somebody_else_is_not_believed() {
    let (port, _) = serve(Some(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")).await;
    let (_, other) = serve(None).await;
    for trust in [Trust::Authority(&other), Trust::System] {
        let error = get(port, trust, SOON).await.unwrap_err();
        assert!(matches!(error, ExchangeError::Tls(_)), "{error:?}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_told_apart() {
    let (silent, authority) = serve(None).await;
    let error = get(silent, Trust::Authority(&authority), Duration::from_millis(50)).await;
    assert!(matches!(error, Err(ExchangeError::Deadline(_))), "{error:?}");
    let (mumbling, authority) = serve(Some(b"SSH-2.0-x\r\n")).await;
    let error = get(mumbling, Trust::Authority(&authority), SOON).await;
    assert!(matches!(error, Err(ExchangeError::Http(_))), "{error:?}");
    let (short, authority) = serve(Some(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok")).await;
    let error = get(short, Trust::Authority(&authority), SOON).await;
    assert!(matches!(error, Err(ExchangeError::Answer)), "{error:?}");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = listener.local_addr().unwrap().port();
    drop(listener);
    let error = get(closed, Trust::Authority(&authority), SOON).await;
    assert!(matches!(error, Err(ExchangeError::Connection(_))), "{error:?}");
    for nonsense in ["", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"] {
        let error = get(silent, Trust::Authority(nonsense), SOON).await;
        assert!(matches!(error, Err(ExchangeError::Authority)), "{error:?}");
    }
}

#[tokio::test]
async fn who_only_tells_a_status_answers_a_probe() {
    let (port, authority) = serve(Some(b"HTTP/1.0 200 OK\r\ncontent-length: 9\r\n\r\nok")).await;
    let endpoint = ApiEndpoint {
        host: "127.0.0.1".to_owned(),
        port: port.into(),
    };
    let answer = NetworkEndpoints.ask(&endpoint, Some(&authority)).await;
    assert_eq!(answer, Ok(()));
}

#[tokio::test]
async fn who_cannot_prove_to_be_whom_we_ask_is_told_from_who_is_not_there() {
    let (port, _) = serve(Some(b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok")).await;
    let (_, another) = serve(None).await;
    let at = |host: &str| ApiEndpoint {
        host: host.to_owned(),
        port: port.into(),
    };
    let stranger = NetworkEndpoints.ask(&at("127.0.0.1"), Some(&another)).await;
    let why = "this certificate authority did not sign its certificate";
    assert_eq!(stranger, Err(Silence::Stranger(why.to_owned())));
    let unreadable = NetworkEndpoints.ask(&at("127.0.0.1"), Some("nonsense")).await;
    assert_eq!(unreadable, Err(Silence::NoAuthority));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = listener.local_addr().unwrap().port();
    drop(listener);
    let nowhere = ApiEndpoint {
        port: closed.into(),
        ..at("127.0.0.1")
    };
    let nobody = NetworkEndpoints.ask(&nowhere, Some(&another)).await;
    assert!(matches!(nobody, Err(Silence::Nobody(_))), "{nobody:?}");
}
