//! Named axes of batches: `vmap(f).axis_name("i")`. Collectives over such an axis work on the mapped dimension.
//!
//! All of them are made of two ops. One collects the values of all indices, and the other takes the element at the
//! index that the code runs for ([`shardwise_ops::collective::named`]). When `vmap` batches the function, neither op is
//! left: the values of all indices are those along the mapped dimension.

use crate::ambient::scoped;
use crate::array::Array;
use crate::collective::AxisName;
use crate::hlo;
use shardwise_base::DType;
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use shardwise_ops::collective::named::NamedOp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Debug)]
pub(crate) struct Named {
    name: Arc<str>,
    /// The name that the axis has in ops. No other axis has it.
    pub key: Arc<str>,
    pub size: usize,
    outer: Option<Arc<Named>>,
}

scoped! {
    /// The innermost named axis of the functions that are being batched.
    static INNERMOST: Option<Arc<Named>> = None;
}

/// Runs `f` with a new axis of this name, which hides outer ones of the same name. Returns the axis and the result.
pub(crate) fn within<R>(name: &str, size: usize, f: impl FnOnce() -> R) -> (Arc<Named>, R) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let key = format!("{name}.{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let named = Arc::new(Named { name: name.into(), key: key.into(), size, outer: INNERMOST.get() });
    let out = INNERMOST.with(Some(named.clone()), f);
    (named, out)
}

/// Named axes of batches, major to minor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Along(Vec<Arc<Named>>);

impl Along {
    /// Splits axis names into those of named axes of batches, which are resolved, and all others, which the caller
    /// looks up in the mesh. Both are in the given order. Groups of an axis are among the others.
    pub fn of(names: Vec<AxisName>) -> (Along, Vec<AxisName>) {
        let (mut along, mut rest) = (vec![], vec![]);
        for name in names {
            match find(&name) {
                Some(named) => along.push(named),
                None => rest.push(name),
            }
        }
        (Along(along), rest)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the name of an axis that is among the axes twice, or `None` if there is none.
    pub fn named_twice(&self) -> Option<&str> {
        let is_twice = |&(i, axis): &(usize, &Arc<Named>)| self.0[..i].iter().any(|other| Arc::ptr_eq(axis, other));
        self.0.iter().enumerate().find(is_twice).map(|(_, axis)| &*axis.name)
    }

    /// Returns the number of indices along all of the axes together: the product of their sizes.
    pub fn count(&self) -> usize {
        self.0.iter().map(|a| a.size).product()
    }

    /// Formats the axes: `"i"`, `("i", "j")`.
    pub fn show(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|a| format!("\"{}\"", a.name)).collect();
        if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) }
    }

    /// Returns the values that `x` has at all indices along the axes, in a new first dimension: `[s..] -> [n, s..]`.
    pub fn gather(&self, x: &Array) -> Array {
        let shape = x.tensor().shape.clone();
        let all = self.0.iter().rev().fold(x.clone(), |x, axis| {
            let ty = TensorType::new(x.tensor().dtype, [&[axis.size], &x.tensor().shape[..]].concat());
            named_op(NamedOp::Gather, axis, &x, ty)
        });
        hlo::reshape(&all, &[&[self.count()], &shape[..]].concat())
    }

    /// Returns the row of `list` at the index along the axes that the code runs for: `[n, s..] -> [s..]`.
    pub fn spread(&self, list: &Array) -> Array {
        let sizes = self.0.iter().map(|a| a.size);
        let shape: Vec<usize> = sizes.chain(list.tensor().shape[1..].iter().copied()).collect();
        self.0.iter().fold(hlo::reshape(list, &shape), |x, axis| {
            let ty = TensorType::new(x.tensor().dtype, &x.tensor().shape[1..]);
            named_op(NamedOp::Spread, axis, &x, ty)
        })
    }

    /// Returns the index along the axes, major to minor, that the code runs for, as an `i32` scalar.
    pub fn index(&self) -> Array {
        self.spread(&hlo::iota(TensorType::new(DType::I32, [self.count()]), 0))
    }
}

fn named_op(op: NamedOp, axis: &Named, x: &Array, ty: TensorType) -> Array {
    hlo::op_with(Opcode::CustomCall, &[x], op.attrs(&axis.key), vec![], &[ty]).pop().expect("one result")
}

fn find(name: &AxisName) -> Option<Arc<Named>> {
    let AxisName::Whole(name) = name else { return None };
    let mut next = INNERMOST.get();
    while let Some(named) = next {
        if *named.name == **name {
            return Some(named);
        }
        next = named.outer.clone();
    }
    None
}
