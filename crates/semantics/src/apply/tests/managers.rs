//! The entries of `managedFields`.

use serde_json::{Value, json};

use super::super::cap::cap;
use super::super::managers::{self, ManagerKey, Operation};

#[test]
fn entries_are_ordered_by_operation_time_and_name() {
    let entry = |manager: &str, operation: &str, second: u32| {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "v1", "time": format!("2026-01-01T00:00:{second:02}Z"),
            "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}},
        })
    };
    let sorted = [
        entry("z", "Apply", 1),
        entry("a", "Apply", 2),
        entry("y", "Update", 1),
        entry("b", "Update", 2),
        entry("c", "Update", 2),
    ];
    let mut shuffled = sorted.to_vec();
    shuffled.reverse();
    assert_eq!(
        managers::encode(&managers::decode(Some(&json!(shuffled))).unwrap()),
        Some(json!(sorted))
    );
}

#[test]
fn the_oldest_updaters_are_merged() {
    type Entry = (&'static str, &'static str, u32, &'static str);
    let build = |entries: &[Entry]| {
        let entries: Vec<_> = entries
            .iter()
            .map(|(manager, version, hour, fields)| {
                let fields: serde_json::Map<_, _> = fields.chars().map(|c| (format!("f:{c}"), json!({}))).collect();
                json!({
                    "manager": manager, "operation": "Update", "apiVersion": version,
                    "time": format!("2026-01-01T{hour:02}:00:00Z"), "fieldsType": "FieldsV1", "fieldsV1": fields,
                })
            })
            .collect();
        json!(entries)
    };
    let cases: [(&[Entry], &[Entry]); 5] = [
        (
            &[
                ("m1", "v1", 1, "a"),
                ("m2", "v1", 2, "b"),
                ("m3", "v1", 3, "c"),
                ("m4", "v1", 4, "d"),
            ],
            &[
                ("ancient-changes", "v1", 2, "ab"),
                ("m3", "v1", 3, "c"),
                ("m4", "v1", 4, "d"),
            ],
        ),
        (
            &[
                ("ancient-changes", "v1", 2, "ab"),
                ("m3", "v1", 3, "c"),
                ("m4", "v1", 4, "d"),
                ("m5", "v1", 5, "e"),
            ],
            &[
                ("ancient-changes", "v1", 3, "abc"),
                ("m4", "v1", 4, "d"),
                ("m5", "v1", 5, "e"),
            ],
        ),
        (
            &[
                ("m1", "v1", 1, "a"),
                ("m2", "v2", 2, "b"),
                ("m3", "v1", 3, "c"),
                ("m4", "v1", 4, "d"),
                ("m5", "v1", 5, "e"),
            ],
            &[
                ("m2", "v2", 2, "b"),
                ("ancient-changes", "v1", 4, "acd"),
                ("m5", "v1", 5, "e"),
            ],
        ),
        (
            &[
                ("m2", "v2", 2, "b"),
                ("ancient-changes", "v1", 4, "acd"),
                ("m5", "v1", 5, "e"),
                ("m6", "v3", 6, "f"),
                ("m7", "v2", 7, "g"),
            ],
            &[
                ("ancient-changes", "v1", 5, "acde"),
                ("m6", "v3", 6, "f"),
                ("ancient-changes", "v2", 7, "bg"),
            ],
        ),
        (
            &[
                ("ancient-changes", "v1", 5, "acde"),
                ("m6", "v3", 6, "f"),
                ("ancient-changes", "v2", 7, "bg"),
                ("m8", "v4", 8, "h"),
            ],
            &[
                ("ancient-changes", "v1", 5, "acde"),
                ("m6", "v3", 6, "f"),
                ("ancient-changes", "v2", 7, "bg"),
                ("m8", "v4", 8, "h"),
            ],
        ),
    ];
    for (given, expected) in cases {
        let mut found = managers::decode(Some(&build(given))).unwrap();
        cap(&mut found, 3);
        assert_eq!(managers::encode(&found), Some(build(expected)));
    }
}

#[test]
fn unreadable_managers_are_refused() {
    let good = json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"});
    let with = |name: &str, value: Value| {
        let mut entry = good.clone();
        entry[name] = value;
        managers::decode(Some(&json!([entry])))
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(with("fieldsV1", json!({"f:a": {}})), Ok(()));
    assert_eq!(
        with("operation", json!("Guess")),
        Err("operation must be `Apply` or `Update`".to_owned())
    );
    assert_eq!(
        with("apiVersion", json!("")),
        Err("apiVersion must not be empty".to_owned())
    );
    assert_eq!(
        with("fieldsType", json!("")),
        Err("missing fieldsType in managed fields entry 0".to_owned())
    );
    assert_eq!(
        with("fieldsType", json!("FieldsV2")),
        Err("invalid fieldsType \"FieldsV2\" in managed fields entry 0".to_owned())
    );
    assert!(with("fieldsV1", json!({"nonsense": {}})).is_err());
    assert!(managers::decode(Some(&json!("x"))).is_err());
}

#[test]
fn appliers_have_one_entry_for_all_versions() {
    let applier = ManagerKey::new("", Operation::Apply, "v1", "");
    assert_eq!(applier, ManagerKey::new("unknown", Operation::Apply, "v2", ""));
    assert_ne!(
        ManagerKey::new("m", Operation::Update, "v1", ""),
        ManagerKey::new("m", Operation::Update, "v2", "")
    );
}
