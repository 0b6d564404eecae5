//! Variables, and who may see them.

use capt_runner::engine::{Engine as _, EngineKind, FailureKind, Goal, VarFile};

use crate::support::{World, inputs, processes, until};

const MODULE: &str = r#"
variable "plain" {}
variable "text" { type = string }
variable "number" { type = number }
variable "bool" { type = bool }
variable "list" { type = list(string) }
variable "any" { type = any }
output "all" { value = jsonencode([var.plain, var.text, var.number, var.bool, var.list, var.any]) }
"#;

#[tokio::test]
async fn text_is_read_as_terraform_reads_it() {
    let Some(world) = World::new().await else { return };
    let mut inputs = inputs(MODULE);
    let nasty = "[1] \"quoted\" ${x} %{y}\n\\ü";
    let vars = [
        ("plain", nasty),
        ("text", "5"),
        ("number", "5"),
        ("bool", "true"),
        ("list", "[\"a\",\n \"b\"]"),
        ("any", "{ k = 1 }"),
    ];
    inputs.vars = vars
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let state = world.converge(&inputs).await;
    let all: serde_json::Value = serde_json::from_str(state.outputs["all"].value.as_str().unwrap()).unwrap();
    assert_eq!(
        all,
        serde_json::json!([nasty, "5", 5, true, ["a", "b"], {"k": 1}])
    );
}

#[tokio::test]
async fn later_files_count_more() {
    let Some(world) = World::new().await else { return };
    let module = "variable \"a\" {}\nvariable \"b\" {}\nvariable \"c\" {}\noutput \"all\" { value = \"${var.a}${var.b}${var.c}\" }\n";
    let mut inputs = inputs(module);
    inputs.vars = ["a", "b", "c"]
        .map(|name| (name.to_owned(), "0".to_owned()))
        .into();
    let file = |is_json, content: &str| VarFile {
        is_json,
        content: content.as_bytes().to_vec(),
        label: "a file".to_owned(),
    };
    inputs.var_files = vec![
        file(false, "b = \"1\"\nc = \"1\"\n"),
        file(true, "{\"c\": \"2\"}"),
    ];
    inputs.env = vec![("TF_VAR_a".to_owned(), "env".to_owned())];
    assert_eq!(world.converge(&inputs).await.outputs["all"].value, "012");
}

#[tokio::test]
async fn an_unknown_name_is_named() {
    let Some(world) = World::new().await else { return };
    let mut inputs = inputs(MODULE);
    inputs.vars = vec![("lsit".to_owned(), "x".to_owned())];
    let failure = world.open(&inputs).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::InvalidInput);
    assert!(
        failure.message.contains("lsit") && failure.message.contains("list"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn an_unknown_name_in_a_file_is_warned_of() {
    let Some(world) = World::new().await else { return };
    for is_json in [true, false] {
        let mut inputs = inputs("variable \"name\" {}\noutput \"name\" { value = var.name }\n");
        let content = match is_json {
            true => "{\"name\": \"a\", \"nmae\": \"b\"}",
            false => "name = \"a\"\nnmae = \"b\"\n",
        };
        inputs.var_files = vec![VarFile {
            is_json,
            content: content.as_bytes().to_vec(),
            label: "spec.forProvider.varFiles[0] (ConfigMap team/x, key k)".to_owned(),
        }];
        let mut session = world.open(&inputs).await.unwrap();
        let warnings = session.plan(Goal::Converge).await.unwrap().warnings;
        assert!(
            warnings.iter().any(|warning| warning.detail.contains("\"nmae\"")),
            "{warnings:?}"
        );
    }
}

#[tokio::test]
async fn nobody_sees_them_in_the_list_of_processes() {
    let Some(world) = World::new().await else { return };
    let mark = world.path("go").display().to_string();
    let module = format!(
        "variable \"secret\" {{ sensitive = true }}\nresource \"terraform_data\" \"x\" {{\n input = var.secret\n \
         provisioner \"local-exec\" {{ command = \"while [ ! -e {mark} ]; do sleep 0.01; done\" }}\n}}\n"
    );
    let mut inputs = inputs(&module);
    inputs.vars = vec![("secret".to_owned(), "hunter22-hunter22".to_owned())];
    let mut session = world.open(&inputs).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    let look = async {
        until("the command runs", || {
            !processes(&format!("! -e {mark}")).is_empty()
        })
        .await;
        let seen = processes("apply -json");
        let told = processes("hunter22-hunter22");
        std::fs::write(&mark, "").unwrap();
        (seen, told)
    };
    let (applied, (seen, told)) = tokio::join!(session.apply(), look);
    applied.unwrap();
    assert!(!seen.is_empty());
    assert_eq!(told, []);
    let secrets = session
        .heard()
        .into_iter()
        .any(|told| matches!(told, capt_runner::engine::Told::Secrets(_)));
    assert!(secrets);
}

#[tokio::test]
async fn ephemeral_ones_are_there_when_a_plan_is_applied() {
    let Some(world) = World::new().await else { return };
    let about = world.engine.about();
    let since = if about.kind == EngineKind::Tofu { 11 } else { 10 };
    let minor: u32 = about.version.split('.').nth(1).unwrap().parse().unwrap();
    if minor < since {
        eprintln!("SKIPPED: {about} has no ephemeral variables");
        return;
    }
    let module = "variable \"key\" {\n type = string\n ephemeral = true\n}\nvariable \"x\" {}\nresource \"terraform_data\" \
                  \"x\" {\n input = var.x\n}\n";
    let mut inputs = inputs(module);
    inputs.vars = [("key", "k"), ("x", "y")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    assert_eq!(world.converge(&inputs).await.managed().count(), 1);
}
