//! The verifier. It checks the following rules, and continues after a violation:
//!
//! - Every region of a function ends in the terminator that its op requires, and has no other terminator.
//! - Every value is used after its definition, in the region that defines it or in an inner region, without an isolated
//!   op between them.
//! - A future is used exactly once, in the region that defines it.
//! - Function results have the types that the function declares.
//! - Calls name a function of the module whose types fit, and no function calls itself or runs itself as the
//!   decomposition of a composite, directly or through others.
//! - Tensors have at most [`MAX_RANK`](crate::MAX_RANK) dimensions.
//! - Regions nest at most [`MAX_REGION_DEPTH`](crate::MAX_REGION_DEPTH) deep.
//! - Every op keeps its own constraints, from its row of the op table. An op with a region that does not end in a
//!   terminator is not checked for them, because it is not known what the region returns.

use crate::{Body, Func, MAX_RANK, MAX_REGION_DEPTH, Module, Op, OpCode, OpDef, OpView, Region, Type, Value};
use shardwise_base::{Diagnostic, Diagnostics, Loc, budget, did_you_mean};

/// Checks a module. Returns the violations of one function after the other, and then those of the rule that no function
/// calls itself. The result is empty if there are none.
pub fn verify(module: &Module) -> Diagnostics {
    let mut found = Diagnostics::default();
    for func in &module.funcs {
        let defined = vec![false; func.body.value_count()];
        Verifier { module, func, defined, hidden: vec![], finished: vec![], found: &mut found }.run();
    }
    check_recursion(module, &mut found);
    found
}

struct Verifier<'a> {
    module: &'a Module,
    func: &'a Func,
    /// For each value of the body, true if it is in scope.
    defined: Vec<bool>,
    /// For each value of the body, true if it is in scope around the innermost isolated op. Empty outside of isolated
    /// ops.
    hidden: Vec<bool>,
    /// The futures that an op of the region that defines them has used.
    finished: Vec<Value>,
    found: &'a mut Diagnostics,
}

impl Verifier<'_> {
    fn run(&mut self) {
        self.region(self.func.body.entry(), 0);
        self.results();
    }

    fn body(&self) -> &Body {
        &self.func.body
    }

    fn region(&mut self, region: Region, depth: usize) {
        let data = self.func.body.region(region);
        if depth > MAX_REGION_DEPTH {
            return self.found.push(nested_too_deep(&self.func.loc));
        }
        self.define(&data.args);
        self.terminator(region);
        for &op in &data.ops {
            self.op(op, depth);
        }
        self.futures(region);
        for &op in &data.ops {
            self.undefine(&self.func.body[op].results);
        }
        self.undefine(&data.args);
    }

    /// Reports the futures that `region` defines if its own ops do not use them exactly once, and the uses by its own
    /// ops of futures that are in scope but defined outside of `region`.
    fn futures(&mut self, region: Region) {
        let body = &self.func.body;
        let is_future = |v: &Value| matches!(body.ty(*v), Type::Future(_));
        let data = body.region(region);
        let mut open: Vec<Value> = data.args.iter().copied().filter(is_future).collect();
        for &op in &data.ops {
            let used = body[op].operands.iter().copied().filter(|v| is_future(v) && self.defined[v.index()]);
            for v in used {
                let is_open = open.iter().position(|&o| o == v).map(|i| open.swap_remove(i)).is_some();
                match is_open {
                    true => self.finished.push(v),
                    false => {
                        self.found.push(misused(&self.module.view(body, op), self.finished.contains(&v), &body[v].loc))
                    }
                }
            }
            open.extend(body[op].results.iter().copied().filter(is_future));
        }
        for v in open {
            self.found.push(unfinished(&body[v].loc));
        }
    }

    fn define(&mut self, values: &[Value]) {
        for &v in values {
            self.defined[v.index()] = true;
            let data = &self.func.body[v];
            if let Type::Tensor(t) = &data.ty
                && t.rank() > MAX_RANK
            {
                self.found.push(too_many_dimensions(&data.loc, t.rank()));
            }
        }
    }

    fn undefine(&mut self, values: &[Value]) {
        values.iter().for_each(|v| self.defined[v.index()] = false);
    }

    fn op(&mut self, op: Op, depth: usize) {
        budget::poll();
        let body = &self.func.body;
        let view = self.module.view(body, op);
        for (i, v) in view.operands().iter().enumerate() {
            if !self.defined[v.index()] {
                let is_hidden = self.hidden.get(v.index()) == Some(&true);
                self.found.push(if is_hidden { captured(&view, i) } else { use_before_definition(&view, i) });
            }
        }
        self.regions(&view, depth + 1);
        if view.data().code == OpCode::CALL {
            self.call(&view);
        }
        if view.regions().iter().all(|&region| self.is_terminated(region)) {
            self.found.extend(self.module.table.def(view.data().code).verify(&view));
        }
        self.define(&self.func.body[op].results);
    }

    fn regions(&mut self, view: &OpView<'_>, depth: usize) {
        if view.regions().is_empty() || !self.module.table.def(view.data().code).is_isolated() {
            return view.regions().iter().for_each(|&r| self.region(r, depth));
        }
        let none = vec![false; self.defined.len()];
        let outer = std::mem::replace(&mut self.defined, none);
        let hidden = std::mem::replace(&mut self.hidden, outer);
        view.regions().iter().for_each(|&r| self.region(r, depth));
        self.defined = std::mem::replace(&mut self.hidden, hidden);
    }

    fn terminator(&mut self, region: Region) {
        let ops = &self.func.body.region(region).ops;
        let Some((&last, before)) = ops.split_last() else {
            return self.found.push(no_terminator(&self.func.loc, &self.func.name));
        };
        if let Some(&early) = before.iter().find(|&&op| self.is_terminator(op)) {
            return self.found.push(early_terminator(&self.module.view(self.body(), early)));
        }
        let def = |op: Op| self.module.table.def(self.body()[op].code);
        let parent = self.body()[region].parent.map(def);
        let is_its_end = parent.map_or(def(last).ends_functions(), |p| def(last).name() == p.region_end());
        if !self.is_terminator(last) {
            self.found.push(no_terminator(&self.body()[last].loc, &self.func.name));
        } else if !is_its_end {
            self.found.push(other_terminator(&self.module.view(self.body(), last), parent));
        }
    }

    fn is_terminator(&self, op: Op) -> bool {
        self.module.table.def(self.body()[op].code).is_terminator()
    }

    fn is_terminated(&self, region: Region) -> bool {
        self.body().terminator(region).is_some_and(|op| self.is_terminator(op))
    }

    /// Reports results of other types than the function declares. If the body does not end in a terminator, there is
    /// nothing to compare.
    fn results(&mut self) {
        if !self.is_terminated(self.body().entry()) {
            return;
        }
        let given: Vec<&Type> = self.body().results().iter().map(|&v| self.body().ty(v)).collect();
        let declared: Vec<&Type> = self.func.result_types.iter().collect();
        if given != declared {
            self.found.push(result_types(self.func, &given, &declared));
        }
    }

    fn call(&mut self, view: &OpView<'_>) {
        // The op's own check reports a call without the name of a function.
        let Some(name) = view.attrs().str("callee") else { return };
        let Some(callee) = self.module.func(name) else {
            return self.found.push(unknown_callee(view, name));
        };
        let given: Vec<&Type> = view.operands().iter().map(|&v| view.body.ty(v)).collect();
        let taken: Vec<&Type> = callee.body.args().iter().map(|&v| callee.body.ty(v)).collect();
        let results: Vec<&Type> = view.results().iter().map(|&v| view.body.ty(v)).collect();
        if given != taken || results != callee.result_types.iter().collect::<Vec<_>>() {
            self.found.push(call_types(view, callee, &taken));
        }
    }
}

/// Returns the names in the attributes `callee` and `decomposition` of the ops of `func`, in program order. A name may
/// occur several times.
fn callees<'a>(func: &'a Func) -> impl Iterator<Item = &'a str> + 'a {
    func.body.walk().into_iter().flat_map(|op| {
        let data = func.body.op(op);
        ["callee", "decomposition"].into_iter().filter_map(|name| data.attrs.str(name))
    })
}

/// Reports calls by which functions reach themselves: those of a depth-first walk over the functions that return to a
/// function on the current path. Each cycle of calls has at least one such call.
fn check_recursion(module: &Module, found: &mut Diagnostics) {
    // 0: not visited, 1: on the path, 2: done. The stack is explicit, because a chain of calls may be long.
    let mut state = vec![0u8; module.funcs.len()];
    for start in 0..module.funcs.len() {
        let mut stack = vec![(start, false)];
        while let Some((f, done)) = stack.pop() {
            if done {
                state[f] = 2;
                continue;
            }
            if state[f] != 0 {
                continue;
            }
            state[f] = 1;
            stack.push((f, true));
            for callee in callees(&module.funcs[f]).filter_map(|name| module.func_id(name)) {
                match state[callee.index()] {
                    0 => stack.push((callee.index(), false)),
                    1 => found.push(recursive(&module.funcs[f], &module[callee])),
                    _ => {}
                }
            }
        }
    }
}

fn types(list: &[&Type]) -> String {
    let names: Vec<String> = list.iter().map(ToString::to_string).collect();
    format!("({})", names.join(", "))
}

pub(crate) fn too_many_dimensions(loc: &Loc, rank: usize) -> Diagnostic {
    Diagnostic::error("tensor-rank", loc, format!("a tensor has {rank} dimensions, more than {MAX_RANK}"))
        .help("reshape it to fewer dimensions")
}

pub(crate) fn nested_too_deep(loc: &Loc) -> Diagnostic {
    Diagnostic::error("region-depth", loc, format!("regions are nested more than {MAX_REGION_DEPTH} deep"))
        .help("move inner regions into functions of their own")
}

fn no_terminator(loc: &Loc, func: &str) -> Diagnostic {
    Diagnostic::error("region-terminator", loc, format!("a region of `@{func}` does not end in a return"))
        .help("end it with `stablehlo.return`, `sdy.return` or `return`")
}

fn other_terminator(view: &OpView<'_>, parent: Option<&dyn OpDef>) -> Diagnostic {
    let of = parent.map_or("a function".into(), |def| format!("a region of `{}`", def.name()));
    let end = parent.map_or("return", |def| def.region_end());
    Diagnostic::error("region-terminator", view.loc(), format!("`{}` cannot end {of}", view.name()))
        .help(format!("write `{end}` in its place"))
}

fn early_terminator(view: &OpView<'_>) -> Diagnostic {
    Diagnostic::error("region-terminator", view.loc(), format!("`{}` is not at the end of its region", view.name()))
        .help("remove the ops after it, or the return")
}

fn use_before_definition(view: &OpView<'_>, index: usize) -> Diagnostic {
    let message =
        format!("operand {index} of `{}` is used before it is defined, or outside of its region", view.name());
    Diagnostic::error("value-dominance", view.loc(), message)
        .help("a value is visible after its definition, in its own region and in inner regions")
}

fn captured(view: &OpView<'_>, index: usize) -> Diagnostic {
    let message = format!("operand {index} of `{}` is defined outside of an isolated body", view.name());
    Diagnostic::error("value-dominance", view.loc(), message)
        .help("make it an operand of the op that has this body, and use the body's argument")
}

fn unfinished(loc: &Loc) -> Diagnostic {
    Diagnostic::error("future-unfinished", loc, "this future is not used in the region that defines it")
        .help("use the future once, in the same region: `stablehlo.async_done`")
}

fn misused(view: &OpView<'_>, is_finished: bool, started: &Loc) -> Diagnostic {
    let d = match is_finished {
        true => Diagnostic::error(
            "future-twice",
            view.loc(),
            format!("`{}` uses a future that has already been used", view.name()),
        )
        .help("use the result of the first `stablehlo.async_done`"),
        false => Diagnostic::error(
            "future-elsewhere",
            view.loc(),
            format!("`{}` uses a future from outside of its region", view.name()),
        )
        .help("finish the future where it was started, and use the result here"),
    };
    d.note(format!("it was started at {started}"))
}

fn result_types(func: &Func, given: &[&Type], declared: &[&Type]) -> Diagnostic {
    Diagnostic::error(
        "func-results",
        &func.loc,
        format!("the types that `@{}` returns differ from its declared types", func.name),
    )
    .facts(format!("returned: {}", types(given)))
    .expected(types(declared))
}

fn unknown_callee(view: &OpView<'_>, name: &str) -> Diagnostic {
    let d = Diagnostic::error("call-callee", view.loc(), format!("there is no function `@{name}`"));
    match did_you_mean(name, view.module.funcs.iter().map(|f| &*f.name)) {
        Some(near) => d.help(format!("did you mean `@{near}`?")),
        None => d,
    }
}

fn call_types(view: &OpView<'_>, callee: &Func, taken: &[&Type]) -> Diagnostic {
    let given: Vec<&Type> = view.operands().iter().map(|&v| view.body.ty(v)).collect();
    let made: Vec<&Type> = view.results().iter().map(|&v| view.body.ty(v)).collect();
    let results: Vec<&Type> = callee.result_types.iter().collect();
    Diagnostic::error(
        "call-types",
        view.loc(),
        format!("the call of `@{}` does not match the function's types", callee.name),
    )
    .facts(format!("called as {} -> {}", types(&given), types(&made)))
    .expected(format!("{} -> {}", types(taken), types(&results)))
}

fn recursive(caller: &Func, callee: &Func) -> Diagnostic {
    let message = match caller.name == callee.name {
        true => format!("`@{}` calls itself", callee.name),
        false => format!("`@{}` can reach itself through `@{}`", callee.name, caller.name),
    };
    Diagnostic::error("call-recursion", &caller.loc, message).help("write the repetition as a `stablehlo.while`")
}
