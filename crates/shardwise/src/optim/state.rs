//! The state of an optimizer, as a tree.

use crate::array::Array;
use crate::error::Mistakes;
use crate::function::Arg;
use crate::spec::{LeafSpec, Specs, collect};
use crate::tree::{Form, Path, Tree, leaves, with_leaves};
use crate::{DType, DimSpec, Layout, Mesh, P, SpecFor, mesh, scalar, zeros_like};
use shardwise_base::{AxisRef, Loc};
use std::sync::Arc;

/// The state of an optimizer for parameters of type `T`: numbers, such as the count of steps, and arrays for each
/// parameter, such as the means of its gradients.
///
/// It is a tree, so that traced functions can take and return it. The path of an array is the position of its
/// transformation among those in the chain that have a state, the name of the array, and the path of its parameter:
/// `[0].mu.layers[3].wq`. The path of a number ends with its name: `[0].count`.
#[derive(Clone, Debug)]
pub struct State<T> {
    pub(super) parts: Vec<Part<T>>,
    /// The types of the parameters, without layouts. They are not among the leaves.
    pub(super) params: T,
}

/// The state of one transformation.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Part<T> {
    pub(super) name: &'static str,
    pub(super) numbers: Vec<(&'static str, Array)>,
    pub(super) slots: Vec<Slot<T>>,
}

/// An array for each parameter.
#[derive(Clone, Debug)]
pub(super) struct Slot<T> {
    pub name: &'static str,
    /// How the type of each array follows from that of its parameter.
    pub likes: Vec<Like>,
    pub tree: T,
}

/// How the type of an array of the state follows from that of its parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Like {
    /// It has the shape of the parameter, and the parameter's layout or one that is split further.
    Whole,
    /// It has the shape of the parameter without this dimension.
    Without(usize),
    /// It is a placeholder for a parameter that needs no array here.
    Nothing,
}

impl<T: Tree> Tree for State<T> {
    fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array)) {
        for (i, part) in self.parts.iter().enumerate() {
            at.index(i, |at| {
                part.numbers.iter().for_each(|(name, x)| at.field(name, |at| f(at, x)));
                part.slots.iter().for_each(|slot| at.field(slot.name, |at| slot.tree.visit(at, f)));
            });
        }
    }
    fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> State<T> {
        let part = |part: &Part<T>| Part {
            name: part.name,
            numbers: part.numbers.iter().map(|(name, x)| (*name, f(x))).collect(),
            slots: part.slots.iter().map(|slot| slot.with(slot.tree.rebuild(f))).collect(),
        };
        State { parts: self.parts.iter().map(part).collect(), params: self.params.rebuild_clone() }
    }
    fn form(&self, form: &mut Form) {
        form.number(self.parts.len());
        form.fixed(&leaves(&self.params).into_iter().map(|p| p.known_type().map(|ty| ty.ty)).collect::<Vec<_>>());
        for part in &self.parts {
            form.fixed(&part.name);
            form.fixed(&part.numbers.iter().map(|(name, _)| *name).collect::<Vec<_>>());
            form.number(part.slots.len());
            for slot in &part.slots {
                form.fixed(&(slot.name, slot.likes.clone()));
                slot.tree.form(form);
            }
        }
    }
}

impl<T: Tree> Arg for State<T> {
    type Item<'a> = State<T>;
    type Owned = State<T>;
    const DONATED: bool = true;
    fn own(item: State<T>) -> State<T> {
        item
    }
    fn lend(owned: &State<T>) -> State<T> {
        owned.rebuild_clone()
    }
}

impl<T> State<T> {
    /// Returns the number of earlier steps: how often the state has been updated. With gradients that are accumulated,
    /// these are the updates of the parameters. Returns `None` if no transformation of the optimizer counts its steps,
    /// or if [`Optimizer::init`](super::Optimizer::init) found a setting out of range or a parameter of unknown type.
    pub fn steps(&self) -> Option<&Array> {
        let numbers = self.parts.iter().flat_map(|part| &part.numbers);
        numbers.into_iter().find(|(name, _)| *name == COUNT).map(|(_, x)| x)
    }
}

pub(super) const COUNT: &str = "count";

/// The name of the only part, and of its number and its slot, of a state that could not be made.
const MISTAKE: &str = "mistake";

impl<T: Tree> State<T> {
    pub(super) fn poisoned(number: Array, tree: T) -> State<T> {
        let likes = vec![Like::Whole; leaves(&tree).len()];
        let slot = Slot { name: MISTAKE, likes, tree };
        let params = slot.tree.rebuild_clone();
        State { parts: vec![Part { name: MISTAKE, numbers: vec![(MISTAKE, number)], slots: vec![slot] }], params }
    }

    /// Returns the mistakes of a state that [`State::poisoned`] has made, or `None` for any other state.
    pub(super) fn mistakes(&self) -> Option<&Mistakes> {
        let part = self.parts.iter().find(|part| part.name == MISTAKE)?;
        part.numbers.iter().find_map(|(_, x)| x.mistakes())
    }
}

impl<T> Slot<T> {
    fn with<U>(&self, tree: U) -> Slot<U> {
        Slot { name: self.name, likes: self.likes.clone(), tree }
    }
}

impl<T: Tree> Part<T> {
    /// Returns the part with only the arrays of the parameters for which `is_active` is true, as lists.
    pub(super) fn to_leaves(&self, is_active: &[bool]) -> Part<Vec<Array>> {
        let slot = |slot: &Slot<T>| {
            let all = leaves(&slot.tree).into_iter().zip(&slot.likes).zip(is_active);
            let (tree, likes) = all.filter(|(_, active)| **active).map(|((x, like), _)| (x.clone(), *like)).unzip();
            Slot { name: slot.name, likes, tree }
        };
        Part { name: self.name, numbers: self.numbers.clone(), slots: self.slots.iter().map(slot).collect() }
    }
}

impl<T> Part<T> {
    /// Returns true if the arrays of parameter `i` may be split over more axes than the parameter: none of them lacks a
    /// dimension of the parameter.
    pub(super) fn is_split_further(&self, i: usize) -> bool {
        !self.slots.iter().any(|slot| matches!(slot.likes[i], Like::Without(_)))
    }
}

impl Slot<Vec<Array>> {
    /// Returns an array of zeros for each parameter, in its layout. In Auto mode, zeros for traced parameters have no
    /// layout of their own.
    pub fn zeros<'a>(name: &'static str, params: impl Iterator<Item = &'a Array>) -> Slot<Vec<Array>> {
        let tree: Vec<Array> = params.map(zeros_like).collect();
        Slot { name, likes: vec![Like::Whole; tree.len()], tree }
    }
}

impl Part<Vec<Array>> {
    /// Returns the part with each slot as a tree of the form of `params`. The slots of `self` have arrays only for the
    /// parameters for which `is_active` is true. The others get the array `none`.
    pub(super) fn to_trees<T: Tree>(&self, params: &T, is_active: &[bool], none: &Array) -> Part<T> {
        let slot = |slot: &Slot<Vec<Array>>| {
            let mut own = slot.tree.iter().zip(&slot.likes);
            let all = is_active.iter().map(|active| match active {
                true => own.next().map(|(x, like)| (x.clone(), *like)).expect("one for each"),
                false => (none.clone(), Like::Nothing),
            });
            let (all, likes): (Vec<Array>, Vec<Like>) = all.unzip();
            Slot { name: slot.name, likes, tree: with_leaves(params, all) }
        };
        Part { name: self.name, numbers: self.numbers.clone(), slots: self.slots.iter().map(slot).collect() }
    }

    pub(super) fn counted(name: &'static str, slots: Vec<Slot<Vec<Array>>>) -> Part<Vec<Array>> {
        Part { name, numbers: vec![(COUNT, scalar(0, DType::I32))], slots }
    }

    /// Increments the count of steps, which stays at the largest `i32`, and returns the count before that. Panics if
    /// the part has no count.
    pub(super) fn count(&mut self) -> Array {
        let count = self.number(COUNT).clone();
        *self.number(COUNT) = count.minimum(i32::MAX - 1) + 1;
        count
    }

    pub(super) fn number(&mut self, name: &str) -> &mut Array {
        &mut self.numbers.iter_mut().find(|(own, _)| *own == name).expect("a number of the part").1
    }

    pub(super) fn slot(&mut self, name: &str) -> &mut Vec<Array> {
        &mut self.slots.iter_mut().find(|slot| slot.name == name).expect("a slot of the part").tree
    }
}

/// The parts of a state while it is updated: each transformation takes its own, and puts the new one.
#[doc(hidden)]
#[derive(Debug)]
pub struct Parts {
    old: std::vec::IntoIter<Part<Vec<Array>>>,
    pub(super) new: Vec<Part<Vec<Array>>>,
}

impl Parts {
    pub(super) fn new(old: Vec<Part<Vec<Array>>>) -> Parts {
        Parts { old: old.into_iter(), new: vec![] }
    }

    pub(super) fn take(&mut self, name: &'static str) -> Part<Vec<Array>> {
        let part = self.old.next().expect("the form of the state was checked");
        assert!(part.name == name, "the form of the state was checked");
        part
    }
}

// ── layouts
/// The result of [`specs`].
#[derive(Clone, Debug)]
#[must_use = "layouts have no effect until they are passed to a function such as `.out_shardings`"]
pub struct StateSpecs<S> {
    params: Arc<S>,
    over: Option<String>,
}

/// Returns the layouts of an optimizer's state from those of the parameters. Each array of the state has the layout of
/// its parameter, and numbers are replicated: `jit(step).out_shardings((params.clone(), optim::specs(params), P!()))`.
///
/// An array that lacks a dimension of its parameter, as those of [`adafactor`](super::adafactor), has the layout of the
/// other dimensions. [`by_path`](crate::by_path) gets the path, the dtype and the shape of each parameter, and no layout.
pub fn specs<S>(params: S) -> StateSpecs<S> {
    StateSpecs { params: Arc::new(params), over: None }
}

impl<S> StateSpecs<S> {
    /// Splits the arrays of the state over one more mesh axis, as
    /// [`Optimizer::states_over`](super::Optimizer::states_over) does.
    pub fn over(self, axis: &str) -> StateSpecs<S> {
        StateSpecs { over: Some(axis.into()), ..self }
    }
}

impl<T: Tree, S: SpecFor<T>> SpecFor<State<T>> for StateSpecs<S> {
    fn specs(&self, of: &State<T>, out: &mut Specs) {
        for part in &of.parts {
            out.leaves.extend(part.numbers.iter().map(|_| P::default().layout()));
            for slot in &part.slots {
                match collect(&*self.params, &of.params) {
                    Ok(params) => {
                        let arrays = leaves(&slot.tree).into_iter().zip(&slot.likes).zip(params).enumerate();
                        let layouts = arrays.map(|(i, ((x, like), spec))| {
                            let over = self.over.as_ref().filter(|_| *like == Like::Whole && part.is_split_further(i));
                            layout_of(x, *like, spec, over)
                        });
                        out.leaves.extend(layouts);
                    }
                    Err(wrong) => out.wrong.extend(wrong),
                }
            }
        }
    }
}

/// Returns the layout of an array of the state whose parameter has the layout `spec`. If `over` is an axis, and there
/// is a mesh, it is also split over this axis, as [`split_further`] does.
fn layout_of(x: &Array, like: Like, spec: LeafSpec, over: Option<&String>) -> LeafSpec {
    let LeafSpec { mesh, spec } = spec;
    let spec = like.layout(&spec);
    let spec = match (over, mesh.clone().or_else(mesh::current)) {
        (Some(axis), Some(mesh)) => split_further(&spec, &x.tensor().shape, &mesh, axis),
        _ => spec,
    };
    LeafSpec { mesh, spec }
}

impl Like {
    /// Returns the layout of an array of the state whose parameter has the layout `param`.
    pub(super) fn layout(self, param: &P) -> P {
        match self {
            Like::Whole => param.clone(),
            Like::Without(dim) => {
                P::new(param.dims().iter().enumerate().filter(|(d, _)| *d != dim).map(|(_, spec)| spec.clone()))
            }
            Like::Nothing => P::default(),
        }
    }
}

/// Returns the layout of an array of this shape with the mesh axis `axis` added to the first dimension that is then
/// still split evenly. Returns the layout unchanged if it uses the axis already, if there is no such dimension, or if
/// the layout does not fit the mesh. If the mesh has no such axis, and the array is no scalar, returns a layout that
/// names the axis, so that `.shard` reports it.
///
/// `P!(None, "model")` of an array `[6, 8]` over an axis "data" of size 4: `P!(None, ("model", "data"))` if "model" has
/// size 2, because 4 does not divide 6.
pub(super) fn split_further(layout: &P, shape: &[usize], mesh: &Mesh, axis: &str) -> P {
    if shape.is_empty() {
        return layout.clone();
    }
    let Some(index) = mesh.0.axis(axis) else {
        // `.shard` reports that the mesh has no such axis.
        return P::new([DimSpec::Axes(vec![axis.into()])]);
    };
    let Ok(sharding) = layout.names_on(mesh, "", shape.len(), &Loc::UNKNOWN) else { return layout.clone() };
    let added = AxisRef::full(index);
    let mut used = sharding.dims.iter().flat_map(|d| &d.axes).chain(&sharding.unreduced).chain(&sharding.reduced);
    let place = (0..shape.len()).find(|&d| {
        let parts = AxisRef::total_size(&mesh.0, &sharding.dims[d].axes) * mesh.0.axis_size(index);
        shape[d].is_multiple_of(parts)
    });
    match place.filter(|_| !used.any(|a| a.overlaps(added))) {
        Some(dim) => {
            let mut dims = sharding.dims.to_vec();
            AxisRef::push_or_merge(&mut dims[dim].axes, added, &mesh.0);
            P::of(&sharding.with_dims(dims))
        }
        None => layout.clone(),
    }
}
