//! What must not be seen.

use capt_terraform::redact::Redactor;
use serde_json::json;

use super::{Maps, loaded, namespaced};
use crate::inputs::ConfigKind;

#[test]
fn secrets_are_known_wherever_they_come_from() {
    let view = namespaced(json!({
        "forProvider": {
            "env": [
                {"name": "A", "secretKeyRef": {"name": "creds", "key": "env"}},
                {"name": "DB_PASSWORD", "value": "in-the-clear-1"},
                {"name": "REGION", "value": "eu-central-1"},
                {"name": "B", "configMapKeyRef": {"name": "settings", "key": "k"}},
            ],
            "vars": [
                {"key": "api_token", "value": "in-the-clear-2"},
                {"key": "token_name", "value": "only-a-pointer"},
            ],
            "varFiles": [{"source": "SecretKey", "secretKeyRef": {"name": "creds", "key": "vars"}}],
            "varmap": {"nested": [{"client_secret": "in-the-clear-3", "size": "medium-size"}]},
        },
    }));
    let maps = Maps::default()
        .secret("team", "creds", "env", "from-a-secret-1")
        .secret("team", "creds", "vars", "master_password = \"from-a-secret-2\"\n")
        .secret("sys", "aws", "ini", "[default]\naws_secret_access_key = from-a-secret-3\n")
        .config_map("team", "settings", "k", "harmless-value")
        .config(
            ConfigKind::Cluster,
            "default",
            json!({
                "credentials": [{
                    "filename": "aws.ini", "source": "Secret",
                    "secretRef": {"namespace": "sys", "name": "aws", "key": "ini"},
                }],
                "configuration": "provider \"x\" {\n  token = \"in-the-clear-4\"\n  extra = {\n    password = \"in-the-clear-5\"\n    host = \"db.example.com\"\n  }\n}",
                "backendFile": "access_key = \"in-the-clear-6\"\nbucket = \"my-bucket\"",
            }),
        );
    let inputs = loaded(&view, &maps).unwrap().inputs;
    let redactor = Redactor::new(&inputs.secrets);
    let hidden = [
        "from-a-secret-1",
        "from-a-secret-2",
        "from-a-secret-3",
        "in-the-clear-1",
        "in-the-clear-2",
        "in-the-clear-3",
        "in-the-clear-4",
        "in-the-clear-5",
        "in-the-clear-6",
    ];
    for word in hidden {
        let clean = redactor.text(&format!("before {word} after"));
        assert!(!clean.contains(word), "{word} is seen");
    }
    for word in [
        "eu-central-1",
        "harmless-value",
        "only-a-pointer",
        "medium-size",
        "db.example.com",
        "my-bucket",
    ] {
        assert!(redactor.text(word).contains(word), "{word} is hidden");
    }
}

#[test]
fn nothing_secret_is_in_what_is_printed_for_developers() {
    let view = namespaced(json!({"forProvider": {
        "env": [{"name": "A", "secretKeyRef": {"name": "creds", "key": "vars"}}],
        "varFiles": [{"source": "SecretKey", "secretKeyRef": {"name": "creds", "key": "vars"}}],
        "vars": [{"key": "password", "value": "hidden-value"}],
    }}));
    let maps = Maps::default().secret("team", "creds", "vars", "x = \"hidden-value\"");
    let printed = format!("{:?}", loaded(&view, &maps).unwrap());
    assert!(!printed.contains("hidden-value"), "{printed}");
}
