//! Where a value stands that Terraform does not like. The files that it is told in have names of ours, which mean nothing to
//! whoever wrote the value.

use std::path::Path;

use capt_terraform::stream::Diagnostic;

use crate::{engine::Inputs, folder::Folder};

use super::place;

/// How Terraform calls a value that no variable takes.
const UNDECLARED: &str = "Value for undeclared variable";

/// What the files with variables are for those who wrote them, by their names; nothing for the one with `vars`.
pub(super) struct Blame(Vec<(String, Option<String>)>);

impl Blame {
    pub(super) fn new(inputs: &Inputs) -> Self {
        let text = (!inputs.vars.is_empty()).then_some(None);
        let labels = inputs.var_files.iter().map(|file| Some(file.label.clone()));
        let names = place::var_files(inputs).into_iter();
        Self(names.zip(text.into_iter().chain(labels)).collect())
    }

    /// Says it of those that are about such a file, with the folder that Terraform ran in.
    pub(super) fn put(&self, folder: &Folder, run_in: &Path, said: &mut [Diagnostic]) {
        for diagnostic in said {
            self.put_in_words(diagnostic);
            let Some(range) = &mut diagnostic.range else {
                continue;
            };
            let Some((name, label)) = self.0.iter().find(|(name, _)| *name == range.filename) else {
                continue;
            };
            match label {
                Some(label) => range.filename.clone_from(label),
                None => {
                    let file = folder.read(run_in.join(name)).ok().flatten().unwrap_or_default();
                    let file = String::from_utf8_lossy(&file);
                    let variable =
                        variable_at(&file, usize::try_from(range.start.line).unwrap_or(usize::MAX));
                    let variable = variable.map_or_else(String::new, |name| format!(", variable {name}"));
                    diagnostic
                        .summary
                        .push_str(&format!(" at spec.forProvider.vars{variable}"));
                    diagnostic.range = None;
                }
            }
        }
    }
}

impl Blame {
    /// Says it of those that name such a file in their words.
    fn put_in_words(&self, diagnostic: &mut Diagnostic) {
        for (name, label) in &self.0 {
            if !diagnostic.detail.contains(name) {
                continue;
            }
            let label = label.as_deref().unwrap_or("spec.forProvider.vars");
            let variable = diagnostic.summary.starts_with(UNDECLARED);
            diagnostic.detail = match quoted(&diagnostic.detail).filter(|_| variable) {
                // What Terraform advises is for people who run it in a shell.
                Some(variable) => format!(
                    "The module does not declare a variable named \"{variable}\", which {label} gives a value to. Declare \
                     it, or take the value out there."
                ),
                None => diagnostic
                    .detail
                    .replace(&format!("file \"{name}\""), label)
                    .replace(name, label),
            };
        }
    }
}

/// What stands in the first pair of quotes.
fn quoted(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"').map(|(inside, _)| inside)
}

/// The variable that a line of the file with `vars` belongs to.
fn variable_at(file: &str, line: usize) -> Option<&str> {
    let lines: Vec<&str> = file.lines().take(line).collect();
    lines.iter().rev().find_map(|line| line.strip_suffix(" = ("))
}

#[cfg(test)]
mod tests {
    use capt_terraform::stream::Range;

    use super::*;

    #[test]
    fn a_value_is_called_by_where_somebody_wrote_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = "~capt-0000.auto.tfvars";
        std::fs::write(
            folder.path().join(name),
            "size = (\n\"x\"\n)\ntags = (\n[1,\n2]\n)\n",
        )
        .expect("a file");
        let label = "spec.forProvider.varFiles[0] (ConfigMap team/x, key k)".to_owned();
        let blame = Blame(vec![
            (name.to_owned(), None),
            ("~capt-0001.auto.tfvars".to_owned(), Some(label)),
        ]);
        for (file, line, expected) in [
            (name, 2, "Bad at spec.forProvider.vars, variable size"),
            (name, 6, "Bad at spec.forProvider.vars, variable tags"),
            (
                "~capt-0001.auto.tfvars",
                3,
                "Bad at spec.forProvider.varFiles[0] (ConfigMap team/x, key k):3",
            ),
            ("main.tf", 3, "Bad at main.tf:3"),
        ] {
            let mut range = Range {
                filename: file.to_owned(),
                ..Range::default()
            };
            range.start.line = line;
            let mut said = [Diagnostic {
                summary: "Bad".to_owned(),
                range: Some(range),
                ..Diagnostic::default()
            }];
            blame.put(&Folder::new(folder.path()), Path::new(""), &mut said);
            assert_eq!(capt_terraform::diagnostics::one(&said[0]), expected);
        }
    }

    #[test]
    fn a_value_that_nothing_takes_is_called_by_the_field_that_has_it() {
        let label = "spec.forProvider.varFiles[0] (ConfigMap team/x, key k)".to_owned();
        let blame = Blame(vec![
            ("~capt-0000.auto.tfvars".to_owned(), None),
            ("~capt-0001.auto.tfvars".to_owned(), Some(label)),
        ]);
        let found = |file: &str, summary: &str| {
            let mut said = [Diagnostic {
                summary: summary.to_owned(),
                detail: format!(
                    "The root module does not declare a variable named \"bar\" but a value was found in file \"{file}\". \
                     If you meant to use this value, add a \"variable\" block to the configuration.\n\nTo silence these \
                     warnings, use TF_VAR_... environment variables"
                ),
                ..Diagnostic::default()
            }];
            blame.put(&Folder::new("/nowhere"), Path::new(""), &mut said);
            said[0].detail.clone()
        };
        for (file, field) in [
            ("~capt-0000.auto.tfvars", "spec.forProvider.vars"),
            (
                "~capt-0001.auto.tfvars",
                "spec.forProvider.varFiles[0] (ConfigMap team/x, key k)",
            ),
        ] {
            assert_eq!(
                found(file, "Value for undeclared variable"),
                format!(
                    "The module does not declare a variable named \"bar\", which {field} gives a value to. Declare it, or \
                     take the value out there."
                )
            );
            let other = found(file, "Something else");
            assert!(
                other.contains(&format!("found in {field}.")) && !other.contains("tfvars"),
                "{other}"
            );
        }
    }
}
