//! Tests on generated programs that, under `Deny`, a program communicates exactly where it calls `.shard`.
//!
//! Steps that do not ask for communication are in [`plain`], and those that ask in [`asked`]. A step that is refused
//! asks instead. Each step has its own name scope: there is no collective in the scope of a step that does not ask, and
//! there is one in each step that had to ask. The effect of a single `.shard` on sums and moves is computed here from
//! the layouts, device by device, and compared.

use shardwise::prelude::*;
use shardwise::{CollectiveKind, DimSpec};
use std::collections::BTreeSet;

/// The number of functions that a step can call.
const OPS: usize = 14;

#[rustfmt::skip]
fn plain(op: usize, a: &Array, b: &Array) -> Array {
    match op {
        0 => a + b, 1 => a * 2.0, 2 => a.matmul(b.t()), 3 => a.t().matmul(b), 4 => a.sum(keep(0)) + b,
        5 => a - b.max(keep(1)), 6 => a.softmax(1), 7 => a.cumsum(0), 8 => a.roll(1, 1), 9 => concatenate([a, b], 0).i(4..12),
        10 => a.reshape([4, 2, 16]).reshape([8, 16]), 11 => a.flip(0) + b, 12 => a.i(arange(0..8, I32)), _ => select(&a.gt(b), a, b),
    }
}

#[rustfmt::skip]
fn asked(op: usize, a: &Array, b: &Array, spec: &P) -> Array {
    match op {
        0 => (a + b).shard(spec), 1 => (a * 2.0).shard(spec), 2 => a.matmul(b.t()).shard(spec),
        3 => a.t().matmul(b).shard(spec), 4 => (a.sum(keep(0)).shard(P!()) + b.shard(spec)).shard(spec),
        5 => (a.shard(spec) - b.max(keep(1)).shard(P!()).shard(P!())).shard(spec), 6 => a.softmax(1).shard(spec),
        7 => a.cumsum(0).shard(spec), 8 => a.roll(1, 1).shard(spec),
        9 => concatenate([a.shard(spec), b.shard(spec)], 0).shard(spec).i(4..12).shard(spec),
        10 => a.reshape([4, 2, 16]).shard(P!()).reshape([8, 16]).shard(spec),
        11 => (a.flip(0).shard(spec) + b.shard(spec)).shard(spec), 12 => a.i(arange(0..8, I32)).shard(spec),
        _ => select(&a.shard(spec).gt(b.shard(spec)), a.shard(spec), b.shard(spec)).shard(spec),
    }
}

#[derive(Clone)]
struct Step {
    op: usize,
    a: usize,
    b: usize,
    asks: Option<P>,
    /// True if the step was refused when it did not ask.
    must: bool,
}

/// Runs the steps, and returns the value of each one. Each value is a matrix of 8 x 16, except that the last one may be
/// a product of another shape.
fn run(steps: &[Step], args: &[Array]) -> Vec<Array> {
    let mut values = args.to_vec();
    for step in steps {
        let (a, b) = (&values[step.a], &values[step.b]);
        let scope = format!("step{}", values.len() - args.len());
        values.push(named_scope(&scope, || match &step.asks {
            Some(spec) => asked(step.op, a, b, spec),
            None => plain(step.op, a, b),
        }));
    }
    values.split_off(args.len())
}

struct Chooser(u64);

impl Chooser {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }

    fn spec(&mut self) -> P {
        let specs = [P!(), P!("X"), P!("Y"), P!(None, "X"), P!(None, "Y"), P!("X", "Y"), P!("Y", "X"), P!(("X", "Y"))];
        specs[self.below(specs.len())].clone()
    }
}

const PROGRAMS: u64 = 100;

#[test]
fn collectives_are_those_that_are_asked_for() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny);
    let (mut accepted, mut asking, mut collectives) = (0, 0, 0);
    for seed in 0..PROGRAMS {
        let mut choose = Chooser(seed * 7919 + 1);
        let value = |k: usize| ((arange(0..128, I32) * (k + 3)) % 7).astype(F32).reshape([8, 16]);
        let args: Vec<Array> = (0..3).map(|k| value(k).shard(mesh.sharding(choose.spec()))).collect();
        let mut steps: Vec<Step> = vec![];
        while steps.len() < 6 {
            let known = args.len() + steps.len();
            let (op, a, b) = (choose.below(OPS), choose.below(known), choose.below(known));
            let mut step = Step { op, a, b, asks: None, must: false };
            if steps.iter().any(|s| (s.op, s.a, s.b) == (op, a, b)) {
                // If two steps shared it, it would move once.
                continue;
            }
            if matches!(step.op, 2 | 3) {
                // A product of another shape ends the program.
                step.op = if steps.len() == 5 { step.op } else { 0 };
            }
            if choose.below(4) == 0 {
                step.asks = Some(choose.spec());
            }
            let mut tried = steps.clone();
            tried.push(step.clone());
            let program =
                |steps: Vec<Step>| with_mesh(&mesh, || jit(|x: &Vec<Array>| run(&steps, x)).lower(&args).map(|_| ()));
            if let Err(e) = program(tried) {
                let refusal =
                    |d: &shardwise::Diagnostic| matches!(d.code(), "communication-denied" | "layout-ambiguous");
                assert!(e.diagnostics().all(refusal), "seed {seed}: {e}");
                assert!(step.asks.is_none(), "seed {seed}: `asked` {} asks for all it does\n{e}", step.op);
                step.asks = Some(choose.spec());
                step.must = true;
                asking += 1;
            }
            steps.push(step);
        }
        let types = std::sync::Mutex::new(vec![]);
        let noted = jit(|x: &Vec<Array>| {
            let out = run(&steps, x);
            let type_of = |a: &Array| (a.shape(), a.dtype(), a.sharding().expect("types have layouts"));
            *types.lock().unwrap() = x.iter().chain(&out).map(type_of).collect();
            out
        });
        let lowered = with_mesh(&mesh, || noted.lower(&args)).unwrap();
        let types: Vec<_> = std::mem::take(&mut *types.lock().unwrap());
        let types: Vec<Array> =
            types.into_iter().map(|(shape, dtype, s)| Array::of_type(shape, dtype).shard(s)).collect();
        let communication = lowered.communication().unwrap();
        let in_step = |k: usize| communication.into_iter().filter(move |c| c.scope == format!("step{k}")).count();
        for (k, step) in steps.iter().enumerate() {
            let found = in_step(k);
            assert!(
                found == 0 || step.asks.is_some(),
                "seed {seed}: step {k}, {}, does not ask\n{communication}",
                step.op
            );
            if step.must && found == 0 {
                // What it moves has been moved for another step. Alone, it moves it.
                let [a, b] = [step.a, step.b].map(|v| types[v].clone());
                let alone = jit(|a: &Array, b: &Array| asked(step.op, a, b, step.asks.as_ref().expect("it asks")));
                let alone = with_mesh(&mesh, || alone.lower((&a, &b))).unwrap().communication().unwrap();
                assert!(!alone.is_empty(), "seed {seed}: step {k}, {}, asks in vain\n{communication}", step.op);
            }
            collectives += found;
        }
        assert_eq!((0..steps.len()).map(in_step).sum::<usize>(), communication.len(), "seed {seed}\n{communication}");
        let got = with_mesh(&mesh, || jit(|x: &Vec<Array>| run(&steps, x))(&args)).unwrap();
        let whole: Vec<Array> = (0..3).map(value).collect();
        let bare: Vec<Step> = steps.iter().map(|s| Step { asks: None, ..s.clone() }).collect();
        for (got, expected) in got.iter().zip(run(&bare, &whole)) {
            assert_close(got, &expected);
        }
        accepted += 1;
    }
    assert!(accepted == PROGRAMS && asking > 100 && collectives > 200, "{accepted} {asking} {collectives}");
}

// ── a single `.shard`, computed from the layouts
fn axes(ty: &P, rank: usize) -> Vec<Vec<String>> {
    let dim = |d: &DimSpec| match d {
        DimSpec::Axes(names) => names.clone(),
        DimSpec::Unconstrained => vec![],
    };
    let mut dims: Vec<Vec<String>> = ty.dims().iter().map(dim).collect();
    dims.resize(rank, vec![]);
    dims
}

/// Returns the range of elements along each dimension that the device at `(x, y)` of the mesh X=4, Y=2 holds.
fn held(shape: &[usize], layout: &[Vec<String>], device: (usize, usize)) -> Vec<(usize, usize)> {
    let place = |axis: &String| if axis == "X" { (device.0, 4) } else { (device.1, 2) };
    let range = |(&n, axes): (&usize, &Vec<String>)| {
        let (index, count) = axes.iter().map(place).fold((0, 1), |(i, c), (at, n)| (i * n + at, c * n));
        (index * n / count, (index + 1) * n / count)
    };
    shape.iter().zip(layout).map(range).collect()
}

/// Returns true if each device holds in the layout `from` all elements that it holds in the layout `to`.
fn is_local(shape: &[usize], from: &[Vec<String>], to: &[Vec<String>]) -> bool {
    let devices = (0..4).flat_map(|x| (0..2).map(move |y| (x, y)));
    let covers = |(own, wanted): (&(usize, usize), &(usize, usize))| own.0 <= wanted.0 && wanted.1 <= own.1;
    let mut devices = devices.map(|d| (held(shape, from, d), held(shape, to, d)));
    devices.all(|(own, wanted)| own.iter().zip(&wanted).all(covers))
}

fn moved(mesh: &Mesh, from: &P, f: impl Fn(&Array) -> Array + Send + Sync) -> Communication {
    let x = Array::of_type([8, 16], F32).shard(mesh.sharding(from.clone()));
    with_mesh(mesh, || jit(|x: &Array| f(x)).lower(&x)).unwrap().communication().unwrap()
}

#[test]
fn a_move_that_is_asked_for() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny);
    let (mut silent, mut moving) = (0, 0);
    for from in matrices() {
        for to in matrices() {
            let found = moved(&mesh, &from, |x| x.shard(&to));
            let expected = is_local(&[8, 16], &axes(&from, 2), &axes(&to, 2));
            assert_eq!(found.is_empty(), expected, "{from} to {to}\n{found}");
            *(if expected { &mut silent } else { &mut moving }) += 1;
        }
    }
    assert!(silent > 20 && moving > 80, "{silent} {moving}");
}

#[test]
fn a_roll_of_no_elements_moves_nothing() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny);
    let x = Array::of_type([0, 16], F32).shard(mesh.sharding(P!("X")));
    let by = || scalar(1, I32);
    let rolled = with_mesh(&mesh, || jit(|x: &Array| x.roll(by(), 0).roll(1, 0)).lower(&x)).unwrap();
    assert!(rolled.communication().unwrap().is_empty());
}

fn matrices() -> Vec<P> {
    let two = [P!("X", "Y"), P!("Y", "X"), P!(("X", "Y")), P!(("Y", "X")), P!(None, ("X", "Y")), P!(None, ("Y", "X"))];
    [P!(), P!("X"), P!("Y"), P!(None, "X"), P!(None, "Y")].into_iter().chain(two).collect()
}

/// Returns all layouts of a result like `way`, with `over` after the axes of one dimension, or without it.
fn scattered(way: &[Vec<String>], over: &[String]) -> Vec<Vec<Vec<String>>> {
    let behind = |d: usize| {
        let mut out = way.to_vec();
        out[d].extend(over.iter().cloned());
        out
    };
    std::iter::once(way.to_vec()).chain((0..way.len()).map(behind)).collect()
}

fn spec(layout: &[Vec<String>]) -> P {
    P::new(layout.iter().cloned().map(DimSpec::Axes))
}

/// Checks that all collectives are reduce-scatters if `is_scattered`, and all-reduces otherwise, and that together they
/// communicate over exactly the axes `over`.
fn check_sum(found: &Communication, over: &[String], is_scattered: bool, what: &str) {
    let kind = if is_scattered { CollectiveKind::ReduceScatter } else { CollectiveKind::AllReduce };
    let axes: BTreeSet<String> = found.of(kind).flat_map(|c| c.groups.axes().to_vec()).collect();
    assert_eq!(axes, over.iter().cloned().collect(), "{what}\n{found}");
    assert_eq!(found.of(kind).count(), found.len(), "{what}\n{found}");
}

#[test]
fn a_sum_that_is_asked_for() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny);
    let mut count = 0;
    for from in matrices() {
        let [over, rest] = &axes(&from, 2)[..] else { unreachable!("two dimensions") };
        if over.is_empty() {
            continue;
        }
        for to in scattered(std::slice::from_ref(rest), over) {
            let is_scattered = to != [rest.clone()];
            let found = moved(&mesh, &from, |x| x.sum(0).shard(spec(&to)));
            check_sum(&found, over, is_scattered, &format!("the sum of {from} to {}", spec(&to)));
            let found = moved(&mesh, &from, |x| x.max(0).shard(spec(&to)));
            assert!(!found.is_empty(), "the maximum of {from} to {}", spec(&to));
            count += 1;
        }
    }
    assert!(count >= 12, "{count}");
}

/// The axes of the rows, of the contracted dimension and of the columns.
const SPLITS: [[&str; 3]; 7] =
    [["", "X", ""], ["", "Y", ""], ["X", "Y", ""], ["", "Y", "X"], ["Y", "X", ""], ["", "XY", ""], ["", "YX", ""]];

#[test]
fn a_product_that_is_asked_for() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny);
    let list = |axes: &str| axes.chars().map(String::from).collect::<Vec<String>>();
    for [rows, inner, columns] in SPLITS {
        let [rows, inner, columns] = [rows, inner, columns].map(list);
        let (a, b) = (spec(&[rows.clone(), inner.clone()]), spec(&[inner.clone(), columns.clone()]));
        for to in scattered(&[rows.clone(), columns.clone()], &inner) {
            let x = Array::of_type([8, 16], F32).shard(mesh.sharding(a.clone()));
            let w = Array::of_type([16, 32], F32).shard(mesh.sharding(b.clone()));
            let product = jit(|x: &Array, w: &Array| x.matmul(w).shard(spec(&to)));
            let found = with_mesh(&mesh, || product.lower((&x, &w))).unwrap().communication().unwrap();
            check_sum(&found, &inner, to != [rows.clone(), columns.clone()], &format!("{a} · {b} to {}", spec(&to)));
        }
    }
}
