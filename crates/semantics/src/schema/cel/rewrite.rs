//! Rewrites parsed rules where the evaluator and Kubernetes read them differently.

use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::functions::OPTIONAL_SELECT;

/// Turns `a.?b`, `a[?b]` and every selection from their results into calls of our own function.
pub(super) fn optional_selects(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| optional_selects(target));
            call.args.iter_mut().for_each(optional_selects);
            let is_optional = matches!(
                call.func_name.as_str(),
                operators::OPT_SELECT | operators::OPT_INDEX
            ) || (call.func_name == operators::INDEX
                && call.args.first().is_some_and(is_optional_select));
            if is_optional {
                call.func_name = OPTIONAL_SELECT.to_owned();
            }
        }
        Expr::Select(select) => {
            optional_selects(&mut select.operand);
            if !select.test && is_optional_select(&select.operand) {
                let field = LiteralValue::String(select.field.clone().into());
                let args = vec![
                    std::mem::take(&mut *select.operand),
                    IdedExpr {
                        id: expression.id,
                        expr: Expr::Literal(field),
                    },
                ];
                let func_name = OPTIONAL_SELECT.to_owned();
                expression.expr = Expr::Call(CallExpr {
                    func_name,
                    target: None,
                    args,
                });
            }
        }
        Expr::Comprehension(comprehension) => {
            optional_selects(&mut comprehension.iter_range);
            optional_selects(&mut comprehension.accu_init);
            optional_selects(&mut comprehension.loop_cond);
            optional_selects(&mut comprehension.loop_step);
            optional_selects(&mut comprehension.result);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(optional_selects),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    optional_selects(&mut entry.key);
                    optional_selects(&mut entry.value);
                }
            }
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

fn is_optional_select(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Call(call) if call.func_name == OPTIONAL_SELECT)
}
