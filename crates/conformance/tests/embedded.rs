//! The embedded server answers as the real one did when its answers were recorded.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use apiary::{ApiServer, Options};
use apiary_conformance::{Allowed, Player, Scenario, golden, judge};

/// Every scenario that needs no kubectl, each on a server of its own so that one failure says nothing of the others.
#[tokio::test(start_paused = true)]
async fn the_embedded_server_answers_as_the_real_one() {
    let folder = folder();
    let allowed = Allowed::read(&folder.join("allowed.yaml")).unwrap();
    let mut report = String::new();
    for scenario in Scenario::read_all(&folder.join("scenarios")).unwrap() {
        if scenario.needs_kubectl() {
            continue;
        }
        let server = ApiServer::open(Options::default()).await.unwrap();
        let player = Player::new(kube::Client::new(server.router(), "default"), None);
        let expected = golden::read(&folder.join("golden"), &scenario.name).unwrap();
        let actual = player.play(&scenario).await.unwrap();
        for finding in judge(&scenario.name, &expected, &actual, &allowed).findings {
            writeln!(report, "{} / {}", scenario.name, finding.step).unwrap();
            for difference in finding.differences {
                writeln!(report, "  {difference}").unwrap();
            }
        }
        server.shutdown().await;
    }
    assert!(report.is_empty(), "{report}");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}
