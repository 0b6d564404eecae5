//! What must not be seen.

use capt_terraform::redact::{PLACEHOLDER, Redactor};
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

/// What the redactor leaves of a text, when this is the content of a Secret that is a file of variables.
fn redacted(format: &str, tfvars: &str, text: &str) -> String {
    let view = namespaced(json!({"forProvider": {"varFiles": [
        {"source": "SecretKey", "format": format, "secretKeyRef": {"name": "creds", "key": "vars"}},
    ]}}));
    let maps = Maps::default().secret("team", "creds", "vars", tfvars);
    let inputs = loaded(&view, &maps).unwrap().inputs;
    assert_eq!(
        inputs.var_files[0].content,
        tfvars.as_bytes(),
        "Terraform reads it"
    );
    Redactor::new(&inputs.secrets).text(text)
}

/// In each case, a file of variables, and what Terraform or a provider prints of it. All of it left as it was when lines
/// were split.
#[test]
fn no_value_of_a_secret_with_variables_leaves() {
    const HCL: &str = "HCL";
    const JSON: &str = "JSON";
    let cases = [
        (
            "a comment behind",
            HCL,
            "db_pass = \"hunter22\" # of the old one\n",
            "is hunter22",
        ),
        (
            "a comment in C's way",
            HCL,
            "db_pass = \"correct-horse-battery\" // old\n",
            "is correct-horse-battery",
        ),
        (
            "a comment in front",
            HCL,
            "/* new */ db_pass = \"hunter22\"\n",
            "is hunter22",
        ),
        (
            "a list",
            HCL,
            "pass = [\"hunter22\", \"correct-horse-battery\"]\n",
            "hunter22, correct-horse-battery",
        ),
        (
            "a list over lines",
            HCL,
            "pass = [\n  \"hunter22\", # one\n  \"correct-horse-battery\",\n]\n",
            "hunter22, correct-horse-battery",
        ),
        (
            "an object in one line",
            HCL,
            "db = { user = \"ada-l\", pass = \"hunter22\" }\n",
            "ada-l:hunter22",
        ),
        (
            "deep inside",
            HCL,
            "db = { a = [{ b = { \"c d\" = [\"hunter22\"] } }] }\n",
            "is hunter22",
        ),
        (
            "an escaped quote",
            HCL,
            r#"db = "hunter\"22\\ab""#,
            "is hunter\"22\\ab",
        ),
        (
            "an escaped character",
            HCL,
            r#"db = "hun\u0074er22\U0001F600""#,
            "is hunter22\u{1f600}",
        ),
        (
            "the same as it is written",
            HCL,
            r#"db = "hun\u0074er22xx""#,
            r#"db = "hun\u0074er22xx""#,
        ),
        (
            "an escaped template",
            HCL,
            r#"db = "ab$${c}%%{d}ef""#,
            "is ab${c}%{d}ef",
        ),
        (
            "a template of constants",
            HCL,
            r#"db = "hun${"ter"}22""#,
            "is hunter22",
        ),
        (
            "a heredoc",
            HCL,
            "db = <<EOT\nhunter22\ncorrect horse\nEOT\n",
            "one: hunter22\ntwo: correct horse\n",
        ),
        (
            "an indented heredoc",
            HCL,
            "db = <<-EOT\n    hunter22\n      correct horse\n    EOT\n",
            "aHVudGVyMjIKICBjb3JyZWN0IGhvcnNlCg==",
        ),
        (
            "a heredoc in an object",
            HCL,
            "db = { x = <<EOT\nhunter22\nEOT\n}\n",
            "is hunter22",
        ),
        ("a short value", HCL, "db_pass = \"ab1!\"\n", "is ab1!"),
        ("a number", HCL, "pin = 471108\n", "is 471108"),
        ("a number with an exponent", HCL, "pin = 4711e2\n", "is 471100"),
        ("a number with a fraction", HCL, "pin = 47.1100\n", "is 47.11"),
        (
            "a large number",
            HCL,
            "pin = 12345678901234567890123\n",
            "is 12345678901234567890123",
        ),
        ("a number in JSON", JSON, r#"{"pin": 471108}"#, "is 471108"),
        (
            "a number with an exponent in JSON",
            JSON,
            r#"{"pin": [{"x": 4.711e5}]}"#,
            "is 471100",
        ),
        (
            "a large number in JSON",
            JSON,
            r#"{"pin": 12345678901234567890123}"#,
            "is 12345678901234567890123",
        ),
        ("a short value in JSON", JSON, r#"{"db_pass": "hunt"}"#, "is hunt"),
        (
            "a list in JSON",
            JSON,
            r#"{"db": {"list": ["hunter22"]}}"#,
            "is hunter22",
        ),
        (
            "an escape in JSON",
            JSON,
            r#"{"db": "hun\u0074er\n22xy"}"#,
            "is hunter\\n22xy",
        ),
        (
            "the first of two in JSON",
            JSON,
            r#"{"db": "hunter22", "db": "x"}"#,
            "is hunter22",
        ),
        (
            "JSON in text",
            HCL,
            r#"db = "{\"user\":\"ada-l\",\"pass\":\"hunter22\"}""#,
            "jsonencode({ pass = \"hunter22\" })",
        ),
        (
            "a value without quotes",
            HCL,
            "db_pass = hunter22\n",
            "   1: db_pass = hunter22",
        ),
        (
            "a file that is cut short",
            HCL,
            "db = {\n  pass = \"hunter22\"\n",
            "is hunter22",
        ),
        (
            "JSON that is cut short",
            JSON,
            r#"{"db": ["hunter22", "#,
            "is hunter22",
        ),
        (
            "another format",
            HCL,
            "[default]\npass: 'hunter22' ; old\n",
            "is hunter22",
        ),
    ];
    let mut leaks = Vec::new();
    for (case, format, tfvars, text) in cases {
        let clean = redacted(format, tfvars, text);
        assert!(clean.contains(PLACEHOLDER), "{case}: {clean}");
        let parts = [
            "hunt",
            "22",
            "correct",
            "horse",
            "ada-l",
            "aHVu",
            "ab1!",
            "47",
            "1234567890",
            "${c}",
            "ab$",
        ];
        let left: Vec<&str> = parts.into_iter().filter(|part| clean.contains(part)).collect();
        if !left.is_empty() {
            leaks.push(format!("{case}: {clean:?}"));
        }
    }
    assert!(
        leaks.is_empty(),
        "{} of {} leave:\n{}",
        leaks.len(),
        cases.len(),
        leaks.join("\n")
    );
}

/// A Secret holds all of these values, and other inputs some of them.
#[test]
fn what_may_be_read_beside_a_report_stays_in_it() {
    const PUBLIC: [&str; 17] = [
        "eu-central-1",
        "10.0.0.0/16",
        "1.31.2",
        "harmless-value",
        "from-a-config-map",
        "4711",
        "in-a-list-1",
        "in-a-varmap-1",
        "of-the-module-1",
        "aws_vpc",
        "main-resource",
        "of-a-default-1",
        "8080",
        "of-the-provider-1",
        "team",
        "vpc-name",
        "external-1",
    ];
    const HIDDEN: [&str; 9] = [
        "hunter22",
        "clear-password-1",
        "clear-password-2",
        "clear-password-3",
        "clear-password-4",
        "clear-password-5",
        "clear-password-6",
        "clear-password-7",
        "clear-password-8",
    ];
    let mut view = namespaced(json!({
        "forProvider": {
            "module": "variable \"zone\" { default = \"of-a-default-1\" }\n\
                variable \"db_password\" { default = \"clear-password-6\" }\n\
                resource \"aws_vpc\" \"main-resource\" {\n  tags = { name = \"of-the-module-1\", port = 8080, api_token = \"clear-password-7\" }\n  \
                password = \"clear-password-8\"\n}\n",
            "env": [
                {"name": "REGION", "value": "eu-central-1"},
                {"name": "DB_PASSWORD", "value": "clear-password-1"},
                {"name": "B", "configMapKeyRef": {"name": "settings", "key": "k"}},
            ],
            "vars": [
                {"key": "cidr", "value": "10.0.0.0/16"},
                {"key": "list", "value": "[\"in-a-list-1\", { password = \"clear-password-2\" }]"},
            ],
            "varFiles": [
                {"source": "SecretKey", "secretKeyRef": {"name": "creds", "key": "all"}},
                {"source": "ConfigMapKey", "configMapKeyRef": {"name": "settings", "key": "hcl"}},
                {"source": "ConfigMapKey", "format": "JSON", "configMapKeyRef": {"name": "settings", "key": "json"}},
            ],
            "varmap": {"version": "1.31.2", "nested": [{"name": "in-a-varmap-1", "client_secret": ["clear-password-3"]}]},
        },
        "providerConfigRef": {"kind": "ProviderConfig", "name": "own"},
    }));
    view.name = "vpc-name".to_owned();
    view.annotations
        .insert("crossplane.io/external-name".to_owned(), "external-1".to_owned());
    let all: Vec<String> = PUBLIC
        .iter()
        .chain(&HIDDEN)
        .map(|value| format!("\"{value}\""))
        .collect();
    let maps = Maps::default()
        .secret("team", "creds", "all", &format!("all = [{}]\n", all.join(", ")))
        .config_map("team", "settings", "k", "harmless-value")
        .config_map(
            "team",
            "settings",
            "hcl",
            "x = { y = \"from-a-config-map\", password = \"clear-password-4\" }\n",
        )
        .config_map(
            "team",
            "settings",
            "json",
            "{\"n\": 4711, \"db_password\": \"clear-password-5\"}",
        )
        .config(
            ConfigKind::Namespaced,
            "own",
            json!({"configuration": "provider \"x\" { zone = \"of-the-provider-1\" }"}),
        );
    let redactor = Redactor::new(&loaded(&view, &maps).unwrap().inputs.secrets);
    for word in PUBLIC {
        assert_eq!(redactor.text(word), word);
    }
    for word in HIDDEN {
        assert_eq!(redactor.text(word), PLACEHOLDER, "{word}");
    }
}

#[test]
fn a_name_makes_values_of_a_config_map_secret_too() {
    let view = namespaced(json!({"forProvider": {
        "env": [{"name": "API_TOKEN", "configMapKeyRef": {"name": "settings", "key": "env"}}],
        "varFiles": [{"source": "ConfigMapKey", "configMapKeyRef": {"name": "settings", "key": "vars"}}],
    }}));
    let maps = Maps::default()
        .config_map("team", "settings", "env", "clear-token-1")
        .config_map(
            "team",
            "settings",
            "vars",
            "db = { password = \"clear-1\" }\nurl = \"https://u:clear-2@host\"\n",
        );
    let redactor = Redactor::new(&loaded(&view, &maps).unwrap().inputs.secrets);
    let clean = redactor.text("clear-token-1, clear-1, clear-2, https://u:clear-2@host");
    assert_eq!(
        clean,
        "(redacted), (redacted), (redacted), https://(redacted)host"
    );
}

/// Who may read a Workspace may not read those.
#[test]
fn what_a_cluster_wide_configuration_holds_makes_nothing_public() {
    let view = namespaced(json!({"forProvider": {
        "env": [{"name": "A", "secretKeyRef": {"name": "creds", "key": "env"}}],
    }}));
    let maps = Maps::default().secret("team", "creds", "env", "hunter22").config(
        ConfigKind::Cluster,
        "default",
        json!({"configuration": "provider \"x\" { y = \"hunter22\" }"}),
    );
    let inputs = loaded(&view, &maps).unwrap().inputs;
    assert!(
        String::from_utf8_lossy(&inputs.files[0].content).contains("hunter22"),
        "it is read"
    );
    assert_eq!(Redactor::new(&inputs.secrets).text("hunter22"), PLACEHOLDER);
}

#[test]
fn every_value_of_credentials_is_secret() {
    let kubeconfig = "apiVersion: v1\nkind: Config\nusers:\n- name: adm-in\n  user:\n    token: \"hunter 22\"\n    \
        client-key-data: LS0tLS1CRUdJTg==\n    exec: {command: aws-cli, args: [\"eks\", \"get-tok\"]}\n";
    for (content, values) in [
        (
            "[prod]\naws_secret_access_key = ab/cd+ef==\nregion=us-gov-1 ; x\n",
            vec!["ab/cd+ef==", "us-gov-1"],
        ),
        (
            "export PASS='hun ter22'\nPIN=471108 # of it\nDSN=\"a\\tb c\"\n",
            vec!["hun ter22", "471108", "a\tb c"],
        ),
        (
            r#"{"type": "service", "n": [4711.0], "key": "a\nb c d"}"#,
            vec!["service", "4711", "a\nb c d"],
        ),
        (
            kubeconfig,
            vec!["adm-in", "hunter 22", "LS0tLS1CRUdJTg==", "aws-cli", "get-tok"],
        ),
        (
            "credentials \"app.example.com\" { token = \"at.las\" }\n",
            vec!["at.las"],
        ),
        ("just-the-token\n", vec!["just-the-token"]),
    ] {
        let view = namespaced(json!({"forProvider": {}}));
        let maps = Maps::default().secret("sys", "creds", "k", content).config(
            ConfigKind::Cluster,
            "default",
            json!({"credentials": [
                {"filename": "f", "source": "Secret", "secretRef": {"namespace": "sys", "name": "creds", "key": "k"}},
            ]}),
        );
        let inputs = loaded(&view, &maps).unwrap().inputs;
        assert_eq!(
            inputs.files[0].content,
            content.as_bytes(),
            "Terraform may read it"
        );
        let redactor = Redactor::new(&inputs.secrets);
        for value in values {
            assert_eq!(
                redactor.text(&format!("is ({value}).")),
                "is ((redacted)).",
                "{value} of {content}"
            );
        }
    }
}
