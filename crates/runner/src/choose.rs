//! Which engine a runner uses, and why.
//!
//! What a person names must be there. Where nobody names anything, Terraform comes before OpenTofu, and a simulation
//! comes last and only for modules that make nothing real: nothing real is ever reported ready by a simulation that
//! nobody asked for.

use std::{
    fmt,
    future::Future,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use crate::{
    Engines,
    engine::{Engine, EngineKind, Failure, FailureKind},
};

/// What a person wishes for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Which engine.
    pub engine: Wanted,
    /// The program, if it is not to be looked up.
    pub path: Option<PathBuf>,
}

/// Which engine a person wishes for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Whatever is there.
    #[default]
    Auto,
    /// HashiCorp's.
    Terraform,
    /// OpenTofu.
    Tofu,
    /// None: results are made up.
    Simulated,
}

impl Wanted {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Terraform, Self::Tofu, Self::Simulated];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Terraform => "terraform",
            Self::Tofu => "tofu",
            Self::Simulated => "simulated",
        }
    }

    /// The programs to look for, best first.
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Auto => &["terraform", "tofu"],
            Self::Terraform => &["terraform"],
            Self::Tofu => &["tofu"],
            Self::Simulated => &[],
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|wanted| wanted.as_str() == word);
        found.ok_or_else(|| "it is none of auto, terraform, tofu, simulated".to_owned())
    }
}

/// Why there is no engine that a person wished for.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// There is no program of this name that can be used.
    #[error("--engine {wanted} cannot be had")]
    Unusable {
        /// The wish.
        wanted: Wanted,
        /// Why, and what to do.
        #[source]
        reason: Failure,
    },
    /// The program that was named cannot be used.
    #[error("--engine-path {} cannot be used", path.display())]
    UnusablePath {
        /// The program.
        path: PathBuf,
        /// Why, and what to do.
        #[source]
        reason: Box<Failure>,
    },
    /// The program is another one.
    #[error("{path:?} is {found} and not {wanted}; leave --engine out, or name another path")]
    Another {
        /// The program.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What was wished for.
        wanted: Wanted,
    },
    /// A path was given for something that has none.
    #[error("a simulation has no program; leave --engine-path out")]
    NoProgram,
}

/// The engines that a runner uses.
#[derive(Clone)]
pub struct Choice {
    real: Result<Arc<dyn Engine>, Failure>,
    simulated: Arc<dyn Engine>,
    simulates_all: bool,
    why: String,
}

impl Choice {
    /// Which engine was chosen, and why, in one line.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Choice({})", self.why)
    }
}

impl Engines for Choice {
    fn for_workspace(&self, is_sandbox: bool) -> Result<Arc<dyn Engine>, Failure> {
        match &self.real {
            _ if self.simulates_all => Ok(self.simulated.clone()),
            Ok(real) => Ok(real.clone()),
            Err(_) if is_sandbox => Ok(self.simulated.clone()),
            Err(missing) => Err(missing.clone()),
        }
    }
}

/// Chooses. `detect` says what a program is, given its name or path.
///
/// # Errors
/// If what was wished for by name is not there.
pub async fn choose<Detecting>(
    wish: &Wish,
    simulated: Arc<dyn Engine>,
    detect: impl Fn(PathBuf) -> Detecting,
) -> Result<Choice, ChoiceError>
where
    Detecting: Future<Output = Result<Arc<dyn Engine>, Failure>>,
{
    let choice = |real, simulates_all, why| Choice {
        real,
        simulated: simulated.clone(),
        simulates_all,
        why,
    };
    if wish.engine == Wanted::Simulated {
        if wish.path.is_some() {
            return Err(ChoiceError::NoProgram);
        }
        let why = "simulated for every Workspace, as asked for: nothing real is made".to_owned();
        return Ok(choice(Err(not_looked_for()), true, why));
    }
    if let Some(path) = &wish.path {
        let engine = detect(path.clone()).await;
        let engine = engine.map_err(|reason| ChoiceError::UnusablePath {
            path: path.clone(),
            reason: Box::new(reason),
        })?;
        check(wish.engine, path, &*engine)?;
        let why = format!("{}, from {}", engine.about(), path.display());
        return Ok(choice(Ok(engine), false, why));
    }
    let mut reasons = Vec::new();
    for program in wish.engine.programs() {
        match detect(PathBuf::from(program)).await {
            Ok(engine) => {
                let why = match reasons.is_empty() {
                    true => format!("{}, from PATH", engine.about()),
                    false => format!("{}, from PATH, since terraform cannot be used", engine.about()),
                };
                return Ok(choice(Ok(engine), false, why));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    // An engine that is there and cannot be used tells more than one that is not there.
    let worst = reasons
        .iter()
        .position(|reason| reason.kind != FailureKind::EngineMissing)
        .unwrap_or(0);
    let mut reason = reasons.swap_remove(worst);
    if wish.engine != Wanted::Auto {
        return Err(ChoiceError::Unusable {
            wanted: wish.engine,
            reason,
        });
    }
    let why = match reason.kind {
        FailureKind::EngineMissing => {
            "simulated for sandbox templates only, since neither terraform nor tofu is in PATH".to_owned()
        }
        _ => format!("simulated for sandbox templates only, since {reason}"),
    };
    if reason.kind == FailureKind::EngineMissing {
        reason.message =
            "There is neither terraform nor tofu here, and only templates with the sandbox label are \
                          simulated: install one of them, or name it with --engine-path, and start the runner anew"
                .to_owned();
    }
    Ok(choice(Err(reason), false, why))
}

fn check(wanted: Wanted, path: &Path, engine: &dyn Engine) -> Result<(), ChoiceError> {
    let about = engine.about();
    let fits = match wanted {
        Wanted::Terraform => about.kind == EngineKind::Terraform,
        Wanted::Tofu => about.kind == EngineKind::Tofu,
        Wanted::Auto | Wanted::Simulated => true,
    };
    if fits {
        return Ok(());
    }
    Err(ChoiceError::Another {
        path: path.to_owned(),
        found: about.to_string(),
        wanted,
    })
}

fn not_looked_for() -> Failure {
    Failure {
        kind: FailureKind::EngineMissing,
        message: "Everything is simulated here".to_owned(),
        diagnostics: Vec::new(),
        state: None,
        missing: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
