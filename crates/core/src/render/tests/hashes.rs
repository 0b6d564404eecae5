//! What changes a hash, and what does not.

use super::*;

fn base() -> Value {
    json!({
        "template": {
            "metadata": {"description": "d"},
            "spec": {"forProvider": {
                "source": "Inline", "module": "a = \"${replacing}\"",
                "vars": [{"key": "k", "value": "${plain}"}],
            }},
        },
        "variables": [{"name": "replacing", "replaces": true}, {"name": "plain", "default": "p"}],
    })
}

const GIVEN: [(&str, &str); 3] = [("replacing", "r"), ("plain", "p"), ("unused", "u")];

fn hashes(template: &Value, given: &[(&str, &str)], group: WorkspaceGroup) -> [String; 4] {
    let template = serde_json::from_value(template.clone()).unwrap();
    let variables = variables(given);
    let rendering = render(&RenderInput {
        group,
        ..input(&template, &variables)
    })
    .unwrap();
    [
        rendering.hash,
        rendering.inputs_hash,
        rendering.guarded_hash,
        rendering.template_revision,
    ]
}

/// Which of rendering, inputs, guarded and revision differ from those of the base.
fn changes(template: &Value, given: &[(&str, &str)], group: WorkspaceGroup) -> [bool; 4] {
    let before = hashes(&base(), &GIVEN, WorkspaceGroup::Namespaced);
    let after = hashes(template, given, group);
    std::array::from_fn(|index| before[index] != after[index])
}

#[test]
fn values_change_what_they_fill() {
    let with = |name: &str, value: &'static str| {
        GIVEN.map(|(given, old)| (given, if given == name { value } else { old }))
    };
    let same = WorkspaceGroup::Namespaced;
    assert_eq!(changes(&base(), &GIVEN, same), [false; 4]);
    assert_eq!(changes(&base(), &with("unused", "x"), same), [false; 4]);
    assert_eq!(
        changes(&base(), &with("plain", "x"), same),
        [true, true, false, false]
    );
    assert_eq!(
        changes(&base(), &with("replacing", "x"), same),
        [true, true, true, false]
    );
    // What a default says need not be given.
    assert_eq!(changes(&base(), &GIVEN[..1], same), [false; 4]);
    assert_eq!(
        changes(&base(), &GIVEN, WorkspaceGroup::ClusterScoped),
        [true, true, true, false]
    );
}

#[test]
fn a_revision_is_of_what_matters() {
    for (pointer, value, expected) in [
        ("/template/metadata/description", json!("other"), [false; 4]),
        ("/sharedWith", json!(["*"]), [false; 4]),
        ("/variables/0/description", json!("other"), [false; 4]),
        (
            "/variables",
            json!([{"name": "plain", "default": "p"}, {"name": "replacing", "replaces": true}]),
            [false; 4],
        ),
        ("/variables/1/default", json!("other"), [false, true, true, true]),
        ("/variables/0/replaces", json!(false), [false, true, true, true]),
        (
            "/template/spec/forProvider/module",
            json!("a = \"${replacing}\" "),
            [true; 4],
        ),
        ("/writeConnectionSecretToRef", json!({"name": "s"}), [true; 4]),
    ] {
        let mut template = base();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        template.pointer_mut(parent).unwrap()[field] = value;
        assert_eq!(
            changes(&template, &GIVEN, WorkspaceGroup::Namespaced),
            expected,
            "{pointer}"
        );
    }
}

/// Hashes are kept in clusters: a change of how they are computed would look like a change of every rendering.
#[test]
fn hashes_stay_what_they_are() {
    let hashes = hashes(&base(), &GIVEN, WorkspaceGroup::Namespaced);
    let expected = [
        "9e70ae9c2dfffb3eb7bc67d0cf732a53",
        "2c845fd85e601bdf37d85bbdd5e2b5af",
        "e79c314112165a6a27c1568edad007c1",
        "de1416945e10934f64c64c3057a742b3",
    ];
    assert_eq!(hashes, expected);
}
