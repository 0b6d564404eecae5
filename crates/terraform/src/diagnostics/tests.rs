use std::io::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;

use super::*;
use crate::stream::{Position, Range};

fn error(summary: &str, detail: &str) -> Diagnostic {
    Diagnostic {
        summary: summary.to_owned(),
        detail: detail.to_owned(),
        ..Diagnostic::default()
    }
}

#[test]
fn classes() {
    let cases = [
        (
            "Error acquiring the state lock",
            "Error message: resource temporarily unavailable",
            Class::Locked,
        ),
        (
            "connect failed: the state is locked by bob@laptop since 2026-11-18T04:00:00Z for apply (lock abc)",
            "",
            Class::Locked,
        ),
        (
            "Saved plan is stale",
            "The given plan file can no longer be applied",
            Class::StalePlan,
        ),
        (
            "creating EC2 Subnet",
            "operation error EC2: CreateSubnet, ThrottlingException: Rate exceeded",
            Class::Throttled,
        ),
        (
            "reading EKS Cluster",
            "https response error StatusCode: 429, RequestID: 1",
            Class::Throttled,
        ),
        (
            "creating EC2 VPC",
            "api error VpcLimitExceeded: The maximum number of VPCs has been reached.",
            Class::Quota,
        ),
        (
            "reading IAM Role",
            "dial tcp 10.0.0.1:443: connect: connection refused",
            Class::Network,
        ),
        (
            "Failed to download module",
            "Could not download module \"module\" source code from \"git::https://x/y\": fatal: unable to access \
             'https://x/y/': Failed to connect to x port 443 after 0 ms: Couldn't connect to server",
            Class::Network,
        ),
        (
            "Failed to download module",
            "Could not download module \"module\" source code: ssh: Could not resolve hostname x: Name or service not \
             known",
            Class::Network,
        ),
        (
            "Failed to get existing workspaces",
            "dial tcp: lookup example.com: no such host",
            Class::Network,
        ),
        (
            "waiting for EKS Cluster create",
            "timeout while waiting for state to become 'ACTIVE'",
            Class::Timeout,
        ),
        (
            "deleting EC2 Subnet",
            "api error DependencyViolation: has dependencies and cannot be deleted",
            Class::Settling,
        ),
        (
            "creating EKS Fargate Profile",
            "ResourceInUseException: Cannot create Fargate Profile",
            Class::Settling,
        ),
        (
            "creating EKS Fargate Profile (blue:jobs)",
            "operation error EKS: CreateFargateProfile, https response error StatusCode: 409, ResourceInUseException: \
             Cannot create Fargate Profile jobs because cluster blue currently has Fargate profile web in status CREATING",
            Class::Settling,
        ),
        (
            "creating EKS Fargate Profile (blue:jobs)",
            "operation error EKS: CreateFargateProfile, https response error StatusCode: 409, ResourceInUseException: \
             FargateProfile already exists with name jobs and cluster name blue",
            Class::Other,
        ),
        ("No valid credential sources found", "", Class::Denied),
        (
            "creating EKS Cluster",
            "AccessDeniedException: User is not authorized to perform: eks:CreateCluster",
            Class::Denied,
        ),
        (
            "Plugin did not respond",
            "The plugin encountered an error, and failed to respond",
            Class::Crash,
        ),
        (
            "Failed to install provider",
            "open terraform-provider-aws: text file busy",
            Class::PluginCache,
        ),
        (
            "Failed to write state",
            "write terraform.tfstate: no space left on device",
            Class::DiskFull,
        ),
        (
            "Resource precondition failed",
            "Precondition says no: rate limit and connection refused.",
            Class::Configuration,
        ),
        (
            "Unsupported argument",
            "An argument named \"timeouts\" is not expected here.",
            Class::Configuration,
        ),
        (
            "local-exec provisioner error",
            "exit status 3. Output: connection refused",
            Class::Other,
        ),
        (
            "creating EKS Cluster",
            "InvalidParameterException: Subnets are not in the same VPC",
            Class::Other,
        ),
        ("Module not installed", "Run terraform init", Class::Setup),
        ("execution halted", "", Class::Other),
    ];
    for (summary, detail, expected) in cases {
        assert_eq!(classify(&error(summary, detail)), expected, "{summary}: {detail}");
    }
}

#[test]
fn what_is_wrong_in_the_text_is_so_without_a_place() {
    for summary in [
        "Invalid value for input variable",
        "Invalid value for input variable at spec.forProvider.vars, variable size",
        "Missing required argument",
        "Unsupported argument",
        "Invalid reference",
        "Incorrect attribute value type",
        "Invalid count argument",
    ] {
        assert_eq!(
            classify(&error(summary, "a number is required")),
            Class::Configuration,
            "{summary}"
        );
    }
}

#[test]
fn what_terraform_points_at_is_wrong() {
    let mut located = error("Something new", "in a version to come");
    assert_eq!(classify(&located), Class::Other);
    located.range = Some(Range::default());
    assert_eq!(classify(&located), Class::Configuration);
    located.address = Some("terraform_data.x".to_owned());
    assert_eq!(classify(&located), Class::Other);
}

#[test]
fn tables_are_in_the_case_that_is_compared() {
    for (words, _) in [class::SUMMARIES, class::WORDS].concat() {
        assert_eq!(words, words.to_lowercase());
    }
}

#[test]
fn one_terminal_error_decides() {
    let throttled = error("x", "ThrottlingException");
    let terminal = error("Unsupported argument", "");
    let halted = error("execution halted", "");
    let warning = Diagnostic {
        severity: Severity::Warning,
        ..terminal.clone()
    };
    let cases = [
        (vec![], None),
        (vec![warning.clone()], None),
        (vec![halted.clone()], None),
        (
            vec![throttled.clone(), warning, halted.clone()],
            Some(Class::Throttled),
        ),
        (vec![throttled, terminal, halted], Some(Class::Configuration)),
    ];
    for (diagnostics, expected) in cases {
        assert_eq!(verdict(&diagnostics), expected, "{diagnostics:?}");
    }
}

#[test]
fn messages_say_what_and_where() {
    let mut first = error("local-exec provisioner error", "exit status 3. Output: boom\n");
    first.address = Some("terraform_data.cluster".to_owned());
    let start = Position {
        line: 59,
        ..Position::default()
    };
    first.range = Some(Range {
        filename: "main.tf".to_owned(),
        start,
        ..Range::default()
    });
    let full =
        "local-exec provisioner error with terraform_data.cluster at main.tf:59: exit status 3. Output: boom";
    let second = error("other", "");
    let halted = error("execution halted", "");
    let cases: [(&[&Diagnostic], usize, Option<String>); 6] = [
        (&[], 100, None),
        (&[&first, &halted, &first], 200, Some(full.to_owned())),
        (&[&first, &second], 200, Some(format!("{full}\n\nother"))),
        (
            &[&first, &second],
            full.len() + 1,
            Some(format!("{}…\n(and 1 more)", &full[..83].trim_end())),
        ),
        (&[&halted], 100, Some("execution halted".to_owned())),
        (&[&first], 10, Some("local-e…".to_owned())),
    ];
    for (diagnostics, limit, expected) in cases {
        let diagnostics: Vec<Diagnostic> = diagnostics.iter().map(|one| (*one).clone()).collect();
        assert_eq!(message(&diagnostics, limit), expected, "at most {limit}");
    }
}

fn packed(text: &str) -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    STANDARD.encode(gzip.finish().unwrap())
}

#[test]
fn unpacks_what_provider_terraform_packed() {
    let packed = packed("Error: Invalid value\n\n  on main.tf line 3\n");
    let message = format!(
        "apply failed: Terraform encountered an error. Summary: Invalid value. To see the full error run: echo \"{packed}\" | base64 -d | gunzip: end"
    );
    assert_eq!(
        readable(&message),
        "apply failed: Terraform encountered an error. Summary: Invalid value.\nError: Invalid value\n\n  on main.tf line 3: end"
    );
    for plain in [
        "",
        "plain",
        "To see the full error run: echo \"!!\" | base64 -d | gunzip",
        "echo \"aa\" | base64 -d | gunzip",
    ] {
        assert_eq!(readable(plain), plain);
    }
}

#[test]
fn unpacking_is_bounded() {
    let bomb = packed(&"a".repeat(8 << 20));
    let message = format!("To see the full error run: echo \"{bomb}\" | base64 -d | gunzip");
    assert!(readable(&message).len() <= (1 << 20) + 2);
}

#[test]
fn names_who_holds_the_lock() {
    let detail = "Error message: resource temporarily unavailable\nLock Info:\n  ID:        97e2fcaa-38fa-0663-249c-b13164295ff2\n  Path:      terraform.tfstate\n  Operation: OperationTypeApply\n  Who:       ada@laptop\n  Version:   1.11.4\n  Created:   2026-11-15 17:56:59.991911925 +0000 UTC\n  Info:      \n\n\nTerraform acquires a state lock to protect the state";
    let holder = LockHolder::from_diagnostic(&error("Error acquiring the state lock", detail)).unwrap();
    assert_eq!(holder.id, "97e2fcaa-38fa-0663-249c-b13164295ff2");
    assert_eq!(holder.who, "ada@laptop");
    assert_eq!(holder.operation, "OperationTypeApply");
    assert_eq!(holder.created, "2026-11-15 17:56:59.991911925 +0000 UTC");
    assert_eq!(LockHolder::from_diagnostic(&error("x", "Lock Info:\n")), None);
}

proptest! {
    #[test]
    fn cutting_keeps_the_limit(text in "\\PC{0,40}", limit in 0usize..60) {
        prop_assert!(bounded(&text, limit).len() <= limit);
        let all = [error(&text, &text), error("b", &text), error("c", "d")];
        prop_assert!(message(&all, limit + 20).is_some_and(|message| message.len() <= limit + 20));
        let _ = classify_text(&text);
        let _ = readable(&text);
    }
}

#[test]
fn errors_of_a_real_provider_terraform_are_readable() {
    let captured = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/provider-terraform");
    for (name, beginning, inside, is_transient) in [
        (
            "namespaced-plan-failed",
            "observe failed: cannot diff (i.e. plan) Terraform configuration",
            "An input variable with the name \"nope\" has not been declared.",
            false,
        ),
        (
            "namespaced-apply-failed",
            "create failed: cannot apply Terraform configuration",
            "Error running command 'exit 3': exit status 3.",
            false,
        ),
        (
            "namespaced-locked",
            "create failed: cannot apply Terraform configuration",
            "Operation: OperationTypeApply",
            true,
        ),
    ] {
        let text = std::fs::read_to_string(format!("{captured}/{name}.json")).expect("a captured Workspace");
        let object: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let conditions = object["status"]["conditions"].as_array().expect("conditions");
        let synced = conditions.iter().find(|condition| condition["type"] == "Synced");
        let message = synced
            .and_then(|synced| synced["message"].as_str())
            .expect("a message");
        let clear = readable(message);
        assert!(clear.starts_with(beginning), "{clear}");
        assert!(clear.contains(inside), "{clear}");
        assert!(!clear.contains("base64"), "{clear}");
        assert_eq!(classify_text(&clear).is_transient(), is_transient, "{clear}");
    }
}
