use proptest::prelude::*;
use serde_json::json;

use super::*;

macro_rules! fixtures {
    ($($name:literal),* $(,)?) => {
        [$((
            $name,
            include_bytes!(concat!("fixtures/", $name, ".pb")).as_slice(),
            include_str!(concat!("fixtures/", $name, ".json")),
        )),*]
    };
}

/// Bodies and the JSON that the same client writes.
fn captures() -> Vec<(&'static str, &'static [u8], &'static str)> {
    fixtures![
        "kubectl-can-i",
        "kubectl-clusterrole",
        "kubectl-configmap",
        "kubectl-cronjob",
        "kubectl-deployment",
        "kubectl-ingress",
        "kubectl-job",
        "kubectl-namespace",
        "kubectl-priorityclass",
        "kubectl-role",
        "kubectl-rolebinding",
        "kubectl-secret",
        "kubectl-service",
        "kubectl-serviceaccount",
        "go-core-event",
        "go-crd",
        "go-delete-options",
        "go-event",
        "go-lease",
        "go-pod",
        "go-storage-class",
        "go-token-review",
        "go-webhook",
    ]
    .to_vec()
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, v)| !v.is_null())
            .map(|(k, v)| (k, without_nulls(v)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

#[test]
fn bodies_decode_to_the_json_of_the_same_client() {
    for (name, body, json) in captures() {
        let expected = without_nulls(serde_json::from_str(json).unwrap());
        assert!(is_protobuf(body), "{name}");
        assert_eq!(decode(body), Ok(expected), "{name}");
    }
}

#[test]
fn the_table_has_every_kind() {
    let table = Table::parse(include_str!("../../data/protobuf.txt")).unwrap();
    for kind in builtin::all().iter().chain(builtin::reviews()) {
        assert!(table.index(kind.type_name).is_some(), "{}", kind.type_name);
    }
}

#[test]
fn what_is_no_known_message_is_refused() {
    let unknown = ProtoError::UnknownKind {
        api_version: "v9".to_owned(),
        kind: "Pod".to_owned(),
    };
    let cases: [(&[u8], ProtoError); 4] = [
        (b"{}", ProtoError::NoEnvelope),
        (b"k8s\0\x0a\x09\x0a\x02v9\x12\x03Pod", unknown),
        (b"k8s\0\x0a\x09\x0a\x02v1", ProtoError::Malformed("the body ends in the middle of a field".to_owned())),
        (
            b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x04\x0a\x02\x08\x01",
            ProtoError::Malformed(
                "field 1 of io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta: the encoding does not fit the type"
                    .to_owned(),
            ),
        ),
    ];
    for (body, error) in cases {
        assert_eq!(decode(body), Err(error));
    }
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A message with one field.
fn wrap(number: usize, content: &[u8]) -> Vec<u8> {
    [&varint(number << 3 | 2), &varint(content.len()), content].concat()
}

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let names = [wrap(1, api_version.as_bytes()), wrap(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), wrap(1, &names), wrap(2, raw)].concat()
}

#[test]
fn unknown_fields_are_skipped_and_numbers_may_be_packed() {
    // metadata{name: "a", field 15: "x"}, spec.securityContext.supplementalGroups packed [1, -1], field 15 fixed32.
    let groups = wrap(4, &[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    let spec = wrap(2, &wrap(14, &groups));
    let metadata = wrap(1, &[wrap(1, b"a"), wrap(15, b"x")].concat());
    let raw = [metadata, spec, vec![15 << 3 | 5, 0, 0, 0, 0]].concat();
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"securityContext": {"supplementalGroups": [1, -1]}},
    });
    assert_eq!(decode(&body("v1", "Pod", &raw)), Ok(expected));
}

#[test]
fn deep_nesting_is_refused() {
    // A schema whose `not` is a schema whose `not` …
    let nested = (0..5000).fold(Vec::new(), |inner, _| wrap(28, &inner));
    let version = wrap(4, &wrap(1, &nested));
    let raw = wrap(2, &wrap(7, &version));
    let error = decode(&body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &raw));
    assert_eq!(
        error,
        Err(ProtoError::Malformed("messages are nested too deeply".to_owned()))
    );
}

proptest! {
    #[test]
    fn damaged_bodies_never_panic(which in 0..23_usize, at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let captures = captures();
        let mut body = captures[which % captures.len()].1.to_vec();
        let at = at.index(body.len());
        if cut { body.truncate(at) } else { body[at] = byte }
        let _ = decode(&body);
    }
}
