//! An API server, and Terraform that keeps its state there.

use std::{
    collections::BTreeMap,
    env, fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::{Duration, SystemTime},
};

use apiary::{
    ApiServer, Identity, Options,
    serve::{Authenticator, Kubeconfig, Limits, Listener, Pki, PkiRequest, Serving, tls},
};
use capt_runner::{
    process::find_program,
    store::{Locks, Place, Purpose},
};
use capt_terraform::state::Location;
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::Namespace},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Config,
    api::{ObjectMeta, PostParams},
    config::KubeConfigOptions,
};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The Terraform workspace.
pub(crate) const WORKSPACE: &str = "team-vpc-abc";

/// An API server, a namespace in it, and a folder with a module.
pub(crate) struct Stage {
    pub(crate) client: Client,
    pub(crate) place: Place,
    pub(crate) folder: TempDir,
    program: PathBuf,
    kubeconfig: PathBuf,
    _serving: Option<(ApiServer, Serving)>,
}

/// What a run of Terraform gave.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) text: String,
}

impl Stage {
    /// A stage with this module, initialised and with the workspace selected. None, loudly, without a Terraform.
    pub(crate) async fn new(module: &str) -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        let (kubeconfig, serving) = match env::var_os("CAPT_TEST_KUBECONFIG").filter(|path| !path.is_empty())
        {
            Some(path) => (PathBuf::from(path), None),
            None => serve(folder.path()).await,
        };
        let read = kube::config::Kubeconfig::read_from(&kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
            .await
            .unwrap();
        let client = Client::try_from(config).unwrap();
        let namespace = format!("backend-{:x}", Timestamp::now().as_nanosecond());
        make_namespace(&client, &namespace).await;
        let place = Place {
            namespace,
            location: Location::new(WORKSPACE, "shared").unwrap(),
            labels: BTreeMap::new(),
        };
        let stage = Self {
            client,
            place,
            folder,
            program,
            kubeconfig,
            _serving: serving,
        };
        let backend = format!(
            "terraform {{\n  backend \"kubernetes\" {{\n    secret_suffix = \"shared\"\n    namespace = \"{}\"\n    \
             config_path = \"{}\"\n  }}\n}}\n",
            stage.place.namespace,
            stage.kubeconfig.display(),
        );
        fs::write(stage.module().join("backend.tf"), backend).unwrap();
        fs::write(stage.module().join("main.tf"), module).unwrap();
        stage.terraform(&["init", "-input=false"]).await.succeeded();
        stage
            .terraform(&["workspace", "select", "-or-create", WORKSPACE])
            .await
            .succeeded();
        Some(stage)
    }

    pub(crate) fn module(&self) -> PathBuf {
        let module = self.folder.path().join("module");
        fs::create_dir_all(&module).unwrap();
        module
    }

    /// Runs Terraform to its end.
    pub(crate) async fn terraform(&self, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = timeout(PATIENCE, command.output()).await;
        let output = output.expect("terraform does not end").unwrap();
        let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        Ran {
            code: output.status.code(),
            text: texts.concat(),
            stdout: output.stdout,
        }
    }

    /// Terraform, ready to be started. It is killed when it is dropped.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(self.module())
            .env_clear()
            .envs(env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.folder.path())
            .env("TF_IN_AUTOMATION", "1")
            .env("CHECKPOINT_DISABLE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Locks of the runner of this name.
    pub(crate) fn locks(&self, runner: &str) -> Locks {
        Locks::new(self.client.clone(), runner, Arc::new(Timestamp::now))
    }

    /// Who holds the lock on the state.
    pub(crate) async fn holder(&self) -> Option<String> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), &self.place.namespace);
        let lease = api.get_opt(&self.place.location.lease_name()).await.unwrap();
        lease.and_then(|lease| lease.spec?.holder_identity)
    }
}

impl Ran {
    /// It exited with 0.
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.text);
        self
    }
}

pub(crate) fn purpose() -> Purpose {
    Purpose {
        operation: "OperationTypeApply".to_owned(),
        info: "Workspace team/vpc".to_owned(),
        version: "1.11.4".to_owned(),
    }
}

/// Text that does not compress below half of its length.
pub(crate) fn noise(length: usize) -> String {
    let mut seed = 42_u64;
    let mut noise = String::with_capacity(length + 8);
    while noise.len() < length {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        noise.push_str(&format!("{:08x}", seed >> 32));
    }
    noise
}

fn program() -> Option<PathBuf> {
    let candidates = match env::var_os("CAPT_TEST_ENGINE") {
        Some(name) => vec![PathBuf::from(name)],
        None => vec!["terraform".into(), "tofu".into()],
    };
    let found = candidates.iter().find_map(|name| find_program(name));
    if found.is_none() {
        assert!(
            env::var_os("CAPT_REQUIRE_TERRAFORM").is_none_or(|value| value != "1"),
            "there is neither terraform nor tofu, and CAPT_REQUIRE_TERRAFORM=1 asks for one"
        );
        eprintln!(
            "SKIPPED: neither terraform nor tofu is in PATH, so nobody checked that they can read our state"
        );
    }
    found
}

/// The embedded API server on a socket of its own.
async fn serve(folder: &Path) -> (PathBuf, Option<(ApiServer, Serving)>) {
    let listener = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .await
        .unwrap();
    let request = PkiRequest {
        server_names: Vec::new(),
        admin_user: "admin".to_owned(),
        admin_group: "system:masters".to_owned(),
        now: SystemTime::now(),
    };
    let pki = Pki::load_or_create(&folder.join("pki"), &request).unwrap();
    let identity = Identity::authenticated("admin", ["system:masters".to_owned()]);
    let authenticator = Arc::new(Authenticator::new(&pki.token, identity));
    let kubeconfig = folder.join("kubeconfig");
    let url = format!("https://{}", listener.local_addr());
    Kubeconfig::for_admin("test", url, &pki)
        .write(&kubeconfig)
        .unwrap();
    let api = ApiServer::open(Options::default()).await.unwrap();
    let tls = tls::server_config(&pki).unwrap();
    let serving = listener.serve(tls, authenticator, api.router(), &Limits::default());
    (kubeconfig, Some((api, serving)))
}

async fn make_namespace(client: &Client, name: &str) {
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let api: Api<Namespace> = Api::all(client.clone());
    api.create(&PostParams::default(), &namespace).await.unwrap();
}
