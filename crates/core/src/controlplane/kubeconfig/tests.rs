use super::*;

const OWNER: Owner<'static> = Owner {
    api_version: "controlplane.cluster.x-k8s.io/v1beta1",
    kind: "CAPTControlPlane",
    namespace: "team",
    name: "blue-x7k2p",
    uid: "cp-1",
    cluster: Some("blue"),
};

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + 60 * minute).expect("a valid time")
}

fn endpoint() -> ApiEndpoint {
    ApiEndpoint {
        host: "abc.eks.amazonaws.com".to_owned(),
        port: 443,
    }
}

fn token(value: &str, minute: i64) -> Token {
    Token {
        value: Hidden::new(value),
        expires_at: at(minute),
    }
}

/// A Secret as a server keeps what was written.
fn stored(desired: &Desired) -> SecretSeen {
    let texts = |value: &Value| -> BTreeMap<String, String> {
        serde_json::from_value(value.clone()).unwrap_or_default()
    };
    let data = texts(&desired.fields["data"]);
    SecretSeen {
        name: desired.target.name.clone(),
        uid: "secret-1".to_owned(),
        type_: desired.fields["type"].as_str().unwrap_or_default().to_owned(),
        labels: texts(&desired.fields["metadata"]["labels"]),
        annotations: texts(&desired.fields["metadata"]["annotations"]),
        controller: Some((
            "CAPTControlPlane/blue-x7k2p".to_owned(),
            desired.fields["metadata"]["ownerReferences"][0]["uid"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )),
        data: data
            .into_iter()
            .map(|(key, value)| {
                let decoded = STANDARD.decode(value).expect("base64");
                (key, Hidden::new(String::from_utf8(decoded).expect("text")))
            })
            .collect(),
        ..SecretSeen::default()
    }
}

#[test]
fn the_secret_is_what_the_contract_says() {
    let wanted = with_token("blue", &endpoint(), "Q0E=", &token("t-1", 15));
    let desired = wanted
        .change(&OWNER, None, true)
        .expect("ours")
        .expect("a change");
    assert_eq!(desired.target.name, "blue-kubeconfig");
    assert_eq!(desired.guard, Guard::Absent);
    assert_eq!(desired.fields["type"], "cluster.x-k8s.io/secret");
    let labels = &desired.fields["metadata"]["labels"];
    assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "blue");
    let owner = &desired.fields["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["uid"], &owner["controller"]),
        (&json!("cp-1"), &json!(true))
    );
    let secret = stored(&desired);
    let kubeconfig = secret.text(VALUE).expect("the key value");
    assert_eq!(unusable(kubeconfig), None, "{kubeconfig}");
    for part in [
        "server: \"https://abc.eks.amazonaws.com:443\"",
        "token: \"t-1\"",
        "data: \"Q0E=\"",
    ] {
        assert!(kubeconfig.contains(part), "{part} in {kubeconfig}");
    }
    assert!(
        secret
            .text(RELATIVE)
            .is_some_and(|text| text.contains("tokenFile: ./token-file"))
    );
    assert_eq!(secret.text(TOKEN_FILE), Some("t-1"));
    assert_eq!(
        wanted.change(&OWNER, Some(&secret), true),
        Ok(None),
        "written once"
    );
}

#[test]
fn what_is_written_for_people_runs_awss_program_and_has_no_token() {
    let wanted = for_people("blue", &endpoint(), "Q0E=", "blue-in-aws", "eu-central-1");
    let kubeconfig = wanted.data[VALUE].reveal();
    assert!(unusable(kubeconfig).is_some_and(|why| why.contains("runs a program")));
    assert!(
        kubeconfig.contains("\"--cluster-name\",\"blue-in-aws\""),
        "{kubeconfig}"
    );
    assert!(!kubeconfig.contains("token:"), "{kubeconfig}");
}

#[test]
fn kubeconfigs_are_yaml_that_means_what_it_should() {
    let tricky = "a\"b: c\\ #";
    for user in [
        User::Token(&Hidden::new(tricky)),
        User::TokenFile,
        User::AwsCli {
            cluster_name: tricky,
            region: "eu-central-1",
        },
    ] {
        let text = render(tricky, &endpoint(), "Q0E=", user);
        let parsed: Value = serde_saphyr::from_str(&text).expect("YAML");
        assert_eq!(parsed["current-context"], tricky, "{text}");
        assert_eq!(
            parsed["clusters"][0]["cluster"]["certificate-authority-data"],
            "Q0E="
        );
        assert_eq!(parsed["contexts"][0]["context"]["user"], tricky);
        let login = &parsed["users"][0]["user"];
        match user {
            User::Token(_) => assert_eq!(login["token"], tricky),
            User::TokenFile => assert_eq!(login["tokenFile"], "./token-file"),
            User::AwsCli { .. } => assert_eq!(login["exec"]["args"][5], tricky),
        }
    }
}

#[test]
fn the_source_follows_the_endpoint_unless_the_spec_says_it() {
    for (source_text, host, expected) in [
        ("", "abc.eks.amazonaws.com", Source::AwsIam),
        ("", "127.0.0.1", Source::Output),
        ("Auto", "abc.gr7.us-gov-west-1.eks.amazonaws.com", Source::AwsIam),
        ("Output", "abc.eks.amazonaws.com", Source::Output),
        ("AwsIam", "127.0.0.1", Source::AwsIam),
    ] {
        let mut spec = json!({"version": "1.31", "workspaceTemplateRef": {"name": "eks"}});
        if !source_text.is_empty() {
            spec["kubeconfig"] = json!({"source": source_text});
        }
        let spec: CAPTControlPlaneSpec = serde_json::from_value(spec).expect("a spec");
        assert_eq!(source(&spec, host), expected, "{source_text} {host}");
    }
}

#[test]
fn a_token_is_renewed_long_before_it_ends_and_the_one_that_lasts_longest_is_used() {
    let in_secret = |token: &Token| {
        let desired = with_token("blue", &endpoint(), "Q0E=", token).change(&OWNER, None, true);
        stored(&desired.expect("ours").expect("a change"))
    };
    let old = in_secret(&token("old", 15));
    let value = |token: Option<Token>| token.map(|token| token.value.reveal().to_owned());
    for (name, issued, secret, now, expected) in [
        ("none", None, None, 0, None),
        ("after a restart", None, Some(&old), 14, Some("old")),
        ("issued", Some(token("new", 25)), Some(&old), 10, Some("new")),
        (
            "issued by another process before",
            Some(token("older", 5)),
            Some(&old),
            1,
            Some("old"),
        ),
        ("both ended", Some(token("older", 5)), Some(&old), 15, None),
    ] {
        assert_eq!(
            value(current_token(issued.as_ref(), secret, at(now))).as_deref(),
            expected,
            "{name}"
        );
    }
    assert_eq!(renew_by(None, at(3)), at(3), "at once");
    assert_eq!(renew_by(Some(&token("t", 15)), at(3)), at(9));
}

#[test]
fn a_kubeconfig_that_runs_a_program_is_refused() {
    for (text, expected) in [
        ("", Some("is empty")),
        ("clusters: []\nusers:\n- name: a\n  user:\n    token: t\n", None),
        (
            "clusters: []\nusers:\n- name: exec\n  user:\n    exec:\n      command: aws\n",
            Some("runs a program"),
        ),
        (
            "clusters: []\nusers:\n- name: a\n  user: {}\n  auth-provider :\n    name: gcp\n",
            Some("runs a program"),
        ),
        (
            "{\"clusters\": [], \"users\": [{\"user\":\n{\n\"exec\": {}}}]}",
            Some("runs a program"),
        ),
        ("hello", Some("is no kubeconfig")),
        (
            "clusters: []\nusers:\n- name: executive\n  user:\n    token: exec\n",
            None,
        ),
    ] {
        let found = unusable(text);
        match expected {
            None => assert_eq!(found, None, "{text}"),
            Some(words) => assert!(found.is_some_and(|why| why.contains(words)), "{text}: {found:?}"),
        }
    }
}

#[test]
fn somebody_elses_secret_is_left_alone_and_a_stripped_one_is_ours_again() {
    type Edit = fn(&mut SecretSeen);
    let wanted = from_output("blue", "clusters: []\nusers: []\n");
    let desired = wanted
        .change(&OWNER, None, true)
        .expect("ours")
        .expect("a change");
    let cases: [(&str, Edit, Result<bool, &str>); 7] = [
        ("as it is", |_| {}, Ok(false)),
        (
            "another controller",
            |secret| secret.controller = Some(("KubeadmControlPlane/x".to_owned(), "9".to_owned())),
            Err("belongs to KubeadmControlPlane/x"),
        ),
        (
            "another type",
            |secret| secret.type_ = "Opaque".to_owned(),
            Err("is of the type Opaque"),
        ),
        (
            "stripped of its owner",
            |secret| secret.controller = None,
            Ok(true),
        ),
        (
            "stripped of owner and labels",
            |secret| {
                secret.controller = None;
                secret.labels.clear();
            },
            Ok(true),
        ),
        (
            "another cluster's",
            |secret| {
                secret.controller = None;
                secret
                    .labels
                    .insert(foreign_marks::CLUSTER_NAME.to_owned(), "green".to_owned());
            },
            Err("another cluster's"),
        ),
        (
            "other content",
            |secret| {
                secret.data.clear();
            },
            Ok(true),
        ),
    ];
    for (name, edit, expected) in cases {
        let mut present = stored(&desired);
        edit(&mut present);
        match (wanted.change(&OWNER, Some(&present), true), expected) {
            (Ok(change), Ok(writes)) => {
                assert_eq!(change.is_some(), writes, "{name}");
                if let Some(change) = change {
                    assert_eq!(change.guard, Guard::Uid("secret-1".to_owned()), "{name}");
                }
            }
            (Err(why), Err(words)) => assert!(why.contains(words), "{name}: {why}"),
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}

#[test]
fn a_certificate_authority_is_written_as_it_is_and_an_old_secret_keeps_its_type() {
    let pem = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
    assert_eq!(ca_certificate(&STANDARD.encode(pem)).as_deref(), Some(pem));
    for wrong in ["", "%%%", "Q0E="] {
        assert_eq!(ca_certificate(wrong), None, "{wrong}");
    }
    let old = SecretSeen {
        name: "blue-ca".to_owned(),
        uid: "secret-2".to_owned(),
        type_: "Opaque".to_owned(),
        ..SecretSeen::default()
    };
    let change = ca("blue", pem)
        .change(&OWNER, Some(&old), false)
        .expect("ours")
        .expect("a change");
    assert_eq!(change.fields["type"], "Opaque");
    assert_eq!(change.fields["data"]["tls.crt"], STANDARD.encode(pem));
}

#[test]
fn nothing_hidden_is_printed() {
    let wanted = with_token("blue", &endpoint(), "Q0E=", &token("t-secret", 15));
    assert!(!format!("{wanted:?}").contains("t-secret"));
    assert!(!format!("{:?}", token("t-secret", 15)).contains("t-secret"));
}
