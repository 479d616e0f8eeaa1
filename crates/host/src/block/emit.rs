//! Compiles a [`Program`] to code for the block machine.
//!
//! The space is flattened as far as the operands' strides allow. Its innermost dimension (for row reductions, all
//! reduced dimensions) is the *row* along which blocks run. A node is the same everywhere (a constant), the same along
//! a row, or has lanes. Reductions divide the work on a row into *phases*: phase `n + 1` uses the results of the
//! reductions of phase `n`. A lane value that a later phase needs is saved to a row in the cache, or computed again if
//! that is cheap.
//!
//! A value stays in the accumulator if its next use follows immediately. Otherwise it is stored to a temporary.
#![forbid(unsafe_code)]

use super::machine::{Op, TEMP, load_op, store_op};
use super::program::{Node, Operand, Program, Role};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The reason why a program cannot be compiled to one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfusable {
    /// The innermost dimension is reduced, and not all reduced dimensions can be flattened into it, because they are
    /// not the last ones or because the strides of an operand do not allow it. Dimensions of size 1 do not count.
    Row,
    /// A reduction over leading dimensions depends on the result of another one.
    Levels,
    /// The program reduces leading dimensions, and reads or writes an operand after the reduction that varies along the
    /// reduced dimensions.
    Varies,
    /// Elements of an output would be written several times, or the strides do not show that they are not. Or a row
    /// output holds a value that varies along the row or that is computed without a reduction. Or leading dimensions
    /// are reduced, and there is a row output, or an output but no reduction.
    Output,
}

/// The memory or the value that the base of an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Immediate(u64),
    /// The temporary that starts at this byte of the frame.
    Temp(u32),
    /// The memory of the program's operand with this number, or the index that it counts.
    Operand(usize),
    /// The row with this number in the frame. It has a word for each lane of the whole row. The phase that computes a
    /// value stores it there, and later uses in this phase and in later ones read it.
    Saved(usize),
    /// The running results, one for each lane, of the reduction with this number over leading dimensions.
    Accumulator(usize),
    /// The partial results of the phase's row reduction with this number.
    Partials(usize),
    /// The operand with this number among those whose lanes are not contiguous ([`Code::strided`]).
    Strided(usize),
}

/// The condition under which an instruction is in the code of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// The instruction is only in the code for partial blocks.
    Tail,
    /// The instruction is left out for the first of the rows that are accumulated.
    NotFirst,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    pub op: Op,
    pub base: Base,
    pub extra: u32,
    /// The number of bytes from one lane to the next in the memory that the instruction accesses, or 1 for an index
    /// that it counts. It is not used if the base is an immediate, a temporary, partial results or a strided operand.
    pub size: usize,
    pub when: When,
}

/// An operand whose lanes are not contiguous.
#[derive(Clone, Copy, Debug)]
pub(super) struct StridedOperand {
    pub operand: usize,
    pub temp: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub op: Op,
    pub identity: u64,
    /// The temporary for the result, if rows are reduced. It is 0 if leading dimensions are reduced.
    pub temp: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Phase {
    /// The program's operands that are the same along the row, by number, each with the temporary to which it is copied
    /// when the phase starts. Unless leading dimensions are reduced, the first phase copies those of all phases.
    pub fills: Vec<(usize, u32)>,
    /// The code that computes row values, with equal lanes.
    pub scalar: Vec<Template>,
    pub row_outputs: Vec<(usize, u32)>,
    pub lanes: Vec<Template>,
    pub reductions: Vec<Reduction>,
}

/// How an operand is accessed in the loops of the code. Strides are in bytes or, for an operand that counts an index,
/// in steps of the index.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub operand: Operand,
    pub outer: Vec<isize>,
    /// The stride from lane to lane in a run of [`Code::run`] lanes.
    pub inner: isize,
    /// The stride from run to run, or 0 if a row is one run.
    pub run: isize,
}

impl Walk {
    pub fn size(&self) -> usize {
        if self.operand.role == Role::Index { 1 } else { self.operand.elem.size() }
    }

    pub fn is_output(&self) -> bool {
        matches!(self.operand.role, Role::Output(_) | Role::RowOutput(_))
    }

    pub fn is_input(&self) -> bool {
        !self.is_output()
    }

    /// Returns true if the distance from run to run is that of `run` lanes. The result has no meaning for a row of one
    /// run, whose [`Walk::run`] is 0.
    fn is_even(&self, run: usize) -> bool {
        self.run == self.inner.wrapping_mul(run as isize)
    }
}

/// The code of a program and its loops.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub wide: bool,
    /// The sizes of the loops around rows, those over kept dimensions first.
    pub outer: Vec<usize>,
    /// The number of loops of `outer` that are over kept dimensions. The others are over reduced ones.
    pub kept: usize,
    pub row_len: usize,
    /// The number of lanes of a run. A row consists of whole runs, in each of which the lanes of an operand are at
    /// equal distances. It is one run unless short rows were merged.
    pub run: usize,
    /// True if leading dimensions are reduced.
    pub columns: bool,
    pub walks: Vec<Walk>,
    pub phases: Vec<Phase>,
    pub temp_bytes: usize,
    pub constants: Vec<(u32, u64)>,
    pub strided: Vec<StridedOperand>,
    pub saved: usize,
}

pub(super) fn emit(program: &Program) -> Result<Code, Unfusable> {
    let layout = Layout::new(program)?;
    let classes = classify(program, &layout)?;
    Builder::new(program, layout, classes).build()
}

/// The loops of the code, which result from flattening the program's space, and the strides of the operands in them.
#[derive(Debug)]
pub(super) struct Layout {
    pub outer: Vec<usize>,
    pub kept: usize,
    pub row_len: usize,
    run: usize,
    pub columns: bool,
    pub walks: Vec<Walk>,
}

/// Rows of fewer lanes are short. Each row takes time of its own, so short rows of programs without reductions are
/// merged if [`is_merged`] returns true. Inputs whose elements are then not at equal distances are copied, run by run.
/// Programs that reduce short rows may run in stages.
pub(crate) const SHORT_ROW: usize = 128;

/// A dimension of the space: its size, whether it is reduced, and each operand's stride.
#[derive(Clone)]
struct Dim {
    size: usize,
    reduced: bool,
    strides: Vec<isize>,
}

impl Layout {
    /// Returns the loops for the block machine, in which short rows may be merged. Fails with [`Unfusable::Row`] if the
    /// reduced dimensions are not one row.
    pub fn new(program: &Program) -> Result<Layout, Unfusable> {
        Layout::of(program, true)
    }

    /// Returns loops in which each row is one run. Fails as [`Layout::new`] does.
    pub fn unmerged(program: &Program) -> Result<Layout, Unfusable> {
        Layout::of(program, false)
    }

    fn of(program: &Program, merges: bool) -> Result<Layout, Unfusable> {
        let mut dims = flatten(program);
        let reducing = dims.iter().any(|d| d.reduced);
        let rows = dims.last().is_some_and(|d| d.reduced);
        let one = || Dim { size: 1, reduced: false, strides: vec![0; program.operands.len()] };
        let row = dims.pop().unwrap_or_else(one);
        if rows && dims.iter().any(|d| d.reduced) {
            return Err(Unfusable::Row);
        }
        dims.sort_by_key(|d| d.reduced);
        let runs = dims.pop_if(|outer| merges && !reducing && is_merged(program, outer, &row)).unwrap_or_else(one);
        let walk = |(i, operand): (usize, &Operand)| {
            let unit = if operand.role == Role::Index { 1 } else { operand.elem.size() as isize };
            Walk {
                operand: operand.clone(),
                outer: dims.iter().map(|d| d.strides[i] * unit).collect(),
                inner: row.strides[i] * unit,
                run: runs.strides[i] * unit,
            }
        };
        Ok(Layout {
            outer: dims.iter().map(|d| d.size).collect(),
            kept: dims.iter().filter(|d| !d.reduced).count(),
            row_len: runs.size * row.size,
            run: row.size,
            columns: reducing && !rows,
            walks: program.operands.iter().enumerate().map(walk).collect(),
        })
    }
}

/// Returns the dimensions whose size is not 1. Neighbours are merged if both or neither are reduced, and all operands
/// can access them as one dimension. If there are reduced dimensions and all of them have size 1, a reduced dimension
/// of size 1 comes first.
fn flatten(program: &Program) -> Vec<Dim> {
    let mut dims: Vec<Dim> = Vec::new();
    for (d, &size) in program.space.iter().enumerate().filter(|&(_, &size)| size != 1) {
        let strides: Vec<isize> = program.operands.iter().map(|o| o.strides[d]).collect();
        let dim = Dim { size, reduced: program.reduced[d], strides };
        match dims.last_mut() {
            Some(last) if merges(last, &dim) => *last = Dim { size: last.size * size, ..dim },
            _ => dims.push(dim),
        }
    }
    if program.reduced.contains(&true) && !dims.iter().any(|d| d.reduced) {
        dims.insert(0, Dim { size: 1, reduced: true, strides: vec![0; program.operands.len()] });
    }
    dims
}

fn merges(outer: &Dim, inner: &Dim) -> bool {
    outer.reduced == inner.reduced && (0..inner.strides.len()).all(|i| is_even(outer, inner, i))
}

/// Returns true if operand `i` can access two neighbouring dimensions as one.
fn is_even(outer: &Dim, inner: &Dim, i: usize) -> bool {
    outer.strides[i] == inner.strides[i].wrapping_mul(inner.size as isize)
}

fn is_merged(program: &Program, outer: &Dim, row: &Dim) -> bool {
    let is_copied = |(i, operand): (usize, &Operand)| operand.role == Role::Input || is_even(outer, row, i);
    (1..SHORT_ROW).contains(&row.size) && program.operands.iter().enumerate().all(is_copied)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Granularity {
    Constant,
    Row,
    Lane,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub kind: Granularity,
    /// The number of the first phase that can compute the node. For a reduction, this is the first phase that can use
    /// the result.
    pub level: usize,
    /// An estimate of the cost of computing the node again from the program's operands, from values that are the same
    /// along a row, and from results of reductions: 1 for each cheap operation, and more than [`CHEAP`] for any other.
    pub cost: usize,
}

pub(super) fn classify(program: &Program, layout: &Layout) -> Result<Vec<Class>, Unfusable> {
    let mut classes: Vec<Class> = Vec::with_capacity(program.nodes.len());
    for &node in &program.nodes {
        let class = match node {
            Node::Constant(_) => Class { kind: Granularity::Constant, level: 0, cost: 0 },
            Node::Input(o) | Node::Index(o) => {
                let walk = &layout.walks[o];
                let kind = if walk.inner == 0 && walk.run == 0 { Granularity::Row } else { Granularity::Lane };
                Class { kind, level: 0, cost: 0 }
            }
            Node::Reduce { of, .. } if layout.columns && classes[of].level > 0 => return Err(Unfusable::Levels),
            Node::Reduce { of, .. } if layout.columns => {
                Class { kind: Granularity::Lane, level: 1, cost: classes[of].level }
            }
            Node::Reduce { of, .. } => Class { kind: Granularity::Row, level: classes[of].level + 1, cost: 0 },
            Node::Unary(op, a) => join(weight(op), &[classes[a]]),
            Node::Binary(op, a, b) => join(weight(op), &[classes[a], classes[b]]),
            Node::Select(p, a, b) => join(1, &[classes[p], classes[a], classes[b]]),
        };
        classes.push(class);
    }
    Ok(classes)
}

fn join(cost: usize, of: &[Class]) -> Class {
    let most = |f: fn(&Class) -> usize| of.iter().map(f).max().unwrap_or(0);
    // The cost of a value that is used twice counts twice, so that it grows fast along a chain.
    let lanes = of.iter().filter(|c| c.kind == Granularity::Lane).map(|c| c.cost).fold(0, usize::saturating_add);
    let kind = of.iter().map(|c| c.kind).max().unwrap_or(Granularity::Row).max(Granularity::Row);
    Class { kind, level: most(|c| c.level), cost: lanes.saturating_add(cost) }
}

/// The largest cost at which computing a value again is cheaper than saving and loading it.
pub(super) const CHEAP: usize = 2;

fn weight(op: Op) -> usize {
    use Op::*;
    let cheap = matches!(
        op,
        FAdd | FSub | FMul | IAdd | ISub | And | Or | Xor | Not | Sqr | RoundBf16 | WrapI8 | WrapU8 | WrapI16 | WrapU16
    );
    if cheap { 1 } else { CHEAP + 1 }
}

struct Builder<'p> {
    program: &'p Program,
    layout: Layout,
    classes: Vec<Class>,
    temps: u32,
    constants: BTreeMap<u64, u32>,
    /// For each node that is a row value, its temporary.
    rows: BTreeMap<usize, u32>,
    /// For each node whose lane values are saved, the number of the row for them.
    saved: BTreeMap<usize, usize>,
    accumulators: HashMap<usize, usize>,
    strided: Vec<StridedOperand>,
}

/// The values that one phase computes.
#[derive(Default)]
struct Targets {
    saves: BTreeSet<usize>,
    reductions: BTreeSet<usize>,
    /// The output operands and the nodes that they hold.
    outputs: Vec<(usize, usize)>,
    row_outputs: Vec<(usize, usize)>,
    /// For each node that is a lane value, how often it is used in the phase.
    uses: HashMap<usize, usize>,
    /// The nodes that are row values and are used in the phase.
    rows: BTreeSet<usize>,
}

impl<'p> Builder<'p> {
    fn new(program: &'p Program, layout: Layout, classes: Vec<Class>) -> Self {
        Builder {
            program,
            layout,
            classes,
            temps: 0,
            constants: BTreeMap::new(),
            rows: BTreeMap::new(),
            saved: BTreeMap::new(),
            accumulators: HashMap::new(),
            strided: Vec::new(),
        }
    }

    fn build(mut self) -> Result<Code, Unfusable> {
        let targets = self.targets()?;
        let mut rows: BTreeSet<usize> = targets.iter().flat_map(|t| t.rows.iter().copied()).collect();
        self.close_rows(&mut rows);
        for &node in &rows {
            let temp = self.new_temp();
            self.rows.insert(node, temp);
        }
        let phases: Vec<Phase> =
            targets.into_iter().enumerate().map(|(level, t)| self.phase(level, t, &rows)).collect();
        self.check_epilogue(&phases)?;
        let Layout { outer, kept, row_len, run, columns, walks } = self.layout;
        Ok(Code {
            wide: self.program.wide,
            outer,
            kept,
            row_len,
            run,
            columns,
            walks,
            phases,
            temp_bytes: self.temps as usize,
            constants: self.constants.into_iter().map(|(bits, temp)| (temp, bits)).collect(),
            strided: self.strided,
            saved: self.saved.len(),
        })
    }

    /// Fails with [`Unfusable::Varies`] if an operand that is read or written after a reduction over leading dimensions
    /// varies along these.
    fn check_epilogue(&self, phases: &[Phase]) -> Result<(), Unfusable> {
        let Some(phase) = phases.get(1).filter(|_| self.layout.columns) else { return Ok(()) };
        let read = phase.lanes.iter().filter_map(|t| match t.base {
            Base::Operand(o) => Some(o),
            Base::Strided(s) => Some(self.strided[s].operand),
            _ => None,
        });
        let varies = |o: usize| self.layout.walks[o].outer[self.layout.kept..].iter().any(|&s| s != 0);
        let any = read.chain(phase.fills.iter().map(|&(o, _)| o)).any(varies);
        if any { Err(Unfusable::Varies) } else { Ok(()) }
    }

    fn new_temp(&mut self) -> u32 {
        self.temps += TEMP as u32;
        self.temps - TEMP as u32
    }

    /// Returns the values that each phase must compute. They are found from the last phase to the first. Fails with
    /// [`Unfusable::Output`] if a row output holds a value that differs between the lanes of a row, if several lanes of
    /// a row would write the same element of an output, or if there is no phase for an output.
    fn targets(&mut self) -> Result<Vec<Targets>, Unfusable> {
        let mut targets = self.output_targets()?;
        for level in (0..targets.len()).rev() {
            let mut mine = std::mem::take(&mut targets[level]);
            let ends: Vec<usize> = mine.outputs.iter().map(|&(_, n)| n).chain(mine.saves.iter().copied()).collect();
            ends.into_iter().for_each(|n| self.visit(n, level, &mut mine, &mut targets));
            for (_, n) in mine.row_outputs.clone() {
                self.visit(n, level, &mut mine, &mut targets);
            }
            for n in mine.reductions.clone() {
                self.visit(self.reduced(n), level, &mut mine, &mut targets);
            }
            targets[level] = mine;
        }
        Ok(targets)
    }

    fn output_targets(&self) -> Result<Vec<Targets>, Unfusable> {
        let levels = self.classes.iter().map(|c| c.level).max().unwrap_or(0) + 1;
        let mut targets: Vec<Targets> = (0..levels).map(|_| Targets::default()).collect();
        for (o, walk) in self.layout.walks.iter().enumerate() {
            match walk.operand.role {
                Role::Output(_) if walk.inner == 0 && self.layout.row_len > 1 => return Err(Unfusable::Output),
                Role::Output(n) if self.level_of_output(n) >= levels => return Err(Unfusable::Output),
                Role::Output(n) => targets[self.level_of_output(n)].outputs.push((o, n)),
                Role::RowOutput(n) if self.classes[n].kind == Granularity::Lane => return Err(Unfusable::Output),
                Role::RowOutput(n) => targets[self.classes[n].level].row_outputs.push((o, n)),
                Role::Input | Role::Index => {}
            }
        }
        Ok(targets)
    }

    fn level_of_output(&self, node: usize) -> usize {
        // After a reduction over leading dimensions, all outputs are written in the second phase.
        if self.layout.columns { 1 } else { self.classes[node].level }
    }

    fn reduced(&self, node: usize) -> usize {
        match self.program.nodes[node] {
            Node::Reduce { of, .. } => of,
            _ => unreachable!("only reductions are targets of this kind"),
        }
    }

    /// Counts a use of `node` in phase `level` if it is a lane value and, at the first use, of the lane values from
    /// which this phase computes it. Adds the row values that are used to `mine`, and adds targets to earlier phases
    /// where they are needed.
    fn visit(&self, node: usize, level: usize, mine: &mut Targets, all: &mut [Targets]) {
        match self.classes[node].kind {
            Granularity::Constant => {}
            Granularity::Row => self.use_row(node, mine, all),
            Granularity::Lane => self.visit_lanes(node, level, mine, all),
        }
    }

    fn visit_lanes(&self, node: usize, level: usize, mine: &mut Targets, all: &mut [Targets]) {
        let uses = mine.uses.entry(node).or_default();
        *uses += 1;
        if *uses > 1 {
            return;
        }
        if let Node::Reduce { .. } = self.program.nodes[node] {
            all[0].reductions.insert(node);
        } else if self.is_loaded(node, level) {
            all[self.classes[node].level].saves.insert(node);
        } else {
            operands(self.program.nodes[node]).for_each(|n| self.visit(n, level, mine, all));
        }
    }

    /// Returns true if phase `level` loads the value of `node` from the row that an earlier phase saved, and does not
    /// compute it again.
    fn is_loaded(&self, node: usize, level: usize) -> bool {
        let class = self.classes[node];
        class.level < level && class.cost > CHEAP && !self.layout.columns
    }

    /// Adds a row value, and the row values that it is computed from without a reduction, to `mine`. Adds the
    /// reductions among them as targets to the phases that compute them.
    fn use_row(&self, node: usize, mine: &mut Targets, all: &mut [Targets]) {
        if !mine.rows.insert(node) {
            return;
        }
        match self.program.nodes[node] {
            Node::Reduce { of, .. } => {
                all[self.classes[of].level].reductions.insert(node);
            }
            other => operands(other).for_each(|n| {
                if self.classes[n].kind == Granularity::Row {
                    self.use_row(n, mine, all);
                }
            }),
        }
    }

    /// Adds the row values that the row values in `rows` are computed from, except those that only reductions read.
    fn close_rows(&self, rows: &mut BTreeSet<usize>) {
        let mut open: Vec<usize> = rows.iter().copied().collect();
        while let Some(node) = open.pop() {
            if let Node::Reduce { .. } = self.program.nodes[node] {
                continue;
            }
            let below = operands(self.program.nodes[node]).filter(|&n| self.classes[n].kind == Granularity::Row);
            open.extend(below.filter(|&n| rows.insert(n)));
        }
    }

    fn phase(&mut self, level: usize, targets: Targets, rows: &BTreeSet<usize>) -> Phase {
        let mut phase = Phase { fills: self.fills(level, rows, &targets), ..Phase::default() };
        phase.scalar = self.scalar_code(level, if self.layout.columns { &targets.rows } else { rows });
        for &(operand, node) in &targets.row_outputs {
            let temp = self.row_temp(node);
            phase.row_outputs.push((operand, temp));
        }
        phase.reductions = targets.reductions.iter().map(|&n| self.reduction(n)).collect();
        phase.lanes = Emitter::new(self, targets.uses.clone()).run(&targets);
        phase
    }

    /// Returns the row operands that phase `level` reads, each with its temporary.
    fn fills(&self, level: usize, rows: &BTreeSet<usize>, targets: &Targets) -> Vec<(usize, u32)> {
        let wanted = |n: &&usize| if self.layout.columns { targets.rows.contains(n) } else { level == 0 };
        rows.iter()
            .filter(wanted)
            .filter_map(|n| match self.program.nodes[*n] {
                Node::Input(o) | Node::Index(o) => Some((o, self.rows[n])),
                _ => None,
            })
            .collect()
    }

    fn row_temp(&mut self, node: usize) -> u32 {
        match self.program.nodes[node] {
            Node::Constant(bits) => self.constant_temp(bits),
            _ => self.rows[&node],
        }
    }

    fn constant_temp(&mut self, bits: u64) -> u32 {
        if let Some(&temp) = self.constants.get(&bits) {
            return temp;
        }
        let temp = self.new_temp();
        self.constants.insert(bits, temp);
        temp
    }

    fn reduction(&mut self, node: usize) -> Reduction {
        let Node::Reduce { op, identity, .. } = self.program.nodes[node] else {
            unreachable!("only reductions are targets of this kind")
        };
        Reduction { op, identity, temp: self.rows.get(&node).copied().unwrap_or(0) }
    }

    /// Returns the code for those of `rows` that are computed at `level`, or for all of `rows` if the program reduces
    /// leading dimensions.
    fn scalar_code(&mut self, level: usize, rows: &BTreeSet<usize>) -> Vec<Template> {
        let here = |n: &usize| self.layout.columns || self.classes[*n].level == level;
        let computed =
            |n: &usize| matches!(self.program.nodes[*n], Node::Unary(..) | Node::Binary(..) | Node::Select(..));
        let nodes: Vec<usize> = rows.iter().copied().filter(here).filter(computed).collect();
        let mut emitter = Emitter::new(self, HashMap::new());
        for node in nodes {
            emitter.row_value(node);
        }
        emitter.code
    }
}

pub(super) fn operands(node: Node) -> impl Iterator<Item = usize> {
    let of = match node {
        Node::Input(_) | Node::Constant(_) | Node::Index(_) => [None; 3],
        Node::Unary(_, a) => [Some(a), None, None],
        Node::Binary(_, a, b) => [Some(a), Some(b), None],
        Node::Select(p, a, b) => [Some(p), Some(a), Some(b)],
        Node::Reduce { of, .. } => [Some(of), None, None],
    };
    of.into_iter().flatten()
}

/// Emits the code of one phase, and assigns its values to the accumulator and to temporaries.
struct Emitter<'b, 'p> {
    builder: &'b mut Builder<'p>,
    code: Vec<Template>,
    /// The node whose value is in the accumulator, if there is one.
    held: Option<usize>,
    spilled: HashMap<usize, u32>,
    free: Vec<u32>,
    /// For each node that is a lane value, the number of its uses for which no code was emitted yet.
    uses: HashMap<usize, usize>,
}

impl<'b, 'p> Emitter<'b, 'p> {
    fn new(builder: &'b mut Builder<'p>, uses: HashMap<usize, usize>) -> Self {
        Emitter { builder, code: Vec::new(), held: None, spilled: HashMap::new(), free: Vec::new(), uses }
    }

    /// Returns the code that computes `targets`. Saves and reductions come first, and the stores of outputs last,
    /// because an output may use the memory of an input.
    fn run(mut self, targets: &Targets) -> Vec<Template> {
        let mut pending: Vec<(usize, usize)> = targets.reductions.iter().copied().enumerate().collect();
        for &node in &targets.saves {
            self.save(node);
            self.fold_all(node, &mut pending);
        }
        while let Some(&(_, first)) = pending.first() {
            self.fold_all(self.builder.reduced(first), &mut pending);
        }
        self.outputs(&targets.outputs);
        self.code
    }

    fn save(&mut self, node: usize) {
        // The saved row is read by the other uses too.
        let uses = self.uses.insert(node, 1).unwrap_or(1);
        self.value(node);
        self.uses.insert(node, uses);
        let row = self.builder.saved.len();
        self.builder.saved.insert(node, row);
        self.push(Op::Store, Base::Saved(row));
        self.used(node);
    }

    /// Emits the code of those reductions in `pending` that reduce `node`, and removes them from `pending`.
    fn fold_all(&mut self, node: usize, pending: &mut Vec<(usize, usize)>) {
        let is_mine = |r: &(usize, usize)| self.builder.reduced(r.1) == node;
        let (mine, others) = pending.drain(..).partition(is_mine);
        *pending = others;
        let mine: Vec<(usize, usize)> = mine;
        for (index, reduction) in mine {
            self.value(node);
            self.fold(index, reduction);
            self.used(node);
        }
    }

    /// Emits the instructions that combine the value that was computed last with the accumulator or the partial results
    /// of the reduction `node`, which have the number `index` in the phase.
    fn fold(&mut self, index: usize, node: usize) {
        let Node::Reduce { op, identity, .. } = self.builder.program.nodes[node] else {
            unreachable!("only reductions are folded")
        };
        if self.builder.layout.columns {
            self.builder.accumulators.insert(node, index);
            let template = self.template(elementwise(op), Base::Accumulator(index));
            self.code.push(Template { when: When::NotFirst, ..template });
            self.push(Op::Store, Base::Accumulator(index));
        } else {
            let keep = self.template(Op::Keep, Base::Immediate(identity));
            self.code.push(Template { when: When::Tail, ..keep });
            self.push(op, Base::Partials(index));
        }
        self.held = None;
    }

    fn outputs(&mut self, outputs: &[(usize, usize)]) {
        for &(_, node) in outputs.iter().rev().skip(1) {
            self.value(node);
            self.spill(node);
        }
        for &(operand, node) in outputs.iter().rev() {
            self.value(node);
            self.store(operand);
            self.used(node);
        }
    }

    fn store(&mut self, operand: usize) {
        let walk = &self.builder.layout.walks[operand];
        let op = store_op(walk.operand.elem, self.builder.program.wide);
        let size = walk.size();
        if self.is_contiguous(operand) {
            let template = Template { size, ..self.template(op, Base::Operand(operand)) };
            return self.code.push(template);
        }
        let (strided, temp) = self.strided(operand);
        self.push(op, Base::Temp(temp));
        self.code.push(Template { extra: operand as u32, ..self.template(Op::Scatter, Base::Strided(strided)) });
    }

    fn is_contiguous(&self, operand: usize) -> bool {
        let (layout, walk) = (&self.builder.layout, &self.builder.layout.walks[operand]);
        (walk.inner == walk.size() as isize && (layout.run == layout.row_len || walk.is_even(layout.run)))
            || layout.row_len == 1
    }

    fn strided(&mut self, operand: usize) -> (usize, u32) {
        let temp = self.builder.new_temp();
        self.builder.strided.push(StridedOperand { operand, temp });
        (self.builder.strided.len() - 1, temp)
    }

    fn row_value(&mut self, node: usize) {
        let temp = self.builder.rows.remove(&node).expect("row values have temporaries");
        self.compute(node);
        self.builder.rows.insert(node, temp);
        self.push(Op::Store, Base::Temp(temp));
        self.held = Some(node);
    }

    fn word(&self) -> usize {
        if self.builder.program.wide { 8 } else { 4 }
    }

    fn template(&self, op: Op, base: Base) -> Template {
        Template { op, base, extra: 0, size: self.word(), when: When::Always }
    }

    fn push(&mut self, op: Op, base: Base) {
        self.code.push(self.template(op, base));
    }

    /// Emits code that puts a value into the accumulator, if it is not there yet. If the value is no constant, has
    /// several remaining uses and cannot be read directly, this code also stores it to a temporary.
    fn value(&mut self, node: usize) {
        if self.held == Some(node) {
            return;
        }
        match (self.builder.program.nodes[node], self.direct(node)) {
            (Node::Constant(bits), _) => self.push(Op::LoadImm, Base::Immediate(bits)),
            (_, Some(base)) => self.push(Op::Load, base),
            _ => self.compute(node),
        }
        self.held = Some(node);
        if self.uses.get(&node).is_some_and(|&n| n > 1) && self.direct(node).is_none() {
            self.spill(node);
        }
    }

    /// Returns the base from which a value can be read directly as words: a temporary, a saved row, an accumulator, or
    /// an operand whose elements are contiguous words. Returns `None` if the value has none of them.
    fn direct(&self, node: usize) -> Option<Base> {
        let b = &*self.builder;
        if let Some(&temp) = self.spilled.get(&node).or_else(|| b.rows.get(&node)) {
            return Some(Base::Temp(temp));
        }
        if let Some(&row) = b.saved.get(&node) {
            return Some(Base::Saved(row));
        }
        match b.program.nodes[node] {
            Node::Reduce { .. } => b.accumulators.get(&node).map(|&i| Base::Accumulator(i)),
            Node::Input(o) if self.is_words(o) => Some(Base::Operand(o)),
            _ => None,
        }
    }

    fn is_words(&self, operand: usize) -> bool {
        let elem = self.builder.layout.walks[operand].operand.elem;
        self.is_contiguous(operand) && load_op(elem, self.builder.program.wide) == Op::Load
    }

    fn spill(&mut self, node: usize) {
        if self.direct(node).is_some() || matches!(self.builder.program.nodes[node], Node::Constant(_)) {
            return;
        }
        let temp = self.free.pop().unwrap_or_else(|| self.builder.new_temp());
        self.spilled.insert(node, temp);
        self.push(Op::Store, Base::Temp(temp));
    }

    fn used(&mut self, node: usize) {
        let Some(uses) = self.uses.get_mut(&node) else { return };
        *uses = uses.saturating_sub(1);
        if *uses == 0 {
            self.free.extend(self.spilled.remove(&node));
        }
    }

    fn compute(&mut self, node: usize) {
        match self.builder.program.nodes[node] {
            Node::Input(operand) => self.load(operand),
            Node::Index(operand) => {
                // Its address is the count itself, which grows by one for each lane.
                let template = self.template(Op::Iota, Base::Operand(operand));
                self.code.push(Template { size: 1, ..template });
            }
            Node::Unary(op, a) => {
                self.value(a);
                self.push(op, Base::Immediate(0));
                self.used(a);
            }
            Node::Binary(op, a, b) => self.binary(op, a, b),
            Node::Select(p, a, b) => self.select(p, a, b),
            Node::Constant(_) | Node::Reduce { .. } => unreachable!("read directly"),
        }
    }

    fn load(&mut self, operand: usize) {
        let walk = &self.builder.layout.walks[operand];
        let (op, size) = (load_op(walk.operand.elem, self.builder.program.wide), walk.size());
        if self.is_contiguous(operand) {
            let template = Template { size, ..self.template(op, Base::Operand(operand)) };
            return self.code.push(template);
        }
        let (strided, temp) = self.strided(operand);
        self.code.push(Template { extra: operand as u32, ..self.template(Op::Gather, Base::Strided(strided)) });
        self.push(op, Base::Temp(temp));
    }

    fn binary(&mut self, op: Op, a: usize, b: usize) {
        let (imm_a, imm_b) = (self.constant(a), self.constant(b));
        let reverse = reversed(op);
        if let (Some(bits), Some(op)) = (imm_b, op.immediate()) {
            self.value(a);
            self.push(op, Base::Immediate(bits));
        } else if let (Some(bits), Some(op)) = (imm_a, reverse.and_then(Op::immediate)) {
            self.value(b);
            self.push(op, Base::Immediate(bits));
        } else if let (None, Some(op), Some(_)) = (self.readable(b), reverse, self.readable(a)) {
            self.value(b);
            let base = self.operand_base(a);
            self.push(op, base);
        } else {
            self.ensure_readable(b);
            self.value(a);
            let base = self.operand_base(b);
            self.push(op, base);
        }
        self.used(a);
        self.used(b);
    }

    fn constant(&self, node: usize) -> Option<u64> {
        match self.builder.program.nodes[node] {
            Node::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    /// Returns `Some` if an instruction can read the value from memory directly, or if it is a constant, which can be
    /// stored there, and `None` otherwise.
    fn readable(&self, node: usize) -> Option<()> {
        (self.constant(node).is_some() || self.direct(node).is_some()).then_some(())
    }

    fn ensure_readable(&mut self, node: usize) {
        if self.readable(node).is_none() {
            self.value(node);
            self.spill(node);
        }
    }

    fn operand_base(&mut self, node: usize) -> Base {
        match self.constant(node) {
            Some(bits) => Base::Temp(self.builder.constant_temp(bits)),
            None => self.direct(node).expect("made readable before"),
        }
    }

    fn select(&mut self, p: usize, a: usize, b: usize) {
        self.ensure_readable(a);
        let other = self.in_temp(b);
        self.value(p);
        let base = self.operand_base(a);
        self.code.push(Template { extra: other, ..self.template(Op::Select, base) });
        for node in [p, a, b] {
            self.used(node);
        }
    }

    /// Returns the temporary of a value, which is stored to one first if it is elsewhere.
    fn in_temp(&mut self, node: usize) -> u32 {
        self.ensure_readable(node);
        if let Base::Temp(temp) = self.operand_base(node) {
            return temp;
        }
        self.value(node);
        let temp = self.free.pop().unwrap_or_else(|| self.builder.new_temp());
        self.spilled.insert(node, temp);
        self.push(Op::Store, Base::Temp(temp));
        temp
    }
}

/// Returns the operation that computes the same with its operands exchanged, or `None` if there is none. Also returns
/// `None` for [`Op::FRdiv`].
fn reversed(op: Op) -> Option<Op> {
    use Op::*;
    Some(match op {
        FAdd | FMul | FMax | FMin | FEq | FNe | IAdd | IMul | SMax | SMin | UMax | UMin | And | Or | Xor | IEq
        | INe => op,
        FSub => FRsub,
        FRsub => FSub,
        ISub => IRsub,
        IRsub => ISub,
        FDiv => FRdiv,
        FLt => FGt,
        FGt => FLt,
        FLe => FGe,
        FGe => FLe,
        SLt => SGt,
        SGt => SLt,
        SLe => SGe,
        SGe => SLe,
        ULt => UGt,
        UGt => ULt,
        ULe => UGe,
        UGe => ULe,
        _ => return None,
    })
}

fn elementwise(op: Op) -> Op {
    use Op::*;
    match op {
        SumF => FAdd,
        ProdF => FMul,
        MaxF => FMax,
        MinF => FMin,
        SumI => IAdd,
        ProdI => IMul,
        MaxS => SMax,
        MinS => SMin,
        MaxU => UMax,
        MinU => UMin,
        AllBits => And,
        AnyBits => Or,
        _ => unreachable!("{op:?} is no reduction"),
    }
}
