//! Asks the linker of a release for a small program.
//!
//! Pages of the program count as memory of whoever runs it, and there are processes that have little else. Two things make
//! it smaller: functions of which there are several are kept once (what is generic is compiled for every type that it is used
//! with, and often comes out the same), and what is adjusted at the start is listed in a tenth of the room. Neither every
//! linker nor every system can do that: each is tried on a program of one line, and left out where that does not link or run.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What is asked for, if it can be had. Rust's own linker for Linux and others can, with a C library that is not old.
const WISHES: [&str; 2] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo tries again by itself when its flags change, and not when its linker does.
    let target = env::var("TARGET").unwrap_or_default();
    let target = target.to_uppercase().replace('-', "_");
    println!("cargo::rerun-if-env-changed=CARGO_TARGET_{target}_LINKER");
    println!("cargo::rerun-if-changed=../../.cargo/config.toml");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    for wish in WISHES.iter().filter(|_| is_release) {
        if is_granted(wish).unwrap_or(false) {
            println!("cargo::rustc-link-arg-bins={wish}");
        }
    }
}

/// Whether the linker of this build takes an argument, and a program that it made with it runs. What is made for another
/// system cannot be tried, and does without.
fn is_granted(wish: &str) -> io::Result<bool> {
    let place = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let (source, program) = (place.join("one_line.rs"), place.join("one_line"));
    fs::write(&source, "fn main() {}\n")?;
    Ok(quietly(compile(&source, &program, wish))? && quietly(Command::new(&program))?)
}

/// Compiles a program as cargo will compile ours.
fn compile(source: &Path, program: &Path, wish: &str) -> Command {
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command
        .arg(source)
        .arg("-o")
        .arg(program)
        .arg("--cap-lints=allow");
    if let Some(target) = env::var_os("TARGET") {
        command.arg("--target").arg(target);
    }
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        command.arg(format!("-Clinker={linker}"));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    command.arg(format!("-Clink-arg={wish}"));
    command
}

/// Whether a command succeeds. What it says otherwise is an answer, and no news for people.
fn quietly(mut command: Command) -> io::Result<bool> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(status.success())
}
