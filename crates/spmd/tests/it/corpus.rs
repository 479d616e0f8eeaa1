//! The programs that JAX exported: partitioned, they compute what they compute whole.

use crate::generate::Chooser;
use shardwise_base::compare::{Tolerance, compare};
use shardwise_base::{DType, DTypeKind, Literal, bf16};
use shardwise_engine::{Argument, Engine};
use shardwise_files::npz::Reader;
use shardwise_interp::{InterpEngine, run};
use shardwise_ir::text::parse;
use shardwise_ir::{Module, TensorType};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition};
use shardwise_testing::{Program, corpus};
use std::path::Path;

/// Returns an array of this type with small elements drawn from `c`.
fn literal(c: &mut Chooser, ty: &TensorType) -> Literal {
    let n = ty.size();
    match ty.dtype {
        DType::F32 => {
            Literal::new(ty.shape.clone(), &(0..n).map(|_| c.below(9) as f32 / 4.0 - 1.0).collect::<Vec<_>>())
        }
        DType::BF16 => {
            let data: Vec<bf16> = (0..n).map(|_| bf16::from_f32(c.below(9) as f32 / 4.0 - 1.0)).collect();
            Literal::new(ty.shape.clone(), &data)
        }
        dtype => {
            let width = dtype.storage_bytes();
            let mut bytes = vec![0; n * width];
            let most = if dtype.kind() == DTypeKind::Bool { 2 } else { 4 };
            (0..n).for_each(|i| bytes[i * width] = c.below(most) as u8);
            Literal::from_bytes(dtype, &ty.shape, &bytes).unwrap()
        }
    }
}

pub fn per_device(module: &Module, args: &[Literal]) -> Result<Vec<Literal>, String> {
    let partitioned = partition(module, &mut Options::default()).map_err(|e| e.to_string())?;
    let executable = InterpEngine.compile(&partitioned.module).map_err(|e| e.to_string())?;
    let put = |(arg, ty)| Argument::Lent(InterpEngine.put(arg, ty).unwrap());
    let args = args.iter().zip(&partitioned.signature.inputs).map(put).collect();
    let results = executable.execute(args).map_err(|e| e.to_string())?;
    Ok(results.iter().map(|r| r.to_literal()).collect())
}

fn tolerance(x: &Literal) -> Tolerance<'static> {
    Tolerance::OfLargest(match x.dtype() {
        DType::BF16 | DType::F16 => 3,
        _ => 800,
    })
}

/// Programs that fail for drawn arguments. They run with the arguments of JAX's run.
///
/// The arguments of `sparse_vector` form a sparse matrix. Drawn arguments do not.
const NEED_THEIR_ARGUMENTS: [&str; 1] = ["corpus/linalg/sparse_vector"];

fn arguments_of_jax(name: &str, types: &[&TensorType]) -> Vec<Literal> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/{name}.in.npz"));
    let mut archive = Reader::open(&path).unwrap();
    let names = archive.names();
    let mut read = |i: usize, ty: &TensorType| {
        let member = names.iter().position(|n| *n == format!("arg{i}")).unwrap();
        archive.literal(member, ty).unwrap()
    };
    types.iter().enumerate().map(|(i, ty)| read(i, ty)).collect()
}

fn check(program: &Program) -> Result<(), String> {
    let module = parse("program.mlir", &program.text, &OPS).map_err(|e| format!("parse: {e}"))?;
    let main = module.main().unwrap();
    let types: Vec<&TensorType> = main.body.args().iter().map(|&v| main.body.ty(v).as_tensor().unwrap()).collect();
    let mut c = Chooser::new(7);
    let args: Vec<Literal> = match NEED_THEIR_ARGUMENTS.contains(&program.name.as_str()) {
        true => arguments_of_jax(&program.name, &types),
        false => types.iter().map(|ty| literal(&mut c, ty)).collect(),
    };
    let whole = run(&module, &args).map_err(|e| format!("whole: {e}"))?;
    let parts = per_device(&module, &args).map_err(|e| format!("partitioned: {e}"))?;
    compare(&parts, &whole, |i| whole.get(i).map_or(Tolerance::Exact, tolerance)).map_err(|why| why.to_string())
}

#[test]
fn programs_compute_the_same_partitioned() {
    let (mut failures, mut read) = (vec![], 0);
    let is_run = |name: &str| ![".shardy", ".final"].iter().any(|part| name.contains(part));
    for program in corpus().iter().filter(|p| is_run(&p.name)) {
        let result = std::panic::catch_unwind(|| check(program));
        let result = result.unwrap_or_else(|p| {
            let text = p.downcast_ref::<String>().cloned().or_else(|| p.downcast_ref::<&str>().map(|s| s.to_string()));
            Err(format!("panic: {}", text.unwrap_or_default()))
        });
        read += usize::from(!matches!(&result, Err(e) if e.starts_with("parse")));
        if let Err(e) = result.or_else(|e| if e.starts_with("parse") { Ok(()) } else { Err(e) }) {
            failures.push(format!("{}: {e}", program.name));
        }
    }
    assert!(read >= 40, "only {read} programs could be read: the text's own tests say why");
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
