//! Converts the source to a draft: the main function, with every call replaced by the body of its callee. For single
//! steps of propagation, the draft may have several functions.
//!
//! A call that is replaced remains an op (a named computation), because shardings flow through its boundary along
//! edges. The bodies are filled in one after the other and not recursively, because a chain of calls may be long.

use crate::draft::{BlockId, Def, Draft, Frame, FrameId, NodeKind, OpId, Order, ValueId};
use shardwise_base::{Diagnostics, EntityVec, Sharding, budget};
use shardwise_ir::symbols::collect_referenced;
use shardwise_ir::{Func, FuncId, Module, Op, OpView, Region, Value};
use shardwise_ops::calls::{called, callee, callees_first, calls, refuse_expansion, refuse_recursion};
use std::collections::{BTreeSet, HashSet};

/// The calls that are replaced by the bodies of their callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Replaced {
    None,
    /// The calls by `func.call`.
    Calls,
    /// The calls by `func.call`, and the composites.
    All,
}

impl Replaced {
    fn callee(self, view: &OpView<'_>) -> Option<FuncId> {
        match self {
            Replaced::None => None,
            Replaced::Calls => called(view),
            Replaced::All => callee(view),
        }
    }
}

/// Returns the draft of all functions as they are. Data-flow edges are ordinary ops in it, see
/// [`super::edges::adopt_edges`]. Fails if a function calls itself, and as [`refuse_expansion`] does.
pub(crate) fn import_as_written(module: &Module) -> Result<Draft<'_>, Diagnostics> {
    let draft = import_funcs(module, &module.funcs.iter().collect::<Vec<_>>(), Replaced::None)?;
    Ok(with_calls(draft))
}

/// Returns the draft of the functions that are never called, or that an op other than a `func.call` refers to, with the
/// bodies of callees in place of calls by `func.call`. Fails if a function calls itself, and as [`refuse_expansion`]
/// does.
pub(crate) fn import_flat(module: &Module) -> Result<Draft<'_>, Diagnostics> {
    let mut is_called: EntityVec<FuncId, bool> = EntityVec::filled(module.funcs.len(), false);
    let mut names = BTreeSet::new();
    for func in &module.funcs {
        for op in func.body.walk() {
            let view = module.view(&func.body, op);
            match called(&view) {
                Some(id) => is_called[id] = true,
                None => collect_referenced(view.attrs(), &mut names),
            }
        }
    }
    let funcs = module.funcs.iter().zip(is_called);
    let roots: Vec<&Func> = funcs.filter(|(f, c)| !c || names.contains(&f.name)).map(|(f, _)| f).collect();
    import_funcs(module, &roots, Replaced::Calls)
}

/// Returns the draft of the main function, with the bodies of callees and of composites in place of their calls. Fails
/// if a function calls itself, and as [`refuse_expansion`] does.
pub(crate) fn import<'m>(module: &'m Module, main: &'m Func) -> Result<Draft<'m>, Diagnostics> {
    import_funcs(module, &[main], Replaced::All)
}

fn import_funcs<'m>(module: &'m Module, roots: &[&'m Func], replaced: Replaced) -> Result<Draft<'m>, Diagnostics> {
    refuse_recursion(module)?;
    refuse_expansion(module, roots, |view| replaced.callee(view))?;
    let originals = if replaced == Replaced::None { HashSet::new() } else { first_calls(module, roots) };
    let draft = Draft::empty(module, replaced != Replaced::All);
    let mut import = Import { draft, replaced, pending: vec![], originals };
    for &func in roots {
        let root = import.draft.add_root(func, None);
        import.pending.push((root, import.draft.frame(root).block));
        while let Some((frame, block)) = import.pending.pop() {
            import.frame(frame, block);
            if frame != root {
                import.declare_arguments(block);
            }
        }
    }
    Ok(import.draft)
}

fn with_calls(mut draft: Draft<'_>) -> Draft<'_> {
    for op in draft.walk(Order::Pre) {
        let callee = draft.source(op).and_then(|view| called(&view));
        if let Some(callee) = callee {
            draft.calls.insert(op, draft.roots[callee.index()]);
        }
    }
    draft
}

struct Import<'m> {
    draft: Draft<'m>,
    replaced: Replaced,
    /// The frames whose blocks are not filled yet.
    pending: Vec<(FrameId, BlockId)>,
    originals: HashSet<(FuncId, Op)>,
}

/// Maps the values of one frame's function to values of the draft.
struct Names {
    frame: FrameId,
    values: EntityVec<Value, Option<ValueId>>,
}

impl<'m> Import<'m> {
    fn frame(&mut self, frame: FrameId, block: BlockId) {
        let func = self.draft.frame(frame).func;
        let mut names = Names { frame, values: EntityVec::filled(func.body.value_count(), None) };
        self.block(&mut names, func.body.entry(), block);
    }

    fn block(&mut self, names: &mut Names, region: Region, block: BlockId) {
        let body = &self.func(names).body;
        for &arg in &body[region].args {
            let v = self.value(names, arg, Def::Argument(block));
            self.draft.block_mut(block).args.push(v);
        }
        for &op in &body[region].ops {
            budget::poll();
            let id = self.op(names, op, block);
            self.draft.block_mut(block).ops.push(id);
        }
    }

    fn func(&self, names: &Names) -> &'m Func {
        self.draft.frame(names.frame).func
    }

    fn value(&mut self, names: &mut Names, v: Value, def: Def) -> ValueId {
        let data = self.func(names).body.value(v);
        let is_as_written = self.draft.is_as_written;
        let sharding = data.sharding.as_ref().map(|s| if is_as_written { s.clone() } else { s.without_unit_axes() });
        let id = self.draft.add_value(&data.ty, &data.loc, def, sharding);
        names.values[v] = Some(id);
        id
    }

    /// Imports an op. Its uses are added in the order in which a text parser creates ops, after those in its regions.
    /// In a clone they are added before those in its regions.
    fn op(&mut self, names: &mut Names, op: Op, block: BlockId) -> OpId {
        let data = self.func(names).body.op(op);
        let view = self.draft.module.view(&self.func(names).body, op);
        let is_clone = self.draft.frame(names.frame).is_clone;
        let id = self.draft.add_op(names.frame, NodeKind::Source(op), &[], block);
        self.draft.op_mut(id).operands =
            data.operands.iter().map(|&v| names.values[v].expect("defined before it is used")).collect();
        if is_clone {
            self.draft.add_uses(id);
        }
        match self.replaced.callee(&view) {
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
        if let (NodeKind::Call { callee, .. }, Replaced::All) = (&self.draft.op(id).kind, self.replaced) {
            self.declare_results(id, *callee);
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
        let block = self.draft.add_block(Some(id));
        let func = &self.draft.module[callee];
        let callee = self.draft.frames.push(Frame { func, copy_name: None, block, caller, is_clone: !is_first });
        let node = self.draft.op_mut(id);
        node.kind = NodeKind::Call { callee, source: op };
        node.blocks.push(block);
        self.pending.push((callee, block));
    }

    fn is_first(&self, frame: FrameId, op: Op) -> bool {
        let frame = self.draft.frame(frame);
        let id = self.draft.module.func_id(&frame.func.name);
        !frame.is_clone && id.is_some_and(|id| self.originals.contains(&(id, op)))
    }

    fn declare_arguments(&mut self, block: BlockId) {
        let args = self.draft.block(block).args.clone();
        let given: Vec<Option<Sharding>> = args.iter().map(|&v| self.draft.value(v).sharding.clone()).collect();
        for (v, sharding) in args.iter().zip(open_where_missing(&given, &args, &self.draft)) {
            self.draft.value_mut(*v).sharding = sharding;
        }
    }

    /// Sets the shardings of a call's results to those that the callee declares ([`open_where_missing`]), unless a
    /// result of the call has a sharding already.
    fn declare_results(&mut self, id: OpId, callee: FrameId) {
        let declared = &self.draft.frame(callee).func.result_shardings;
        let results = self.draft.op(id).results.clone();
        if results.iter().any(|&v| self.draft.value(v).sharding.is_some()) {
            return;
        }
        for (v, sharding) in results.iter().zip(open_where_missing(declared, &results, &self.draft)) {
            self.draft.value_mut(*v).sharding = sharding;
        }
    }
}

/// Returns the declared shardings of several values, without axes of size 1 unless the draft is as written. If one of
/// them has a sharding, those without one become open on the same mesh. Returns `None` for each value if all shardings
/// are on single devices (`Mesh::is_maximal`), or if there are none.
fn open_where_missing(declared: &[Option<Sharding>], values: &[ValueId], draft: &Draft<'_>) -> Vec<Option<Sharding>> {
    let Some(mesh) = declared.iter().flatten().map(|s| &s.mesh).find(|m| !m.is_maximal()) else {
        return vec![None; declared.len()];
    };
    let open = |v: ValueId| Sharding::open(mesh, draft.value(v).ty.shape().len());
    let normalized = |s: &Sharding| if draft.is_as_written { s.clone() } else { s.without_unit_axes() };
    declared.iter().zip(values).map(|(s, &v)| Some(s.as_ref().map_or_else(|| open(v), normalized))).collect()
}

/// Returns the calls that take the bodies of their callees: for each function, the first call in the order that visits
/// callees before callers.
fn first_calls(module: &Module, roots: &[&Func]) -> HashSet<(FuncId, Op)> {
    let (mut first, mut seen) = (HashSet::new(), HashSet::new());
    let roots = roots.iter().filter_map(|f| module.func_id(&f.name)).collect();
    for id in callees_first(module, roots) {
        for (op, callee) in calls(module, id) {
            if seen.insert(callee) {
                first.insert((id, op));
            }
        }
    }
    first
}
