//! Answers for programs.

use serde::Serialize;

use crate::cmd::print;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// How an answer is written, if not for people.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Output {
    /// Print the answer for programs
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<Format>,
}

impl Output {
    /// Prints an answer: in words, or as data.
    pub(crate) fn answer<T: Serialize>(self, data: &T, words: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self.format {
            None => print(&words()),
            Some(Format::Json) => print(&(serde_json::to_string_pretty(data)? + "\n")),
            Some(Format::Yaml) => print(&serde_saphyr::to_string(data)?),
        }
    }
}
