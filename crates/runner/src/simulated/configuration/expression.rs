//! An expression, and what it refers to.

use hcl::edit::{
    expr::{Expression, FuncCall, Traversal, TraversalOperator},
    visit::{Visit, visit_func_call, visit_traversal},
};

/// An expression, and what it refers to.
#[derive(Clone, Debug)]
pub(in crate::simulated) struct Expr {
    /// To be evaluated.
    pub(in crate::simulated) expression: hcl::Expression,
    /// Names in a row, such as `terraform_data`, `vpc`, `id`; indices and splats are left out.
    pub(in crate::simulated) references: Vec<Vec<String>>,
    /// It says that something in it is sensitive.
    pub(in crate::simulated) hides: bool,
}

impl From<&Expression> for Expr {
    fn from(expression: &Expression) -> Self {
        let mut references = References::default();
        references.visit_expr(expression);
        Self {
            expression: expression.clone().into(),
            references: references.names,
            hides: references.hides,
        }
    }
}

/// The names in a row that this expression is, if it is nothing else.
pub(super) fn names(expression: &Expression) -> Option<Vec<String>> {
    match expression {
        Expression::Variable(name) => Some(vec![name.as_str().to_owned()]),
        Expression::Traversal(traversal) => of_traversal(traversal),
        _ => None,
    }
}

#[derive(Default)]
struct References {
    names: Vec<Vec<String>>,
    hides: bool,
}

impl Visit for References {
    fn visit_traversal(&mut self, node: &Traversal) {
        self.names.extend(of_traversal(node));
        // What stands in an index refers to something too.
        visit_traversal(self, node);
    }

    fn visit_func_call(&mut self, node: &FuncCall) {
        self.hides |= node.name.name.as_str() == "sensitive";
        visit_func_call(self, node);
    }
}

fn of_traversal(traversal: &Traversal) -> Option<Vec<String>> {
    let Expression::Variable(root) = &traversal.expr else {
        return None;
    };
    let mut names = vec![root.as_str().to_owned()];
    names.extend(
        traversal
            .operators
            .iter()
            .filter_map(|operator| match operator.value() {
                TraversalOperator::GetAttr(name) => Some(name.as_str().to_owned()),
                _ => None,
            }),
    );
    Some(names)
}
