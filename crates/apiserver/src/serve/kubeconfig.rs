//! The file that tells clients where the server is and who they are.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;

use super::{
    certs::{Credential, Pki},
    private_file,
};

/// A kubeconfig with one context for one server.
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    /// What the context, the cluster and the user are called.
    name: String,
    server: String,
    ca_certificate: String,
    client: Credential,
}

/// Why a kubeconfig was not written.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The file knows clusters that are not ours.
    #[error("{} is a kubeconfig of other clusters ({}); it is left alone", path.display(), others.join(", "))]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The names in it that are not ours.
        others: Vec<String>,
    },
    /// The file is something else altogether.
    #[error("{} exists and is not a kubeconfig; it is left alone", path.display())]
    NotAKubeconfig {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("cannot write the kubeconfig {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Kubeconfig {
    /// For the administrator of `pki`, reaching the server at the URL `server`.
    pub fn for_admin(name: impl Into<String>, server: impl Into<String>, pki: &Pki) -> Self {
        Self {
            name: name.into(),
            server: server.into(),
            ca_certificate: pki.ca_certificate.clone(),
            client: pki.admin.clone(),
        }
    }

    /// Writes it to `path`, for its owner alone.
    ///
    /// An earlier one of the same name is replaced; anything else that stands there is refused, since
    /// nobody can get a lost credential back.
    pub fn write(&self, path: &Path) -> Result<(), KubeconfigError> {
        let target = self.target(path)?;
        let written = private_file::write(&target, self.to_yaml().as_bytes());
        written.map_err(failed_at(path))
    }

    /// Finds out whether [`Kubeconfig::write`] would be refused, and leaves what stands at `path` as it is.
    pub fn check(&self, path: &Path) -> Result<(), KubeconfigError> {
        let target = self.target(path)?;
        private_file::probe(&target).map_err(failed_at(path))
    }

    /// The file to write, in a directory that exists.
    fn target(&self, path: &Path) -> Result<PathBuf, KubeconfigError> {
        self.refuse_foreign(path)?;
        if let Some(dir) = path
            .parent()
            .filter(|dir| !dir.as_os_str().is_empty() && !dir.exists())
        {
            private_file::make_private_dir(dir).map_err(failed_at(path))?;
        }
        // A link stays a link: what it points at is replaced.
        Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// The document.
    pub fn to_yaml(&self) -> String {
        // JSON strings are YAML strings, whatever is in them.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let name = quoted(&self.name);
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             current-context: {name}\n\
             clusters:\n\
             - name: {name}\n\
             \x20 cluster:\n\
             \x20   server: {server}\n\
             \x20   certificate-authority-data: {ca}\n\
             contexts:\n\
             - name: {name}\n\
             \x20 context:\n\
             \x20   cluster: {name}\n\
             \x20   user: {name}\n\
             users:\n\
             - name: {name}\n\
             \x20 user:\n\
             \x20   client-certificate-data: {certificate}\n\
             \x20   client-key-data: {key}\n",
            server = quoted(&self.server),
            ca = STANDARD.encode(&self.ca_certificate),
            certificate = STANDARD.encode(self.client.certificate()),
            key = STANDARD.encode(self.client.key()),
        )
    }

    fn refuse_foreign(&self, path: &Path) -> Result<(), KubeconfigError> {
        let found = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(KubeconfigError::NotAKubeconfig {
                    path: path.to_owned(),
                });
            }
            Err(error) => return Err(failed_at(path)(error)),
        };
        if found.trim().is_empty() {
            return Ok(());
        }
        let found: Found = serde_saphyr::from_str(&found)
            .ok()
            .filter(|found: &Found| found.kind == "Config")
            .ok_or_else(|| KubeconfigError::NotAKubeconfig {
                path: path.to_owned(),
            })?;
        let mut others: Vec<String> = [found.clusters, found.users, found.contexts]
            .into_iter()
            .flat_map(Option::unwrap_or_default)
            .map(|entry| entry.name)
            .filter(|name| *name != self.name)
            .collect();
        others.sort();
        others.dedup();
        match others.is_empty() {
            true => Ok(()),
            false => Err(KubeconfigError::Foreign {
                path: path.to_owned(),
                others,
            }),
        }
    }
}

fn failed_at(path: &Path) -> impl Fn(io::Error) -> KubeconfigError {
    |source| KubeconfigError::Io {
        path: path.to_owned(),
        source,
    }
}

/// What must be known of a kubeconfig to tell whose it is.
#[derive(Deserialize)]
struct Found {
    kind: String,
    clusters: Option<Vec<Named>>,
    users: Option<Vec<Named>>,
    contexts: Option<Vec<Named>>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt, time::SystemTime};

    use super::{super::certs::PkiRequest, *};

    fn kubeconfig() -> Kubeconfig {
        let dir = tempfile::tempdir().unwrap();
        let request = PkiRequest {
            server_names: Vec::new(),
            admin_user: "admin".to_owned(),
            admin_group: "system:masters".to_owned(),
            now: SystemTime::now(),
        };
        let pki = Pki::load_or_create(dir.path(), &request).unwrap();
        Kubeconfig::for_admin("hive", "https://127.0.0.1:6443", &pki)
    }

    #[test]
    fn it_says_where_the_server_is_and_who_the_client_is() {
        let config = kubeconfig();
        let read = kube::config::Kubeconfig::from_yaml(&config.to_yaml()).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("hive"));
        let cluster = read.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:6443"));
        let decode = |data: &str| String::from_utf8(STANDARD.decode(data).unwrap()).unwrap();
        assert_eq!(
            decode(cluster.certificate_authority_data.as_deref().unwrap()),
            config.ca_certificate
        );
        let user = read.auth_infos[0].auth_info.as_ref().unwrap();
        assert_eq!(
            decode(user.client_certificate_data.as_deref().unwrap()),
            config.client.certificate()
        );
    }

    #[test]
    fn it_is_private_and_replaces_an_older_one_also_behind_a_link() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/config");
        let config = kubeconfig();
        config.write(&path).unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();

        let moved = Kubeconfig {
            server: "https://127.0.0.1:7777".to_owned(),
            ..config
        };
        moved.write(&link).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), moved.to_yaml());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_check_finds_a_place_where_no_file_can_be_and_leaves_none_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let config = kubeconfig();
        for refused in [file.join("config"), root.path().to_owned()] {
            assert!(config.check(&refused).is_err(), "{}", refused.display());
        }
        let dir = root.path().join("new");
        config.check(&dir.join("config")).unwrap();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }

    #[test]
    fn somebody_elses_file_is_refused_and_untouched() {
        let foreign =
            "apiVersion: v1\nkind: Config\nclusters:\n- name: prod\n  cluster: {server: https://prod}\n";
        let mixed = format!("{foreign}users:\n- name: hive\n  user: {{}}\n");
        let cases = [
            (foreign, Some("other clusters (prod)")),
            (&mixed, Some("other clusters (prod)")),
            ("{\"kind\": \"Pod\"}", Some("not a kubeconfig")),
            ("once upon a time", Some("not a kubeconfig")),
            ("kind: Config\nclusters: null\n", None),
            ("", None),
        ];
        let config = kubeconfig();
        for (content, refusal) in cases {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join("config");
            fs::write(&path, content).unwrap();
            assert_eq!(config.check(&path).is_err(), refusal.is_some(), "{content:?}");
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                content,
                "a check changes nothing"
            );
            match (config.write(&path), refusal) {
                (Err(error), Some(refusal)) => {
                    assert!(error.to_string().contains(refusal), "{content:?}: {error}");
                    assert_eq!(fs::read_to_string(&path).unwrap(), content);
                }
                (Ok(()), None) => assert_eq!(fs::read_to_string(&path).unwrap(), config.to_yaml()),
                (result, expected) => panic!("{content:?}: {result:?}, expected {expected:?}"),
            }
        }
    }
}
