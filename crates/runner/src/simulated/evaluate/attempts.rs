//! `try` and `can`, which decide by whether their arguments have values and so cannot be functions of them.

use hcl::{
    Expression, Value,
    eval::{Context, ErrorKind, Evaluate},
    expr::{FuncCall, Operation, TraversalOperator},
};

/// The expression with every attempt replaced by what came of it. Those inside `for` stay, and have no value there.
pub(super) fn settled(expression: &Expression, context: &Context<'_>) -> Expression {
    let settle = |inner: &mut Expression| *inner = settled(inner, context);
    let mut copy = expression.clone();
    match &mut copy {
        Expression::Array(items) => items.iter_mut().for_each(settle),
        Expression::Object(fields) => fields.values_mut().for_each(settle),
        Expression::Parenthesis(inner) => settle(inner),
        Expression::Traversal(traversal) => {
            settle(&mut traversal.expr);
            for operator in &mut traversal.operators {
                if let TraversalOperator::Index(index) = operator {
                    settle(index);
                }
            }
        }
        Expression::Conditional(conditional) => {
            settle(&mut conditional.cond_expr);
            settle(&mut conditional.true_expr);
            settle(&mut conditional.false_expr);
        }
        Expression::Operation(operation) => match &mut **operation {
            Operation::Unary(unary) => settle(&mut unary.expr),
            Operation::Binary(binary) => {
                settle(&mut binary.lhs_expr);
                settle(&mut binary.rhs_expr);
            }
        },
        Expression::FuncCall(call) => {
            call.args.iter_mut().for_each(settle);
            if let Some(value) = attempted(call, context) {
                return Expression::from(value);
            }
        }
        _ => {}
    }
    copy
}

/// What came of an attempt. Nothing, if it failed for no other reason than that a function is not known here.
fn attempted(call: &FuncCall, context: &Context<'_>) -> Option<Value> {
    let is_try = match call.name.name.as_str() {
        "try" => true,
        "can" => false,
        _ => return None,
    };
    for argument in &call.args {
        match argument.evaluate(context) {
            Ok(value) if is_try => return Some(value),
            Ok(_) => return Some(Value::Bool(true)),
            Err(error) if matches!(error.kind(), ErrorKind::UndefinedFunc(_)) => return None,
            Err(_) => {}
        }
    }
    (!is_try).then_some(Value::Bool(false))
}
