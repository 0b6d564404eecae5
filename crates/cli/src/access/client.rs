//! A client that closes the connections it does not need.
//!
//! kube's own keeps every connection that it ever opened. Each takes tens of kilobytes, and after a burst, in which dozens of
//! requests are under way at once, nothing may happen for hours.

use std::time::Duration;

use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::{
    Client, Config,
    client::{Body, ConfigExt as _, retry::RetryPolicy},
};
use tower::{BoxError, ServiceBuilder, retry::RetryLayer};

/// How long a connection is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(5);

/// How much is read at a time: as much as TLS brings at most. A buffer that grows stays large as long as its connection, and
/// there is one for every watch.
const READ_BUFFER: usize = 16 << 10;

/// A request came to no answer.
#[derive(Debug, thiserror::Error)]
#[error("nothing came back from {url}")]
struct Unanswered {
    url: String,
    source: BoxError,
}

/// A client for a cluster. Nothing is sent yet.
pub(super) fn client(config: Config) -> kube::Result<Client> {
    // A proxy, and a certificate that ends, are kube's business.
    if config.proxy_url.is_some() || config.auth_info.exec.is_some() {
        return Client::try_from(config);
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    // Around TLS too: a server that accepts and says nothing must not hold up a watch for ever.
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http1_read_buf_exact_size(READ_BUFFER)
        .build(connector);
    let url = config.cluster_url.to_string();
    let retries = config.default_retry.then(RetryPolicy::server_retry);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(retries.map(RetryLayer::new))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(move |source| -> BoxError {
            let url = url.clone();
            Box::new(Unanswered {
                url,
                source: BoxError::from(source),
            })
        })
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}
