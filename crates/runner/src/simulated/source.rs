//! The text of a module. Only what is at hand is read: a simulation fetches nothing.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use super::configuration::{self, Configuration, Unreadable};
use crate::{
    engine::{Inputs, Module},
    folder::EntryKind,
    sandbox::LocalModules,
};

/// Files of a module that are read, at most.
const MAX_FILES: usize = 500;

/// Why there is no module.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceError {
    /// It is not there.
    #[error("the module at {address} cannot be read")]
    Unreachable {
        /// Its address.
        address: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is on this machine, where no module may come from.
    #[error("{0}")]
    Forbidden(String),
    /// It is there, and is no module.
    #[error("the module is no valid configuration")]
    Unreadable(#[from] Unreadable),
}

/// How many modules are remembered.
const REMEMBERED: usize = 8;

/// The modules that were read last: many Workspaces are made of few templates, and to read one takes longer than to run it.
#[derive(Default)]
pub(super) struct Modules(Mutex<VecDeque<(Module, Arc<Configuration>)>>);

impl Modules {
    /// Reads the module, unless it was read lately.
    pub(super) async fn load(
        &self,
        inputs: &Inputs,
        local: &LocalModules,
    ) -> Result<Arc<Configuration>, SourceError> {
        let module = &inputs.module;
        // What is in a folder may have changed.
        if matches!(module, Module::Remote { .. }) {
            return load(inputs, local).await.map(Arc::new);
        }
        let known = |all: &VecDeque<(Module, Arc<Configuration>)>| {
            let found = all.iter().find(|(known, _)| known == module);
            found.map(|(_, configuration)| configuration.clone())
        };
        if let Some(configuration) = known(&self.0.lock()) {
            return Ok(configuration);
        }
        let configuration = Arc::new(load(inputs, local).await?);
        let mut all = self.0.lock();
        all.truncate(REMEMBERED - 1);
        all.push_front((module.clone(), configuration.clone()));
        Ok(configuration)
    }
}

/// Reads the module. One that would have to be fetched is taken for a module of one resource.
async fn load(inputs: &Inputs, local: &LocalModules) -> Result<Configuration, SourceError> {
    match &inputs.module {
        Module::Hcl(text) => Ok(configuration::read([("main.tf", text.as_str())])?),
        Module::Json(text) => Ok(configuration::read([("main.tf.json", text.as_str())])?),
        Module::Remote { address, .. } => match local_path(address) {
            Some(path) => {
                local.check(address).map_err(SourceError::Forbidden)?;
                let (path, local) = (path.join(&inputs.entrypoint), local.clone());
                let reading = tokio::task::spawn_blocking(move || files(&path, &local));
                let files = reading.await.unwrap_or_else(|error| Err(io::Error::other(error)));
                let files = files.map_err(|source| SourceError::Unreachable {
                    address: address.clone(),
                    source,
                })?;
                Ok(configuration::read(
                    files.iter().map(|(name, text)| (name.as_str(), text.as_str())),
                )?)
            }
            None => {
                let text = format!(
                    "resource \"terraform_data\" \"module\" {{\n input = {} \n}}",
                    quoted(address)
                );
                Ok(configuration::read([("main.tf", text.as_str())])?)
            }
        },
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text.replace("${", "$${").replace("%{", "%%{")).to_string()
}

/// The folder that an address means, if it is one on this machine.
fn local_path(address: &str) -> Option<PathBuf> {
    let address = address.strip_prefix("file::").unwrap_or(address);
    let address = address.strip_prefix("file://").unwrap_or(address);
    let is_local = ["/", "./", "../"].iter().any(|start| address.starts_with(start)) || address == ".";
    // A second pair of slashes begins the folder inside what is fetched.
    is_local.then(|| match address.split_once("//") {
        Some((outer, inner)) => Path::new(outer).join(inner),
        None => PathBuf::from(address),
    })
}

fn files(path: &Path, local: &LocalModules) -> io::Result<Vec<(String, String)>> {
    // The entrypoint may lead to another place than the address.
    let Some((folder, at)) = local.find(path) else {
        return Err(io::ErrorKind::PermissionDenied.into());
    };
    if !folder.has_folder(&at)? {
        return Err(io::ErrorKind::NotFound.into());
    }
    let is_module = |name: &str| name.ends_with(".tf") || name.ends_with(".tf.json");
    let all = folder.list(&at)?.into_iter();
    let mut names: Vec<String> = all
        .filter(|(_, kind)| *kind != EntryKind::Folder)
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| is_module(name))
        .take(MAX_FILES)
        .collect();
    names.sort();
    let mut files = Vec::new();
    for name in names {
        let file = folder.read_linked(Path::new(""), &at.join(&name))?;
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        let text = String::from_utf8(file).map_err(|_| io::ErrorKind::InvalidData)?;
        files.push((name, text));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_this_machine_are_read() {
        for (address, expected) in [
            ("/modules/vpc", Some("/modules/vpc")),
            ("./vpc", Some("./vpc")),
            ("../modules//vpc", Some("../modules/vpc")),
            ("file:///modules/vpc", Some("/modules/vpc")),
            ("git::https://example.com/vpc.git", None),
            ("terraform-aws-modules/vpc/aws", None),
        ] {
            assert_eq!(local_path(address), expected.map(PathBuf::from), "{address}");
        }
    }

    #[test]
    fn nothing_is_read_that_is_not_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["open/vpc", "open/linked", "secret"] {
            std::fs::create_dir_all(root.join(path)).unwrap();
            std::fs::write(root.join(path).join("main.tf"), "# text").unwrap();
        }
        let link = std::os::unix::fs::symlink;
        link("../vpc/main.tf", root.join("open/linked/inside.tf")).unwrap();
        link("../secret/main.tf", root.join("open/out.tf")).unwrap();
        let local = LocalModules::Below(vec![root.join("open")]);
        for (path, any, allowed) in [
            ("open/vpc", Some(1), Some(1)),
            ("open/linked", Some(2), Some(2)),
            ("open/vpc/../../secret", Some(1), None),
            ("secret", Some(1), None),
            ("open/none", None, None),
            ("open", Some(1), None),
        ] {
            let count = |local| files(&root.join(path), local).ok().map(|files| files.len());
            assert_eq!(count(&LocalModules::Any), any, "{path}");
            assert_eq!(count(&local), allowed, "{path}");
        }
    }
}
