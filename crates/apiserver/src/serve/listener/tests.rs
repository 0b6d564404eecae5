use std::time::SystemTime;

use axum::{Extension, routing::get};
use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, Empty};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;

use super::{
    super::{
        certs::{Credential, Pki, PkiRequest},
        identity::Identity,
    },
    *,
};

struct Server {
    pki: Pki,
    serving: Serving,
}

fn pki() -> Pki {
    let dir = tempfile::tempdir().unwrap();
    let request = PkiRequest {
        server_names: Vec::new(),
        admin_user: "admin".to_owned(),
        admin_group: "system:masters".to_owned(),
        now: SystemTime::now(),
    };
    Pki::load_or_create(dir.path(), &request).unwrap()
}

async fn start(api: Router, limits: Limits) -> Server {
    let pki = pki();
    let token_identity = Identity::authenticated("token-user", []);
    let authenticator = Arc::new(Authenticator::new(&pki.token, token_identity));
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let serving = listener.serve(tls::server_config(&pki).unwrap(), authenticator, api, &limits);
    Server { pki, serving }
}

impl Server {
    async fn connect(&self, alpn: &str, client: Option<&Credential>) -> io::Result<TlsStreamToServer> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.pki.ca_certificate.as_bytes()).unwrap())
            .unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match client {
            Some(client) => config
                .with_client_auth_cert(vec![client.certificate_der().unwrap()], client.key_der().unwrap())
                .unwrap(),
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.serving.local_addr()).await?;
        TlsConnector::from(Arc::new(config))
            .connect(ServerName::try_from("localhost").unwrap(), stream)
            .await
    }

    /// Sends one GET on a connection of its own.
    async fn get(
        &self,
        alpn: &str,
        client: Option<&Credential>,
        path: &str,
    ) -> Result<http::Response<Incoming>, String> {
        let stream = TokioIo::new(
            self.connect(alpn, client)
                .await
                .map_err(|error| error.to_string())?,
        );
        let request = Request::builder()
            .uri(format!("https://localhost{path}"))
            .header("host", "localhost")
            .body(Empty::<Bytes>::new())
            .unwrap();
        let answer = match alpn {
            "h2" => {
                let (mut sender, connection) =
                    hyper::client::conn::http2::handshake(TokioExecutor::new(), stream)
                        .await
                        .unwrap();
                tokio::spawn(connection);
                sender.send_request(request).await
            }
            _ => {
                let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
                tokio::spawn(connection);
                sender.send_request(request).await
            }
        };
        answer.map_err(|error| error.to_string())
    }
}

type TlsStreamToServer = tokio_rustls::client::TlsStream<TcpStream>;

async fn text(response: http::Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

fn whoami() -> Router {
    Router::new().route(
        "/whoami",
        get(|Extension(who): Extension<Identity>| async move { format!("{who:?}") }),
    )
}

#[tokio::test]
async fn a_client_is_known_by_its_certificate_over_both_protocols() {
    let server = start(whoami(), Limits::default()).await;
    for alpn in ["h2", "http/1.1"] {
        let response = server
            .get(alpn, Some(&server.pki.admin), "/whoami")
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        let expected = Identity::authenticated("admin", ["system:masters".to_owned()]);
        assert_eq!(text(response).await, format!("{expected:?}"));

        let response = server.get(alpn, None, "/whoami").await.unwrap();
        assert_eq!(response.status(), 401);
    }
    server.serving.shutdown().await;
}

#[tokio::test]
async fn a_certificate_of_another_authority_gets_no_answer() {
    let server = start(whoami(), Limits::default()).await;
    let stranger = pki().admin;
    assert!(server.get("http/1.1", Some(&stranger), "/whoami").await.is_err());
    server.serving.shutdown().await;
}

#[tokio::test]
async fn stopping_lets_requests_and_watches_finish_and_refuses_new_connections() {
    let started = Arc::new(Notify::new());
    let may_finish = Arc::new(Notify::new());
    let may_end = Arc::new(Notify::new());
    let (handler_started, handler_may_finish) = (started.clone(), may_finish.clone());
    let handler_may_end = may_end.clone();
    let api = Router::new()
        .route(
            "/slow",
            get(move || async move {
                handler_started.notify_one();
                handler_may_finish.notified().await;
                "finished"
            }),
        )
        .route(
            "/events",
            get(move || async move {
                let first = futures::stream::once(async { Ok::<_, io::Error>(Bytes::from("event\n")) });
                let last = futures::stream::once(async move {
                    handler_may_end.notified().await;
                    Ok(Bytes::from("bookmark\n"))
                });
                Body::from_stream(first.chain(last))
            }),
        );
    for alpn in ["h2", "http/1.1"] {
        let server = Arc::new(start(api.clone(), Limits::default()).await);
        let mut watch = server
            .get(alpn, Some(&server.pki.admin), "/events?watch=1")
            .await
            .unwrap()
            .into_body();
        watch.frame().await.unwrap().unwrap();
        let slow = tokio::spawn({
            let server = server.clone();
            async move { text(server.get(alpn, Some(&server.pki.admin), "/slow").await.unwrap()).await }
        });
        started.notified().await;

        let address = server.serving.local_addr();
        server.serving.stopping.cancel();
        may_end.notify_one();
        let rest = watch.collect().await.expect("the watch ends cleanly").to_bytes();
        assert_eq!(rest, "bookmark\n", "over {alpn}");
        may_finish.notify_one();
        assert_eq!(slow.await.unwrap(), "finished");
        server.serving.shutdown().await;
        assert!(TcpStream::connect(address).await.is_err());
    }
}

#[tokio::test]
async fn a_request_that_outlasts_the_grace_time_does_not_hold_the_server_up() {
    let started = Arc::new(Notify::new());
    let handler_started = started.clone();
    let api = Router::new().route(
        "/hang",
        get(move || async move {
            handler_started.notify_one();
            std::future::pending::<()>().await;
        }),
    );
    let server = Arc::new(
        start(
            api,
            Limits {
                grace: Duration::ZERO,
                ..Limits::default()
            },
        )
        .await,
    );
    let hanging = tokio::spawn({
        let server = server.clone();
        async move {
            server
                .get("http/1.1", Some(&server.pki.admin), "/hang")
                .await
                .is_err()
        }
    });
    started.notified().await;
    server.serving.shutdown().await;
    assert!(
        hanging.await.unwrap(),
        "the connection is closed without an answer"
    );
}

#[tokio::test]
async fn a_connection_beyond_the_limit_is_served_once_there_is_a_place() {
    let server = start(
        whoami(),
        Limits {
            connections: 1,
            ..Limits::default()
        },
    )
    .await;
    let first = server.connect("http/1.1", Some(&server.pki.admin)).await.unwrap();
    let mut second = pin!(server.get("http/1.1", Some(&server.pki.admin), "/whoami"));
    assert!(futures::poll!(second.as_mut()).is_pending());
    drop(first);
    assert_eq!(second.await.unwrap().status(), 200);
    server.serving.shutdown().await;
}

#[tokio::test]
async fn a_silent_client_does_not_keep_a_place() {
    let limits = Limits {
        connections: 1,
        handshake: Duration::from_millis(1),
        ..Limits::default()
    };
    let server = start(whoami(), limits).await;
    let mut silent = TcpStream::connect(server.serving.local_addr()).await.unwrap();
    let mut byte = [0];
    let read = tokio::io::AsyncReadExt::read(&mut silent, &mut byte).await;
    assert!(matches!(read, Ok(0) | Err(_)), "the server hangs up");
    server.serving.shutdown().await;
}

/// Reads to the end of a connection that the server closes.
async fn hangs_up(stream: &mut TlsStreamToServer) {
    // Closed without a farewell of TLS is closed, too.
    let _ = tokio::io::AsyncReadExt::read_to_end(stream, &mut Vec::new()).await;
}

#[tokio::test]
async fn a_client_that_does_not_introduce_itself_does_not_keep_a_place() {
    let limits = Limits {
        connections: 1,
        introduction: Duration::from_millis(1),
        ..Limits::default()
    };
    let server = start(whoami(), limits).await;
    for alpn in ["h2", "http/1.1"] {
        let mut silent = server.connect(alpn, Some(&server.pki.admin)).await.unwrap();
        hangs_up(&mut silent).await;
    }
    server.serving.shutdown().await;
}

#[tokio::test]
async fn a_client_that_has_introduced_itself_may_stay() {
    let server = start(whoami(), Limits::default()).await;
    let stream = server.connect("http/1.1", Some(&server.pki.admin)).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut ask = async || {
        let request = Request::builder().uri("/whoami").header("host", "localhost");
        let response = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap());
        text(response.await.unwrap()).await
    };
    let first = ask().await;

    tokio::time::pause();
    tokio::time::advance(2 * Limits::default().introduction).await;
    tokio::time::resume();
    assert_eq!(ask().await, first);
    server.serving.shutdown().await;
}

#[tokio::test]
async fn a_stranger_does_not_hold_up_the_stop() {
    let grace = Duration::from_secs(3600);
    let server = start(
        whoami(),
        Limits {
            grace,
            ..Limits::default()
        },
    )
    .await;
    let mut silent = server.connect("h2", None).await.unwrap();
    // The server's settings tell that it waits for the client's.
    tokio::io::AsyncReadExt::read_u8(&mut silent).await.unwrap();

    // Time now passes only if there is nothing else to wait for.
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    server.serving.shutdown().await;
    assert!(before.elapsed() < grace);
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let first = Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let error = Listener::bind(first.local_addr()).await.unwrap_err();
    let expected = format!(
        "port {} on 127.0.0.1 is taken by another program",
        first.local_addr().port()
    );
    assert_eq!(error.to_string(), expected);
}
