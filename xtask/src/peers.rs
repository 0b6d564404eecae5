//! `cargo xtask peers`: builds the real programs that ours is compared with.
//!
//! Each peer comes from the Go module proxy, pinned by a `go.mod` and `go.sum` under `peers/` that hold no source.
//! A stamp next to each binary says what it was built from, so that only what is missing or outdated is built.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The peers to build; when none is named, all that the suites always need.
    names: Vec<String>,
    /// Print the peers, their versions and whether they are built, and build nothing.
    #[arg(long)]
    list: bool,
}

/// One program to build.
struct Peer {
    /// What the binary is called.
    name: &'static str,
    /// The folder under `peers/` whose `go.mod` pins it.
    module: &'static str,
    /// The Go package of its `main`.
    package: &'static str,
    /// The Go module that the package belongs to, to look its version up.
    source: &'static str,
    /// Variables to set at link time; `{version}` and `{minor}` stand for the pinned version.
    variables: &'static [&'static str],
    /// Whether it is built only when it is named, since most machines have one or never need it.
    on_request: bool,
}

/// Clients check the version that the server reports, so an unset one makes the server unusable.
const KUBERNETES_VERSION: &[&str] = &[
    "k8s.io/component-base/version.gitVersion={version}",
    "k8s.io/component-base/version.gitMajor=1",
    "k8s.io/component-base/version.gitMinor={minor}",
    "k8s.io/component-base/version.gitTreeState=clean",
];

const CLUSTER_API_VERSION: &[&str] = &[
    "sigs.k8s.io/cluster-api/version.gitVersion={version}",
    "sigs.k8s.io/cluster-api/version.gitMajor=1",
    "sigs.k8s.io/cluster-api/version.gitMinor={minor}",
    "sigs.k8s.io/cluster-api/version.gitTreeState=clean",
];

/// No flag of it changes where it serves metrics, and two of them on one machine would want the same port.
const PROVIDER_WITHOUT_METRICS: &[&str] =
    &["sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress=0"];

const PEERS: &[Peer] = &[
    Peer {
        name: "etcd",
        module: "etcd",
        package: "go.etcd.io/etcd/server/v3",
        source: "go.etcd.io/etcd/server/v3",
        variables: &[],
        on_request: false,
    },
    Peer {
        name: "kube-apiserver",
        module: "kubernetes",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
        source: "k8s.io/kubernetes",
        variables: KUBERNETES_VERSION,
        on_request: false,
    },
    Peer {
        name: "kube-controller-manager",
        module: "kubernetes",
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
        source: "k8s.io/kubernetes",
        variables: KUBERNETES_VERSION,
        on_request: false,
    },
    Peer {
        name: "kubectl",
        module: "kubernetes",
        package: "k8s.io/kubernetes/cmd/kubectl",
        source: "k8s.io/kubernetes",
        variables: KUBERNETES_VERSION,
        on_request: false,
    },
    Peer {
        name: "provider-terraform",
        module: "provider-terraform",
        package: "github.com/upbound/provider-terraform/cmd/provider",
        source: "github.com/upbound/provider-terraform",
        variables: PROVIDER_WITHOUT_METRICS,
        on_request: false,
    },
    Peer {
        name: "capi",
        module: "cluster-api",
        package: "sigs.k8s.io/cluster-api/core",
        source: "sigs.k8s.io/cluster-api",
        variables: CLUSTER_API_VERSION,
        on_request: false,
    },
    Peer {
        name: "clusterctl",
        module: "cluster-api",
        package: "sigs.k8s.io/cluster-api/cmd/clusterctl",
        source: "sigs.k8s.io/cluster-api",
        variables: CLUSTER_API_VERSION,
        on_request: false,
    },
    Peer {
        name: "tofu",
        module: "opentofu",
        package: "github.com/opentofu/opentofu/cmd/tofu",
        source: "github.com/opentofu/opentofu",
        // Otherwise it calls itself a development build.
        variables: &["github.com/opentofu/opentofu/version.dev=no"],
        on_request: true,
    },
];

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.list {
        for peer in PEERS {
            let state = if peer.is_built()? { "built" } else { "missing" };
            println!("{:<26}{:<10}{state}", peer.name, peer.version()?);
        }
        return Ok(());
    }
    for peer in choose(&args.names)? {
        peer.ensure_built()?;
    }
    println!("the peers are in {}", workspace::peers().display());
    Ok(())
}

/// The path of a peer's binary, which must have been built.
pub(crate) fn binary(name: &str) -> anyhow::Result<PathBuf> {
    let peer = find(name)?;
    ensure!(
        peer.binary().is_file(),
        "{name} is not built; run `cargo xtask peers {name}` first"
    );
    Ok(peer.binary())
}

/// Builds the named peers that are missing.
pub(crate) fn ensure_built(names: &[&str]) -> anyhow::Result<()> {
    names.iter().try_for_each(|name| find(name)?.ensure_built())
}

/// The version of a peer that `peers/` pins, such as `v1.36.3`.
pub(crate) fn version(name: &str) -> anyhow::Result<String> {
    find(name)?.version()
}

/// The folder of the Go module that a peer is built from, with everything in it that is not a program.
pub(crate) fn sources(name: &str) -> anyhow::Result<PathBuf> {
    let peer = find(name)?;
    require_go()?;
    let output = Command::new("go")
        .current_dir(peer.folder())
        .args(["mod", "download", "-json", peer.source])
        .output()
        .context("running go")?;
    ensure!(
        output.status.success(),
        "`go mod download {}` failed: {}",
        peer.source,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let facts: serde_json::Value = serde_json::from_slice(&output.stdout).context("reading what go says")?;
    let folder = facts.get("Dir").and_then(serde_json::Value::as_str);
    Ok(folder
        .with_context(|| format!("go names no folder for {}", peer.source))?
        .into())
}

fn choose(names: &[String]) -> anyhow::Result<Vec<&'static Peer>> {
    if names.is_empty() {
        return Ok(PEERS.iter().filter(|peer| !peer.on_request).collect());
    }
    names.iter().map(|name| find(name)).collect()
}

fn find(name: &str) -> anyhow::Result<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name).with_context(|| {
        let known: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
        format!("no peer is called {name:?}; there are {}", known.join(", "))
    })
}

impl Peer {
    fn folder(&self) -> PathBuf {
        workspace::root().join("peers").join(self.module)
    }

    fn binary(&self) -> PathBuf {
        workspace::peers().join(self.name)
    }

    fn stamp(&self) -> PathBuf {
        workspace::peers().join(format!("{}.stamp", self.name))
    }

    fn version(&self) -> anyhow::Result<String> {
        let path = self.folder().join("go.mod");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        text.lines()
            .filter_map(|line| {
                line.trim()
                    .trim_start_matches("require ")
                    .strip_prefix(self.source)
            })
            .find_map(|rest| rest.strip_prefix(' ')?.split_whitespace().next())
            .filter(|version| version.starts_with('v'))
            .map(str::to_owned)
            .with_context(|| format!("{} requires no {}", path.display(), self.source))
    }

    fn linker_flags(&self) -> anyhow::Result<String> {
        let version = self.version()?;
        let minor = version.split('.').nth(1).unwrap_or_default();
        let mut flags = String::from("-s -w");
        for variable in self.variables {
            write!(
                flags,
                " -X {}",
                variable.replace("{version}", &version).replace("{minor}", minor)
            )?;
        }
        Ok(flags)
    }

    /// A hash of everything that decides what the binary is.
    fn recipe(&self) -> anyhow::Result<String> {
        let mut hash = Sha256::new();
        for file in ["go.mod", "go.sum"] {
            let path = self.folder().join(file);
            hash.update(fs::read(&path).with_context(|| format!("reading {}", path.display()))?);
        }
        hash.update(self.package);
        hash.update(self.linker_flags()?);
        Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }

    fn is_built(&self) -> anyhow::Result<bool> {
        let stamp = fs::read_to_string(self.stamp()).unwrap_or_default();
        Ok(self.binary().is_file() && stamp.trim() == self.recipe()?)
    }

    fn ensure_built(&self) -> anyhow::Result<()> {
        let version = self.version()?;
        if self.is_built()? {
            println!("{} {version} is built", self.name);
            return Ok(());
        }
        require_go()?;
        println!("building {} {version} …", self.name);
        let started = Instant::now();
        fs::create_dir_all(workspace::peers())?;
        // The build goes to a second name first, so that an interrupted one leaves no half-written binary.
        let unfinished = self.binary().with_extension("unfinished");
        self.build(&unfinished)?;
        fs::rename(&unfinished, self.binary())?;
        fs::write(self.stamp(), self.recipe()?)?;
        println!(
            "built {} {version} in {} s",
            self.name,
            started.elapsed().as_secs()
        );
        Ok(())
    }

    fn build(&self, output: &Path) -> anyhow::Result<()> {
        let status = Command::new("go")
            .current_dir(self.folder())
            .env("CGO_ENABLED", "0")
            .args([
                "build",
                "-mod=readonly",
                "-trimpath",
                "-buildvcs=false",
                "-ldflags",
            ])
            .arg(self.linker_flags()?)
            .arg("-o")
            .arg(output)
            .arg(self.package)
            .status()
            .context("running go")?;
        ensure!(
            status.success(),
            "`go build {}` failed in {}",
            self.package,
            self.folder().display()
        );
        Ok(())
    }
}

fn require_go() -> anyhow::Result<()> {
    match Command::new("go").arg("version").output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => bail!("`go version` failed: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => Err(error).context(
            "the peers are written in Go, and `go` is not on the PATH: install Go 1.26 or newer, then run this again",
        ),
    }
}
