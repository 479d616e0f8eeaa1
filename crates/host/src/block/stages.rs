//! Divides programs that reduce short rows, or leading dimensions of which few lanes are kept, into stages.
//!
//! Each stage runs on a *tile* of many rows at once: a program without reductions whose lanes are the elements of the
//! tile or its rows, or a fold of the tile's rows. Stages pass words to each other in a scratch memory, which fits into
//! the caches.
#![forbid(unsafe_code)]

use super::emit::{CHEAP, Class, Code, Granularity, Layout, SHORT_ROW, classify, emit, operands};
use super::machine::{Op, load_op};
use super::program::{Node, Operand, Program, Role};
use crate::elem::Elem;
use shardwise_mathfn::order::CHUNK;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The largest number of elements of a tile, unless one [`CHUNK`] of reduced rows has more.
const TILE: usize = 4096;
/// With fewer rows than this, there are no stages, and rows are run one after the other. If leading dimensions are
/// reduced, these are the reduced rows, and otherwise the rows along the innermost loop.
const ROWS: usize = 8;

/// One thread folds at most this number of elements, or any number if there are at most [`NARROW`] lanes. Other
/// reductions of leading dimensions are divided among threads.
const LONG: usize = 1 << 18;
const NARROW: usize = 16;

/// The stages of a program and its tiles.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    /// The number, among the kernel's loops, of the loop along which tiles are cut, and its size.
    pub axis: usize,
    pub size: usize,
    /// The number of indices along the axis that a tile has. The last tile may have fewer.
    pub tile: usize,
    /// True if the axis is reduced, so that the tiles along it are run one after the other.
    pub is_serial: bool,
    /// The number of bytes of a word, which is 8 if the program has 64-bit lanes, and 4 otherwise.
    pub word: usize,
    /// The other loops over kept dimensions, each with its number among the kernel's loops and its size.
    pub around: Vec<(usize, usize)>,
    pub whole: Variant,
    /// The stages for a last tile of another size. `None` if all tiles have one size.
    pub rest: Option<Variant>,
}

/// The stages for one size of tiles.
#[derive(Clone, Debug)]
pub(super) struct Variant {
    pub stages: Vec<Stage>,
    /// The stages that follow when all tiles along a reduced axis have run, or one tile along another axis. Empty if
    /// rows are reduced.
    pub last: Vec<Stage>,
    /// The number of words of the scratch memory.
    pub words: usize,
    /// The number of elements of a tile.
    pub elements: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// Code without reductions, and the places of its operands.
    Run { code: Box<Code>, places: Vec<Place> },
    /// Folds rows of words, whose first word is at `from`. Distances are in bytes. The results are written to the
    /// scratch memory from word `to` on.
    Fold { op: Op, from: Place, to: usize, count: usize, step: isize, along: Folded },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Folded {
    /// Each of `count` rows of this number of words is folded to one word.
    Row(usize),
    /// `count` times, `rows` rows of `lanes` words are folded to one row. The rows are `step` bytes apart.
    Rows { rows: usize, step: isize, lanes: usize },
}

/// The place of an operand of a stage.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// The program's operand with this number, from the first element of the tile on.
    Operand(usize),
    /// The scratch memory from this word on.
    Scratch(usize),
}

impl Stages {
    /// Returns the stages of a program, or `None` if it cannot be run in stages or is better run row by row.
    pub fn new(program: &Program) -> Option<Stages> {
        let layout = Layout::new(program).ok()?;
        let classes = classify(program, &layout).ok()?;
        let (outer, kept, lanes) = (&layout.outer, layout.kept, layout.row_len);
        if classes.iter().all(|c| c.level == 0) || !(2..SHORT_ROW).contains(&lanes) || outer.contains(&0) {
            return None;
        }
        let rows = if layout.columns { outer[kept] } else { 1 };
        if layout.columns && (outer.len() != kept + 1 || rows < ROWS) {
            return None;
        }
        let is_serial = layout.columns && (kept == 0 || rows * lanes > TILE);
        let axis = if is_serial { kept } else { kept.checked_sub(1)? };
        let size = outer[axis];
        let tile = if is_serial { (TILE / lanes / CHUNK).max(1) * CHUNK } else { (TILE / lanes / rows).max(1) };
        let tile = tile.min(size);
        if (!layout.columns && size < ROWS) || (is_serial && rows * lanes > LONG && lanes > NARROW) {
            return None;
        }
        let variant = |tile: usize| {
            let rows = if is_serial { tile } else { rows };
            Splitter::new(program, &layout, &classes, if is_serial { 1 } else { tile }, rows).split()
        };
        let rest = size % tile;
        let around = (0..kept).filter(|&i| i != axis).map(|i| (i, outer[i])).collect();
        let (whole, rest) = (variant(tile)?, if rest == 0 { None } else { Some(variant(rest)?) });
        let word = if program.wide { 8 } else { 4 };
        Some(Stages { axis, size, tile, is_serial, word, around, whole, rest })
    }

    /// Returns the number of bytes of the memory that a worker needs, given the size of the frame of each code.
    pub fn bytes(&self, frame: impl Fn(&Code) -> usize) -> usize {
        let variants = [Some(&self.whole), self.rest.as_ref()].into_iter().flatten();
        let codes = variants.flat_map(Variant::all).filter_map(|stage| match stage {
            Stage::Run { code, .. } => Some(frame(code).next_multiple_of(64)),
            Stage::Fold { .. } => None,
        });
        self.words() * self.word + codes.sum::<usize>()
    }

    /// Returns the number of words of the scratch memory, which all variants share.
    pub fn words(&self) -> usize {
        self.rest.as_ref().map_or(0, |v| v.words).max(self.whole.words)
    }

    /// Returns the number of elements of a tile.
    pub fn tile_elements(&self) -> usize {
        self.whole.elements
    }

    /// Returns the number of tiles along the axis that may run at the same time.
    pub fn tiles(&self) -> usize {
        if self.is_serial { 1 } else { self.size.div_ceil(self.tile) }
    }

    /// Returns the number of pieces of work that may run at the same time.
    pub fn units(&self) -> usize {
        self.around.iter().map(|a| a.1).product::<usize>() * self.tiles()
    }
}

impl Variant {
    /// Returns all stages, the last ones included, in order.
    pub fn all(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().chain(&self.last)
    }
}

/// A value in the scratch memory: its first word, and its strides along the dimensions of a tile, in words.
#[derive(Clone)]
struct Saved {
    at: usize,
    strides: [isize; 3],
}

struct Splitter<'p> {
    program: &'p Program,
    layout: &'p Layout,
    classes: &'p [Class],
    /// The sizes of a tile: kept rows, reduced rows, and lanes. There is 1 reduced row unless leading dimensions are
    /// reduced.
    dims: [usize; 3],
    /// For each node, true if an output depends on it.
    live: Vec<bool>,
    saved: BTreeMap<usize, Saved>,
    words: usize,
    stages: Vec<Stage>,
}

/// The program of a stage while it is built.
struct Stager {
    program: Program,
    places: Vec<Place>,
    known: HashMap<usize, usize>,
}

impl<'p> Splitter<'p> {
    fn new(program: &'p Program, layout: &'p Layout, classes: &'p [Class], tile: usize, rows: usize) -> Self {
        let live = live(program);
        let dims = [tile, rows, layout.row_len];
        Splitter { program, layout, classes, dims, live, saved: BTreeMap::new(), words: 0, stages: vec![] }
    }

    fn split(mut self) -> Option<Variant> {
        if self.layout.columns {
            return self.split_columns();
        }
        for level in 0..=self.classes.iter().map(|c| c.level).max()? {
            let outputs = self.outputs(level, false);
            let rows = self.row_values(level, &outputs);
            let [tile, reduced, _] = self.dims;
            self.stage(&rows, &self.outputs(level, true), [tile, reduced, 1])?;
            self.reduce(level, &outputs)?;
        }
        Some(Variant { stages: self.stages, last: vec![], words: self.words, elements: self.dims.iter().product() })
    }

    fn split_columns(mut self) -> Option<Variant> {
        if self.classes.iter().any(|c| c.level > 1) || (0..2).any(|level| !self.outputs(level, true).is_empty()) {
            return None;
        }
        self.reduce(0, &[])?;
        let stages = std::mem::take(&mut self.stages);
        // The last stages read results only.
        self.saved.retain(|&n, _| matches!(self.program.nodes[n], Node::Reduce { .. }));
        let elements = self.dims.iter().product();
        self.dims[1] = 1;
        self.stage(&[], &self.outputs(1, false), self.dims)?;
        Some(Variant { stages, last: self.stages, words: self.words, elements })
    }

    /// Returns the outputs of a level, or its row outputs: the number of each operand and the node that it holds. If
    /// leading dimensions are reduced, each output that is no row output belongs to every level.
    fn outputs(&self, level: usize, of_rows: bool) -> Vec<(usize, usize)> {
        let wanted = |(o, operand): (usize, &Operand)| match operand.role {
            Role::Output(n) if !of_rows && (self.layout.columns || self.classes[n].level == level) => Some((o, n)),
            Role::RowOutput(n) if of_rows && self.classes[n].level == level => Some((o, n)),
            _ => None,
        };
        self.program.operands.iter().enumerate().filter_map(wanted).collect()
    }

    /// Returns the reductions that follow a level and that an output depends on: each node and the one that it reduces.
    fn reduced(&self, level: usize) -> Vec<(usize, usize)> {
        let wanted = |(n, node): (usize, &Node)| match *node {
            Node::Reduce { of, .. } if self.live[n] && self.classes[of].level == level => Some((n, of)),
            _ => None,
        };
        self.program.nodes.iter().enumerate().filter_map(wanted).collect()
    }

    /// Returns the values on lanes that a level computes, that a later one needs, and that are not computed again.
    fn crossing(&self, level: usize) -> Vec<usize> {
        let class = |n: usize| self.classes[n];
        let mut found = BTreeSet::new();
        for (user, &node) in self.program.nodes.iter().enumerate().filter(|&(n, _)| self.live[n]) {
            let is_user = class(user).kind == Granularity::Lane && class(user).level > level;
            if is_user && !matches!(node, Node::Reduce { .. }) {
                let is_saved = |&n: &usize| {
                    let c = class(n);
                    c.kind == Granularity::Lane && c.level == level && c.cost > CHEAP && self.is_computed(n)
                };
                found.extend(operands(node).filter(is_saved));
            }
        }
        found.into_iter().collect()
    }

    fn is_computed(&self, node: usize) -> bool {
        matches!(self.program.nodes[node], Node::Unary(..) | Node::Binary(..) | Node::Select(..))
    }

    /// Returns the results of operations that are row values, that are not saved yet, and that the lanes of a level are
    /// computed from.
    fn row_values(&self, level: usize, outputs: &[(usize, usize)]) -> Vec<usize> {
        let targets = self.reduced(level).into_iter().map(|r| r.1).chain(outputs.iter().map(|o| o.1));
        let mut open: Vec<usize> = targets.chain(self.crossing(level)).collect();
        let (mut seen, mut rows) = (BTreeSet::new(), vec![]);
        while let Some(n) = open.pop() {
            if self.saved.contains_key(&n) || !self.is_computed(n) || !seen.insert(n) {
                continue;
            }
            if self.classes[n].kind == Granularity::Row {
                rows.push(n);
            } else {
                open.extend(operands(self.program.nodes[n]));
            }
        }
        rows.sort_unstable();
        rows
    }

    /// Adds the stage that computes the outputs of a level, what its reductions read and, if rows are reduced, what
    /// later levels read. Then adds the stages of its reductions. Returns `None` if a stage cannot be built.
    fn reduce(&mut self, level: usize, outputs: &[(usize, usize)]) -> Option<()> {
        let reduced = self.reduced(level);
        let [count, _, lanes] = self.dims;
        // Results come first, so that their places do not depend on the number of reduced rows.
        let kept = if self.layout.columns { [count, 1, lanes] } else { [count, 1, 1] };
        let rooms: Vec<Saved> = reduced.iter().map(|_| self.room(kept)).collect();
        let is_copied = |&n: &usize| self.read_directly(n).is_none();
        let mut saves: BTreeSet<usize> = reduced.iter().map(|r| r.1).filter(is_copied).collect();
        if !self.layout.columns {
            saves.extend(self.crossing(level));
        }
        let saves: Vec<usize> = saves.into_iter().filter(|n| !self.saved.contains_key(n)).collect();
        self.stage(&saves, outputs, self.dims)?;
        for ((n, of), room) in reduced.into_iter().zip(rooms) {
            self.fold(n, of, room)?;
        }
        Some(())
    }

    /// Returns the operand whose words are the values of a node. Returns `None` if the node is no input, or if its
    /// elements are not whole words that are contiguous along a row.
    fn read_directly(&self, node: usize) -> Option<usize> {
        let Node::Input(o) = self.program.nodes[node] else { return None };
        let walk = &self.layout.walks[o];
        let is_word = load_op(walk.operand.elem, self.program.wide) == Op::Load;
        (is_word && walk.inner == walk.size() as isize).then_some(o)
    }

    fn word(&self) -> (Elem, usize) {
        if self.program.wide { (Elem::I64, 8) } else { (Elem::I32, 4) }
    }

    /// Reserves scratch memory for a value with these dimensions.
    fn room(&mut self, [tile, rows, lanes]: [usize; 3]) -> Saved {
        let at = self.words;
        self.words += (tile * rows * lanes).next_multiple_of(16);
        let stride = |stride: usize, size: usize| if size == 1 { 0 } else { stride as isize };
        Saved { at, strides: [stride(rows * lanes, tile), stride(lanes, rows), stride(1, lanes)] }
    }

    fn fold(&mut self, node: usize, of: usize, to: Saved) -> Option<()> {
        let Node::Reduce { op, .. } = self.program.nodes[node] else { return None };
        let size = self.word().1 as isize;
        let (from, strides) = match self.read_directly(of) {
            Some(o) => (Place::Operand(o), self.strides(o)),
            None => {
                let saved = self.saved.get(&of).filter(|saved| saved.strides[2] == 1)?;
                (Place::Scratch(saved.at), saved.strides.map(|s| s * size))
            }
        };
        let [count, rows, lanes] = self.dims;
        let along = match self.layout.columns {
            true => Folded::Rows { rows, step: strides[1], lanes },
            false => Folded::Row(lanes),
        };
        self.stages.push(Stage::Fold { op, from, to: to.at, count, step: strides[0], along });
        self.saved.insert(node, to);
        Some(())
    }

    /// Returns the strides of an operand along the dimensions of a tile, in bytes.
    fn strides(&self, operand: usize) -> [isize; 3] {
        let walk = &self.layout.walks[operand];
        let kept = self.layout.kept;
        let along = |size: usize, stride: Option<&isize>| if size == 1 { 0 } else { *stride.unwrap_or(&0) };
        let tiles = kept.checked_sub(1).and_then(|i| walk.outer.get(i));
        [along(self.dims[0], tiles), along(self.dims[1], walk.outer.get(kept)), walk.inner]
    }

    /// Adds a stage over these dimensions that saves nodes and writes outputs. Adds none if there is nothing to do.
    /// Returns `None` if a node needs a reduction that was not saved, or if there is no code for the stage.
    fn stage(&mut self, saves: &[usize], outputs: &[(usize, usize)], dims: [usize; 3]) -> Option<()> {
        if saves.is_empty() && outputs.is_empty() {
            return Some(());
        }
        let program = Program::new(&dims);
        let program = if self.program.wide { program.wide() } else { program };
        let mut stage = Stager { program, places: vec![], known: HashMap::new() };
        let (word, _) = self.word();
        let mut saved = vec![];
        for &node in saves {
            let value = self.import(&mut stage, node)?;
            let room = self.room(dims);
            stage.operand(word, &room.strides, Role::Output(value), Place::Scratch(room.at));
            saved.push((node, room));
        }
        for &(o, node) in outputs {
            let value = self.import(&mut stage, node)?;
            self.operand(&mut stage, o, Role::Output(value));
        }
        let code = Box::new(emit(&stage.program).ok()?);
        self.stages.push(Stage::Run { code, places: stage.places });
        self.saved.extend(saved);
        Some(())
    }

    /// Adds an operand of the program to a stage and returns its number there.
    fn operand(&self, stage: &mut Stager, operand: usize, role: Role) -> usize {
        let walk = &self.layout.walks[operand];
        let unit = walk.size() as isize;
        let mut strides = self.strides(operand).map(|s| s / unit);
        (0..3).filter(|&i| stage.program.space[i] == 1).for_each(|i| strides[i] = 0);
        stage.operand(walk.operand.elem, &strides, role, Place::Operand(operand))
    }

    /// Adds the value of a node to a stage: what was saved, or what is read or computed again. Returns `None` if it
    /// needs a reduction that was not saved.
    fn import(&self, stage: &mut Stager, node: usize) -> Option<usize> {
        if let Some(&known) = stage.known.get(&node) {
            return Some(known);
        }
        let made = if let Some(saved) = self.saved.get(&node) {
            let operand = stage.operand(self.word().0, &saved.strides, Role::Input, Place::Scratch(saved.at));
            Node::Input(operand)
        } else {
            match self.program.nodes[node] {
                Node::Constant(bits) => Node::Constant(bits),
                Node::Input(o) => Node::Input(self.operand(stage, o, Role::Input)),
                Node::Index(o) => Node::Index(self.operand(stage, o, Role::Index)),
                Node::Unary(op, a) => Node::Unary(op, self.import(stage, a)?),
                Node::Binary(op, a, b) => Node::Binary(op, self.import(stage, a)?, self.import(stage, b)?),
                Node::Select(p, a, b) => {
                    Node::Select(self.import(stage, p)?, self.import(stage, a)?, self.import(stage, b)?)
                }
                Node::Reduce { .. } => return None,
            }
        };
        let made = stage.program.node(made);
        stage.known.insert(node, made);
        Some(made)
    }
}

impl Stager {
    fn operand(&mut self, elem: Elem, strides: &[isize], role: Role, place: Place) -> usize {
        self.places.push(place);
        self.program.operand(elem, strides, role)
    }
}

/// Returns, for each node, whether an output depends on it.
pub(super) fn live(program: &Program) -> Vec<bool> {
    let mut live = vec![false; program.nodes.len()];
    let held = program.operands.iter().filter_map(|operand| match operand.role {
        Role::Output(n) | Role::RowOutput(n) => Some(n),
        Role::Input | Role::Index => None,
    });
    held.for_each(|n| live[n] = true);
    // A node follows those that it is computed from.
    for n in (0..live.len()).rev() {
        if live[n] {
            operands(program.nodes[n]).for_each(|of| live[of] = true);
        }
    }
    live
}
