//! The arguments of each command.

use std::{ffi::OsString, path::Path};

use crate::engine::{ExtraArgs, Goal};

/// Flags that the runner decides about.
const OURS: &[&str] = &[
    "out",
    "state",
    "state-out",
    "json",
    "json-into",
    "input",
    "detailed-exitcode",
    "destroy",
    "chdir",
    "from-module",
    "force-copy",
    "migrate-state",
];

/// Flags that only planning knows.
const PLANNING: &[&str] = &[
    "var",
    "var-file",
    "target",
    "target-file",
    "exclude",
    "exclude-file",
    "replace",
    "refresh",
    "refresh-only",
    "generate-config-out",
    "allow-deferral",
];

/// Flags that an apply of a saved plan has no use for.
const NEEDLESS: &[&str] = &["auto-approve"];

/// What the commands of a session are told besides what each of them is always told.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    extra: ExtraArgs,
}

impl Arguments {
    /// With these extra arguments. Fails with the first one that the runner cannot leave to others.
    pub(super) fn new(extra: ExtraArgs) -> Result<Self, String> {
        let all = [&extra.init, &extra.plan, &extra.apply, &extra.destroy];
        for arg in all.into_iter().flatten() {
            if !arg.starts_with('-') || name(arg).is_empty() {
                return Err(format!(
                    "The argument {arg:?} is no flag; write a flag and its value as one argument, such as -parallelism=5."
                ));
            }
            if OURS.contains(&name(arg)) {
                return Err(format!(
                    "The argument {arg:?} cannot be given: the runner decides about it."
                ));
            }
        }
        Ok(Self { extra })
    }

    /// Of `init`. With a state of ours, a backend is not configured by anybody else.
    pub(super) fn init(&self, is_ours: bool, speaks_json: bool) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["init".into(), "-input=false".into()];
        args.push(if speaks_json {
            "-json".into()
        } else {
            "-no-color".into()
        });
        let mut extra: Vec<&String> = self.extra.init.iter().collect();
        if is_ours {
            args.push("-reconfigure".into());
            extra.retain(|arg| !matches!(name(arg), "backend" | "backend-config" | "reconfigure"));
        }
        args.extend(extra.into_iter().map(OsString::from));
        args
    }

    /// An argument of `init` names where providers are, so that it looks nowhere else.
    pub(super) fn names_providers(&self) -> bool {
        self.extra.init.iter().any(|arg| name(arg) == "plugin-dir")
    }

    /// `init` chooses the newest versions, whatever was chosen before.
    pub(super) fn upgrades(&self) -> bool {
        let is_upgrade = |arg: &&String| name(arg) == "upgrade";
        let last = self.extra.init.iter().rfind(is_upgrade);
        last.is_some_and(|arg| !arg.ends_with("=false"))
    }

    /// Of `plan`. What is given for an apply and concerns planning counts here, since an apply plans nothing.
    pub(super) fn plan(&self, goal: Goal, file: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = [
            "plan",
            "-json",
            "-input=false",
            "-detailed-exitcode",
            "-lock=false",
        ]
        .map(OsString::from)
        .into();
        let mut out = OsString::from("-out=");
        out.push(file);
        args.push(out);
        let of_apply = match goal {
            Goal::Converge => {
                args.extend(self.extra.plan.iter().map(OsString::from));
                &self.extra.apply
            }
            Goal::Destroy => {
                args.push("-destroy".into());
                &self.extra.destroy
            }
        };
        let planning = of_apply.iter().filter(|arg| PLANNING.contains(&name(arg)));
        for arg in planning.map(OsString::from) {
            if !args.contains(&arg) {
                args.push(arg);
            }
        }
        args
    }

    /// Of `apply`.
    pub(super) fn apply(&self, goal: Goal, file: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = ["apply", "-json", "-input=false"].map(OsString::from).into();
        let extra = match goal {
            Goal::Converge => &self.extra.apply,
            Goal::Destroy => &self.extra.destroy,
        };
        let applying = extra
            .iter()
            .filter(|arg| !PLANNING.contains(&name(arg)) && !NEEDLESS.contains(&name(arg)));
        args.extend(applying.map(OsString::from));
        args.push(file.into());
        args
    }
}

/// The name of a flag, which may be given with one dash or two, and with a value.
fn name(arg: &str) -> &str {
    let name = arg.trim_start_matches('-');
    name.split_once('=').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extra(init: &[&str], plan: &[&str], apply: &[&str], destroy: &[&str]) -> ExtraArgs {
        let owned = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect();
        ExtraArgs {
            init: owned(init),
            plan: owned(plan),
            apply: owned(apply),
            destroy: owned(destroy),
        }
    }

    fn text(args: &[OsString]) -> String {
        args.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn what_concerns_planning_goes_to_the_plan() {
        let extra = extra(
            &["-upgrade", "-backend-config=x"],
            &["-parallelism=3", "-target=a"],
            &["-target=a", "--replace=b", "-parallelism=5", "-auto-approve"],
            &["-refresh=false", "-lock-timeout=5s"],
        );
        let arguments = Arguments::new(extra).unwrap();
        let always = "plan -json -input=false -detailed-exitcode -lock=false -out=/p";
        assert_eq!(
            text(&arguments.plan(Goal::Converge, Path::new("/p"))),
            format!("{always} -parallelism=3 -target=a --replace=b")
        );
        assert_eq!(
            text(&arguments.plan(Goal::Destroy, Path::new("/p"))),
            format!("{always} -destroy -refresh=false")
        );
        assert_eq!(
            text(&arguments.apply(Goal::Converge, Path::new("/p"))),
            "apply -json -input=false -parallelism=5 /p"
        );
        assert_eq!(
            text(&arguments.apply(Goal::Destroy, Path::new("/p"))),
            "apply -json -input=false -lock-timeout=5s /p"
        );
        assert_eq!(
            text(&arguments.init(true, true)),
            "init -input=false -json -reconfigure -upgrade"
        );
        assert_eq!(
            text(&arguments.init(false, false)),
            "init -input=false -no-color -upgrade -backend-config=x"
        );
    }

    #[test]
    fn tells_what_init_installs() {
        for (init, names_providers, upgrades) in [
            (&["-backend-config=x"][..], false, false),
            (&["-plugin-dir=/x"], true, false),
            (&["--upgrade"], false, true),
            (&["-upgrade=true"], false, true),
            (&["-upgrade", "-upgrade=false"], false, false),
        ] {
            let arguments = Arguments::new(extra(init, &[], &[], &[])).unwrap();
            assert_eq!(arguments.names_providers(), names_providers, "{init:?}");
            assert_eq!(arguments.upgrades(), upgrades, "{init:?}");
        }
    }

    #[test]
    fn what_the_runner_decides_is_refused() {
        for arg in [
            "-out=x",
            "--state=y",
            "-json",
            "-chdir=/",
            "-from-module=x",
            "plain",
            "--",
            "-destroy",
        ] {
            let problem = Arguments::new(extra(&[], &[arg], &[], &[])).unwrap_err();
            assert!(problem.contains(arg), "{problem}");
        }
    }
}
