use proptest::prelude::*;

use super::*;

fn label_match(selector: &str, labels: &[(&str, &str)]) -> bool {
    let selector = LabelSelector::parse(selector).unwrap_or_else(|error| panic!("{selector}: {error}"));
    selector.matches(|key| {
        labels
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| *value)
    })
}

fn field_match(selector: &str, fields: &[(&str, &'static str)]) -> bool {
    let selector = FieldSelector::parse(selector).unwrap_or_else(|error| panic!("{selector}: {error}"));
    selector.matches(|key| {
        fields
            .iter()
            .find(|(name, _)| *name == key)
            .map_or("", |(_, value)| *value)
    })
}

#[test]
fn good_label_selectors_print_as_written() {
    for text in [
        "x=a,y=b,z=c",
        "",
        "x!=a,y=b",
        "x=",
        "x= ",
        "x=,z= ",
        "x= ,z= ",
        "!x",
        "x>1",
        "x>1,z<5",
    ] {
        assert_eq!(
            LabelSelector::parse(text).unwrap().to_string(),
            text.replace(' ', "")
        );
    }
    for (text, printed) in [
        ("x==a", "x=a"),
        (" x \t=\na ", "x=a"),
        ("z,a", "a,z"),
        ("x in (b,a,b)", "x in (a,b)"),
        ("x notin (b , a)", "x notin (a,b)"),
        ("x in (,a)", "x in (,a)"),
        ("x in (a,)", "x in (,a)"),
        ("x in (a,,b)", "x in (,a,b)"),
        ("x in ()", "x="),
        ("x in (in,notin)", "x in (in,notin)"),
        ("in", "in"),
        ("notin notin (x)", "notin!=x"),
        ("a.b/C_d-e=1", "a.b/C_d-e=1"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
    ] {
        let result = LabelSelector::parse(text).map_or_else(|error| error, |selector| selector.to_string());
        assert_eq!(result, printed, "{text}");
    }
    assert_eq!(LabelSelector::parse("x=a,a=x"), LabelSelector::parse("a=x,x=a"));
}

#[test]
fn bad_label_selectors_say_why() {
    let value_form = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                      and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                      '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let name_form = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                     an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                     validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let cases = [
        ("x==a==b", "found '==', expected: ',' or 'end of string'".to_owned()),
        ("!x=a", "found '=', expected: ',' or 'end of string'".to_owned()),
        ("x,", "found '', expected: identifier after ','".to_owned()),
        ("x,=", "found '=', expected: identifier after ','".to_owned()),
        ("=a", "found '=', expected: !, identifier, or 'end of string'".to_owned()),
        ("!", "unable to parse requirement: found '', expected: identifier".to_owned()),
        ("x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt".to_owned()),
        ("x in a", "unable to parse requirement: found 'a' expected: '('".to_owned()),
        ("x in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier".to_owned()),
        ("x in (a=", "unable to parse requirement: found '=', expected: ',' or ')'".to_owned()),
        ("x in (a,=", "unable to parse requirement: found '=', expected: ',', or identifier".to_owned()),
        ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'".to_owned()),
        ("x in", "unable to parse requirement: found '' expected: '('".to_owned()),
        ("x=(", "unable to parse requirement: found '(', expected: identifier".to_owned()),
        (
            "x<a",
            "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must \
             be an integer"
                .to_owned(),
        ),
        (
            "x=a||y=b",
            format!("unable to parse requirement: values[0][x]: Invalid value: \"a||y\": {value_form}"),
        ),
        ("/x", "unable to parse requirement: <nil>: Invalid value: \"/x\": prefix part must be non-empty".to_owned()),
        ("-x", format!("unable to parse requirement: <nil>: Invalid value: \"-x\": {name_form}")),
    ];
    for (text, error) in cases {
        assert_eq!(LabelSelector::parse(text).unwrap_err(), error, "{text}");
    }
}

#[test]
fn labels_match() {
    let set = [("foo", "bar"), ("baz", "blah")];
    for (selector, labels, expected) in [
        ("", &[("x", "y")][..], true),
        ("x=y", &[("x", "y")], true),
        ("x=y,z=w", &[("x", "y"), ("z", "w")], true),
        ("x!=y,z!=w", &[("x", "z"), ("z", "a")], true),
        ("notin=in", &[("notin", "in")], true),
        ("x", &[("x", "z")], true),
        ("!x", &[("y", "z")], true),
        ("x>1", &[("x", "2")], true),
        ("x<1", &[("x", "0")], true),
        ("x=z", &[], false),
        ("x=y", &[("x", "z")], false),
        ("x=y,z=w", &[("x", "w"), ("z", "w")], false),
        ("x!=y,z!=w", &[("x", "z"), ("z", "w")], false),
        ("x", &[("y", "z")], false),
        ("!x", &[("x", "z")], false),
        ("x>1", &[("x", "0")], false),
        ("x>1", &[("x", "many")], false),
        ("x>1", &[], false),
        ("x<1", &[("x", "2")], false),
        ("x!=y", &[], true),
        ("x notin (y,z)", &[], true),
        ("x notin (y,z)", &[("x", "z")], false),
        ("x in (y,z)", &[("x", "z")], true),
        ("x in (y,z)", &[("x", "w")], false),
        ("x in ()", &[("x", "")], true),
        ("x=", &[("x", "")], true),
        ("x=", &[], false),
        ("foo=bar,baz=blah", &set, true),
        ("foo=blah", &set, false),
        ("foo=bar,foobar=bar,baz=blah", &set, false),
    ] {
        assert_eq!(
            label_match(selector, labels),
            expected,
            "{selector} on {labels:?}"
        );
    }
}

#[test]
fn fields_match() {
    let set = [("foo", "bar"), ("baz", "blah"), ("complex", r"=value\,\")];
    for (selector, expected) in [
        ("", true),
        ("foo=bar", true),
        ("foo==bar", true),
        ("foo=bar,baz=blah", true),
        (r"foo=bar,baz=blah,complex=\=value\\\,\\", true),
        ("foo=blah", false),
        ("foo!=blah", true),
        ("foo!=bar", false),
        ("missing=", true),
        ("missing!=x", true),
        ("foo=bar,foobar=bar", false),
        (",foo=bar,,", true),
    ] {
        assert_eq!(field_match(selector, &set), expected, "{selector}");
    }
}

#[test]
fn field_selectors_tell_what_they_ask() {
    let selector = FieldSelector::parse(r"metadata.name=a\,b,x!=y,metadata.namespace==c").unwrap();
    assert_eq!(
        selector.to_string(),
        r"metadata.name=a\,b,metadata.namespace=c,x!=y"
    );
    assert_eq!(
        selector.fields().collect::<Vec<_>>(),
        ["metadata.name", "metadata.namespace", "x"]
    );
    assert_eq!(selector.exact("metadata.name"), Some("a,b"));
    assert_eq!(selector.exact("x"), None);
    assert!(!selector.is_empty());
    assert!(FieldSelector::parse("").unwrap().is_empty());
    assert!(FieldSelector::parse("=").unwrap().is_empty());
    assert_eq!(FieldSelector::parse("함=수").unwrap().exact("함"), Some("수"));
}

#[test]
fn bad_field_selectors_say_why() {
    for (text, error) in [
        (
            "x=a||y=b",
            "invalid field selector: unescaped character in value: 61",
        ),
        (
            "x==a==b",
            "invalid field selector: unescaped character in value: 61",
        ),
        ("x=a,b", "invalid selector: 'x=a,b'; can't understand 'b'"),
        (
            "x in (a)",
            "invalid selector: 'x in (a)'; can't understand 'x in (a)'",
        ),
        ("x", "invalid selector: 'x'; can't understand 'x'"),
        (r"x=\a", r"invalid field selector: invalid escape sequence: \a"),
        (r"x=\", r"invalid field selector: invalid escape sequence: \"),
    ] {
        assert_eq!(FieldSelector::parse(text).unwrap_err(), error, "{text}");
    }
}

proptest! {
    #[test]
    fn whatever_is_parsed_prints_and_parses_again(text in "[ab!=<>(), ./\\\\ä0-9inot\t]{0,24}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
        }
        if let Ok(selector) = FieldSelector::parse(&text) {
            prop_assert_eq!(FieldSelector::parse(&selector.to_string()), Ok(selector));
        }
    }
}
