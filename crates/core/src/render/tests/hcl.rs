//! Holes in inline modules in HCL.

use super::*;

const GIVEN: [(&str, &str); 7] = [
    ("name", "demo"),
    ("with-dash", "D"),
    ("empty", ""),
    ("item", "I"),
    ("each", "E"),
    ("tag", "T"),
    ("it", "X"),
];

fn check(text: &str, expected: &str) {
    assert_eq!(module("HCL", text, &GIVEN), expected, "{text}");
}

#[test]
fn a_bare_name_in_a_string_is_a_hole() {
    check(r#"a = "${name}""#, r#"a = "demo""#);
    check(r#"a = "${ name }-${name}""#, r#"a = "demo-demo""#);
    check(r#"a = "${with-dash}""#, r#"a = "D""#);
    check(r#"a = "${WORKSPACE_NAME}""#, r#"a = "demo-vpc""#);
    check(
        r#"a = { "kubernetes.io/cluster/${name}" = "owned" }"#,
        r#"a = { "kubernetes.io/cluster/demo" = "owned" }"#,
    );
    check(
        r#"a = upper("${upper("${name}")}")"#,
        r#"a = upper("${upper("demo")}")"#,
    );
    check(
        r#"a = "%{ if true }${name}%{ else }${item}%{ endif }""#,
        r#"a = "%{ if true }demo%{ else }I%{ endif }""#,
    );
    check("a = <<EOT\n  ${name}\nEOT\n", "a = <<EOT\n  ${\"demo\"}\nEOT\n");
    check(
        "a = <<-EOT\n  ${ name }\n  EOT\n",
        "a = <<-EOT\n  ${ \"demo\" }\n  EOT\n",
    );
    check(r#"a = "x ${~ name ~} y""#, r#"a = "x ${~ "demo" ~} y""#);
    check(r#"a = "${empty}${name}""#, r#"a = "demo""#);
    check(r#"a = "-${empty}-""#, r#"a = "-${""}-""#);
}

#[test]
fn what_is_terraforms_stays() {
    for text in [
        r#"a = "${var.name}-${local.name}-${module.name.name}-${name[0]}-${name.name}""#,
        r#"a = "${upper(name)}-${(name)}-${name == 1}-${name()}""#,
        r#"a = "$${name} %%{ if name }""#,
        r#"a = name"#,
        "# \"${name}\"\n// ${name}\n/* \"${name}\" */\na = 1",
        r#"a = [for name in var.names : "${name}"]"#,
        r#"a = { for name, item in var.names : "${name}" => "${item}" if "${name}" != "" }"#,
        r#"a = "%{ for item in var.names }${item}%{ endfor }""#,
        "a = <<EOT\n%{ for name, item in var.names ~}\n${name}=${item}\n%{ endfor ~}\nEOT\n",
        "resource \"r\" \"x\" {\n  for_each = var.all\n  a = \"${each}\"\n}\n",
        "resource \"r\" \"x\" {\n  dynamic \"tag\" {\n    for_each = []\n    content {\n      a = \"${tag}\"\n    }\n  }\n}\n",
        "r {\n  dynamic \"x\" {\n    for_each = []\n    iterator = it\n    content {\n      a = \"${it}\"\n    }\n  }\n}\n",
        "# no holes,\r\n  odd   = \"spaces\\u00e9\\/\"   # kept\r\n",
        "",
    ] {
        check(text, text);
    }
}

#[test]
fn a_hole_that_no_variable_fills_is_a_problem_with_its_place() {
    let text = "a = 1\nb = \"é ${unknown} ${name}\"\nc = <<EOT\n${unknown}${other}\nEOT\n";
    assert_eq!(
        problems(&inline("HCL", text), &GIVEN),
        [
            "spec.template.spec.forProvider.module, line 2, column 8: no variable fills ${unknown}; set unknown in the \
             variables, give it a default in the template, or write $${ where ${ itself is meant",
            "spec.template.spec.forProvider.module, line 4, column 11: no variable fills ${other}; set other in the \
             variables, give it a default in the template, or write $${ where ${ itself is meant",
        ]
    );
    // In a block that has no for_each, nothing gives this a value.
    assert_eq!(problems(&inline("HCL", "a = \"${each}\"\n"), &[]).len(), 1);
    // A resource, in its own provisioners.
    let text = "a = \"${self}\"\n";
    assert_eq!(module("HCL", text, &[]), text);
}

#[test]
fn a_name_is_bound_only_where_it_is_bound() {
    check(
        r#"a = "${[for name in ["${name}"] : "${name}"][0]}-${name}""#,
        r#"a = "${[for name in ["demo"] : "${name}"][0]}-demo""#,
    );
    check(
        "r {\n  dynamic \"tag\" {\n    for_each = [\"${tag}\"]\n    content {\n      a = \"${tag} ${name}\"\n    }\n  }\n  b = \"${tag}\"\n}\n",
        "r {\n  dynamic \"tag\" {\n    for_each = [\"T\"]\n    content {\n      a = \"${tag} demo\"\n    }\n  }\n  b = \"T\"\n}\n",
    );
    check("a = \"${each}\"\n", "a = \"E\"\n");
}

#[test]
fn only_the_hole_changes() {
    let text = "\n# a\n  a   =   \"\\u00e9${name}\\/\"  // b\r\n\r\nx \"y\"   z {  }\n";
    check(text, &text.replace("${name}", "demo"));
}

#[test]
fn values_are_escaped() {
    for (value, written) in [
        (r#"" } resource "x" "y" {"#, r#"\" } resource \"x\" \"y\" {"#),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        (r"\n", r"\\n"),
        ("${file(\"/etc/passwd\")}", r#"\u0024{file(\"/etc/passwd\")}"#),
        ("%{ for x in y }", r"\u0025{ for x in y }"),
        ("$${name}", r"\u0024\u0024{name}"),
        ("{\"a\":{}}", r#"\u007b\"a\":{}}"#),
        ("5$", r"5\u0024"),
        ("\0\u{7f}\u{85}", r"\u0000\u007f\u0085"),
        ("\u{feff}\u{202e}\u{2028}", r"\ufeff\u202e\u2028"),
        ("日本 😀", "日本 😀"),
        ("EOT", "EOT"),
    ] {
        let quoted = module("HCL", r#"a = "%${v}{x}""#, &[("v", value)]);
        assert_eq!(quoted, format!("a = \"%{written}{{x}}\""));
        let heredoc = module("HCL", "a = <<EOT\n${v}\nEOT\n", &[("v", value)]);
        assert_eq!(heredoc, format!("a = <<EOT\n${{\"{written}\"}}\nEOT\n"));
    }
    // Taking a hole away must not make its neighbours one.
    let text = r#"a = "%${a}${b}{ if true }""#;
    let filled = module("HCL", text, &[("a", ""), ("b", "")]);
    assert_eq!(filled, r#"a = "%${""}${""}{ if true }""#);
}

#[test]
fn what_cannot_be_parsed_is_a_problem_with_its_place() {
    for (text, place) in [
        ("resource \"x\" {", "line 1, column "),
        ("a = 1\nb = ${name}\n", "line 2, column 5"),
        ("a = 1\nb = \"é${name\"\n", "line 2, column "),
        ("a = <<EOT\nnever ended", "line 2, column "),
        ("resource \"${name}\" \"x\" {}\n", "line 1, column "),
    ] {
        let problems = problems(&inline("HCL", text), &GIVEN);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].starts_with(&format!("spec.template.spec.forProvider.module, {place}"))
                && problems[0].contains("the HCL of the module cannot be parsed: ")
                && problems[0].ends_with("mend it, and check it with `terraform validate`"),
            "{}",
            problems[0]
        );
        assert!(holes(&inline("HCL", text)).is_err());
    }
}

#[test]
fn deep_nesting_is_refused_and_does_no_harm() {
    for (open, close) in [
        ("[", "]"),
        ("(", ")"),
        ("{ a = ", "}"),
        ("f(", ")"),
        ("!", ""),
        ("\"${", "}\""),
        ("\"%{ if x }${", "}%{ endif }\""),
        ("[for x in ", " : x]"),
        ("{ for x in x : x => ", "}"),
        ("x ? ", " : y"),
    ] {
        let answer = |depth: usize| {
            let text = format!("a = {}name{}", open.repeat(depth), close.repeat(depth));
            render(&input(&inline("HCL", &text), &variables(&GIVEN)))
        };
        assert!(answer(10).is_ok(), "{open}");
        assert!(answer(10_000).is_err(), "{open}");
        // As deep as the parser goes, or nearly so: what matters is that the stack holds.
        let _ = answer(60);
    }
    let blocks = format!("{}{}", "a {\n".repeat(10_000), "}\n".repeat(10_000));
    assert!(problems(&inline("HCL", &blocks), &GIVEN)[0].contains("nest"));
    let lists = format!("{}\"${{name}}\"{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(module("JSON", &lists, &GIVEN).contains("[\"demo\"]"));
}
