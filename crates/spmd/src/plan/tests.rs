//! Plans for every pair of layouts on small meshes, executed on real shards.

use super::*;
use shardwise_base::{AxisIndex, Mesh, Rates};
use shardwise_ops::collective::{Senders, with_index_in};
use shardwise_ops::shardy::permutation;
use std::sync::Arc;

/// The padded block of each device, row-major; `None` is padding.
type Shards = Vec<Vec<Option<usize>>>;

fn mesh(sizes: &[usize]) -> Arc<Mesh> {
    let names = ["x", "y", "z"];
    Arc::new(Mesh::new("mesh", names.into_iter().zip(sizes.iter().copied())).unwrap())
}

/// Returns every assignment of lists of pieces to `rank` dimensions in which no two pieces overlap, and no piece of a
/// list can be merged with the one before it.
fn layouts(mesh: &Arc<Mesh>, pieces: &[AxisRef], rank: usize) -> Vec<Sharding> {
    fn go(mesh: &Arc<Mesh>, pieces: &[AxisRef], dims: &mut Vec<Vec<AxisRef>>, dim: usize, out: &mut Vec<Sharding>) {
        if dim == dims.len() {
            return out.push(Sharding::closed(mesh, dims.clone()));
        }
        go(mesh, pieces, dims, dim + 1, out);
        for &p in pieces {
            let used = |q: &AxisRef| p.overlaps(*q) || q.can_merge(p);
            if !dims[..=dim].iter().flatten().any(|q| p.overlaps(*q)) && !dims[dim].last().is_some_and(used) {
                dims[dim].push(p);
                go(mesh, pieces, dims, dim, out);
                dims[dim].pop();
            }
        }
    }
    let mut out = vec![];
    go(mesh, pieces, &mut vec![vec![]; rank], 0, &mut out);
    out
}

#[test]
fn the_cost_of_gathering_everything_is_known_without_the_plan() {
    let plain = mesh(&[2, 4]);
    for mesh in [with_slowdowns(&plain, [10, 1]), plain] {
        let all = layouts(&mesh, &mesh.prime_parts(), 2);
        for (from, to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            for shape in [[8, 16], [7, 3], [0, 8]] {
                let (plan, own) =
                    (through_replicated(from, to, &shape, DType::F32), || format!("{from} {to} {shape:?}"));
                assert_eq!(cost_through_replicated(from, to, &shape, DType::F32), cost(from, &plan), "{}", own());
            }
        }
    }
}

fn with_slowdowns(mesh: &Mesh, slowdowns: [u32; 2]) -> Arc<Mesh> {
    let rates = Rates { slowdowns: slowdowns.into(), start: 64, flops: 1, memory_bytes: 1 };
    Arc::new(Mesh { rates: Some(rates), ..mesh.clone() })
}

/// Tests that plans for slow axes do what they should, and cost no more there than the plans that move the fewest
/// bytes. Some cost less.
#[test]
fn plans_avoid_slow_axes() {
    let plain = mesh(&[2, 4]);
    let all = layouts(&plain, &plain.prime_parts(), 2);
    let mut cheaper = 0;
    for slowdowns in [[10, 1], [1, 3]] {
        let slow = with_slowdowns(&plain, slowdowns);
        let on_slow = |s: &Sharding| s.clone().with_mesh(slow.clone());
        for (from, to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            let shape = [16, 8];
            let mut least = plan_reshard(from, to, &shape, DType::F32);
            least.iter_mut().for_each(|step| step.to = on_slow(&step.to));
            let [from, to] = [from, to].map(on_slow);
            check(&from, &to, &shape);
            let steps = plan_reshard(&from, &to, &shape, DType::F32);
            let [own, other] = [&steps, &least].map(|steps| cost(&from, steps));
            assert!(own <= other, "{from} -> {to}: {own} {steps:#?}\n{other} {least:#?}");
            cheaper += usize::from(own < other);
        }
    }
    assert!(cheaper > 0);
}

fn strides(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).map(|d| shape[d + 1..].iter().product()).collect()
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let strides = strides(shape);
    (0..shape.iter().product()).map(|i| (0..shape.len()).map(|d| i / strides[d] % shape[d]).collect()).collect()
}

/// Returns the shards that the definition of a sharding requires, by device. Each element is its row-major index in the
/// global array.
fn shards(sharding: &Sharding, shape: &[usize]) -> Shards {
    let local = sharding.local_shape(shape);
    let strides = strides(shape);
    (0..sharding.mesh.size())
        .map(|device| {
            let at = sharding.shard_index(&sharding.mesh.coordinates(device));
            let global = |i: &Vec<usize>| -> Vec<usize> { (0..i.len()).map(|d| at[d] * local[d] + i[d]).collect() };
            let element = |g: Vec<usize>| {
                let inside = g.iter().zip(shape).all(|(g, n)| g < n);
                inside.then(|| g.iter().zip(&strides).map(|(g, s)| g * s).sum())
            };
            indices(&local).iter().map(|i| element(global(i))).collect()
        })
        .collect()
}

fn resize(shards: Shards, from: &[usize], to: &[usize]) -> Shards {
    let strides = strides(from);
    let get = |block: &Vec<Option<usize>>, i: &Vec<usize>| {
        let inside = i.iter().zip(from).all(|(i, n)| i < n);
        if inside { block[i.iter().zip(&strides).map(|(i, s)| i * s).sum::<usize>()] } else { None }
    };
    shards.iter().map(|block| indices(to).iter().map(|i| get(block, i)).collect()).collect()
}

/// Executes a step as devices do, using only the blocks of the device and of other devices, and returns the new blocks.
/// An exchange is not executed: the blocks that its target layout requires are returned.
fn run(step: &Step, from: &Sharding, shape: &[usize], shards: Shards) -> Shards {
    let (mesh, to) = (&from.mesh, &step.to);
    let ends = |d: usize| [from, to].map(|s| s.dims[d].shard_count(mesh));
    let padded: Vec<usize> =
        (0..shape.len()).map(|d| ends(d).map(|k| padded_size(shape[d], k)).into_iter().max().unwrap()).collect();
    let block = |s: &Sharding| s.local_shape(&padded);
    let shards = resize(shards, &from.local_shape(shape), &block(from));
    let moved = match &step.kind {
        StepKind::CollectivePermute => permute(from, to, shards),
        StepKind::AllSlice { axes } => slice(mesh, axes, &block(from), &block(to), shards),
        StepKind::AllGather { axes } => {
            (0..axes.len()).fold((block(from), shards), |(block, shards), d| gather(mesh, &axes[d], d, block, shards)).1
        }
        StepKind::AllToAll { moves } => {
            let mut block = block(from);
            moves.iter().fold(shards, |shards, m| {
                let shards = all_to_all(mesh, &m.axes, m.source, m.target, &block, shards);
                let size = AxisRef::total_size(mesh, &m.axes);
                block[m.source] *= size;
                block[m.target] /= size;
                shards
            })
        }
        // `tests/it/reshards.rs` runs the code of exchanges.
        StepKind::Exchange { .. } => return self::shards(to, shape),
    };
    resize(moved, &block(to), &to.local_shape(shape))
}

fn permute(from: &Sharding, to: &Sharding, shards: Shards) -> Shards {
    let mesh = &from.mesh;
    let permutation = permutation(from, to);
    let senders = Senders::new(&permutation, mesh);
    let sender = |device: usize| mesh.position(&senders.sender(&mesh.coordinates(device)).unwrap());
    (0..shards.len()).map(|device| shards[sender(device)].clone()).collect()
}

fn with_position(mesh: &Mesh, axes: &[AxisRef], coordinates: &[usize], position: usize) -> usize {
    mesh.position(&with_index_in(mesh, axes, coordinates, position))
}

fn slice(mesh: &Mesh, axes: &[Vec<AxisRef>], from: &[usize], to: &[usize], shards: Shards) -> Shards {
    let strides = strides(from);
    shards
        .iter()
        .enumerate()
        .map(|(device, block)| {
            let at: Vec<usize> = axes.iter().map(|a| AxisRef::index_in(mesh, a, &mesh.coordinates(device))).collect();
            let element = |i: &Vec<usize>| (0..i.len()).map(|d| (at[d] * to[d] + i[d]) * strides[d]).sum::<usize>();
            indices(to).iter().map(|i| block[element(i)]).collect()
        })
        .collect()
}

fn gather(mesh: &Mesh, axes: &[AxisRef], dim: usize, from: Vec<usize>, shards: Shards) -> (Vec<usize>, Shards) {
    let mut to = from.clone();
    to[dim] *= AxisRef::total_size(mesh, axes);
    let strides = strides(&from);
    let of_device = |device: usize| {
        indices(&to)
            .iter()
            .map(|i| {
                let member = with_position(mesh, axes, &mesh.coordinates(device), i[dim] / from[dim]);
                let at = |d: usize| if d == dim { i[d] % from[d] } else { i[d] };
                shards[member][(0..i.len()).map(|d| at(d) * strides[d]).sum::<usize>()]
            })
            .collect()
    };
    let gathered = (0..shards.len()).map(of_device).collect();
    (to, gathered)
}

/// Executes an all-to-all by its definition: gather the source dimension, then keep the own part of the target
/// dimension.
fn all_to_all(mesh: &Mesh, axes: &[AxisRef], source: usize, target: usize, from: &[usize], shards: Shards) -> Shards {
    let (whole, gathered) = gather(mesh, axes, source, from.to_vec(), shards);
    let mut to = whole.clone();
    to[target] /= AxisRef::total_size(mesh, axes);
    let mut lists = vec![vec![]; from.len()];
    lists[target] = axes.to_vec();
    slice(mesh, &lists, &whole, &to, gathered)
}

fn check(from: &Sharding, to: &Sharding, shape: &[usize]) -> u64 {
    let steps = plan_reshard(from, to, shape, DType::F32);
    let (mut at, mut held) = (from.clone(), shards(from, shape));
    for step in &steps {
        held = run(step, &at, shape, held);
        at = step.to.clone();
    }
    let valid = |held: &Shards| -> Shards {
        held.iter().zip(&shards(to, shape)).map(|(h, t)| (0..t.len()).map(|i| t[i].and(h[i])).collect()).collect()
    };
    assert!(at.same_layout(to), "{from} -> {to}: ends at {at}");
    assert_eq!(valid(&held), shards(to, shape), "{from} -> {to} of {shape:?}: {steps:#?}");
    // Starting a step has a cost too, so a plan with fewer steps may move a few bytes more.
    let plain = total_bytes(&through_replicated(from, to, shape, DType::F32));
    assert!(total_bytes(&steps) <= plain + 256, "{from} -> {to}: {steps:#?}");
    total_bytes(&steps)
}

fn check_all(sizes: &[usize], extra: impl Fn(&Mesh) -> Vec<AxisRef>, shapes: &[&[usize]]) {
    let mesh = mesh(sizes);
    let mut pieces: Vec<AxisRef> = mesh.all_axes().collect();
    pieces.extend(extra(&mesh));
    for shape in shapes {
        let all = layouts(&mesh, &pieces, shape.len());
        for from in &all {
            for to in &all {
                check(from, to, shape);
            }
        }
    }
}

fn halves(mesh: &Mesh) -> Vec<AxisRef> {
    let x = AxisIndex::new(0);
    vec![AxisRef::sub(mesh, x, 1, 2), AxisRef::sub(mesh, x, 2, 2)]
}

#[test]
fn every_pair_on_2x2() {
    check_all(&[2, 2], |_| vec![], &[&[8], &[5], &[8, 8], &[5, 8], &[3, 1]]);
}

#[test]
fn every_pair_on_2x2x2() {
    check_all(&[2, 2, 2], |_| vec![], &[&[8], &[8, 8]]);
}

#[test]
fn every_pair_on_4x2_with_halves() {
    check_all(&[4, 2], halves, &[&[8], &[6], &[8, 8]]);
}

#[test]
fn every_pair_on_3x2() {
    check_all(&[3, 2], |_| vec![], &[&[6], &[7], &[6, 6], &[7, 4], &[0, 4]]);
}

#[test]
fn parts_that_contradict_each_other() {
    let mesh = mesh(&[6]);
    let part = |size| AxisRef::sub(&mesh, AxisIndex::new(0), 1, size);
    let layout = |a, b| Sharding::closed(&mesh, vec![a, b]);
    check(&layout(vec![part(2)], vec![]), &layout(vec![part(3)], vec![]), &[6, 6]);
    check(&layout(vec![part(2)], vec![]), &layout(vec![], vec![part(3)]), &[6, 6]);
    let mesh = self::mesh(&[12]);
    let part = |size| AxisRef::sub(&mesh, AxisIndex::new(0), 1, size);
    let layout = |size| Sharding::closed(&mesh, vec![vec![part(size)]]);
    check(&layout(4), &layout(6), &[120]);
    check(&layout(6), &layout(4), &[120]);
}

#[test]
fn known_prices() {
    let mesh = mesh(&[2, 2]);
    let axes: Vec<AxisRef> = mesh.all_axes().collect();
    let (x, y) = (axes[0], axes[1]);
    let layout = |a: &[AxisRef], b: &[AxisRef]| Sharding::closed(&mesh, vec![a.to_vec(), b.to_vec()]);
    let tensor = 16 * 16 * 4;
    // One all-to-all, whose parts are in another order afterwards.
    assert_eq!(check(&layout(&[x, y], &[]), &layout(&[], &[y, x]), &[16, 16]), tensor / 4 * 3 / 4);
    // Half of the devices hold nothing of what they need, and receive halves of their shard from two devices.
    assert_eq!(check(&layout(&[x, y], &[]), &layout(&[y], &[x]), &[16, 16]), tensor / 4);
    assert_eq!(check(&layout(&[x], &[]), &layout(&[], &[]), &[16, 16]), tensor / 2);
    assert_eq!(check(&layout(&[], &[]), &layout(&[x], &[y]), &[16, 16]), 0);
    // One permutation of whole shards.
    assert_eq!(check(&layout(&[x], &[]), &layout(&[y], &[]), &[16, 16]), tensor / 2);
}

#[test]
fn blocks_that_do_not_nest_are_exchanged_in_few_rounds() {
    // The third axis has no influence on the plan.
    for last in [1, 1 << 14] {
        let mesh = mesh(&[2, 3, last]);
        let axes: Vec<AxisRef> = mesh.all_axes().collect();
        let layout = |axis: AxisRef| Sharding::closed(&mesh, vec![vec![axis], vec![]]);
        let (from, to) = (layout(axes[0]), layout(axes[1]));
        let steps = plan_reshard(&from, &to, &[12, 64], DType::F32);
        let [Step { kind, bytes_received, .. }] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((kind, *bytes_received), (&StepKind::Exchange { collective_count: 1 }, 4 * 64 * 4));
        assert_eq!(bytes_received, &bytes_missing(&from, &to, &[12, 64], DType::F32));
        assert_eq!(rounds_needed(&from, &to, &[12, 64]), 1);
        // Each row is in three blocks, of which the last one has padding.
        let steps = plan_reshard(&to, &from, &[11, 64], DType::F32);
        assert_eq!(total_bytes(&steps), bytes_missing(&to, &from, &[11, 64], DType::F32), "{steps:?}");
    }
}

#[test]
fn a_block_that_is_cut_once_more_fetches_its_shift() {
    let mesh = mesh(&[4, 8]);
    let axes: Vec<AxisRef> = mesh.all_axes().collect();
    let layout = |axes: &[AxisRef]| Sharding::closed(&mesh, vec![axes.to_vec()]);
    // Blocks of 2500 and of 313 elements: the last blocks are moved by 12 elements against those that contain them.
    let steps = plan_reshard(&layout(&axes[..1]), &layout(&axes), &[9_999], DType::F32);
    assert_eq!(total_bytes(&steps), bytes_missing(&layout(&axes[..1]), &layout(&axes), &[9_999], DType::F32));
    assert!(total_bytes(&steps) < 100, "{steps:?}");
}

#[test]
fn a_gather_shortens_an_exchange() {
    let mesh = mesh(&[4, 4, 4]);
    let axes: Vec<AxisRef> = mesh.all_axes().collect();
    let layout = |lists: [&[AxisRef]; 4]| Sharding::closed(&mesh, lists.iter().map(|l| l.to_vec()).collect());
    let from = layout([&axes[2..], &[], &axes[..1], &axes[1..2]]);
    let to = layout([&[], &axes[..1], &[], &axes[2..]]);
    let shape = [4, 4, 16, 64];
    let steps = plan_reshard(&from, &to, &shape, DType::F32);
    let kinds: Vec<&StepKind> = steps.iter().map(|s| &s.kind).collect();
    assert!(
        matches!(kinds[..], [StepKind::Exchange { collective_count: ..=4 }, StepKind::AllGather { .. }]),
        "{kinds:?}"
    );
    assert_eq!(total_bytes(&steps), bytes_missing(&from, &to, &shape, DType::F32));
}
