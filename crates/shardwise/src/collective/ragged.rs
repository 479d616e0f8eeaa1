//! The all-to-all exchange whose sizes are computed by the program.

use super::{Axes, Exchange, Future, Over, run, start};
use crate::array::Array;
use crate::manual::ManualType;
use crate::mistakes;
use crate::ops::{AsArray, Checked, Site};
use shardwise_ir::{Builder, Value};
use shardwise_ops::make_collective;

/// The rows that a [`ragged_all_to_all`] sends to each device, and receives from each: lists of integers with `k`
/// consecutive entries for each device. With one entry for each, entry `i` is for the device at position `i` along the
/// axes, counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct Ragged<'a> {
    /// The index in `rows` of the first row that is sent to the device.
    pub input_offsets: &'a Array,
    /// The number of rows that are sent to the device.
    pub send_sizes: &'a Array,
    /// The index in the *receiving* device's output at which the first of these rows is stored.
    pub output_offsets: &'a Array,
    /// The number of rows that are received from the device.
    pub recv_sizes: &'a Array,
}

/// Sends rows to the devices along `axes`, which cannot be axes of batches. The lists in `sizes` say how many rows go
/// to each device, and where they are stored in its output. The rest of the output is taken from `into`.
///
/// # Shapes
///
/// Rows `[s, ..]`, into `[t, ..]`, lists `i32[n]` (or `i32[k * n]`, with `k` entries for each device) -> `[t, ..]`.
///
/// # States
///
/// V -> V. A replicated or reduced operand is cast to V.
///
/// # Errors
///
/// - `ragged-rows` if `rows` and `into` do not have the same element type and the same shape of a row, or if one of
///   them is a scalar.
/// - `ragged-lists` unless the lists are one-dimensional, and integers of one type and length, which is a positive
///   multiple of the number of devices.
/// - `not-manual`, `manual-axis`, `axis-groups`, `divergent-collective` and `wrong-state`, as for a collective of
///   [`Array`].
/// - When it runs: `ragged-bounds`, `ragged-sizes` and `ragged-overlap` if a size is negative, or the lists do not fit
///   the arrays or each other. A gradient fails with `ragged-overlap` if a row was sent to several devices.
#[track_caller]
pub fn ragged_all_to_all(rows: &Array, into: impl AsArray, axes: impl Axes, sizes: Ragged<'_>) -> Array {
    let into = into.as_array();
    run("ragged_all_to_all", &operands(rows, into, sizes), |s| exchange(s, rows, into, &axes, sizes))
}

/// Starts [`ragged_all_to_all`], whose errors the result of [`Future::done`] carries.
#[track_caller]
pub fn ragged_all_to_all_start(rows: &Array, into: impl AsArray, axes: impl Axes, sizes: Ragged<'_>) -> Future {
    let into = into.as_array();
    start("ragged_all_to_all_start", &operands(rows, into, sizes), |s| exchange(s, rows, into, &axes, sizes))
}

impl<'a> Ragged<'a> {
    fn lists(self) -> [&'a Array; 4] {
        [self.input_offsets, self.send_sizes, self.output_offsets, self.recv_sizes]
    }
}

fn operands<'a>(rows: &'a Array, into: &'a Array, sizes: Ragged<'a>) -> Vec<&'a Array> {
    [rows, into].into_iter().chain(sizes.lists()).collect()
}

fn exchange(s: &Site<'_>, rows: &Array, into: &Array, axes: &impl Axes, sizes: Ragged<'_>) -> Checked<Exchange> {
    let over = s.over(axes, Some(into.tensor().clone()))?;
    check(s, rows, into, sizes.lists(), &over)?;
    let operands = operands(rows, into, sizes);
    let state = states(s, &operands, &over)?;
    let op = move |b: &mut Builder<'_>, x: &[Value]| {
        let lists = [x[2], x[3], x[4], x[5]];
        make_collective::ragged_all_to_all(b, [x[0], x[1]], lists, over.mesh(), &over.list)
    };
    Ok(Exchange::new(&operands, state, op))
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

/// Returns the states of the result: all operands are cast to varying over the axes.
///
/// Errors: `wrong-state` if an operand is unreduced, and `divergent-collective`.
fn states(s: &Site<'_>, operands: &[&Array], over: &Over) -> Checked<ManualType> {
    let mut all = ManualType::replicated(&over.scope).with_varying(&over.set);
    for x in operands {
        let state = s.varying(x, over, Some(operands[1].tensor().clone()))?;
        all = match all.join(&state) {
            Some(joined) => joined,
            None => {
                let open = state.unreduced.show(&over.scope.mesh);
                let ty = Some(operands[1].tensor().clone());
                return s.fail(ty, mistakes::unreduced_value(s.name, &x.short_type(), &over.show(), &open, &s.loc));
            }
        };
    }
    Ok(all)
}
