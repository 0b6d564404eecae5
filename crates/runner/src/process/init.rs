//! Installing what a module needs, when that is not there yet.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use capt_terraform::diagnostics::Class;
use tokio::sync::Mutex;

use crate::engine::{About, EngineKind, Failure, FailureKind, InputFile};

use super::{
    args::Arguments,
    command::{Exit, Runs},
    detect::numbers,
    digest::{Digest, files},
    failure::{self, machine},
    inspect::{self, About as ModuleAbout},
    listen::Ears,
    workdir::WorkDir,
};

/// The file in which Terraform keeps the versions that it chose.
const LOCK_FILE: &str = ".terraform.lock.hcl";

/// Providers that Workspaces share. While one run fills it no other may, and plans never wait.
#[derive(Clone, Debug)]
pub(super) struct PluginCache {
    pub(super) path: PathBuf,
    filling: Arc<Mutex<()>>,
}

/// The right to fill the cache, among all runners on this machine.
struct Filling<'a> {
    _here: tokio::sync::MutexGuard<'a, ()>,
    _elsewhere: File,
}

impl PluginCache {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            filling: Arc::default(),
        }
    }

    async fn fill(&self) -> io::Result<Filling<'_>> {
        let here = self.filling.lock().await;
        let path = self.path.with_extension("lock");
        let elsewhere = tokio::task::spawn_blocking(move || {
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).write(true).mode(0o600);
            let file = options.open(path)?;
            file.lock()?;
            Ok::<_, io::Error>(file)
        });
        Ok(Filling {
            _here: here,
            _elsewhere: elsewhere.await.map_err(io::Error::other)??,
        })
    }
}

/// What `init` is given; if that is the same as last time, it would do nothing.
pub(super) struct Needs<'a> {
    pub(super) engine: &'a About,
    pub(super) program: &'a Path,
    pub(super) folder: &'a WorkDir,
    pub(super) run_in: &'a Path,
    pub(super) args: &'a Arguments,
    pub(super) is_ours: bool,
    pub(super) files: &'a [InputFile],
    pub(super) uses_cache: bool,
}

impl Needs<'_> {
    /// Names all of it.
    pub(super) fn key(&self) -> io::Result<String> {
        let mut digest = Digest::default();
        digest.field(self.engine.to_string().as_bytes());
        digest.field(self.program.as_os_str().as_encoded_bytes());
        digest.field(&[u8::from(self.is_ours), u8::from(self.uses_cache)]);
        for arg in self.args.init(self.is_ours, false) {
            digest.field(arg.as_encoded_bytes());
        }
        let src = self.folder.src();
        digest.field(self.run_in.as_os_str().as_encoded_bytes());
        let is_tofu = self.engine.kind == EngineKind::Tofu;
        // OpenTofu lets variables say where modules are.
        let is_var = |name: &str| is_tofu && (name.ends_with(".tfvars") || name.ends_with(".tfvars.json"));
        let matters =
            |name: &str| name == LOCK_FILE || inspect::configuration(name, is_tofu).is_some() || is_var(name);
        for path in files(&src, &matters)? {
            digest.field(path.as_os_str().as_encoded_bytes());
            digest.field(&std::fs::read(src.join(path))?);
        }
        // A backend may be configured by any of them, and so may be where providers come from.
        for file in self
            .files
            .iter()
            .filter(|file| !self.is_ours || file.name == ".terraformrc")
        {
            digest.field(file.name.as_bytes());
            digest.field(&file.content);
        }
        Ok(digest.text())
    }
}

/// Runs `init`.
pub(super) async fn init(
    runs: &Runs,
    needs: &Needs<'_>,
    module: &ModuleAbout,
    cache: Option<&PluginCache>,
    mut ears: Ears,
) -> Result<(), Failure> {
    let _filling = match cache.filter(|_| module.needs_providers || module.calls_modules || module.unreadable)
    {
        Some(cache) => {
            let filling = tokio::select! {
                filling = cache.fill() => filling,
                () = runs.cancel.cancelled() => return Err(failure::cancelled()),
            };
            Some(filling.map_err(|error| machine("lock the plugin cache", &error))?)
        }
        None => None,
    };
    let args = needs.args.init(needs.is_ours, speaks_json(needs.engine));
    let ended = runs.run(args, "init.ndjson", &mut ears).await?;
    if ended.exit == Exit::Code(0) && !ended.cancelled {
        return Ok(());
    }
    let failure = failure::command(&runs.engine, "init", &ended, ears.said);
    let kind = match failure.kind {
        FailureKind::Terraform(Class::Setup | Class::Other) if is_installing(&failure.message) => {
            FailureKind::ModuleUnavailable
        }
        kind => kind,
    };
    Err(Failure { kind, ..failure })
}

/// Whether this is about a module or a provider that could not be had.
fn is_installing(message: &str) -> bool {
    let message = message.to_lowercase();
    let words = [
        "failed to download module",
        "could not download module",
        "failed to query available provider packages",
        "failed to install provider",
        "module not found",
        "unreadable module directory",
        "error accessing remote module registry",
        "unresolvable module version",
    ];
    words.iter().any(|words| message.contains(words))
}

/// Whether `init` can tell what it does as the other commands do.
fn speaks_json(engine: &About) -> bool {
    let since = match engine.kind {
        EngineKind::Terraform | EngineKind::Simulated => (1, 9),
        EngineKind::Tofu => (1, 7),
    };
    numbers(&engine.version).is_some_and(|version| version >= since)
}
