//! The exchange whose sizes are known when the program runs.

use super::{Axes, Over};
use crate::array::Array;
use crate::manual::ManualType;
use crate::ops::{Checked, EitherKind, Operand, Site, site};
use crate::{hlo, mistakes};
use shardwise_ops::make_collective;

/// Which rows go where in a [`ragged_all_to_all`]: lists of integers, whose entry `i` is about the `i`th device.
#[derive(Clone, Copy, Debug)]
pub struct Ragged<'a> {
    /// The first row of `rows` that goes there.
    pub input_offsets: &'a Array,
    /// How many rows go there.
    pub send_sizes: &'a Array,
    /// The place of the first of them in *its* output.
    pub output_offsets: &'a Array,
    /// How many rows come from there.
    pub recv_sizes: &'a Array,
}

/// Sends rows to the devices along `axes`, as many to each as `sizes` say, into places of their outputs, which start as
/// `into`.
///
/// Shape:  rows `[s, ..]`, into `[t, ..]`, lists `i32[n]` (or `i32[k * n]`, `k` entries for each device) -> `[t, ..]`
/// Types:  V -> V
/// Errors: `ragged-rows`, `ragged-lists`; when it runs: `ragged-bounds`, `ragged-sizes`, `ragged-overlap`
#[track_caller]
pub fn ragged_all_to_all(rows: &Array, into: impl Operand, axes: impl Axes, sizes: Ragged<'_>) -> Array {
    let into = into.operand();
    let lists = [sizes.input_offsets, sizes.send_sizes, sizes.output_offsets, sizes.recv_sizes];
    let output = match &into.0 {
        EitherKind::Array(a) => Some(a.clone()),
        EitherKind::Number(_) => None,
    };
    let operands: Vec<&Array> = std::iter::once(rows).chain(&output).chain(lists).collect();
    site("ragged_all_to_all", &operands, |s| {
        let Some(output) = &output else {
            let facts = format!("rows {}, into a number", rows.short_type());
            return s.fail(None, mistakes::ragged_rows(facts, &s.loc));
        };
        let over = s.over(&axes, Some(output.tensor().clone()))?;
        check(s, rows, output, lists, &over)?;
        let operands = [rows, output, lists[0], lists[1], lists[2], lists[3]];
        let state = states(s, &operands, &over)?;
        Ok(hlo::built(&operands, Some(state), |b, x| {
            let lists = [x[2], x[3], x[4], x[5]];
            make_collective::ragged_all_to_all(b, [x[0], x[1]], lists, over.mesh(), &over.list)
        }))
    })
}

fn check(s: &Site<'_>, rows: &Array, output: &Array, lists: [&Array; 4], over: &Over) -> Checked<()> {
    let (x, out) = (rows.tensor(), output.tensor());
    if x.dtype != out.dtype || x.rank() == 0 || out.rank() == 0 || x.shape[1..] != out.shape[1..] {
        let facts = format!("rows {}, into {}", rows.short_type(), output.short_type());
        return s.fail(Some(out.clone()), mistakes::ragged_rows(facts, &s.loc));
    }
    let (first, n) = (lists[0].tensor(), over.count());
    let is_list = first.rank() == 1 && first.dtype.is_integer();
    let fits = is_list && first.shape[0] > 0 && first.shape[0].is_multiple_of(n);
    if !fits || lists.iter().any(|a| a.tensor() != first) {
        let names = ["input_offsets", "send_sizes", "output_offsets", "recv_sizes"];
        let facts = names.iter().zip(lists).map(|(name, a)| format!("{name} {}", a.short_type()));
        let d = mistakes::ragged_lists(facts.collect(), &over.show(), n, &s.loc);
        return s.fail(Some(out.clone()), d);
    }
    Ok(())
}

/// All operands vary over the axes.
fn states(s: &Site<'_>, operands: &[&Array], over: &Over) -> Checked<ManualType> {
    let mut all = ManualType::uniform(&over.scope).with_varying(&over.set);
    for x in operands {
        let state = s.varying(x, over, Some(operands[1].tensor().clone()))?;
        all = match all.join(&state) {
            Some(joined) => joined,
            None => {
                let mesh = &over.scope.mesh;
                let (shown, axes) = (x.short_type(), state.unreduced.show(mesh));
                let help = "sum it first: `.psum(..)` or `.psum_scatter(..)`";
                let ty = Some(operands[1].tensor().clone());
                return s.fail(ty, mistakes::wrong_state(s.name, &shown, "unreduced", &axes, help, &s.loc));
            }
        };
    }
    Ok(all)
}
