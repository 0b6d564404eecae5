//! What Terraform reads out of a rendered module is what was put in.
//!
//! Our own parser cannot judge that, since it is the one that found the holes. Needs `terraform` or `tofu`.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use capt_core::render::{ForeignNamespaces, RenderInput, WorkspaceGroup, render};
use serde_json::{Value, json};

const VALUES: [&str; 27] = [
    "plain",
    "",
    "\"",
    "\\",
    "\\n",
    "\\\"",
    "line\nbreak\r\nand\ttab",
    "${file(\"/etc/hostname\")}",
    "$${escaped}",
    "$$$${",
    "%{ if true }yes%{ endif }",
    "%%{x",
    "ends in $",
    "ends in %",
    "{ starts",
    "{\"json\": [1, {\"a\": \"${b}\"}]}",
    "~}",
    "\nEOT\n",
    "  EOT\n  indented\n",
    "*/ # // /*",
    "\" }\nresource \"x\" \"y\" {}\n",
    "\u{1}\u{7f}\u{85}\u{feff}\u{202e}\u{2028}",
    "日本語 😀 é",
    "- yaml: {a: b}\n  !tag &anchor",
    "${",
    " leading and trailing ",
    "a\0b",
];

/// Of these, all values of three are tried.
const PARTS: [&str; 8] = ["\"", "\\", "$", "%", "{", "}", "~", "\n"];

/// A text in HCL with the hole `${v}`, and what is around the value when Terraform has read it.
const PLACES: [(&str, &str, &str); 12] = [
    (r#""${v}""#, "", ""),
    (r#""<${v}>""#, "<", ">"),
    (r#""%${v}{x}""#, "%", "{x}"),
    (r#""$-${v}${v0}{x}""#, "$-", "plain{x}"),
    (r#""\\${v}\\""#, "\\", "\\"),
    (r#""%{ if true }${v}%{ else }no%{ endif }""#, "", ""),
    (r#""a  ${~ v ~}  b""#, "a", "b"),
    (r#"join("", ["<", "${join("", ["${v}"])}", ">"])"#, "<", ">"),
    (r#"keys({ "k-${v}" = 1 })[0]"#, "k-", ""),
    ("<<EOT\n<${v}>\nEOT\n", "<", ">\n"),
    ("<<-EOT\n    <${v}>\n    EOT\n", "<", ">\n"),
    (r#"join("", [for v0 in ["${v}"] : "${v0}"])"#, "", ""),
];

/// The same for a string of a module in JSON.
const JSON_PLACES: [(&str, &str, &str); 5] = [
    ("${v}", "", ""),
    ("<${v}>", "<", ">"),
    ("%${v}{x}", "%", "{x}"),
    ("${join(\"\", [\"<${v}>\"])}", "<", ">"),
    ("$${x}${v}", "${x}", ""),
];

#[test]
fn terraform_reads_values_as_they_are() {
    let Some(terraform) = ["terraform", "tofu"].into_iter().find(|name| runs(name)) else {
        eprintln!("SKIPPED: neither terraform nor tofu is in PATH, so nobody checked what they read");
        return;
    };
    let values: Vec<String> = VALUES
        .iter()
        .map(|value| (*value).to_owned())
        .chain(triples())
        .collect();
    let variables: BTreeMap<String, String> = values
        .iter()
        .enumerate()
        .map(|(index, value)| (format!("v{index}"), value.clone()))
        .collect();
    let filled_by = |text: &str, index: usize| {
        text.replace("{v}", &format!("{{v{index}}}"))
            .replace(" v ", &format!(" v{index} "))
    };
    let (mut hcl, mut json, mut expected) = (String::new(), json!({"output": {}}), BTreeMap::new());
    // One output for all values: thousands of outputs would take Terraform a minute.
    for (place, (text, before, after)) in PLACES.iter().enumerate() {
        let items: Vec<_> = (0..values.len()).map(|index| filled_by(text, index)).collect();
        hcl.push_str(&format!(
            "output \"hcl_{place}\" {{\n  value = [{}]\n}}\n",
            items.join(", ")
        ));
        expected.insert(format!("hcl_{place}"), surrounded(&values, before, after));
    }
    for (place, (text, before, after)) in JSON_PLACES.iter().enumerate() {
        let items: Vec<_> = (0..values.len()).map(|index| filled_by(text, index)).collect();
        json["output"][format!("json_{place}")] = json!({"value": items});
        expected.insert(format!("json_{place}"), surrounded(&values, before, after));
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("main.tf"), rendered("HCL", &hcl, &variables)).unwrap();
    fs::write(
        folder.path().join("more.tf.json"),
        rendered("JSON", &json.to_string(), &variables),
    )
    .unwrap();

    run(terraform, &["init", "-input=false", "-no-color"], folder.path());
    run(
        terraform,
        &["apply", "-auto-approve", "-input=false", "-no-color"],
        folder.path(),
    );
    let outputs: BTreeMap<String, Value> =
        serde_json::from_str(&run(terraform, &["output", "-json"], folder.path())).unwrap();
    assert_eq!(outputs.len(), expected.len());
    for (name, expected) in expected {
        let read: Vec<String> = serde_json::from_value(outputs[&name]["value"].clone()).unwrap();
        assert_eq!(read, expected, "{name}");
    }
}

fn surrounded(values: &[String], before: &str, after: &str) -> Vec<String> {
    values
        .iter()
        .map(|value| format!("{before}{value}{after}"))
        .collect()
}

fn triples() -> impl Iterator<Item = String> {
    let pairs = PARTS
        .iter()
        .flat_map(|one| PARTS.iter().map(move |two| format!("{one}{two}")));
    pairs.flat_map(|pair| PARTS.iter().map(move |three| format!("{pair}{three}")))
}

fn rendered(format: &str, module: &str, variables: &BTreeMap<String, String>) -> String {
    let for_provider = json!({"source": "Inline", "inlineFormat": format, "module": module});
    let template =
        serde_json::from_value(json!({"template": {"spec": {"forProvider": for_provider}}})).unwrap();
    let rendering = render(&RenderInput {
        template: &template,
        variables,
        workspace_name: "test",
        namespace: "test",
        group: WorkspaceGroup::Namespaced,
        connection_secret: None,
        foreign_namespaces: ForeignNamespaces::Refuse,
    })
    .unwrap();
    let spec = serde_json::to_value(rendering.spec).unwrap();
    spec["forProvider"]["module"].as_str().unwrap().to_owned()
}

fn runs(program: &str) -> bool {
    Command::new(program)
        .arg("-version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("CHECKPOINT_DISABLE", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
