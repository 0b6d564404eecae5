//! `cargo xtask conformance`: plays the scenarios of `conformance/` against a real server and ours, and compares.

mod kinds;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use apiary_conformance::{Allowed, Kubectl, Player, Recorded, Scenario, golden};

use self::report::Report;
use crate::ours::{self, Company, Ours, Profile, Storage};
use crate::realkube::{self, RealKube};
use crate::{peers, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Play only the scenarios whose names contain one of these texts.
    names: Vec<String>,
    /// Play against the real server only, and keep its answers in `conformance/golden`.
    #[arg(long, conflicts_with_all = ["golden", "ours"])]
    record: bool,
    /// Compare with the kept answers instead of with a running real server.
    #[arg(long, conflicts_with = "real")]
    golden: bool,
    /// The kubeconfig of a real server that is running already; it must be fresh.
    #[arg(long, value_name = "KUBECONFIG")]
    real: Option<PathBuf>,
    /// The kubeconfig of a server under test that is running already; it must be fresh.
    #[arg(long, value_name = "KUBECONFIG")]
    ours: Option<PathBuf>,
    /// Print also the differences that are meant, with their reasons.
    #[arg(long)]
    all: bool,
}

/// A server to play against, started here or elsewhere.
struct Server<H> {
    player: Player,
    /// Keeps a server that was started here alive.
    _handle: Option<H>,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let folder = workspace::root().join("conformance");
    let scenarios = choose(&folder, args)?;
    peers::ensure_built(&["kubectl"])?;
    if args.record {
        return record(args, &folder, &scenarios).await;
    }
    let real = if args.golden {
        None
    } else {
        Some(real_server(args).await?)
    };
    let ours = our_server(args).await?;
    let allowed = Allowed::read(&folder.join("allowed.yaml"))?;
    let mut report = Report::new(&allowed, args.all);
    for scenario in &scenarios {
        let played = async { ours.player.play(scenario).await };
        let (expected, actual) = match &real {
            Some(real) => tokio::join!(play(real, scenario), played),
            None => (
                Ok(golden::read(&folder.join("golden"), &scenario.name)?),
                played.await,
            ),
        };
        let expected = expected?;
        kinds::check_refusals(scenario, &expected)?;
        report.scenario(scenario, &expected, actual);
    }
    report.finish(args.names.is_empty())
}

async fn record(args: &Args, folder: &Path, scenarios: &[Scenario]) -> anyhow::Result<()> {
    let real = real_server(args).await?;
    for scenario in scenarios {
        let answers = play(&real, scenario).await?;
        golden::write(&folder.join("golden"), &scenario.name, &answers)?;
        println!("recorded {} ({} answers)", scenario.name, answers.len());
    }
    Ok(())
}

async fn play<H>(server: &Server<H>, scenario: &Scenario) -> anyhow::Result<Vec<Recorded>> {
    server
        .player
        .play(scenario)
        .await
        .with_context(|| format!("playing {} against the real server", scenario.name))
}

fn choose(folder: &Path, args: &Args) -> anyhow::Result<Vec<Scenario>> {
    let mut scenarios = Scenario::read_all(&folder.join("scenarios"))?;
    if args.record || args.golden {
        println!(
            "the scenarios of capt's own kinds change with them and are compared with a running server only"
        );
    } else {
        scenarios.extend(kinds::scenarios(&workspace::root())?);
    }
    let names = &args.names;
    scenarios.retain(|scenario| names.is_empty() || names.iter().any(|name| scenario.name.contains(name)));
    ensure!(!scenarios.is_empty(), "no scenario has such a name");
    Ok(scenarios)
}

async fn real_server(args: &Args) -> anyhow::Result<Server<RealKube>> {
    let Some(kubeconfig) = &args.real else {
        peers::ensure_built(&["etcd", "kube-apiserver", "kube-controller-manager"])?;
        let real = RealKube::start(true).await?;
        let player = player(&real.kubeconfig(), real.folder()).await?;
        return Ok(Server {
            player,
            _handle: Some(real),
        });
    };
    Ok(Server {
        player: player(kubeconfig, &std::env::temp_dir()).await?,
        _handle: None,
    })
}

async fn our_server(args: &Args) -> anyhow::Result<Server<Ours>> {
    let Some(kubeconfig) = &args.ours else {
        let ours = Ours::start(&ours::build(Profile::Debug)?, Storage::Memory, Company::Nobody).await?;
        let player = player(&ours.kubeconfig(), ours.folder()).await?;
        return Ok(Server {
            player,
            _handle: Some(ours),
        });
    };
    Ok(Server {
        player: player(kubeconfig, &std::env::temp_dir()).await?,
        _handle: None,
    })
}

async fn player(kubeconfig: &Path, scratch: &Path) -> anyhow::Result<Player> {
    let home = scratch.join("home");
    std::fs::create_dir_all(&home)?;
    let kubectl = Kubectl {
        program: peers::binary("kubectl")?,
        kubeconfig: kubeconfig.into(),
        home,
    };
    Ok(Player::new(realkube::client(kubeconfig).await?, Some(kubectl)))
}
