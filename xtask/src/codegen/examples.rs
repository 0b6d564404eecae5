//! Copies of Terraform modules in the examples.
//!
//! An example is written by hand, but for the modules in it: below a comment that names the folder of a module stands
//! `module: |`, and what follows is what is in the module's files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::Files;
use crate::workspace;

/// Examples with copies in them.
const EXAMPLES: &[&str] = &["examples/demo.yaml"];
/// The files of a module, in the order in which they stand in a copy.
const MODULE_FILES: &[&str] = &["variables.tf", "main.tf", "outputs.tf"];

pub(super) fn files() -> Result<Files> {
    EXAMPLES
        .iter()
        .map(|path| {
            let file = workspace::root().join(path);
            let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {path}"))?;
            Ok((PathBuf::from(path), renewed(&text, read_module)?.into_bytes()))
        })
        .collect()
}

fn read_module(folder: &str) -> Result<String> {
    let folder = workspace::root().join(Path::new(folder));
    let texts: Result<Vec<String>> = MODULE_FILES
        .iter()
        .map(|name| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        })
        .collect();
    Ok(texts?.join("\n"))
}

/// The example with every copy renewed.
fn renewed(example: &str, read: impl Fn(&str) -> Result<String>) -> Result<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut text = String::new();
    let mut lines = example.lines().peekable();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(folder) = line.trim_start().strip_prefix("# terraform/") else {
            continue;
        };
        let head = lines.next().unwrap_or_default();
        ensure!(
            head.trim() == "module: |",
            "below {:?} there must be `module: |`",
            line.trim()
        );
        text.push_str(head);
        text.push('\n');
        while lines
            .next_if(|line| line.trim().is_empty() || indent(line) > indent(head))
            .is_some()
        {}
        let margin = " ".repeat(indent(head) + 2);
        for line in read(&format!("terraform/{folder}"))?.lines() {
            if !line.trim().is_empty() {
                text.push_str(&margin);
                text.push_str(line);
            }
            text.push('\n');
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_renewed_and_the_rest_stays() {
        let example = "a: 1\nb:\n  # terraform/x\n  module: |\n    old\n\n      older\n  after: 2\n";
        let new = "a: 1\nb:\n  # terraform/x\n  module: |\n    new {\n\n    }\n  after: 2\n";
        let read = |folder: &str| {
            assert_eq!(folder, "terraform/x");
            Ok("new {\n\n}\n".to_owned())
        };
        assert_eq!(renewed(example, read).unwrap(), new);
        assert_eq!(renewed(new, read).unwrap(), new);
        assert!(renewed("# terraform/x\nmodul: |\n", read).is_err());
    }
}
