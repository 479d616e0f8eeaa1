//! `shardwise demo`: the first example, with its layouts, the program of one device, its communication, and times.

use crate::check::nearness;
use crate::placed::Placed;
use clap::{Args, Command, FromArgMatches};
use shardwise::DimSpec;
use shardwise::prelude::*;
use shardwise_base::{Diagnostic, Diagnostics, Literal, Loc, bf16, counted};
use shardwise_engine::Engine;
use shardwise_host::HostEngine;
use shardwise_ir::text::{self, PrintOptions};
use shardwise_ir::{Module, verify};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition, run_until, unsharded};

const BATCH: usize = 8;
const MODEL: usize = 2048;
const FEED_FORWARD: usize = 8192;
const RUNS: usize = 21;

/// `Out[B, F] = square(In[B, D]) · W[D, F]` with B = 8, D = 2048, F = 8192, in bf16.
#[derive(Args)]
pub struct DemoArgs {
    /// Axes of the mesh and their sizes.
    #[arg(long, default_value = "X=4,Y=2")]
    mesh: String,
    /// Axes for the dimensions of In, bf16[8,2048]. `-` does not split a dimension, and `X+Y` splits it over both axes.
    #[arg(long = "in", value_name = "SPEC", allow_hyphen_values = true, default_value = "X,Y")]
    input: String,
    /// Axes for the dimensions of W, bf16[2048,8192].
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true, default_value = "Y,-")]
    w: String,
    /// Axes for the dimensions of the result, bf16[8,8192].
    #[arg(long, value_name = "SPEC", allow_hyphen_values = true, default_value = "X,-")]
    out: String,
}

/// The arguments of `shardwise demo` without options.
impl Default for DemoArgs {
    fn default() -> DemoArgs {
        let matches = DemoArgs::augment_args(Command::new("demo")).get_matches_from(["demo"]);
        DemoArgs::from_arg_matches(&matches).expect("every option has a default")
    }
}

/// A failure: messages about the options or from a stage of the compiler, or the error of a Rust function.
pub enum Failure {
    Arguments(Diagnostics),
    Program(Error),
}

impl From<Diagnostics> for Failure {
    fn from(d: Diagnostics) -> Failure {
        Failure::Arguments(d)
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Program(e)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Arguments(d) => d.fmt(f),
            Failure::Program(e) => e.fmt(f),
        }
    }
}

fn matmul_square(x: &Array, w: &Array) -> Array {
    einsum!("bd,df->bf", x.square(), w)
}

pub fn demo(args: &DemoArgs) -> Result<(), Failure> {
    set_mesh(Mesh::new(mesh_axes(&args.mesh)?)?);
    say!("Out[B,F] = square(In[B,D]) · W[D,F], bf16, B={BATCH}, D={MODEL}, F={FEED_FORWARD}\n\nmesh  {}\n", args.mesh);
    let [key_x, key_w] = Key::new(0).split();
    let (x, w) = (normal(key_x, [BATCH, MODEL], BF16), normal(key_w, [MODEL, FEED_FORWARD], BF16));
    let inputs = [literal(&x)?, literal(&w)?];
    let x = Array::of_type([BATCH, MODEL], BF16).shard(spec(&args.input));
    let w = Array::of_type([MODEL, FEED_FORWARD], BF16).shard(spec(&args.w));
    let lowered = jit(matmul_square).out_shardings(spec(&args.out)).lower((&x, &w))?;
    let module = reread(&lowered.as_text())?;
    show_shardings(&module)?;
    let compiled = lowered.compile()?;
    say!("The program of one device:\n\n{}", compiled.as_hlo());
    say!("Communication:\n\n{}\n", compiled.communication());
    show_runs(&module, &inputs)?;
    Ok(())
}

/// Parses the axes of a mesh: `X=4,Y=2`. Fails if a part between commas has another form.
fn mesh_axes(text: &str) -> Result<Vec<Axis>, Diagnostics> {
    let axis = |part: &str| {
        let (name, size) = part.split_once('=')?;
        let name = Some(name.trim()).filter(|name| !name.is_empty())?;
        Some(Axis::auto(name, size.trim().parse().ok()?))
    };
    text.split(',').map(|part| axis(part).ok_or_else(|| bad_mesh(text, part).into())).collect()
}

/// Parses a layout: `X,-` or `X+Y,-`. A dimension with `-` or without a name is not split.
fn spec(text: &str) -> P {
    let dim = |part: &str| match part.trim() {
        "-" | "" => DimSpec::Axes(vec![]),
        names => DimSpec::Axes(names.split('+').map(|n| n.trim().to_string()).collect()),
    };
    P::new(text.split(',').map(dim))
}

fn literal(x: &Array) -> Result<Literal, Error> {
    let values = x.to_vec::<bf16>()?;
    Ok(Literal::new(x.shape().to_vec(), &values))
}

fn reread(text: &str) -> Result<Module, Diagnostics> {
    let module = text::parse("demo", text, &OPS)?;
    verify(&module).or(module)
}

fn show_shardings(module: &Module) -> Result<(), Diagnostics> {
    let propagated = run_until("propagate", module, &mut Options::default())?;
    say!("Every value with its sharding after propagation:\n\n{}", text::print(&propagated, &PrintOptions::default()));
    Ok(())
}

fn placed(module: &Module, inputs: &[Literal]) -> Result<Placed, Diagnostics> {
    let engine = HostEngine::default();
    let program = engine.compile(&partition(module, &mut Options::default())?.module)?;
    Placed::new(&engine, program, inputs)
}

fn show_runs(module: &Module, inputs: &[Literal]) -> Result<(), Diagnostics> {
    let (mesh, one) = (placed(module, inputs)?, placed(&unsharded(module), inputs)?);
    let expected = reference(&inputs[0], &inputs[1]);
    say!("Time of each instruction, of one run:\n\n{}\n", mesh.profile()?.timeline("demo"));
    let devices = module.main_mesh().map_or(1, |m| m.size());
    for (program, devices) in [(&mesh, devices), (&one, 1)] {
        let difference = nearness(&program.run()?[0], &expected);
        let time = program.median(RUNS)?;
        say!("{}: {time:.2?}; against float64: {difference}", counted(devices, "device"));
    }
    Ok(())
}

/// Computes `square(x) · w` in float64, rounded to bf16 at the end.
fn reference(x: &Literal, w: &Literal) -> Literal {
    let (x, w) = (x.as_slice::<bf16>(), w.as_slice::<bf16>());
    let mut out = vec![0f64; BATCH * FEED_FORWARD];
    for (row, out) in x.chunks(MODEL).zip(out.chunks_mut(FEED_FORWARD)) {
        for (a, w) in row.iter().zip(w.chunks(FEED_FORWARD)) {
            let square = a.to_f64() * a.to_f64();
            out.iter_mut().zip(w).for_each(|(o, w)| *o += square * w.to_f64());
        }
    }
    let rounded: Vec<bf16> = out.iter().map(|&v| bf16::from_f64(v)).collect();
    Literal::new(vec![BATCH, FEED_FORWARD], &rounded)
}

fn bad_mesh(text: &str, part: &str) -> Diagnostic {
    Diagnostic::error("mesh-syntax", &Loc::UNKNOWN, format!("`{part}` is not the name and the size of an axis"))
        .facts(format!("--mesh {text}"))
        .help("write axes as NAME=SIZE, where SIZE is a number of devices, separated by commas: --mesh X=4,Y=2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_without_options_has_the_same_defaults() {
        let DemoArgs { mesh, input, w, out } = DemoArgs::default();
        assert_eq!([mesh, input, w, out], ["X=4,Y=2", "X,Y", "Y,-", "X,-"]);
    }

    #[test]
    fn an_axis_has_a_name_and_a_size() {
        let sizes = |text| mesh_axes(text).ok().map(|axes| Mesh::new(axes).unwrap().sizes::<2>());
        assert_eq!(sizes("X=4,Y=2"), Some([4, 2]));
        assert_eq!(sizes(" X = 4 , Y = 2 "), Some([4, 2]));
        for (text, part) in [("=4,Y=2", "=4"), ("X=4, =2", " =2"), ("X=4,Y", "Y"), ("X=4,Y=", "Y="), ("X=4,", "")] {
            let found = mesh_axes(text).unwrap_err();
            let found: Vec<_> = found.iter().map(|d| (d.code, d.message.as_str())).collect();
            assert_eq!(found, [("mesh-syntax", &*format!("`{part}` is not the name and the size of an axis"))]);
        }
    }
}
