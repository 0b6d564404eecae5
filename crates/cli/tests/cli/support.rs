//! The built binary, started and stopped as a user does it.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
};

use kube::{Client, Config, config::KubeConfigOptions};
use rustix::process::{Pid, Signal, kill_process};

/// The binary with a home of its own, so that nothing of the person who runs the tests is touched.
pub(crate) fn capt(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capt"));
    command
        .env("HOME", home)
        .env_remove("XDG_DATA_HOME")
        .env("RUST_LOG", "warn")
        .env("TMPDIR", home);
    command
}

/// Runs it to its end.
pub(crate) fn run(home: &Path, args: &[&str]) -> Output {
    capt(home).args(args).output().unwrap()
}

/// A `capt up` that has said it is ready; killed when dropped.
pub(crate) struct Up {
    child: Child,
    pub(crate) ready_line: String,
    pub(crate) kubeconfig: PathBuf,
}

impl Up {
    /// Starts it on a free port and waits for the ready lines.
    pub(crate) fn start(home: &Path, args: &[&str]) -> Self {
        let mut child = capt(home)
            .args(["up", "--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || lines.next().expect("it exits before it is ready").unwrap();
        let ready_line = line();
        let export = line();
        let kubeconfig = export.strip_prefix("export KUBECONFIG=").expect(&export).into();
        Self {
            child,
            ready_line,
            kubeconfig,
        }
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
        let kubeconfig = kube::config::Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .unwrap();
        Client::try_from(config).unwrap()
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
