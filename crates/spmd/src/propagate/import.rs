//! The source as a draft: the main function, with every call replaced by the body of its callee.
//!
//! A call stays an op (a named computation), because shardings flow through its boundary by edges. Bodies are filled in
//! one after the other, never recursively: a chain of calls may be long.

use super::draft::{BlockId, Def, Draft, ENTRY, Frame, FrameId, Kind, MAIN, OpId, ValueId};
use super::shardings::without_unit_axes;
use shardwise_base::{Diagnostic, Diagnostics, Loc, Sharding};
use shardwise_ir::{Func, FuncId, Module, Op, OpView, Region, Value};
use shardwise_ops::Opcode;
use std::collections::HashSet;

/// Ops after which import stops: calls of calls double the program at each level.
const MAX_OPS: usize = 4_000_000;

/// How deep blocks may nest, those of calls included: all walks over a draft are recursions of at most this depth.
const MAX_DEPTH: usize = 2 * shardwise_ir::MAX_REGION_DEPTH;

/// The draft of one function as it stands. Its data-flow edges are ops still: see [`super::edges::adopt_edges`].
pub(super) fn import_as_written<'m>(module: &'m Module, func: &'m Func) -> Draft<'m> {
    let mut draft = Draft::empty(module, true);
    draft.frames.push(Frame { func, caller: Loc::UNKNOWN, is_clone: false });
    draft.add_block(None);
    let mut import = Import { draft, pending: vec![], originals: HashSet::new() };
    import.frame(MAIN, ENTRY);
    import.draft
}

/// The draft of the main function.
pub(super) fn import<'m>(module: &'m Module, main: &'m Func) -> Result<Draft<'m>, Diagnostics> {
    refuse_recursion(module)?;
    let mut draft = Draft::empty(module, false);
    draft.frames.push(Frame { func: main, caller: Loc::UNKNOWN, is_clone: false });
    let entry = draft.add_block(None);
    debug_assert_eq!(entry, ENTRY);
    let mut import = Import { draft, pending: vec![], originals: first_calls(module, main) };
    import.frame(MAIN, ENTRY);
    while let Some((frame, block)) = import.pending.pop() {
        import.frame(frame, block);
        let caller = &import.draft.frames[frame.index()].caller;
        if import.draft.ops.len() > MAX_OPS {
            return Err(too_large(caller).into());
        }
        if import.depth(block) > MAX_DEPTH - shardwise_ir::MAX_REGION_DEPTH {
            return Err(too_deep(caller).into());
        }
    }
    Ok(import.draft)
}

/// The function that an op runs in its place.
pub(super) fn callee(view: &OpView<'_>) -> Option<FuncId> {
    let attr = match Opcode::of_view(view) {
        Opcode::Call => "callee",
        Opcode::Composite => "decomposition",
        _ => return None,
    };
    view.module.func_id(view.attrs().str(attr)?)
}

struct Import<'m> {
    draft: Draft<'m>,
    /// Frames whose blocks are still empty.
    pending: Vec<(FrameId, BlockId)>,
    originals: HashSet<(FuncId, Op)>,
}

/// The values of one frame: the source's to the draft's.
struct Names {
    frame: FrameId,
    values: Vec<Option<ValueId>>,
}

impl<'m> Import<'m> {
    fn frame(&mut self, frame: FrameId, block: BlockId) {
        let func = self.draft.frames[frame.index()].func;
        let mut names = Names { frame, values: vec![None; func.body.value_count()] };
        self.block(&mut names, func.body.entry(), block);
    }

    fn block(&mut self, names: &mut Names, region: Region, block: BlockId) {
        let body = &self.func(names).body;
        for &arg in &body[region].args {
            let v = self.value(names, arg, Def::Argument(block));
            self.draft.block_mut(block).args.push(v);
        }
        for &op in &body[region].ops {
            let id = self.op(names, op, block);
            self.draft.block_mut(block).ops.push(id);
        }
    }

    /// Number of blocks around a block.
    fn depth(&self, block: BlockId) -> usize {
        let parent = |b: &BlockId| Some(self.draft.op(self.draft.block(*b).parent?).parent);
        std::iter::successors(Some(block), parent).count()
    }

    fn func(&self, names: &Names) -> &'m Func {
        self.draft.frames[names.frame.index()].func
    }

    fn value(&mut self, names: &mut Names, v: Value, def: Def) -> ValueId {
        let data = self.func(names).body.value(v);
        let is_as_written = self.draft.is_as_written;
        let sharding = data.sharding.as_ref().map(|s| if is_as_written { s.clone() } else { without_unit_axes(s) });
        let id = self.draft.add_value(&data.ty, &data.loc, def, sharding);
        names.values[v.index()] = Some(id);
        id
    }

    /// Uses are entered as a parser of text makes ops, the regions first; a clone is made the other way round.
    fn op(&mut self, names: &mut Names, op: Op, block: BlockId) -> OpId {
        let data = self.func(names).body.op(op);
        let view = self.draft.module.view(&self.func(names).body, op);
        let is_clone = self.draft.frames[names.frame.index()].is_clone;
        let id = self.draft.add_op(names.frame, Kind::Source(op), &[], block);
        self.draft.op_mut(id).operands =
            data.operands.iter().map(|v| names.values[v.index()].expect("defined before it is used")).collect();
        if is_clone {
            self.draft.add_uses(id);
        }
        match callee(&view).filter(|_| !self.draft.is_as_written) {
            Some(callee) => self.call(id, op, callee, &view),
            None => self.regions(names, id, &data.regions),
        }
        if !is_clone {
            self.draft.add_uses(id);
        }
        for &result in &data.results {
            let v = self.value(names, result, Def::Result(id));
            self.draft.op_mut(id).results.push(v);
        }
        if let Kind::Call { callee } = self.draft.op(id).kind {
            self.declare_results(id, callee);
        }
        id
    }

    fn regions(&mut self, names: &mut Names, id: OpId, regions: &[Region]) {
        for &region in regions {
            let block = self.draft.add_block(Some(id));
            self.draft.op_mut(id).blocks.push(block);
            self.block(names, region, block);
        }
    }

    fn call(&mut self, id: OpId, op: Op, callee: FuncId, view: &OpView<'_>) {
        let frame = self.draft.op(id).frame;
        let is_first = self.is_first(frame, op);
        let caller = self.draft.locate(frame, view.loc());
        self.draft.frames.push(Frame { func: &self.draft.module[callee], caller, is_clone: !is_first });
        let callee = FrameId::new(self.draft.frames.len() - 1);
        let block = self.draft.add_block(Some(id));
        let node = self.draft.op_mut(id);
        node.kind = Kind::Call { callee };
        node.blocks.push(block);
        self.pending.push((callee, block));
    }

    fn is_first(&self, frame: FrameId, op: Op) -> bool {
        let frame = &self.draft.frames[frame.index()];
        let id = self.draft.module.func_id(&frame.func.name);
        !frame.is_clone && id.is_some_and(|id| self.originals.contains(&(id, op)))
    }

    /// A call without shardings has those that the callee declares.
    fn declare_results(&mut self, id: OpId, callee: FrameId) {
        let declared = &self.draft.frames[callee.index()].func.result_shardings;
        let results = self.draft.op(id).results.clone();
        if results.iter().any(|&v| self.draft.value(v).sharding.is_some()) {
            return;
        }
        for (v, sharding) in results.into_iter().zip(open_where_missing(declared, &self.draft, id)) {
            self.draft.value_mut(v).sharding = sharding;
        }
    }
}

/// Where one of several values has a sharding, the others are open on the same mesh.
fn open_where_missing(declared: &[Option<Sharding>], draft: &Draft<'_>, op: OpId) -> Vec<Option<Sharding>> {
    let Some(mesh) = declared.iter().flatten().map(|s| &s.mesh).next() else {
        return vec![None; declared.len()];
    };
    let rank = |i: usize| draft.value(draft.op(op).results[i]).ty.shape().len();
    let or_open = |(i, s): (usize, &Option<Sharding>)| {
        s.as_ref().map_or_else(|| Sharding::open(mesh, rank(i)), without_unit_axes)
    };
    declared.iter().enumerate().map(|x| Some(or_open(x))).collect()
}

/// The calls that take the bodies of their callees: of each function the first call that is met when functions are
/// visited after those that they call.
fn first_calls(module: &Module, main: &Func) -> HashSet<(FuncId, Op)> {
    let (mut first, mut seen) = (HashSet::new(), HashSet::new());
    let Some(main) = module.func_id(&main.name) else { return first };
    for id in callees_first(module, main) {
        for (op, callee) in calls(module, id) {
            if seen.insert(callee) {
                first.insert((id, op));
            }
        }
    }
    first
}

/// Every function before those that it calls.
pub(crate) fn callers_first(module: &Module) -> Vec<FuncId> {
    let all = (0..module.funcs.len()).map(FuncId::new);
    let mut order = reached_callees_first(module, all.collect());
    order.reverse();
    order
}

/// `main` and all that it reaches, every function after those that it calls.
fn callees_first(module: &Module, main: FuncId) -> Vec<FuncId> {
    reached_callees_first(module, vec![main])
}

fn reached_callees_first(module: &Module, roots: Vec<FuncId>) -> Vec<FuncId> {
    let mut order = vec![];
    let mut seen = vec![false; module.funcs.len()];
    let mut stack: Vec<(FuncId, bool)> = roots.into_iter().map(|id| (id, false)).collect();
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

fn calls(module: &Module, id: FuncId) -> Vec<(Op, FuncId)> {
    let body = &module[id].body;
    body.walk().into_iter().filter_map(|op| Some((op, callee(&module.view(body, op))?))).collect()
}

/// An error if a function calls itself, directly or through others.
pub(super) fn refuse_recursion(module: &Module) -> Result<(), Diagnostics> {
    let callees: Vec<Vec<(Op, FuncId)>> = (0..module.funcs.len()).map(|i| calls(module, FuncId::new(i))).collect();
    // 0: not seen, 1: on the way, 2: done.
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
    let message = format!("`@{}` calls `@{}`, which leads back to it", func.name, module[callee].name);
    Diagnostic::error("call-recursion", &func.body[op].loc, message).help("write the repetition as a `stablehlo.while`")
}

fn too_large(loc: &Loc) -> Diagnostic {
    let message = format!("the program has more than {MAX_OPS} ops once calls are replaced by the functions' bodies");
    Diagnostic::error("call-size", loc, message).help("write the repetition as a `stablehlo.while`")
}

fn too_deep(loc: &Loc) -> Diagnostic {
    Diagnostic::error("call-depth", loc, "calls of functions nest too deep").help("inline some of the functions")
}
