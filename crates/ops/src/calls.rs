//! The functions that `func.call` and composites refer to, orders of functions by their calls, and limits on programs
//! whose calls are replaced by bodies.

use crate::Opcode;
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::{Attrs, Body, Func, FuncId, MAX_REGION_DEPTH, Module, Op, OpView, Region};

/// The largest number of ops of a function once bodies replace its calls. Nested calls can double the size of the
/// program at each level.
pub const MAX_OPS: usize = 4_000_000;

/// The largest depth of calls that bodies replace, and of the regions around them.
pub const MAX_DEPTH: usize = MAX_REGION_DEPTH;

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
    calls_in(module, &module[id].body)
}

fn calls_in(module: &Module, body: &Body) -> Vec<(Op, FuncId)> {
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

/// Fails if bodies cannot replace the calls of these functions: if calls and the regions around them nest more than
/// [`MAX_DEPTH`] deep (`call-depth`), or if a function has more than [`MAX_OPS`] ops then (`call-size`). So it limits
/// the recursion and the work of what replaces them, or visits a function once for each call.
///
/// `replaced` returns the function whose body replaces an op, or `None` for an op that stays. The functions need not be
/// in the module. No function may call itself, directly or through others.
pub fn refuse_expansion(
    module: &Module,
    funcs: &[&Func],
    replaced: impl Fn(&OpView<'_>) -> Option<FuncId>,
) -> Result<(), Diagnostics> {
    let mut expansions = Expansions { module, replaced, known: vec![Expansion::default(); module.funcs.len()] };
    let roots = funcs.iter().flat_map(|func| calls_in(module, &func.body)).map(|(_, callee)| callee).collect();
    for id in callees_first(module, roots) {
        expansions.known[id.index()] = expansions.of(&module[id].body)?;
    }
    funcs.iter().try_for_each(|func| expansions.of(&func.body).map(drop))
}

/// A function whose calls are replaced by bodies.
#[derive(Clone, Copy, Default)]
struct Expansion {
    ops: usize,
    /// The largest number of regions around the ops of a body that replaces a call, the region of the body and that of
    /// the function itself included.
    depth: usize,
}

struct Expansions<'m, F> {
    module: &'m Module,
    replaced: F,
    /// For each function of the module, its expansion, if it was computed.
    known: Vec<Expansion>,
}

impl<F: Fn(&OpView<'_>) -> Option<FuncId>> Expansions<'_, F> {
    /// Returns the expansion of a body, whose callees are known. Fails if it is too deep or too large.
    fn of(&self, body: &Body) -> Result<Expansion, Diagnostics> {
        let mut expansion = Expansion { ops: 0, depth: 1 };
        self.add(body, body.entry(), 1, &mut expansion)?;
        Ok(expansion)
    }

    /// Adds the ops of a region, which is the `depth`-th one of its body from the outside, and those of the regions in
    /// it. Fails if the expansion becomes too deep or too large.
    fn add(&self, body: &Body, region: Region, depth: usize, sum: &mut Expansion) -> Result<(), Diagnostics> {
        for &op in &body[region].ops {
            let callee = (self.replaced)(&self.module.view(body, op)).map(|id| self.known[id.index()]);
            sum.ops = sum.ops.saturating_add(1 + callee.map_or(0, |callee| callee.ops));
            sum.depth = sum.depth.max(callee.map_or(0, |callee| depth + callee.depth));
            if sum.depth > MAX_DEPTH {
                return Err(too_deep(&body[op].loc, "calls of functions and the regions around them").into());
            }
            if sum.ops > MAX_OPS {
                return Err(too_large(&body[op].loc).into());
            }
            body[op].regions.iter().try_for_each(|&inner| self.add(body, inner, depth + 1, sum))?;
        }
        Ok(())
    }
}

/// Builds the error for a program that has more than [`MAX_OPS`] ops once bodies replace its calls.
pub fn too_large(loc: &Loc) -> Diagnostic {
    let message = format!(
        "the program has more than {MAX_OPS} ops once each call and composite has a copy of the function's body"
    );
    Diagnostic::error("call-size", loc, message).help("write the repetition as a `stablehlo.while`")
}

/// Builds the error for calls that nest more than [`MAX_DEPTH`] deep. `what` names what is counted.
pub fn too_deep(loc: &Loc, what: &str) -> Diagnostic {
    Diagnostic::error("call-depth", loc, format!("{what} nest more than {MAX_DEPTH} deep"))
        .help("inline some of the functions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OPS;
    use shardwise_ir::text::parse;

    /// Returns a program with `count` functions, of which each but the last has these lines, with the name of the next
    /// one in place of `NEXT`.
    fn chain(count: usize, lines: &str) -> Module {
        let func = |i: usize| {
            let lines = if i + 1 < count { lines.replace("NEXT", &format!("@f{}", i + 1)) } else { String::new() };
            format!("func.func @f{i}(%x: tensor<f32>) -> tensor<f32> {{\n{lines}  return %x : tensor<f32>\n}}\n")
        };
        parse("test.mlir", &(0..count).map(func).collect::<String>(), &OPS).unwrap()
    }

    fn code_of(module: &Module) -> Option<&'static str> {
        let found = refuse_expansion(module, &[&module.funcs[0]], callee).err()?;
        Some(found.iter().next().unwrap().code)
    }

    const CALL: &str = "  %0 = call NEXT(%x) : (tensor<f32>) -> tensor<f32>\n";

    #[test]
    fn calls_nest_to_a_limited_depth() {
        assert_eq!(code_of(&chain(MAX_DEPTH, CALL)), None);
        assert_eq!(code_of(&chain(MAX_DEPTH + 1, CALL)), Some("call-depth"));
        // The region around each call counts, too.
        let nested = format!(
            "  %1 = sdy.named_computation<\"n\">(%x) (%y: tensor<f32>) {{
  {}    sdy.return %0 : tensor<f32>
  }} : (tensor<f32>) -> tensor<f32>\n",
            CALL.replace("%x", "%y")
        );
        assert_eq!(code_of(&chain(MAX_DEPTH / 2, &nested)), None);
        assert_eq!(code_of(&chain(MAX_DEPTH / 2 + 1, &nested)), Some("call-depth"));
    }

    #[test]
    fn calls_that_double_the_program_are_refused() {
        let twice = [CALL, &CALL.replace("%0", "%1")].concat();
        assert_eq!(code_of(&chain(10, &twice)), None);
        assert_eq!(code_of(&chain(60, &twice)), Some("call-size"));
    }
}
