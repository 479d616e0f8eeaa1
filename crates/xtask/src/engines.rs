//! Determines which ops the host engine runs by a kernel, and which by their reference evaluation, for each element
//! type.

use shardwise_base::{DType, Literal};
use shardwise_check::single;
use shardwise_engine::{Argument, Engine, Signature};
use shardwise_host::HostEngine;
use shardwise_ir::{Attrs, Module, OpView, Type, Value, verify};
use shardwise_ops::elementwise::Compare;
use shardwise_ops::shapes::Constant;
use shardwise_ops::{Opcode, Semantics};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The element types that an op's example may have in place of its own, by how the op runs then.
#[derive(Default)]
pub struct Runs {
    pub kernels: Vec<DType>,
    pub evaluated: Vec<DType>,
    /// The types with which the program is well-formed, but the op does not run by itself: control flow, collectives,
    /// marks, or ops without a reference evaluation.
    pub others: Vec<DType>,
}

/// Runs an op's example with every element type in place of its own, and returns the types for which it is well-formed,
/// by how the op runs then. Returns no types if the op has no arrays. Panics if the example lacks the op.
fn runs(op: Opcode, example: &Module) -> Runs {
    let view = find(op, example).expect("an example holds its op");
    let Some(own) = own_dtype(&view) else { return Runs::default() };
    let engine = HostEngine::default();
    let is_pure = op.facts().semantics(&view) == Semantics::Pure;
    let mut runs = Runs::default();
    for &dtype in DType::ALL {
        let Some(module) = with_dtype(op, example, own, dtype) else { continue };
        let list = match is_pure.then(|| is_evaluated(op, &module, &engine)).flatten() {
            Some(true) => &mut runs.evaluated,
            Some(false) => &mut runs.kernels,
            None => &mut runs.others,
        };
        list.push(dtype);
    }
    runs
}

/// Returns [`Runs`] for every op. The examples are run at the first call only.
pub fn all() -> &'static [(Opcode, Runs)] {
    static ALL: LazyLock<Vec<(Opcode, Runs)>> = LazyLock::new(|| {
        let example =
            |op: Opcode| crate::program::parse(op.name(), op.facts().example(op)).expect("an example is a program");
        Opcode::ALL.iter().map(|&op| (op, runs(op, &example(op)))).collect()
    });
    &ALL
}

/// Returns the element types for which an op with a kernel is evaluated, of those that kernels compute on, by op, as in
/// the ratchet: `f32 i32`. Elementwise ops on complex numbers, of which some have no kernels, and ops without such
/// types are left out.
pub fn evaluated() -> BTreeMap<String, String> {
    let is_expected = |op: Opcode, d: DType| d.is_computed() && !(d.is_complex() && single::is_elementwise(op));
    let names = |op: Opcode, runs: &Runs| {
        runs.evaluated.iter().filter(|d| is_expected(op, **d)).map(|d| d.short()).collect::<Vec<_>>().join(" ")
    };
    let with_kernel = all().iter().filter(|(_, runs)| !runs.kernels.is_empty());
    let lines = with_kernel.map(|(op, runs)| (op.name().to_string(), names(*op, runs)));
    lines.filter(|(_, names)| !names.is_empty()).collect()
}

fn find(op: Opcode, module: &Module) -> Option<OpView<'_>> {
    let body = &module.main()?.body;
    body.walk().into_iter().map(|o| OpView::new(module, body, o)).find(|v| Opcode::of_view(v) == op)
}

fn own_dtype(view: &OpView<'_>) -> Option<DType> {
    let mut values = view.operands().iter().chain(view.results());
    values.find_map(|&v| view.body.ty(v).as_tensor()).map(|t| t.dtype)
}

/// Returns the program with one element type replaced by another in all types ([`in_place_of`]). Constants whose type
/// changes become zeros. Returns `None` if the op refuses the type or the program is not valid then.
fn with_dtype(op: Opcode, module: &Module, own: DType, dtype: DType) -> Option<Module> {
    let mut out = module.clone();
    let change = |ty: &mut Type| {
        if let Type::Tensor(t) = ty {
            t.dtype = in_place_of(t.dtype, own, dtype);
        }
    };
    for func in &mut out.funcs {
        (0..func.body.value_count()).for_each(|i| change(&mut func.body.value_mut(Value::new(i)).ty));
        for op in func.body.walk() {
            change_attrs(&mut func.body.op_mut(op).attrs, own, dtype);
        }
    }
    let inferred =
        find(op, &out).and_then(|view| Some((view.results().to_vec(), shardwise_ops::infer_op(&view).ok()?)));
    let (results, types) = inferred?;
    for func in &mut out.funcs {
        if func.name == module.main()?.name {
            results.iter().zip(&types).for_each(|(&v, ty)| func.body.value_mut(v).ty = ty.clone());
        }
        let last = *func.body[func.body.entry()].ops.last()?;
        func.result_types = func.body[last].operands.iter().map(|&v| func.body.ty(v).clone()).collect();
    }
    (!verify(&out).has_errors()).then_some(out)
}

/// Replaces constants whose type changes, as [`in_place_of`] states, by zeros of the new type, and the kind of a
/// comparison by that of `dtype`.
fn change_attrs(attrs: &mut Attrs, own: DType, dtype: DType) {
    Constant::map_value(attrs, |x| match in_place_of(x.dtype(), own, dtype) {
        same if same == x.dtype() => x.clone(),
        other => Literal::zeros(other, x.shape()),
    });
    Compare::set_dtype(attrs, dtype);
}

/// Returns the type that replaces `found` if `own` becomes `dtype`: `dtype` for `own` itself, the type of the parts for
/// that of the parts of complex numbers, and `complex<f64>` for `complex<f32>` if f32 becomes f64. Other types stay.
fn in_place_of(found: DType, own: DType, dtype: DType) -> DType {
    match found {
        _ if found == own => dtype,
        _ if own.is_complex() && found == own.real() && dtype.is_complex() => dtype.real(),
        DType::C64 if own == DType::F32 && dtype == DType::F64 => DType::C128,
        _ => found,
    }
}

/// Returns true if the host engine evaluates the op because it has no kernel, false if it runs a kernel, and `None` if
/// the program cannot run.
fn is_evaluated(op: Opcode, module: &Module, engine: &HostEngine) -> Option<bool> {
    let program = engine.compile(module).ok()?;
    let inputs = Signature::of(module.main()?).ok()?.inputs;
    let zeros = |ty: &shardwise_engine::ShardedType| {
        engine.put(&Literal::zeros(ty.ty.dtype, ty.ty.shape.clone()), ty).map(Argument::Lent)
    };
    let args = inputs.iter().map(zeros).collect::<Result<Vec<_>, _>>().ok()?;
    let (_, profile) = program.profile(args).ok()?;
    Some(profile.instructions.iter().any(|s| s.is_fallback && s.name == op.name()))
}
