//! Options of everything that runs Terraform.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use capt_runner::{
    Clock, Options, Which,
    choose::{self, Choice, Wanted, Wish},
    engine::Engine,
    process::{self, TerraformEngine},
    sandbox::{self, Sandbox, SandboxMode, SandboxStatus},
    simulated::SimulatedEngine,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::args::{self, Length};

/// How much longer than Terraform a runner may take to stop: what Terraform left has to be kept.
const AFTERWARDS: Duration = Duration::from_secs(30);

/// What runs Terraform, and how.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Terraform")]
pub(crate) struct EngineArgs {
    /// What runs modules. auto: terraform, else tofu, from PATH; without either, modules of templates with the
    /// sandbox label are simulated, and nothing else runs. simulated: nothing real is made for any module
    #[arg(long, value_name = "ENGINE", default_value = "auto", value_parser = engines())]
    engine: Wanted,

    /// The terraform or tofu program to use, instead of the one in PATH
    #[arg(long, value_name = "PATH")]
    engine_path: Option<PathBuf>,

    /// How many operations run at once
    #[arg(long, value_name = "N", default_value = "8", value_parser = args::at_least_one)]
    parallelism: NonZeroUsize,

    /// How long after an operation it is looked for drift, such as 10m or 1h; 0 for never
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = args::length_or_never)]
    poll_interval: Length,

    /// How long Terraform may take to stop when it is asked to, before it is made to
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = args::length)]
    grace: Duration,

    /// Whether runs are confined by the kernel (Landlock) to their own files and the system's programs. required: else
    /// the runner does not start. auto: as far as the kernel can. off: they read and write whatever the runner can
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = sandbox_modes())]
    sandbox: SandboxMode,

    /// A path that all runs may read and write, besides their own; modules of this machine must be below one. Repeatable
    #[arg(long, value_name = "PATH")]
    sandbox_allow: Vec<PathBuf>,
}

fn sandbox_modes() -> impl TypedValueParser<Value = SandboxMode> {
    PossibleValuesParser::new(SandboxMode::ALL.map(SandboxMode::as_str))
        .try_map(|word| word.parse::<SandboxMode>())
}

fn engines() -> impl TypedValueParser<Value = Wanted> {
    PossibleValuesParser::new(Wanted::ALL.map(Wanted::as_str)).try_map(|word| word.parse::<Wanted>())
}

impl EngineArgs {
    /// What makes no sense together.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if let (SandboxMode::Off, [path, ..]) = (self.sandbox, self.sandbox_allow.as_slice()) {
            return Some(format!(
                "--sandbox-allow {} has no effect with --sandbox off, where runs read and write everything. Choose --sandbox \
                 auto, or leave it out",
                path.display()
            ));
        }
        let path = self.engine_path.as_deref();
        let path = path.filter(|_| self.engine == Wanted::Simulated)?;
        Some(format!(
            "--engine simulated runs no program, and --engine-path {} names one. Leave out one of the two",
            path.display()
        ))
    }

    /// Looks for the engine. Working files go below this directory.
    pub(crate) async fn choose(&self, work_dir: PathBuf) -> anyhow::Result<Choice> {
        let wish = Wish {
            engine: self.engine,
            path: self.engine_path.clone(),
        };
        let sandbox = Sandbox::new(self.sandbox, &self.sandbox_allow, &work_dir)?;
        if self.engine != Wanted::Simulated {
            match sandbox.status() {
                status @ SandboxStatus::Unsupported { .. } => tracing::warn!("sandbox: {status}"),
                status => tracing::info!("sandbox: {status}"),
            }
        }
        if sandbox.status() != SandboxStatus::Disabled {
            sandbox::hide_memory();
        }
        let simulated = SimulatedEngine::new(0, clock()).with_local_modules(sandbox.local_modules());
        let options = process::Options {
            grace: self.grace,
            sandbox,
            ..process::Options::new(work_dir)?
        };
        let choice = choose::choose(&wish, Arc::new(simulated), |program| {
            let options = options.clone();
            async move {
                let engine = TerraformEngine::detect(program, options).await;
                let engine = engine.map_err(|error| error.failure())?;
                Ok(Arc::new(engine) as Arc<dyn Engine>)
            }
        })
        .await?;
        Ok(choice)
    }

    /// What a runner is told.
    pub(crate) fn options(&self, choice: Choice, which: Which, identity: String) -> Options {
        Options {
            which,
            parallelism: self.parallelism.get(),
            poll_interval: self.poll_interval.0,
            grace: self.grace + AFTERWARDS,
            seed: u64::from(std::process::id()),
            clock: clock(),
            ..Options::new(Arc::new(choice), identity)
        }
    }
}

/// What time it is.
pub(crate) fn clock() -> Clock {
    Arc::new(k8s_openapi::jiff::Timestamp::now)
}
