use serde_json::json;

use super::*;
use crate::builtin;

#[test]
fn times_read_and_print_as_in_go() {
    let micro = |why: &str| Err(format!("parsing time {why}"));
    let layout = "2006-01-02T15:04:05.000000Z07:00";
    let cases = [
        (
            Encoding::MicroTime,
            "2001-01-01T00:00:00.000001Z",
            Ok("2001-01-01T00:00:00.000001Z".to_owned()),
        ),
        (
            Encoding::MicroTime,
            "2001-01-01T02:00:00.100000+02:00",
            Ok("2001-01-01T00:00:00.100000Z".to_owned()),
        ),
        (
            Encoding::MicroTime,
            "yesterday",
            micro(&format!(
                "\"yesterday\" as \"{layout}\": cannot parse \"yesterday\" as \"2006\""
            )),
        ),
        (
            Encoding::MicroTime,
            "2001-01-01T00:00:00Z",
            micro(&format!(
                "\"2001-01-01T00:00:00Z\" as \"{layout}\": cannot parse \"Z\" as \".000000\""
            )),
        ),
        (
            Encoding::Time,
            "2001-01-01T00:00:00Z",
            Ok("2001-01-01T00:00:00Z".to_owned()),
        ),
        (
            Encoding::Time,
            "2001-01-01T00:00:00.9-01:00",
            Ok("2001-01-01T01:00:00Z".to_owned()),
        ),
        (
            Encoding::Time,
            "2001-01-01T00:00:00Zx",
            micro("\"2001-01-01T00:00:00Zx\": extra text: \"x\""),
        ),
        (
            Encoding::Time,
            "2001-02-30T00:00:00Z",
            micro("\"2001-02-30T00:00:00Z\": day out of range"),
        ),
        (
            Encoding::Time,
            "2001-13-30T00:00:00Z",
            micro("\"2001-13-30T00:00:00Z\": month out of range"),
        ),
    ];
    for (encoding, text, expected) in cases {
        assert_eq!(encoding.canonical(text), expected, "{text}");
    }
}

#[test]
fn base64_is_refused_where_go_refuses_it() {
    let cases = [
        ("", Ok("")),
        ("eA==", Ok("eA==")),
        ("eB==", Ok("eA==")),
        ("e\nA=\r=\n", Ok("eA==")),
        ("YWJj", Ok("YWJj")),
        ("%%%", Err(0)),
        ("YW-j", Err(2)),
        ("YWJ", Err(0)),
        ("YWJjYQ", Err(4)),
        ("eA=", Err(3)),
        ("eA=x", Err(2)),
        ("eA==x", Err(4)),
        ("=", Err(0)),
    ];
    for (text, expected) in cases {
        let expected = expected
            .map(str::to_owned)
            .map_err(|at: usize| format!("illegal base64 data at input byte {at}"));
        assert_eq!(Encoding::Base64.canonical(text), expected, "{text}");
    }
}

fn schema(kind: &str, group: &str) -> std::sync::Arc<Schema> {
    let entry = builtin::all()
        .iter()
        .find(|entry| entry.kind == kind && entry.group == group)
        .unwrap();
    builtin::schema(entry)
}

#[test]
fn built_in_kinds_know_their_encodings_and_zeros() {
    let mut secret = json!({"data": {"a": "e\nA=="}, "stringData": {"b": "%"}});
    schema("Secret", "").canonicalise_texts(&mut secret).unwrap();
    assert_eq!(secret, json!({"data": {"a": "eA=="}, "stringData": {"b": "%"}}));

    let mut lease = json!({"spec": {"renewTime": "now"}});
    assert!(
        schema("Lease", "coordination.k8s.io")
            .canonicalise_texts(&mut lease)
            .is_err()
    );

    let mut event =
        json!({"kind": "Event", "metadata": {}, "involvedObject": {"kind": "Pod", "name": ""}, "count": 0});
    schema("Event", "").fill_zeros(&mut event);
    assert_eq!(
        event,
        json!({
            "kind": "Event", "metadata": {}, "involvedObject": {"kind": "Pod"}, "source": {}, "eventTime": null,
            "firstTimestamp": null, "lastTimestamp": null, "reportingComponent": "", "reportingInstance": "",
        })
    );
    let mut map = json!({"metadata": {"name": "a"}});
    schema("ConfigMap", "").fill_zeros(&mut map);
    assert_eq!(map, json!({"metadata": {"name": "a"}}));
    let mut deployment = json!({"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}});
    schema("Deployment", "apps").fill_zeros(&mut deployment);
    assert_eq!(deployment["status"], json!({}));
    assert_eq!(deployment["spec"]["template"]["metadata"], json!({}));
    assert_eq!(
        deployment["spec"]["template"]["spec"]["containers"],
        json!([{"name": "a", "resources": {}}])
    );
    let mut empty = json!({"kind": "Deployment"});
    schema("Deployment", "apps").fill_empty(&mut empty);
    assert_eq!(empty["spec"]["template"]["spec"], json!({"containers": null}));
    let mut custom = json!({"kind": "Thing"});
    let rules = json!({"type": "object", "required": ["list"], "properties": {"list": {"type": "array", "items": {"type": "string"}}}});
    Schema::from_crd(&rules, "schema")
        .unwrap()
        .fill_empty(&mut custom);
    assert_eq!(custom, json!({"kind": "Thing"}));
}
