//! Objects survive the way from JSON into our structs and back, unchanged: generated ones, and the examples.

#![allow(clippy::expect_used)]

mod generate;

use std::{collections::BTreeSet, fs, path::PathBuf};

use capt_api::{
    CAPTCluster, CAPTClusterTemplate, CAPTControlPlane, CAPTControlPlaneTemplate, WorkspaceTemplate,
    WorkspaceTemplateApply, foreign,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The object after a trip through a struct.
fn trip<K: Serialize + DeserializeOwned>(object: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<K>(object.clone())?)
}

/// Our own CRDs as they are installed; foreign ones as derived, because only there the schema tells which levels of
/// the structs keep fields that they do not know.
fn schema_of(kind: &CustomResourceDefinition) -> CustomResourceDefinition {
    let name = kind.metadata.name.as_deref();
    capt_api::crds()
        .into_iter()
        .find(|crd| crd.metadata.name.as_deref() == name)
        .unwrap_or_else(|| kind.clone())
}

macro_rules! kinds {
    ($($test:ident: $kind:ty,)+) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
            $(
                #[test]
                fn $test(object in generate::object(&schema_of(&<$kind>::crd()))) {
                    let back = trip::<$kind>(&object).map_err(|error| TestCaseError::fail(error.to_string()))?;
                    prop_assert_eq!(back, object);
                }
            )+
        }

        fn trip_by_kind(object: &Value) -> Result<Value, serde_json::Error> {
            $(
                if object["kind"] == <$kind as kube::Resource>::kind(&()).as_ref()
                    && object["apiVersion"] == <$kind as kube::Resource>::api_version(&()).as_ref()
                {
                    return trip::<$kind>(object);
                }
            )+
            Err(serde::de::Error::custom(format!("no struct for {} {}", object["apiVersion"], object["kind"])))
        }
    };
}

kinds! {
    captclusters_survive: CAPTCluster,
    captclustertemplates_survive: CAPTClusterTemplate,
    captcontrolplanes_survive: CAPTControlPlane,
    captcontrolplanetemplates_survive: CAPTControlPlaneTemplate,
    workspacetemplates_survive: WorkspaceTemplate,
    workspacetemplateapplies_survive: WorkspaceTemplateApply,
    clusters_survive: foreign::Cluster,
    workspaces_survive: foreign::Workspace,
    cluster_workspaces_survive: foreign::ClusterWorkspace,
    providerconfigs_survive: foreign::ProviderConfig,
    clusterproviderconfigs_survive: foreign::ClusterProviderConfig,
    legacy_providerconfigs_survive: foreign::LegacyProviderConfig,
    providerconfigusages_survive: foreign::ProviderConfigUsage,
    legacy_providerconfigusages_survive: foreign::LegacyProviderConfigUsage,
}

#[test]
fn examples_survive_and_show_all_our_kinds() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut kinds = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("examples exist") {
        let path = entry.expect("the folder can be read").path();
        let text = fs::read_to_string(&path).expect("a text file");
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("an example is YAML");
        assert!(!objects.is_empty(), "{}", path.display());
        for object in objects {
            assert_eq!(
                trip_by_kind(&object).expect("an example is an object of a known kind"),
                object
            );
            kinds.insert(object["kind"].as_str().unwrap_or_default().to_owned());
        }
    }
    for crd in capt_api::crds() {
        assert!(
            kinds.contains(&crd.spec.names.kind),
            "no example shows {}",
            crd.spec.names.kind
        );
    }
}

#[test]
fn good_cases_of_admission_survive() {
    for case in capt_api::refusals::cases().expect("the cases can be read") {
        if case.message.is_none() {
            assert_eq!(
                trip_by_kind(&case.changed).expect("a good object"),
                case.changed,
                "{}",
                case.name
            );
        }
    }
}
