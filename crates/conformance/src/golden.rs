//! Recorded answers of the real server, one file per scenario.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::player::Recorded;

/// Why recorded answers cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The file cannot be read.
    #[error("cannot read {}; `cargo xtask conformance --record` writes it", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// The file cannot be written.
    #[error("cannot write {}", .0.display())]
    Write(PathBuf, #[source] std::io::Error),
    /// The file holds no recorded answers.
    #[error("{} holds no recorded answers", .0.display())]
    Shape(PathBuf, #[source] serde_json::Error),
}

/// Where the answers to a scenario are kept.
pub fn path(folder: &Path, scenario: &str) -> PathBuf {
    folder.join(format!("{scenario}.json"))
}

/// Reads the answers to a scenario.
pub fn read(folder: &Path, scenario: &str) -> Result<Vec<Recorded>, GoldenError> {
    let path = path(folder, scenario);
    let text = std::fs::read_to_string(&path).map_err(|error| GoldenError::Read(path.clone(), error))?;
    serde_json::from_str(&text).map_err(|error| GoldenError::Shape(path, error))
}

/// Writes the answers to a scenario.
pub fn write(folder: &Path, scenario: &str, answers: &[Recorded]) -> Result<(), GoldenError> {
    let path = path(folder, scenario);
    let answers: Vec<Value> = answers
        .iter()
        .map(|recorded| json!({"step": recorded.step, "answer": recorded.answer}))
        .collect();
    let text = format!("{:#}\n", Value::Array(answers));
    std::fs::write(&path, text).map_err(|error| GoldenError::Write(path, error))
}
