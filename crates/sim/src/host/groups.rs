//! Groups the ops of a block that run as one instruction on a host: chains of elementwise ops, with the reductions of
//! trailing dimensions that they use, or with the reduction that uses them. Ops that only change where elements are
//! read are part of the ops that use them.

use crate::fuse::{is_fusible, keeps_order};
use crate::op::Product;
use shardwise_ir::{Op, OpView, Uses, Value};
use shardwise_ops::collective::CollectiveView;
use shardwise_ops::dot::has_no_sum;
use shardwise_ops::lapack;
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::{Effects, Opcode, PropagationClass, Semantics};
use std::collections::{HashMap, HashSet};

const MAX_OPS: usize = 48;
/// The largest distance, in ops, from the last op of a group to another one.
const WINDOW: usize = 160;

/// A part of a block that runs as a whole.
pub(super) enum Item {
    /// Ops that run as one instruction, in program order. The last one makes the result.
    Group(Vec<Op>),
    /// An op that does nothing when the program runs.
    Free(Op),
    /// Control flow, a call, a collective, an asynchronous start, or another op that the engine runs itself.
    Engine(Op),
    /// Ops on few elements, which may be loops and branches, that run as one instruction, in program order.
    Small(Vec<Op>),
}

impl Item {
    pub(super) fn ops(&self) -> &[Op] {
        match self {
            Item::Group(ops) | Item::Small(ops) => ops,
            Item::Free(op) | Item::Engine(op) => std::slice::from_ref(op),
        }
    }

    pub(super) fn root(&self) -> Op {
        *self.ops().last().expect("an item has an op")
    }
}

/// How an op takes part in fusion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It is known before the program runs, or passes its operand on.
    Free,
    Engine,
    /// It computes each element of its result from one element of each operand, or has no operands.
    Elementwise,
    /// It folds elements along some dimensions or in windows.
    Reduce,
    /// It only changes where elements are.
    View,
    Other,
}

pub(super) fn kind(view: &OpView<'_>) -> Kind {
    let opcode = Opcode::of_view(view);
    let facts = opcode.facts();
    match facts.semantics(view) {
        Semantics::Control => return Kind::Engine,
        Semantics::Identity => return Kind::Free,
        Semantics::Collective if CollectiveView::of(view).is_some() || opcode == Opcode::AsyncStart => {
            return Kind::Engine;
        }
        Semantics::Collective => return Kind::Free,
        Semantics::Pure => {}
    }
    if opcode == Opcode::Constant || is_alias(view) {
        return Kind::Free;
    }
    let is_plain = view.results().len() == 1 && view.regions().is_empty() && facts.effects(view) == Effects::Pure;
    let class = facts.propagation_class(view);
    match () {
        () if view.results().len() == 1 && reduce_kind_of_op(view).is_some() && class != PropagationClass::Other => {
            Kind::Reduce
        }
        () if is_reduction(view) => Kind::Reduce,
        () if !is_plain => Kind::Other,
        () if class == PropagationClass::Elementwise || view.operands().is_empty() => Kind::Elementwise,
        () if is_multiplication(view) => Kind::Elementwise,
        () if view.operands().len() == 1 && is_fusible(view) => Kind::View,
        () => Kind::Other,
    }
}

/// Returns true for a product without a sum that the engine fuses as a multiplication: one of real numbers.
pub(super) fn is_multiplication(view: &OpView<'_>) -> bool {
    has_no_sum(view) && view.result_type(0).as_tensor().is_some_and(|ty| !ty.dtype.is_complex())
}

/// Returns true if the result is the operand under another shape. Arrays of a host have no tiles.
fn is_alias(view: &OpView<'_>) -> bool {
    keeps_order(view, 2)
}

fn is_reduction(view: &OpView<'_>) -> bool {
    let is_one = view.results().len() == 1 && view.operands().len() == 2 && reduce_kind_of_op(view).is_some();
    let sizes = || Some((view.body.ty(*view.operands().first()?).as_tensor()?, view.result_type(0).as_tensor()?));
    is_one && Product::of(view).is_none() && sizes().is_some_and(|(from, to)| from.rank() >= to.rank())
}

/// The largest number of real elements of an array of a small program outside of loops. A complex number counts as two,
/// and arrays of which a slice or gather reads a part may be larger. Source: the host engine.
const SMALL_SIZE: usize = 1024;

/// The largest number of real elements of an array in a loop whose ops have results of at most [`SMALL_SIZE`] on
/// average. Source: the host engine.
const SMALL_SIZE_IN_LOOPS: usize = 1 << 14;

/// Returns the items with those that follow one another joined where the engine runs them as one small program.
pub(super) fn joined(
    block: OpView<'_>,
    items: Vec<Item>,
    uses: &Uses,
    instances: &dyn Fn(Value) -> usize,
) -> Vec<Item> {
    let mut joining = Joining { block, uses, instances, open: vec![], done: vec![] };
    items.into_iter().for_each(|item| joining.add(item));
    joining.close();
    joining.done
}

struct Joining<'a> {
    block: OpView<'a>,
    uses: &'a Uses,
    instances: &'a dyn Fn(Value) -> usize,
    /// The items that may become one small program. Of the free items, only ops of [`Kind::View`] may come before the
    /// first item that is not free.
    open: Vec<Item>,
    done: Vec<Item>,
}

impl Joining<'_> {
    fn add(&mut self, item: Item) {
        if matches!(item, Item::Free(_)) {
            return self.add_free(item);
        }
        let can_join = item.ops().iter().all(|&op| is_small(&self.block.at(op), SMALL_SIZE, false));
        let count = self.count(&item);
        let mut busy = self.open.iter().filter(|item| !matches!(item, Item::Free(_)));
        if !can_join || busy.next().is_some_and(|first| self.count(first) != count) {
            self.close();
        }
        if can_join {
            let views = self.taken_views(&item);
            self.open.extend(views);
            self.open.push(item);
        } else {
            self.done.push(item);
        }
    }

    /// Takes the ops out of the last [`WINDOW`] items of `done` that only change where elements are, whose results are
    /// small, and whose users are all in `item`, in the open items, or taken: small programs move these elements.
    fn taken_views(&mut self, item: &Item) -> Vec<Item> {
        let mut inside: HashSet<Op> =
            self.open.iter().chain([item]).flat_map(|item| item.ops().iter().copied()).collect();
        let is_taken = |item: &Item| {
            let Item::Free(op) = *item else { return false };
            let view = self.block.at(op);
            let is_small = kind(&view) == Kind::View && view.results().iter().all(|v| is_few(&view, *v, SMALL_SIZE));
            let mut users = view.results().iter().flat_map(|&v| self.uses.of(v));
            let is_only_here = is_small && users.all(|user| inside.contains(&user.op));
            is_only_here && inside.insert(op)
        };
        let recent = self.done.len().saturating_sub(WINDOW);
        // Users come after what they use.
        let taken: Vec<bool> = self.done[recent..].iter().rev().map(is_taken).collect();
        let mut taken = taken.into_iter().rev();
        self.done.extract_if(recent.., |_| taken.next() == Some(true)).collect()
    }

    /// Adds an op that does nothing. It joins the open items if it reads a result of them and its own results are
    /// small. If it reads one and its own are large, the open items are closed first.
    fn add_free(&mut self, item: Item) {
        let view = self.block.at(item.root());
        let made = |v: &Value| self.open.iter().any(|item| self.results(item).any(|own| own == *v));
        let is_inside = view.operands().iter().any(made);
        if is_inside && view.results().iter().all(|v| is_few(&view, *v, SMALL_SIZE)) {
            self.open.push(item);
            return;
        }
        if is_inside {
            self.close();
        }
        self.done.push(item);
    }

    fn results(&self, item: &Item) -> impl Iterator<Item = Value> {
        item.ops().iter().flat_map(|&op| self.block.body[op].results.iter().copied())
    }

    /// Returns the largest number of instances of an item's results, or 1 if it has none.
    fn count(&self, item: &Item) -> usize {
        self.results(item).map(self.instances).max().unwrap_or(1)
    }

    /// Moves the open items to the others: as one small program if they have several ops, an op with regions, or an op
    /// that reads a constant.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        let ops: Vec<Op> = open.iter().flat_map(|item| item.ops().iter().copied()).collect();
        let has_constant = |&op: &Op| {
            let mut defs = self.block.body[op].operands.iter().filter_map(|&v| self.block.body.def_op(v));
            defs.any(|def| Opcode::of_view(&self.block.at(def)) == Opcode::Constant)
        };
        if ops.len() > 1 || ops.iter().any(|op| !self.block.body[*op].regions.is_empty() || has_constant(op)) {
            self.done.push(Item::Small(ops));
        } else {
            self.done.extend(open);
        }
    }
}

/// Returns the number of real numbers in an array: its elements, of which a complex one counts as two. Returns `None`
/// for values that are not arrays.
fn size(view: &OpView<'_>, v: Value) -> Option<usize> {
    view.body.ty(v).as_tensor().map(|tensor| tensor.size() * if tensor.dtype.is_complex() { 2 } else { 1 })
}

fn is_few(view: &OpView<'_>, v: Value, limit: usize) -> bool {
    size(view, v).is_some_and(|size| size <= limit)
}

/// Returns the number of real numbers ([`size`]) that an array in a loop may have, if arrays outside of it may have
/// `limit`: [`SMALL_SIZE_IN_LOOPS`] if the results of the loop's ops have at most [`SMALL_SIZE`] for each op on
/// average, and otherwise `limit`.
fn limit_of_loop(view: &OpView<'_>, limit: usize) -> usize {
    let mut ops = vec![];
    view.regions().iter().for_each(|&region| view.body.walk_region(region, &mut ops));
    let results = ops.iter().flat_map(|&op| &view.body[op].results);
    let sum: usize = results.filter_map(|&v| size(view, v)).sum();
    if sum <= SMALL_SIZE * ops.len() { SMALL_SIZE_IN_LOOPS } else { limit }
}

/// Returns true if an op can be a part of a small program in which arrays may have `limit` real numbers ([`size`]), as
/// far as its kind and its sizes tell. The results of a loop may be larger, and so may arrays of which an op reads a
/// slice or gathers elements, or updates a slice in a loop.
fn is_small(view: &OpView<'_>, limit: usize, is_in_loop: bool) -> bool {
    let limit = if Opcode::of_view(view) == Opcode::While { limit_of_loop(view, limit) } else { limit };
    let few = |&v: &Value| is_few(view, v, limit);
    let (operands, results) = (view.operands(), view.results());
    match (kind(view), Opcode::of_view(view)) {
        (Kind::Free, _) => results.iter().all(few),
        (Kind::Engine, Opcode::While | Opcode::Case | Opcode::If) => {
            let bodies = view.regions().iter().filter_map(|&region| view.body.region(region).ops.split_last());
            let mut inner = bodies.flat_map(|(_, ops)| ops);
            let is_loop = Opcode::of_view(view) == Opcode::While;
            (is_loop || results.iter().all(few))
                && inner.all(|&op| is_small(&view.at(op), limit, is_in_loop || is_loop))
        }
        (Kind::Engine, _) => false,
        (_, Opcode::DynamicUpdateSlice) if is_in_loop => operands[1..].iter().all(few),
        // Windows of a large array are read in its place.
        (_, Opcode::DynamicSlice | Opcode::Gather) => results.iter().all(few),
        (Kind::Elementwise | Kind::Reduce | Kind::View, _) => operands.iter().chain(results).all(few),
        (Kind::Other, opcode) => {
            let is_moved =
                matches!(opcode, Opcode::Concatenate | Opcode::Pad | Opcode::DynamicUpdateSlice | Opcode::Scatter);
            let is_called = matches!(
                opcode,
                Opcode::Reduce | Opcode::ReduceWindow | Opcode::Sort | Opcode::Cholesky | Opcode::TriangularSolve
            );
            (is_moved || is_called || lapack::Call::of(view).is_some() || Product::of(view).is_some())
                && operands.iter().chain(results).all(few)
        }
    }
}

/// The ops of a block while they are grouped.
struct Grouping<'a> {
    block: OpView<'a>,
    uses: &'a Uses,
    instances: &'a dyn Fn(Value) -> usize,
    kinds: HashMap<Op, Kind>,
    /// The ops of [`Kind::View`], among those that were visited, whose users all read the op's operand in place of its
    /// result.
    read_through: HashSet<Op>,
}

pub(super) fn items(block: OpView<'_>, ops: &[Op], uses: &Uses, instances: &dyn Fn(Value) -> usize) -> Vec<Item> {
    let kinds = ops.iter().map(|&op| (op, kind(&block.at(op)))).collect();
    let mut grouping = Grouping { block, uses, instances, kinds, read_through: HashSet::new() };
    let mut groups: HashMap<Op, Vec<Op>> = HashMap::new();
    let mut claimed: HashSet<Op> = HashSet::new();
    for root in (0..ops.len()).rev() {
        let (op, kind) = (ops[root], grouping.kinds[&ops[root]]);
        match kind {
            Kind::Elementwise | Kind::Reduce if !claimed.contains(&op) => {
                let group = grouping.grow(ops, root, &claimed);
                claimed.extend(&group);
                groups.insert(op, group);
            }
            Kind::View if grouping.is_read_through(op) => _ = grouping.read_through.insert(op),
            _ => {}
        }
    }
    let item = |&op: &Op| match grouping.kinds[&op] {
        Kind::Free => Some(Item::Free(op)),
        Kind::Engine => Some(Item::Engine(op)),
        _ if groups.contains_key(&op) => groups.remove(&op).map(Item::Group),
        _ if claimed.contains(&op) => None,
        Kind::View if grouping.read_through.contains(&op) => Some(Item::Free(op)),
        _ => Some(Item::Group(vec![op])),
    };
    ops.iter().filter_map(item).collect()
}

impl Grouping<'_> {
    /// Returns the root and the elementwise ops and reductions before it that run as one instruction with it, in
    /// program order. Ops between them that only change where elements are, are left out.
    fn grow(&self, ops: &[Op], root: usize, claimed: &HashSet<Op>) -> Vec<Op> {
        let root_view = self.block.at(ops[root]);
        let mut group = vec![ops[root]];
        let mut members: HashSet<Op> = HashSet::from([ops[root]]);
        for &op in ops[root.saturating_sub(WINDOW)..root].iter().rev() {
            let kind = self.kinds[&op];
            let is_view = kind == Kind::View || (kind == Kind::Free && is_alias(&self.block.at(op)));
            let may_join = is_view || matches!(kind, Kind::Elementwise | Kind::Reduce);
            if group.len() >= MAX_OPS || claimed.contains(&op) || !may_join {
                continue;
            }
            let view = self.block.at(op);
            let own = view.results().iter().flat_map(|&v| self.uses.of(v));
            let is_only_here = own.clone().next().is_some() && own.clone().all(|user| members.contains(&user.op));
            if is_only_here && (is_view || self.suits(&view, &root_view)) {
                members.insert(op);
                group.push(op);
            }
        }
        group.reverse();
        group.retain(|&op| op == ops[root] || matches!(self.kinds[&op], Kind::Elementwise | Kind::Reduce));
        group
    }

    fn suits(&self, view: &OpView<'_>, root: &OpView<'_>) -> bool {
        if (self.instances)(view.result(0)) != (self.instances)(root.result(0)) {
            return false;
        }
        let folds = self.kinds[&root.op] == Kind::Reduce;
        let space = if folds { root.operand_shape(0) } else { root.result_type(0).shape() };
        if self.kinds[&view.op] == Kind::Reduce {
            let kept = view.result_type(0).shape();
            return !folds && view.operand_shape(0) == space && space.starts_with(kept);
        }
        let size: usize = space.iter().product();
        let row = space.last().copied().unwrap_or(1).max(1);
        let own: usize = view.result_type(0).shape().iter().product();
        own == size || (own <= size / row && !folds) || own <= 1
    }

    /// Returns true if all users of an op of [`Kind::View`] read its operand in place of its result, or if there are
    /// none. The users must have been visited before.
    fn is_read_through(&self, op: Op) -> bool {
        let view = self.block.at(op);
        let reads_through = |user: Op| match self.kinds.get(&user) {
            Some(Kind::Elementwise | Kind::Reduce) => true,
            Some(Kind::Other) => Product::of(&self.block.at(user)).is_some() && is_permutation(&view),
            Some(Kind::View) => self.read_through.contains(&user),
            _ => false,
        };
        view.results().iter().flat_map(|&v| self.uses.of(v)).all(|user| reads_through(user.op))
    }
}

fn is_permutation(view: &OpView<'_>) -> bool {
    let class = Opcode::of_view(view).facts().propagation_class(view);
    let sizes = || Some((view.operand_type(0).as_tensor()?.size(), view.result_type(0).as_tensor()?.size()));
    class == PropagationClass::PassThrough && sizes().is_some_and(|(from, to)| from == to)
}
