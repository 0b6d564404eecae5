use serde_json::json;

use super::*;

const ONE: &str = "11111111-1111-4111-8111-111111111111";
const TWO: &str = "22222222-2222-4222-8222-22222222222a";

fn snapshot(uid: &str, version: &str, time: &str, data: &str) -> Snapshot {
    let parent = json!({
        "metadata": {"name": "parent", "uid": uid, "resourceVersion": version, "creationTimestamp": time},
        "data": {"color": data},
    });
    let owned = format!("k:{{\"uid\":\"{uid}\"}}");
    let child = json!({
        "metadata": {
            "name": "child",
            "ownerReferences": [{"uid": uid}],
            "managedFields": [{"fieldsV1": {"f:metadata": {"f:ownerReferences": {owned: {}}}}, "time": time}],
        },
        "status": {"seen": {"resourceVersion": version}, "at": time, "says": format!("{uid} and {uid} é")},
    });
    Snapshot::new(BTreeMap::from([
        ("x/parent".to_owned(), parent),
        ("x/child".to_owned(), child),
    ]))
}

#[test]
fn what_differs_between_any_two_runs_is_masked() {
    let one = snapshot(ONE, "7", "2031-01-01T00:00:00Z", "red");
    let two = snapshot(TWO, "9", "2032-02-02T10:00:00.123456Z", "red");
    assert!(!one.differences(&two).is_empty());
    assert_eq!(one.masked().differences(&two.masked()), Vec::<String>::new());
    let says = &one.masked().objects["x/child"]["status"]["says"];
    assert_eq!(says, "<uid of x/parent> and <uid of x/parent> é");
}

#[test]
fn what_is_left_is_told_by_path() {
    let one = snapshot(ONE, "7", "2031-01-01T00:00:00Z", "red");
    let mut two = snapshot(ONE, "7", "2031-01-01T00:00:00Z", "blue");
    two.objects.remove("x/child");
    two.objects.insert("x/other".to_owned(), json!({}));
    let expected = [
        "x/child is missing",
        "x/other is extra",
        r#"x/parent.data.color: "red" became "blue""#,
    ];
    assert_eq!(one.differences(&two), expected);
}

#[test]
fn a_reference_to_the_wrong_owner_is_a_difference() {
    let one = snapshot(ONE, "7", "2031-01-01T00:00:00Z", "red");
    let mut two = one.clone();
    two.objects.get_mut("x/child").unwrap()["metadata"]["ownerReferences"][0]["uid"] = json!(TWO);
    assert_eq!(one.masked().differences(&two.masked()).len(), 1);
}

#[test]
fn what_is_taken_away_does_not_count() {
    let one = snapshot(ONE, "7", "2031-01-01T00:00:00Z", "red");
    let two = snapshot(ONE, "7", "2031-01-01T00:00:00Z", "blue");
    let without = |key: &str, object: &mut Value| {
        if key == "x/parent" {
            object["data"].take();
        }
    };
    assert_eq!(one.differences(&two).len(), 1);
    let (one, two) = (one.edited(without), two.edited(without));
    assert_eq!(one.differences(&two), Vec::<String>::new());
    assert!(one.objects["x/child"]["status"].is_object());
}
