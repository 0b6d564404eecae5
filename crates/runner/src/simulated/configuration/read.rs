//! From text to a configuration.

use hcl::edit::{
    expr::Expression,
    structure::{Block, Body},
};

use super::{Check, Configuration, Expr, Output, Resource, Type, Variable, expression, json};

/// Arguments of every resource that are not attributes.
const META: [&str; 5] = ["count", "for_each", "depends_on", "provider", "lifecycle"];

/// Text that is no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} cannot be read: {detail}")]
pub(in crate::simulated) struct Unreadable {
    /// The file.
    pub(in crate::simulated) file: String,
    /// What is wrong with it, and where.
    pub(in crate::simulated) detail: String,
}

/// Reads files: name and text. Those that end in `.json` have the other syntax.
pub(in crate::simulated) fn read<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Configuration, Unreadable> {
    let mut configuration = Configuration::default();
    for (file, text) in files {
        let unreadable = |detail: String| Unreadable {
            file: file.to_owned(),
            detail,
        };
        let body = if file.ends_with(".json") {
            json::body(&serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?)
        } else {
            text.parse::<Body>()
                .map_err(|error| unreadable(error.to_string()))?
        };
        body.blocks().for_each(|block| configuration.add(block));
    }
    Ok(configuration)
}

impl Configuration {
    fn add(&mut self, block: &Block) {
        let labels: Vec<&str> = block.labels.iter().map(|label| label.as_str()).collect();
        match (block.ident.as_str(), &labels[..]) {
            ("variable", [name]) => {
                self.variables.insert((*name).to_owned(), variable(&block.body));
            }
            ("locals", []) => {
                let locals = block.body.attributes();
                self.locals
                    .extend(locals.map(|local| (local.key.as_str().to_owned(), Expr::from(&local.value))));
            }
            ("output", [name]) => {
                if let Some(value) = expr(&block.body, "value") {
                    let sensitive = is_true(&block.body, "sensitive");
                    self.outputs
                        .insert((*name).to_owned(), Output { value, sensitive });
                }
            }
            (kind @ ("resource" | "data"), [type_, name]) => {
                let is_data = kind == "data";
                let resource = resource(&block.body, type_, name, is_data);
                let prefix = if is_data { "data." } else { "" };
                self.resources.insert(format!("{prefix}{type_}.{name}"), resource);
            }
            _ => {}
        }
    }
}

fn variable(body: &Body) -> Variable {
    Variable {
        type_: body
            .get_attribute("type")
            .map(|type_| Type::read(&type_.value))
            .unwrap_or_default(),
        default: expr(body, "default"),
        validations: checks(body, "validation"),
        sensitive: is_true(body, "sensitive"),
    }
}

fn resource(body: &Body, type_: &str, name: &str, is_data: bool) -> Resource {
    let attributes = body
        .attributes()
        .filter(|attribute| !META.contains(&attribute.key.as_str()));
    let lifecycles = || body.get_blocks("lifecycle").map(|block| &block.body);
    let (destroy_sleeps, sleeps): (Vec<_>, Vec<_>) = body
        .get_blocks("provisioner")
        .filter_map(|block| sleep(&block.body))
        .partition(|(at_end, _)| *at_end);
    let expressions = |sleeps: Vec<(bool, Expr)>| sleeps.into_iter().map(|(_, expr)| expr).collect();
    Resource {
        is_data,
        type_: type_.to_owned(),
        name: name.to_owned(),
        attributes: attributes
            .map(|attribute| (attribute.key.as_str().to_owned(), Expr::from(&attribute.value)))
            .collect(),
        count: expr(body, "count"),
        for_each: expr(body, "for_each"),
        depends_on: lists(body, "depends_on"),
        preconditions: lifecycles()
            .flat_map(|body| checks(body, "precondition"))
            .collect(),
        postconditions: lifecycles()
            .flat_map(|body| checks(body, "postcondition"))
            .collect(),
        prevent_destroy: lifecycles().any(|body| is_true(body, "prevent_destroy")),
        ignores: lifecycles()
            .flat_map(|body| lists(body, "ignore_changes"))
            .filter_map(|names| names.into_iter().next())
            .collect(),
        sleeps: expressions(sleeps),
        destroy_sleeps: expressions(destroy_sleeps),
    }
}

/// How long a provisioner waits, if that is all it does, and whether it does so at the end of a resource.
fn sleep(body: &Body) -> Option<(bool, Expr)> {
    let Expression::Array(interpreter) = &body.get_attribute("interpreter")?.value else {
        return None;
    };
    let is_sleep = interpreter.iter().next().and_then(|program| program.as_str()) == Some("sleep");
    let when = body
        .get_attribute("when")
        .and_then(|when| expression::names(&when.value));
    let at_end = when.is_some_and(|when| when == ["destroy"]);
    is_sleep
        .then(|| expr(body, "command"))
        .flatten()
        .map(|command| (at_end, command))
}

fn checks(body: &Body, kind: &str) -> Vec<Check> {
    body.get_blocks(kind)
        .filter_map(|block| {
            Some(Check {
                condition: expr(&block.body, "condition")?,
                message: expr(&block.body, "error_message"),
            })
        })
        .collect()
}

fn lists(body: &Body, key: &str) -> Vec<Vec<String>> {
    match body.get_attribute(key).map(|attribute| &attribute.value) {
        Some(Expression::Array(items)) => items.iter().filter_map(expression::names).collect(),
        Some(other) => expression::names(other).into_iter().collect(),
        None => Vec::new(),
    }
}

fn expr(body: &Body, key: &str) -> Option<Expr> {
    body.get_attribute(key)
        .map(|attribute| Expr::from(&attribute.value))
}

fn is_true(body: &Body, key: &str) -> bool {
    body.get_attribute(key)
        .and_then(|attribute| attribute.value.as_bool())
        == Some(true)
}
