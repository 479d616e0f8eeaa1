//! The functions that `func.call` and composites refer to, and orders of functions by their calls.

use crate::Opcode;
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::{Attrs, Func, FuncId, Module, Op, OpView};

/// Returns the function that a `func.call` calls. Returns `None` for other ops, and if the op does not name a function
/// of the module.
pub fn called(view: &OpView<'_>) -> Option<FuncId> {
    callee(view).filter(|_| Opcode::of_view(view) == Opcode::Call)
}

/// Returns the function that a `func.call` calls or a composite runs. Returns `None` for other ops, and if the op does
/// not name a function of the module.
pub fn callee(view: &OpView<'_>) -> Option<FuncId> {
    let attr = match Opcode::of_view(view) {
        Opcode::Call => "callee",
        Opcode::Composite => "decomposition",
        _ => return None,
    };
    view.module.func_id(view.attrs().str(attr)?)
}

/// Removes the attribute that names the function that a `func.call` calls.
pub fn remove_callee(attrs: &mut Attrs) {
    attrs.remove("callee");
}

/// Returns all functions, each before the functions that it calls or runs as decompositions. No function may call
/// itself, directly or through others.
pub fn callers_first(module: &Module) -> Vec<FuncId> {
    let all = (0..module.funcs.len()).map(FuncId::new);
    let mut order = callees_first(module, all.collect());
    order.reverse();
    order
}

/// Returns the roots and all functions that they reach, each once and after the functions that it calls or runs as
/// decompositions. No function may call itself, directly or through others.
pub fn callees_first(module: &Module, roots: Vec<FuncId>) -> Vec<FuncId> {
    let mut order = vec![];
    let mut seen = vec![false; module.funcs.len()];
    let mut stack: Vec<(FuncId, bool)> = roots.into_iter().rev().map(|id| (id, false)).collect();
    while let Some((id, is_done)) = stack.pop() {
        if is_done {
            order.push(id);
        } else if !std::mem::replace(&mut seen[id.index()], true) {
            stack.push((id, true));
            stack.extend(calls(module, id).into_iter().rev().map(|(_, callee)| (callee, false)));
        }
    }
    order
}

pub fn calls(module: &Module, id: FuncId) -> Vec<(Op, FuncId)> {
    let body = &module[id].body;
    body.walk().into_iter().filter_map(|op| Some((op, callee(&module.view(body, op))?))).collect()
}

/// Fails if a function calls itself or runs itself as a decomposition, directly or through others.
pub fn refuse_recursion(module: &Module) -> Result<(), Diagnostics> {
    let callees: Vec<Vec<(Op, FuncId)>> = (0..module.funcs.len()).map(|i| calls(module, FuncId::new(i))).collect();
    // 0: not visited, 1: being visited, 2: done.
    let mut state = vec![0u8; module.funcs.len()];
    for start in 0..module.funcs.len() {
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            state[at] = 1;
            let Some(&(op, callee)) = callees[at].get(next) else {
                state[at] = 2;
                continue;
            };
            stack.push((at, next + 1));
            match state[callee.index()] {
                0 => stack.push((callee.index(), 0)),
                1 => return Err(recursive(module, &module.funcs[at], op, callee).into()),
                _ => {}
            }
        }
    }
    Ok(())
}

fn recursive(module: &Module, func: &Func, op: Op, callee: FuncId) -> Diagnostic {
    let message = format!("`@{}` runs `@{}`, through which it runs itself again", func.name, module[callee].name);
    Diagnostic::error("call-recursion", &func.body[op].loc, message).help("write the repetition as a `stablehlo.while`")
}
