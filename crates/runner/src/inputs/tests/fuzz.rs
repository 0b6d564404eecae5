//! Whatever a configuration looks like, it gets an answer, and the same one from everybody who asks.

mod redaction;

use capt_core::wta::location;
use capt_terraform::redact::Secrets;
use proptest::prelude::*;
use serde_json::json;

use super::{Maps, loaded, namespaced};
use crate::inputs::{ConfigKind, Home, backend, sensitive};

/// Text made of the words that matter here.
fn configuration() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "terraform",
        "backend",
        "cloud",
        "\"kubernetes\"",
        "\"s3\"",
        "\"local\"",
        " {\n",
        "\n}\n",
        "\n",
        " ",
        "=",
        "secret_suffix = \"s\"\n",
        "namespace = \"team\"\n",
        "namespace = \"other\"\n",
        "host = \"https://x\"\n",
        "config_path = \"/k\"\n",
        "labels = {\n a = \"b\"\n}\n",
        "password = \"hidden-value\"\n",
        "path = var.x\n",
        "terraform {\n backend \"kubernetes\" {\n secret_suffix = \"s\"\n namespace = \"team\"\n }\n}\n",
        "terraform {\n backend \"s3\" {}\n}\n",
        "terraform {\n cloud {}\n}\n",
        "# backend\n",
        "/* cloud",
        "*/",
        "\"",
        "<<E\n",
        "\nE\n",
        "${",
        "}",
        "é",
        "\0",
    ]);
    let words = prop::collection::vec(word, 0..12).prop_map(|words| words.concat());
    prop_oneof![4 => words, 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_readers_of_a_backend_agree(text in configuration()) {
        let view = namespaced(json!({"forProvider": {"module": format!("#\n{text}")}}));
        let module = &view.for_provider.module;
        if let Ok(found) = backend::of_hcl(module, "module") {
            prop_assert_eq!(found.is_some(), location::backend_of_module(&view.for_provider).is_some());
        }
        let _ = backend::of_json(&text, "module");
        let _ = backend::settings_of_file(&text, "file");
        sensitive::in_hcl(&mut Secrets::default(), &text);
    }

    /// State of a namespaced Workspace is never ours in a namespace that only its own objects name.
    #[test]
    fn state_stays_in_the_namespace(module in configuration(), settings in configuration(), argument in configuration()) {
        let view = namespaced(json!({
            "forProvider": {"module": format!("#\n{module}"), "initArgs": [format!("-backend-config={argument}")]},
            "providerConfigRef": {"kind": "ProviderConfig", "name": "own"},
        }));
        let maps = Maps::default().config(ConfigKind::Namespaced, "own", json!({"backendFile": settings}));
        if let Ok(prepared) = loaded(&view, &maps) {
            if let Home::Ours(place) = &prepared.home {
                prop_assert_eq!(&place.namespace, "team");
            }
            prop_assert_eq!(&loaded(&view, &maps).unwrap().hash, &prepared.hash);
        }
    }
}
