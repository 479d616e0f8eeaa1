//! How each op is drawn: its operands, attributes, regions and result types.

use super::{Draft, Fill};
use crate::choose::Chooser;
use shardwise_base::{DType, Loc};
use shardwise_ir::{Attrs, Builder, Func, Module, OpView, TensorType, Value, text};
use shardwise_ops::Opcode::*;
use shardwise_ops::elementwise::TRANSCENDENTAL;
use shardwise_ops::{Effects, OPS, Opcode, Presence, PropagationClass, Semantics, infer_op};
use std::sync::LazyLock;

/// Ops that are drawn in the same way, and the element types that are tried.
pub(super) struct Row {
    pub make: fn(&mut Chooser, Opcode, DType) -> Option<Draft>,
    pub dtypes: &'static [DType],
    pub ops: &'static [Opcode],
}

const FLOATS: &[DType] = &[DType::F32, DType::F32, DType::F64, DType::BF16, DType::F16];
const INTS: &[DType] = &[DType::I32, DType::I8, DType::I16, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];
const COMPLEX: &[DType] = &[DType::C64, DType::C128];
/// Some of the types of numbers, and booleans. There are no integers or floats of less than a byte among them, and no
/// floats of one byte.
const ANY: &[DType] = &[
    DType::F32,
    DType::F32,
    DType::BF16,
    DType::F16,
    DType::F64,
    DType::I32,
    DType::I8,
    DType::I16,
    DType::I64,
    DType::U8,
    DType::U32,
    DType::U64,
    DType::I1,
    DType::C64,
    DType::C128,
];
/// Some of the types that can be ordered and summed.
const REAL: &[DType] =
    &[DType::F32, DType::F32, DType::BF16, DType::F64, DType::I32, DType::I64, DType::U8, DType::I16];
/// Types of many sizes, among them integers smaller than a byte and floats of a byte.
const WITH_SMALL: &[DType] = &[
    DType::F32,
    DType::BF16,
    DType::I32,
    DType::U8,
    DType::I4,
    DType::U4,
    DType::F8E4M3FN,
    DType::F8E5M2,
    DType::F8E4M3B11FNUZ,
    DType::I1,
    DType::C64,
];
const ROOTS: &[DType] = &[DType::F32, DType::F64];
const F32: &[DType] = &[DType::F32];

/// Ops of one operand whose values are approximated by formulas.
const FORMULAS: &[Opcode] = &[
    Cbrt,
    Cosine,
    Exponential,
    ExponentialMinusOne,
    Log,
    LogPlusOne,
    Logistic,
    Rsqrt,
    Sine,
    Sqrt,
    Tan,
    Tanh,
    ChloErf,
    ChloErfc,
    ChloErfInv,
    ChloSinh,
    ChloCosh,
    ChloAsin,
    ChloAcos,
    ChloAtan,
    ChloAsinh,
    ChloAcosh,
    ChloAtanh,
    ChloTan,
    ChloLgamma,
    ChloDigamma,
    ChloBesselI1e,
];
const PLAIN: &[Opcode] =
    &[Abs, Ceil, CountLeadingZeros, Floor, Negate, Not, Popcnt, RoundNearestAfz, RoundNearestEven, Sign, ChloConj];

pub(super) const TABLE: &[Row] = &[
    Row {
        make: unary,
        dtypes: &[DType::F32, DType::F32, DType::BF16, DType::F16, DType::F64, DType::C64],
        ops: FORMULAS,
    },
    Row { make: unary, dtypes: ANY, ops: PLAIN },
    Row { make: unary, dtypes: &[DType::F32, DType::BF16, DType::F64, DType::C64], ops: &[ChloSquare] },
    Row { make: part, dtypes: COMPLEX, ops: &[Real, Imag] },
    Row { make: complex, dtypes: ROOTS, ops: &[Complex] },
    Row { make: test, dtypes: FLOATS, ops: &[IsFinite, ChloIsInf, ChloIsPosInf, ChloIsNegInf] },
    Row { make: binary, dtypes: ANY, ops: &[Add, Subtract, Multiply, Maximum, Minimum, And, Or, Xor] },
    Row { make: divide, dtypes: ANY, ops: &[Divide, Remainder] },
    Row { make: power, dtypes: &[DType::F32, DType::F64, DType::BF16, DType::I32, DType::U8], ops: &[Power] },
    Row { make: binary, dtypes: FLOATS, ops: &[Atan2, ChloNextAfter] },
    Row { make: shift, dtypes: INTS, ops: &[ShiftLeft, ShiftRightArithmetic, ShiftRightLogical] },
    Row { make: binary, dtypes: INTS, ops: &[ChloMulhi] },
    Row { make: special, dtypes: ROOTS, ops: &[ChloPolygamma, ChloZeta] },
    Row { make: compare, dtypes: ANY, ops: &[Compare] },
    Row { make: select, dtypes: WITH_SMALL, ops: &[Select] },
    Row { make: clamp, dtypes: REAL, ops: &[Clamp] },
    Row { make: convert, dtypes: ANY, ops: &[Convert, Convert, Convert] },
    Row { make: bitcast, dtypes: ANY, ops: &[BitcastConvert] },
    Row { make: reduce_precision, dtypes: FLOATS, ops: &[ReducePrecision] },
    Row { make: map, dtypes: REAL, ops: &[Map] },
    Row { make: iota, dtypes: ANY, ops: &[Iota, DynamicIota] },
    Row { make: broadcast, dtypes: WITH_SMALL, ops: &[BroadcastInDim, DynamicBroadcastInDim] },
    Row { make: reshape, dtypes: WITH_SMALL, ops: &[Reshape, DynamicReshape] },
    Row { make: transpose, dtypes: WITH_SMALL, ops: &[Transpose] },
    Row { make: reverse, dtypes: WITH_SMALL, ops: &[Reverse] },
    Row { make: slice, dtypes: WITH_SMALL, ops: &[Slice, RealDynamicSlice] },
    Row { make: dynamic_slice, dtypes: WITH_SMALL, ops: &[DynamicSlice, DynamicUpdateSlice] },
    Row { make: concatenate, dtypes: WITH_SMALL, ops: &[Concatenate] },
    Row { make: pad, dtypes: WITH_SMALL, ops: &[Pad, DynamicPad] },
    Row { make: dot, dtypes: ANY, ops: &[DotGeneral, DotGeneral] },
    Row { make: reduce, dtypes: REAL, ops: &[Reduce, Reduce] },
    Row { make: reduce_window, dtypes: REAL, ops: &[ReduceWindow] },
    Row { make: select_and_scatter, dtypes: &[DType::F32, DType::I32, DType::F64], ops: &[SelectAndScatter] },
    Row { make: gather, dtypes: REAL, ops: &[Gather, Gather, DynamicGather] },
    Row { make: scatter, dtypes: REAL, ops: &[Scatter, Scatter] },
    Row { make: sort, dtypes: REAL, ops: &[Sort] },
    Row { make: top_k, dtypes: &[DType::F32, DType::I32, DType::BF16], ops: &[TopK] },
    Row { make: convolution, dtypes: &[DType::F32, DType::F64], ops: &[Convolution, DynamicConv] },
    Row { make: fft, dtypes: ROOTS, ops: &[Fft] },
    Row { make: cholesky, dtypes: ROOTS, ops: &[Cholesky] },
    Row { make: triangular_solve, dtypes: ROOTS, ops: &[TriangularSolve] },
    Row { make: batch_norm, dtypes: ROOTS, ops: &[BatchNormInference, BatchNormTraining, BatchNormGrad] },
    Row { make: random_bits, dtypes: &[DType::U32, DType::U64, DType::U8], ops: &[RngBitGenerator] },
    Row { make: dimension_size, dtypes: F32, ops: &[GetDimensionSize] },
    Row { make: branch, dtypes: F32, ops: &[If, Case] },
    Row { make: count, dtypes: F32, ops: &[While] },
];

/// The row of elementwise ops that the table does not have.
const OTHERS: &Row = &Row { make: elementwise, dtypes: ANY, ops: &[] };

/// Each op that is drawn, with its row, once for each time that the row lists it. Ops of [`OTHERS`] occur once.
static PLACES: LazyLock<Vec<(Opcode, &Row)>> = LazyLock::new(|| {
    let table: Vec<(Opcode, &Row)> = TABLE.iter().flat_map(|row| row.ops.iter().map(move |&op| (op, row))).collect();
    let is_other = |op: &Opcode| table.iter().all(|(listed, _)| listed != op) && is_elementwise(*op);
    let others = Opcode::ALL.iter().copied().filter(is_other).map(|op| (op, OTHERS));
    table.iter().copied().chain(others).collect()
});

pub(super) fn drawn() -> impl Iterator<Item = Opcode> {
    PLACES.iter().map(|(op, _)| *op)
}

pub(super) fn draw(choose: &mut Chooser) -> (Opcode, &'static Row) {
    *choose.of(&PLACES)
}

/// Calls `f` with the first op of kind `op` in the op table's example of `op`, and returns the result. Panics if the
/// example cannot be read or has no such op.
fn in_example<T>(op: Opcode, f: impl Fn(&OpView<'_>) -> T) -> T {
    let module = text::parse(op.name(), op.facts().example(op), &OPS).expect("examples are well-formed");
    let body = &module.main().expect("examples have a main function").body;
    let views = body.walk().into_iter().map(|o| module.view(body, o));
    f(&views.into_iter().find(|view| Opcode::of_view(view) == op).expect("an example holds its op"))
}

/// Returns true if the op in the op table's example has operands, computes each element of its only result from their
/// elements at the same position, has no side effects, and needs no attribute and no quantized type.
pub fn is_elementwise(op: Opcode) -> bool {
    op.schema().attributes.iter().all(|attr| attr.presence != Presence::Required)
        && in_example(op, |view| {
            let facts = op.facts();
            let is_pure = facts.semantics(view) == Semantics::Pure && facts.effects(view) == Effects::Pure;
            let is_pointwise = facts.propagation_class(view) == PropagationClass::Elementwise;
            let is_plain = |v: &Value| view.body.ty(*v).as_tensor().is_some_and(|t| t.dtype.quantized().is_none());
            is_pure
                && is_pointwise
                && view.results().len() == 1
                && !view.operands().is_empty()
                && view.operands().iter().chain(view.results()).all(is_plain)
        })
}

fn is_transcendental(op: Opcode) -> bool {
    is_elementwise(op)
        && in_example(op, |view| op.facts().cost(view).flops >= TRANSCENDENTAL * view.result_tensor(0).size() as f64)
}

/// Returns true for the elementwise ops for which other libraries may compute slightly different values, for some type:
/// those that are approximated by formulas, and a few others, such as products of complex numbers.
pub(super) fn is_formula(op: Opcode) -> bool {
    is_transcendental(op)
        || matches!(op, Power | Atan2 | ChloPolygamma | ChloZeta | Divide | ChloSquare | Abs | Sign | Multiply)
}

// ── words

fn draft(op: Opcode, operands: Vec<(TensorType, Fill)>, attrs: String, results: Vec<TensorType>) -> Option<Draft> {
    Some(Draft { op, operands, attrs, regions: vec![], results })
}

fn tensor(dtype: DType, shape: &[usize]) -> TensorType {
    TensorType::new(dtype, shape)
}

fn ints<T: ToString>(values: &[T]) -> String {
    let list: Vec<String> = values.iter().map(T::to_string).collect();
    if list.is_empty() { "array<i64>".into() } else { format!("array<i64: {}>", list.join(", ")) }
}

fn pairs(values: &[(i64, i64)]) -> String {
    let list: Vec<String> = values.iter().map(|(a, b)| format!("[{a}, {b}]")).collect();
    match values.len() {
        0 => "dense<> : tensor<0x2xi64>".into(),
        n => format!("dense<[{}]> : tensor<{n}x2xi64>", list.join(", ")),
    }
}

fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

fn size(choose: &mut Chooser) -> usize {
    if choose.one_in(20) { 0 } else { *choose.of(&[1, 2, 3, 4, 5, 7]) }
}

fn shape(choose: &mut Chooser, least: usize, most: usize) -> Vec<usize> {
    let rank = choose.between(least as i64, most as i64);
    (0..rank).map(|_| size(choose)).collect()
}

fn subset(choose: &mut Chooser, rank: usize) -> Vec<usize> {
    (0..rank).filter(|_| choose.one_in(2)).collect()
}

fn permutation(choose: &mut Chooser, rank: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    choose.shuffle(&mut order);
    order
}

fn exact(values: &[usize]) -> (TensorType, Fill) {
    exact_ints(&values.iter().map(|&v| v as i64).collect::<Vec<_>>())
}

fn exact_ints(values: &[i64]) -> (TensorType, Fill) {
    (tensor(DType::I64, &[values.len()]), Fill::Exact(values.to_vec()))
}

fn reducer(choose: &mut Chooser, dtype: DType) -> &'static str {
    match dtype.is_bool() {
        true => choose.of::<&str>(&["or", "and"]),
        false => choose.of::<&str>(&["add", "add", "maximum", "minimum"]),
    }
}

fn combine(name: &str, dtype: DType) -> String {
    let t = format!("tensor<{dtype}>");
    format!(
        "{{\n  ^bb0(%a: {t}, %b: {t}):\n    %c = stablehlo.{name} %a, %b : {t}\n    stablehlo.return %c : {t}\n  }}"
    )
}

/// Returns the region of a comparator with a pair of arguments for each of these types. It compares only the first
/// pair.
fn comparator(direction: &str, dtypes: &[DType]) -> String {
    let args: Vec<String> =
        dtypes.iter().enumerate().map(|(i, d)| format!("%a{i}: tensor<{d}>, %b{i}: tensor<{d}>")).collect();
    let t = format!("tensor<{}>", dtypes[0]);
    format!(
        "{{\n  ^bb0({}):\n    %c = stablehlo.compare {direction}, %a0, %b0 : ({t}, {t}) -> tensor<i1>\n    \
         stablehlo.return %c : tensor<i1>\n  }}",
        args.join(", ")
    )
}

// ── elementwise

fn unary(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let result = if op == Abs { dtype.real() } else { dtype };
    let fill = match op {
        ChloLgamma | ChloDigamma => Fill::Between(1, 20),
        ChloBesselI1e => Fill::Between(-20, 20),
        // Complex numbers only where no formula overflows. Libraries differ elsewhere.
        _ if dtype.is_complex() && is_formula(op) => Fill::Between(-4, 4),
        Sine | Cosine | Tan | ChloTan => Fill::Between(-100, 100),
        _ => Fill::Any,
    };
    draft(op, vec![(t.clone(), fill)], String::new(), vec![tensor(result, &t.shape)])
}

/// Draws operands of one type. The result has the type that the op infers. Returns `None` if the op refuses the
/// operands.
fn elementwise(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let count = in_example(op, |view| view.operands().len());
    let mut func = Func::new("main", Loc::UNKNOWN);
    let mut b = Builder::new(&mut func.body);
    let args: Vec<Value> = (0..count).map(|_| b.arg(t.clone().into())).collect();
    let made = b.op(op, args, Attrs::new(), [t.clone().into()]);
    let types = infer_op(&OpView::new(&Module::new("single", &OPS), &func.body, made)).ok()?;
    let fill = if dtype.is_complex() { Fill::Between(-4, 4) } else { Fill::Any };
    draft(op, vec![(t, fill); count], String::new(), vec![types.first()?.as_tensor()?.clone()])
}

fn part(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let to = tensor(dtype.real(), &t.shape);
    draft(op, vec![(t, Fill::Any)], String::new(), vec![to])
}

fn complex(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let to = if dtype == DType::F32 { DType::C64 } else { DType::C128 };
    draft(op, vec![(t.clone(), Fill::Any), (t.clone(), Fill::Any)], String::new(), vec![tensor(to, &t.shape)])
}

fn test(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let to = tensor(DType::I1, &t.shape);
    draft(op, vec![(t, Fill::Any)], String::new(), vec![to])
}

fn pointwise(op: Opcode, t: &TensorType, fills: [Fill; 2]) -> Option<Draft> {
    draft(op, fills.map(|f| (t.clone(), f)).to_vec(), String::new(), vec![t.clone()])
}

fn binary(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let fill = if dtype.is_complex() { Fill::Between(-8, 8) } else { Fill::Any };
    pointwise(op, &t, [fill.clone(), fill])
}

/// Draws divisors that are not 0 for all types but floats, since other results are unspecified. Always returns `Some`.
fn divide(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let fills = match (dtype.is_float(), dtype.is_complex()) {
        (true, _) => [Fill::Any, Fill::Any],
        (_, true) => [Fill::Between(-8, 8), Fill::NonZero],
        _ => [Fill::Ints(-100, 100), Fill::NonZero],
    };
    pointwise(op, &t, fills)
}

fn power(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let of_floats =
        [[Fill::Between(0, 16), Fill::Between(-4, 4)], [Fill::Small, Fill::Small], [Fill::Any, Fill::Small]];
    let fills = if dtype.is_float() { choose.of(&of_floats).clone() } else { [Fill::Small, Fill::Ints(0, 5)] };
    pointwise(op, &t, fills)
}

fn shift(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    pointwise(op, &t, [Fill::Any, Fill::Ints(0, dtype.bits() as i64 + 1)])
}

fn special(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 2));
    let fills =
        if op == ChloZeta { [Fill::Ints(2, 6), Fill::Between(1, 8)] } else { [Fill::Ints(0, 4), Fill::Between(1, 8)] };
    pointwise(op, &t, fills)
}

fn compare(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let direction = match dtype.is_complex() {
        true => *choose.of(&["EQ", "NE"]),
        false => *choose.of(&["EQ", "NE", "GE", "GT", "LE", "LT"]),
    };
    let kind = match dtype {
        _ if dtype.is_float() && choose.one_in(3) => "TOTALORDER",
        _ if dtype.is_float() || dtype.is_complex() => "FLOAT",
        _ if dtype.is_signed() => "SIGNED",
        _ => "UNSIGNED",
    };
    let attrs = format!(
        "comparison_direction = #stablehlo<comparison_direction {direction}>, \
         compare_type = #stablehlo<comparison_type {kind}>"
    );
    let fill = if choose.one_in(2) { Fill::Any } else { Fill::Small };
    let to = tensor(DType::I1, &t.shape);
    draft(op, vec![(t.clone(), fill.clone()), (t, fill)], attrs, vec![to])
}

fn select(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let pred = if choose.one_in(3) { vec![] } else { t.shape.clone() };
    let operands = vec![(tensor(DType::I1, &pred), Fill::Any), (t.clone(), Fill::Any), (t.clone(), Fill::Any)];
    draft(op, operands, String::new(), vec![t])
}

fn clamp(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let end = if choose.one_in(2) { tensor(dtype, &[]) } else { t.clone() };
    let operands = vec![(end.clone(), Fill::Ints(-3, 0)), (t.clone(), Fill::Any), (end, Fill::Ints(0, 3))];
    draft(op, operands, String::new(), vec![t])
}

fn convert(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let to = *choose.of(ANY);
    let t = tensor(dtype, &shape(choose, 0, 3));
    let is_cut = (dtype.is_float() || dtype.is_complex()) && to.is_integer();
    let low = if to.is_signed() { -100 } else { 0 };
    let fill = if is_cut { Fill::Between(low, 100) } else { Fill::Any };
    draft(op, vec![(t.clone(), fill)], String::new(), vec![tensor(to, &t.shape)])
}

fn bitcast(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let to = *choose.of(ANY);
    let mut from_shape = shape(choose, 0, 2);
    let mut to_shape = from_shape.clone();
    if to.bits() < dtype.bits() {
        to_shape.push(dtype.bits() / to.bits());
    } else if dtype.bits() < to.bits() {
        from_shape.push(to.bits() / dtype.bits());
    }
    draft(op, vec![(tensor(dtype, &from_shape), Fill::Any)], String::new(), vec![tensor(to, &to_shape)])
}

fn reduce_precision(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let (exponent, mantissa) = (choose.between(2, 8), choose.between(1, 10));
    let attrs = format!("exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32");
    draft(op, vec![(t.clone(), Fill::Any)], attrs, vec![t])
}

fn map(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 1, 3));
    let dims: Vec<usize> = (0..t.rank()).collect();
    let mut made = draft(
        op,
        vec![(t.clone(), Fill::Small), (t.clone(), Fill::Small)],
        format!("dimensions = {}", ints(&dims)),
        vec![t],
    )?;
    made.regions = vec![combine(choose.of::<&str>(&["subtract", "multiply", "maximum"]), dtype)];
    Some(made)
}

// ── shapes and movement

fn iota(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 1, 3));
    let operands = if op == DynamicIota { vec![exact(&t.shape)] } else { vec![] };
    let attrs = format!("iota_dimension = {} : i64", choose.below(t.rank()));
    draft(op, operands, attrs, vec![t])
}

fn broadcast(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let to = shape(choose, 0, 4);
    let mut dims = subset(choose, to.len());
    choose.shuffle(&mut dims);
    let from: Vec<usize> = dims.iter().map(|&d| if choose.one_in(3) { 1 } else { to[d] }).collect();
    let mut operands = vec![(tensor(dtype, &from), Fill::Any)];
    if op == DynamicBroadcastInDim {
        operands.push(exact(&to));
    }
    draft(op, operands, format!("broadcast_dimensions = {}", ints(&dims)), vec![tensor(dtype, &to)])
}

fn reshape(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, 0, 3);
    let mut rest: usize = from.iter().product();
    let mut to = vec![];
    for _ in 0..choose.below(4) {
        let divisors: Vec<usize> = (1..=rest).filter(|d| rest.is_multiple_of(*d)).collect();
        let n = if divisors.is_empty() { size(choose) } else { *choose.of(&divisors) };
        to.push(n);
        rest /= n.max(1);
    }
    to.push(rest);
    let mut operands = vec![(tensor(dtype, &from), Fill::Any)];
    if op == DynamicReshape {
        operands.push(exact(&to));
    }
    draft(op, operands, String::new(), vec![tensor(dtype, &to)])
}

fn transpose(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, 0, 4);
    let order = permutation(choose, from.len());
    let to: Vec<usize> = order.iter().map(|&d| from[d]).collect();
    let attrs = format!("permutation = {}", ints(&order));
    draft(op, vec![(tensor(dtype, &from), Fill::Any)], attrs, vec![tensor(dtype, &to)])
}

fn reverse(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 3));
    let attrs = format!("dimensions = {}", ints(&subset(choose, t.rank())));
    draft(op, vec![(t.clone(), Fill::Any)], attrs, vec![t])
}

fn slice(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, if op == Slice { 0 } else { 1 }, 3);
    let start: Vec<usize> = from.iter().map(|&n| choose.below(n + 1)).collect();
    let limit: Vec<usize> = from.iter().zip(&start).map(|(&n, &s)| s + choose.below(n - s + 1)).collect();
    let strides: Vec<usize> = from.iter().map(|_| 1 + choose.below(3)).collect();
    let to: Vec<usize> = (0..from.len()).map(|d| (limit[d] - start[d]).div_ceil(strides[d])).collect();
    let operand = (tensor(dtype, &from), Fill::Any);
    if op == RealDynamicSlice {
        let operands = vec![operand, exact(&start), exact(&limit), exact(&strides)];
        return draft(op, operands, String::new(), vec![tensor(dtype, &to)]);
    }
    let attrs =
        format!("start_indices = {}, limit_indices = {}, strides = {}", ints(&start), ints(&limit), ints(&strides));
    draft(op, vec![operand], attrs, vec![tensor(dtype, &to)])
}

fn dynamic_slice(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, 0, 3);
    let sizes: Vec<usize> = from.iter().map(|&n| choose.below(n + 1)).collect();
    let index = tensor(*choose.of(&[DType::I32, DType::I64, DType::U32, DType::I8]), &[]);
    let starts = from.iter().map(|&n| (index.clone(), Fill::Ints(-2, n as i64 + 1)));
    let mut operands = vec![(tensor(dtype, &from), Fill::Any)];
    if op == DynamicUpdateSlice {
        operands.push((tensor(dtype, &sizes), Fill::Any));
        operands.extend(starts);
        return draft(op, operands, String::new(), vec![tensor(dtype, &from)]);
    }
    operands.extend(starts);
    draft(op, operands, format!("slice_sizes = {}", ints(&sizes)), vec![tensor(dtype, &sizes)])
}

fn concatenate(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let mut to = shape(choose, 1, 3);
    let dim = choose.below(to.len());
    let parts: Vec<usize> = (0..1 + choose.below(4)).map(|_| size(choose)).collect();
    let mut part = |n: usize| {
        to[dim] = n;
        (tensor(dtype, &to), Fill::Any)
    };
    let operands = parts.iter().map(|&n| part(n)).collect();
    let whole = part(parts.iter().sum()).0;
    draft(op, operands, format!("dimension = {dim} : i64"), vec![whole])
}

fn pad(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, if op == Pad { 0 } else { 1 }, 3);
    let interior: Vec<i64> = from.iter().map(|_| choose.between(0, 2)).collect();
    let low: Vec<i64> = from.iter().map(|_| choose.between(-1, 2)).collect();
    let high: Vec<i64> = from.iter().map(|_| choose.between(-1, 2)).collect();
    let padded = |d: usize| from[d] as i64 + (from[d] as i64 - 1).max(0) * interior[d] + low[d] + high[d];
    let to = (0..from.len()).map(|d| usize::try_from(padded(d)).ok()).collect::<Option<Vec<usize>>>()?;
    let mut operands = vec![(tensor(dtype, &from), Fill::Any), (tensor(dtype, &[]), Fill::Any)];
    if op == DynamicPad {
        operands.extend([&low, &high, &interior].map(|v| exact_ints(v)));
        return draft(op, operands, String::new(), vec![tensor(dtype, &to)]);
    }
    let attrs = format!(
        "edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}",
        ints(&low),
        ints(&high),
        ints(&interior)
    );
    draft(op, operands, attrs, vec![tensor(dtype, &to)])
}

// ── contractions, reductions, windows

/// Draws small integers, so that sums are exact, and the dimensions of both sides in any order. Always returns `Some`.
fn dot(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let (batch, contract) = (shape(choose, 0, 1), shape(choose, 0, 2));
    let mut side = |free: &[usize]| {
        let all = [&batch[..], &contract, free].concat();
        let order = permutation(choose, all.len());
        let place = |i: usize| order.iter().position(|&d| d == i).expect("a permutation");
        let dims: Vec<usize> = order.iter().map(|&d| all[d]).collect();
        let (b, c) = (batch.len(), contract.len());
        let free_sizes: Vec<usize> = order.iter().filter(|&&d| d >= b + c).map(|&d| all[d]).collect();
        (dims, (0..b).map(place).collect::<Vec<_>>(), (b..b + c).map(place).collect::<Vec<_>>(), free_sizes)
    };
    let (left, right) = (vec![3], vec![2, 4]);
    let (x, xb, xc, xf) = side(&left);
    let (y, yb, yc, yf) = side(&right);
    let attrs = format!(
        "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{}], rhs_batching_dimensions = [{}], \
         lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}]>",
        list(&xb),
        list(&yb),
        list(&xc),
        list(&yc)
    );
    let result = tensor(dtype, &[batch.clone(), xf, yf].concat());
    draft(op, vec![(tensor(dtype, &x), Fill::Small), (tensor(dtype, &y), Fill::Small)], attrs, vec![result])
}

fn reduce(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, 0, 3);
    let dims = subset(choose, from.len());
    let to: Vec<usize> = (0..from.len()).filter(|d| !dims.contains(d)).map(|d| from[d]).collect();
    let operands = vec![(tensor(dtype, &from), Fill::Small), (tensor(dtype, &[]), Fill::Small)];
    let mut made = draft(op, operands, format!("dimensions = {}", ints(&dims)), vec![tensor(dtype, &to)])?;
    made.regions = vec![combine(reducer(choose, dtype), dtype)];
    Some(made)
}

/// A window along each dimension.
struct Windows {
    sizes: Vec<usize>,
    strides: Vec<usize>,
    base: Vec<usize>,
    dilation: Vec<usize>,
    padding: Vec<(i64, i64)>,
}

impl Windows {
    fn draw(choose: &mut Chooser, rank: usize, most_dilation: usize) -> Windows {
        let mut some = |most: usize| (0..rank).map(|_| 1 + choose.below(most)).collect::<Vec<usize>>();
        let (sizes, strides, base, dilation) = (some(3), some(2), some(most_dilation), some(most_dilation));
        let padding = (0..rank).map(|_| (choose.between(0, 2), choose.between(-1, 2))).collect();
        Windows { sizes, strides, base, dilation, padding }
    }

    /// Returns the number of positions of the window along dimension `d` of `n` elements, or `None` if the padding
    /// removes more elements than there are.
    fn places(&self, d: usize, n: usize) -> Option<usize> {
        let dilated = if n == 0 { 0 } else { (n - 1) * self.base[d] + 1 };
        let padded = usize::try_from(dilated as i64 + self.padding[d].0 + self.padding[d].1).ok()?;
        let window = (self.sizes[d] - 1) * self.dilation[d] + 1;
        Some(if padded < window { 0 } else { (padded - window) / self.strides[d] + 1 })
    }
}

fn reduce_window(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, 0, 3);
    let w = Windows::draw(choose, from.len(), 2);
    let to = from.iter().enumerate().map(|(d, &n)| w.places(d, n)).collect::<Option<Vec<usize>>>()?;
    let attrs = format!(
        "window_dimensions = {}, window_strides = {}, base_dilations = {}, window_dilations = {}, padding = {}",
        ints(&w.sizes),
        ints(&w.strides),
        ints(&w.base),
        ints(&w.dilation),
        pairs(&w.padding)
    );
    let operands = vec![(tensor(dtype, &from), Fill::Small), (tensor(dtype, &[]), Fill::Small)];
    let mut made = draft(op, operands, attrs, vec![tensor(dtype, &to)])?;
    made.regions = vec![combine(reducer(choose, dtype), dtype)];
    Some(made)
}

fn select_and_scatter(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, 1, 3);
    let mut w = Windows::draw(choose, from.len(), 1);
    // A window that contains only padding selects nothing.
    w.padding = w.sizes.iter().map(|&n| (choose.between(0, n as i64 - 1), choose.between(0, n as i64 - 1))).collect();
    let source = from.iter().enumerate().map(|(d, &n)| w.places(d, n)).collect::<Option<Vec<usize>>>()?;
    let attrs = format!(
        "window_dimensions = {}, window_strides = {}, padding = {}",
        ints(&w.sizes),
        ints(&w.strides),
        pairs(&w.padding)
    );
    let t = tensor(dtype, &from);
    let operands = vec![
        (t.clone(), Fill::Ints(-50, 50)),
        (tensor(dtype, &source), Fill::Small),
        (tensor(dtype, &[]), Fill::Small),
    ];
    let mut made = draft(op, operands, attrs, vec![t])?;
    made.regions = vec![comparator(choose.of::<&str>(&["GE", "LE"]), &[dtype]), combine("add", dtype)];
    Some(made)
}

fn convolution(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let rank = choose.below(3);
    let w = Windows::draw(choose, rank, 2);
    let (feature_groups, batch_groups) = *choose.of(&[(1, 1), (1, 1), (2, 1), (1, 2)]);
    let batch = batch_groups * choose.below(3);
    let (inner, outer) = (1 + choose.below(3), feature_groups * batch_groups * (1 + choose.below(2)));
    let input: Vec<usize> = (0..rank).map(|_| 1 + choose.below(6)).collect();
    let output = (0..rank).map(|d| w.places(d, input[d])).collect::<Option<Vec<usize>>>()?;
    let named = |names: [&str; 2], sizes: [usize; 2], spatial: &[usize]| -> Vec<(String, usize)> {
        let own = names.into_iter().map(String::from).zip(sizes);
        own.chain(spatial.iter().enumerate().map(|(i, &n)| (i.to_string(), n))).collect()
    };
    let mut sides = [
        named(["b", "f"], [batch, inner * feature_groups], &input),
        named(["i", "o"], [inner, outer], &w.sizes),
        named(["b", "f"], [batch / batch_groups, outer], &output),
    ];
    sides.iter_mut().for_each(|side| choose.shuffle(side));
    let [lhs, rhs, out] = sides;
    let names = |side: &[(String, usize)]| list(&side.iter().map(|s| s.0.clone()).collect::<Vec<_>>());
    let sizes = |side: &[(String, usize)]| tensor(dtype, &side.iter().map(|s| s.1).collect::<Vec<_>>());
    let reversal: Vec<String> = (0..rank).map(|_| choose.one_in(4).to_string()).collect();
    let reversal = if rank == 0 { "array<i1>".to_string() } else { format!("array<i1: {}>", reversal.join(", ")) };
    let mut attrs = format!(
        "dimension_numbers = #stablehlo.conv<[{}]x[{}]->[{}]>, window_strides = {}, lhs_dilation = {}, \
         rhs_dilation = {}, window_reversal = {reversal}, feature_group_count = {feature_groups} : i64, \
         batch_group_count = {batch_groups} : i64",
        names(&lhs),
        names(&rhs),
        names(&out),
        ints(&w.strides),
        ints(&w.base),
        ints(&w.dilation)
    );
    let mut operands = vec![(sizes(&lhs), Fill::Small), (sizes(&rhs), Fill::Small)];
    if op == DynamicConv {
        let padding: Vec<i64> = w.padding.iter().flat_map(|&(a, b)| [a, b]).collect();
        operands.push((tensor(DType::I64, &[rank, 2]), Fill::Exact(padding)));
    } else {
        attrs = format!("{attrs}, padding = {}", pairs(&w.padding));
    }
    draft(op, operands, attrs, vec![sizes(&out)])
}

// ── indices

/// The relation between indices, windows and the operand, for gather and scatter.
struct Indexing {
    operand: Vec<usize>,
    indices: Vec<usize>,
    slices: Vec<usize>,
    window: Vec<usize>,
    sizes: Vec<usize>,
    collapsed: Vec<usize>,
    batching: Vec<usize>,
    indices_batching: Vec<usize>,
    index_map: Vec<usize>,
    vector_dim: usize,
}

impl Indexing {
    fn draw(choose: &mut Chooser) -> Indexing {
        let rank = 1 + choose.below(3);
        let operand: Vec<usize> = (0..rank).map(|_| 1 + choose.below(5)).collect();
        let mut batch = (0..choose.below(3)).map(|_| size(choose)).collect::<Vec<usize>>();
        let (mut batching, mut indices_batching) = (vec![], vec![]);
        if choose.one_in(3) && !batch.is_empty() && rank > 1 {
            let (d, place) = (choose.below(rank), choose.below(batch.len()));
            batch[place] = operand[d];
            (batching, indices_batching) = (vec![d], vec![place]);
        }
        let mut index_map: Vec<usize> = subset(choose, rank).into_iter().filter(|d| !batching.contains(d)).collect();
        choose.shuffle(&mut index_map);
        let collapsed: Vec<usize> = subset(choose, rank).into_iter().filter(|d| !batching.contains(d)).collect();
        let is_one = |d: usize| batching.contains(&d) || collapsed.contains(&d);
        let sizes: Vec<usize> = (0..rank).map(|d| if is_one(d) { 1 } else { 1 + choose.below(operand[d]) }).collect();
        let windows: Vec<usize> = (0..rank).filter(|&d| !is_one(d)).map(|d| sizes[d]).collect();
        let vector_dim = choose.below(batch.len() + 1);
        let mut places = permutation(choose, batch.len() + windows.len());
        let mut window = places.split_off(batch.len());
        window.sort_unstable();
        let (mut rest, mut inside) = (batch.iter().copied(), windows.iter().copied());
        let slices = (0..batch.len() + windows.len())
            .map(|d| if window.contains(&d) { inside.next() } else { rest.next() }.expect("as many as places"))
            .collect();
        let mut indices = batch;
        indices.insert(vector_dim, index_map.len());
        // Batching dimensions of the indices are counted with the index vector's dimension.
        let indices_batching = indices_batching.into_iter().map(|p| if p >= vector_dim { p + 1 } else { p }).collect();
        Indexing {
            operand,
            indices,
            slices,
            window,
            sizes,
            collapsed,
            batching,
            indices_batching,
            index_map,
            vector_dim,
        }
    }

    fn indices(&self, choose: &mut Chooser) -> (TensorType, Fill) {
        let dtype = *choose.of(&[DType::I32, DType::I64, DType::U8]);
        (tensor(dtype, &self.indices), Fill::Ints(-2, 5))
    }
}

fn gather(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let d = Indexing::draw(choose);
    let mut attrs = format!(
        "dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{}], \
         operand_batching_dims = [{}], start_indices_batching_dims = [{}], start_index_map = [{}], \
         index_vector_dim = {}>, indices_are_sorted = false",
        list(&d.window),
        list(&d.collapsed),
        list(&d.batching),
        list(&d.indices_batching),
        list(&d.index_map),
        d.vector_dim
    );
    let mut operands = vec![(tensor(dtype, &d.operand), Fill::Any), d.indices(choose)];
    if op == DynamicGather {
        operands.push(exact(&d.sizes));
    } else {
        attrs = format!("{attrs}, slice_sizes = {}", ints(&d.sizes));
    }
    draft(op, operands, attrs, vec![tensor(dtype, &d.slices)])
}

fn scatter(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let d = Indexing::draw(choose);
    let attrs = format!(
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{}], \
         input_batching_dims = [{}], scatter_indices_batching_dims = [{}], scatter_dims_to_operand_dims = [{}], \
         index_vector_dim = {}>, indices_are_sorted = false, unique_indices = false",
        list(&d.window),
        list(&d.collapsed),
        list(&d.batching),
        list(&d.indices_batching),
        list(&d.index_map),
        d.vector_dim
    );
    let t = tensor(dtype, &d.operand);
    let operands = vec![(t.clone(), Fill::Small), d.indices(choose), (tensor(dtype, &d.slices), Fill::Small)];
    let mut made = draft(op, operands, attrs, vec![t])?;
    made.regions = vec![combine(reducer(choose, dtype), dtype)];
    Some(made)
}

fn sort(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 1, 3));
    let other = tensor(*choose.of(&[DType::I32, DType::F32]), &t.shape);
    let all = if choose.one_in(2) { vec![t] } else { vec![t, other] };
    let attrs = format!("dimension = {} : i64, is_stable = true", choose.below(all[0].rank()));
    let dtypes: Vec<DType> = all.iter().map(|t| t.dtype).collect();
    let mut made = draft(op, all.iter().map(|t| (t.clone(), Fill::Small)).collect(), attrs, all)?;
    made.regions = vec![comparator(choose.of::<&str>(&["LT", "GT"]), &dtypes)];
    Some(made)
}

fn top_k(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let from = shape(choose, 1, 3);
    let mut to = from.clone();
    let k = choose.below(from[from.len() - 1] + 1);
    *to.last_mut()? = k;
    let attrs = format!("k = {k} : i64");
    draft(op, vec![(tensor(dtype, &from), Fill::Small)], attrs, vec![tensor(dtype, &to), tensor(DType::I32, &to)])
}

// ── linear algebra and the rest

fn fft(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let complex = if dtype == DType::F32 { DType::C64 } else { DType::C128 };
    let outer = shape(choose, 0, 1);
    let lengths: Vec<usize> = (0..1 + choose.below(3)).map(|_| *choose.of(&[1, 2, 3, 4, 5, 8])).collect();
    let whole = [&outer[..], &lengths].concat();
    let mut half = whole.clone();
    *half.last_mut()? = whole.last()? / 2 + 1;
    let kind = *choose.of(&["FFT", "IFFT", "RFFT", "IRFFT"]);
    let (from, to) = match kind {
        "RFFT" => (tensor(dtype, &whole), tensor(complex, &half)),
        "IRFFT" => (tensor(complex, &half), tensor(dtype, &whole)),
        _ => (tensor(complex, &whole), tensor(complex, &whole)),
    };
    let attrs = format!("fft_type = #stablehlo<fft_type {kind}>, fft_length = {}", ints(&lengths));
    draft(op, vec![(from, Fill::Small)], attrs, vec![to])
}

fn cholesky(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let n = 1 + choose.below(4);
    let t = tensor(dtype, &[shape(choose, 0, 1), vec![n, n]].concat());
    draft(op, vec![(t.clone(), Fill::Gram)], format!("lower = {}", choose.one_in(2)), vec![t])
}

fn triangular_solve(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let (n, columns, batch) = (1 + choose.below(4), 1 + choose.below(3), shape(choose, 0, 1));
    let is_left = choose.one_in(2);
    let right = if is_left { [n, columns] } else { [columns, n] };
    let (a, b) = (tensor(dtype, &[&batch[..], &[n, n]].concat()), tensor(dtype, &[&batch[..], &right].concat()));
    let attrs = format!(
        "left_side = {is_left}, lower = {}, unit_diagonal = {}, transpose_a = #stablehlo<transpose {}>",
        choose.one_in(2),
        choose.one_in(3),
        *choose.of(&["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    );
    draft(op, vec![(a, Fill::Solvable), (b.clone(), Fill::Small)], attrs, vec![b])
}

fn batch_norm(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let x: Vec<usize> = (0..1 + choose.below(3)).map(|_| 1 + choose.below(4)).collect();
    let feature = choose.below(x.len());
    let (t, of_feature) = (tensor(dtype, &x), tensor(dtype, &[x[feature]]));
    let fill = |i: usize| if i == 3 { Fill::Between(1, 3) } else { Fill::Small };
    let mut operands: Vec<(TensorType, Fill)> = vec![(t.clone(), Fill::Small)];
    let count = if op == BatchNormTraining { 3 } else { 5 };
    let variance = if op == BatchNormGrad { 3 } else { 4 };
    for i in 1..count {
        operands.push((of_feature.clone(), fill(if i == variance { 3 } else { 0 })));
    }
    if op == BatchNormGrad {
        operands[4] = (t.clone(), Fill::Small);
    }
    let results = if op == BatchNormInference { vec![t] } else { vec![t, of_feature.clone(), of_feature] };
    draft(op, operands, format!("epsilon = 1.0e-03 : f32, feature_index = {feature} : i64"), results)
}

fn random_bits(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let (kind, state) = *choose.of(&[("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3)]);
    let state = tensor(DType::U64, &[state]);
    let bits = tensor(dtype, &shape(choose, 0, 3));
    let attrs = format!("rng_algorithm = #stablehlo<rng_algorithm {kind}>");
    draft(op, vec![(state.clone(), Fill::Any)], attrs, vec![state, bits])
}

fn dimension_size(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 1, 3));
    let attrs = format!("dimension = {} : i64", choose.below(t.rank()));
    draft(op, vec![(t, Fill::Any)], attrs, vec![tensor(DType::I32, &[])])
}

fn branch(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 2));
    let count = if op == If { 2 } else { 1 + choose.below(3) };
    let index =
        if op == If { (tensor(DType::I1, &[]), Fill::Any) } else { (tensor(DType::I32, &[]), Fill::Ints(-1, 4)) };
    // The values of the branches are constants of their own.
    let region =
        |i: usize| format!("{{\n    %b = stablehlo.constant dense<{i}.5> : {t}\n    stablehlo.return %b : {t}\n  }}");
    let mut made = draft(op, vec![index], String::new(), vec![t.clone()])?;
    made.regions = (0..count).map(region).collect();
    Some(made)
}

/// Draws a loop that doubles a value until a count is reached. Always returns `Some`.
fn count(choose: &mut Chooser, op: Opcode, dtype: DType) -> Option<Draft> {
    let t = tensor(dtype, &shape(choose, 0, 2));
    let limit = choose.below(6);
    let i = tensor(DType::I32, &[]);
    let mut made = draft(
        op,
        vec![(i.clone(), Fill::Ints(0, 3)), (t.clone(), Fill::Small)],
        String::new(),
        vec![i.clone(), t.clone()],
    )?;
    let args = format!("^bb0(%i: {i}, %x: {t}):");
    made.regions = vec![
        format!(
            "{{\n  {args}\n    %n = stablehlo.constant dense<{limit}> : {i}\n    \
             %c = stablehlo.compare LT, %i, %n : ({i}, {i}) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }}"
        ),
        format!(
            "{{\n  {args}\n    %one = stablehlo.constant dense<1> : {i}\n    %j = stablehlo.add %i, %one : {i}\n    \
             %y = stablehlo.add %x, %x : {t}\n    stablehlo.return %j, %y : {i}, {t}\n  }}"
        ),
    ];
    Some(made)
}
