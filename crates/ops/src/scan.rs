//! `chlo.scan`: a body that runs along one dimension, with values that are carried from step to step.

use crate::check::{self, Check, MANY, counted_tensors, types_of};
use crate::eval::{self, Layout};
use crate::expansion::{self, ExpandCx};
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, make};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Builder, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

/// The `scan` op: its operands are the inputs, then the first carries. The body's arguments are a slice of each input
/// (without the dimension) and the carries. The body returns a slice of each output and the next carries, and the op
/// returns the outputs and the last carries.
pub struct Scan;

/// Returns the number of inputs. The other operands are carries. Returns `None` if `operandSegmentSizes` is missing or
/// broken, or its numbers do not add up to the number of operands.
fn input_count(op: &OpView<'_>) -> Option<usize> {
    let [inputs, carries] = op.attr("operandSegmentSizes")?.to_ints()?[..] else { return None };
    let count = usize::try_from(inputs).ok()?;
    (count + usize::try_from(carries).ok()? == op.operands().len()).then_some(count)
}

fn counts_results(op: &OpView<'_>, outputs: usize, carries: usize) -> bool {
    let counts = op.attr(SEGMENTS[1]).map(Attr::to_ints);
    counts.is_none_or(|counts| counts.is_some_and(|counts| counts == [outputs as i64, carries as i64]))
}

/// Returns the number of steps: the size of the inputs along `dim`, or `scan_dim_size` if there are no inputs. Returns
/// `None` if neither states it, if an input does not have this dimension, or if the sizes differ from each other or
/// from `scan_dim_size`.
fn step_count(op: &OpView<'_>, inputs: &[&[usize]], dim: usize) -> Option<usize> {
    let given = match op.attrs().contains("scan_dim_size") {
        true => Some(op.attrs().size("scan_dim_size")?),
        false => None,
    };
    let sizes = inputs.iter().map(|shape| shape.get(dim).copied()).collect::<Option<Vec<usize>>>()?;
    let size = given.or(sizes.first().copied())?;
    sizes.iter().all(|&n| n == size).then_some(size)
}

fn without(t: &TensorType, dim: usize) -> Type {
    let mut shape = t.shape.clone();
    shape.remove(dim);
    Type::tensor(t.dtype, shape)
}

fn with(t: &TensorType, dim: usize, size: usize) -> Type {
    let mut shape = t.shape.clone();
    shape.insert(dim, size);
    Type::tensor(t.dtype, shape)
}

impl Scan {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("dimension", None, AttrKind::Int(DType::I64)),
            optional("is_reverse", None, AttrKind::Flag, "`false`"),
            optional("is_associative", None, AttrKind::Flag, "`false`"),
            optional("scan_dim_size", None, AttrKind::Int(DType::I64), "the operands have it"),
            required("operandSegmentSizes", None, AttrKind::Own("the numbers of inputs and of carries, as i32")),
            optional(
                "resultSegmentSizes",
                None,
                AttrKind::Own("the numbers of outputs and of carries, as i32"),
                "as many carries as there are among the operands",
            ),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Refuses,
        syntax: Syntax::custom(&crate::syntax::scan::ScanForm),
        names: Names::Numbered,
        role: Role::Isolated,
    };
}

impl Facts for Scan {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        Derivative::expanded(|cx| Ok(as_loop(cx)))
    }
    answer!(transpose = none("the loop that computes the same is transposed"));
    fn batch(&self, _: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::expanded(|cx| Ok(as_loop(cx)))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 1..=MANY, 1)?;
        let dim = check::size(op, "dimension")?;
        let mut check = Check::new(op);
        let count = input_count(op);
        check
            .that("scan_c1", count.is_some(), "`operandSegmentSizes` must be the numbers of inputs and carries")
            .so_far()?;
        let (inputs, carries) = types.split_at(count.unwrap_or(0));
        let shapes: Vec<&[usize]> = inputs.iter().map(|t| &t.shape[..]).collect();
        let size = step_count(op, &shapes, dim);
        check.that(
            "scan_c2",
            size.is_some(),
            "all inputs must have `dimension`, and the same size along it, which is `scan_dim_size` if that is given; \
             without inputs, `scan_dim_size` must be given; it must not be negative",
        );
        check.so_far()?;
        let carried: Vec<Type> = carries.iter().map(|&t| t.clone().into()).collect();
        let takes = [inputs.iter().map(|t| without(t, dim)).collect(), carried.clone()].concat();
        let region = op.regions()[0];
        check.that(
            "scan_c3",
            types_of(op, &op.body[region].args) == takes,
            "the body's arguments must have the types of the inputs without `dimension`, and then those of the carries",
        );
        let gives = types_of(op, op.body.region_results(region));
        let split = gives.len().checked_sub(carried.len());
        let fits = split.is_some_and(|n| gives[n..] == carried[..]);
        check.that("scan_c4", fits, "the last results of the body must have the types of the carries");
        let is_counted = split.is_none_or(|outputs| counts_results(op, outputs, carried.len()));
        check.that("scan_c6", is_counted, "`resultSegmentSizes` must be the numbers of outputs and carries");
        let slices: Option<Vec<&TensorType>> = gives.iter().map(Type::as_tensor).collect();
        let fits = slices.as_ref().is_some_and(|s| s.iter().take(split.unwrap_or(0)).all(|t| dim <= t.rank()));
        check
            .that("scan_c5", fits, "each output of the body must be a tensor, whose rank is at least `dimension`")
            .so_far()?;
        let outputs = slices.unwrap_or_default().into_iter().take(split.unwrap_or(0));
        check.give(outputs.map(|t| with(t, dim, size.unwrap_or(0))).chain(carried))
    }

    /// Makes all dimensions whole, because the body may do anything with its slices.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let shapes: Vec<&[usize]> = op.operands().iter().chain(op.results()).map(|&v| op.body.ty(v).shape()).collect();
        let rank = |v: &Value| op.body.ty(*v).shape().len();
        let mut rule = RuleBuilder::new(op.operands().iter().map(rank), op.results().iter().map(rank));
        let operands = op.operands().len();
        for (i, shape) in shapes.iter().enumerate() {
            for (d, &size) in shape.iter().enumerate() {
                let place = |j: usize| (i == j).then_some(d);
                let of: Vec<Option<usize>> = (0..shapes.len()).map(place).collect();
                rule.add_factor(&of[..operands], &of[operands..], FactorSpec::need_replication(size).blocked_if(true));
            }
        }
        RuleFact::Rule(rule.build())
    }

    answer!(usual);
    answer!(per_part = Other);

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let dim = op.attrs().size("dimension").expect("verified");
        let (inputs, carries) = x.split_at(input_count(op).expect("verified"));
        let mut carries = carries.to_vec();
        let outputs = op.results().len() - carries.len();
        let mut results: Vec<Literal> =
            (0..outputs).map(|i| Literal::zeros(op.result_tensor(i).dtype, op.result_shape(i)).to_dense()).collect();
        let shapes: Vec<&[usize]> = inputs.iter().map(Literal::shape).collect();
        let size = step_count(op, &shapes, dim).expect("verified");
        for step in 0..size {
            let at = if op.attrs().flag("is_reverse") { size - 1 - step } else { step };
            let args = inputs.iter().map(|x| slice(x, dim, at)).chain(carries).collect();
            let mut given = regions.region(op.regions()[0], args)?;
            carries = given.split_off(outputs);
            results.iter_mut().zip(&given).for_each(|(out, part)| place(out, part, dim, at));
        }
        results.extend(carries);
        Ok(results)
    }

    answer!(cost = streams(1.0));
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> tensor<4xf32> {
  %0:2 = chlo.scan(%arg0) inits(%arg1) dimension=0 {
  ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
    %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
    stablehlo.return %1, %1 : tensor<f32>, tensor<f32>
  } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  return %0#0 : tensor<4xf32>
}"
    );
}

fn as_loop(cx: &mut ExpandCx<'_, '_, '_>) -> Vec<Value> {
    let (op, dim) = (cx.op, cx.op.attrs().size("dimension").expect("verified"));
    let (inputs, carries) = cx.operands.split_at(input_count(&op).expect("verified"));
    let outputs = op.results().len() - carries.len();
    let shapes: Vec<Vec<usize>> = inputs.iter().map(|&v| cx.b.body.ty(v).shape().to_vec()).collect();
    let count = step_count(&op, &shapes.iter().map(Vec::as_slice).collect::<Vec<_>>(), dim).expect("verified");
    let zeros: Vec<Value> = (0..outputs).map(|i| make::zeros(cx.b, op.result_tensor(i))).collect();
    let start = [zeros, carries.to_vec()].concat();
    if count == 0 {
        return start;
    }
    let (region, cloner) = (op.regions()[0], &mut *cx.cloner);
    expansion::repeat(cx.b, count, start, |b, turn, carried| {
        let at = match op.attrs().flag("is_reverse") {
            true => {
                let last = make::number(b, DType::I64, count as i64 - 1);
                make::subtract(b, last, turn)
            }
            false => turn,
        };
        let starts = |b: &mut Builder<'_>, rank: usize| {
            let zero = make::number(b, DType::I64, 0);
            (0..rank).map(|d| if d == dim { at } else { zero }).collect::<Vec<_>>()
        };
        let mut slices = vec![];
        for (&x, shape) in inputs.iter().zip(&shapes) {
            let (starts, mut sizes) = (starts(b, shape.len()), shape.clone());
            sizes[dim] = 1;
            let slice = make::dynamic_slice(b, x, &starts, &sizes);
            sizes.remove(dim);
            slices.push(make::reshape(b, slice, &sizes));
        }
        let (written, carries) = carried.split_at(outputs);
        let given = slices.iter().chain(carries);
        op.body[region].args.iter().zip(given).for_each(|(&from, &to)| cloner.set(from, to));
        let ops = &op.body[region].ops;
        ops[..ops.len() - 1].iter().for_each(|&inner| {
            cloner.op(inner, b);
        });
        let mut results = cloner.values(op.body.region_results(region));
        for (i, &whole) in written.iter().enumerate() {
            let (starts, mut sizes) = (starts(b, op.result_shape(i).len()), op.result_shape(i).to_vec());
            sizes[dim] = 1;
            let slice = make::reshape(b, results[i], &sizes);
            results[i] = make::dynamic_update_slice(b, whole, slice, &starts);
        }
        results
    })
}

fn slice(x: &Literal, dim: usize, at: usize) -> Literal {
    let (mut start, mut shape) = (vec![0; x.rank()], x.shape().to_vec());
    (start[dim], shape[dim]) = (at, 1);
    let part = eval::gather(&x.to_dense(), &Layout::block(x.shape(), &start, &vec![1; x.rank()]), &shape);
    shape.remove(dim);
    part.reshaped(shape)
}

fn place(out: &mut Literal, part: &Literal, dim: usize, at: usize) {
    let (mut start, mut shape) = (vec![0; out.rank()], out.shape().to_vec());
    (start[dim], shape[dim]) = (at, 1);
    let to = Layout::block(out.shape(), &start, &vec![1; shape.len()]);
    eval::copy(&part.reshaped(&shape[..]), &Layout::whole(&shape), out, &to, &shape);
}

/// The names of the attributes with the numbers of inputs and carries, and of outputs and carries, in this order.
pub(crate) const SEGMENTS: [&str; 2] = ["operandSegmentSizes", "resultSegmentSizes"];

pub(crate) fn segments(inputs: usize, carries: usize) -> Attr {
    Attr::Ints { values: vec![inputs as i64, carries as i64], dtype: shardwise_base::DType::I32 }
}
