//! The real Terraform: attacks in its own language, and what has to go on as ever.

use std::{fs, os::unix::fs::symlink};

use capt_runner::{
    engine::{FailureKind, Goal, Inputs, Module},
    sandbox::SandboxMode,
};
use capt_terraform::state::State;

use super::{OTHER, landlock, victims, world};
use crate::support::{inputs, inputs_of, processes, program};

#[tokio::test]
async fn a_module_comes_from_an_allowed_path_only() {
    let Some(program) = program() else { return };
    for (mode, is_allowed) in [(SandboxMode::Off, true), (SandboxMode::Auto, false)] {
        let world = world(Some(&program), mode).await;
        let secret = world.folder.path().join("modules/vpc");
        let open = world.path("vpc");
        for folder in [&secret, &open] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("main.tf"), "resource \"terraform_data\" \"x\" {}\n").unwrap();
        }
        symlink(&secret, world.path("linked")).unwrap();
        let remote = |address: String| Inputs {
            uid: uuid::Uuid::new_v4().to_string(),
            ..inputs_of(Module::Remote {
                address,
                if_not_present: false,
            })
        };
        let open = remote(open.display().to_string());
        assert_eq!(world.converge(&open).await.managed().count(), 1);
        let linked = world.path("linked");
        for address in [
            secret.display().to_string(),
            format!("file://{}", secret.display()),
            linked.display().to_string(),
        ] {
            let opened = world.open(&remote(address.clone())).await;
            match is_allowed {
                true => assert!(opened.is_ok(), "{address}"),
                false => {
                    let failure = opened.err().unwrap();
                    assert_eq!(failure.kind, FailureKind::InvalidInput, "{address}");
                    assert!(failure.message.contains("--sandbox-allow"), "{}", failure.message);
                }
            }
        }
        // What a module calls is fetched by Terraform itself.
        let call = format!("module \"x\" {{\n source = \"{}\"\n}}\n", secret.display());
        assert_eq!(world.open(&inputs(&call)).await.is_ok(), is_allowed);
    }
}

#[tokio::test]
async fn terraform_reads_nothing_of_others() {
    let (Some(program), Some(_)) = (program(), landlock()) else {
        return;
    };
    for (mode, is_taken) in [(SandboxMode::Off, true), (SandboxMode::Auto, false)] {
        let world = world(Some(&program), mode).await;
        let secret = victims(&world);
        fs::write(world.folder.path().join("template"), "hunter2 ${x}").unwrap();
        let (secret, folder) = (secret.display(), world.folder.path().display());
        let other = format!("{folder}/root/{OTHER}");
        let runner = std::process::id();
        let module = format!(
            "output \"file\" {{ value = try(file(\"{secret}\"), \"denied\") }}
            output \"state\" {{ value = try(file(\"{other}/state/x/terraform.tfstate\"), \"denied\") }}
            output \"template\" {{ value = try(templatefile(\"{folder}/template\", {{ x = 1 }}), \"denied\") }}
            output \"files\" {{ value = try(join(\",\", fileset(\"{other}/src\", \"*\")), \"denied\") }}
            output \"environment\" {{ value = try(filebase64(\"/proc/{runner}/cmdline\"), \"denied\") }}
            resource \"terraform_data\" \"x\" {{
              provisioner \"local-exec\" {{
                command = \"cat {secret} /proc/{runner}/environ; echo x > {other}/src/new; \
             echo x > {folder}/root/plugin-cache/x; kill -0 {runner} && echo KILLED; true\"
              }}
            }}"
        );
        let mut session = world.open(&inputs(&module)).await.unwrap();
        session.plan(Goal::Converge).await.unwrap();
        let applied = session.apply().await.unwrap();
        let outputs = State::parse(&applied.state).unwrap().outputs;
        for (name, value) in &outputs {
            let value = value.value.as_str().unwrap();
            let is_nothing = value.is_empty() || value == "denied";
            assert_eq!(!is_nothing, is_taken, "{name}: {value}");
        }
        let heard = format!("{:?}", session.heard());
        assert_eq!(heard.contains("hunter2"), is_taken, "{heard}");
        assert_eq!(world.root().join(OTHER).join("src/new").exists(), is_taken);
        assert_eq!(world.root().join("plugin-cache/x").exists(), is_taken);
        drop(session);
        let mut session = world.open(&inputs(&module)).await.unwrap();
        session.plan(Goal::Destroy).await.unwrap();
        session.apply().await.unwrap();
    }
}

#[tokio::test]
async fn terraform_runs_provisioners_and_finds_names() {
    let Some(program) = program() else { return };
    let world = world(Some(&program), SandboxMode::Auto).await;
    let module = "resource \"terraform_data\" \"x\" {
      provisioner \"local-exec\" {
        command = \"echo from-sh; git --version; getent hosts localhost; mktemp; cat <&0 | wc -c\"
      }
      provisioner \"local-exec\" {
        interpreter = [\"/bin/sh\", \"-c\"]
        command = \"echo when-destroyed > destroyed\"
        when = destroy
      }
    }
    output \"own\" { value = file(\"${path.module}/main.tf\") }";
    let mut session = world.open(&inputs(module)).await.unwrap();
    session.plan(Goal::Converge).await.unwrap();
    session.apply().await.unwrap();
    let heard = format!("{:?}", session.heard());
    for expected in ["from-sh", "git version", "localhost", "/tmp/tmp."] {
        assert!(heard.contains(expected), "{expected}: {heard}");
    }
    session.plan(Goal::Destroy).await.unwrap();
    session.apply().await.unwrap();
    let destroyed = world.root().join(inputs("").uid).join("src/destroyed");
    assert!(destroyed.exists());
    assert_eq!(processes(&world.folder.path().display().to_string()), []);
}
