//! Holes in the fields of a template.

use capt_api::conditions::workspacetemplateapply::WorkspaceTemplateApplyReason as Reason;

use super::*;

/// A template that shows one text, and what else it is told, in a field that takes any text.
fn with_value(text: &str) -> WorkspaceTemplateSpec {
    let vars = json!([{"key": "shown", "value": text}]);
    template(
        &json!({"forProvider": {"source": "Remote", "module": "git::https://example.org/m", "vars": vars}}),
    )
}

#[test]
fn a_hole_takes_the_value_as_it_is() {
    let given = [
        ("name", "demo"),
        ("list", r#"["a","b"]"#),
        ("dotted.name/x", "odd"),
        ("loop", "${loop} $${name}"),
    ];
    for (text, expected) in [
        ("plain", "plain"),
        ("${name}", "demo"),
        ("a-${name}-${name}", "a-demo-demo"),
        ("${ name }", "demo"),
        ("${WORKSPACE_NAME}", "demo-vpc"),
        ("${list}", r#"["a","b"]"#),
        ("${dotted.name/x}", "odd"),
        // A value is not a template.
        ("<${loop}>", "<${loop} $${name}>"),
        // Escapes, and dollars that mean nothing.
        ("$${name}", "${name}"),
        ("$$${name}", "$${name}"),
        ("$${${name}}", "${demo}"),
        ("$name $ $$ {name} 5$", "$name $ $$ {name} 5$"),
        ("$}${name}", "$}demo"),
        ("é${name}é", "édemoé"),
    ] {
        let spec = rendered(&with_value(text), &given);
        assert_eq!(spec["forProvider"]["vars"][0]["value"], expected, "{text}");
    }
}

#[test]
fn values_that_look_like_syntax_stay_values() {
    for value in [
        "\"",
        "\\",
        "\",\"injected\":\"",
        "\n\t\r\0",
        "${WORKSPACE_NAME}",
        "%{ if true }",
        "- a: b",
        "{}",
        "null",
        "日本\u{202e}",
    ] {
        let spec = rendered(&with_value("<${v}>"), &[("v", value)]);
        assert_eq!(
            spec["forProvider"]["vars"],
            json!([{"key": "shown", "value": format!("<{value}>")}])
        );
    }
}

#[test]
fn every_text_may_have_holes() {
    let spec = json!({
        "forProvider": {
            "source": "Remote", "module": "git::https://example.org/m?ref=${v}", "entrypoint": "${v}",
            "env": [{"name": "${v}", "value": "${v}"}],
            "varmap": {"list": ["${v}", 1, true, null], "map": {"key": {"deep": "${v}"}}},
            "varFiles": [{"source": "SecretKey", "secretKeyRef": {"name": "${v}", "key": "${v}", "namespace": "team"}}],
            "planArgs": ["-target=${v}"],
        },
        "providerConfigRef": {"name": "${v}"},
        "writeConnectionSecretToRef": {"name": "${WORKSPACE_NAME}-connection"},
    });
    let expected = json!({
        "forProvider": {
            "source": "Remote", "module": "git::https://example.org/m?ref=x", "entrypoint": "x",
            "env": [{"name": "x", "value": "x"}],
            "varmap": {"list": ["x", 1, true, null], "map": {"key": {"deep": "x"}}},
            "varFiles": [{"source": "SecretKey", "secretKeyRef": {"name": "x", "key": "x"}}],
            "planArgs": ["-target=x"],
        },
        "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "x"},
        "writeConnectionSecretToRef": {"name": "demo-vpc-connection"},
    });
    assert_eq!(rendered(&template(&spec), &[("v", "x")]), expected);
}

#[test]
fn problems_name_the_hole_and_the_field() {
    let spec = json!({
        "forProvider": {
            "source": "Remote", "module": "${module}",
            "vars": [{"key": "a", "value": "${one} ${two}"}, {"key": "b", "value": "${never ended"}],
            "varmap": {"${key}": 1, "a.b": ["${}"], "$${fine}": "x"},
        },
        "writeConnectionSecretToRef": {"name": "${empty}"},
    });
    let problems = problems(&template(&spec), &[("one", "1"), ("empty", "")]);
    let starts = [
        "spec.template.spec.forProvider.module: no variable fills ${module}; set module in the variables",
        "spec.template.spec.forProvider.varmap[\"${key}\"]: the key has a hole",
        "spec.template.spec.forProvider.varmap[\"a.b\"][0]: a hole is not ended or has no name; write ${name}, or $${",
        "spec.template.spec.forProvider.vars[0].value: no variable fills ${two}",
        "spec.template.spec.forProvider.vars[1].value: a hole is not ended",
        "spec.template.spec.writeConnectionSecretToRef.name: the variables leave it empty",
    ];
    assert_eq!(problems.len(), starts.len(), "{problems:#?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn declared_variables_have_defaults_and_can_be_required() {
    let mut template = with_value("${with_default} ${required} ${required}");
    template.variables = serde_json::from_value(json!([
        {"name": "with_default", "default": "d"},
        {"name": "required", "required": true, "description": "what it is for"},
        {"name": "unused", "required": true},
    ]))
    .unwrap();
    assert_eq!(
        problems(&template, &[]),
        [
            "the template requires the variable required (what it is for); set it in spec.variables",
            "the template requires the variable unused; set it in spec.variables",
        ]
    );
    let spec = rendered(
        &template,
        &[("required", "r"), ("unused", ""), ("undeclared", "is no error")],
    );
    assert_eq!(spec["forProvider"]["vars"][0]["value"], "d r r");
    let spec = rendered(
        &template,
        &[("required", "r"), ("unused", ""), ("with_default", "given")],
    );
    assert_eq!(spec["forProvider"]["vars"][0]["value"], "given r r");
}

#[test]
fn the_name_of_the_workspace_cannot_be_given() {
    let spec = rendered(&with_value("${WORKSPACE_NAME}"), &[("WORKSPACE_NAME", "another")]);
    assert_eq!(spec["forProvider"]["vars"][0]["value"], "demo-vpc");
}

#[test]
fn what_does_not_fit_into_an_object_is_a_problem() {
    let large = "x".repeat(MAX_BYTES);
    let half = "x".repeat(MAX_BYTES / 2 + 1);
    let quotes = "\"".repeat(MAX_BYTES / 2 + 1);
    let hcl = |text: &str| inline("HCL", text);
    for (template, value) in [
        (with_value("${v}"), &large),
        (with_value("${v}${v}"), &half),
        (with_value(&"${v}".repeat(10_000)), &large),
        // Fits, but not with the escapes of JSON.
        (with_value("${v}"), &quotes),
        (hcl("a = \"${v}\""), &large),
        (hcl("a = \"${v}${v}\""), &half),
        (hcl(&format!("a = \"{}\"", "${v}".repeat(1_000))), &half),
        (inline("JSON", "{\"a\": [\"${v}\", \"${v}\"]}"), &half),
        (
            inline("JSON", &format!("{{\"a\": \"{}\"}}", "${v}".repeat(1_000))),
            &half,
        ),
        (hcl(&format!("a = \"{large}\"")), &half),
    ] {
        let problems = render(&input(&template, &variables(&[("v", value)]))).unwrap_err();
        let expected = RenderProblem::TooLarge {
            limit: MAX_BYTES,
            largest: Some(("v".to_owned(), value.len())),
        };
        assert_eq!(problems, [expected]);
        assert_eq!(problems[0].reason(), Reason::VariableInvalid);
    }
    assert!(
        problems(&with_value("${v}"), &[("v", &large)])[0].contains("the largest value is v's, 983040 bytes")
    );
}

#[test]
fn holes_are_listed_with_their_places() {
    let mut template = inline("HCL", "a = 1\nb = \"é ${in_module} ${var.x}\"\n");
    template.template.spec.provider_config_ref =
        serde_json::from_value(json!({"name": "${in_field}-$${none}"})).unwrap();
    template.write_connection_secret_to_ref = serde_json::from_value(json!({"name": "${secret}"})).unwrap();
    let listed: Vec<_> = holes(&template)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = [
        "${in_field} in spec.template.spec.providerConfigRef.name",
        "${secret} in spec.writeConnectionSecretToRef.name",
        "${in_module} in spec.template.spec.forProvider.module, line 2, column 8",
    ];
    assert_eq!(listed, expected);
    let open = unfilled(&template, &variables(&[("in_field", ""), ("in_module", "")])).unwrap();
    assert_eq!(
        open.iter().map(|hole| &*hole.name).collect::<Vec<_>>(),
        ["secret"]
    );

    let given = [("in_field", "f"), ("secret", "s")];
    assert_eq!(problems(&template, &given).len(), 1, "the one in the module");
    let given = variables(&[("in_field", "f"), ("secret", "s"), ("in_module", "m")]);
    let rendering = render(&input(&template, &given)).unwrap();
    let names: Vec<_> = rendering.filled.iter().map(|hole| &*hole.name).collect();
    assert_eq!(names, ["in_field", "secret", "in_module"]);
}
