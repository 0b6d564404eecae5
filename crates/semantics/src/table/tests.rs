mod builtin;
mod pod;

use serde_json::{Value, json};

use super::*;

/// 2024-01-10T00:00:00Z
const NOW: i64 = 1_704_844_800;

#[test]
fn durations_read_well() {
    let (minute, hour, day) = (60, 3600, 86_400);
    for (seconds, text) in [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (1, "1s"),
        (70, "70s"),
        (119, "119s"),
        (2 * minute, "2m"),
        (2 * minute + 5, "2m5s"),
        (10 * minute - 1, "9m59s"),
        (10 * minute + 5, "10m"),
        (3 * hour - 1, "179m"),
        (3 * hour, "3h"),
        (3 * hour + 5 * minute, "3h5m"),
        (8 * hour - 1, "7h59m"),
        (8 * hour + 5 * minute, "8h"),
        (2 * day - 1, "47h"),
        (2 * day, "2d"),
        (2 * day + hour, "2d1h"),
        (8 * day - 1, "7d23h"),
        (8 * day + hour, "8d"),
        (730 * day - 1, "729d"),
        (730 * day, "2y"),
        (731 * day, "2y1d"),
        (8 * 365 * day - 1, "7y364d"),
        (8 * 365 * day, "8y"),
        (100 * 365 * day, "100y"),
    ] {
        assert_eq!(human_duration(seconds), text, "{seconds}");
    }
    assert!(human_duration(i64::MAX).ends_with('y'));
}

#[test]
fn ages_need_a_time() {
    for (timestamp, age) in [
        (json!("2024-01-09T23:59:18Z"), "42s"),
        (json!("2024-01-10T01:00:00+02:00"), "60m"),
        (json!("2024-01-09T12:00:00.123456Z"), "12h"),
        (json!("2024-01-10T01:00:00Z"), "<invalid>"),
        (json!("yesterday"), "<invalid>"),
        (json!(""), "<unknown>"),
        (json!("0001-01-01T00:00:00Z"), "<unknown>"),
        (Value::Null, "<unknown>"),
    ] {
        assert_eq!(human_age(&timestamp, NOW), age, "{timestamp}");
    }
}

#[test]
fn cells_have_their_column_type() {
    for (kind, value, cell) in [
        ("integer", json!(42), json!(42)),
        ("integer", json!(3.9), json!(3)),
        ("integer", json!(true), Value::Null),
        ("integer", json!("7"), Value::Null),
        ("number", json!(42), json!(42)),
        ("number", json!(2.5), json!(2.5)),
        ("number", json!("7"), Value::Null),
        ("boolean", json!(true), json!(true)),
        ("boolean", json!("true"), Value::Null),
        ("string", json!("foo"), json!("foo")),
        ("string", json!(42), json!("42")),
        ("string", json!(3.0), json!("3")),
        ("string", json!(0.5), json!("0.5")),
        ("string", json!(1e21), json!("1e+21")),
        ("string", json!(1.5e-7), json!("1.5e-07")),
        ("string", json!(true), json!("true")),
        ("string", json!(["a", 1]), json!("[\"a\",1]")),
        ("string", json!({"a": {}}), json!("{\"a\":{}}")),
        ("string", Value::Null, json!("<no value>")),
        ("date", json!("2024-01-09T12:00:00Z"), json!("12h")),
        ("date", json!("2024-01-11T12:00:00Z"), json!("<invalid>")),
        ("date", json!(""), json!("<unknown>")),
        ("date", json!(42), Value::Null),
        ("unknown", json!("foo"), Value::Null),
    ] {
        assert_eq!(typed_cell(kind, &value, NOW), cell, "{kind} {value}");
    }
}

#[test]
fn custom_kinds_show_their_columns() {
    let columns = custom_columns(&[
        json!({"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}),
        json!({"name": "Hosts", "type": "string", "jsonPath": ".spec.servers[*].hosts", "description": "D", "priority": 1}),
        json!({"name": "Replicas", "type": "integer", "format": "int32", "jsonPath": ".spec.replicas"}),
        json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}),
    ]);
    let definitions = definitions(&columns);
    assert_eq!(definitions[0]["name"], "Name");
    assert_eq!(definitions[0]["format"], "name");
    assert_eq!(
        definitions[1],
        json!({
            "name": "Ready", "type": "string", "format": "", "priority": 0,
            "description":
                "Custom resource definition column (in JSONPath format): .status.conditions[?(@.type==\"Ready\")].status",
        })
    );
    assert_eq!(
        definitions[2],
        json!({"name": "Hosts", "type": "string", "format": "", "priority": 1, "description": "D"})
    );
    assert_eq!(definitions[3]["format"], "int32");

    let object = json!({
        "metadata": {"name": "blah", "creationTimestamp": "2024-01-09T00:00:00Z"},
        "spec": {"servers": [{"hosts": ["foo"]}, {"hosts": ["bar"]}], "replicas": 3},
        "status": {"conditions": [{"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"}]},
    });
    // Of several values a cell shows the first.
    assert_eq!(
        cells(&columns, &object, NOW),
        json!(["blah", "True", "[\"foo\"]", 3, "24h"])
    );
    assert_eq!(
        cells(&columns, &json!({}), NOW),
        json!(["", null, null, null, null])
    );
    assert_eq!(
        cells(&columns, &json!({"status": {"conditions": 1}}), NOW),
        json!(["", null, null, null, null])
    );
}

#[test]
fn custom_kinds_without_columns_show_their_age() {
    let columns = custom_columns(&[]);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["Name", "Age"]);
    assert_eq!(columns[1].kind, "date");
    let object = json!({"metadata": {"name": "a", "creationTimestamp": "2024-01-09T23:59:00Z"}});
    assert_eq!(cells(&columns, &object, NOW), json!(["a", "60s"]));
    assert_eq!(
        cells(&columns, &json!({"metadata": {"name": "a"}}), NOW),
        json!(["a", "<unknown>"])
    );
}
