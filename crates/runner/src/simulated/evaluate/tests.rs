use hcl::edit::expr::Expression;
use serde_json::{Value as Json, json as json_of};

use super::*;

fn evaluated(text: &str) -> Result<Json, NoValue> {
    let mut scope = Scope::default();
    scope.set("var.name", Value::from("world"));
    scope.set("var.zones", Value::from(vec!["b", "a"]));
    scope.set(
        "terraform_data.vpc",
        [("id".to_owned(), Value::from("vpc-1"))].into_iter().collect(),
    );
    let expression: Expression = text.parse().unwrap();
    scope
        .evaluate(&Expr::from(&expression))
        .map(|value| json(&value).unwrap())
}

#[test]
fn expressions_have_the_values_that_terraform_gives_them() {
    for (text, expected) in [
        (r#""Hello, ${var.name}!""#, json_of!("Hello, world!")),
        (r#"var.name == "world" ? 1 : 2"#, json_of!(1)),
        (r#"terraform_data.vpc.id"#, json_of!("vpc-1")),
        (r#"[for zone in var.zones : upper(zone)]"#, json_of!(["B", "A"])),
        (
            r#"{for index, zone in var.zones : zone => index + 1}"#,
            json_of!({"a": 2, "b": 1}),
        ),
        (r#"module.network.vpc_id"#, json_of!("simulated-vpc_id")),
        (
            r#"try(var.missing, local.neither, "fallback")"#,
            json_of!("fallback"),
        ),
        (r#"can(var.missing)"#, json_of!(false)),
        (
            r#"try(file("x"), var.name) == "world" ? "yes" : file("y")"#,
            json_of!("yes"),
        ),
        (r#"cidrsubnet("10.0.0.0/16", 4, 9)"#, json_of!("10.0.144.0/20")),
        (r#"cidrhost("10.0.0.0/24", 5)"#, json_of!("10.0.0.5")),
        (
            r#"format("%s-%03d-%.2f%%", "a", 7, 1.5)"#,
            json_of!("a-007-1.50%"),
        ),
        (r#"substr(sha256("x"), 0, 8)"#, json_of!("2d711642")),
        (
            r#"jsonencode({b = 1, a = [true, null]})"#,
            json_of!(r#"{"a":[true,null],"b":1}"#),
        ),
        (r#"jsondecode("{\"a\": [1]}").a[0]"#, json_of!(1)),
        (r#"join(",", sort(var.zones))"#, json_of!("a,b")),
        (r#"merge({a = 1}, {b = 2})"#, json_of!({"a": 1, "b": 2})),
        (r#"length(toset(["a", "a", "b"]))"#, json_of!(2)),
        (r#"element(["a", "b"], 3)"#, json_of!("b")),
        (r#"flatten([["a"], [["b"]]])"#, json_of!(["a", "b"])),
        (r#"base64decode(base64encode("hi"))"#, json_of!("hi")),
        (r#"tonumber("5") + 1"#, json_of!(6)),
        (r#"can(regex("^[a-z]+$", var.name))"#, json_of!(true)),
        (r#"can(regex("^[0-9]+$", var.name))"#, json_of!(false)),
        (r#"regex("^w(.)(.)", var.name)"#, json_of!(["o", "r"])),
        (
            r#"yamlencode({a = [{b = 1, c = "x"}, "y"], d = {e = []}})"#,
            json_of!("\"a\":\n- \"b\": 1\n  \"c\": \"x\"\n- \"y\"\n\"d\":\n  \"e\": []\n"),
        ),
        (r#"lookup({a = 1}, "b", 3)"#, json_of!(3)),
    ] {
        assert_eq!(evaluated(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_known_has_no_value_and_what_is_refused_says_why() {
    for text in [
        "var.missing",
        "local.missing.x",
        "uuid()",
        "can(uuid())",
        "try(uuid(), 1)",
        "data.aws_ami.x.id",
    ] {
        assert_eq!(evaluated(text), Err(NoValue::Unknown), "{text}");
    }
    for (text, expected) in [
        (r#"cidrsubnet("10.0.0.0/30", 4, 0)"#, "no room"),
        (r#"file("/etc/passwd")"#, "reads no files"),
        (r#"jsondecode("{")"#, "EOF"),
        (r#"upper(1)"#, "must be a string"),
    ] {
        let Err(NoValue::Refused(message)) = evaluated(text) else {
            panic!("{text} was not refused");
        };
        assert!(message.contains(expected), "{text}: {message}");
    }
}
