//! A real Kubernetes API on loopback: etcd, kube-apiserver and, when wanted, kube-controller-manager.
//!
//! It lives in a temporary folder and dies with its handle.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use crate::peers;

/// How long the server may take to get ready.
const PATIENCE: Duration = Duration::from_secs(90);
const TOKEN: &str = "loopback-only";

/// A running server; dropping it ends its processes and removes its files.
pub(crate) struct RealKube {
    folder: tempfile::TempDir,
    processes: Vec<Process>,
    /// How long the server took from the start of the first process until it was ready.
    pub(crate) ready_after: Duration,
}

struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl RealKube {
    /// Starts the peers, which must have been built, and waits until the API is ready.
    pub(crate) async fn start(with_controllers: bool) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("realkube").tempdir()?;
        let mut kube = Self {
            folder,
            processes: Vec::new(),
            ready_after: Duration::ZERO,
        };
        let started = Instant::now();
        let etcd = kube.start_etcd()?;
        let port = kube.start_apiserver(&etcd)?;
        kube.write_kubeconfig(port).await?;
        kube.wait_until_ready().await?;
        kube.ready_after = started.elapsed();
        if with_controllers {
            kube.start_controllers()?;
        }
        Ok(kube)
    }

    /// The kubeconfig of an administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// A scratch folder that goes away with the server.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process ids, to measure them.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(|process| process.child.id()).collect()
    }

    fn start_etcd(&mut self) -> anyhow::Result<String> {
        let client = format!("http://127.0.0.1:{}", free_port()?);
        let peer = format!("http://127.0.0.1:{}", free_port()?);
        let data = self.folder.path().join("etcd");
        let mut command = Command::new(peers::binary("etcd")?);
        command.arg("--data-dir").arg(data);
        command.args([
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ]);
        command.args([
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ]);
        command.arg(format!("--initial-cluster=default={peer}"));
        self.spawn("etcd", command)?;
        Ok(client)
    }

    fn start_apiserver(&mut self, etcd: &str) -> anyhow::Result<u16> {
        let port = free_port()?;
        // The server reads an elliptic key only when its public half comes in a file of its own.
        let pair = rcgen::KeyPair::generate()?;
        let (key, public_key) = (
            self.folder.path().join("sa.key"),
            self.folder.path().join("sa.pub"),
        );
        fs::write(&key, pair.serialize_pem())?;
        fs::write(&public_key, pair.public_key_pem())?;
        let tokens = self.folder.path().join("tokens.csv");
        fs::write(&tokens, format!("{TOKEN},admin,admin,system:masters\n"))?;
        let certificates = self.folder.path().join("certificates");
        let mut command = Command::new(peers::binary("kube-apiserver")?);
        command
            .arg(format!("--etcd-servers={etcd}"))
            .arg(format!("--secure-port={port}"))
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--cert-dir={}", certificates.display()))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(format!("--service-account-key-file={}", public_key.display()))
            .arg(format!("--service-account-signing-key-file={}", key.display()))
            .arg("--service-cluster-ip-range=10.0.0.0/24")
            .arg(format!("--token-auth-file={}", tokens.display()))
            .arg("--authorization-mode=RBAC")
            // Some distributions of Kubernetes have it, and clients must cope.
            .arg("--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
            .arg("--disable-admission-plugins=ServiceAccount");
        self.spawn("kube-apiserver", command)?;
        Ok(port)
    }

    fn start_controllers(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(peers::binary("kube-controller-manager")?);
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .arg("--secure-port=0")
            .arg("--controllers=garbage-collector-controller,namespace-controller")
            .arg("--use-service-account-credentials=false")
            .arg("--leader-elect=false");
        self.spawn("kube-controller-manager", command)
    }

    fn spawn(&mut self, name: &'static str, mut command: Command) -> anyhow::Result<()> {
        let log = self.folder.path().join(format!("{name}.log"));
        let output = File::create(&log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("starting {name}"))?;
        self.processes.push(Process { name, child, log });
        Ok(())
    }

    /// The server makes its certificate itself, and clients take it as their authority.
    async fn write_kubeconfig(&mut self, port: u16) -> anyhow::Result<()> {
        let certificate = self.folder.path().join("certificates").join("apiserver.crt");
        let key = certificate.with_extension("key");
        let deadline = Instant::now() + PATIENCE;
        while !(certificate.is_file() && key.is_file()) {
            self.check_alive()?;
            ensure!(
                Instant::now() < deadline,
                "kube-apiserver made no certificate in {PATIENCE:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "real",
            "clusters": [{"name": "real", "cluster": {
                "server": format!("https://127.0.0.1:{port}"), "certificate-authority": certificate,
            }}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        });
        fs::write(self.kubeconfig(), config.to_string())?;
        Ok(())
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let client = client(&self.kubeconfig()).await?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.check_alive()?;
            let request = http::Request::get("/readyz").body(Vec::new())?;
            if client.request_text(request).await.is_ok_and(|text| text == "ok") {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "kube-apiserver was not ready in {PATIENCE:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn check_alive(&mut self) -> anyhow::Result<()> {
        for process in &mut self.processes {
            if let Some(status) = process.child.try_wait()? {
                bail!("{} ended with {status}:\n{}", process.name, tail(&process.log));
            }
        }
        Ok(())
    }
}

impl Drop for RealKube {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().rev() {
            // A process that has ended already cannot be killed, and that is as good.
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

/// A client that neither retries nor gives up, because a comparison wants the first answer.
pub(crate) async fn client(kubeconfig: &Path) -> anyhow::Result<kube::Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    config.disable_compression = true;
    Ok(kube::Client::try_from(config)?)
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path) -> String {
    let log = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// A port that nobody listens on at the moment.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
