//! Times programs whose ops work on few elements: quaternions, an integrator, a filter, an optimizer step and random
//! numbers. Prints the median time of a call, and that of an op.
//!
//! ```sh
//! cargo run --release -p shardwise-host --example small_programs
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise_base::Literal;
use shardwise_engine::{Argument, Engine, Signature};
use shardwise_host::HostEngine;
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;
use std::time::{Duration, Instant};

/// The text of a block, written op by op.
#[derive(Default)]
struct Block {
    lines: String,
    /// The number of ops, constants left out.
    count: usize,
    prefix: &'static str,
}

impl Block {
    fn new(prefix: &'static str) -> Block {
        Block { prefix, ..Block::default() }
    }

    fn line(&mut self, rest: &str) -> String {
        let name = format!("%{}{}", self.prefix, self.lines.lines().count());
        self.lines += &format!("{name} = {rest}\n");
        name
    }

    fn op(&mut self, rest: &str) -> String {
        self.count += 1;
        self.line(&format!("stablehlo.{rest}"))
    }

    fn two(&mut self, op: &str, a: &str, b: &str, ty: &str) -> String {
        self.op(&format!("{op} {a}, {b} : {ty}"))
    }

    fn one(&mut self, op: &str, a: &str, ty: &str) -> String {
        self.op(&format!("{op} {a} : {ty}"))
    }

    fn constant(&mut self, value: &str, ty: &str) -> String {
        self.line(&format!("stablehlo.constant dense<{value}> : {ty}"))
    }

    fn element(&mut self, x: &str, i: usize, n: usize) -> String {
        let row = self.op(&format!("slice {x} [{i}:{}] : (tensor<{n}xf32>) -> tensor<1xf32>", i + 1));
        self.op(&format!("reshape {row} : (tensor<1xf32>) -> tensor<f32>"))
    }

    fn joined(&mut self, scalars: &[String]) -> String {
        let rows: Vec<String> = scalars
            .iter()
            .map(|s| self.op(&format!("broadcast_in_dim {s}, dims = [] : (tensor<f32>) -> tensor<1xf32>")))
            .collect();
        let types = vec!["tensor<1xf32>"; rows.len()].join(", ");
        self.op(&format!("concatenate {}, dim = 0 : ({types}) -> tensor<{}xf32>", rows.join(", "), rows.len()))
    }
}

/// A program, and about the number of ops that a call runs: constants and the loop itself are not counted.
struct Timed {
    name: &'static str,
    text: String,
    op_count: usize,
}

/// Returns the program of a loop with a counter `%i`. `carried` has the name, the initial value and the type of each
/// array. `turn` writes the body and returns the next values.
fn repeated(
    name: &'static str,
    turns: usize,
    args: &str,
    carried: &[(&str, &str, &str)],
    turn: impl Fn(&mut Block) -> Vec<String>,
) -> Timed {
    let mut body = Block::new("b");
    let next = turn(&mut body);
    let init: String = carried.iter().map(|(name, from, _)| format!(", {name} = {from}")).collect();
    let types: String = carried.iter().map(|(_, _, ty)| format!(", {ty}")).collect();
    let results: Vec<&str> = carried.iter().map(|(_, _, ty)| *ty).collect();
    let names: Vec<String> = (1..=carried.len()).map(|k| format!("%w#{k}")).collect();
    let text = format!(
        "func.func @main({args}) -> ({results}) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %turns = stablehlo.constant dense<{turns}> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %w:{count} = stablehlo.while(%i = %zero{init}) : tensor<i32>{types} cond {{
    %p = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
{lines}%j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, {next} : tensor<i32>{types}
  }}
  return {names} : {results}
}}",
        results = results.join(", "),
        count = carried.len() + 1,
        lines = body.lines,
        next = next.join(", "),
        names = names.join(", "),
    );
    Timed { name, text, op_count: turns * (body.count + 2) }
}

const F: &str = "tensor<f32>";

/// Returns a program that multiplies a quaternion by another one and normalizes it, 2,000 times.
fn quaternions() -> Timed {
    let q = "tensor<4xf32>";
    repeated("quaternions", 2000, &format!("%x: {q}, %y: {q}"), &[("%q", "%x", q)], |b| {
        let [a, r] = ["%q", "%y"].map(|v| (0..4).map(|i| b.element(v, i, 4)).collect::<Vec<_>>());
        // The products of each component, with their signs.
        let terms = [
            [(0, 0, 1), (1, 1, -1), (2, 2, -1), (3, 3, -1)],
            [(0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, -1)],
            [(0, 2, 1), (1, 3, -1), (2, 0, 1), (3, 1, 1)],
            [(0, 3, 1), (1, 2, 1), (2, 1, -1), (3, 0, 1)],
        ];
        let component = |b: &mut Block, terms: &[(usize, usize, i32)]| {
            let mut sum = String::new();
            for (i, &(m, n, sign)) in terms.iter().enumerate() {
                let product = b.two("multiply", &a[m], &r[n], F);
                sum = match (i, sign) {
                    (0, _) => product,
                    (_, 1) => b.two("add", &sum, &product, F),
                    _ => b.two("subtract", &sum, &product, F),
                };
            }
            sum
        };
        let parts: Vec<String> = terms.iter().map(|terms| component(b, terms)).collect();
        let joined = b.joined(&parts);
        let squares = b.two("multiply", &joined, &joined, q);
        let zero = b.constant("0.0", F);
        let sum = b.op(&format!(
            "reduce({squares} init: {zero}) applies stablehlo.add across dimensions = [0] : ({q}, {F}) -> {F}"
        ));
        let norm = b.one("sqrt", &sum, F);
        let norms = b.op(&format!("broadcast_in_dim {norm}, dims = [] : ({F}) -> {q}"));
        vec![b.two("divide", &joined, &norms, q)]
    })
}

/// Returns a program that integrates Lorenz' equations by 1,000 steps of the method of Runge and Kutta of order 4.
fn integrator() -> Timed {
    let v = "tensor<3xf32>";
    repeated("integrator", 1000, &format!("%x: {v}"), &[("%s", "%x", v)], |b| {
        let slope = |b: &mut Block, s: &str| {
            let [x, y, z] = [0, 1, 2].map(|i| b.element(s, i, 3));
            let [sigma, rho, beta] = ["10.0", "28.0", "2.6666667"].map(|c| b.constant(c, F));
            let d = b.two("subtract", &y, &x, F);
            let dx = b.two("multiply", &sigma, &d, F);
            let d = b.two("subtract", &rho, &z, F);
            let d = b.two("multiply", &x, &d, F);
            let dy = b.two("subtract", &d, &y, F);
            let [xy, bz] = [b.two("multiply", &x, &y, F), b.two("multiply", &beta, &z, F)];
            let dz = b.two("subtract", &xy, &bz, F);
            b.joined(&[dx, dy, dz])
        };
        let along = |b: &mut Block, k: &str, step: &str| {
            let step = b.constant(step, v);
            let moved = b.two("multiply", k, &step, v);
            b.two("add", "%s", &moved, v)
        };
        let k1 = slope(b, "%s");
        let at = along(b, &k1, "0.005");
        let k2 = slope(b, &at);
        let at = along(b, &k2, "0.005");
        let k3 = slope(b, &at);
        let at = along(b, &k3, "0.01");
        let k4 = slope(b, &at);
        let outer = b.two("add", &k1, &k4, v);
        let inner = b.two("add", &k2, &k3, v);
        let inner = b.two("add", &inner, &inner, v);
        let sum = b.two("add", &outer, &inner, v);
        vec![along(b, &sum, "0.0016666667")]
    })
}

/// Returns a program that filters 500 measurements of one number with a Kalman filter whose state has four numbers. It
/// returns the last state and its covariance, and all states.
fn filter() -> Timed {
    let (v, m) = ("tensor<4x1xf32>", "tensor<4x4xf32>");
    let args = format!(
        "%z: tensor<500x1xf32>, %f: {m}, %h: tensor<1x4xf32>, %r: {m}, %x: {v}, %c: {m}, %o: tensor<500x4xf32>"
    );
    let carried = [("%s", "%x", v), ("%v", "%c", m), ("%out", "%o", "tensor<500x4xf32>")];
    repeated("filter", 500, &args, &carried, |b| {
        let dot = |b: &mut Block, x: &str, y: &str, types: [&str; 3], dims: &str| {
            let [a, c, r] = types.map(|t| format!("tensor<{t}xf32>"));
            b.op(&format!("dot_general {x}, {y}, contracting_dims = {dims} : ({a}, {c}) -> {r}"))
        };
        let s = dot(b, "%f", "%s", ["4x4", "4x1", "4x1"], "[1] x [0]");
        let fv = dot(b, "%f", "%v", ["4x4"; 3], "[1] x [0]");
        let fvf = dot(b, &fv, "%f", ["4x4"; 3], "[1] x [1]");
        let v0 = b.two("add", &fvf, "%r", m);
        let vh = dot(b, &v0, "%h", ["4x4", "1x4", "4x1"], "[1] x [1]");
        let hvh = dot(b, "%h", &vh, ["1x4", "4x1", "1x1"], "[1] x [0]");
        let noise = b.constant("0.5", "tensor<1x1xf32>");
        let var = b.two("add", &hvh, &noise, "tensor<1x1xf32>");
        let vars = b.op(&format!("broadcast_in_dim {var}, dims = [0, 1] : (tensor<1x1xf32>) -> {v}"));
        let gain = b.two("divide", &vh, &vars, v);
        let z = b.op(
            "dynamic_slice %z, %i, %zero, sizes = [1, 1] : (tensor<500x1xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>",
        );
        let hs = dot(b, "%h", &s, ["1x4", "4x1", "1x1"], "[1] x [0]");
        let error = b.two("subtract", &z, &hs, "tensor<1x1xf32>");
        let change = dot(b, &gain, &error, ["4x1", "1x1", "4x1"], "[1] x [0]");
        let s = b.two("add", &s, &change, v);
        let gh = dot(b, &gain, "%h", ["4x1", "1x4", "4x4"], "[1] x [0]");
        let ghv = dot(b, &gh, &v0, ["4x4"; 3], "[1] x [0]");
        let v1 = b.two("subtract", &v0, &ghv, m);
        let row = b.op(&format!("reshape {s} : ({v}) -> tensor<1x4xf32>"));
        let out = b.op(&format!(
            "dynamic_update_slice %out, {row}, %i, %zero : (tensor<500x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<500x4xf32>"
        ));
        vec![s, v1, out]
    })
}

/// Returns a program that takes one step of Adam, without correction of the bias, for ten scalars. It has no loop.
fn optimizer() -> Timed {
    let mut b = Block::new("b");
    let [mut args, mut results] = [vec![], vec![]];
    let [b1, c1, b2, c2] = ["0.9", "0.1", "0.999", "0.001"].map(|c| b.constant(c, F));
    let [rate, small] = ["0.01", "1.0e-8"].map(|c| b.constant(c, F));
    for k in 0..10 {
        let [p, g, m, v] = ["p", "g", "m", "v"].map(|name| format!("%{name}{k}"));
        args.extend([&p, &g, &m, &v].map(|name| format!("{name}: {F}")));
        let [old, new] = [b.two("multiply", &m, &b1, F), b.two("multiply", &g, &c1, F)];
        let m = b.two("add", &old, &new, F);
        let square = b.two("multiply", &g, &g, F);
        let [old, new] = [b.two("multiply", &v, &b2, F), b.two("multiply", &square, &c2, F)];
        let v = b.two("add", &old, &new, F);
        let root = b.one("sqrt", &v, F);
        let below = b.two("add", &root, &small, F);
        let direction = b.two("divide", &m, &below, F);
        let change = b.two("multiply", &direction, &rate, F);
        results.extend([b.two("subtract", &p, &change, F), m, v]);
    }
    let types = vec![F; results.len()].join(", ");
    let text = format!(
        "func.func @main({}) -> ({types}) {{\n{}return {} : {types}\n}}",
        args.join(", "),
        b.lines,
        results.join(", ")
    );
    Timed { name: "optimizer", text, op_count: b.count }
}

/// Returns a program that draws eight random words by the rounds of the cipher Threefry, 500 times. The words of one
/// draw are the keys of the next.
fn random() -> Timed {
    let t = "tensor<4xui32>";
    repeated("random", 500, &format!("%x: {t}, %y: {t}"), &[("%a", "%x", t), ("%c", "%y", t)], |b| {
        let rounds = [[13, 15, 26, 6], [17, 29, 16, 24]];
        let parity = b.constant("466688986", t);
        let mixed = b.two("xor", "%a", "%c", t);
        let keys = ["%a".to_string(), "%c".to_string(), b.two("xor", &mixed, &parity, t)];
        let (mut x, mut y) = ("%c".to_string(), "%a".to_string());
        for round in 0..5 {
            for turn in rounds[round % 2] {
                x = b.two("add", &x, &y, t);
                let [by, rest] = [turn, 32 - turn].map(|n| b.constant(&n.to_string(), t));
                let up = b.two("shift_left", &y, &by, t);
                let down = b.two("shift_right_logical", &y, &rest, t);
                y = b.two("or", &up, &down, t);
                y = b.two("xor", &x, &y, t);
            }
            let number = b.constant(&(round + 1).to_string(), t);
            x = b.two("add", &x, &keys[(round + 1) % 3], t);
            y = b.two("add", &y, &keys[(round + 2) % 3], t);
            y = b.two("add", &y, &number, t);
        }
        vec![x, y]
    })
}

fn parsed(timed: &Timed) -> Module {
    let module = text::parse(timed.name, &timed.text, &OPS).unwrap_or_else(|e| panic!("{e}\n{}", timed.text));
    verify(&module).or(module).unwrap_or_else(|e| panic!("{e}\n{}", timed.text))
}

/// Returns the median time of a call, and the time of compilation.
fn times(timed: &Timed) -> (Duration, Duration) {
    let (module, engine) = (parsed(timed), HostEngine::default());
    let begun = Instant::now();
    let program = engine.compile(&module).unwrap_or_else(|e| panic!("{e}"));
    let compiled = begun.elapsed();
    let types = Signature::of(module.main().expect("a function")).expect("arrays").inputs;
    let input = |(k, ty): (usize, _)| {
        let ty: &shardwise_engine::ShardedType = ty;
        let number = |i: usize| 0.25 + ((i * 7 + k) % 11) as f32 / 16.0;
        let value = match ty.ty.dtype {
            shardwise_base::DType::F32 => Literal::from_fn(ty.ty.shape.clone(), number),
            _ => Literal::from_fn(ty.ty.shape.clone(), |i| (i + k) as u32),
        };
        engine.put(&value, ty).expect("it fits")
    };
    let args: Vec<_> = types.iter().enumerate().map(input).collect();
    let mut calls: Vec<Duration> = vec![];
    let end = Instant::now() + Duration::from_secs(1);
    while calls.len() < 20 || Instant::now() < end {
        let begun = Instant::now();
        let lent = args.iter().map(|arg| Argument::Lent(arg.clone())).collect();
        program.execute(lent).unwrap_or_else(|e| panic!("{e}"));
        calls.push(begun.elapsed());
    }
    calls.sort_unstable();
    (calls[calls.len() / 2], compiled)
}

fn main() {
    println!("{:<12} {:>10} {:>12} {:>10} {:>12}", "program", "ops", "us a call", "ns an op", "us compiled");
    for timed in [quaternions(), integrator(), filter(), optimizer(), random()] {
        let (call, compiled) = times(&timed);
        let [call, compiled] = [call, compiled].map(|t| t.as_secs_f64() * 1e6);
        let each = call * 1e3 / timed.op_count as f64;
        println!("{:<12} {:>10} {call:>12.1} {each:>10.1} {compiled:>12.0}", timed.name, timed.op_count);
    }
}
