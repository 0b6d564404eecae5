//! The embedded server answers as the real one did when its answers were recorded.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use apiary_conformance::{Allowed, Player, Scenario, golden, judge};
use capt_testkit::World;

/// Every scenario that needs no kubectl, each in a world of its own so that one failure says nothing of the others.
#[tokio::test]
async fn the_embedded_server_answers_as_the_real_one() {
    let folder = folder();
    let allowed = Allowed::read(&folder.join("allowed.yaml")).unwrap();
    let mut report = String::new();
    for scenario in Scenario::read_all(&folder.join("scenarios")).unwrap() {
        if scenario.needs_kubectl() {
            continue;
        }
        let world = World::builder().embedded_only().without_crds().start().await;
        let player = Player::new(world.client(), None);
        let expected = golden::read(&folder.join("golden"), &scenario.name).unwrap();
        let actual = player.play(&scenario).await.unwrap();
        for finding in judge(&scenario.name, &expected, &actual, &allowed).findings {
            writeln!(report, "{} / {}", scenario.name, finding.step).unwrap();
            for difference in finding.differences {
                writeln!(report, "  {difference}").unwrap();
            }
        }
        world.finish().await;
    }
    assert!(report.is_empty(), "{report}");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}
