//! The plans of everything that uses a template.

use std::process::ExitCode;

use capt_api::{WorkspaceTemplate, WorkspaceTemplateApply};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{
    Args,
    answer::{Answer, exit_code},
    judge::Why,
    plan,
    told::Told,
    warn,
};
use crate::access::Cluster;

/// Plans that are waited for at the same time.
const AT_ONCE: usize = 8;

/// Tells what would change for everything that uses a template, which has no plan of its own.
pub(super) async fn run(cluster: &Cluster, args: &Args) -> anyhow::Result<ExitCode> {
    let (template, users) = cluster.users_of(&args.target.name).await?;
    if users.is_empty() {
        args.output
            .answer(&Vec::<Answer>::new(), || unused(args, &template))?;
        return Ok(match trouble(&template) {
            Some(_) => exit_code(Some(Why::Stuck)),
            None => ExitCode::SUCCESS,
        });
    }
    let one = |apply: WorkspaceTemplateApply| async move {
        let subject = cluster.subject_of(apply).await?;
        let mut told = Told::about(&subject.target());
        plan(cluster, subject, args.timeout, &mut told).await
    };
    let answers: Vec<Answer> = stream::iter(users)
        .map(one)
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    answers.iter().for_each(warn);
    args.output.answer(&answers, || {
        answers.iter().map(Answer::words).collect::<Vec<_>>().join("\n")
    })?;
    let first = answers.iter().find(|answer| !answer.is_plan());
    Ok(first.map_or(ExitCode::SUCCESS, Answer::exit_code))
}

fn unused(args: &Args, template: &WorkspaceTemplate) -> String {
    let target = &args.target;
    let mut text = format!(
        "Nothing uses {target}, so that there is nothing to plan. A WorkspaceTemplateApply with spec.templateRef.name: \
         {} fills it; then: capt plan wtapply/NAME\n",
        target.name
    );
    if let Some(trouble) = trouble(template) {
        text.push_str(&format!("It cannot be used as it is: {trouble}\n"));
    }
    text
}

/// What is wrong with a template itself.
fn trouble(template: &WorkspaceTemplate) -> Option<String> {
    let conditions = template.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
    (ready.status == "False").then(|| ready.message.clone())
}
