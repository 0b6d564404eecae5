//! The values of a module's variables.

use std::collections::{BTreeMap, BTreeSet};

use capt_terraform::stream::{Diagnostic, Severity};
use hcl::{
    Value,
    edit::structure::Body,
    eval::{Context, Evaluate},
};

use super::{configuration::Configuration, evaluate::Scope};
use crate::engine::{Inputs, VarFile};

/// A scope with every variable in it, or why there is none.
pub(super) fn scope(configuration: &Configuration, inputs: &Inputs) -> Result<Scope, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let given = given(configuration, inputs, &mut problems);
    let mut scope = Scope::default();
    scope.set(
        "terraform.workspace",
        Value::from(inputs.terraform_workspace.as_str()),
    );
    for place in ["path.module", "path.root", "path.cwd"] {
        scope.set(place, Value::from("."));
    }
    for (name, variable) in &configuration.variables {
        let value = match (given.get(name), &variable.default) {
            (Some(value), _) => value.clone(),
            (None, Some(default)) => scope.evaluate(default).unwrap_or_default(),
            (None, None) => {
                problems.push(error(
                    "No value for required variable",
                    format!("The root module input variable {name:?} is not set, and has no default value."),
                ));
                continue;
            }
        };
        match variable.type_.convert(value) {
            Ok(value) => scope.set(format!("var.{name}"), value),
            Err(detail) => problems.push(unsuitable(name, &detail)),
        }
    }
    for (name, variable) in &configuration.variables {
        for check in &variable.validations {
            if scope.evaluate(&check.condition) == Ok(Value::Bool(false)) {
                let message = check
                    .message
                    .as_ref()
                    .and_then(|message| scope.evaluate(message).ok());
                let detail = message
                    .as_ref()
                    .and_then(Value::as_str)
                    .unwrap_or("A validation failed.");
                problems.push(error(
                    "Invalid value for variable",
                    format!("var.{name}: {detail}"),
                ));
            }
        }
    }
    if problems.is_empty() {
        Ok(scope)
    } else {
        Err(problems)
    }
}

/// What was given, each source over the one before it.
fn given(
    configuration: &Configuration,
    inputs: &Inputs,
    problems: &mut Vec<Diagnostic>,
) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    let environment = inputs
        .env
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix("TF_VAR_")?, value)));
    let known = environment.filter(|(name, _)| configuration.variables.contains_key(*name));
    let written = inputs.vars.iter().map(|(name, value)| (name.as_str(), value));
    for (name, text) in known.chain(written) {
        let Some(variable) = configuration.variables.get(name) else {
            problems.push(error(
                "Value for undeclared variable",
                format!("A variable named {name:?} was given, but the module does not declare it."),
            ));
            continue;
        };
        match variable.type_.parse(text) {
            Ok(value) => {
                values.insert(name.to_owned(), value);
            }
            Err(detail) => problems.push(unsuitable(name, &detail)),
        }
    }
    for file in &inputs.var_files {
        match read(file) {
            Ok(fields) => values.extend(fields),
            Err(detail) => problems.push(error(
                "Invalid expression",
                format!("A file of variables: {detail}"),
            )),
        }
    }
    values
}

/// Warnings, as Terraform gives them, of values in files that are for no variable of the module.
pub(super) fn undeclared(configuration: &Configuration, inputs: &Inputs) -> Vec<Diagnostic> {
    let files = inputs.var_files.iter().filter_map(|file| read(file).ok());
    let names: BTreeSet<String> = files
        .flatten()
        .map(|(name, _)| name)
        .filter(|name| !configuration.variables.contains_key(name))
        .collect();
    let warning = |name: &String| Diagnostic {
        severity: Severity::Warning,
        ..error(
            "Value for undeclared variable",
            format!(
                "The root module does not declare a variable named {name:?}, but a value was found in a file."
            ),
        )
    };
    names.iter().map(warning).collect()
}

fn read(file: &VarFile) -> Result<Vec<(String, Value)>, String> {
    let text = str::from_utf8(&file.content).map_err(|error| error.to_string())?;
    if file.is_json {
        let fields: hcl::Map<String, Value> =
            serde_json::from_str(text).map_err(|_| "it is no JSON object".to_owned())?;
        return Ok(fields.into_iter().collect());
    }
    // Its values may be secret, so nothing of it may be told.
    let body: Body = text.parse().map_err(|_| "it is not HCL".to_owned())?;
    let fields = body.attributes().map(|attribute| {
        let expression = hcl::Expression::from(attribute.value.clone());
        let value = expression.evaluate(&Context::new()).unwrap_or_default();
        (attribute.key.as_str().to_owned(), value)
    });
    Ok(fields.collect())
}

fn unsuitable(name: &str, detail: &str) -> Diagnostic {
    let detail = format!("The given value is not suitable for var.{name}: {detail}.");
    error("Invalid value for variable", detail)
}

/// An error as Terraform tells it.
pub(super) fn error(summary: &str, detail: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: summary.to_owned(),
        detail,
        ..Diagnostic::default()
    }
}
