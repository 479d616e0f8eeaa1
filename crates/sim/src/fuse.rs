//! Which ops of a block run as one: chains of elementwise ops and of ops that only move elements are fused into the op
//! that uses them, and a product is fused with the elementwise ops that use it.
//!
//! An op joins the group of its users only if all of them are in one group. So only the last op of a group is used
//! outside of it, and no group depends on itself.

use crate::op::Product;
use shardwise_ir::{Op, OpView, Uses, Value};
use shardwise_ops::collective::CollectiveView;
use shardwise_ops::{Effects, Linear, Opcode, PropagationClass, Semantics};
use std::collections::{HashMap, HashSet};

/// An op that is no product and has no regions is left to the scalar unit if its operands have at most this many
/// elements in all, and its results as well.
pub(crate) const SCALAR_ELEMENTS: usize = 64;

/// A part of a block that is scheduled as a whole.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Item {
    /// Ops that run as one, in program order. The last one makes the results.
    Group(Vec<Op>),
    /// An op that takes no time, such as a constant, a reshape, an op on few elements, or one whose result its users
    /// compute.
    Free(Op),
    /// A collective, an asynchronous op, control flow, a call, or another op that the engine runs itself.
    Engine(Op),
}

impl Item {
    pub(crate) fn ops(&self) -> &[Op] {
        match self {
            Item::Group(ops) => ops,
            Item::Free(op) | Item::Engine(op) => std::slice::from_ref(op),
        }
    }

    pub(crate) fn root(&self) -> Op {
        match self {
            Item::Group(ops) => *ops.last().expect("a group has an op"),
            Item::Free(op) | Item::Engine(op) => *op,
        }
    }
}

/// How an op takes part in fusion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// The engine runs the op, or the op moves data between devices.
    Engine,
    /// The op takes no time wherever it is.
    Free,
    /// The op takes no time, and values are fused through it.
    Bitcast,
    /// The op takes no time if all of its users are in groups, which then compute it themselves. If they are in one
    /// group, the op joins it.
    FreeInGroups,
    /// The op can be fused into its user.
    Fusible,
    Product,
    Other,
}

pub(crate) fn items(block: OpView<'_>, ops: &[Op], uses: &Uses) -> Vec<Item> {
    let kinds = ops.iter().map(|&op| (op, kind(&block.at(op)))).collect();
    let mut fusion =
        Fusion { block, uses, kinds, roots: HashMap::new(), products: HashMap::new(), free: HashSet::new() };
    ops.iter().rev().for_each(|&op| fusion.add(op));
    fusion.items(ops)
}

/// The groups of a block while its ops are added, last to first.
struct Fusion<'a> {
    block: OpView<'a>,
    uses: &'a Uses,
    kinds: HashMap<Op, Kind>,
    /// The last op of each op's group.
    roots: HashMap<Op, Op>,
    /// For each group, by its last op, the product among its ops, or one that only an op of the group uses. A group
    /// without such a product has no entry.
    products: HashMap<Op, Op>,
    free: HashSet<Op>,
}

impl Fusion<'_> {
    fn add(&mut self, op: Op) {
        let kind = self.kinds[&op];
        let view = self.block.at(op);
        let users = self.roots_of_users(&view);
        let is_free = match kind {
            Kind::Engine => return,
            Kind::Free => true,
            Kind::Bitcast => users.as_ref().is_none_or(|users| users.len() != 1),
            Kind::FreeInGroups => users.as_ref().is_some_and(|users| users.len() != 1),
            _ => false,
        };
        if is_free {
            self.free.insert(op);
            return;
        }
        let product = if kind == Kind::Product { Some(op) } else { self.own_product(&view) };
        let root = match users.as_deref() {
            Some(&[root]) if self.joins(kind, product, root) => root,
            _ => op,
        };
        self.roots.insert(op, root);
        if let Some(product) = product {
            self.products.entry(root).or_insert(product);
        }
    }

    /// Returns true if an op of this kind, with this product or none, can join the group whose last op is `root`.
    fn joins(&self, kind: Kind, product: Option<Op>, root: Op) -> bool {
        let is_elementwise = matches!(self.kinds[&root], Kind::Fusible | Kind::FreeInGroups);
        let fits = match (product, self.products.get(&root)) {
            (None, _) => true,
            (Some(product), Some(&known)) => product == known,
            (Some(_), None) => is_elementwise,
        };
        fits && !matches!(kind, Kind::Other)
    }

    /// Returns the product that only this op uses, with which it is fused: the last one if there are several, so that
    /// the others need not wait for it. Returns `None` if there is none.
    fn own_product(&self, view: &OpView<'_>) -> Option<Op> {
        let is_own = |op: &Op| {
            let is_product = self.kinds.get(op) == Some(&Kind::Product);
            is_product && self.block.body[*op].results.iter().all(|&v| self.has_one_user(v))
        };
        view.operands().iter().filter_map(|&v| view.body.def_op(v)).filter(is_own).max()
    }

    fn has_one_user(&self, v: Value) -> bool {
        let uses = self.uses.of(v);
        uses.first().is_some_and(|first| uses.iter().all(|other| other.op == first.op))
    }

    /// Returns the last ops of the groups that use the results of an op, sorted: none if nothing uses them. Returns
    /// `None` if an op in no group uses one.
    fn roots_of_users(&self, view: &OpView<'_>) -> Option<Vec<Op>> {
        let uses = view.results().iter().flat_map(|&v| self.uses.of(v));
        let mut found: Vec<Op> = uses.map(|user| self.roots.get(&user.op).copied()).collect::<Option<_>>()?;
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    fn items(self, ops: &[Op]) -> Vec<Item> {
        let mut groups: HashMap<Op, Vec<Op>> = HashMap::new();
        for &op in ops {
            if let Some(&root) = self.roots.get(&op) {
                groups.entry(root).or_default().push(op);
            }
        }
        let item = |&op: &Op| match self.kinds[&op] {
            Kind::Engine => Some(Item::Engine(op)),
            _ if self.free.contains(&op) => Some(Item::Free(op)),
            _ => groups.remove(&op).map(Item::Group),
        };
        ops.iter().filter_map(item).collect()
    }
}

fn kind(view: &OpView<'_>) -> Kind {
    let opcode = Opcode::of_view(view);
    let facts = opcode.facts();
    match facts.semantics(view) {
        Semantics::Control => return Kind::Engine,
        Semantics::Identity => return Kind::Free,
        Semantics::Collective if CollectiveView::of(view).is_some() || !view.regions().is_empty() => {
            return Kind::Engine;
        }
        Semantics::Collective if matches!(opcode, Opcode::AsyncDone) => return Kind::Engine,
        // The number of a device, or of a replica.
        Semantics::Collective => return Kind::Free,
        Semantics::Pure => {}
    }
    if opcode == Opcode::CustomCall {
        return Kind::Other;
    }
    if view.operands().is_empty() && facts.effects(view) == Effects::Pure {
        return if opcode == Opcode::Constant { Kind::Free } else { Kind::FreeInGroups };
    }
    if view.regions().is_empty()
        && Product::of(view).is_none()
        && elements(view, view.operands()).max(elements(view, view.results())) <= SCALAR_ELEMENTS
    {
        return Kind::Free;
    }
    match () {
        () if is_bitcast(view) => Kind::Bitcast,
        () if is_fusible(view) && facts.propagation_class(view) == PropagationClass::Broadcast => Kind::FreeInGroups,
        () if is_fusible(view) => Kind::Fusible,
        () if Product::of(view).is_some() => Kind::Product,
        () => Kind::Other,
    }
}

fn elements(view: &OpView<'_>, values: &[Value]) -> usize {
    values.iter().filter_map(|&v| view.body.ty(v).as_tensor()).map(|t| t.size()).sum()
}

/// Returns true if an op computes each element of its results from few elements of its operands: it is elementwise, it
/// is a dynamic slice or its update, or it moves elements and is linear in all operands together, as `transpose` and
/// `concatenate` are. A `gather` is none of these. Ops with regions and with effects do not count.
pub(crate) fn is_fusible(view: &OpView<'_>) -> bool {
    let facts = Opcode::of_view(view).facts();
    let class = facts.propagation_class(view);
    let moves = facts.cost(view).flops == 0.0
        && (facts.linear(view) == Linear::Jointly || class == PropagationClass::DynamicSlice);
    view.regions().is_empty()
        && facts.effects(view) == Effects::Pure
        && (class == PropagationClass::Elementwise || moves)
}

/// Returns true if an op moves elements and keeps their order, so that its result is its operand under another shape.
/// Dimensions of size 1 may not come and go, because arrays of chips have tiles.
fn is_bitcast(view: &OpView<'_>) -> bool {
    keeps_order(view, 1)
}

/// Returns true if an op of one operand moves elements, keeps their number and their order, and has a sharding rule
/// that tells so. Factors of fewer than `least` elements may come and go.
pub(crate) fn keeps_order(view: &OpView<'_>, least: usize) -> bool {
    let facts = Opcode::of_view(view).facts();
    if facts.propagation_class(view) != PropagationClass::PassThrough || view.operands().len() != 1 {
        return false;
    }
    let rule = facts.rule(view);
    let Some(rule) = rule.rule() else { return false };
    let [from, to] = [&rule.operands[0], &rule.results[0]].map(|m| m.factors().filter(|&f| rule.size(f) >= least));
    from.eq(to) && elements(view, view.operands()) == elements(view, view.results())
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::text;

    fn groups(body: &str) -> Vec<String> {
        let source = format!(
            "func.func @main(%x: tensor<128x128xf32>, %y: tensor<128x128xf32>) -> tensor<128x128xf32> {{\n{body}\n}}"
        );
        let source = source.replace("MATRIX", "tensor<128x128xf32>");
        let module = text::parse("test", &source, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"));
        let body = &module.main().unwrap().body;
        let (&last, ops) = body[body.entry()].ops.split_last().unwrap();
        let block = module.view(body, last);
        let name = |op: &Op| block.at(*op).name().trim_start_matches("stablehlo.").to_string();
        let shown = |item: Item| match item {
            Item::Group(ops) => Some(ops.iter().map(name).collect::<Vec<_>>().join(" ")),
            Item::Free(_) => None,
            Item::Engine(_) => Some(String::new()),
        };
        items(block, ops, &Uses::compute(body)).into_iter().filter_map(shown).collect()
    }

    const DOT: &str = "contracting_dims = [1] x [0] : (MATRIX, MATRIX) -> MATRIX";

    #[test]
    fn chains_are_one_group() {
        let chain = "%0 = stablehlo.negate %x : MATRIX
          %1 = stablehlo.tanh %0 : MATRIX
          %2 = stablehlo.add %1, %y : MATRIX
          return %2 : MATRIX";
        assert_eq!(groups(chain), ["negate tanh add"]);
        let shared = format!(
            "%0 = stablehlo.negate %x : MATRIX
             %1 = stablehlo.tanh %0 : MATRIX
             %2 = stablehlo.dot_general %0, %1, {DOT}
             return %2 : MATRIX"
        );
        // Both users of the negation are in one group.
        assert_eq!(groups(&shared), ["negate tanh dot_general"]);
    }

    #[test]
    fn a_product_has_what_comes_before_and_after() {
        let body = format!(
            "%0 = stablehlo.negate %x : MATRIX
             %1 = stablehlo.dot_general %0, %y, {DOT}
             %2 = stablehlo.tanh %1 : MATRIX
             return %2 : MATRIX"
        );
        assert_eq!(groups(&body), ["negate dot_general tanh"]);
    }

    #[test]
    fn sums_of_products_are_a_group_for_each_product() {
        let body = format!(
            "%0 = stablehlo.dot_general %x, %y, {DOT}
             %1 = stablehlo.dot_general %y, %x, {DOT}
             %2 = stablehlo.add %0, %1 : MATRIX
             %3 = stablehlo.dot_general %x, %x, {DOT}
             %4 = stablehlo.add %2, %3 : MATRIX
             return %4 : MATRIX"
        );
        assert_eq!(groups(&body), ["dot_general", "dot_general add", "dot_general add"]);
    }

    #[test]
    fn what_users_compute_themselves_is_in_no_group() {
        let body = format!(
            "%c = stablehlo.constant dense<1.0> : tensor<f32>
             %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> MATRIX
             %1 = stablehlo.add %x, %0 : MATRIX
             %2 = stablehlo.multiply %y, %0 : MATRIX
             %3 = stablehlo.dot_general %1, %2, {DOT}
             %4 = stablehlo.dot_general %3, %0, {DOT}
             return %4 : MATRIX"
        );
        assert_eq!(groups(&body), ["add multiply dot_general", "dot_general"]);
    }
}
