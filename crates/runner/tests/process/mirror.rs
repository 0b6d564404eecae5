//! Providers that Workspaces share.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use capt_runner::{
    engine::{Failure, Goal, InputFile, Inputs, Module, ProviderLock, StateHome},
    process::TerraformEngine,
    sandbox::{Sandbox, SandboxMode},
};
use futures::future::join_all;
use tempfile::TempDir;

use crate::{
    confined::landlock,
    support::{Running, inputs_of, options, outside, program, write_script},
};

/// Asks for the provider `fake` in a version like this, and needs it for nothing, so that it is never started.
fn asks(version: &str) -> String {
    asks_for(&[("fake", version)])
}

fn asks_for(providers: &[(&str, &str)]) -> String {
    let one = |(name, version): &(&str, &str)| {
        format!("  {name} = {{\n   source = \"example.com/some/{name}\"\n   version = \"{version}\"\n  }}\n")
    };
    let all: String = providers.iter().map(one).collect();
    format!("terraform {{\n required_providers {{\n{all} }}\n}}\nresource \"terraform_data\" \"x\" {{}}\n")
}

fn platform() -> String {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}_{machine}", std::env::consts::OS)
}

/// A folder that providers come from.
struct Origin(PathBuf);

impl Origin {
    /// Makes a version available.
    fn add(&self, name: &str, version: &str, content: &str) {
        let folder = self
            .0
            .join("example.com/some")
            .join(name)
            .join(version)
            .join(platform());
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("terraform-provider-{name}_v{version}"));
        let _ = fs::remove_file(&file);
        fs::write(&file, content).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The same as an archive.
    fn add_packed(&self, name: &str, version: &str, content: &str) {
        let folder = self.0.join("example.com/some").join(name);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("terraform-provider-{name}_{version}_{}.zip", platform()));
        fs::write(
            file,
            archive(
                &format!("terraform-provider-{name}_v{version}"),
                content.as_bytes(),
            ),
        )
        .unwrap();
    }

    /// The configuration of a command line that takes everything from here.
    fn settings(&self) -> String {
        format!(
            "provider_installation {{\n filesystem_mirror {{\n path = \"{}\"\n }}\n}}\n",
            self.0.display()
        )
    }
}

/// A machine with an engine whose operator takes providers from one folder.
struct Machine {
    folder: TempDir,
    engine: TerraformEngine,
    origin: Origin,
    program: PathBuf,
    mode: Option<SandboxMode>,
}

impl Machine {
    /// One whose runs are confined.
    async fn new() -> Option<Self> {
        let program = program()?;
        Some(Self::build(tempfile::tempdir().unwrap(), &program, None).await)
    }

    /// One whose runs are not confined, and on which each start of Terraform is written down in the file `calls`: the command,
    /// where, and an environment variable.
    async fn counting() -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("counted");
        let text = format!(
            "#!/bin/sh\necho \"$1 $PWD ${{TENANT-none}}\" >> {}\nexec {} \"$@\"\n",
            folder.path().join("calls").display(),
            program.display()
        );
        write_script(&script, &text);
        Some(Self::build(folder, &script, Some(SandboxMode::Off)).await)
    }

    async fn build(folder: TempDir, program: &Path, mode: Option<SandboxMode>) -> Self {
        let origin = Origin(folder.path().join("origin"));
        fs::create_dir(&origin.0).unwrap();
        fs::write(folder.path().join("operator.tfrc"), origin.settings()).unwrap();
        let engine = Self::engine(&folder, program, mode).await;
        Self {
            folder,
            engine,
            origin,
            program: program.to_owned(),
            mode,
        }
    }

    async fn engine(folder: &TempDir, program: &Path, mode: Option<SandboxMode>) -> TerraformEngine {
        let mut options = options(folder.path());
        options.cli_config = Some(folder.path().join("operator.tfrc"));
        options.grace = Duration::from_secs(20);
        if let Some(mode) = mode {
            options.sandbox =
                Sandbox::new(mode, &[outside(folder.path())], &folder.path().join("root")).unwrap();
        }
        TerraformEngine::detect(program, options).await.unwrap()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path that all runs may read and write.
    fn path(&self, name: &str) -> PathBuf {
        outside(self.folder.path()).join(name)
    }

    fn mirror(&self) -> PathBuf {
        self.at("root/plugin-cache/mirror")
    }

    /// The packages in the mirror.
    fn packages(&self) -> Vec<String> {
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten();
            let mut names: Vec<String> = entries
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let some = self.mirror().join("example.com/some");
        let of = |name: String| {
            let versions = names(&some.join(&name));
            versions
                .into_iter()
                .map(move |version| format!("{name} {version}"))
        };
        names(&some).into_iter().flat_map(of).collect()
    }

    /// The calls of a command, with where and what they saw.
    fn calls(&self, command: &str) -> Vec<String> {
        let text = fs::read_to_string(self.at("calls")).unwrap_or_default();
        let prefix = format!("{command} ");
        text.lines()
            .filter_map(|line| line.strip_prefix(&prefix))
            .map(str::to_owned)
            .collect()
    }

    async fn open(&self, inputs: &Inputs) -> Result<Running, Failure> {
        Running::open(&self.engine, inputs.clone()).await
    }

    /// The same machine after a restart of the runner.
    async fn restarted(self) -> Self {
        let engine = Self::engine(&self.folder, &self.program, self.mode).await;
        Self { engine, ..self }
    }

    /// Installs what a Workspace needs.
    async fn install(&self, inputs: &Inputs) -> Running {
        self.open(inputs).await.unwrap()
    }

    /// What a Workspace uses: the version that is locked, and where its files are.
    fn installed(&self, inputs: &Inputs, name: &str) -> (String, PathBuf) {
        let folder = self.at("root").join(&inputs.uid);
        let lock = fs::read_to_string(folder.join("src/.terraform.lock.hcl")).unwrap();
        let (_, locked) = lock.split_once(&format!("some/{name}\"")).unwrap();
        let version = locked.split('"').nth(1).unwrap().to_owned();
        let package = folder
            .join("data/providers/example.com/some")
            .join(name)
            .join(&version);
        let package = package.join(platform()).canonicalize().unwrap();
        (version, package)
    }

    fn version(&self, inputs: &Inputs, name: &str) -> String {
        self.installed(inputs, name).0
    }
}

/// Inputs of another Workspace, which shares providers.
fn workspace(module: &str) -> Inputs {
    workspace_of(Module::Hcl(module.to_owned()))
}

fn workspace_of(module: Module) -> Inputs {
    Inputs {
        uid: uuid::Uuid::new_v4().to_string(),
        plugin_cache: true,
        ..inputs_of(module)
    }
}

/// The same Workspace, with the versions that were kept.
fn with_lock(inputs: &Inputs, module: &str, lock: &ProviderLock) -> Inputs {
    Inputs {
        module: Module::Hcl(module.to_owned()),
        provider_lock: Some(lock.clone()),
        ..inputs.clone()
    }
}

fn file(lock: &ProviderLock) -> String {
    String::from_utf8(lock.file.clone()).unwrap()
}

#[tokio::test]
async fn workspaces_share_a_copy_that_is_only_read() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "program");
    let (one, other) = (workspace(&asks("~> 1.0")), workspace(&asks(">= 1.0.0")));
    machine.install(&one).await;
    machine.install(&other).await;
    let ((version, package), shared) = (machine.installed(&one, "fake"), machine.installed(&other, "fake"));
    assert_eq!((&version, &package), (&shared.0, &shared.1));
    assert_eq!(version, "1.0.0");
    let mirror = machine.mirror().canonicalize().unwrap();
    assert!(package.starts_with(&mirror), "{package:?}");
    let program = package.join("terraform-provider-fake_v1.0.0");
    assert_eq!(fs::read_to_string(&program).unwrap(), "program");
    assert_eq!(fs::metadata(&program).unwrap().mode() & 0o777, 0o555);
    // It is a copy, so that what the operator has stays as it is, and it is in the folder of no Workspace.
    let origin = machine
        .origin
        .0
        .join("example.com/some/fake/1.0.0")
        .join(platform());
    let origin = fs::metadata(origin.join("terraform-provider-fake_v1.0.0")).unwrap();
    assert_eq!(origin.mode() & 0o777, 0o755);
    for uid in [&one.uid, &other.uid] {
        assert!(!mirror.starts_with(machine.at("root").join(uid)));
    }
}

#[tokio::test]
async fn nothing_of_a_workspace_is_there_when_the_mirror_is_filled() {
    let Some(machine) = Machine::counting().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "program");
    let mut inputs = workspace(&asks("~> 1.0"));
    inputs.env.push(("TENANT".to_owned(), "hostile".to_owned()));
    // What the Workspace asks for would be installed from nowhere.
    inputs
        .env
        .push(("TF_CLI_ARGS_init".to_owned(), "-plugin-dir=/nowhere".to_owned()));
    assert!(machine.open(&inputs).await.is_err());
    assert_eq!(machine.packages(), ["fake 1.0.0"]);
    let own = machine.at("root").join(&inputs.uid).join("src");
    let calls = machine.calls("init");
    let (of_run, of_runner): (Vec<_>, Vec<_>) = calls
        .into_iter()
        .partition(|call| call.starts_with(&own.display().to_string()));
    assert_eq!(of_run, [format!("{} hostile", own.display())]);
    assert_eq!(of_runner.len(), 1);
    let filling = machine.at("root/plugin-cache/filling").display().to_string();
    assert!(
        of_runner[0].starts_with(&filling) && of_runner[0].ends_with(" none"),
        "{of_runner:?}"
    );
}

#[tokio::test]
async fn one_at_a_time_fills_it() {
    let Some(machine) = Machine::counting().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", &"x".repeat(1 << 20));
    machine.origin.add("other", "2.0.0", "other");
    let module = asks_for(&[("fake", ">= 1.0.0"), ("other", "2.0.0")]);
    // Another runner on this machine shares the mirror.
    let mut options = options(machine.folder.path());
    options.root = machine.at("root2");
    options.plugin_cache = Some(machine.at("root/plugin-cache"));
    options.cli_config = Some(machine.at("operator.tfrc"));
    options.sandbox = Sandbox::disabled();
    let second = TerraformEngine::detect(machine.at("counted"), options)
        .await
        .unwrap();
    let all: Vec<Inputs> = (0..8).map(|_| workspace(&module)).collect();
    let opening = all.iter().enumerate().map(|(at, inputs)| {
        let engine = if at % 4 == 3 { &second } else { &machine.engine };
        Running::open(engine, inputs.clone())
    });
    for opened in join_all(opening).await {
        opened.unwrap();
    }
    assert_eq!(machine.packages(), ["fake 1.0.0", "other 2.0.0"]);
    let copies: Vec<PathBuf> = all
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 4 != 3)
        .map(|(_, inputs)| machine.installed(inputs, "fake").1)
        .collect();
    assert!(
        copies
            .iter()
            .all(|copy| copy.starts_with(machine.mirror().canonicalize().unwrap()))
    );
    // Each runner asks once for each provider, however many Workspaces wait for it.
    let filling = machine.at("root/plugin-cache/filling").display().to_string();
    let fills = machine
        .calls("init")
        .into_iter()
        .filter(|call| call.starts_with(&filling));
    assert_eq!(fills.count(), 4);
}

#[tokio::test]
async fn what_is_downloaded_is_taken_into_it() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add_packed("fake", "1.0.0", "packed");
    let inputs = workspace(&asks(">= 0"));
    machine.install(&inputs).await;
    let (_, package) = machine.installed(&inputs, "fake");
    assert!(
        package.starts_with(machine.mirror().canonicalize().unwrap()),
        "{package:?}"
    );
    let program = package.join("terraform-provider-fake_v1.0.0");
    assert_eq!(fs::read_to_string(program).unwrap(), "packed");
}

#[tokio::test]
async fn versions_are_the_same_wherever_they_are_kept() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "old");
    let module = asks(">= 1.0.0");
    let inputs = workspace(&module);
    let opened = machine.open(&inputs).await.unwrap();
    let lock = opened.opened.provider_lock.clone().expect("versions were chosen");
    assert!(file(&lock).contains("\"1.0.0\""), "{}", file(&lock));
    drop(opened);
    let kept = with_lock(&inputs, &module, &lock);
    assert_eq!(
        machine.open(&kept).await.unwrap().opened.provider_lock,
        None,
        "nothing is new"
    );

    let Some(elsewhere) = Machine::counting().await else {
        return;
    };
    for (version, content) in [("1.0.0", "old"), ("1.1.0", "new")] {
        elsewhere.origin.add("fake", version, content);
    }
    let fresh = workspace(&module);
    elsewhere.install(&fresh).await;
    assert_eq!(
        elsewhere.version(&fresh, "fake"),
        "1.1.0",
        "the newest without a lock"
    );
    elsewhere.install(&kept).await;
    assert_eq!(elsewhere.version(&kept, "fake"), "1.0.0");
    assert_eq!(elsewhere.packages(), ["fake 1.0.0", "fake 1.1.0"]);
    assert_eq!(
        elsewhere.calls("init").len(),
        4,
        "one each for the mirror and for the run"
    );
}

#[tokio::test]
async fn another_package_than_the_locked_one_is_refused() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "good");
    let module = asks("1.0.0");
    let first = workspace(&module);
    let lock = machine.open(&first).await.unwrap().opened.provider_lock.unwrap();

    let Some(elsewhere) = Machine::new().await else {
        return;
    };
    elsewhere.origin.add("fake", "1.0.0", "bad");
    let free = workspace(&module);
    elsewhere.install(&free).await;
    assert_eq!(
        elsewhere.version(&free, "fake"),
        "1.0.0",
        "a Workspace without a lock takes it"
    );
    let failure = elsewhere
        .open(&with_lock(&workspace(&module), &module, &lock))
        .await
        .err()
        .unwrap();
    assert!(failure.message.contains("checksum"), "{}", failure.message);

    // So is a package in the mirror that was changed.
    machine.install(&first).await;
    let program = machine
        .installed(&first, "fake")
        .1
        .join("terraform-provider-fake_v1.0.0");
    fs::remove_file(&program).unwrap();
    fs::write(&program, "changed").unwrap();
    let mut session = machine.open(&first).await.unwrap();
    let failure = session.plan(Goal::Converge).await.unwrap_err();
    assert!(failure.message.contains("checksum"), "{}", failure.message);
    drop(session);
    let failure = machine
        .open(&with_lock(&workspace(&module), &module, &lock))
        .await
        .err()
        .unwrap();
    assert!(failure.message.contains("checksum"), "{}", failure.message);
}

#[tokio::test]
async fn a_raised_constraint_gets_a_new_version() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    let of = |fake: &str| asks_for(&[("fake", fake), ("other", ">= 1.0.0")]);
    for name in ["fake", "other"] {
        machine.origin.add(name, "1.0.0", "old");
    }
    let inputs = workspace(&of("~> 1.0"));
    let lock = machine.open(&inputs).await.unwrap().opened.provider_lock.unwrap();
    for name in ["fake", "other"] {
        machine.origin.add(name, "2.0.0", "new");
    }
    // On the same machine, and on one that has only what was kept.
    let same = with_lock(&inputs, &of("~> 2.0"), &lock);
    let another = Inputs {
        uid: uuid::Uuid::new_v4().to_string(),
        ..same.clone()
    };
    for inputs in [same, another] {
        let raised = machine
            .install(&inputs)
            .await
            .opened
            .provider_lock
            .clone()
            .unwrap();
        assert_eq!(machine.version(&inputs, "fake"), "2.0.0");
        assert_eq!(
            machine.version(&inputs, "other"),
            "1.0.0",
            "what did not change stays"
        );
        assert_ne!(raised.requirements, lock.requirements);
        assert!(file(&raised).contains("2.0.0"), "{}", file(&raised));
    }
}

#[tokio::test]
async fn an_upgrade_gets_the_newest_version() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "old");
    let module = asks(">= 1.0.0");
    let inputs = workspace(&module);
    let lock = machine.install(&inputs).await.opened.provider_lock.unwrap();
    machine.origin.add("fake", "1.1.0", "new");
    let machine = machine.restarted().await;
    let changed = with_lock(&inputs, &format!("{module}# changed\n"), &lock);
    machine.install(&changed).await;
    assert_eq!(machine.version(&changed, "fake"), "1.0.0");
    let mut upgraded = changed.clone();
    upgraded.args.init.push("-upgrade".to_owned());
    let opened = machine.install(&upgraded).await.opened;
    assert_eq!(machine.version(&upgraded, "fake"), "1.1.0");
    assert!(file(&opened.provider_lock.unwrap()).contains("1.1.0"));
}

#[tokio::test]
async fn a_constraint_of_a_called_module_counts() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    for version in ["1.0.0", "1.1.0", "2.0.0"] {
        machine.origin.add("fake", version, version);
    }
    let package = machine.path("module");
    fs::create_dir_all(package.join("child")).unwrap();
    fs::write(
        package.join("main.tf"),
        format!(
            "{}module \"child\" {{\n source = \"./child\"\n}}\n",
            asks(">= 1.0.0")
        ),
    )
    .unwrap();
    let child = |version: &str| fs::write(package.join("child/main.tf"), asks(version)).unwrap();
    let inputs = workspace_of(Module::Remote {
        address: package.display().to_string(),
        if_not_present: false,
    });
    child("< 1.1.0");
    let lock = machine.install(&inputs).await.opened.provider_lock.unwrap();
    assert_eq!(machine.version(&inputs, "fake"), "1.0.0");
    child("< 2.0.0");
    let kept = Inputs {
        provider_lock: Some(lock),
        ..inputs.clone()
    };
    machine.install(&kept).await;
    assert_eq!(machine.version(&kept, "fake"), "1.1.0");
    assert_eq!(machine.packages(), ["fake 1.0.0", "fake 1.1.0"]);
    // Without the mirror it is the same.
    let alone = Inputs {
        uid: uuid::Uuid::new_v4().to_string(),
        plugin_cache: false,
        provider_lock: None,
        ..kept
    };
    child("< 1.1.0");
    let lock = machine.install(&alone).await.opened.provider_lock.unwrap();
    assert_eq!(machine.version(&alone, "fake"), "1.0.0");
    child("< 2.0.0");
    let alone = Inputs {
        provider_lock: Some(lock),
        ..alone
    };
    machine.install(&alone).await;
    assert_eq!(machine.version(&alone, "fake"), "1.1.0");
}

#[tokio::test]
async fn a_lock_file_of_the_module_counts_and_nothing_else() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "old");
    let module = asks(">= 1.0.0");
    let lock = machine
        .open(&workspace(&module))
        .await
        .unwrap()
        .opened
        .provider_lock
        .unwrap();
    machine.origin.add("fake", "1.1.0", "new");
    let package = machine.path("module");
    fs::create_dir(&package).unwrap();
    fs::write(package.join("main.tf"), &module).unwrap();
    fs::write(package.join(".terraform.lock.hcl"), &lock.file).unwrap();
    let remote = || Module::Remote {
        address: package.display().to_string(),
        if_not_present: false,
    };
    let newer = {
        let newest = workspace(&asks(">= 1.1.0"));
        machine.open(&newest).await.unwrap().opened.provider_lock.unwrap()
    };
    let inputs = Inputs {
        provider_lock: Some(newer),
        ..workspace_of(remote())
    };
    let opened = machine.install(&inputs).await;
    assert_eq!(machine.version(&inputs, "fake"), "1.0.0");
    assert_eq!(opened.opened.provider_lock, None, "it is kept with the module");
    drop(opened);

    // With checksums of something else it is refused.
    let wrong = file(&lock).replace("h1:", "h1:A");
    fs::write(package.join(".terraform.lock.hcl"), wrong).unwrap();
    let failure = machine.open(&workspace_of(remote())).await.err().unwrap();
    assert!(failure.message.contains("checksum"), "{}", failure.message);
    // Without it the newest is chosen, as far as the runner did not ask for that a moment ago.
    let machine = machine.restarted().await;
    fs::remove_file(package.join(".terraform.lock.hcl")).unwrap();
    let free = workspace_of(remote());
    machine.install(&free).await;
    assert_eq!(machine.version(&free, "fake"), "1.1.0");
}

#[tokio::test]
async fn who_says_where_providers_come_from_does_not_use_it() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "operator's");
    let own = Origin(machine.path("own"));
    own.add("fake", "1.0.0", "own");
    let settings = InputFile {
        name: ".terraformrc".to_owned(),
        content: own.settings().into_bytes(),
    };
    let named = machine.path("own.tfrc");
    fs::write(&named, own.settings()).unwrap();
    let variable = ("TF_CLI_CONFIG_FILE".to_owned(), named.display().to_string());
    let module = asks("1.0.0");
    let by_file = Inputs {
        files: vec![settings],
        ..workspace(&module)
    };
    let by_variable = Inputs {
        env: vec![variable],
        ..workspace(&module)
    };
    let mut by_argument = workspace(&module);
    by_argument
        .args
        .init
        .push(format!("-plugin-dir={}", own.0.display()));
    for inputs in [by_file, by_variable, by_argument] {
        machine.install(&inputs).await;
        let (_, package) = machine.installed(&inputs, "fake");
        assert!(package.starts_with(own.0.canonicalize().unwrap()), "{package:?}");
    }
    let apart = Inputs {
        plugin_cache: false,
        ..workspace(&module)
    };
    machine.install(&apart).await;
    assert!(
        !machine
            .installed(&apart, "fake")
            .1
            .starts_with(machine.at("root/plugin-cache"))
    );
    assert!(machine.packages().is_empty(), "{:?}", machine.packages());
    machine.install(&workspace(&module)).await;
    assert_eq!(machine.packages(), ["fake 1.0.0"]);
}

#[tokio::test]
async fn a_version_that_was_withdrawn_is_not_chosen() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add_packed("fake", "1.0.0", "good");
    machine.origin.add_packed("fake", "1.1.0", "withdrawn");
    let first = workspace(&asks(">= 1.0.0"));
    machine.install(&first).await;
    assert_eq!(machine.version(&first, "fake"), "1.1.0");
    fs::remove_dir_all(&machine.origin.0).unwrap();
    machine.origin.add_packed("fake", "1.0.0", "good");
    let machine = machine.restarted().await;
    let second = workspace(&asks(">= 1.0.0"));
    machine.install(&second).await;
    assert_eq!(machine.version(&second, "fake"), "1.0.0");
    // The Workspace that has chosen it before goes on with it.
    machine.install(&first).await;
    assert_eq!(machine.version(&first, "fake"), "1.1.0");
}

#[tokio::test]
async fn what_is_there_is_not_fetched_once_more() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add_packed("fake", "1.0.0", "first");
    machine.install(&workspace(&asks("1.0.0"))).await;
    // That it is not fetched shows in that nothing notices the other package.
    machine.origin.add_packed("fake", "1.0.0", "second");
    let machine = machine.restarted().await;
    let second = workspace(&asks("~> 1.0"));
    machine.install(&second).await;
    let (_, package) = machine.installed(&second, "fake");
    let program = package.join("terraform-provider-fake_v1.0.0");
    assert_eq!(fs::read_to_string(program).unwrap(), "first");
    let apart = Inputs {
        plugin_cache: false,
        ..workspace(&asks("~> 1.0"))
    };
    machine.install(&apart).await;
    let (_, package) = machine.installed(&apart, "fake");
    let program = package.join("terraform-provider-fake_v1.0.0");
    assert_eq!(fs::read_to_string(program).unwrap(), "second");
}

#[tokio::test]
async fn what_cannot_be_had_fails_as_the_engine_says() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "program");
    let inputs = workspace(&asks_for(&[("fake", "~> 1.0"), ("other", "~> 9.0")]));
    let failure = machine.open(&inputs).await.err().unwrap();
    assert!(
        failure.message.contains("example.com/some/other"),
        "{}",
        failure.message
    );
    assert_eq!(machine.packages(), ["fake 1.0.0"]);
    machine.origin.add("other", "9.0.0", "other");
    machine
        .install(&workspace(&asks_for(&[("fake", "~> 1.0"), ("other", ">= 9.0")])))
        .await;
}

#[tokio::test]
async fn what_is_gone_from_it_comes_back() {
    let Some(machine) = Machine::counting().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "program");
    let inputs = workspace(&asks("1.0.0"));
    machine.install(&inputs).await;
    machine.install(&inputs).await;
    assert_eq!(machine.calls("init").len(), 2, "nothing changed");
    fs::remove_dir_all(machine.mirror()).unwrap();
    machine.install(&inputs).await;
    assert_eq!(machine.packages(), ["fake 1.0.0"]);
    assert_eq!(machine.calls("init").len(), 4);
}

#[tokio::test]
async fn versions_that_are_of_no_use_any_more_cost_nothing() {
    let Some(machine) = Machine::counting().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "program");
    let package = machine.path("module");
    fs::create_dir_all(package.join("child")).unwrap();
    fs::write(package.join("child/main.tf"), "output \"x\" { value = 1 }").unwrap();
    let call = "module \"child\" {\n source = \"./child\"\n}\n";
    let inputs = workspace_of(Module::Remote {
        address: package.display().to_string(),
        if_not_present: false,
    });
    let module = |text: &str| fs::write(package.join("main.tf"), format!("{text}{call}")).unwrap();
    module(&asks("1.0.0"));
    let lock = machine.install(&inputs).await.opened.provider_lock.clone();
    assert!(lock.is_some());
    let inputs = Inputs {
        provider_lock: lock,
        ..inputs
    };
    module("");
    machine.install(&inputs).await;
    let before = machine.calls("init").len();
    machine.install(&inputs).await;
    assert_eq!(machine.calls("init").len(), before);
}

#[tokio::test]
async fn versions_count_with_a_backend_too() {
    let Some(machine) = Machine::counting().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "old");
    let states = machine.path("states");
    let module = format!(
        "{}terraform {{\n backend \"local\" {{\n path = \"{1}/x\"\n workspace_dir = \"{1}\"\n }}\n}}\n",
        asks(">= 1.0.0"),
        states.display()
    );
    let inputs = Inputs {
        state: StateHome::Backend,
        ..workspace(&module)
    };
    machine.install(&inputs).await;
    machine.origin.add("fake", "1.1.0", "new");
    let changed = Inputs {
        module: Module::Hcl(format!("{module}# changed\n")),
        ..inputs.clone()
    };
    machine.install(&changed).await;
    assert_eq!(
        machine.version(&changed, "fake"),
        "1.0.0",
        "the working folder has kept it"
    );
    assert_eq!(machine.calls("init").len(), 3);
}

#[tokio::test]
async fn what_fills_it_uses_nothing_but_its_own_folder() {
    let (Some(program), Some(_)) = (program(), landlock()) else {
        return;
    };
    for (mode, is_taken) in [(SandboxMode::Off, true), (SandboxMode::Auto, false)] {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("hostile");
        let inputs = workspace(&asks("1.0.0"));
        let root = folder.path().join("root");
        let (tenant, base) = (root.join(&inputs.uid), root.join("plugin-cache"));
        let taken = [
            outside(folder.path()).join("taken"),
            tenant.join("src/taken"),
            base.join("mirror/taken"),
            base.join("records/taken"),
        ];
        let attacks = taken
            .iter()
            .map(|path| format!("cat {}/src/main.tf > {}; ", tenant.display(), path.display()));
        let text = format!(
            "#!/bin/sh\ncase $PWD in */filling/*) mkdir -p {0}/records; {1} cat {2}/src/main.tf > $HOME/taken && touch {3} ;; esac\n\
             exec {4} \"$@\"\n",
            base.display(),
            attacks.collect::<String>(),
            tenant.display(),
            folder.path().join("read").display(),
            program.display()
        );
        write_script(&script, &text);
        let machine = Machine::build(folder, &script, Some(mode)).await;
        machine.origin.add("fake", "1.0.0", "program");
        machine.install(&inputs).await;
        assert_eq!(machine.packages(), ["fake 1.0.0"], "{mode}");
        assert_eq!(machine.at("read").exists(), is_taken);
        for path in &taken {
            let is_there = fs::read(path).is_ok_and(|content| !content.is_empty());
            assert_eq!(is_there, is_taken, "{path:?} {mode}");
        }
    }
}

#[tokio::test]
async fn links_in_a_working_folder_lead_nowhere() {
    let Some(machine) = Machine::new().await else {
        return;
    };
    machine.origin.add("fake", "1.0.0", "program");
    let module = asks("1.0.0");
    let inputs = workspace(&module);
    let lock = machine.install(&inputs).await.opened.provider_lock.unwrap();
    let victim = machine.at("victim");
    fs::write(&victim, "untouched").unwrap();
    let folder = machine.at("root").join(&inputs.uid);
    for own in ["src/.terraform.lock.hcl", "home/mirror.tfrc"] {
        let own = folder.join(own);
        assert!(own.is_file(), "{own:?}");
        fs::remove_file(&own).unwrap();
        std::os::unix::fs::symlink(&victim, &own).unwrap();
    }
    // It is changed, so that everything is written again.
    let changed = with_lock(&inputs, &format!("{module}# changed\n"), &lock);
    machine.install(&changed).await;
    assert_eq!(machine.version(&changed, "fake"), "1.0.0");
    for own in ["src/.terraform.lock.hcl", "home/mirror.tfrc"] {
        assert!(!folder.join(own).is_symlink(), "{own}");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
}

/// A zip archive of one program, not compressed.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let crc = !content.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
            1 => (crc >> 1) ^ 0xEDB8_8320,
            _ => crc >> 1,
        })
    });
    let size = u32::try_from(content.len()).unwrap();
    let length = u16::try_from(name.len()).unwrap();
    let mut common = Vec::new();
    // Version, flags, method, time, date.
    for field in [20_u16, 0, 0, 0, 33] {
        common.extend(field.to_le_bytes());
    }
    for field in [crc, size, size] {
        common.extend(field.to_le_bytes());
    }
    common.extend(length.to_le_bytes());
    common.extend(0_u16.to_le_bytes());
    let mut file = b"PK\x03\x04".to_vec();
    file.extend(&common);
    file.extend(name.as_bytes());
    file.extend(content);
    let directory = u32::try_from(file.len()).unwrap();
    file.extend(b"PK\x01\x02");
    // Made on Unix.
    file.extend((3_u16 << 8 | 20).to_le_bytes());
    file.extend(&common);
    file.extend([0; 6]);
    file.extend((0o100_755_u32 << 16).to_le_bytes());
    file.extend(0_u32.to_le_bytes());
    file.extend(name.as_bytes());
    let end = u32::try_from(file.len()).unwrap();
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    file.extend((end - directory).to_le_bytes());
    file.extend(directory.to_le_bytes());
    file.extend([0; 2]);
    file
}
