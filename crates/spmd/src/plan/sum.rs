//! The price of a sum over devices and of the reshard that follows it.

use super::{Step, StepKind, Work, cost, is_local_between, local_bytes, plan_counted, total_bytes};
use rustc_hash::FxHashMap;
use shardwise_base::{AxisRef, DType, Sharding};
use shardwise_sharding::Price;
use shardwise_sharding::cost::{CollectiveCost, STEP_BYTES};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};

/// The work of planning after which moves are priced without a search for paths, and after twice of it without
/// exchanges of boxes. It takes about a second.
pub(crate) const MAX_WORK: usize = 1_500_000;

/// Prices of moves, each computed once.
#[derive(Default)]
pub(crate) struct MovePrices {
    known: RefCell<FxHashMap<Move, Price>>,
    work: Cell<usize>,
}

/// The move of a value that is partial over `summed` from one layout to another.
#[derive(PartialEq, Eq)]
struct Move {
    from: Sharding,
    summed: SmallVec<[AxisRef; 2]>,
    to: Sharding,
    shape: SmallVec<[usize; 4]>,
    dtype: DType,
}

impl Hash for Move {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.shape.hash(h);
        hash_layout(&self.from, h);
        hash_layout(&self.to, h);
    }
}

/// Hashes the axes of each dimension of a layout. Its mesh, of which there are few, and its unreduced axes are left
/// out.
pub(crate) fn hash_layout<H: Hasher>(layout: &Sharding, h: &mut H) {
    layout.dims.iter().for_each(|d| d.axes.hash(h));
}

impl MovePrices {
    /// Returns the price of [`price_of_sum`], which is computed once for equal arguments. Once [`MAX_WORK`] is done,
    /// fewer plans are compared, so the price may be higher.
    pub fn of(&self, from: &Sharding, summed: &[AxisRef], to: &Sharding, shape: &[usize], dtype: DType) -> Price {
        let question = Move { from: from.clone(), summed: summed.into(), to: to.clone(), shape: shape.into(), dtype };
        if let Some(price) = self.known.borrow().get(&question) {
            return *price;
        }
        let mut work = Work { done: self.work.get(), most: MAX_WORK };
        let price = price_counted(from, summed, to, shape, dtype, &mut work);
        self.work.set(work.done);
        self.known.borrow_mut().insert(question, price);
        price
    }

    /// Returns the work of planning so far.
    pub fn work(&self) -> usize {
        self.work.get()
    }
}

/// Returns the price of bringing a value that is partial over `summed` from one layout to another. If the first step of
/// the reshard is a slice of whole blocks, the summed axes with which its list for a dimension begins are summed by a
/// reduce-scatter. The other summed axes are summed by an all-reduce.
pub fn price_of_sum(from: &Sharding, summed: &[AxisRef], to: &Sharding, shape: &[usize], dtype: DType) -> Price {
    price_counted(from, summed, to, shape, dtype, &mut Work::unlimited())
}

/// Returns the price of [`price_of_sum`], and adds the work of planning to `work`. Once `work` is spent, fewer plans
/// are compared.
fn price_counted(
    from: &Sharding,
    summed: &[AxisRef],
    to: &Sharding,
    shape: &[usize],
    dtype: DType,
    work: &mut Work,
) -> Price {
    let steps = plan_counted(from, to, shape, dtype, work);
    let moved = Price { bytes: total_bytes(&steps), starts: cost(&steps) - total_bytes(&steps) };
    if summed.is_empty() {
        return moved;
    }
    let mesh = &from.mesh;
    let scattered = scattered(from, summed, steps.first(), shape);
    let rest: Vec<AxisRef> = summed.iter().flat_map(|a| a.minus(mesh, &scattered)).collect();
    let [parts, members] = [&scattered, &rest].map(|axes| AxisRef::total_size(mesh, axes) as u64);
    let whole = local_bytes(from, shape, dtype);
    let bytes = CollectiveCost::ReduceScatter.bytes_received(whole, parts)
        + CollectiveCost::AllReduce.bytes_received(whole / parts.max(1), members);
    let starts = [&scattered, &rest].into_iter().filter(|axes| !axes.is_empty()).count() as u64 * STEP_BYTES;
    Price { bytes: moved.bytes + bytes, starts: moved.starts + starts }
}

/// Returns the summed axes over which the first step of the plan splits the value: in each dimension, those before the
/// first axis that is not summed. There are none if the step is no slice or does not move whole blocks.
fn scattered(from: &Sharding, summed: &[AxisRef], first: Option<&Step>, shape: &[usize]) -> Vec<AxisRef> {
    let Some(Step { kind: StepKind::AllSlice { axes }, to, .. }) = first else { return vec![] };
    let is_summed = |a: &&AxisRef| a.minus(&from.mesh, summed).is_empty();
    let own: Vec<AxisRef> = axes.iter().flat_map(|list| list.iter().take_while(is_summed).copied()).collect();
    if is_local_between(from, to, shape) { own } else { vec![] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::Mesh;
    use std::sync::Arc;

    #[test]
    fn a_sum_that_is_split_is_scattered() {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 4), ("y", 2)]).unwrap());
        let axes: Vec<AxisRef> = mesh.all_axes().collect();
        let layout = |a: &[AxisRef], b: &[AxisRef]| Sharding::closed(&mesh, vec![a.to_vec(), b.to_vec()]);
        let price =
            |summed: &[AxisRef], to: &Sharding| price_of_sum(&layout(&[], &[]), summed, to, &[8, 8], DType::F32).bytes;
        assert_eq!(price(&axes[..1], &layout(&[], &[])), 2 * 192, "an all-reduce of 256 bytes");
        assert_eq!(price(&axes[..1], &layout(&axes[..1], &[])), 192);
        assert_eq!(price(&axes, &layout(&axes[..1], &[])), 192 + 64, "then an all-reduce of 64 bytes over two");
        assert_eq!(price(&[], &layout(&axes[..1], &[])), 0);
    }
}
