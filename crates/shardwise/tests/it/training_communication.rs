//! The communication of training steps in Auto mode, counted before the schedule: each parameter's gradient is summed
//! once, and the bytes are at most those of a formula, and at most those of XLA for JAX's program of the same step. The
//! latter are in `docs/communication.md`, and the programs in `oracle/traffic/training.py`.

use shardwise::prelude::*;
use shardwise::{Communication, value_and_grad};

const LAYERS: usize = 4;
const WIDTH: usize = 64;
const HIDDEN: usize = 256;
const ROWS: usize = 512;
/// The bytes of each of the two stacks of weights.
const WEIGHTS: u64 = (LAYERS * WIDTH * HIDDEN * 4) as u64;
const ACTIVATIONS: u64 = (ROWS * WIDTH * 4) as u64;

/// The bytes that are allowed for the sum of the loss.
const SCALARS: u64 = 64;

fn mesh<const N: usize>(axes: [(&str, usize); N]) {
    set_mesh(Mesh::auto(axes).unwrap());
}

/// Returns the bytes that each of `n` devices receives to gather parts of an array of `bytes` bytes, or to sum it into
/// parts.
fn gather(bytes: u64, n: u64) -> u64 {
    bytes * (n - 1) / n
}

/// Returns the bytes that each of `n` devices receives to sum an array of `bytes` bytes.
fn all_reduce(bytes: u64, n: u64) -> u64 {
    2 * gather(bytes, n)
}

type Weights = (Array, Array);

fn layers(w: &Weights, x: &Array) -> Array {
    let (h, _) = scan(x.clone(), w.clone(), |h: Array, (up, down): Weights| {
        // The factors keep the activations of random weights small.
        let hidden = (h.matmul(&up) * 0.125).tanh() * 0.125;
        (&h + hidden.matmul(&down), ())
    });
    h
}

fn step(w: &Weights, x: &Array, y: &Array) -> (Array, Weights) {
    let (value, g) = value_and_grad(|w: &Weights| (layers(w, x) - y).square().sum(..))(w);
    (value, (&w.0 - g.0 * 0.01, &w.1 - g.1 * 0.01))
}

fn zeros_in(shape: &[usize], spec: P) -> Array {
    zeros(shape.to_vec(), F32).shard(spec)
}

fn moved(up: P, down: P, data: P) -> Communication {
    let w = (zeros_in(&[LAYERS, WIDTH, HIDDEN], up.clone()), zeros_in(&[LAYERS, HIDDEN, WIDTH], down.clone()));
    let (x, y) = (zeros_in(&[ROWS, WIDTH], data.clone()), zeros_in(&[ROWS, WIDTH], data));
    jit(step).out_shardings((P!(), (up, down))).lower((&w, &x, &y)).unwrap().communication().unwrap()
}

/// Returns the bytes that the formula and XLA, by the stricter count, have for a step, from the page that
/// `cargo xtask communication` writes.
fn on_the_page(step: &str) -> [u64; 2] {
    let page = include_str!("../../../../docs/communication.md");
    let (_, steps) = page.split_once("## Training steps").expect("the page has training steps");
    let cells: Vec<&str> = steps
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|cells| cells.first() == Some(&step))
        .unwrap_or_else(|| panic!("{step} is not on the page"));
    // The columns are the step, the formula, our bytes for JAX's program, XLA's, and XLA's by the stricter count.
    [1, 4].map(|column| cells[column].parse().expect("a number of bytes"))
}

/// Checks that at most `most` bytes besides [`SCALARS`] and at most XLA's bytes for `step` are received, that the page
/// has `most` bytes for the formula, and that there are exactly `sums` sums of gradients over `axis`.
fn check(step: &str, found: &Communication, most: u64, axis: &str, sums: usize) {
    let is_sum = |c: &&shardwise::Collective| {
        let kinds = [shardwise::CollectiveKind::AllReduce, shardwise::CollectiveKind::ReduceScatter];
        kinds.contains(&c.kind) && c.groups.axes() == [axis] && !c.ty.shape.is_empty()
    };
    let count = found.into_iter().filter(is_sum).count();
    assert!(found.bytes_received() <= most + SCALARS && count == sums, "{most} bytes, {count} sums\n{found}");
    let [formula, xla] = on_the_page(step);
    assert_eq!(formula, most, "{step}: the formula on the page");
    assert!(found.bytes_received() <= xla, "XLA moves {xla} bytes in {step}\n{found}");
}

#[test]
fn data_parallel() {
    mesh([("data", 8)]);
    check("data_parallel", &moved(P!(), P!(), P!("data")), all_reduce(2 * WEIGHTS, 8), "data", 2);
}

/// Tests that the weights of a layer are gathered when it runs, forward and backward, and that its gradients are summed
/// into parts.
#[test]
fn fully_sharded() {
    mesh([("data", 8)]);
    let found = moved(P!(None, "data"), P!(None, None, "data"), P!("data"));
    check("fully_sharded", &found, 3 * gather(2 * WEIGHTS, 8), "data", 2);
    assert!((&found).into_iter().all(|c| c.ty.shape.is_empty() || c.count == Some(LAYERS as u64)), "{found}");
}

#[test]
fn tensor_parallel() {
    mesh([("model", 8)]);
    let found = moved(P!(None, None, "model"), P!(None, "model"), P!());
    // A part of the axis may split the rows instead, which moves less.
    check("tensor_parallel", &found, LAYERS as u64 * 2 * all_reduce(ACTIVATIONS, 8), "model", 0);
}

#[test]
fn fully_sharded_and_tensor_parallel() {
    mesh([("data", 4), ("model", 2)]);
    let found = moved(P!(None, "data", "model"), P!(None, "model", "data"), P!("data"));
    let activations = LAYERS as u64 * 2 * all_reduce(ACTIVATIONS / 4, 2);
    check("fully_sharded_and_tensor_parallel", &found, 3 * gather(2 * WEIGHTS / 2, 4) + activations, "data", 2);
}

/// Tests that tokens are sent to the devices of their experts and back, forward and backward, and that gradients of
/// experts are not moved.
#[test]
fn experts() {
    mesh([("data", 8)]);
    let (groups, size, experts, room) = (8, 64, 8, 8);
    let block = |w: &Weights, gate: &Array, x: &Array| {
        let scores = einsum("gsd,de->gse", (x, gate)).softmax(-1);
        let chosen = scores.argmax(-1);
        let place = arange(0..size, I32) / room;
        let seat = (arange(0..size, I32) - place * room).one_hot(room, F32);
        let mask = einsum("gse,sc->gsec", (&chosen.one_hot(experts, F32), &seat));
        let sent = einsum("gsec,gsd->egcd", (&mask, x)).shard(P!("data"));
        let hidden = einsum("egcd,edf->egcf", (&sent, &w.0)).tanh();
        let made = einsum("egcf,efd->egcd", (&hidden, &w.1)).shard(P!("data"));
        einsum("gsec,egcd->gsd", (&(mask * scores.expand_dims(-1)), &made))
    };
    let step = |w: &Weights, gate: &Array, x: &Array| {
        let loss = |p: &(Weights, Array)| (block(&p.0, &p.1, x) + x).square().sum(..);
        value_and_grad(loss)(&(w.clone(), gate.clone()))
    };
    let w = (zeros_in(&[experts, WIDTH, HIDDEN], P!("data")), zeros_in(&[experts, HIDDEN, WIDTH], P!("data")));
    let (gate, x) = (zeros_in(&[WIDTH, experts], P!()), zeros_in(&[groups, size, WIDTH], P!("data")));
    let out = (P!(), ((P!("data"), P!("data")), P!()));
    let found = jit(step).out_shardings(out).lower((&w, &gate, &x)).unwrap().communication().unwrap();
    let tokens = (experts * groups * room * WIDTH * 4 / 8) as u64;
    check("experts", &found, 4 * gather(tokens, 8) + all_reduce((WIDTH * experts * 4) as u64, 8), "data", 1);
}

/// Tests that the gradient of an embedding that is used at both ends is summed over devices once.
#[test]
fn tied_weights() {
    mesh([("data", 8)]);
    let vocabulary = 96;
    let step = |table: &Array, ids: &Array| {
        let loss = |table: &Array| {
            let h = table.i(ids).tanh();
            let logits = h.matmul(table.t());
            (logits.log_softmax(-1) * ids.one_hot(vocabulary, F32)).sum(..)
        };
        value_and_grad(loss)(table)
    };
    let (table, ids) = (zeros_in(&[vocabulary, WIDTH], P!()), zeros([ROWS], I32).shard(P!("data")));
    let found = jit(step).out_shardings((P!(), P!())).lower((&table, &ids)).unwrap().communication().unwrap();
    check("tied_weights", &found, all_reduce((vocabulary * WIDTH * 4) as u64, 8), "data", 1);
}

/// Tests that the gradients of several batches are added on each device, and then summed over devices once.
#[test]
fn accumulated_batches() {
    mesh([("data", 8)]);
    let step = |w: &Weights, xs: &Array, ys: &Array| {
        let zero = (zeros_like(&w.0), zeros_like(&w.1));
        let (sum, _) = scan(zero, (xs.clone(), ys.clone()), |sum: Weights, (x, y): (Array, Array)| {
            let (_, g) = value_and_grad(|w: &Weights| (layers(w, &x) - &y).square().sum(..))(w);
            ((sum.0 + g.0, sum.1 + g.1), ())
        });
        (&w.0 - sum.0 * 0.01, &w.1 - sum.1 * 0.01)
    };
    let w = (zeros_in(&[LAYERS, WIDTH, HIDDEN], P!()), zeros_in(&[LAYERS, HIDDEN, WIDTH], P!()));
    let (x, y) = (zeros_in(&[3, ROWS, WIDTH], P!(None, "data")), zeros_in(&[3, ROWS, WIDTH], P!(None, "data")));
    let found = jit(step).out_shardings((P!(), P!())).lower((&w, &x, &y)).unwrap().communication().unwrap();
    check("accumulated_batches", &found, all_reduce(2 * WEIGHTS, 8), "data", 2);
}
