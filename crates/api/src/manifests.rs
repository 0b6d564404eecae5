//! Our CRDs as YAML documents: what `deploy/crds` holds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// A file of generated YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Name of the file, without a folder.
    pub file_name: String,
    /// What it holds: one YAML document.
    pub yaml: String,
}

/// One file for the CRD of each of our kinds, as `deploy/crds` holds them.
///
/// # Errors
/// If a CRD cannot be written as YAML.
pub fn crd_files() -> Result<Vec<Manifest>, serde_saphyr::ser::Error> {
    files(&crate::crds())
}

/// One file for the CRD of each foreign kind, for use where the originals are not installed.
///
/// # Errors
/// If a CRD cannot be written as YAML.
pub fn foreign_crd_files() -> Result<Vec<Manifest>, serde_saphyr::ser::Error> {
    files(&crate::foreign::crds())
}

/// The CRDs of all our kinds as one stream of YAML documents.
///
/// # Errors
/// If a CRD cannot be written as YAML.
pub fn crds_yaml() -> Result<String, serde_saphyr::ser::Error> {
    let documents: Vec<String> = crd_files()?.into_iter().map(|manifest| manifest.yaml).collect();
    Ok(documents.join("---\n"))
}

fn files(crds: &[CustomResourceDefinition]) -> Result<Vec<Manifest>, serde_saphyr::ser::Error> {
    crds.iter()
        .map(|crd| {
            let group = &crd.spec.group;
            let plural = &crd.spec.names.plural;
            Ok(Manifest {
                file_name: format!("{group}_{plural}.yaml"),
                yaml: serde_saphyr::to_string(crd)?,
            })
        })
        .collect()
}
