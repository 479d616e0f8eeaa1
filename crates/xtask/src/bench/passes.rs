//! Measures the speed of the partitioner on a long program: microseconds for each op.

use super::lines::median;
use crate::program;
use crate::table::Table;
use anyhow::Result;
use shardwise_spmd::{Options, partition, run_until};
use std::fmt::Write;
use std::time::Instant;

/// The name of this measurement for `--only`.
pub const NAME: &str = "partitioner_speed";

/// The number of ops of the program, and the mesh on which it is sharded.
const SUBJECTS: [(usize, &[usize]); 3] = [(4_000, &[4, 2]), (16_000, &[4, 2]), (16_000, &[16, 16, 32])];
const ROUNDS: usize = 5;
/// The largest allowed number of microseconds for each op.
const MOST: [f64; 2] = [4.0, 15.0];

/// Returns the table, and whether everything is fast enough.
pub fn measure() -> Result<(String, bool)> {
    let mut table = Table::new(["ops", "mesh", "parse", "propagate", "<=", "pipeline", "<="]);
    let mut is_good = true;
    for (ops, mesh) in SUBJECTS {
        let text = program_text(ops, mesh);
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
        is_good &= found.iter().zip(MOST).all(|(us, most)| *us <= most);
        let mesh = mesh.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        let us = |us: f64| format!("{us:.2}");
        let cells = [ops.to_string(), mesh, us(median(&parse)), us(found[0]), us(MOST[0]), us(found[1]), us(MOST[1])];
        table.row(cells);
    }
    Ok((format!("partitioner, microseconds for each op of the program\n\n{table}"), is_good))
}

/// Returns a program of blocks of four ops: two products, an activation, a residual.
fn program_text(ops: usize, mesh: &[usize]) -> String {
    let names = ["x", "y", "z"];
    let axes: Vec<String> = mesh.iter().zip(names).map(|(size, name)| format!("\"{name}\"={size}")).collect();
    let [x, w, v] = ["512x1024xf32", "1024x4096xf32", "4096x1024xf32"].map(|t| format!("tensor<{t}>"));
    let h = "tensor<512x4096xf32>";
    let sharded = |dims: &str| format!("{{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}");
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
