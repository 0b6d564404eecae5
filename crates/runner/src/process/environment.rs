//! The environment of Terraform and of everything that it starts.
//!
//! It begins empty, so that nothing of this machine gets into a run, and no run gets what another one has.

use std::env;

use crate::engine::Inputs;

use super::{
    aws_identity::AwsIdentity,
    workdir::{DATA, HOME, TMP, WorkDir},
};

/// What a run takes over from the environment of the runner, unless it is told otherwise: how programs are found, how
/// the network is reached, and who is trusted. No credentials.
pub const INHERITED: &[&str] = &[
    "PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "LANG",
    "LC_ALL",
    "TZ",
];

/// Those that name files with the certificates of who is trusted.
pub(super) const NAMES_TRUSTED: &[&str] = &["SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"];

/// Names that the runner needs for itself.
const OURS: &[&str] = &["TF_DATA_DIR", "TF_WORKSPACE"];

/// The first of these names that the runner needs for itself.
pub(super) fn taken(env: &[(String, String)]) -> Option<&str> {
    env.iter()
        .map(|(name, _)| name.as_str())
        .find(|name| OURS.contains(name))
}

/// The environment of the runner's own process, as far as it is text.
pub(super) fn of_process() -> Vec<(String, String)> {
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The environment of a run.
pub(super) fn environment(
    inherited: &[(String, String)],
    identity: &AwsIdentity,
    folder: &WorkDir,
    inputs: &Inputs,
) -> Vec<(String, String)> {
    let mut environment = inherited.to_vec();
    environment.extend(identity.env.iter().cloned());
    environment.extend(of_folder(folder));
    environment.extend(inputs.env.iter().cloned());
    environment
}

/// The environment of what the runner runs for itself in a folder of its own: nothing of a Workspace is in it.
pub(super) fn of_runner(inherited: &[(String, String)], folder: &WorkDir) -> Vec<(String, String)> {
    let mut environment = inherited.to_vec();
    environment.extend(of_folder(folder));
    environment
}

fn of_folder(folder: &WorkDir) -> impl Iterator<Item = (String, String)> {
    let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let home = folder.path(HOME);
    let ours = [
        ("HOME", path(home.clone())),
        ("TMPDIR", path(folder.path(TMP))),
        ("TF_DATA_DIR", path(folder.path(DATA))),
        ("TF_CLI_CONFIG_FILE", path(home.join(".terraformrc"))),
        ("TF_IN_AUTOMATION", "1".to_owned()),
        ("TF_INPUT", "0".to_owned()),
        ("CHECKPOINT_DISABLE", "1".to_owned()),
        // A run waits more than it computes, and collecting garbage on every core costs more than it gains.
        ("GOMAXPROCS", "2".to_owned()),
        ("GIT_CONFIG_GLOBAL", path(home.join(".gitconfig"))),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("GIT_TERMINAL_PROMPT", "0".to_owned()),
    ];
    ours.into_iter().map(|(name, value)| (name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use capt_terraform::redact::Secrets;

    use super::*;
    use crate::engine::{ExtraArgs, Module, StateHome};

    fn inputs(env: &[(&str, &str)]) -> Inputs {
        Inputs {
            uid: "u".to_owned(),
            operation: String::new(),
            cut_short: None,
            terraform_workspace: "w".to_owned(),
            module: Module::Hcl(String::new()),
            entrypoint: String::new(),
            files: Vec::new(),
            vars: Vec::new(),
            var_files: Vec::new(),
            env: env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            args: ExtraArgs::default(),
            state: StateHome::Backend,
            inherits_identity: false,
            plugin_cache: false,
            provider_lock: None,
            secrets: Secrets::default(),
            simulation: [].into(),
        }
    }

    #[test]
    fn the_user_has_the_last_word_on_almost_everything() {
        let folder = WorkDir::of(Path::new("/runs"), "u").unwrap();
        let inherited = [("PATH".to_owned(), "/bin".to_owned())];
        let inputs = inputs(&[
            ("PATH", "/mine"),
            ("TF_CLI_CONFIG_FILE", "./.terraformrc"),
            ("X", "y"),
        ]);
        let identity = AwsIdentity {
            env: vec![("AWS_REGION".to_owned(), "theirs".to_owned())],
            ..AwsIdentity::default()
        };
        let environment = environment(&inherited, &identity, &folder, &inputs);
        let last = |name: &str| {
            environment
                .iter()
                .rev()
                .find(|(found, _)| found == name)
                .map(|(_, value)| value.as_str())
        };
        let expected = [
            ("PATH", Some("/mine")),
            ("X", Some("y")),
            ("TF_CLI_CONFIG_FILE", Some("./.terraformrc")),
            ("HOME", Some("/runs/u/home")),
            ("TMPDIR", Some("/runs/u/tmp")),
            ("TF_DATA_DIR", Some("/runs/u/data")),
            ("TF_PLUGIN_CACHE_DIR", None),
            ("TF_INPUT", Some("0")),
            ("AWS_REGION", Some("theirs")),
            ("AWS_PROFILE", None),
        ];
        for (name, value) in expected {
            assert_eq!(last(name), value, "{name}");
        }
        assert_eq!(taken(&inputs.env), None);
        assert_eq!(
            taken(&[("TF_WORKSPACE".to_owned(), String::new())]),
            Some("TF_WORKSPACE")
        );
    }

    #[test]
    fn no_credential_is_inherited() {
        for name in INHERITED {
            let upper = name.to_uppercase();
            let words = [
                "TOKEN",
                "SECRET",
                "PASSWORD",
                "CREDENTIAL",
                "AWS",
                "TF_",
                "KUBECONFIG",
                "SSH",
                "LD_",
            ];
            assert!(!words.iter().any(|word| upper.contains(word)), "{name}");
        }
    }
}
