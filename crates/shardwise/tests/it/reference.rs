//! Compares `shard_map` on generated bodies with its definition: a loop over the devices.

use shardwise::prelude::*;

const X: usize = 4;
const Y: usize = 2;

/// A step of a body: on each device separately, or an exchange along some axes.
#[derive(Clone, Debug)]
enum Step {
    Affine,
    Transpose,
    AddIndex(Over),
    Psum(Over),
    Pmax(Over),
    Gather(Over, usize),
    Scatter(Over, usize),
    AllToAll(Over, usize, usize),
    Stack(Over),
    Permute(Over, Vec<(usize, usize)>),
    Broadcast(Over, usize),
}

type Over = &'static [&'static str];
const OVERS: [Over; 4] = [&["X"], &["Y"], &["X", "Y"], &["Y", "X"]];

fn coordinates(device: usize) -> [usize; 2] {
    [device / Y, device % Y]
}

fn index(over: Over, device: usize) -> usize {
    let [x, y] = coordinates(device);
    over.iter().fold(0, |i, a| if *a == "X" { i * X + x } else { i * Y + y })
}

fn group(over: Over, device: usize) -> Vec<usize> {
    let same =
        |d: &usize| (0..2).all(|a| over.contains(&["X", "Y"][a]) || coordinates(*d)[a] == coordinates(device)[a]);
    let mut members: Vec<usize> = (0..X * Y).filter(same).collect();
    members.sort_by_key(|&d| index(over, d));
    members
}

/// The dtypes, each with the largest numbers of steps and of different values with which all results are exact.
const DTYPES: [(DType, usize, usize); 10] = [
    (I32, 5, 1 << 30),
    (I8, 5, 100),
    (I16, 5, 300),
    (I64, 5, 1 << 30),
    (U8, 5, 200),
    (U32, 5, 1 << 30),
    (F32, 5, 256),
    (F64, 5, 256),
    (F16, 3, 2),
    (BF16, 2, 2),
];

/// Runs a step with the library.
fn real(x: &Array, step: &Step) -> Array {
    let index = |over: Over| axis_index(over).astype(x.dtype());
    match step {
        Step::Affine if matches!(x.dtype(), F16 | BF16 | F32 | F64) => x * -1 + 1,
        Step::Affine => x * 3 + 1,
        Step::Transpose => x.t(),
        Step::AddIndex(over) => x + index(over),
        Step::Psum(over) => x.psum(*over) + index(&["X", "Y"]),
        Step::Pmax(over) => x.pmax(*over) + index(&["X", "Y"]),
        Step::Gather(over, dim) => x.all_gather(*over, *dim),
        Step::Scatter(over, dim) => x.psum_scatter(*over, *dim),
        Step::AllToAll(over, split, concat) => x.all_to_all(*over, *split, *concat),
        Step::Stack(over) => x.all_gather(*over, stacked(1)).sum(1),
        Step::Permute(over, pairs) => x.ppermute(*over, pairs.clone()),
        Step::Broadcast(over, source) => x.pbroadcast(*over, *source) + index(&["X", "Y"]),
    }
}

/// Returns the values of all devices after a step, computed from those before it with functions of whole arrays.
fn reference(all: &[Array], step: &Step) -> Vec<Array> {
    let on_each = |f: &dyn Fn(usize, Vec<&Array>, usize) -> Array, over: Over| -> Vec<Array> {
        (0..all.len()).map(|d| f(d, group(over, d).into_iter().map(|m| &all[m]).collect(), index(over, d))).collect()
    };
    let part = |x: &Array, dim: usize, i: usize, n: usize| {
        let size = x.dim(dim) / n;
        if dim == 0 { x.i(i * size..(i + 1) * size) } else { x.i((.., i * size..(i + 1) * size)) }
    };
    let sum = |g: &[&Array]| g.iter().map(|&x| x.clone()).sum::<Array>();
    match step {
        Step::Affine | Step::Transpose => all.iter().map(|x| real(x, step)).collect(),
        Step::AddIndex(over) => on_each(&|d, _, i| &all[d] + i, over),
        Step::Psum(over) => on_each(&|d, g, _| sum(&g) + d, over),
        Step::Pmax(over) => on_each(&|d, g, _| g.iter().fold(all[d].clone(), |m, x| m.maximum(*x)) + d, over),
        Step::Gather(over, dim) => on_each(&|_, g, _| concatenate(g, *dim), over),
        Step::Scatter(over, dim) => on_each(&|_, g, i| part(&sum(&g), *dim, i, g.len()), over),
        Step::AllToAll(over, split, concat) => {
            on_each(&|_, g, i| concatenate(g.iter().map(|x| part(x, *split, i, g.len())), *concat), over)
        }
        Step::Stack(over) => on_each(&|_, g, _| sum(&g), over),
        Step::Permute(over, pairs) => on_each(
            &|d, g, i| pairs.iter().find(|p| p.1 == i).map_or_else(|| zeros_like(&all[d]), |p| g[p.0].clone()),
            over,
        ),
        Step::Broadcast(over, source) => on_each(&|d, g, _| g[*source] + d, over),
    }
}

struct Chooser(u64);

impl Chooser {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    /// Returns a step that fits values of this shape, and the shape of its result.
    fn step(&mut self, [r, c]: [usize; 2]) -> (Step, [usize; 2]) {
        let over = OVERS[self.below(4)];
        let n: usize = over.iter().map(|a| if *a == "X" { X } else { Y }).product();
        let dim = self.below(2);
        let size = |dim: usize| [r, c][dim];
        let scaled =
            |dim: usize, up: usize, down: usize| if dim == 0 { [r * up / down, c] } else { [r, c * up / down] };
        match self.below(11) {
            0 => (Step::Affine, [r, c]),
            1 => (Step::Transpose, [c, r]),
            2 => (Step::AddIndex(over), [r, c]),
            3 => (Step::Psum(over), [r, c]),
            4 => (Step::Pmax(over), [r, c]),
            5 if r * c * n < 4096 => (Step::Gather(over, dim), scaled(dim, n, 1)),
            6 if size(dim).is_multiple_of(n) => (Step::Scatter(over, dim), scaled(dim, 1, n)),
            7 if size(dim).is_multiple_of(n) => {
                let concat = self.below(2);
                let [r, c] = scaled(dim, 1, n);
                (Step::AllToAll(over, dim, concat), if concat == 0 { [r * n, c] } else { [r, c * n] })
            }
            8 => (Step::Stack(over), [r, c]),
            9 => {
                let mut targets: Vec<usize> = (0..n).collect();
                for i in (1..n).rev() {
                    targets.swap(i, self.below(i + 1));
                }
                let pairs: Vec<(usize, usize)> = targets.into_iter().enumerate().collect();
                (Step::Permute(over, pairs.into_iter().filter(|_| self.below(4) > 0).collect()), [r, c])
            }
            _ => (Step::Broadcast(over, self.below(n)), [r, c]),
        }
    }
}

#[test]
fn generated_bodies() {
    set_mesh(Mesh::auto([("X", X), ("Y", Y)]).unwrap());
    for seed in 0..120 {
        let mut chooser = Chooser(seed);
        let mut shape = [4, 8];
        let (dtype, most_steps, limit) = DTYPES[seed as usize % DTYPES.len()];
        let steps: Vec<Step> = (0..1 + chooser.below(most_steps))
            .map(|_| {
                let (step, next) = chooser.step(shape);
                shape = next;
                step
            })
            .collect();
        let x = (arange(0..X * Y * 32, I32) % limit).astype(dtype).reshape([X * Y * 4, 8]);
        let parts: Vec<Array> = (0..X * Y).map(|d| x.i(d * 4..(d + 1) * 4)).collect();
        let expected = concatenate(steps.iter().fold(parts, |all, step| reference(&all, step)), 0);
        let body = steps.clone();
        let map = shard_map(move |x: &Array| body.iter().fold(x.clone(), |x, step| real(&x, step)))
            .in_specs(P!(("X", "Y")))
            .out_specs(P!(("X", "Y")));
        let got = jit(map)(&x).unwrap_or_else(|e| panic!("seed {seed}, {steps:?}\n{e}"));
        let values = |x: &Array| x.astype(F64).to_vec::<f64>().unwrap();
        assert_eq!(got.dtype(), dtype, "seed {seed}");
        assert_eq!(values(&got), values(&expected), "seed {seed}, {dtype:?}, {steps:?}");
    }
}
