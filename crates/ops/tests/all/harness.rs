//! A function built by a closure, and the smallest interpreter that can run it: on one device, or on each device of a
//! mesh. It computes `axis_index` and ops that are [`Semantics::Pure`].

use shardwise_base::{AxisRef, DType, Literal, Mesh, bf16, f16};
use shardwise_ir::{Attr, Body, Builder, Func, Module, Op, OpView, Region, TensorType, Type, Value};
use shardwise_ops::{EvalError, OPS, Opcode, RegionEval, Semantics, quantized};
use std::collections::HashMap;
use std::sync::Arc;

/// Builds a module whose `@main` takes values of these types and returns those that `build` returns. Checks that it
/// verifies.
pub fn module(args: &[TensorType], build: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>) -> Module {
    let mut func = Func::new("main", shardwise_base::Loc::UNKNOWN);
    let mut b = Builder::new(&mut func.body);
    let values: Vec<Value> = args.iter().map(|t| b.arg(t.clone().into())).collect();
    let results = build(&mut b, &values);
    b.ret(results.iter().copied());
    func.result_types = results.iter().map(|&v| func.body.ty(v).clone()).collect();
    func.arg_attrs = vec![Default::default(); args.len()];
    func.result_shardings = vec![None; results.len()];
    func.result_attrs = vec![Default::default(); results.len()];
    let mut module = Module::new("test", &OPS);
    module.funcs.push(func);
    let found = shardwise_ir::verify(&module);
    assert!(found.is_empty(), "{found}");
    module
}

pub fn f32s(shape: &[usize]) -> TensorType {
    TensorType::new(DType::F32, shape)
}

pub fn i32s(shape: &[usize]) -> TensorType {
    TensorType::new(DType::I32, shape)
}

/// Returns the ops in the outermost region of the first function, without its return.
pub fn ops(module: &Module) -> Vec<Op> {
    let body = &module.funcs[0].body;
    let ops = &body[body.entry()].ops;
    ops[..ops.len() - 1].to_vec()
}

/// Values of one body on one device.
pub struct Device<'a> {
    pub module: &'a Module,
    pub body: &'a Body,
    pub mesh: Option<&'a Arc<Mesh>>,
    pub coordinates: Vec<usize>,
    pub values: HashMap<Value, Literal>,
}

impl Device<'_> {
    /// Runs the ops of a region except its terminator, and returns the values of the terminator's operands. Fails if an
    /// op does. Panics if the region is empty, or if an op is neither [`Semantics::Pure`] nor an `axis_index` on a
    /// mesh.
    pub fn run(&mut self, region: Region, args: &[Literal]) -> Result<Vec<Literal>, EvalError> {
        let data = &self.body[region];
        self.values.extend(data.args.iter().copied().zip(args.iter().cloned()));
        let (_, ops) = data.ops.split_last().expect("a terminator");
        for &op in ops {
            let results = self.eval(op)?;
            self.values.extend(self.body[op].results.iter().copied().zip(results));
        }
        Ok(self.body.region_results(region).iter().map(|v| self.values[v].clone()).collect())
    }

    pub fn eval(&mut self, op: Op) -> Result<Vec<Literal>, EvalError> {
        let view = OpView::new(self.module, self.body, op);
        if Opcode::of_view(&view) == Opcode::AxisIndex {
            let Some((_, axes)) = view.attr("axes").and_then(Attr::as_axes) else { panic!("axes") };
            let index = AxisRef::index_in(self.mesh.expect("a mesh"), axes, &self.coordinates);
            return Ok(vec![Literal::scalar(index as i32)]);
        }
        let facts = Opcode::of_view(&view).facts();
        assert_eq!(facts.semantics(&view), Semantics::Pure, "{}", view.name());
        let operands: Vec<Literal> = view.operands().iter().map(|v| self.values[v].clone()).collect();
        let results = shardwise_ops::evaluate(&view, &operands, self)?;
        for (value, literal) in view.results().iter().zip(&results) {
            let expected = quantized::stored(self.body.ty(*value));
            assert_eq!(expected, Type::tensor(literal.dtype(), literal.shape()), "{}", view.name());
        }
        Ok(results)
    }
}

impl RegionEval for Device<'_> {
    fn region(&mut self, region: Region, args: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
        self.run(region, &args)
    }
}

/// Runs the first function on one device, and returns its results. Panics if an op fails or is not [`Semantics::Pure`].
pub fn run(module: &Module, args: &[Literal]) -> Vec<Literal> {
    let body = &module.funcs[0].body;
    let mut device = Device { module, body, mesh: None, coordinates: vec![], values: HashMap::new() };
    device.run(body.entry(), args).expect("no error")
}

/// Returns an array that is made of integers from -3 to 4, which depend on `seed`. Floats are halves of these integers,
/// so that sums and products are exact. Booleans are true for odd integers. The parts of complex numbers are half of
/// the integer, and 1 minus the integer. Negative numbers wrap in unsigned types. Panics for types that are not
/// [`DType::is_computed`].
pub fn sample(t: &TensorType, seed: usize) -> Literal {
    let numbers = |i: usize| ((i * 7 + seed * 5 + i / 3) % 8) as i64 - 3;
    let count = t.size();
    macro_rules! make {
        ($f:expr) => {
            Literal::new(t.shape.clone(), &(0..count).map(|i| $f(numbers(i))).collect::<Vec<_>>())
        };
    }
    use shardwise_base::{Bool8, Complex32, Complex64};
    match t.dtype {
        DType::I1 => make!(|n: i64| Bool8::from(n % 2 != 0)),
        DType::I8 => make!(|n| n as i8),
        DType::I16 => make!(|n| n as i16),
        DType::I32 => make!(|n| n as i32),
        DType::I64 => make!(|n| n),
        DType::U8 => make!(|n| n as u8),
        DType::U16 => make!(|n| n as u16),
        DType::U32 => make!(|n| n as u32),
        DType::U64 => make!(|n| n as u64),
        DType::F16 => make!(|n| f16::from_f32(n as f32 / 2.0)),
        DType::BF16 => make!(|n| bf16::from_f32(n as f32 / 2.0)),
        DType::F32 => make!(|n| n as f32 / 2.0),
        DType::F64 => make!(|n| n as f64 / 2.0),
        DType::C64 => make!(|n: i64| Complex32::new(n as f32 / 2.0, 1.0 - n as f32)),
        DType::C128 => make!(|n: i64| Complex64::new(n as f64 / 2.0, 1.0 - n as f64)),
        other => panic!("{other} is not computed"),
    }
}
