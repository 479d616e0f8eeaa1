//! The kernel table: the ops that have a kernel of their own, and the fusion of ops into one kernel.
//!
//! [`KERNELS`] has a row for each such op. There is one file for each kind of kernel; its functions build the step of
//! an op, or return none, so that the op's reference evaluation runs. A kernel knows the planner only as its
//! [`context`](context::PlanCx). What several kernels need has a file of its own: `buffers`, `copies`, `factors`,
//! `indices`, `members`, `products`, `reducers`, `strides`, `window`. Runs of ops on small arrays are one step
//! (`small`).
#![forbid(unsafe_code)]

mod arg_reduce;
mod buffers;
mod complex;
mod context;
mod convolution;
mod copies;
mod dot;
mod empty;
mod exchange;
mod factors;
mod few;
mod fft;
mod fold;
mod fusion;
mod index;
mod indices;
mod lapack;
mod members;
mod moves;
mod permute;
mod print;
mod products;
mod ragged_dot;
mod ragged_exchange;
mod reduce;
mod reduce_window;
mod reducers;
mod rows;
mod select_and_scatter;
mod small;
mod sort;
mod strides;
#[cfg(test)]
pub(crate) mod testing;
mod window;

pub use context::PlanCx;
pub use dot::{Sum, sum_step, sums};
pub use fusion::{Group, groups, step as fused_step};
pub use members::members;
pub use small::{runs, step as run_step};

use crate::block::{Binary, Unary};
use crate::plan::Step;
use context::{Fused, KernelTable, Row, Small};
use shardwise_ir::OpView;
use shardwise_mathfn::with_functions;
use shardwise_ops::promote::is_promoted;
use shardwise_ops::{Opcode, Semantics};

/// Declares the table of these rows and of the functions with formulas.
macro_rules! kernels {
    ([$($row:expr,)*]
     unary_functions { $($op:ident $unary:ident $($_names:ident)*,)* }
     binary_functions { $($op2:ident $binary:ident $($_names2:ident)*,)* }) => {
        /// The kernels of all ops. An op without a row has none.
        pub static KERNELS: KernelTable = KernelTable::new(&[
            $($row,)*
            $(unary(Opcode::$op, Unary::$unary),)*
            $(binary(Opcode::$op2, Binary::$binary),)*
        ]);
    };
}

with_functions! { kernels! [
    unary(Opcode::Abs, Unary::Abs),
    unary(Opcode::Ceil, Unary::Ceil),
    unary(Opcode::CountLeadingZeros, Unary::CountLeadingZeros),
    unary(Opcode::Floor, Unary::Floor),
    unary(Opcode::IsFinite, Unary::IsFinite),
    unary(Opcode::Negate, Unary::Neg),
    unary(Opcode::Not, Unary::Not),
    unary(Opcode::Popcnt, Unary::Popcount),
    unary(Opcode::RoundNearestAfz, Unary::RoundAway),
    unary(Opcode::RoundNearestEven, Unary::RoundEven),
    unary(Opcode::Rsqrt, Unary::Rsqrt),
    unary(Opcode::Sign, Unary::Sign),
    unary(Opcode::Sqrt, Unary::Sqrt),
    binary(Opcode::Add, Binary::Add),
    binary(Opcode::And, Binary::And),
    binary(Opcode::Divide, Binary::Div),
    binary(Opcode::Maximum, Binary::Max),
    binary(Opcode::Minimum, Binary::Min),
    binary(Opcode::Multiply, Binary::Mul),
    binary(Opcode::Or, Binary::Or),
    binary(Opcode::Remainder, Binary::Rem),
    binary(Opcode::ShiftLeft, Binary::ShiftLeft),
    binary(Opcode::ShiftRightArithmetic, Binary::ShiftRightArithmetic),
    binary(Opcode::ShiftRightLogical, Binary::ShiftRightLogical),
    binary(Opcode::Subtract, Binary::Sub),
    binary(Opcode::Xor, Binary::Xor),
    Row::fused(Opcode::ChloNextAfter, Fused::Elements(fusion::next_after)).or(&[rows::step]),
    Row::fused(Opcode::ChloSquare, Fused::Elements(fusion::square)).or(&[rows::step]),
    Row::fused(Opcode::Clamp, Fused::Elements(fusion::clamp)),
    Row::fused(Opcode::Compare, Fused::Elements(fusion::compare)).or(&[rows::step]),
    Row::fused(Opcode::Convert, Fused::Elements(fusion::convert)).or(&[rows::step]),
    Row::fused(Opcode::Select, Fused::Elements(fusion::select)).or(&[rows::step]),
    Row::fused(Opcode::Iota, Fused::Iota),
    Row::fused(Opcode::BitcastConvert, Fused::Elements(fusion::bitcast))
        .only_if(fusion::keeps_shape)
        .or(&[moves::bitcast]),
    Row::fused(Opcode::Reduce, Fused::Reduce).only_if(fusion::is_named_reduce).or(&[arg_reduce::step, reduce::step, complex::reduce, fold::step])
        .small(Small::Call(arg_reduce::routine)),
    Row::fused(Opcode::BroadcastInDim, Fused::View(fusion::broadcast)).or(&[moves::view]),
    Row::fused(Opcode::Reshape, Fused::View(fusion::reshape)).only_if(fusion::is_trivial_reshape)
        .or(&[moves::alias])
        .small(Small::Movement),
    Row::fused(Opcode::Reverse, Fused::View(fusion::reverse)).or(&[moves::view]),
    Row::fused(Opcode::Slice, Fused::View(fusion::slice)).or(&[moves::view]),
    Row::fused(Opcode::Transpose, Fused::View(fusion::transpose)).or(&[moves::view]),
    Row::of(Opcode::ChloConj, &[rows::step, moves::alias]),
    Row::of(Opcode::Complex, &[rows::step]),
    Row::of(Opcode::Imag, &[rows::step, rows::zeros]),
    Row::of(Opcode::Real, &[rows::step, moves::alias]),
    Row::of(Opcode::AsyncDone, &[moves::alias]),
    Row::of(Opcode::OptimizationBarrier, &[moves::alias]).small(Small::Alias),
    Row::of(Opcode::Concatenate, &[moves::concatenate]).small(Small::Movement),
    Row::of(Opcode::DynamicSlice, &[moves::dynamic_slice]).small(Small::DynamicSlice),
    Row::of(Opcode::DynamicUpdateSlice, &[moves::dynamic_update_slice]).small(Small::DynamicUpdateSlice),
    Row::of(Opcode::Pad, &[moves::pad]).small(Small::Movement),
    Row::of(Opcode::Gather, &[index::gather]).small(Small::Gather),
    Row::of(Opcode::Scatter, &[index::scatter]).small(Small::Scatter),
    Row::of(Opcode::Convolution, &[convolution::step]),
    Row::fused(Opcode::Dot, Fused::Product).only_if(fusion::is_multiplication).or(&[dot::step]).small(Small::Dot),
    Row::fused(Opcode::DotGeneral, Fused::Product).only_if(fusion::is_multiplication).or(&[dot::step]).small(Small::Dot),
    Row::of(Opcode::RaggedDot, &[ragged_dot::step]),
    Row::of(Opcode::ReduceWindow, &[reduce_window::step]).small(Small::Call(reduce_window::routine)),
    Row::of(Opcode::SelectAndScatter, &[select_and_scatter::step]),
    Row::of(Opcode::Sort, &[sort::step]).small(Small::Call(sort::routine)),
    Row::of(Opcode::TopK, &[sort::top_k]),
    Row::of(Opcode::AllGather, &[exchange::step]),
    Row::of(Opcode::AllReduce, &[exchange::step]),
    Row::of(Opcode::AllToAll, &[exchange::step]),
    Row::of(Opcode::CollectiveBroadcast, &[exchange::step]),
    Row::of(Opcode::CollectivePermute, &[permute::step]),
    Row::of(Opcode::CollectiveReduce, &[exchange::step]),
    Row::of(Opcode::ReduceScatter, &[exchange::step]),
    Row::of(Opcode::Cholesky, &[lapack::step]).small(Small::Call(lapack::routine)),
    Row::of(Opcode::TriangularSolve, &[lapack::step]).small(Small::Call(lapack::routine)),
    Row::of(Opcode::Fft, &[fft::step]),
    Row::of(Opcode::CustomCall, &[ragged_exchange::step, print::step, lapack::step, sort::approximate])
        .small(Small::Call(lapack::routine)),
] }

const fn unary(op: Opcode, function: Unary) -> Row {
    Row::fused(op, Fused::Unary(function)).or(&[rows::step])
}

const fn binary(op: Opcode, function: Binary) -> Row {
    Row::fused(op, Fused::Binary(function)).or(&[rows::step])
}

/// Returns the step of an op, built by the first function in its row of [`KERNELS`] that does not return `None`. If the
/// op has a row, is pure and has results, all of them without elements, the step computes nothing. Otherwise, returns
/// `None` if the op has no row, if no function of the row returns a step, or if the op is no collective and converts
/// its operands to other types before it reduces them. Steps that prepare operands are added to the plan
/// ([`PlanCx::before()`]).
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let row = KERNELS.row(Opcode::of_view(view))?;
    if empty::is_empty(view) {
        return Some(empty::step(plan, view));
    }
    if is_promoted(view) && !is_collective(view) {
        return None;
    }
    row.steps.iter().find_map(|build| build(plan, view))
}

fn is_collective(view: &OpView<'_>) -> bool {
    Opcode::of_view(view).facts().semantics(view) == Semantics::Collective
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_kernel_and_views_have_steps() {
        for row in Opcode::ALL.iter().filter_map(|&op| KERNELS.row(op)) {
            assert!(row.fused.is_some() || !row.steps.is_empty(), "{:?}", row.op);
            // A view that is needed as an array is in no block program.
            assert!(!matches!(row.fused, Some(Fused::View(_))) || !row.steps.is_empty(), "{:?}", row.op);
        }
    }
}
