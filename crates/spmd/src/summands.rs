//! The axes over which an op may run on summands: on operands that are unreduced, so that each device along the axes
//! holds a summand. The results are then unreduced over these axes too.
//!
//! Which axes these are depends on parts of axes, because operands may be unreduced over an axis and over a part of it:
//!
//! ```text
//! a: unreduced over "x" and "y"
//! b: unreduced over "x":(1)2        a * b: over "x":(2)2 and "y" if the result is wanted unreduced over "x" and "y"
//! ```
//!
//! Over `"x":(1)2`, both operands are sums, and the product of two sums is not the sum of the products. Over the other
//! axes, `b` is a whole factor.

use shardwise_base::{AxisRef, Mesh};

/// Returns the axes over which an op may run on summands, sorted and merged as [`AxisRef::union`] does: those over
/// which operands are unreduced and all results are wanted unreduced, if the op is linear in the unreduced operands.
///
/// `operands` and `results` have the axes over which each tensor is unreduced. A list is empty for a value that is not
/// unreduced or that is no tensor. `is_linear` returns true if the op is linear in the operands, taken together, for
/// whose indices its argument returns true.
pub(crate) fn axes_on_summands<L: AsRef<[AxisRef]>>(
    mesh: &Mesh,
    operands: &[L],
    results: &[L],
    is_linear: impl Fn(&dyn Fn(usize) -> bool) -> bool,
) -> Vec<AxisRef> {
    let parts = parts(mesh, operands, results);
    AxisRef::union(mesh, parts.into_iter().filter(|&part| runs_on_summands(mesh, part, operands, results, &is_linear)))
}

/// Returns a part of an axis over which operands are unreduced although the op may not run on summands over it, or
/// `None` if there is none. The arguments are those of [`axes_on_summands`].
pub(crate) fn axis_not_allowed<L: AsRef<[AxisRef]>>(
    mesh: &Mesh,
    operands: &[L],
    results: &[L],
    is_linear: impl Fn(&dyn Fn(usize) -> bool) -> bool,
) -> Option<AxisRef> {
    let parts = parts(mesh, operands, results);
    parts.into_iter().find(|&part| !runs_on_summands(mesh, part, operands, results, &is_linear))
}

/// Returns the axes over which operands are unreduced, cut so that each tensor is unreduced over a whole part or over
/// nothing of it. A part that cannot coexist with an axis of a tensor is not cut by it.
fn parts<L: AsRef<[AxisRef]>>(mesh: &Mesh, operands: &[L], results: &[L]) -> Vec<AxisRef> {
    let axes = |lists: &[L]| lists.iter().flat_map(|l| l.as_ref()).copied().collect::<Vec<_>>();
    let given = axes(operands);
    let mut parts = AxisRef::union(mesh, given.iter().copied());
    for cut in given.into_iter().chain(axes(results)) {
        parts = parts.iter().flat_map(|p| p.overlap(cut).into_iter().chain(p.minus(mesh, &[cut]))).collect();
    }
    parts
}

fn runs_on_summands<L: AsRef<[AxisRef]>>(
    mesh: &Mesh,
    part: AxisRef,
    operands: &[L],
    results: &[L],
    is_linear: &impl Fn(&dyn Fn(usize) -> bool) -> bool,
) -> bool {
    let covers = |list: &L| part.minus(mesh, list.as_ref()).is_empty();
    let is_summand = |i: usize| operands[i].as_ref().iter().any(|a| a.overlaps(part));
    // An operand that overlaps the part without covering it has an axis that cannot coexist with the part.
    let is_clear = (0..operands.len()).all(|i| !is_summand(i) || covers(&operands[i]));
    is_clear && results.iter().all(covers) && is_linear(&is_summand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::AxisIndex;
    use shardwise_ops::Linear;

    const EACH: Linear = Linear::Each;
    const ALL: Linear = Linear::Jointly;

    fn mesh() -> Mesh {
        Mesh::new("mesh", [("x", 12), ("y", 2)]).unwrap()
    }

    fn x(pre_size: usize, size: usize) -> AxisRef {
        AxisRef::sub(&mesh(), AxisIndex::new(0), pre_size, size)
    }

    fn found(linear: Linear, operands: &[&[AxisRef]], result: &[AxisRef]) -> Vec<AxisRef> {
        let is_linear = |is_summand: &dyn Fn(usize) -> bool| linear.holds_for(operands.len(), is_summand, |_| false);
        let axes = axes_on_summands(&mesh(), operands, &[result], is_linear);
        // What may not run on summands is what is found there and not returned.
        let all = AxisRef::union(&mesh(), operands.iter().flat_map(|l| l.iter().copied()));
        let is_all = all.iter().all(|a| a.minus(&mesh(), &axes).is_empty());
        assert_eq!(axis_not_allowed(&mesh(), operands, &[result], is_linear).is_none(), is_all);
        axes
    }

    #[test]
    fn parts_of_axes_decide_and_not_whole_axes() {
        let (whole, y) = (x(1, 12), AxisRef::full(AxisIndex::new(1)));
        assert_eq!(found(EACH, &[&[whole], &[]], &[whole]), [whole]);
        assert_eq!(found(EACH, &[&[whole], &[whole]], &[whole]), []);
        assert_eq!(found(ALL, &[&[whole], &[whole]], &[whole]), [whole]);
        // The product of two sums over a part of "x" is no sum over this part.
        assert_eq!(found(EACH, &[&[whole, y], &[x(1, 2)]], &[whole, y]), [x(2, 6), y]);
        assert_eq!(found(EACH, &[&[x(2, 6)], &[whole]], &[whole]), [x(1, 2)]);
        assert_eq!(found(EACH, &[&[x(1, 2)], &[x(2, 6)]], &[whole]), [whole]);
        // Sums of different operands are added where both are unreduced.
        assert_eq!(found(ALL, &[&[whole], &[x(2, 3)]], &[whole]), [x(2, 3)]);
        // Adjacent parts are the axis.
        assert_eq!(found(ALL, &[&[whole], &[x(1, 2), x(2, 6)]], &[whole]), [whole]);
        // The results decide, too.
        assert_eq!(found(ALL, &[&[whole]], &[x(1, 4)]), [x(1, 4)]);
        assert_eq!(found(ALL, &[&[x(1, 4)]], &[]), []);
        assert_eq!(found(Linear::No, &[&[whole]], &[whole]), []);
    }

    #[test]
    fn parts_that_cannot_coexist_are_never_summed_later() {
        let whole = x(1, 12);
        assert_eq!(found(EACH, &[&[x(1, 2)], &[x(1, 3)]], &[whole]), []);
        assert_eq!(found(ALL, &[&[x(1, 2)], &[x(1, 3)]], &[whole]), []);
        assert_eq!(found(ALL, &[&[x(1, 2)], &[x(1, 2)]], &[x(1, 3)]), []);
    }
}
