//! A server, and those who make clusters on it.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{
    Args,
    counts::Counts,
    fleet::{self, Times},
    processes::{Place, Program, Workers},
    server::{Server, Which},
};
use crate::bench::{connection::Target, memory, processes as cost};
use crate::objects::Objects;
use crate::ours::Company;
use crate::realkube;

/// Statistics of operations are written some time after the last one, and what was kept in case that it goes on is given back.
const SETTLING: Duration = Duration::from_secs(30);

/// A server with templates on it, and those who make clusters of what people write.
pub(super) struct World {
    server: Server,
    pub(super) target: Target,
    pub(super) objects: Objects,
    workers: Workers,
}

/// What many clusters at once cost.
pub(super) struct Load {
    /// Until all were ready.
    pub(super) time: Duration,
    pub(super) counted: Counts,
    /// Memory in MiB, of the controllers, or of everything where that is one process: all of it, without pages of files,
    /// and at most.
    pub(super) resident: f64,
    pub(super) own: f64,
    pub(super) peak: f64,
    pub(super) cpu: Cpu,
}

/// Time on a processor.
pub(super) enum Cpu {
    /// Of everything.
    One(Duration),
    /// Of processes of their own.
    Apart {
        controllers: Duration,
        runner: Duration,
        server: Duration,
    },
}

impl Cpu {
    /// Of all of them.
    pub(super) fn all(&self) -> Duration {
        match self {
            Self::One(all) => *all,
            Self::Apart {
                controllers,
                runner,
                server,
            } => *controllers + *runner + *server,
        }
    }
}

impl World {
    /// Starts everything.
    pub(super) async fn begin(args: &Args, binary: &Path) -> anyhow::Result<Self> {
        let company = match args.server {
            Which::Embedded => Company::Simulation {
                parallelism: args.concurrency,
            },
            Which::Apart | Which::Real => Company::Nobody,
        };
        let server = Server::start(args.server, binary, company).await?;
        let target = server.target().await?;
        fleet::templates(&target).await?;
        let kubeconfig = server.kubeconfig();
        let place = Place {
            binary,
            kubeconfig: &kubeconfig,
            folder: server.folder(),
        };
        let workers = match args.server {
            Which::Embedded => Workers::Inside,
            Which::Apart | Which::Real => Workers::Apart {
                controllers: Program::controllers(&place, args.concurrency)?,
                runner: Program::runner(&place, args.concurrency)?,
            },
        };
        let objects = Objects {
            client: realkube::client(&kubeconfig).await?,
        };
        Ok(Self {
            server,
            target,
            objects,
            workers,
        })
    }

    /// Makes so many clusters at once.
    pub(super) async fn load(&mut self, args: &Args, clusters: usize) -> anyhow::Result<Load> {
        let (times, watches) = Times::watch(&self.objects, false);
        // Whatever is done once is no part of what is measured.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let before = Counts::of(&self.target).await?;
        let server_before = self.server.cpu();
        let started = Instant::now();
        let (made, last) = tokio::join!(
            fleet::make(&self.target, args.concurrency, 0..clusters),
            times.all_ready(0..clusters)
        );
        made?;
        let time = last?.saturating_duration_since(started);
        tokio::time::sleep(SETTLING).await;
        self.workers.check_alive()?;
        drop(watches);
        let server = self.server.cpu().saturating_sub(server_before);
        let (cpu, pids) = match &self.workers {
            Workers::Inside => (Cpu::One(server), self.server.pids()),
            Workers::Apart { controllers, runner } => {
                let cpu = Cpu::Apart {
                    controllers: cost::cpu(controllers.pid()),
                    runner: cost::cpu(runner.pid()),
                    server,
                };
                (cpu, vec![controllers.pid()])
            }
        };
        let sum = |memory: fn(u32) -> Option<f64>| pids.iter().filter_map(|pid| memory(*pid)).sum();
        Ok(Load {
            time,
            counted: Counts::of(&self.target).await?.since(&before),
            resident: memory::resident(&pids).unwrap_or_default(),
            own: sum(memory::own),
            peak: sum(memory::peak),
            cpu,
        })
    }
}
