//! Under `Deny` a program communicates exactly where it says `.shard`: on generated programs.
//!
//! What does not ask is written in [`plain`], what asks in [`asked`]: each collective must be put down to a line of the
//! second. A program whose step is refused asks there instead.

use shardwise::prelude::*;

/// The functions that steps are made of; `a` and `b` are matrices.
const OPS: usize = 14;

#[rustfmt::skip]
fn plain(op: usize, a: &Array, b: &Array) -> Array {
    match op {
        0 => a + b, 1 => a * 2.0, 2 => a.matmul(b.t()), 3 => a.t().matmul(b), 4 => a.sum(keep(0)) + b,
        5 => a - b.max(keep(1)), 6 => a.softmax(1), 7 => a.cumsum(0), 8 => a.roll(1, 1), 9 => concatenate([a, b], 0).i(..8),
        10 => a.reshape([4, 2, 16]).reshape([8, 16]), 11 => a.flip(0) + b, 12 => a.i(arange(0..8, I32)), _ => select(&a.gt(b), a, b),
    }
}
const BETWEEN: u32 = line!();
#[rustfmt::skip]
fn asked(op: usize, a: &Array, b: &Array, spec: &P) -> Array {
    match op {
        0 => (a + b).shard(spec), 1 => (a * 2.0).shard(spec), 2 => a.matmul(b.t()).shard(spec),
        3 => a.t().matmul(b).shard(spec), 4 => (a.sum(keep(0)).shard(P!()) + b.shard(spec)).shard(spec),
        5 => (a.shard(spec) - b.max(keep(1)).shard(P!()).shard(P!())).shard(spec), 6 => a.softmax(1).shard(spec),
        7 => a.cumsum(0).shard(spec), 8 => a.roll(1, 1).shard(spec),
        9 => concatenate([a.shard(spec), b.shard(spec)], 0).shard(spec).i(..8).shard(spec),
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
}

/// All values of a program, each a matrix of 8 x 16 or made so.
fn run(steps: &[Step], args: &[Array]) -> Vec<Array> {
    let mut values = args.to_vec();
    for step in steps {
        let (a, b) = (&values[step.a], &values[step.b]);
        values.push(match &step.asks {
            Some(spec) => asked(step.op, a, b, spec),
            None => plain(step.op, a, b),
        });
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

#[test]
fn collectives_are_those_that_are_asked_for() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(Communicate::Deny);
    let (mut accepted, mut asking, mut collectives) = (0, 0, 0);
    for seed in 0..60 {
        let mut choose = Chooser(seed * 7919 + 1);
        let value = |k: usize| ((arange(0..128, I32) * (k + 3)) % 7).astype(F32).reshape([8, 16]);
        let args: Vec<Array> = (0..3).map(|k| value(k).shard(mesh.sharding(choose.spec()))).collect();
        let mut steps: Vec<Step> = vec![];
        while steps.len() < 6 {
            let known = args.len() + steps.len();
            let mut step = Step { op: choose.below(OPS), a: choose.below(known), b: choose.below(known), asks: None };
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
                asking += 1;
            }
            steps.push(step);
        }
        let lowered = with_mesh(&mesh, || jit(|x: &Vec<Array>| run(&steps, x)).lower(&args)).unwrap();
        for c in &lowered.communication() {
            let line: u32 = c.source.split(':').nth(1).and_then(|l| l.parse().ok()).unwrap_or(0);
            assert!(
                line > BETWEEN,
                "seed {seed}: {} over {} for `{}` at {}: {}",
                c.kind,
                c.axes,
                c.op,
                c.source,
                c.reason
            );
            collectives += 1;
        }
        let got = with_mesh(&mesh, || jit(|x: &Vec<Array>| run(&steps, x))(&args)).unwrap();
        let whole: Vec<Array> = (0..3).map(value).collect();
        let bare: Vec<Step> = steps.iter().map(|s| Step { asks: None, ..s.clone() }).collect();
        for (got, expected) in got.iter().zip(run(&bare, &whole)) {
            assert_close(got, &expected);
        }
        accepted += 1;
    }
    assert!(accepted == 60 && asking > 30 && collectives > 60, "{accepted} {asking} {collectives}");
}
