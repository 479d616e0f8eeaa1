//! Kinds of ops.
//!
//! Two ops are of one kind if they differ in nothing but their locations, the layouts of their tensors, and the origins
//! of the operands whose values are not known. All facts of an op depend on its kind alone, and programs have few
//! kinds.

use rustc_hash::FxHashMap;
use shardwise_base::{EntityVec, Literal, entity};
use shardwise_ir::{Attrs, Body, Op, OpCode, OpView, Region, Type, Value};
use shardwise_ops::{Opcode, RuleFact, constant_operand, known_operand};
use shardwise_sharding::Rule;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

entity! {
    /// The kind of an op among [`Kinds`].
    pub(crate) OpKind "kind"
}

/// The kinds of the ops that were met so far, each with its rule.
#[derive(Default)]
pub(crate) struct Kinds {
    known: FxHashMap<Key, OpKind>,
    /// The kind of each op of the present body that was met.
    ops: FxHashMap<Op, OpKind>,
    rules: EntityVec<OpKind, Option<Arc<Rule>>>,
}

/// Everything that the facts of an op depend on.
#[derive(PartialEq)]
struct Key {
    ops: SmallVec<[OpKey; 1]>,
    /// The arrays of the operands that are known, by index. The flag is true if a constant defines the operand.
    known: SmallVec<[(usize, bool, Literal); 1]>,
}

/// An op, or the arguments of a region.
#[derive(PartialEq)]
struct OpKey {
    /// The code of the op, or `None` for the arguments of a region.
    code: Option<OpCode>,
    attrs: Attrs,
    /// The types of the operands, then of the results, or the types of the arguments.
    types: SmallVec<[Type; 4]>,
    operand_count: usize,
    /// For an op in a region, the numbers of its operands among the values that regions of the op define. The list is
    /// empty for the op itself and for arguments.
    operands: SmallVec<[usize; 4]>,
}

/// Equality is reflexive, because attributes that share their entries are equal. Ops with separate attributes in which
/// a float is NaN are of different kinds.
impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, h: &mut H) {
        for op in &self.ops {
            op.code.hash(h);
            op.attrs.quick_hash(h);
            op.types.iter().for_each(|ty| ty.shape().hash(h));
        }
        self.known.hash(h);
    }
}

impl Kinds {
    /// Returns the kind of an op. An op with a region that uses values from around the op is of a kind of its own.
    pub fn of(&mut self, view: &OpView<'_>) -> OpKind {
        if let Some(&kind) = self.ops.get(&view.op) {
            return kind;
        }
        let rules = &mut self.rules;
        let mut new = || rules.push(rule_of(view));
        let kind = match Key::of(view) {
            Some(key) => *self.known.entry(key).or_insert_with(new),
            None => new(),
        };
        self.ops.insert(view.op, kind);
        kind
    }

    /// Forgets which ops were met, but not their kinds, because the next ones are those of another body.
    pub fn start_body(&mut self) {
        self.ops.clear();
    }

    /// Returns the rule along which ops of this kind may run sharded, or `None` if they have none.
    pub fn rule(&self, kind: OpKind) -> Option<&Arc<Rule>> {
        self.rules[kind].as_ref()
    }
}

/// Returns true if two ops are of one kind. An op with a region that uses values from around the op is never of the
/// kind of another one.
pub(crate) fn is_same(a: &OpView<'_>, b: &OpView<'_>) -> bool {
    Key::of(a).is_some_and(|key| Some(key) == Key::of(b))
}

fn rule_of(view: &OpView<'_>) -> Option<Arc<Rule>> {
    match Opcode::of_view(view).facts().rule(view) {
        RuleFact::Rule(rule) => Some(Arc::new(rule)),
        RuleFact::None(_) => None,
    }
}

impl Key {
    /// Returns the key of an op, or `None` if a region of the op uses values from around the op.
    fn of(view: &OpView<'_>) -> Option<Key> {
        let known = |i: usize| Some((i, constant_operand(view, i).is_some(), known_operand(view, i)?.clone()));
        let known = (0..view.operands().len()).filter_map(known).collect();
        let mut key = Key { ops: SmallVec::new(), known };
        key.ops.push(OpKey::new(view, SmallVec::new()));
        let mut inner = FxHashMap::default();
        view.regions().iter().all(|&r| key.region(view, r, &mut inner)).then_some(key)
    }

    /// Adds the ops of a region. `inner` numbers the values defined in regions so far. Returns false if an op uses any
    /// other value. The key is then incomplete.
    fn region(&mut self, view: &OpView<'_>, region: Region, inner: &mut FxHashMap<Value, usize>) -> bool {
        let data = &view.body[region];
        data.args.iter().for_each(|&v| _ = inner.insert(v, inner.len()));
        self.ops.push(OpKey::of_args(view.body, &data.args));
        data.ops.iter().all(|&op| {
            let view = view.at(op);
            let Some(operands) = view.operands().iter().map(|v| inner.get(v).copied()).collect() else { return false };
            view.results().iter().for_each(|&v| _ = inner.insert(v, inner.len()));
            self.ops.push(OpKey::new(&view, operands));
            view.regions().iter().all(|&r| self.region(&view, r, inner))
        })
    }
}

impl OpKey {
    fn new(view: &OpView<'_>, operands: SmallVec<[usize; 4]>) -> OpKey {
        let types = view.operands().iter().chain(view.results()).map(|&v| view.body.ty(v).clone()).collect();
        let (code, attrs, operand_count) = (Some(view.data().code), view.attrs().clone(), view.operands().len());
        OpKey { code, attrs, types, operand_count, operands }
    }

    fn of_args(body: &Body, args: &[Value]) -> OpKey {
        let types = args.iter().map(|&v| body.ty(v).clone()).collect();
        OpKey { code: None, attrs: Attrs::new(), types, operand_count: 0, operands: SmallVec::new() }
    }
}
