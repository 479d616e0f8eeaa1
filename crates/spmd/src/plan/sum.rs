//! The price of a sum over devices and of the reshard that follows it.

use super::{Step, StepKind, Work, cost, is_local_between, local_bytes, plan_counted, total_bytes};
use rustc_hash::FxHashMap;
use shardwise_base::{AxisRef, DType, Mesh, Sharding};
use shardwise_sharding::Price;
use shardwise_sharding::cost::{CollectiveCost, start};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The work of planning after which moves are priced without a search for paths, and after twice of it without
/// exchanges of boxes. It takes about a second.
pub(crate) const MAX_WORK: usize = 1_500_000;

/// Prices of moves, each computed once.
#[derive(Default)]
pub(crate) struct MovePrices {
    known: RefCell<FxHashMap<MoveKey, Price>>,
    keys: RefCell<Keys>,
    work: Cell<usize>,
}

/// The move of a value from one layout to another, as a list of numbers. Each byte holds seven bits of a number, and is
/// less than 128 if it is the last one of its number. Moves of different prices have different keys.
type MoveKey = SmallVec<[u8; 48]>;

/// A layout at one end of a move.
#[derive(Clone, Copy)]
pub(crate) enum Layout<'a> {
    Sharding(&'a Sharding),
    /// The closed layout with these axes on a mesh, of which no sharding was made yet.
    Axes(&'a Arc<Mesh>, &'a [Cow<'a, [AxisRef]>]),
}

impl<'a> Layout<'a> {
    fn mesh(self) -> &'a Arc<Mesh> {
        match self {
            Layout::Sharding(sharding) => &sharding.mesh,
            Layout::Axes(mesh, _) => mesh,
        }
    }

    fn sharding(self) -> Cow<'a, Sharding> {
        match self {
            Layout::Sharding(sharding) => Cow::Borrowed(sharding),
            Layout::Axes(mesh, dims) => {
                Cow::Owned(Sharding::closed(mesh, dims.iter().map(|axes| axes.to_vec()).collect()))
            }
        }
    }

    /// Returns true if the layout is that of `own` ([`Sharding::same_layout`]). [`Layout::Axes`] has no unreduced axes.
    pub fn is(self, own: &Sharding) -> bool {
        match self {
            Layout::Sharding(sharding) => sharding.same_layout(own),
            Layout::Axes(mesh, dims) => {
                let same_axes = || own.dims.iter().map(|d| &d.axes[..]).eq(dims.iter().map(|axes| &axes[..]));
                own.unreduced.is_empty() && mesh.same_devices(&own.mesh) && same_axes()
            }
        }
    }

    /// Returns the number of bytes of the largest shard.
    pub fn local_bytes(self, shape: &[usize], dtype: DType) -> u64 {
        local_bytes(&self.sharding(), shape, dtype)
    }
}

impl<'a> From<&'a Sharding> for Layout<'a> {
    fn from(sharding: &'a Sharding) -> Layout<'a> {
        Layout::Sharding(sharding)
    }
}

/// Makes keys of moves, in which the position in a list stands for a mesh, an axis or an element type.
#[derive(Default)]
struct Keys {
    meshes: Vec<Arc<Mesh>>,
    axes: Vec<AxisRef>,
    dtypes: Vec<DType>,
    last: MoveKey,
}

impl Keys {
    /// Makes the key of the move of a value that is partial over `summed`. Unreduced axes are left out, because prices
    /// do not depend on them.
    fn make(&mut self, from: Layout<'_>, summed: &[AxisRef], to: Layout<'_>, shape: &[usize], dtype: DType) {
        self.last.clear();
        let dtype = number_of(&mut self.dtypes, &dtype);
        self.push(dtype);
        self.push(shape.len());
        shape.iter().for_each(|&n| self.push(n));
        for layout in [from, to] {
            let mesh = number_of(&mut self.meshes, layout.mesh());
            self.push(mesh);
            match layout {
                Layout::Sharding(sharding) => sharding.dims.iter().for_each(|d| self.push_axes(&d.axes)),
                Layout::Axes(_, dims) => dims.iter().for_each(|axes| self.push_axes(axes)),
            }
        }
        self.push_axes(summed);
    }

    fn push_axes(&mut self, axes: &[AxisRef]) {
        self.push(axes.len());
        for axis in axes {
            let number = number_of(&mut self.axes, axis);
            self.push(number);
        }
    }

    fn push(&mut self, mut number: usize) {
        while number >= 128 {
            self.last.push(128 | number as u8);
            number >>= 7;
        }
        self.last.push(number as u8);
    }
}

fn number_of<T: Clone + PartialEq>(list: &mut Vec<T>, item: &T) -> usize {
    list.iter().position(|known| known == item).unwrap_or_else(|| {
        list.push(item.clone());
        list.len() - 1
    })
}

/// Hashes the axes of each dimension of a layout. Its mesh, of which there are few, and its unreduced axes are left
/// out.
pub(crate) fn hash_layout<H: Hasher>(layout: &Sharding, h: &mut H) {
    layout.dims.iter().for_each(|d| d.axes.hash(h));
}

impl MovePrices {
    /// Returns the price of [`price_of_sum`], which is computed once for equal arguments. Once [`MAX_WORK`] is done,
    /// fewer plans are compared, so the price may be higher.
    pub fn of<'a>(
        &self,
        from: impl Into<Layout<'a>>,
        summed: &[AxisRef],
        to: impl Into<Layout<'a>>,
        shape: &[usize],
        dtype: DType,
    ) -> Price {
        let (from, to) = (from.into(), to.into());
        let mut keys = self.keys.borrow_mut();
        keys.make(from, summed, to, shape, dtype);
        if let Some(price) = self.known.borrow().get(&keys.last) {
            return *price;
        }
        let mut work = Work { done: self.work.get(), most: MAX_WORK };
        let price = price_counted(&from.sharding(), summed, &to.sharding(), shape, dtype, &mut work);
        self.work.set(work.done);
        self.known.borrow_mut().insert(keys.last.clone(), price);
        price
    }

    /// Begins with another program, for which prices computed so far are known.
    pub fn start_program(&self) {
        self.work.set(0);
    }

    /// Returns the work of planning for the present program.
    pub fn work(&self) -> usize {
        self.work.get()
    }
}

/// Returns the price of bringing a value that is partial over `summed` from one layout to another. If the reshard
/// begins with a slice of whole blocks, the summed axes at the start of the slice's list for each dimension are summed
/// by a reduce-scatter. The other summed axes are summed by an all-reduce.
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
    let moved = Price { bytes: total_bytes(&steps), extra: cost(from, &steps) - total_bytes(&steps) };
    if summed.is_empty() {
        return moved;
    }
    let mesh = &from.mesh;
    let scattered = scattered(from, summed, steps.first(), shape);
    let rest: Vec<AxisRef> = summed.iter().flat_map(|a| a.minus(mesh, &scattered)).collect();
    let whole = local_bytes(from, shape, dtype);
    let parts = AxisRef::total_size(mesh, &scattered) as u64;
    let sums =
        [(CollectiveCost::ReduceScatter, whole, &scattered), (CollectiveCost::AllReduce, whole / parts.max(1), &rest)];
    sums.into_iter().filter(|(.., axes)| !axes.is_empty()).fold(moved, |sum, (collective, whole, axes)| {
        let bytes = collective.bytes_received(whole, AxisRef::total_size(mesh, axes) as u64);
        let price = collective.price(bytes, mesh, axes) + start(mesh);
        Price { bytes: sum.bytes + bytes, extra: sum.extra + price - bytes }
    })
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
