//! The `capt` binary: argument parsing and wiring, no logic.

mod access;
mod args;
mod cmd;
mod data_dir;
mod listen;
mod look;
mod objects;
mod output;
mod ports;
mod report;
mod target;

use std::{ffi::OsString, io::IsTerminal, process::ExitCode};

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

/// Many small objects come and go at once, and then nothing happens for hours: this one gives back what it does not need.
/// How soon is said where it is built, in `.cargo/config.toml`.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Cluster API Provider Terraform: EKS clusters from Terraform modules, as ordinary Kubernetes objects.
#[derive(Parser)]
#[command(name = "capt", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Examples:
  # Start here: a Kubernetes API with capt's kinds, its controllers, and Terraform, on this machine
  capt up

  # What is going on, and what it waits for
  capt get
  capt tree cluster/NAME

  # What would change, without changing it
  capt plan wtapply/NAME

  # Install capt's CRDs on a cluster
  capt manifests crds | kubectl apply --server-side -f -

Run `capt help COMMAND` for what a command does and which options it takes.")]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// What to log to stderr, such as `debug` or `warn,apiary=trace` [default: $RUST_LOG, else info]
    #[arg(long, global = true, value_name = "FILTER", value_parser = args::log_filter)]
    log: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    Up(cmd::up::Args),
    Get(cmd::get::Args),
    Describe(cmd::describe::Args),
    Tree(cmd::tree::Args),
    Kubeconfig(cmd::kubeconfig::Args),
    Plan(cmd::plan::Args),
    Logs(cmd::logs::Args),
    Approve(cmd::approve::Args),
    Retry(cmd::retry::Args),
    Migrate(cmd::migrate::Args),
    Controller(cmd::controller::Args),
    Runner(cmd::runner::Args),
    Manifests(cmd::manifests::Args),
    /// Watch over one process of Terraform; started by the runner, not by people
    #[command(hide = true, disable_help_flag = true)]
    Supervise {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Print the version
    Version,
}

impl Command {
    /// What is logged where nobody says it. What fails on the way to a cluster is told once, by whoever asked or watches, and
    /// a picture that is drawn anew all the time leaves no room for more than warnings.
    fn log(&self) -> &'static str {
        match self {
            Self::Up(args) if args.demo => "warn,kube_client=off,kube_runtime=off",
            _ => "info,kube_client=off,kube_runtime=off",
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log(cli.log.as_deref(), cli.command.log());
    let done = match cli.command {
        Command::Up(args) => cmd::up::run(args),
        Command::Get(args) => cmd::ask(cmd::get::run(args)),
        Command::Describe(args) => cmd::ask(cmd::describe::run(args)),
        Command::Tree(args) => cmd::ask(cmd::tree::run(args)),
        Command::Kubeconfig(args) => cmd::ask(cmd::kubeconfig::run(args)),
        Command::Plan(args) => cmd::ask(cmd::plan::run(args)),
        Command::Logs(args) => cmd::ask(cmd::logs::run(args)),
        Command::Approve(args) => cmd::ask(cmd::approve::run(args)),
        Command::Retry(args) => cmd::ask(cmd::retry::run(args)),
        Command::Migrate(args) => cmd::ask(cmd::migrate::run(args)),
        Command::Controller(args) => cmd::controller::run(args),
        Command::Runner(args) => cmd::runner::run(args),
        Command::Supervise { args } => Ok(capt_runner::process::supervise::main(args)),
        Command::Manifests(args) => cmd::manifests::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Version => {
            cmd::print(concat!("capt ", env!("CARGO_PKG_VERSION"), "\n")).map(|()| ExitCode::SUCCESS)
        }
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprint!("{}", report::render(&error));
            ExitCode::FAILURE
        }
    }
}

/// The log goes to stderr, so that stdout has only what a script may read.
fn start_log(filter: Option<&str>, usual: &str) {
    let filter = match filter {
        Some(filter) => EnvFilter::new(filter),
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(usual)),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }

    /// A command that is broken in two cannot be pasted, and a paragraph that is broken by hand is broken once more where it
    /// does not fit.
    #[test]
    fn help_leaves_commands_whole_and_paragraphs_to_the_terminal() {
        fn check(command: &Command) {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            let mut before = "";
            for line in help.lines() {
                assert!(is_prose(line) || line.chars().count() <= 100, "{name}: {line}");
                assert!(!is_prose(before) || !is_prose(line), "{name}: {before}\n{line}");
                before = line;
            }
            command.get_subcommands().for_each(check);
        }
        check(&super::Cli::command());
    }

    /// Options of a command's own come before those that others share, whose headings would take them in.
    #[test]
    fn headings_have_what_belongs_to_them() {
        for command in super::Cli::command().get_subcommands() {
            let of_clusters = command
                .get_arguments()
                .filter(|argument| argument.get_help_heading() == Some("Cluster"));
            for argument in of_clusters {
                let name = argument.get_id().as_str();
                let expected = ["kubeconfig", "context", "namespace"];
                assert!(expected.contains(&name), "{}: {name}", command.get_name());
            }
        }
    }
}
