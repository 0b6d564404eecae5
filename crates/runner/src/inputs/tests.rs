//! From Workspaces, written as people write them, to what Terraform is told.

mod fuzz;
mod homes;
mod loading;
mod policies;
mod secrecy;
mod tenancy;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use capt_api::foreign::{ClusterWorkspace, Workspace, providerconfig::TerraformConfig};
use capt_core::tenancy::NamespaceSet;
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};

use super::{
    ConfigFound, ConfigKind, ConfigRef, Data, InputError, Lookup, ObjectKind, ObjectRef, Prepared,
    Surroundings, load,
};
use crate::{CallError, view::WorkspaceView};

/// Objects, variables and files in maps.
#[derive(Default)]
struct Maps {
    objects: BTreeMap<ObjectRef, Data>,
    configs: BTreeMap<ConfigRef, TerraformConfig>,
    /// The namespaces that all of them allow; all, if it is none.
    allowed: Option<NamespaceSet>,
    environment: BTreeMap<String, String>,
    files: BTreeMap<PathBuf, String>,
}

impl Maps {
    fn object(mut self, kind: ObjectKind, namespace: &str, name: &str, key: &str, value: &str) -> Self {
        let object = ObjectRef {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let data = self.objects.entry(object).or_default();
        data.insert(key.to_owned(), value.as_bytes().to_vec());
        self
    }

    fn secret(self, namespace: &str, name: &str, key: &str, value: &str) -> Self {
        self.object(ObjectKind::Secret, namespace, name, key, value)
    }

    fn config_map(self, namespace: &str, name: &str, key: &str, value: &str) -> Self {
        self.object(ObjectKind::ConfigMap, namespace, name, key, value)
    }

    fn config(mut self, kind: ConfigKind, name: &str, content: Value) -> Self {
        let config = ConfigRef {
            namespace: (kind == ConfigKind::Namespaced).then(|| "team".to_owned()),
            kind,
            name: name.to_owned(),
        };
        self.configs
            .insert(config, serde_json::from_value(content).unwrap());
        self
    }
}

impl Lookup for Maps {
    fn get_secret<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>> {
        let found = self.objects.iter().find(|(object, _)| {
            object.kind == ObjectKind::Secret && object.namespace == namespace && object.name == name
        });
        std::future::ready(Ok(found.map(|(_, data)| data.clone()))).boxed()
    }

    fn get_config_map<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Data>, CallError>> {
        let found = self.objects.iter().find(|(object, _)| {
            object.kind == ObjectKind::ConfigMap && object.namespace == namespace && object.name == name
        });
        std::future::ready(Ok(found.map(|(_, data)| data.clone()))).boxed()
    }

    fn get_provider_config<'a>(
        &'a self,
        config: &'a ConfigRef,
    ) -> BoxFuture<'a, Result<Option<ConfigFound>, CallError>> {
        let found = self.configs.get(config).map(|config| ConfigFound {
            config: config.clone(),
            allowed_namespaces: self.allowed.clone(),
        });
        std::future::ready(Ok(found)).boxed()
    }

    fn get_environment(&self, name: &str) -> Option<String> {
        self.environment.get(name).cloned()
    }

    fn get_file<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        let found = self.files.get(path).map(|text| text.clone().into_bytes());
        std::future::ready(found.ok_or_else(|| io::ErrorKind::NotFound.into())).boxed()
    }
}

/// A namespaced Workspace with this spec; a module is filled in.
fn namespaced(spec: Value) -> WorkspaceView {
    let workspace: Workspace =
        serde_json::from_value(workspace("tf.m.upbound.io", Some("team"), spec)).unwrap();
    WorkspaceView::from(&workspace)
}

/// The same, cluster-scoped.
fn cluster_scoped(spec: Value) -> WorkspaceView {
    let workspace: ClusterWorkspace = serde_json::from_value(workspace("tf.upbound.io", None, spec)).unwrap();
    WorkspaceView::from(&workspace)
}

fn workspace(group: &str, namespace: Option<&str>, mut spec: Value) -> Value {
    let for_provider = &mut spec["forProvider"];
    if for_provider["source"].is_null() {
        for_provider["source"] = json!("Inline");
    }
    if for_provider["module"].is_null() {
        for_provider["module"] = json!("output \"x\" { value = 1 }");
    }
    json!({
        "apiVersion": format!("{group}/v1beta1"),
        "kind": "Workspace",
        "metadata": {
            "name": "vpc",
            "namespace": namespace,
            "uid": "u-1",
            "generation": 3,
            "annotations": {"crossplane.io/external-name": "team-vpc-abc"},
        },
        "spec": spec,
    })
}

fn surroundings() -> Surroundings {
    Surroundings {
        own_credentials: NamespaceSet::none(),
        namespace: "runner-home".to_owned(),
        server: Some("https://10.0.0.1:6443".to_owned()),
    }
}

fn loaded(view: &WorkspaceView, maps: &Maps) -> Result<Prepared, InputError> {
    load(view, maps, &surroundings()).now_or_never().unwrap()
}

/// What is refused, in words.
fn refused(view: &WorkspaceView, maps: &Maps) -> String {
    loaded(view, maps).map(|_| "accepted").unwrap_err().to_string()
}
