//! Remembers the inferred layouts of ops: a program of many layers has the same ops with the same layouts in each
//! layer.
//!
//! The key of an op has what its facts may read: attributes, types, layouts, the operands that are scalar constants
//! without a layout, and the codes of the ops in its regions. An op with an operand that has no layout and is not a
//! scalar constant is never remembered.

use super::State;
use shardwise_base::{AxisRef, Mesh, Sharding};
use shardwise_ir::{Attrs, OpCode, OpView, Region, Type};
use shardwise_ops::Opcode;
use shardwise_sharding::explicit::Verdict;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The layouts that this thread inferred for types over some axes of a mesh.
pub(super) struct Memo {
    mesh: Option<Arc<Mesh>>,
    axes: Vec<AxisRef>,
    is_mixed: bool,
    /// The inferred layouts by op code. A program has few of them.
    known: Vec<(OpCode, Vec<Known>)>,
}

// The most recently used entry is the last one.
thread_local!(static MEMOS: RefCell<Vec<Memo>> = const { RefCell::new(vec![]) });

/// The largest number of entries that are kept: one for each mesh and set of typed axes. The least recently used is
/// dropped for a further one.
const MOST_MEMOS: usize = 4;

/// The largest number of results that are kept for an op code. The oldest is dropped for a further one.
const MOST: usize = 16;

struct Known {
    attrs: Attrs,
    operands: Vec<Operand>,
    results: Vec<Type>,
    regions: Vec<OpCode>,
    inferred: Rc<InferredLayouts>,
}

/// The possible layouts, by preference: each has a sharding for each result. Also why the layout is not clear, if it is
/// not.
pub(super) struct InferredLayouts {
    pub candidates: Vec<Vec<Sharding>>,
    pub verdict: Verdict,
}

struct Operand {
    ty: Type,
    is: What,
}

enum What {
    Laid(Sharding),
    /// The attributes of a scalar constant.
    Constant(Attrs),
}

impl Memo {
    /// Calls `f` with the results of this thread for the mesh and the typed axes of `state`. There are none at first.
    /// Panics if `f` calls this function.
    pub fn with<R>(state: &State, f: impl FnOnce(&mut Memo) -> R) -> R {
        MEMOS.with_borrow_mut(|memos| {
            match memos.iter().rposition(|m| m.is_of(state)) {
                Some(i) => memos[i..].rotate_left(1),
                None => {
                    if memos.len() == MOST_MEMOS {
                        memos.remove(0);
                    }
                    let State { mesh, axes, is_mixed, .. } = state;
                    memos.push(Memo { mesh: mesh.clone(), axes: axes.clone(), is_mixed: *is_mixed, known: vec![] });
                }
            }
            f(memos.last_mut().expect("it was put there"))
        })
    }

    fn is_of(&self, state: &State) -> bool {
        self.mesh == state.mesh && self.axes == state.axes && self.is_mixed == state.is_mixed
    }

    pub fn get(&self, view: &OpView<'_>, layouts: &[Option<&Sharding>]) -> Option<Rc<InferredLayouts>> {
        let (_, known) = self.known.iter().find(|(code, _)| *code == view.data().code)?;
        known.iter().find(|k| k.is_of(view, layouts)).map(|k| k.inferred.clone())
    }

    pub fn add(&mut self, view: &OpView<'_>, layouts: &[Option<&Sharding>], inferred: &Rc<InferredLayouts>) {
        let operands: Option<Vec<Operand>> =
            layouts.iter().enumerate().map(|(i, l)| Operand::of(view, i, *l)).collect();
        let Some(operands) = operands else { return };
        let code = view.data().code;
        let place = self.known.iter().position(|(c, _)| *c == code).unwrap_or_else(|| {
            self.known.push((code, vec![]));
            self.known.len() - 1
        });
        let known = &mut self.known[place].1;
        if known.len() == MOST {
            known.remove(0);
        }
        let mut regions = vec![];
        for_each_code(view, view.regions(), &mut |code| regions.push(code));
        known.push(Known {
            attrs: view.attrs().clone(),
            operands,
            results: view.results().iter().map(|&v| view.body.ty(v).clone()).collect(),
            regions,
            inferred: inferred.clone(),
        });
    }
}

impl Known {
    fn is_of(&self, view: &OpView<'_>, layouts: &[Option<&Sharding>]) -> bool {
        let types = self.results.iter().zip(view.results()).all(|(ty, &v)| ty == view.body.ty(v));
        types
            && self.results.len() == view.results().len()
            && self.operands.len() == layouts.len()
            && self.operands.iter().zip(layouts).enumerate().all(|(i, (o, l))| o.is_operand(view, i, *l))
            && self.attrs == *view.attrs()
            && self.has_regions_of(view)
    }

    fn has_regions_of(&self, view: &OpView<'_>) -> bool {
        let (mut own, mut is_same) = (self.regions.iter(), true);
        for_each_code(view, view.regions(), &mut |code| is_same &= own.next() == Some(&code));
        is_same && own.next().is_none()
    }
}

impl Operand {
    fn of(view: &OpView<'_>, i: usize, layout: Option<&Sharding>) -> Option<Operand> {
        let is = match layout {
            Some(s) => What::Laid(s.clone()),
            None => What::Constant(constant(view, i)?.clone()),
        };
        Some(Operand { ty: view.operand_type(i).clone(), is })
    }

    fn is_operand(&self, view: &OpView<'_>, i: usize, layout: Option<&Sharding>) -> bool {
        let is_same = match &self.is {
            What::Laid(s) => layout == Some(s),
            What::Constant(attrs) => layout.is_none() && constant(view, i) == Some(attrs),
        };
        is_same && self.ty == *view.operand_type(i)
    }
}

fn constant<'a>(view: &OpView<'a>, i: usize) -> Option<&'a Attrs> {
    let is_one = view.operand_type(i).as_tensor().is_some_and(|t| t.rank() == 0);
    let def = view.body.def_op(view.operand(i)).filter(|_| is_one)?;
    let def = view.body.op(def);
    (def.code == OpCode::from(Opcode::Constant)).then_some(&def.attrs)
}

fn for_each_code(view: &OpView<'_>, regions: &[Region], f: &mut impl FnMut(OpCode)) {
    for &op in regions.iter().flat_map(|&r| &view.body.region(r).ops) {
        let op = view.body.op(op);
        f(op.code);
        for_each_code(view, &op.regions, f);
    }
}
