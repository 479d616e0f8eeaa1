//! Plans that follow from the digits in which both layouts can be written ([`shardwise_ops::shardy::exchange`]),
//! without a search.

use super::{Move, Step, StepKind, cost, is_local, is_local_between, local_bytes, padded_size};
use shardwise_base::{AxisRef, DType, Sharding};
use shardwise_ops::shardy::exchange::{Digit, Exchange};
use shardwise_sharding::cost::CollectiveCost;

/// A reshard whose layouts can be written in the same digits.
struct Digits<'a> {
    from: &'a Sharding,
    to: &'a Sharding,
    exchange: Exchange,
    given: &'a [usize],
    /// The shape, each dimension padded to a multiple of its number of shards in the layout that pads it more.
    shape: Vec<usize>,
    dtype: DType,
}

/// Returns the exchange between the layouts that follows from their digits. Returns `None` if there is none, if it is
/// not small ([`Exchange::is_small`]), or if blocks that are not whole would have to be moved.
pub(super) fn step(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Step> {
    Digits::between(from, to, shape, dtype).filter(|digits| digits.exchange.is_small()).map(|digits| digits.one_step())
}

/// Returns a plan that follows from the digits of the layouts. If the exchange is aligned ([`Exchange::is_aligned`]),
/// it is a slice, an all-to-all and a gather if these can express it, or else one exchange. Otherwise it is a slice, a
/// permutation and a gather if they move no more than a device needs, or else the cheapest of three plans: one exchange
/// if it is small, a small exchange and a gather, and a plan that begins with a permutation.
///
/// Returns `None` if no such plan exists, if [`Exchange::between`] finds no digits for both layouts, or if blocks that
/// are not whole would have to be moved.
pub(super) fn plan(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Vec<Step>> {
    let digits = Digits::between(from, to, shape, dtype)?;
    if digits.exchange.is_aligned() {
        return Some(digits.steps_of_aligned().unwrap_or_else(|| vec![digits.one_step()]));
    }
    if let Some(steps) = digits.permute_and_gather() {
        return Some(steps);
    }
    let direct = digits.exchange.is_small().then(|| vec![digits.one_step()]);
    let found = [direct, digits.exchange_and_gather(), digits.permute_first()];
    found.into_iter().flatten().min_by_key(|steps| cost(from, steps))
}

/// Returns the plan of [`plan`] if the exchange is aligned. Otherwise returns the cheaper one of the plan with a slice,
/// a permutation and a gather and the plan that begins with a permutation. Returns `None` if there is neither, if
/// [`Exchange::between`] finds no digits for both layouts, or if blocks that are not whole would have to be moved.
pub(super) fn plan_of_collectives(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Vec<Step>> {
    let digits = Digits::between(from, to, shape, dtype)?;
    if digits.exchange.is_aligned() {
        return Some(digits.steps_of_aligned().unwrap_or_else(|| vec![digits.one_step()]));
    }
    digits.permute_and_gather().into_iter().chain(digits.permute_first()).min_by_key(|steps| cost(from, steps))
}

/// Returns the price of the bytes that a device receives in an aligned exchange ([`Exchange::is_aligned`]): a part of
/// them in an all-to-all, and the rest in an all-gather. Returns `None` if the exchange is not aligned.
pub(super) fn price_of_bytes(from: &Sharding, to: &Sharding, bytes: u64) -> Option<u64> {
    let exchange = Exchange::between(from, to).filter(Exchange::is_aligned)?;
    let (mesh, moved, (_, gathered)) = (&from.mesh, exchange.moved(), exchange.sliced_and_gathered());
    let [members, parts] = [&moved, &gathered].map(|axes| AxisRef::total_size(mesh, axes) as u64);
    // Of `members * parts` equal parts of a target shard, a device has one, and lacks `members - 1` before the gather.
    let exchanged = u128::from(bytes) * u128::from(members - 1) / u128::from((members * parts - 1).max(1));
    let exchanged = u64::try_from(exchanged).expect("it is a part of the bytes");
    let in_all_to_all = CollectiveCost::AllToAll.price(exchanged, mesh, &moved);
    Some(in_all_to_all + CollectiveCost::AllGather.price(bytes - exchanged, mesh, &gathered))
}

impl<'a> Digits<'a> {
    fn between(from: &'a Sharding, to: &'a Sharding, given: &'a [usize], dtype: DType) -> Option<Digits<'a>> {
        let counts = from.shard_counts().into_iter().zip(to.shard_counts()).zip(given);
        let padded = counts.map(|((a, b), &n)| is_local(n, a, b).then(|| padded_size(n, a).max(padded_size(n, b))));
        let shape = padded.collect::<Option<Vec<usize>>>()?;
        Some(Digits { from, to, exchange: Exchange::between(from, to)?, given, shape, dtype })
    }
}

impl Digits<'_> {
    fn one_step(&self) -> Step {
        let needed = local_bytes(self.to, &self.shape, self.dtype);
        let kind = StepKind::Exchange { collective_count: self.exchange.collective_count() };
        Step { kind, to: self.to.clone(), bytes_received: self.exchange.bytes_received(needed) }
    }

    /// Returns an aligned exchange as a slice, an all-to-all and a gather, as far as it needs them. Returns `None` if
    /// these ops, which add and remove minor axes only, cannot express it, or if a step would not move whole blocks.
    fn steps_of_aligned(&self) -> Option<Vec<Step>> {
        let (sliced, gathered) = self.exchange.sliced_and_gathered();
        let mut lists = Lists::of(&self.exchange);
        let slices = lists.slice(&sliced);
        let mut steps = vec![];
        let mut layout = self.from.clone();
        self.push(StepKind::AllSlice { axes: slices }, lists.layout(self.from), 0, &mut layout, &mut steps);
        let moves = lists.moves(&self.exchange, &gathered)?;
        let shard = local_bytes(&layout, &self.shape, self.dtype);
        let group = AxisRef::total_size(&self.from.mesh, &self.exchange.moved()) as u64;
        let after = lists.layout(self.from);
        self.push(StepKind::AllToAll { moves }, after, shard - shard / group, &mut layout, &mut steps);
        let gathers = lists.rest(&self.exchange, &gathered)?;
        let bytes = local_bytes(self.to, &self.shape, self.dtype) - local_bytes(&layout, &self.shape, self.dtype);
        self.push(StepKind::AllGather { axes: gathers }, self.to.clone(), bytes, &mut layout, &mut steps);
        self.ended(steps)
    }

    /// Returns the steps if each moves whole blocks, and `None` otherwise or if there are none. The last one ends at
    /// the target as it was given.
    fn ended(&self, mut steps: Vec<Step>) -> Option<Vec<Step>> {
        steps.last_mut()?.to = self.to.clone();
        let before = std::iter::once(self.from).chain(steps.iter().map(|s| &s.to));
        before.zip(&steps).all(|(a, s)| is_local_between(a, &s.to, self.given)).then_some(steps)
    }

    /// Adds a step and sets `layout` to the layout after it, unless the step changes nothing.
    fn push(&self, kind: StepKind, to: Sharding, bytes_received: u64, layout: &mut Sharding, steps: &mut Vec<Step>) {
        let is_empty = match &kind {
            StepKind::AllSlice { axes } | StepKind::AllGather { axes } => axes.iter().all(Vec::is_empty),
            StepKind::AllToAll { moves } => moves.is_empty(),
            StepKind::CollectivePermute | StepKind::Exchange { .. } => layout.same_layout(&to),
        };
        if !is_empty {
            *layout = to.clone();
            steps.push(Step { kind, to, bytes_received });
        }
    }

    /// Returns a slice, a permutation and a gather, as far as they are needed, if together they move no more than a
    /// device needs: no axis moves to a digit that only one of the layouts splits. Returns `None` otherwise, and if a
    /// step would not move whole blocks.
    fn permute_and_gather(&self) -> Option<Vec<Step>> {
        let (mut sliced, mut gathered) = self.exchange.sliced_and_gathered();
        let mesh = &self.from.mesh;
        let take = |pool: &mut Vec<AxisRef>, digit: &Digit, own: AxisRef| {
            let same_size = |a: &AxisRef| a.size(mesh) == digit.size;
            let at = pool.iter().position(|a| *a == own).or_else(|| pool.iter().position(same_size))?;
            Some(pool.remove(at))
        };
        let (mut before, mut after, mut slices, mut gathers) = (vec![], vec![], vec![], vec![]);
        for digits in self.exchange.dims() {
            let [mut held, mut needed, mut slice, mut gather] = [vec![], vec![], vec![], vec![]];
            for digit in digits {
                match (digit.held, digit.needed) {
                    (Some(a), None) => gather.push(take(&mut gathered, digit, a)?),
                    (None, Some(a)) => slice.push(take(&mut sliced, digit, a)?),
                    _ => {}
                }
                held.push(digit.held.or(slice.last().copied())?);
                needed.push(digit.needed.or(gather.last().copied())?);
            }
            before.push(AxisRef::merged(&held, mesh));
            after.push(AxisRef::merged(&needed, mesh));
            slices.push(AxisRef::merged(&slice, mesh));
            gathers.push(AxisRef::merged(&gather, mesh));
        }
        let [before, after] = [before, after].map(|lists| Sharding::closed(mesh, lists));
        let mut steps = vec![];
        let mut layout = self.from.clone();
        let bytes = |s: &Sharding| local_bytes(s, &self.shape, self.dtype);
        self.push(StepKind::AllSlice { axes: slices }, before.clone(), 0, &mut layout, &mut steps);
        self.push(StepKind::CollectivePermute, after.clone(), bytes(&before), &mut layout, &mut steps);
        self.push(
            StepKind::AllGather { axes: gathers },
            self.to.clone(),
            bytes(self.to) - bytes(&after),
            &mut layout,
            &mut steps,
        );
        self.ended(steps)
    }

    /// Returns an exchange and a gather, which together move what a device needs. The more axes are gathered, the fewer
    /// rounds the exchange takes. Returns `None` if there is no such exchange, if it is still not small
    /// ([`Exchange::is_small`]), or if a step would not move whole blocks.
    fn exchange_and_gather(&self) -> Option<Vec<Step>> {
        let (_, mut gathered) = self.exchange.sliced_and_gathered();
        let mesh = &self.from.mesh;
        let (mut lists, mut gathers) = (vec![], vec![]);
        for digits in self.exchange.dims() {
            let take = |digit: &Digit| {
                let own = gathered.iter().position(|a| Some(*a) == digit.held);
                let at = own.or_else(|| gathered.iter().position(|a| a.size(mesh) == digit.size))?;
                Some(gathered.remove(at))
            };
            let gather: Vec<AxisRef> = digits.iter().filter(|d| d.needed.is_none()).map_while(take).collect();
            let needed: Vec<AxisRef> = digits.iter().filter_map(|d| d.needed).chain(gather.iter().copied()).collect();
            lists.push(AxisRef::merged(&needed, mesh));
            gathers.push(AxisRef::merged(&gather, mesh));
        }
        let between = Sharding::closed(mesh, lists);
        let exchange = Exchange::between(self.from, &between).filter(Exchange::is_small)?;
        let bytes = local_bytes(&between, &self.shape, self.dtype);
        let kind = StepKind::Exchange { collective_count: exchange.collective_count() };
        let mut steps = vec![Step { kind, bytes_received: exchange.bytes_received(bytes), to: between.clone() }];
        let rest = local_bytes(self.to, &self.shape, self.dtype) - bytes;
        let mut layout = between;
        self.push(StepKind::AllGather { axes: gathers }, self.to.clone(), rest, &mut layout, &mut steps);
        self.ended(steps)
    }

    /// Returns a permutation after which the rest is aligned, and the steps of the rest. Returns `None` if no axes of
    /// the same sizes can take the places of those that are permuted, or if there is no plan for the rest.
    fn permute_first(&self) -> Option<Vec<Step>> {
        let mesh = &self.from.mesh;
        let given: Vec<AxisRef> = self.digits().filter_map(|d| d.held.and(d.needed)).collect();
        let mut pool: Vec<AxisRef> = self.digits().filter_map(|d| d.held).filter(|a| !given.contains(a)).collect();
        let own: Vec<AxisRef> =
            self.digits().filter(|d| d.needed.is_none()).filter_map(|d| d.held).filter(|a| pool.contains(a)).collect();
        pool.retain(|a| !own.contains(a));
        let mut lists = vec![];
        for digits in self.exchange.dims() {
            let mut list = vec![];
            for digit in digits.iter().filter(|d| d.held.is_some()) {
                let kept = digit.held.filter(|a| own.contains(a));
                let from_pool = |pool: &mut Vec<AxisRef>| {
                    let at = pool.iter().position(|a| a.size(mesh) == digit.size)?;
                    Some(pool.remove(at))
                };
                list.push(digit.needed.or(kept).or_else(|| from_pool(&mut pool))?);
            }
            lists.push(AxisRef::merged(&list, mesh));
        }
        let between = Sharding::closed(mesh, lists);
        let bytes_received = local_bytes(self.from, &self.shape, self.dtype);
        let mut steps = vec![Step { kind: StepKind::CollectivePermute, to: between.clone(), bytes_received }];
        steps.extend(plan(&between, self.to, self.given, self.dtype)?);
        Some(steps)
    }

    fn digits(&self) -> impl Iterator<Item = &Digit> {
        self.exchange.dims().iter().flatten()
    }
}

/// The axes of each dimension while an aligned exchange is written as steps, in the parts that its digits have.
struct Lists {
    now: Vec<Vec<AxisRef>>,
    to: Vec<Vec<AxisRef>>,
}

impl Lists {
    fn of(exchange: &Exchange) -> Lists {
        let lists = |axis: fn(&Digit) -> Option<AxisRef>| {
            exchange.dims().iter().map(|digits| digits.iter().filter_map(axis).collect()).collect()
        };
        Lists { now: lists(|d| d.held), to: lists(|d| d.needed) }
    }

    fn layout(&self, like: &Sharding) -> Sharding {
        Sharding::closed(&like.mesh, self.now.iter().map(|list| AxisRef::merged(list, &like.mesh)).collect())
    }

    /// Slices by the axes as far as they come next in a dimension of the target. Returns the axes by which each
    /// dimension was sliced.
    fn slice(&mut self, axes: &[AxisRef]) -> Vec<Vec<AxisRef>> {
        let dims = self.now.iter_mut().zip(&self.to);
        let slice = |(now, to): (&mut Vec<AxisRef>, &Vec<AxisRef>)| {
            let next = to.strip_prefix(&now[..]).unwrap_or(&[]);
            let added: Vec<AxisRef> = next.iter().copied().take_while(|a| axes.contains(a)).collect();
            now.extend(&added);
            added
        };
        dims.map(slice).collect()
    }

    /// Moves minor axes to where the target has them, until nothing but axes to gather is left. Returns the moves, or
    /// `None` if this is not possible.
    fn moves(&mut self, exchange: &Exchange, gathered: &[AxisRef]) -> Option<Vec<Move>> {
        let mut moves: Vec<Move> = vec![];
        let is_done = |lists: &Lists| {
            let dims = lists.now.iter().zip(&lists.to);
            dims.into_iter().all(|(now, to)| {
                now.strip_prefix(&to[..]).is_some_and(|rest| rest.iter().all(|a| gathered.contains(a)))
            })
        };
        while !is_done(self) {
            moves.push(self.next_move(exchange)?);
        }
        Some(moves)
    }

    fn next_move(&mut self, exchange: &Exchange) -> Option<Move> {
        let rank = self.now.len();
        for source in 0..rank {
            for target in (0..rank).filter(|&t| t != source) {
                let Some(wanted) = self.to[target].strip_prefix(&self.now[target][..]) else { continue };
                let most = wanted.len().min(self.now[source].len());
                let is_suffix = |&n: &usize| self.now[source].ends_with(&wanted[..n]);
                if let Some(count) = (1..=most).rev().find(is_suffix) {
                    let axes = wanted[..count].to_vec();
                    let rest = self.now[source].len() - count;
                    self.now[source].truncate(rest);
                    self.now[target].extend(&axes);
                    return Some(Move { axes: AxisRef::merged(&axes, exchange.mesh()), source, target });
                }
            }
        }
        None
    }

    /// Returns, for each dimension, the axes that it has now behind those that the target has there, merged where
    /// possible. Returns `None` if a dimension does not begin with the target's axes, or if one of the axes behind them
    /// is not in `gathered`.
    fn rest(&self, exchange: &Exchange, gathered: &[AxisRef]) -> Option<Vec<Vec<AxisRef>>> {
        let rest = |(now, to): (&Vec<AxisRef>, &Vec<AxisRef>)| {
            let rest = now.strip_prefix(&to[..])?;
            rest.iter().all(|a| gathered.contains(a)).then(|| AxisRef::merged(rest, exchange.mesh()))
        };
        self.now.iter().zip(&self.to).map(rest).collect()
    }
}
