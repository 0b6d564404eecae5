//! An API server somewhere else, by kubeconfig.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use apiary::clock::{SharedClock, SystemClock};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

/// Leaves room in the 63 characters of a namespace for what makes it unique.
const LONGEST_TEST_NAME: usize = 40;

/// A client whose default namespace is one that no other test has.
pub(super) async fn connect(kubeconfig: &Path) -> Result<(Client, String, SharedClock), Box<dyn Error>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let namespace = unique_namespace();
    config.default_namespace.clone_from(&namespace);
    Ok((Client::try_from(config)?, namespace, Arc::new(SystemClock)))
}

/// The test harness names each thread after its test.
fn unique_namespace() -> String {
    let thread = thread::current();
    let mut name: String = thread
        .name()
        .unwrap_or("test")
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    name.truncate(LONGEST_TEST_NAME);
    format!(
        "t-{}-{:x}",
        name.trim_matches('-'),
        Timestamp::now().as_nanosecond()
    )
}

pub(super) async fn make_namespace(client: &Client, name: &str) -> Result<(), kube::Error> {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let namespace = Namespace {
        metadata,
        ..Namespace::default()
    };
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await?;
    Ok(())
}

/// Asks for the namespace to go. Whether it does is not the test's concern.
pub(super) async fn clean_up(client: &Client, namespace: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    if let Err(error) = namespaces.delete(namespace, &DeleteParams::background()).await {
        tracing::warn!(namespace, %error, "a test's namespace was left behind");
    }
}
