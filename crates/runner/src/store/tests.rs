//! State and locks in a world.

mod locks;
mod provider_lock;
mod states;

use std::{collections::BTreeMap, sync::Arc};

use capt_terraform::state::Location;
use capt_testkit::World;
use serde_json::{Value, json};

use super::Place;
use crate::Clock;

fn place(world: &World) -> Place {
    Place {
        namespace: world.namespace().to_owned(),
        location: Location::new("prod-vpc", "capt").unwrap(),
        labels: BTreeMap::new(),
    }
}

fn clock(world: &World) -> Clock {
    let clock = world.clock();
    Arc::new(move || clock.now())
}

/// A state file with this serial and so many resources.
fn state(serial: u64, resources: usize) -> Vec<u8> {
    let resource = |at: usize| {
        json!({"mode": "managed", "type": "terraform_data", "name": format!("r{at}"), "instances": [
            {"attributes": {"id": at.to_string()}},
        ]})
    };
    let resources: Vec<Value> = (0..resources).map(resource).collect();
    file(serial, "11111111-2222-3333-4444-555555555555", &resources, "")
}

/// A state file that does not get smaller than `bytes` by compression.
fn large_state(serial: u64, bytes: usize) -> Vec<u8> {
    // Noise of a linear congruential generator, as hexadecimal digits: each byte of it compresses to a half.
    let mut seed = serial;
    let mut noise = String::with_capacity(bytes * 2 + 16);
    while noise.len() < bytes * 2 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        noise.push_str(&format!("{:08x}", seed >> 32));
    }
    file(serial, "11111111-2222-3333-4444-555555555555", &[], &noise)
}

fn file(serial: u64, lineage: &str, resources: &[Value], noise: &str) -> Vec<u8> {
    let file = json!({
        "version": 4,
        "terraform_version": "1.11.4",
        "serial": serial,
        "lineage": lineage,
        "outputs": {"noise": {"value": noise, "type": "string"}},
        "resources": resources,
    });
    file.to_string().into_bytes()
}
