use futures::future::BoxFuture;

use super::*;
use crate::engine::{About, Inputs, Link, Opened};

struct Named(EngineKind);

impl Engine for Named {
    fn about(&self) -> About {
        About {
            kind: self.0,
            version: "1.9.0".to_owned(),
        }
    }

    fn open(&self, _: Inputs, _: Link) -> BoxFuture<'_, Result<Opened, Failure>> {
        unreachable!("nothing is run here")
    }

    fn forget(&self, _: &str) -> BoxFuture<'_, ()> {
        unreachable!("nothing is run here")
    }
}

/// A machine on which these programs are, and `old` is one that is too old.
async fn chosen(wanted: Wanted, path: Option<&str>, programs: &[&str]) -> Result<Choice, ChoiceError> {
    let wish = Wish {
        engine: wanted,
        path: path.map(PathBuf::from),
    };
    choose(
        &wish,
        Arc::new(Named(EngineKind::Simulated)),
        async |program: PathBuf| {
            let name = program.to_string_lossy().into_owned();
            let failure = |kind, message: &str| Failure {
                kind,
                message: message.to_owned(),
                ..not_looked_for()
            };
            if programs.contains(&format!("old {name}").as_str()) {
                return Err(failure(FailureKind::EngineTooOld, "terraform 1.4.0 is too old"));
            }
            if !programs.contains(&name.as_str()) {
                return Err(failure(FailureKind::EngineMissing, "there is no such program"));
            }
            let kind = if name.ends_with("tofu") {
                EngineKind::Tofu
            } else {
                EngineKind::Terraform
            };
            let engine: Arc<dyn Engine> = Arc::new(Named(kind));
            Ok(engine)
        },
    )
    .await
}

#[tokio::test]
async fn the_engine_is_what_is_there_and_a_simulation_comes_last() {
    use EngineKind::{Simulated, Terraform, Tofu};
    let missing = Err(FailureKind::EngineMissing);
    let old = Err(FailureKind::EngineTooOld);
    for (wanted, path, programs, sandbox, other, why) in [
        (
            Wanted::Auto,
            None,
            &["terraform", "tofu"][..],
            Ok(Terraform),
            Ok(Terraform),
            "terraform 1.9.0, from PATH",
        ),
        (
            Wanted::Auto,
            None,
            &["tofu"],
            Ok(Tofu),
            Ok(Tofu),
            "since terraform cannot be used",
        ),
        (
            Wanted::Auto,
            None,
            &["old terraform", "tofu"],
            Ok(Tofu),
            Ok(Tofu),
            "tofu 1.9.0",
        ),
        (
            Wanted::Auto,
            None,
            &[],
            Ok(Simulated),
            missing,
            "neither terraform nor tofu is in PATH",
        ),
        (
            Wanted::Auto,
            None,
            &["old terraform"],
            Ok(Simulated),
            old,
            "too old",
        ),
        (
            Wanted::Auto,
            Some("/opt/tofu"),
            &["/opt/tofu", "terraform"],
            Ok(Tofu),
            Ok(Tofu),
            "from /opt/tofu",
        ),
        (
            Wanted::Tofu,
            None,
            &["terraform", "tofu"],
            Ok(Tofu),
            Ok(Tofu),
            "tofu 1.9.0, from PATH",
        ),
        (
            Wanted::Terraform,
            Some("/opt/terraform"),
            &["/opt/terraform"],
            Ok(Terraform),
            Ok(Terraform),
            "/opt",
        ),
        (
            Wanted::Simulated,
            None,
            &["terraform"],
            Ok(Simulated),
            Ok(Simulated),
            "nothing real is made",
        ),
    ] {
        let choice = chosen(wanted, path, programs).await.unwrap();
        let case = format!("{wanted} {path:?} {programs:?}");
        let engine = |is_sandbox| {
            let engine = choice.for_workspace(is_sandbox);
            engine
                .map(|engine| engine.about().kind)
                .map_err(|failure| failure.kind)
        };
        assert_eq!(engine(true), sandbox, "{case}");
        assert_eq!(engine(false), other, "{case}");
        assert!(choice.why().contains(why), "{case}: {}", choice.why());
    }
}

#[tokio::test]
async fn what_is_asked_for_by_name_must_be_there() {
    for (wanted, path, programs, expected) in [
        (
            Wanted::Terraform,
            None,
            &["tofu"][..],
            "--engine terraform cannot be had",
        ),
        (Wanted::Tofu, None, &["terraform"], "--engine tofu cannot be had"),
        (
            Wanted::Auto,
            Some("/opt/none"),
            &["terraform"],
            "--engine-path /opt/none cannot be used",
        ),
        (
            Wanted::Terraform,
            Some("/opt/tofu"),
            &["/opt/tofu"],
            "is tofu 1.9.0 and not terraform",
        ),
        (
            Wanted::Simulated,
            Some("/opt/tofu"),
            &["/opt/tofu"],
            "leave --engine-path out",
        ),
    ] {
        let error = chosen(wanted, path, programs).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{wanted} {path:?}: {error}");
    }
}

#[tokio::test]
async fn who_gets_no_engine_is_told_what_to_do() {
    let choice = chosen(Wanted::Auto, None, &[]).await.unwrap();
    let failure = choice.for_workspace(false).err().unwrap();
    assert!(
        failure
            .message
            .ends_with("or name it with --engine-path, and start the runner anew"),
        "{failure}"
    );
}

#[test]
fn words_are_read_back() {
    for wanted in Wanted::ALL {
        assert_eq!(wanted.as_str().parse(), Ok(wanted));
    }
    assert!("terrform".parse::<Wanted>().is_err());
}
