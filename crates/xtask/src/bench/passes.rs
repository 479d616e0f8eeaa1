//! Measures the speed of the partitioner on long programs: microseconds for each op.

use super::lines::median;
use crate::command::run_shown;
use crate::table::Table;
use crate::{program, repo, venv};
use anyhow::Result;
use shardwise_spmd::{Options, partition, run_until};
use std::fmt::Write;
use std::time::Instant;

/// The name of this measurement for `--only`.
pub const NAME: &str = "partitioner_speed";

const ROUNDS: usize = 5;
/// The largest allowed number of microseconds for each op of a program that repeats itself, until `propagate` is done
/// and for all passes.
const REPEATED: [f64; 2] = [4.0, 6.0];
/// The largest allowed numbers for a program without two equal ops.
const DISTINCT: [f64; 2] = [10.0, 40.0];
/// The layers of the Llama, and the largest allowed number of microseconds for each of its ops.
const LLAMA: (usize, [f64; 2]) = (80, [4.0, 8.0]);

/// A program to partition.
struct Subject {
    name: String,
    text: String,
    /// The largest allowed number of microseconds for each op, until `propagate` is done and for all passes.
    most: [f64; 2],
}

/// Returns the table, and true if no measured number is above its largest allowed one. Fails if a program cannot be
/// made or partitioned.
pub fn measure() -> Result<(String, bool)> {
    let mut table = Table::new(["program", "ops", "parse", "propagate", "<=", "pipeline", "<=", "all passes, ms"]);
    let mut is_good = true;
    for Subject { name, text, most } in subjects()? {
        let ops = text.lines().filter(|line| line.contains(" = ")).count();
        let (mut parse, mut propagate, mut pipeline) = (vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            let us = |start: Instant| start.elapsed().as_secs_f64() * 1e6 / ops as f64;
            let start = Instant::now();
            let module = program::parse("program", &text)?;
            parse.push(us(start));
            let start = Instant::now();
            run_until("propagate", &module, &mut Options::default()).map_err(program::mistake)?;
            propagate.push(us(start));
            let start = Instant::now();
            partition(&module, &mut Options::default()).map_err(program::mistake)?;
            pipeline.push(us(start));
        }
        let found = [&propagate, &pipeline].map(|times| median(times));
        is_good &= found.iter().zip(most).all(|(us, most)| *us <= most);
        let us = |us: f64| format!("{us:.2}");
        let total = format!("{:.0}", found[1] * ops as f64 / 1e3);
        table.row([
            name,
            ops.to_string(),
            us(median(&parse)),
            us(found[0]),
            us(most[0]),
            us(found[1]),
            us(most[1]),
            total,
        ]);
    }
    Ok((format!("partitioner, microseconds for each op of the program\n\n{table}"), is_good))
}

fn subjects() -> Result<Vec<Subject>> {
    let repeated: [(usize, &[usize]); 5] =
        [(4_000, &[4, 2]), (16_000, &[4, 2]), (16_000, &[16, 16, 32]), (4_000, &[2, 2, 2]), (4_000, &[64, 64, 64])];
    let mut subjects = vec![];
    for (ops, mesh) in repeated {
        let sizes = mesh.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        subjects.push(Subject { name: format!("repeated, {sizes}"), text: repeated_text(ops, mesh), most: REPEATED });
    }
    subjects.push(Subject { name: "distinct, 4x2".to_string(), text: distinct_text(4_000), most: DISTINCT });
    let (layers, most) = LLAMA;
    subjects.push(Subject { name: format!("Llama, {layers} layers, 16x16"), text: llama_text(layers)?, most });
    Ok(subjects)
}

/// Returns a program of about `ops` ops in blocks of four: two products, an activation, a residual. `mesh` has the
/// sizes of the two or three axes of the mesh.
fn repeated_text(ops: usize, mesh: &[usize]) -> String {
    let names = ["x", "y", "z"];
    let axes: Vec<String> = mesh.iter().zip(names).map(|(size, name)| format!("\"{name}\"={size}")).collect();
    let [x, w, v] = ["512x1024xf32", "1024x4096xf32", "4096x1024xf32"].map(|t| format!("tensor<{t}>"));
    let h = "tensor<512x4096xf32>";
    let [of_x, of_w, of_v] = ["{\"x\"}, {}", "{}, {\"y\"}", "{\"y\"}, {}"].map(sharded);
    let mut text = format!(
        "sdy.mesh @mesh = <[{}]>\nfunc.func public @main(%x: {x} {of_x}, %w: {w} {of_w}, %v: {v} {of_v}) -> {x} {{\n",
        axes.join(", ")
    );
    let mut last = "%x".to_string();
    for i in 0..ops / 4 {
        write!(
            text,
            "  %h{i} = stablehlo.dot_general {last}, %w, contracting_dims = [1] x [0] : ({x}, {w}) -> {h}\n  \
             %t{i} = stablehlo.tanh %h{i} : {h}\n  \
             %o{i} = stablehlo.dot_general %t{i}, %v, contracting_dims = [1] x [0] : ({h}, {v}) -> {x}\n  \
             %r{i} = stablehlo.add %o{i}, {last} : {x}\n"
        )
        .expect("writing to a string");
        last = format!("%r{i}");
    }
    write!(text, "  return {last} : {x}\n}}\n").expect("writing to a string");
    text
}

/// Returns a program of about `ops` ops in blocks of four: a product, a broadcast bias, their sum, an activation. No
/// two blocks have equal shapes. The layouts of the weights contradict each other in many ways.
fn distinct_text(ops: usize) -> String {
    const LAYOUTS: [&str; 7] = [
        "{\"x\"}, {}",
        "{}, {\"y\"}",
        "{\"y\"}, {\"x\"}",
        "{}, {\"x\", \"y\"}",
        "{\"x\", \"y\"}, {}",
        "{\"x\"}, {\"y\"}",
        "{}, {}",
    ];
    let (width, batch) = (|i: usize| 64 * (i + 16), 512);
    let matrix = |i: usize| format!("tensor<{batch}x{}xf32>", width(i));
    let weight = |i: usize| format!("tensor<{}x{}xf32>", width(i), width(i + 1));
    let bias = |i: usize| format!("tensor<{}xf32>", width(i + 1));
    let count = ops / 4;
    let mut args = vec![format!("%x: {} {}", matrix(0), sharded(LAYOUTS[0]))];
    for i in 0..count {
        args.push(format!("%w{i}: {} {}", weight(i), sharded(LAYOUTS[i * i % LAYOUTS.len()])));
        args.push(format!("%b{i}: {}", bias(i)));
    }
    let mut text = format!(
        "sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\nfunc.func public @main({}) -> {} {{\n",
        args.join(", "),
        matrix(count)
    );
    let mut last = "%x".to_string();
    for i in 0..count {
        let (x, w, b, y) = (matrix(i), weight(i), bias(i), matrix(i + 1));
        write!(
            text,
            "  %h{i} = stablehlo.dot_general {last}, %w{i}, contracting_dims = [1] x [0] : ({x}, {w}) -> {y}\n  \
             %c{i} = stablehlo.broadcast_in_dim %b{i}, dims = [1] : ({b}) -> {y}\n  \
             %s{i} = stablehlo.add %h{i}, %c{i} : {y}\n  \
             %r{i} = stablehlo.tanh %s{i} : {y}\n"
        )
        .expect("writing to a string");
        last = format!("%r{i}");
    }
    write!(text, "  return {last} : {}\n}}\n", matrix(count)).expect("writing to a string");
    text
}

fn sharded(dims: &str) -> String {
    format!("{{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}")
}

/// Returns the training step of a Llama of so many layers for 256 devices, as JAX exports it. The text is kept under
/// `target/oracle` until the script or the environment changes. Fails if the text cannot be exported or read.
fn llama_text(layers: usize) -> Result<String> {
    let path = repo::target_dir("oracle")?.join(format!("llama_{layers}.mlir"));
    let stamp = path.with_extension("stamp");
    let wanted = repo::read("oracle/llama.py".as_ref())? + &venv::requirements()?;
    let is_current = path.exists() && std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted);
    if !is_current {
        let mut script = venv::script(&venv::ensure()?, "llama.py");
        script.args(["--layers", &layers.to_string(), "--out"]).arg(&path);
        run_shown(script)?;
        shardwise_base::file::write(&stamp, wanted)?;
    }
    Ok(std::fs::read_to_string(path)?)
}
