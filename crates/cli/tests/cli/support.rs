//! The built binary, started and stopped as a user does it.

use std::{
    io::{BufRead, BufReader, Lines},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio},
    sync::Arc,
    time::Duration,
};

use kube::{
    Api, Client, Config,
    client::ConfigExt,
    config::KubeConfigOptions,
    runtime::wait::{Condition, await_condition},
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream, rustls::pki_types::ServerName};

/// The binary with a home of its own, so that nothing of the person who runs the tests is touched.
pub(crate) fn capt(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capt"));
    command
        .env("HOME", home)
        .env_remove("XDG_DATA_HOME")
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("RUST_LOG", "warn")
        .env("TMPDIR", home);
    command
}

/// The same, as if the disk had no room for files beyond some megabytes.
pub(crate) fn capt_on_a_small_disk(home: &Path) -> Command {
    let plain = capt(home);
    let mut command = Command::new("sh");
    // Unless the signal is ignored, the limit would kill the process instead of failing its writes.
    command
        .args(["-c", r#"trap '' XFSZ; ulimit -f 8192; exec "$0" "$@""#])
        .arg(plain.get_program());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Nothing that is waited for takes longer, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until an object is like this, and gives it as it is then.
pub(crate) async fn awaited<K>(api: Api<K>, name: &str, what: &str, condition: impl Condition<K>) -> Option<K>
where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let waiting = await_condition(api, name, condition);
    match tokio::time::timeout(PATIENCE, waiting).await {
        Ok(seen) => seen.unwrap(),
        Err(_) => panic!("{name} never came to this: {what}"),
    }
}

/// Runs it to its end.
pub(crate) fn run(home: &Path, args: &[&str]) -> Output {
    capt(home).args(args).output().unwrap()
}

/// A `capt up` that has said it is ready; killed when dropped.
pub(crate) struct Up {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) ready_line: String,
    pub(crate) engine_line: String,
    pub(crate) kubeconfig: PathBuf,
}

impl Up {
    /// Starts it on a free port and waits for the ready lines.
    pub(crate) fn start(home: &Path, args: &[&str]) -> Self {
        Self::start_as(capt(home), args)
    }

    /// The same with a binary that is set up otherwise.
    pub(crate) fn start_as(mut capt: Command, args: &[&str]) -> Self {
        let mut child = capt
            .args(["up", "--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || lines.next().expect("it exits before it is ready").unwrap();
        let ready_line = line();
        let export = line();
        let engine_line = line();
        let kubeconfig = export.strip_prefix("export KUBECONFIG=").expect(&export).into();
        Self {
            child,
            lines,
            ready_line,
            engine_line,
            kubeconfig,
        }
    }

    /// What it goes on to print, up to a line that contains this.
    pub(crate) fn read_until(&mut self, part: &str) -> String {
        let mut text = String::new();
        while !text.contains(part) {
            let Some(line) = self.lines.next() else {
                panic!("it ended before it printed {part:?}: {text}");
            };
            text.push_str(&line.unwrap());
            text.push('\n');
        }
        text
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// A client as any user of the kubeconfig has it.
    pub(crate) async fn client(&self) -> Client {
        Client::try_from(self.client_config().await).unwrap()
    }

    /// Begins a write and does not finish it. When this returns, the server waits for the rest.
    pub(crate) async fn unfinished_write(&self) -> TlsStream<TcpStream> {
        let config = self.client_config().await;
        let tls = TlsConnector::from(Arc::new(config.rustls_client_config().unwrap()));
        let address = config.cluster_url.authority().unwrap().as_str();
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = tls.connect(name, stream).await.unwrap();
        let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\n\
                    Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        let mut answer = vec![0; go_on.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), go_on);
        stream
    }

    async fn client_config(&self) -> Config {
        let kubeconfig = kube::config::Kubeconfig::read_from(&self.kubeconfig).unwrap();
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .unwrap()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
