//! Installing what a module needs, when that is not there yet.

use std::{io, path::Path};

use capt_terraform::diagnostics::Class;

use crate::engine::{About, EngineKind, Failure, FailureKind, InputFile};

use super::{
    args::Arguments,
    command::{Exit, Runs},
    detect::numbers,
    digest::{Digest, files},
    failure, inspect,
    listen::Ears,
    mirror::LOCK_FILE,
    workdir::{SRC, WorkDir},
};

/// The file with settings of Terraform's command line.
pub(super) const SETTINGS: &str = ".terraformrc";

/// What `init` is given; if that is the same as last time, it would do nothing.
pub(super) struct Needs<'a> {
    pub(super) engine: &'a About,
    pub(super) program: &'a Path,
    pub(super) folder: &'a WorkDir,
    /// Where it runs, inside the source.
    pub(super) run_in: &'a Path,
    pub(super) args: &'a Arguments,
    pub(super) is_ours: bool,
    pub(super) files: &'a [InputFile],
    pub(super) uses_mirror: bool,
}

impl Needs<'_> {
    /// Names all of it.
    pub(super) fn key(&self) -> io::Result<String> {
        let mut digest = Digest::default();
        digest.field(self.engine.to_string().as_bytes());
        digest.field(self.program.as_os_str().as_encoded_bytes());
        digest.field(&[u8::from(self.is_ours), u8::from(self.uses_mirror)]);
        for arg in self.args.init(self.is_ours, false) {
            digest.field(arg.as_encoded_bytes());
        }
        let run_in = self.folder.path(SRC).join(self.run_in);
        digest.field(run_in.as_os_str().as_encoded_bytes());
        self.configuration(&mut digest)?;
        // A backend may be configured by any of them, and so may be where providers come from.
        let files = self.files.iter();
        for file in files.filter(|file| !self.is_ours || file.name == SETTINGS) {
            digest.field(file.name.as_bytes());
            digest.field(&file.content);
        }
        Ok(digest.text())
    }

    fn configuration(&self, digest: &mut Digest) -> io::Result<()> {
        let (folder, src) = (&self.folder.files, Path::new(SRC));
        let is_tofu = self.engine.kind == EngineKind::Tofu;
        // OpenTofu lets variables say where modules are.
        let is_var = |name: &str| is_tofu && (name.ends_with(".tfvars") || name.ends_with(".tfvars.json"));
        let matters =
            |name: &str| name == LOCK_FILE || inspect::configuration(name, is_tofu).is_some() || is_var(name);
        for path in files(folder, src, &matters)? {
            digest.field(path.as_os_str().as_encoded_bytes());
            digest.field(&folder.read_linked(src, &path)?.unwrap_or_default());
        }
        Ok(())
    }
}

/// Runs `init`.
pub(super) async fn init(runs: &Runs, needs: &Needs<'_>, mut ears: Ears) -> Result<(), Failure> {
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
