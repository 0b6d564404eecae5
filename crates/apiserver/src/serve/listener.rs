//! The socket: accepting connections, and letting them finish when the server stops.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, middleware, response::Response};
use http::Request;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use rustls::ServerConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use super::{
    auth::{self, Authenticator, ClientCertificate, Known},
    tls,
};

/// As much as Go's server reads of a request's head: selectors can be long.
const MAX_HEADER_BYTES: u32 = 1 << 20;
/// Far more than any client sends, and little enough to parse.
const MAX_HEADERS: usize = 1000;

/// Bounds on what clients may use up.
///
/// What a single request may use up, the API bounds itself.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at a time; further ones wait to be accepted.
    pub connections: usize,
    /// How long a client may take to finish the TLS handshake.
    pub handshake: Duration,
    /// How long a client may stay after the handshake without a request that shows who it is.
    /// Without this bound, strangers who say nothing could take all places.
    pub introduction: Duration,
    /// How long an HTTP/1 connection may wait for the next request's head. Longer than clients keep idle
    /// connections, so that it is they who close them and none is closed under a request.
    pub header: Duration,
    /// How long requests under way may go on after the server was told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            handshake: Duration::from_secs(10),
            introduction: Duration::from_secs(30),
            header: Duration::from_secs(120),
            grace: Duration::from_secs(10),
        }
    }
}

/// A socket that clients can connect to and that nobody serves yet.
///
/// Binding comes first and serving last, so that a taken port is told before anything else is started.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// A server that accepts connections until it is told to stop.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    grace: Duration,
    stopping: CancellationToken,
    aborting: CancellationToken,
    tasks: TaskTracker,
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program listens there.
    #[error("port {} on {} is taken by another program", .0.port(), .0.ip())]
    Taken(SocketAddr),
    /// The system does not let us.
    #[error("cannot listen on {address}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

impl Listener {
    /// Binds `address`; port 0 picks a free port.
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::Taken(address),
            _ => ListenError::Refused { address, source },
        };
        let socket = TcpListener::bind(address).await.map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Self { socket, address })
    }

    /// The address with the port that was picked.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Starts serving `api` to those whom `authenticator` knows.
    pub fn serve(
        self,
        tls: Arc<ServerConfig>,
        authenticator: Arc<Authenticator>,
        api: Router,
        limits: &Limits,
    ) -> Serving {
        let serving = Serving {
            address: self.address,
            grace: limits.grace,
            stopping: CancellationToken::new(),
            aborting: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let api = api.layer(middleware::from_fn_with_state(authenticator, auth::authenticate));
        let front = Front {
            acceptor: TlsAcceptor::from(tls),
            handshake_limit: limits.handshake,
            introduction_limit: limits.introduction,
            http: http_builder(limits),
            api,
            stopping: serving.stopping.clone(),
            aborting: serving.aborting.clone(),
        };
        let accepting = accept(
            self.socket,
            Arc::new(front),
            limits.connections,
            serving.tasks.clone(),
        );
        serving.tasks.spawn(accepting);
        serving
    }
}

impl Serving {
    /// The address it is reached at.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops: no new connections, no more strangers, and requests under way may finish within the grace time.
    ///
    /// Answers without an end take all of that time, so whoever gives them ends them first.
    pub async fn shutdown(&self) {
        self.stopping.cancel();
        self.tasks.close();
        if tokio::time::timeout(self.grace, self.tasks.wait()).await.is_err() {
            tracing::warn!(
                connections = self.tasks.len(),
                "closing connections with unfinished requests"
            );
            self.aborting.cancel();
            self.tasks.wait().await;
        }
    }
}

/// Everything that connections share.
struct Front {
    acceptor: TlsAcceptor,
    handshake_limit: Duration,
    introduction_limit: Duration,
    http: auto::Builder<TokioExecutor>,
    api: Router,
    stopping: CancellationToken,
    aborting: CancellationToken,
}

fn http_builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .max_headers(MAX_HEADERS)
        .header_read_timeout(limits.header);
    http.http2()
        .timer(TokioTimer::new())
        // A client that vanished without a word is noticed, and its watches end.
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20))
        // Every watch is a stream, and one client may hold many.
        .max_concurrent_streams(1000)
        .max_header_list_size(MAX_HEADER_BYTES)
        .initial_stream_window_size(256 * 1024)
        .initial_connection_window_size(1024 * 1024);
    http
}

async fn accept(socket: TcpListener, front: Arc<Front>, connections: usize, tasks: TaskTracker) {
    let places = Arc::new(Semaphore::new(connections));
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            (place, socket.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = front.stopping.cancelled() => return,
            next = next => next,
        };
        match accepted {
            Ok((stream, _)) => {
                let front = front.clone();
                tasks.spawn(async move {
                    front.serve(stream).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Out of file descriptors, most likely: trying again at once would only burn the processor.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::select! {
                    () = front.stopping.cancelled() => return,
                    () = tokio::time::sleep(Duration::from_millis(100)) => {}
                }
            }
        }
    }
}

impl Front {
    async fn serve(&self, stream: TcpStream) {
        let stream = tokio::select! {
            () = self.stopping.cancelled() => return,
            stream = self.handshake(stream) => stream,
        };
        match stream {
            Ok(stream) => self.serve_http(stream).await,
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
        }
    }

    async fn handshake(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        // Answers and watch events are small and awaited.
        stream.set_nodelay(true)?;
        tokio::time::timeout(self.handshake_limit, self.acceptor.accept(stream))
            .await
            .unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()))
    }

    async fn serve_http(&self, stream: TlsStream<TcpStream>) {
        let (_, session) = stream.get_ref();
        let identity = session
            .peer_certificates()
            .and_then(tls::identity_of)
            .map(Arc::new);
        // Asked for by name, a protocol needs no guessing from the first bytes, which has no time limit.
        let http = match session.alpn_protocol() {
            Some(b"h2") => self.http.clone().http2_only(),
            _ => self.http.clone().http1_only(),
        };
        let known = Known::default();
        let service = service_fn(|mut request: Request<Incoming>| {
            request
                .extensions_mut()
                .insert(ClientCertificate(identity.clone()));
            request.extensions_mut().insert(known.clone());
            respond(self.api.clone(), request)
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            // Stopping makes both of the last two ready if the client is a stranger.
            biased;
            ended = connection.as_mut() => ended,
            () = self.unwelcome(&known.0) => return,
            () = self.stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = self.aborting.cancelled() => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(error, "a connection broke");
        }
    }

    /// Waits until a client that is not `known` has been here for long enough. HTTP/2 has no limit of its
    /// own to the time before the first request, and nobody is owed an answer who has not introduced himself.
    async fn unwelcome(&self, known: &CancellationToken) {
        let patience = async {
            tokio::select! {
                () = self.stopping.cancelled() => {}
                () = tokio::time::sleep(self.introduction_limit) => {}
            }
        };
        tokio::select! {
            biased;
            () = known.cancelled() => std::future::pending().await,
            () = patience => tracing::debug!("closing a connection without a request of anybody known"),
        }
    }
}

async fn respond(api: Router, request: Request<Incoming>) -> Result<Response, Infallible> {
    api.oneshot(request.map(Body::new)).await
}

#[cfg(test)]
mod tests;
