//! The small program of a run while it is built, and the places of its values.

use crate::elem::Elem;
use crate::kernels::context::PlanCx;
use crate::plan::Points;
use crate::small::{Action, Array, Code, Input, Ins, MAX_SIZE, Mark, Output, Place};
use shardwise_base::Literal;
use shardwise_ir::{Op, Uses, Value};
use shardwise_ops::constant_value;
use std::collections::{HashMap, HashSet};

/// The largest number of words of a small program. So many fit into the second-level cache.
const MAX_WORDS: usize = 1 << 18;

/// The largest number of numbers in the tables of a small program.
const MAX_TABLES: usize = 1 << 18;

/// The program of a run while it is built.
pub struct Builder<'a, 'm> {
    pub plan: &'a PlanCx<'m>,
    pub uses: &'a Uses,
    pub code: Code,
    /// The instances of the run's results.
    pub points: Points,
    /// The arrays that the program reads from outside, in the order of the code's inputs.
    pub inputs: Vec<Value>,
    /// The views that were added because an op reads through them.
    pub views: Vec<Op>,
    /// The large arrays that an op of the program may change in place, because nothing reads them after it.
    pub replaceable: HashSet<Value>,
    /// True while the ops of a region are added.
    pub is_in_region: bool,
    /// The largest number of elements of an array that becomes a small one.
    pub max_size: usize,
    /// The arrays that ops compute from constants alone. They become words when an op reads them or the program returns
    /// them.
    known: HashMap<Value, Literal>,
    held: HashMap<Value, Held>,
    /// The values in `held`, in the order in which they were added.
    order: Vec<Value>,
}

/// The form in which a program holds a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// A small array, in the words of this place.
    Words(Place),
    /// A large array: the input with this number.
    Array(u32),
}

/// The real elements of an array: how many an element is, and the distances between them.
#[derive(Clone, Copy)]
pub struct Parts {
    /// The number of real elements that an element is: 2 if it is complex, and 1 otherwise.
    pub count: usize,
    /// The number of real elements from one element to the next.
    pub element: usize,
    /// The number of real elements from a part of an element to its next part.
    pub part: usize,
}

/// The state of a [`Builder`] between two ops of the block, to which it can return.
pub struct State {
    code: Mark,
    views: usize,
    held: usize,
}

impl<'a, 'm> Builder<'a, 'm> {
    /// Returns an empty program, whose results will have these instances.
    pub fn new(plan: &'a PlanCx<'m>, uses: &'a Uses, points: Points) -> Builder<'a, 'm> {
        let (code, known, held) = (Code::default(), HashMap::new(), HashMap::new());
        let (inputs, views, order, replaceable) = (vec![], vec![], vec![], HashSet::new());
        Builder {
            plan,
            uses,
            code,
            points,
            inputs,
            views,
            replaceable,
            is_in_region: false,
            max_size: MAX_SIZE,
            known,
            held,
            order,
        }
    }

    /// Returns the present state.
    pub fn state(&self) -> State {
        State { code: self.code.mark(), views: self.views.len(), held: self.order.len() }
    }

    /// Removes all that was added to the program since it had this state, which must be one outside of regions. The
    /// elements of arrays that are known, and the arrays that are replaceable, stay recorded.
    pub fn return_to(&mut self, state: &State) {
        self.code.cut(&state.code);
        self.inputs.truncate(self.code.inputs.len());
        self.views.truncate(state.views);
        for v in self.order.drain(state.held..) {
            self.held.remove(&v);
        }
        self.is_in_region = false;
    }

    /// Returns true if the program is not too large.
    pub fn fits(&self) -> bool {
        self.code.words.counts().iter().sum::<usize>() <= MAX_WORDS && self.code.tables.len() <= MAX_TABLES
    }

    /// Makes a value an output of the program. Panics unless the program holds it, or it is a small array of which
    /// [`Builder::set_known`] recorded the elements.
    pub fn output(&mut self, v: Value) {
        if self.known.contains_key(&v) {
            self.value(v);
        }
        let output = match self.held[&v] {
            Held::Words(place) => Output::Words(self.array_at(v, place).expect("it is in words")),
            Held::Array(array) => Output::Array(array as usize),
        };
        self.code.outputs.push(output);
    }

    /// Returns the type and the number of the real elements of a small array, as [`Builder::elements`] does: of one in
    /// words, or of one that has few enough to be in words. Returns `None` for other values.
    pub fn shape(&self, v: Value) -> Option<(Elem, usize)> {
        let (elem, size) = self.elements(v)?;
        let is_small = match self.held(v) {
            Some(Held::Words(_)) => true,
            Some(Held::Array(_)) => false,
            None => self.is_small(v, size),
        };
        is_small.then_some((elem, size))
    }

    fn is_small(&self, v: Value, size: usize) -> bool {
        size <= self.max_size * self.part_count(v)
    }

    /// Returns the type and the number of the real elements of an array. A complex element is two real ones. Returns
    /// `None` for other values, for arrays of types that kernels do not compute on, and for arrays whose elements cannot
    /// be counted by 32 bits.
    pub fn elements(&self, v: Value) -> Option<(Elem, usize)> {
        let ty = self.plan.body.ty(v).as_tensor()?;
        let elem = Elem::of(ty.dtype)?;
        let size = ty.shape.iter().try_fold(elem.parts(), |size, &n| size.checked_mul(n))?;
        u32::try_from(size).is_ok().then_some((elem.part(), size))
    }

    /// Returns the number of real elements that an element of an array is: 2 if it is complex, and 1 otherwise.
    pub fn part_count(&self, v: Value) -> usize {
        let elem = self.plan.body.ty(v).as_tensor().and_then(|ty| Elem::of(ty.dtype));
        elem.map_or(1, Elem::parts)
    }

    /// Returns where the real elements of an array are: those of a small one as in words, and those of another one as
    /// in its buffer.
    pub fn parts(&self, v: Value) -> Parts {
        let count = self.part_count(v);
        match self.shape(v) {
            Some((_, len)) => Parts { count, element: 1, part: len / count },
            None => Parts { count, element: count, part: 1 },
        }
    }

    /// Returns a small array whose words have this place. Returns `None` for other values.
    pub fn array_at(&self, v: Value, place: Place) -> Option<Array> {
        let (_, len) = self.shape(v)?;
        Some(Array { place, len, parts: self.part_count(v) })
    }

    /// Returns the form in which the program holds a value, or `None` if it does not hold the value.
    pub fn held(&self, v: Value) -> Option<Held> {
        self.held.get(&v).copied()
    }

    /// Records the form in which the program holds a value.
    pub fn hold(&mut self, v: Value, held: Held) {
        self.held.insert(v, held);
        self.order.push(v);
    }

    /// Makes words the place of a small array.
    pub fn define(&mut self, v: Value, place: Place) {
        self.hold(v, Held::Words(place));
    }

    /// Makes an array without elements a small array. Returns `None` if kernels do not compute on its type.
    pub fn define_empty(&mut self, v: Value) -> Option<()> {
        let (elem, _) = self.shape(v)?;
        self.arrange(v, elem, &[]);
        Some(())
    }

    /// Returns the place of a small array. One that the program does not hold becomes an input, or words that are
    /// constant. Returns `None` for other values.
    pub fn value(&mut self, v: Value) -> Option<Place> {
        match self.held(v) {
            Some(Held::Words(place)) => return Some(place),
            Some(Held::Array(_)) => return None,
            None => {}
        }
        let (elem, size) = self.shape(v)?;
        let place = match self.known(v).map(Literal::to_dense) {
            Some(literal) => self.code.array(elem, self.part_count(v), literal.raw_bytes()),
            None => {
                let place = self.code.place(elem, size);
                self.input(v, Input::Words(self.array_at(v, place)?));
                place
            }
        };
        self.define(v, place);
        Some(place)
    }

    /// Returns the elements of a constant, or those that [`Builder::set_known`] recorded. Returns `None` for other
    /// values.
    pub fn known(&self, v: Value) -> Option<&Literal> {
        self.known.get(&v).or_else(|| constant_value(&self.plan.view(self.plan.body.def_op(v)?)))
    }

    /// Records the elements of an array that an op computes from constants alone.
    pub fn set_known(&mut self, v: Value, elements: Literal) {
        self.known.insert(v, elements);
    }

    fn input(&mut self, v: Value, input: Input) -> u32 {
        self.code.inputs.push(input);
        self.inputs.push(v);
        self.inputs.len() as u32 - 1
    }

    /// Returns the number of the input that a large array is. One that the program does not hold becomes an input,
    /// which is only read. Returns `None` for small arrays, and for values for which [`Builder::elements`] does.
    pub fn array(&mut self, v: Value) -> Option<u32> {
        match self.held(v) {
            Some(Held::Array(array)) => Some(array),
            Some(Held::Words(_)) => None,
            None => {
                let array = self.new_array(v, false)?;
                self.hold(v, Held::Array(array));
                Some(array)
            }
        }
    }

    /// Makes a large array an input, and returns its number. If it `is_written`, the program changes it, or a copy if
    /// it is needed unchanged. Returns `None` for arrays of few enough elements to be small, and for values for which
    /// [`Builder::elements`] does.
    pub fn new_array(&mut self, v: Value, is_written: bool) -> Option<u32> {
        let (elem, size) = self.elements(v).filter(|&(_, size)| !self.is_small(v, size))?;
        Some(self.input(v, Input::Array { bytes: size * elem.size(), is_written }))
    }

    /// Returns true if a large array is an input of the program.
    pub fn reads_arrays(&self) -> bool {
        self.code.inputs.iter().any(|input| matches!(input, Input::Array { .. }))
    }

    /// Returns true if an array is an input that the program writes.
    pub fn is_written(&self, array: u32) -> bool {
        matches!(self.code.inputs[array as usize], Input::Array { is_written: true, .. })
    }

    /// Adds the instruction with this action on words of the width of this type.
    pub fn push(&mut self, elem: Elem, action: Action) {
        self.code.push(Ins::on(elem.is_wide(), action));
    }

    /// Adds the instruction that computes a small array. `action` returns its action, given the number of the array's
    /// first word. Panics if `v` is no small array.
    pub fn compute(&mut self, v: Value, action: impl FnOnce(u32) -> Action) {
        let (elem, len) = self.shape(v).expect("only small arrays are computed");
        let to = self.code.place(elem, len);
        self.push(elem, action(to.at));
        self.define(v, to);
    }

    /// Makes the words with these numbers a small array of type `elem`, as [`Builder::ordered`] does.
    pub fn arrange(&mut self, v: Value, elem: Elem, words: &[u32]) {
        let place = self.ordered(elem, words);
        self.define(v, place);
    }

    /// Adds the instruction that copies the words with these numbers, of which there is at least one, to a place.
    pub fn copy(&mut self, to: Place, words: &[u32]) {
        let [times, run] = [0, 1].map(|step| run_by(words, step));
        let table = self.code.table(words.iter().copied().step_by(times.max(run)));
        let action = match times > run {
            true => Action::Repeat { to: to.at, times: times as u32, table },
            false => Action::Copy { to: to.at, run: run as u32, table },
        };
        self.push(to.elem, action);
    }

    /// Returns the place of an array of type `elem` of the words with these numbers. If they are consecutive or all the
    /// same, the array has these words themselves, and otherwise copies of them.
    pub fn ordered(&mut self, elem: Elem, words: &[u32]) -> Place {
        let step = [0, 1].into_iter().find(|&step| is_run(words, step));
        match (words.first(), step) {
            (None, _) => return self.code.place(elem, 0),
            (Some(&at), Some(step)) => return Place { elem, at, step },
            _ => {}
        }
        let to = self.code.place(elem, words.len());
        self.copy(to, words);
        to
    }
}

/// Returns the number of words of the longest runs into which a list can be divided, all equally long, in which each
/// word is `step` more than the one before.
fn run_by(words: &[u32], step: u32) -> usize {
    let mut divisors = (1..=words.len()).rev().filter(|n| words.len().is_multiple_of(*n));
    divisors.find(|&n| words.chunks_exact(n).all(|run| is_run(run, step))).unwrap_or(1)
}

/// Returns true if each word is `step` more than the one before.
fn is_run(words: &[u32], step: u32) -> bool {
    words.windows(2).all(|pair| pair[1] == pair[0] + step)
}
