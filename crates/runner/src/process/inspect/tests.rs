use super::*;

fn hcl(text: &str) -> About {
    let mut about = About::default();
    about.hcl(text);
    about
}

fn json(text: &str) -> About {
    let mut about = About::default();
    about.json(text);
    about
}

#[test]
fn variables_are_read_as_terraform_does() {
    let cases = [
        ("", Reading::Literal),
        ("type = string", Reading::Literal),
        ("type = number", Reading::Literal),
        ("type = bool", Reading::Literal),
        ("type = \"string\"", Reading::Literal),
        ("type = \"map\"", Reading::Expression),
        ("type = any", Reading::Expression),
        ("type = list(string)", Reading::Expression),
        ("type = object({ a = string })", Reading::Expression),
    ];
    for (constraint, expected) in cases {
        let about = hcl(&format!("variable \"x\" {{\n{constraint}\n}}\n"));
        assert_eq!(
            about.variables,
            [("x".to_owned(), expected)].into(),
            "{constraint}"
        );
        assert!(about.needs_no_init(), "{constraint}");
        let constraint = constraint
            .strip_prefix("type = ")
            .map(|text| text.trim_matches('"'));
        let body = constraint.map_or(serde_json::json!({}), |text| serde_json::json!({"type": text}));
        for body in [body.clone(), serde_json::json!([body])] {
            let about = json(&serde_json::json!({"variable": {"x": body}}).to_string());
            assert_eq!(
                about.variables,
                [("x".to_owned(), expected)].into(),
                "{constraint:?}"
            );
        }
    }
}

#[test]
fn init_is_needed_for_what_has_to_be_installed() {
    let cases = [
        ("resource \"terraform_data\" \"x\" {}", false),
        (
            "data \"terraform_remote_state\" \"x\" { backend = \"local\" }",
            false,
        ),
        ("provider \"terraform\" {}", false),
        ("terraform {\n required_version = \">= 1.5\"\n}", false),
        (
            "terraform {\n required_providers {\n terraform = { source = \"terraform.io/builtin/terraform\" }\n }\n}",
            false,
        ),
        ("module \"x\" { source = \"./x\" }", true),
        ("resource \"null_resource\" \"x\" {}", true),
        ("data \"aws_region\" \"x\" {}", true),
        ("provider \"aws\" {}", true),
        (
            "terraform {\n required_providers {\n aws = { source = \"hashicorp/aws\" }\n }\n}",
            true,
        ),
        ("terraform {\n required_providers {\n aws = \">= 5\"\n }\n}", true),
        ("terraform {\n backend \"s3\" {}\n}", true),
        ("terraform {\n cloud {}\n}", true),
        ("resource \"terraform_data\" {{", true),
    ];
    for (text, expected) in cases {
        assert_eq!(!hcl(text).needs_no_init(), expected, "{text}");
    }
    let cases = [
        (r#"{"resource": {"terraform_data": {"x": {}}}}"#, false),
        (r#"{"resource": [{"aws_vpc": {"x": {}}}]}"#, true),
        (r#"{"module": {"x": {"source": "./x"}}}"#, true),
        (r#"{"module": {}}"#, false),
        (r#"{"terraform": {"backend": {"s3": {}}}}"#, true),
        (r#"{"terraform": [{"required_providers": {}}]}"#, false),
        (r#"{"terraform": {"required_providers": [{"aws": "> 1"}]}}"#, true),
        ("{", true),
        ("[]", true),
    ];
    for (text, expected) in cases {
        assert_eq!(!json(text).needs_no_init(), expected, "{text}");
    }
}

#[test]
fn names_the_backend() {
    let cases = [
        (
            "terraform {\n backend \"kubernetes\" {\n secret_suffix = \"x\"\n }\n}",
            Some("kubernetes"),
        ),
        ("terraform {\n cloud {}\n}", Some("cloud")),
        ("terraform {}", None),
    ];
    for (text, expected) in cases {
        assert_eq!(hcl(text).backend.as_deref(), expected, "{text}");
    }
    assert_eq!(
        json(r#"{"terraform": [{"backend": [{"http": {}}]}]}"#)
            .backend
            .as_deref(),
        Some("http")
    );
}

#[test]
fn other_files_are_none_of_its_business() {
    let cases = [
        ("main.tf", false, Some(false)),
        ("main.tf.json", false, Some(true)),
        ("main.tofu", false, None),
        ("main.tofu", true, Some(false)),
        ("main.tofu.json", true, Some(true)),
        (".main.tf", false, None),
        ("main.tf~", false, None),
        ("terraform.tfvars", false, None),
        ("README.md", false, None),
    ];
    for (name, is_tofu, expected) in cases {
        assert_eq!(configuration(name, is_tofu), expected, "{name}");
    }
}

#[test]
fn tells_which_providers_are_asked_for() {
    let providers = |about: &About| {
        let asked = about.providers.iter().map(|(name, asked)| {
            let versions: Vec<&str> = asked.versions.iter().map(String::as_str).collect();
            let source = asked.source.as_deref().unwrap_or("-");
            format!("{name} {source} {}", versions.join(" & "))
        });
        asked.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let cases: [(&str, &[&str]); 9] = [
        ("resource \"aws_vpc\" \"x\" {}", &["aws -"]),
        (
            "data \"google_x\" \"x\" {\n provider = google-beta\n}",
            &["google-beta -"],
        ),
        (
            "resource \"aws_vpc\" \"x\" {\n provider = aws.west\n}",
            &["aws -"],
        ),
        ("check \"c\" {\n data \"http\" \"x\" {}\n}", &["http -"]),
        ("provider \"aws\" {\n version = \"~> 5.0\"\n}", &["aws - ~> 5.0"]),
        (
            "terraform {\n required_providers {\n aws = \"> 1\"\n }\n}",
            &["aws - > 1"],
        ),
        (
            "terraform {\n required_providers {\n a = {\n source = \"x/y\"\n \"version\" = \"1\"\n }\n }\n}\nprovider \"a\" { version = \"2\" }",
            &["a x/y 1 & 2"],
        ),
        (
            "terraform {\n required_providers {\n t = { source = \"terraform.io/builtin/terraform\" }\n }\n}",
            &["t terraform.io/builtin/terraform"],
        ),
        (
            "module \"x\" {\n source = \"y\"\n providers = { aws = aws.west }\n}",
            &[],
        ),
    ];
    for (text, expected) in cases {
        let about = hcl(text);
        assert_eq!(providers(&about), expected, "{text}");
        assert!(!about.unreadable, "{text}");
    }
    let cases: [(&str, &[&str]); 4] = [
        (
            r#"{"resource": {"aws_vpc": {"x": {"provider": "other.west"}}}}"#,
            &["other -"],
        ),
        (
            r#"{"provider": {"aws": [{"version": "1"}, {"alias": "w"}]}}"#,
            &["aws - 1"],
        ),
        (
            r#"{"terraform": {"required_providers": {"a": {"source": "x/y", "version": "1"}, "b": "2"}}}"#,
            &["a x/y 1", "b - 2"],
        ),
        (r#"{"module": {"x": {"source": "y"}}}"#, &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(providers(&json(text)), expected, "{text}");
    }
    assert_eq!(hcl("module \"x\" {}\nmodule \"y\" {}").calls.len(), 2);
    assert_eq!(json(r#"{"module": {"x": {}, "y": {}}}"#).calls.len(), 2);
    let templates = [
        "terraform {\n required_providers {\n aws = { version = \"${x}\" }\n }\n}",
        "terraform {\n required_providers {\n aws = { source = x }\n }\n}",
    ];
    for text in templates {
        assert!(hcl(text).unreadable, "{text}");
    }
}
