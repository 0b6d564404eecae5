//! Runs kubectl against one server.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt;

/// A kubectl that talks to one server.
#[derive(Debug, Clone)]
pub struct Kubectl {
    /// The program.
    pub program: PathBuf,
    /// The kubeconfig of the server.
    pub kubeconfig: PathBuf,
    /// A folder for its caches, because a cache shared by two servers would answer for both.
    pub home: PathBuf,
}

/// What a command printed.
pub(crate) struct Output {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Kubectl {
    pub(crate) async fn run(&self, arguments: &[String], manifests: &[Value]) -> std::io::Result<Output> {
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("KUBECTL_EXTERNAL_DIFF", "diff -u -N -L live -L merged")
            .env_remove("KUBECACHEDIR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn()?;
        let input: String = manifests
            .iter()
            .map(|manifest| format!("---\n{manifest}\n"))
            .collect();
        if let Some(mut stdin) = child.stdin.take() {
            // A command that fails early closes its input, which is no failure of ours.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = child.wait_with_output().await?;
        Ok(Output {
            exit: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// Splits a command line at spaces; quotes, single or double, keep words together.
pub(crate) fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, open @ ('\'' | '"')) => {
                quote = Some(open);
                word.get_or_insert_default();
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together() {
        assert_eq!(
            split(r#"patch cm a -p '{"a": "b c"}' --x="""#),
            ["patch", "cm", "a", "-p", r#"{"a": "b c"}"#, "--x="]
        );
    }
}
