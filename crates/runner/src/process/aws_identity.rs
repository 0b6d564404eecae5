//! The identity of the runner's own process in AWS, for runs of namespaces that the operator lists.
//!
//! A run has another home folder and sees no file of the runner, so that everything by which an AWS client finds
//! credentials is named to it: variables as they are, files where they are by default, and the cache of a login.

use std::path::{Path, PathBuf};

use capt_terraform::redact::Secrets;

/// Files with settings and credentials, and where they are in the home folder if no variable names them.
const PROFILES: [(&str, &str); 2] = [
    ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
    ("AWS_CONFIG_FILE", ".aws/config"),
];

/// Other variables that name files.
const FILES: [&str; 3] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CA_BUNDLE",
];

/// Variables whose values are secret.
const SECRET: [&str; 3] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
];

/// Where the tokens of a login with IAM Identity Center are, in the home folder.
const SSO_CACHE: &str = ".aws/sso/cache";

/// What a run is given to act as the runner's own process in AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AwsIdentity {
    /// Environment variables.
    pub(super) env: Vec<(String, String)>,
    /// What the run may read.
    pub(super) read: Vec<PathBuf>,
    /// The tokens of a login, which clients look for in their home folder.
    pub(super) sso_cache: Option<PathBuf>,
}

impl AwsIdentity {
    /// That of a process with this environment.
    pub(super) fn of(environment: &[(String, String)], exists: impl Fn(&Path) -> bool) -> Self {
        let value = |name: &str| environment.iter().find(|(known, _)| known == name);
        let home = value("HOME").map(|(_, home)| Path::new(home));
        let in_home = |path: &str| home.map(|home| home.join(path)).filter(|path| exists(path));
        let is_aws = |(name, _): &&(String, String)| name.starts_with("AWS_");
        let mut env: Vec<_> = environment.iter().filter(is_aws).cloned().collect();
        for (name, path) in PROFILES {
            if value(name).is_none()
                && let Some(path) = in_home(path)
            {
                env.push((name.to_owned(), path.to_string_lossy().into_owned()));
            }
        }
        let names_file =
            |name: &str| FILES.contains(&name) || PROFILES.iter().any(|(profile, _)| *profile == name);
        let files = env.iter().filter(|(name, _)| names_file(name));
        let mut read: Vec<PathBuf> = files.map(|(_, path)| lasting(Path::new(path), &exists)).collect();
        let sso_cache = in_home(SSO_CACHE);
        read.extend(sso_cache.clone());
        Self { env, read, sso_cache }
    }

    /// What of it is secret.
    pub(super) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        for (name, value) in &self.env {
            if SECRET.contains(&name.as_str()) {
                secrets.value(value);
            }
        }
        secrets
    }
}

/// What has to be allowed so that a file can be read as long as a run takes. In a volume that the kubelet fills, a file is
/// a link to another folder each time that its content changes; only the volume itself stays.
fn lasting(file: &Path, exists: impl Fn(&Path) -> bool) -> PathBuf {
    let volume = file.parent().filter(|parent| exists(&parent.join("..data")));
    volume.unwrap_or(file).to_owned()
}

#[cfg(test)]
mod tests {
    use capt_terraform::redact::Redactor;

    use super::*;

    fn identity(environment: &[(&str, &str)], there: &[&str]) -> AwsIdentity {
        let environment: Vec<_> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        AwsIdentity::of(&environment, |path| {
            there.iter().any(|one| path == Path::new(one))
        })
    }

    #[test]
    fn a_run_gets_what_names_an_identity_and_the_files_of_it() {
        const TOKEN: &str = "/var/run/secrets/eks/token";
        // The environment and the files of the runner; variables and paths of the run.
        type Case<'a> = (
            &'a [(&'a str, &'a str)],
            &'a [&'a str],
            &'a [(&'a str, &'a str)],
            &'a [&'a str],
        );
        let cases: [Case<'_>; 7] = [
            (&[], &[], &[], &[]),
            (
                &[
                    ("AWS_REGION", "x"),
                    ("PATH", "/bin"),
                    ("KUBECONFIG", "/k"),
                    ("HOME", "/me"),
                ],
                &[],
                &[("AWS_REGION", "x")],
                &[],
            ),
            (
                &[("HOME", "/me")],
                &["/me/.aws/config", "/me/.aws/credentials"],
                &[
                    ("AWS_SHARED_CREDENTIALS_FILE", "/me/.aws/credentials"),
                    ("AWS_CONFIG_FILE", "/me/.aws/config"),
                ],
                &["/me/.aws/credentials", "/me/.aws/config"],
            ),
            (
                &[("AWS_CONFIG_FILE", "/other"), ("HOME", "/me")],
                &["/me/.aws/config"],
                &[("AWS_CONFIG_FILE", "/other")],
                &["/other"],
            ),
            (
                &[("AWS_WEB_IDENTITY_TOKEN_FILE", TOKEN)],
                &["/var/run/secrets/eks/..data"],
                &[("AWS_WEB_IDENTITY_TOKEN_FILE", TOKEN)],
                &["/var/run/secrets/eks"],
            ),
            (
                &[
                    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", TOKEN),
                    ("AWS_CA_BUNDLE", "/ca"),
                ],
                &[],
                &[
                    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", TOKEN),
                    ("AWS_CA_BUNDLE", "/ca"),
                ],
                &[TOKEN, "/ca"],
            ),
            (
                &[("HOME", "/me")],
                &["/me/.aws/sso/cache"],
                &[],
                &["/me/.aws/sso/cache"],
            ),
        ];
        for (environment, there, env, read) in cases {
            let found = identity(environment, there);
            let found_env: Vec<_> = found
                .env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(found_env, env, "{environment:?}");
            let paths: Vec<_> = read.iter().map(PathBuf::from).collect();
            assert_eq!(found.read, paths, "{environment:?}");
            let has_cache = there.contains(&"/me/.aws/sso/cache");
            assert_eq!(found.sso_cache.is_some(), has_cache, "{environment:?}");
        }
    }

    #[test]
    fn keys_and_tokens_are_secret() {
        let key = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY";
        let found = identity(
            &[("AWS_SECRET_ACCESS_KEY", key), ("AWS_REGION", "eu-central-1")],
            &[],
        );
        let redactor = Redactor::new(&found.secrets());
        assert_eq!(
            redactor.text(&format!("{key} eu-central-1")),
            "(redacted) eu-central-1"
        );
    }
}
