//! One client: one TLS connection that is kept open, HTTP/1.1, the same for every server.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// Where a server is and how to be let in.
#[derive(Clone)]
pub(super) struct Target {
    address: String,
    host: String,
    tls: TlsConnector,
    token: Option<String>,
}

/// An open connection.
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    token: Option<String>,
}

impl Target {
    pub(super) async fn read(kubeconfig: &Path) -> anyhow::Result<Self> {
        let file = Kubeconfig::read_from(kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        let host = config
            .cluster_url
            .host()
            .context("the kubeconfig names a server")?
            .to_owned();
        let port = config.cluster_url.port_u16().unwrap_or(443);
        let document: Value = serde_saphyr::from_str(&std::fs::read_to_string(kubeconfig)?)?;
        Ok(Self {
            address: format!("{host}:{port}"),
            host,
            tls: TlsConnector::from(Arc::new(config.rustls_client_config()?)),
            token: document["users"][0]["user"]["token"].as_str().map(str::to_owned),
        })
    }

    pub(super) async fn connect(&self) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self
            .tls
            .connect(ServerName::try_from(self.host.clone())?, stream)
            .await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            // The end of the connection shows where a request fails.
            let _ = connection.await;
        });
        Ok(Connection {
            sender,
            host: self.host.clone(),
            token: self.token.clone(),
        })
    }
}

impl Connection {
    /// Sends a request and reads its whole answer, which must be a success.
    pub(super) async fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> anyhow::Result<Bytes> {
        let response = self.send(method, path, body).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(
            status.is_success(),
            "{path}: {status}: {}",
            String::from_utf8_lossy(&body)
        );
        Ok(body)
    }

    /// Sends a request and leaves its answer to be read.
    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> anyhow::Result<Response<Incoming>> {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "bench");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let request = request.body(Full::new(body.unwrap_or_default()))?;
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }
}
