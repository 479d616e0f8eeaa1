//! Coverage: every op of the table that runs sharded is split along every factor of its rule, evenly and unevenly, and
//! where the factor has no element or one element. The results of the partitioned program must equal those of the whole
//! one bit for bit, on both engines.
//!
//! The programs are the ops' examples, variants of them with a factor of another size, and those of `programs`. A cell
//! of the table says how the op ran: on the parts of its operands, or on whole operands that were gathered first
//! (always if a factor would have more shards than elements). A kind of factor that an op's rules have, and that some
//! sizes leave empty, needs a reason. A reason that nothing needs is an error.

mod programs;

use crate::run;
use programs::{Reason, reasons};
use shardwise_base::{AxisIndex, AxisRef, Literal, Mesh, Sharding};
use shardwise_engine::Engine;
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Module, OpView, Type, text, verify};
use shardwise_ops::{OPS, Opcode, RuleFact, Semantics};
use shardwise_sharding::{Factor, FactorKind, Mapping, Rule};
use shardwise_spmd::{Options, run_until};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How the size of a factor compares with the axis that splits it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fit {
    Even,
    Uneven,
    /// A factor of size 0: no device has an element.
    Empty,
    /// A factor of size 1: one device has the element.
    One,
}

impl Fit {
    pub const ALL: [Fit; 4] = [Fit::Even, Fit::Uneven, Fit::Empty, Fit::One];

    pub fn name(self) -> &'static str {
        match self {
            Fit::Even => "even",
            Fit::Uneven => "uneven",
            Fit::Empty => "0",
            Fit::One => "1",
        }
    }
}

/// A kind of factor, in the order of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FactorColumn {
    PassThrough,
    Reduction,
    NeedReplication,
    Permutation,
}

impl FactorColumn {
    pub const ALL: [FactorColumn; 4] =
        [FactorColumn::PassThrough, FactorColumn::Reduction, FactorColumn::NeedReplication, FactorColumn::Permutation];

    fn of(kind: FactorKind) -> FactorColumn {
        match kind {
            FactorKind::PassThrough => FactorColumn::PassThrough,
            FactorKind::Reduction => FactorColumn::Reduction,
            FactorKind::NeedReplication => FactorColumn::NeedReplication,
            FactorKind::Permutation => FactorColumn::Permutation,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            FactorColumn::PassThrough => "pass-through",
            FactorColumn::Reduction => "reduction",
            FactorColumn::NeedReplication => "need replication",
            FactorColumn::Permutation => "permutation",
        }
    }
}

/// How an op ran whose operands or results are split along a factor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ran {
    /// Each device ran the op on its part: every dimension whose major factor is the split one was split.
    InParts,
    /// Some dimension whose major factor is the split one was not split, such as that of an operand that was gathered
    /// first, or there is no such dimension, or the partitioned program no longer has the op.
    Whole,
}

/// The runs of an op.
pub struct Row {
    pub op: Opcode,
    /// The reason why there are no runs, or `None` if there are some: the op has no sharding rule, or is not run
    /// sharded.
    pub none: Option<String>,
    pub cells: BTreeMap<(FactorColumn, Fit), Ran>,
    /// The reasons for empty cells, and for cells that ran whole although the kind could run in parts.
    pub reasons: Vec<&'static Reason>,
}

impl Row {
    /// Returns the kinds of factors that the op's rules have in the programs that ran.
    pub fn kinds(&self) -> BTreeSet<FactorColumn> {
        self.cells.keys().map(|k| k.0).collect()
    }
}

/// Runs the programs of every op, split along every factor. Once a kind of factor has run in parts with a [`Fit`], it
/// is not run with this fit again. Returns one row for each op.
///
/// # Errors
/// Fails if a program cannot be read, partitioned or run, if a split program has other results than the whole one, or
/// if the reasons of a row are not those that its cells need. The error has the failures of all ops.
pub fn coverage() -> Result<Vec<Row>, String> {
    let (mut rows, mut wrong) = (vec![], vec![]);
    for &op in Opcode::ALL {
        match row(op) {
            Ok(row) => rows.push(row),
            Err(found) => wrong.push(found),
        }
    }
    if wrong.is_empty() { Ok(rows) } else { Err(wrong.join("\n")) }
}

fn row(op: Opcode) -> Result<Row, String> {
    let mut row = Row { op, none: None, cells: BTreeMap::new(), reasons: vec![] };
    let example = text::parse(op.name(), op.facts().example(op), &OPS).map_err(|e| e.to_string())?;
    let example = Subject::new(op, example).expect("an example holds its op");
    row.none = example.why_not();
    if row.none.is_some() {
        return Ok(row);
    }
    example.check(&mut row.cells)?;
    for subject in example.resized() {
        subject.check(&mut row.cells)?;
    }
    for text in programs::of(op) {
        let module = text::parse(op.name(), &text, &OPS).and_then(|m| verify(&m).or(m));
        let module = module.map_err(|e| format!("{e}\nin\n{text}"))?;
        Subject::new(op, module).expect("a program of the op").check(&mut row.cells)?;
    }
    row.reasons = explained(&row)?;
    Ok(row)
}

/// Returns the reasons of a row. Fails if a cell that needs a reason has none, or if a reason is for a cell that needs
/// none. Only the kinds of factors that the row has are looked at.
///
/// A cell needs a reason if it is empty, or if it ran whole although it is of pass-through or reduction factors of at
/// least 2 elements.
fn explained(row: &Row) -> Result<Vec<&'static Reason>, String> {
    let given: Vec<&Reason> = reasons(row.op).collect();
    let mut wrong = vec![];
    for (kind, fit) in row.kinds().into_iter().flat_map(|k| Fit::ALL.map(|f| (k, f))) {
        let cell = row.cells.get(&(kind, fit));
        // A factor never has more shards than elements.
        let can_split = matches!(kind, FactorColumn::PassThrough | FactorColumn::Reduction)
            && matches!(fit, Fit::Even | Fit::Uneven);
        let needs = cell.is_none() || cell == Some(&Ran::Whole) && can_split;
        let has = given.iter().any(|r| r.kind == kind && r.fits.contains(&fit));
        if needs != has {
            let what = if has { "needs no reason" } else { "needs a reason" };
            wrong.push(format!("{}, {}, {}: {cell:?} {what}", row.op.name(), kind.name(), fit.name()));
        }
    }
    if wrong.is_empty() { Ok(given) } else { Err(wrong.join("\n")) }
}

/// Returns the sizes of axes over which a factor of this size is split: evenly and unevenly, if it has at least 2
/// elements.
fn fits(size: usize) -> Vec<(Fit, usize)> {
    match size {
        0 => vec![(Fit::Empty, 2)],
        1 => vec![(Fit::One, 2)],
        n => {
            let even = (2..=n).find(|d| n.is_multiple_of(*d)).map(|d| (Fit::Even, d));
            let uneven = (2..).find(|d| !n.is_multiple_of(*d)).map(|d| (Fit::Uneven, d));
            even.into_iter().chain(uneven).collect()
        }
    }
}

/// A program with the op that is tested.
struct Subject {
    op: Opcode,
    module: Module,
}

/// The sizes that the factors of an example also get.
const SIZES: [usize; 3] = [0, 1, 4];

impl Subject {
    fn new(op: Opcode, module: Module) -> Option<Subject> {
        let subject = Subject { op, module };
        subject.find(&subject.module)?;
        Some(subject)
    }

    fn find<'m>(&self, module: &'m Module) -> Option<OpView<'m>> {
        let body = &module.main()?.body;
        body.walk().into_iter().map(|op| module.view(body, op)).find(|v| Opcode::of_view(v) == self.op)
    }

    fn view(&self) -> OpView<'_> {
        self.find(&self.module).expect("looked at when made")
    }

    fn why_not(&self) -> Option<String> {
        let (view, facts) = (self.view(), self.op.facts());
        match (facts.semantics(&view), facts.rule(&view)) {
            (_, RuleFact::None(why)) => Some(why.into()),
            (Semantics::Pure, _) => None,
            (Semantics::Control, _) => Some("the engine runs it".into()),
            (Semantics::Collective, _) => Some("it stands in programs that are partitioned already".into()),
            (Semantics::Identity, _) => Some("a mark: nothing runs".into()),
        }
    }

    fn rule(&self) -> Option<Rule> {
        self.op.facts().rule(&self.view()).rule().cloned()
    }

    /// Returns copies of the program, in each of which one factor has another one of [`SIZES`]. Copies that do not
    /// verify are left out.
    fn resized(&self) -> Vec<Subject> {
        let rule = self.rule().expect("looked at before");
        let pairs = rule.all_factors().flat_map(|f| SIZES.map(|n| (f, n)));
        pairs.filter(|&(f, n)| rule.size(f) != n).filter_map(|(f, n)| self.with_size(&rule, f, n)).collect()
    }

    fn with_size(&self, rule: &Rule, factor: Factor, size: usize) -> Option<Subject> {
        let view = self.view();
        let size_of = |f: Factor, n: usize| if f == factor { n } else { rule.size(f) };
        let product = |dim: &[Factor], n: usize| dim.iter().map(|&f| size_of(f, n)).product::<usize>();
        let mut module = self.module.clone();
        let index = module.funcs.iter().position(|f| &*f.name == "main")?;
        for (i, &v) in view.operands().iter().chain(view.results()).enumerate() {
            let Some(mut t) = view.body.ty(v).as_tensor().cloned() else { continue };
            for (n, dim) in t.shape.iter_mut().zip(&rule.mapping(i).dims) {
                if *n == product(dim, rule.size(factor)) {
                    *n = product(dim, size);
                }
            }
            module.funcs[index].body.value_mut(v).ty = Type::Tensor(t);
        }
        let func = &mut module.funcs[index];
        let last = *func.body[func.body.entry()].ops.last()?;
        func.result_types = func.body[last].operands.iter().map(|&v| func.body.ty(v).clone()).collect();
        (!verify(&module).has_errors()).then_some(Subject { op: self.op, module })
    }

    /// Runs the program split along every factor whose cell is still empty or ran whole, and notes in `cells` how it
    /// ran. Does nothing if the op has no rule. Fails if a run fails or has other results than the whole program.
    fn check(&self, cells: &mut BTreeMap<(FactorColumn, Fit), Ran>) -> Result<(), String> {
        let Some(rule) = self.rule() else { return Ok(()) };
        let inputs = self.inputs();
        let want = run::whole(&self.module, &inputs).map_err(|e| format!("{}: {e}", self.op.name()))?;
        for factor in rule.all_factors() {
            for (fit, size) in fits(rule.size(factor)) {
                let cell = (FactorColumn::of(rule.kind(factor)), fit);
                if cells.get(&cell) != Some(&Ran::InParts) {
                    let ran = self.run_split(&rule, factor, size, &inputs, &want)?;
                    cells.entry(cell).and_modify(|old| *old = ran.min(*old)).or_insert(ran);
                }
            }
        }
        Ok(())
    }

    fn run_split(
        &self,
        rule: &Rule,
        factor: Factor,
        size: usize,
        inputs: &[Literal],
        want: &[Literal],
    ) -> Result<Ran, String> {
        let module = self.split(rule, factor, size);
        let place = format!("{} {rule} split along {factor} by {size}", self.op.name());
        let at = |e: shardwise_base::Diagnostics| format!("{place}: {e}");
        let local = run::partitioned(&module).map_err(at)?.module;
        for engine in [&InterpEngine as &dyn Engine, &HostEngine::default()] {
            let got = run::on(engine, &local, inputs).map_err(at)?;
            if got != want {
                return Err(format!("{place}, {}:\n got {got:?}\nwant {want:?}", engine.name()));
            }
        }
        let resharded = run_until("reshard", &module, &mut Options::default()).map_err(at)?;
        Ok(self.how_it_ran(&resharded, rule, factor))
    }

    /// Returns the program with every dimension whose major factor is `factor` split over an axis of size `size`. No
    /// other dimension is split.
    fn split(&self, rule: &Rule, factor: Factor, size: usize) -> Module {
        let mesh = Arc::new(Mesh::new("mesh", [("x", size)]).expect("a mesh"));
        let x = AxisRef::full(AxisIndex::new(0));
        let sharding = |m: &Mapping| {
            let dims = m.dims.iter().map(|d| if d.first() == Some(&factor) { vec![x] } else { vec![] });
            Sharding::closed(&mesh, dims.collect())
        };
        let view = self.view();
        let values = view.operands().iter().chain(view.results()).enumerate();
        let shardings: Vec<_> = values.map(|(i, &v)| (v, sharding(rule.mapping(i)))).collect();
        let mut module = self.module.clone();
        let index = module.funcs.iter().position(|f| &*f.name == "main").expect("a main");
        for (v, sharding) in shardings {
            if module.funcs[index].body.ty(v).as_tensor().is_some() {
                module.funcs[index].body.value_mut(v).sharding = Some(sharding);
            }
        }
        module.meshes.push(mesh);
        module
    }

    /// Returns [`Ran::InParts`] if the op in the module after resharding has dimensions whose major factor is `factor`,
    /// and all of them are split. Otherwise, returns [`Ran::Whole`], also if the op no longer exists.
    fn how_it_ran(&self, resharded: &Module, rule: &Rule, factor: Factor) -> Ran {
        let Some(view) = self.find(resharded) else { return Ran::Whole };
        let holds = |i: usize| rule.mapping(i).dims.iter().position(|d| d.first() == Some(&factor));
        let is_split = |v: &shardwise_ir::Value, dim: usize| {
            view.body.sharding(*v).is_some_and(|s| s.dims.get(dim).is_some_and(|d| !d.axes.is_empty()))
        };
        let values = view.operands().iter().chain(view.results()).enumerate();
        let mut holders = values.filter_map(|(i, v)| Some(is_split(v, holds(i)?))).peekable();
        if holders.peek().is_some() && holders.all(|split| split) { Ran::InParts } else { Ran::Whole }
    }

    fn inputs(&self) -> Vec<Literal> {
        let body = &self.module.main().expect("a main").body;
        let types = body.args().iter().map(|&v| body.ty(v).as_tensor().expect("pure ops take arrays"));
        types.enumerate().map(|(i, t)| programs::sample(t, i)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitioned_ops_equal_whole_ones_in_every_cell() {
        let rows = coverage().unwrap_or_else(|e| panic!("{e}"));
        let count = |ran: Ran| rows.iter().flat_map(|r| r.cells.values()).filter(|r| **r == ran).count();
        assert!(count(Ran::InParts) > 200 && count(Ran::Whole) > 200, "{} {}", count(Ran::InParts), count(Ran::Whole));
    }
}
