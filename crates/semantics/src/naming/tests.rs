use serde_json::{Value, json};

use super::*;

const LABEL_FORM: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                          must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
                          used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_FORM: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
                              or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
                              regex used for validation is \
                              '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

#[test]
fn names_follow_their_rule() {
    let long_label = "a".repeat(63);
    let long_name = "a".repeat(253);
    for good in ["a", "1", "a-b", "a--1", &long_label] {
        assert_eq!(
            name_errors(NameRule::DnsLabel, good),
            Vec::<String>::new(),
            "{good}"
        );
        assert_eq!(
            name_errors(NameRule::DnsSubdomain, good),
            Vec::<String>::new(),
            "{good}"
        );
    }
    for good in ["a.b", "1.2", "a-b.c-d.e", &long_name] {
        assert_eq!(
            name_errors(NameRule::DnsSubdomain, good),
            Vec::<String>::new(),
            "{good}"
        );
    }
    for bad in [
        "", "A", "-a", "a-", "a_b", "a.", ".a", "a..b", "a.-b", "ä", " a", "a\n", "a/b",
    ] {
        assert_eq!(name_errors(NameRule::DnsLabel, bad), [LABEL_FORM], "{bad}");
        assert_eq!(
            name_errors(NameRule::DnsSubdomain, bad),
            [SUBDOMAIN_FORM],
            "{bad}"
        );
    }
    assert_eq!(name_errors(NameRule::DnsLabel, "a.b"), ["must not contain dots"]);
    assert_eq!(
        name_errors(NameRule::DnsLabel, &"a".repeat(64)),
        ["must be no more than 63 characters"]
    );
    assert_eq!(
        name_errors(NameRule::DnsSubdomain, &"a".repeat(254)),
        ["must be no more than 253 characters"]
    );
    for good in ["system:node", "A b", "…", "..."] {
        assert!(name_errors(NameRule::PathSegment, good).is_empty(), "{good}");
    }
    assert_eq!(name_errors(NameRule::PathSegment, "."), ["may not be '.'"]);
    assert_eq!(name_errors(NameRule::PathSegment, ".."), ["may not be '..'"]);
    assert_eq!(
        name_errors(NameRule::PathSegment, "a/%"),
        ["may not contain '/'", "may not contain '%'"]
    );
}

#[test]
fn prefixes_may_end_in_a_dash() {
    for good in ["a-", "a", "ab-", "1.b-"] {
        assert!(
            name_prefix_errors(NameRule::DnsSubdomain, good).is_empty(),
            "{good}"
        );
    }
    for bad in ["-", "AB-", "ää-", "a_-b-"] {
        assert_eq!(
            name_prefix_errors(NameRule::DnsSubdomain, bad),
            [SUBDOMAIN_FORM],
            "{bad}"
        );
    }
    assert!(name_prefix_errors(NameRule::PathSegment, "..").is_empty());
}

#[test]
fn label_keys_follow_the_rule() {
    for good in [
        "simple",
        "now-with-dashes",
        "1-starts-with-num",
        "1234",
        "simple/simple",
        "now.with.dots/A_b",
        "a.b/c.d",
    ] {
        assert!(label_key_errors(good).is_empty(), "{good}");
    }
    for bad in [
        "",
        "nospecialchars%^=@",
        "-dash",
        "dash-",
        "UP/x",
        "a/",
        "/a",
        "a/b/c",
        "a b",
        "a./b",
        &"a".repeat(64),
    ] {
        assert!(!label_key_errors(bad).is_empty(), "{bad}");
    }
    assert_eq!(
        label_key_errors(&"a".repeat(64)),
        ["name part must be no more than 63 bytes"]
    );
    assert_eq!(
        label_key_errors(&format!("{}/a", "a".repeat(254))),
        ["prefix part must be no more than 253 bytes"]
    );
    assert_eq!(label_key_errors("a/")[0], "name part must be non-empty");
    assert!(
        label_key_errors("a/b/c")[0]
            .ends_with("with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")
    );
}

#[test]
fn label_values_follow_the_rule() {
    for good in ["", "simple", "A.b_c-1", &"a".repeat(63)] {
        assert!(label_value_errors(good).is_empty(), "{good}");
    }
    for bad in ["-a", "a-", "a b", "ä", "a/b", "."] {
        assert_eq!(label_value_errors(bad).len(), 1, "{bad}");
    }
    assert_eq!(
        label_value_errors(&"a".repeat(64)),
        ["must be no more than 63 bytes"]
    );
}

fn texts(object: &Value) -> Vec<String> {
    metadata_errors(NameRule::DnsSubdomain, object)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn good_metadata_passes() {
    let object = json!({"metadata": {
        "name": "a", "generateName": "a-", "generation": 1, "labels": {"a/b": "c", "d": ""},
        "annotations": {"Example.COM/Key": "any thing", "n": null},
        "finalizers": ["foregroundDeletion", "example.com/x"],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "A", "name": "n", "uid": "u", "controller": true},
            {"apiVersion": "g/v1", "kind": "B", "name": "n", "uid": "u", "controller": false},
        ],
        "managedFields": [{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1"}],
    }});
    assert_eq!(texts(&object), Vec::<String>::new());
}

#[test]
fn bad_metadata_is_reported_as_upstream_words_it() {
    let cases = [
        (json!({}), vec!["metadata.name: Required value: name or generateName is required".to_owned()]),
        (json!({"name": "A"}), vec![format!("metadata.name: Invalid value: \"A\": {SUBDOMAIN_FORM}")]),
        (
            json!({"generateName": "A"}),
            vec![
                format!("metadata.generateName: Invalid value: \"A\": {SUBDOMAIN_FORM}"),
                "metadata.name: Required value: name or generateName is required".to_owned(),
            ],
        ),
        (
            json!({"name": "a", "generation": -1}),
            vec!["metadata.generation: Invalid value: -1: must be greater than or equal to 0".to_owned()],
        ),
        (
            json!({"name": "a", "labels": {"/a": "b"}}),
            vec!["metadata.labels: Invalid value: \"/a\": prefix part must be non-empty".to_owned()],
        ),
        (
            json!({"name": "a", "labels": {"a": 1}}),
            vec!["metadata.labels.a: Invalid value: \"integer\": metadata.labels.a must be of type string: \"integer\"".to_owned()],
        ),
        (
            json!({"name": "a", "annotations": {"a": "x".repeat(ANNOTATIONS_MAX_BYTES)}}),
            vec!["metadata.annotations: Too long: may not be more than 262144 bytes".to_owned()],
        ),
        (
            json!({"name": "a", "ownerReferences": [{"apiVersion": "g/"}]}),
            vec![
                "metadata.ownerReferences.apiVersion: Invalid value: \"g/\": version must not be empty".to_owned(),
                "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty".to_owned(),
                "metadata.ownerReferences.name: Invalid value: \"\": must not be empty".to_owned(),
                "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty".to_owned(),
            ],
        ),
        (
            json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]}),
            vec![
                "metadata.ownerReferences: Invalid value: \
                 {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"n\",\"uid\":\"u\"}: /v1, Kind=Event is \
                 disallowed from being an owner"
                    .to_owned(),
            ],
        ),
        (
            json!({"name": "a", "finalizers": ["a/"]}),
            vec![
                "metadata.finalizers: Invalid value: \"a/\": name part must be non-empty".to_owned(),
                "metadata.finalizers: Invalid value: \"a/\": name part must consist of alphanumeric characters, '-', \
                 '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  \
                 or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                    .to_owned(),
            ],
        ),
        (
            json!({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}),
            vec![
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and \
                 foregroundDeletion cannot be both set"
                    .to_owned(),
            ],
        ),
        (
            json!({"name": "a", "managedFields": [{"operation": "Sing", "manager": "a\tb", "fieldsType": "X"}]}),
            vec![
                "metadata.managedFields[0].operation: Invalid value: \"Sing\": must be `Apply` or `Update`".to_owned(),
                "metadata.managedFields[0].fieldsType: Invalid value: \"X\": must be `FieldsV1`".to_owned(),
                "metadata.managedFields[0].manager: Invalid value: \"a\\tb\": invalid character U+0009 (at position 1)"
                    .to_owned(),
            ],
        ),
    ];
    for (metadata, errors) in cases {
        assert_eq!(texts(&json!({"metadata": metadata})), errors);
    }
}

#[test]
fn one_controller_at_most() {
    let owner =
        |name: &str| json!({"apiVersion": "v1", "kind": "K", "name": name, "uid": "u", "controller": true});
    let found = texts(&json!({"metadata": {"name": "a", "ownerReferences": [owner("x"), owner("y")]}}));
    assert_eq!(found.len(), 1);
    assert!(found[0].ends_with(
        "Only one reference can have Controller set to true. Found \"true\" in references for K/x and K/y"
    ));
}

#[test]
fn documents_of_odd_shape_do_not_confuse() {
    for metadata in [json!(1), json!([]), json!("x"), json!(true)] {
        assert_eq!(texts(&json!({ "metadata": metadata })).len(), 1);
    }
    let odd = json!({"metadata": {
        "name": 1, "labels": [], "annotations": 1, "finalizers": [1], "ownerReferences": [1], "managedFields": {},
    }});
    assert_eq!(texts(&odd).len(), 7);
    assert_eq!(texts(&json!(null)).len(), 1);
}

#[test]
fn updates_keep_what_is_immutable() {
    let old = json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "deletionTimestamp": "t", "finalizers": ["x/y"]}});
    let texts = |new: &Value| -> Vec<String> {
        metadata_update_errors(new, &old)
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    let mut new = old.clone();
    assert_eq!(texts(&new), Vec::<String>::new());
    new["metadata"]["finalizers"] = json!([]);
    assert_eq!(texts(&new), Vec::<String>::new());
    new["metadata"]["finalizers"] = json!(["x/z", "x/y", "x/a"]);
    assert_eq!(
        texts(&new),
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
          finalizers []string{\"x/a\", \"x/z\"}"
        ]
    );
    let new = json!({"metadata": {"name": "b", "uid": "u", "deletionTimestamp": "t"}});
    assert_eq!(
        texts(&new),
        [
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
            "metadata.name: Invalid value: \"b\": field is immutable",
        ]
    );
}
