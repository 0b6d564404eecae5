//! Holes in inline modules in JSON.

use super::*;

const GIVEN: [(&str, &str); 3] = [("name", "demo"), ("empty", ""), ("nasty", "a\"${x}\\\n%{")];

fn check(text: &str, expected: &str) {
    assert_eq!(module("JSON", text, &GIVEN), expected, "{text}");
}

#[test]
fn a_bare_name_in_a_string_is_a_hole() {
    check(r#"{"a": "${name}"}"#, r#"{"a": "demo"}"#);
    check(
        r#"{"a": ["x-${ name }", {"b": "${var.x}${name}"}]}"#,
        r#"{"a": ["x-demo", {"b": "${var.x}demo"}]}"#,
    );
    check(r#"{"a": "\u0024{name}"}"#, r#"{"a": "demo"}"#);
    check(
        r#"{"a": "${empty}", "b": "-${empty}-"}"#,
        r#"{"a": "", "b": "-${\"\"}-"}"#,
    );
    check(
        r#"{"a": "${upper(\"${name}\")}"}"#,
        r#"{"a": "${upper(\"demo\")}"}"#,
    );
    check(r#""${name}""#, r#""demo""#);
}

#[test]
fn values_that_terraform_would_read_are_quoted() {
    let text = r#"{"a": "%${nasty}{"}"#;
    let filled: Value = serde_json::from_str(&module("JSON", text, &GIVEN)).unwrap();
    assert_eq!(filled, json!({"a": r#"%${"a\"\u0024{x}\\\n\u0025{"}{"#}));
}

#[test]
fn all_else_stays() {
    for text in [
        "{\n  \"b\": 1,  \"a\": 2,\t\"a\": 3.50, \"c\": [\"\\u00e9\\/\", \"$${name}\", null]\n}\n",
        r#"{"a": "${[for name in var.x : name]}", "b": "${var.name}", "$${name}": 2}"#,
        r#"{"a": "%{ for name in var.x }${name}%{ endfor }"}"#,
        r#"{"\"\\": {"\\\"": ["\\"]}}"#,
    ] {
        check(text, text);
    }
    let text = "{ \"z\": \"${name}\",\n\"a\": [ 1.0, {\"a\": \"\\u00e9\"} ], \"a\": [] }";
    check(text, &text.replace("${name}", "demo"));
}

#[test]
fn problems_have_a_place() {
    for (text, expected) in [
        (
            "{\n \"a\": }",
            "spec.template.spec.forProvider.module, line 2, column 7: the JSON of the module cannot be parsed: expected value;",
        ),
        (
            "",
            "spec.template.spec.forProvider.module, line 1, column 0: the JSON of the module cannot be parsed: EOF",
        ),
        (
            r#"{"a": [1, {"b": "${name"}]}"#,
            "spec.template.spec.forProvider.module, line 1, column 17: the JSON of the module",
        ),
        (
            r#"{"a": {"${name}": 1}}"#,
            "spec.template.spec.forProvider.module: a.${name}: the key has a hole",
        ),
        (
            r#"{"a": {"${unknown}": 1}}"#,
            "spec.template.spec.forProvider.module: a.${unknown}: the key has a hole",
        ),
        (
            "{\"a\":\n [\"${unknown}\", \"${unknown} ${name}\"]}",
            "spec.template.spec.forProvider.module, line 2, column 3: no variable fills ${unknown}; set unknown",
        ),
    ] {
        let problems = problems(&inline("JSON", text), &GIVEN);
        assert!(
            problems.len() == 1 && problems[0].starts_with(expected),
            "{problems:?}"
        );
    }
    let problems = problems(&inline("JSON", r#"{"a": [1, {"b": "${name"}]}"#), &GIVEN);
    assert!(problems[0].contains("(in a[1].b)"), "{problems:?}");
}

#[test]
fn what_terraform_does_not_read_or_binds_itself_may_stay() {
    for text in [
        r#"{"//": "${unknown}", "a": [{"//": {"${unknown}": ["${unknown}"]}}]}"#,
        r#"{"resource": {"r": {"x": {"for_each": "${var.all}", "a": "${each}", "b": "${self}"}}}}"#,
        r#"{"r": {"dynamic": {"tag": {"for_each": [], "content": {"a": "${tag}"}}}}}"#,
        r#"{"r": {"dynamic": [{"tag": {"iterator": "it", "content": {"a": "${tag}${it}", "${tag}": 1}}}]}}"#,
    ] {
        check(text, text);
        let open = unfilled(&inline("JSON", text), &variables(&GIVEN)).unwrap();
        assert!(open.is_empty(), "{open:?}");
    }
    for text in [
        r#"{"a": {"b": "http://${unknown}"}}"#,
        r#"{"a//b": "${unknown}"}"#,
        r#"{"r": {"dynamic": {"tag": {"content": {"unknown": "${unknown}"}}}}}"#,
    ] {
        assert_eq!(problems(&inline("JSON", text), &GIVEN).len(), 1, "{text}");
    }
}

#[test]
fn holes_name_their_place_in_the_document() {
    let listed = holes(&inline("JSON", "{\"a\": [0,\n {\"b\": \"${one} ${two}\"}]}")).unwrap();
    let place = ModulePlace {
        line: 2,
        column: 8,
        within: "a[1].b".to_owned(),
        may_stay: false,
    };
    let path = "spec.template.spec.forProvider.module";
    let hole = |name: &str| Hole {
        name: name.to_owned(),
        path: path.to_owned(),
        in_module: Some(place.clone()),
    };
    assert_eq!(listed, [hole("one"), hole("two")]);
}
