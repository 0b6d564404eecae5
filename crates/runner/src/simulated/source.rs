//! The text of a module. Only what is at hand is read: a simulation fetches nothing.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use super::configuration::{self, Configuration, Unreadable};
use crate::engine::{Inputs, Module};

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
    pub(super) async fn load(&self, inputs: &Inputs) -> Result<Arc<Configuration>, SourceError> {
        let module = &inputs.module;
        // What is in a folder may have changed.
        if matches!(module, Module::Remote { .. }) {
            return load(inputs).await.map(Arc::new);
        }
        let known = |all: &VecDeque<(Module, Arc<Configuration>)>| {
            let found = all.iter().find(|(known, _)| known == module);
            found.map(|(_, configuration)| configuration.clone())
        };
        if let Some(configuration) = known(&self.0.lock()) {
            return Ok(configuration);
        }
        let configuration = Arc::new(load(inputs).await?);
        let mut all = self.0.lock();
        all.truncate(REMEMBERED - 1);
        all.push_front((module.clone(), configuration.clone()));
        Ok(configuration)
    }
}

/// Reads the module. One that would have to be fetched is taken for a module of one resource.
async fn load(inputs: &Inputs) -> Result<Configuration, SourceError> {
    match &inputs.module {
        Module::Hcl(text) => Ok(configuration::read([("main.tf", text.as_str())])?),
        Module::Json(text) => Ok(configuration::read([("main.tf.json", text.as_str())])?),
        Module::Remote { address, .. } => match local_path(address) {
            Some(path) => {
                let files = files(&path.join(&inputs.entrypoint)).await;
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

async fn files(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut entries = tokio::fs::read_dir(folder).await?;
    let mut names = Vec::new();
    while let Some(entry) = entries.next_entry().await? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_module = name.ends_with(".tf") || name.ends_with(".tf.json");
        if is_module && names.len() < MAX_FILES {
            names.push(name);
        }
    }
    names.sort();
    let mut files = Vec::new();
    for name in names {
        let text = tokio::fs::read_to_string(folder.join(&name)).await?;
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
}
