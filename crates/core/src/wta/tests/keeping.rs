//! What is kept of a rendering, and when it is packed.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use super::{
    super::kept::{Kept, PACKED},
    *,
};

fn packed() -> usize {
    PACKED.with(std::cell::Cell::get)
}

fn is_rendering(child: &&Desired) -> bool {
    child.target.name.ends_with("-rendering")
}

#[test]
fn a_kept_rendering_survives_its_secret() {
    let kept = Kept {
        rendering: rendered("r1"),
        was_ready: true,
        ..Kept::default()
    };
    assert_eq!(Kept::from_bytes(&kept.to_bytes()), Some(kept));
    assert_eq!(Kept::from_bytes(b"something else"), None);
}

#[test]
fn a_rendering_is_packed_only_to_be_written() {
    let mut world = World::new(fresh());
    let before = packed();
    let mut beside = Vec::new();
    for _ in 0..20 {
        let decision = world.step();
        let written = decision.children.iter().filter(is_rendering);
        beside.extend(written.map(|child| child.is_beside));
        assert_eq!(packed() - before, beside.len());
        if decision.is_quiet() {
            world.run();
        }
    }
    // Before the Workspace was made, which waits for it, and when it was ready, which does not.
    assert_eq!(beside, [false, true]);
    assert!(world.decide().is_quiet());
    assert_eq!(packed() - before, beside.len());
}

#[test]
fn what_is_packed_otherwise_is_read_and_not_written_again() {
    let mut world = living();
    let seen = world.snapshot.kept.clone().expect("a kept rendering");
    let text = serde_json::to_vec(&seen.kept).expect("text");
    let before = packed();
    for level in [Compression::none(), Compression::default(), Compression::best()] {
        let mut encoder = GzEncoder::new(Vec::new(), level);
        encoder.write_all(&text).expect("in memory");
        let kept = Kept::from_bytes(&encoder.finish().expect("in memory"));
        assert_eq!(kept, seen.kept);
        world.snapshot.kept.as_mut().expect("a kept rendering").kept = kept;
        assert!(world.decide().is_quiet(), "{level:?}");
    }
    assert_eq!(packed(), before);
}
