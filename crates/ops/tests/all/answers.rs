//! Known answers of the reference evaluation.

use crate::harness::*;
use expect_test::{Expect, expect};
use shardwise_base::{Bool8, Complex32, DType, Element, Literal, bf16, f16};
use shardwise_ir::{Attr, Attrs, Builder, TensorType, Type, Value};
use shardwise_ops::dot::DotDims;
use shardwise_ops::{Opcode, ReduceKind, make};

fn eval(args: &[Literal], build: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value) -> Literal {
    let types: Vec<TensorType> = args.iter().map(|a| TensorType::new(a.dtype(), a.shape())).collect();
    let m = module(&types, |b, x| vec![build(b, x)]);
    run(&m, args).remove(0)
}

fn check(args: &[Literal], build: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value, expected: Expect) {
    expected.assert_eq(&format!("{:?}", eval(args, build)));
}

fn list<T: Element>(x: &[T]) -> Literal {
    Literal::new([x.len()], x)
}

fn unary(opcode: Opcode, x: Literal, expected: Expect) {
    check(&[x], |b, x| make::unary(b, opcode, x[0]), expected);
}

fn binary<T: Element>(opcode: Opcode, x: &[T], y: &[T], expected: Expect) {
    check(&[list(x), list(y)], |b, x| make::binary(b, opcode, x[0], x[1]), expected);
}

#[test]
fn integers_wrap_and_never_trap() {
    let (a, b) = ([7i8, -128, -128, 5, -7], [0i8, -1, 1, -2, 2]);
    binary(Opcode::Divide, &a, &b, expect!["i8[5][-1.0, -128.0, -128.0, -2.0, -3.0]"]);
    binary(Opcode::Remainder, &a, &b, expect!["i8[5][7.0, 0.0, 0.0, 1.0, -1.0]"]);
    binary(Opcode::Subtract, &a, &b, expect!["i8[5][7.0, -127.0, 127.0, 7.0, -9.0]"]);
    binary(Opcode::Multiply, &a, &b, expect!["i8[5][0.0, -128.0, -128.0, -10.0, -14.0]"]);
    binary(Opcode::Divide, &[7u8, 9], &[0, 2], expect!["ui8[2][255.0, 4.0]"]);
    binary(Opcode::Divide, &[i64::MIN, 1], &[-1, 0], expect!["i64[2][-9.223372036854776e18, -1.0]"]);
    unary(Opcode::Negate, list(&[-128i8, 3]), expect!["i8[2][-128.0, -3.0]"]);
    unary(Opcode::Abs, list(&[-128i8, -3]), expect!["i8[2][-128.0, 3.0]"]);
}

#[test]
fn shifts_out_of_range() {
    let (a, b) = ([-1i32, -8, 5, 1], [32i32, 1, -1, 31]);
    binary(Opcode::ShiftLeft, &a, &b, expect!["i32[4][0.0, -16.0, 0.0, -2147483648.0]"]);
    binary(Opcode::ShiftRightLogical, &a, &b, expect!["i32[4][0.0, 2147483644.0, 0.0, 0.0]"]);
    binary(Opcode::ShiftRightArithmetic, &a, &b, expect!["i32[4][-1.0, -4.0, 0.0, 0.0]"]);
    binary(Opcode::ShiftRightArithmetic, &[0x80u8, 0x80], &[1, 9], expect!["ui8[2][192.0, 255.0]"]);
}

#[test]
fn integer_powers() {
    binary(
        Opcode::Power,
        &[2i32, 2, -1, 1, 3, 0],
        &[10, -1, -3, -5, 0, 0],
        expect!["i32[6][1024.0, 0.0, -1.0, 1.0, 1.0, 1.0]"],
    );
    binary(Opcode::Power, &[3u8], &[6], expect!["ui8[1][217.0]"]);
}

#[test]
fn bits() {
    unary(Opcode::CountLeadingZeros, list(&[0i8, 1, -1]), expect!["i8[3][8.0, 7.0, 0.0]"]);
    unary(Opcode::Popcnt, list(&[0i16, 7, -1]), expect!["i16[3][0.0, 3.0, 16.0]"]);
    unary(Opcode::Not, list(&[0u8, 7]), expect!["ui8[2][255.0, 248.0]"]);
    unary(Opcode::Not, list(&[Bool8(0), Bool8(1)]), expect!["i1[2][1.0, 0.0]"]);
}

#[test]
fn extremes_keep_nan_and_order_zeros() {
    let (a, b) = ([f32::NAN, 1.0, -0.0, 0.0], [1.0, f32::NAN, 0.0, -0.0]);
    binary(Opcode::Maximum, &a, &b, expect!["f32[4][NaN, NaN, 0.0, 0.0]"]);
    binary(Opcode::Minimum, &a, &b, expect!["f32[4][NaN, NaN, -0.0, -0.0]"]);
}

#[test]
fn small_floats_round_after_each_op() {
    let x = list(&[bf16::from_f32(256.0), bf16::from_f32(1.0)]);
    // 256 + 1 is not a bf16: it rounds to even.
    let y = list(&[bf16::from_f32(1.0), bf16::from_f32(2f32.powi(-9))]);
    check(&[x, y], |b, x| make::add(b, x[0], x[1]), expect!["bf16[2][256.0, 1.0]"]);
    check(&[list(&[f16::MAX])], |b, x| make::add(b, x[0], x[0]), expect!["f16[1][inf]"]);
}

#[test]
fn rounding() {
    let x = list(&[0.5f32, 1.5, -0.5, -2.5]);
    unary(Opcode::RoundNearestEven, x.clone(), expect!["f32[4][0.0, 2.0, -0.0, -2.0]"]);
    unary(Opcode::RoundNearestAfz, x.clone(), expect!["f32[4][1.0, 2.0, -1.0, -3.0]"]);
    unary(Opcode::Sign, list(&[-3.0f32, -0.0, f32::NAN]), expect!["f32[3][-1.0, -0.0, NaN]"]);
}

#[test]
fn conversions() {
    let to = |x: Literal, dtype, expected| check(&[x], |b, x| make::convert(b, x[0], dtype), expected);
    to(
        list(&[3e9f32, -3e9, f32::NAN, 2.9, -2.9]),
        DType::I32,
        expect!["i32[5][2147483647.0, -2147483648.0, 0.0, 2.0, -2.0]"],
    );
    to(list(&[-1.0f32, 300.0]), DType::U8, expect!["ui8[2][0.0, 255.0]"]);
    to(list(&[300i32, -1]), DType::U8, expect!["ui8[2][44.0, 255.0]"]);
    to(list(&[-1i8]), DType::I64, expect!["i64[1][-1.0]"]);
    to(list(&[0.0f32, -0.0, 0.1, f32::NAN]), DType::I1, expect!["i1[4][0.0, 0.0, 1.0, 1.0]"]);
    to(list(&[Bool8(1), Bool8(0)]), DType::F32, expect!["f32[2][1.0, 0.0]"]);
    to(list(&[1.00390625f64]), DType::BF16, expect!["bf16[1][1.0]"]);
    to(list(&[Complex32::new(2.0, 3.0)]), DType::F64, expect!["f64[1][2.0]"]);
    to(Literal::splat(DType::F32, [2, 2], &1.5f32.to_le_bytes()), DType::I8, expect!["i8[2, 2][1.0, 1.0, 1.0, 1.0]"]);
}

#[test]
fn casts_of_bits() {
    let cast = |x: Literal, dtype, shape: &[usize], expected| {
        let to: Type = Type::tensor(dtype, shape);
        check(&[x], |b, x| b.value(Opcode::BitcastConvert, [x[0]], Attrs::new(), to), expected);
    };
    cast(list(&[1.0f32]), DType::U32, &[1], expect!["ui32[1][1065353216.0]"]);
    cast(list(&[0x01020304u32]), DType::U8, &[1, 4], expect!["ui8[1, 4][4.0, 3.0, 2.0, 1.0]"]);
    cast(Literal::new([1, 2], &[0x0304u16, 0x0102]), DType::U32, &[1], expect!["ui32[1][16909060.0]"]);
}

#[test]
fn fewer_bits_of_precision() {
    let reduce = |exponent, mantissa, expected| {
        let x = list(&[1.0 + 2f32.powi(-8), 1.0 + 3.0 * 2f32.powi(-8), 1e-30, 70000.0, f32::NAN, -0.0]);
        let attrs: Attrs =
            [("exponent_bits", Attr::int(exponent)), ("mantissa_bits", Attr::int(mantissa))].into_iter().collect();
        check(&[x], |b, x| b.value(Opcode::ReducePrecision, [x[0]], attrs, Type::tensor(DType::F32, [6])), expected);
    };
    // bf16, then f16: ties go to even, what overflows is infinite, what underflows zero.
    reduce(8, 7, expect!["f32[6][1.0, 1.015625, 9.98402083170343e-31, 70144.0, NaN, -0.0]"]);
    reduce(5, 10, expect!["f32[6][1.00390625, 1.01171875, 0.0, inf, NaN, -0.0]"]);
}

#[test]
fn comparisons() {
    let x = [list(&[1.0f32, f32::NAN, -0.0]), list(&[2.0f32, f32::NAN, 0.0])];
    check(&x, |b, x| make::compare(b, "LT", x[0], x[1]), expect!["i1[3][1.0, 0.0, 0.0]"]);
    check(&x, |b, x| make::compare(b, "NE", x[0], x[1]), expect!["i1[3][1.0, 1.0, 0.0]"]);
    let total: Attrs = [
        ("comparison_direction", Attr::stablehlo_enum("comparison_direction", "LT")),
        ("compare_type", Attr::stablehlo_enum("comparison_type", "TOTALORDER")),
    ]
    .into_iter()
    .collect();
    let to = Type::tensor(DType::I1, [3]);
    check(&x, |b, x| b.value(Opcode::Compare, x.iter().copied(), total, to), expect!["i1[3][1.0, 0.0, 1.0]"]);
}

#[test]
fn select_and_clamp() {
    let pred = list(&[Bool8(1), Bool8(0)]);
    let of = |x: f32| Literal::splat(DType::F32, [2], &x.to_le_bytes());
    check(&[pred, of(1.0), of(2.0)], |b, x| make::select(b, x[0], x[1], x[2]), expect!["f32[2][1.0, 2.0]"]);
    let bounds = [Literal::scalar(-1.0f32), list(&[-5.0f32, 0.5, 7.0, f32::NAN]), Literal::scalar(1.0f32)];
    check(&bounds, |b, x| make::clamp(b, x[0], x[1], x[2]), expect!["f32[4][-1.0, 0.5, 1.0, NaN]"]);
}

#[test]
fn complex_numbers() {
    let z = list(&[Complex32::new(3.0, -4.0)]);
    let real = |opcode| {
        eval(std::slice::from_ref(&z), |b, x| b.value(opcode, [x[0]], Attrs::new(), Type::tensor(DType::F32, [1])))
    };
    assert_eq!([Opcode::Abs, Opcode::Real, Opcode::Imag].map(|op| real(op).get::<f32>(0)), [5.0, 3.0, -4.0]);
    let of = |opcode| eval(std::slice::from_ref(&z), |b, x| make::unary(b, opcode, x[0])).get::<Complex32>(0);
    assert_eq!(of(Opcode::Sqrt), Complex32::new(2.0, -1.0));
    assert_eq!(of(Opcode::Sign), Complex32::new(0.6, -0.8));
    let (e, l) = (of(Opcode::Exponential), of(Opcode::Log));
    assert!((e - Complex32::new(-13.128783, 15.200784)).norm() < 1e-5, "{e}");
    assert!((l - Complex32::new(1.609438, -0.9272952)).norm() < 1e-6, "{l}");
}

/// Tests that `asin`, `acos` and `asinh` on their branch cuts have the values of the side that the sign of a zero part
/// states.
#[test]
fn inverse_functions_of_complex_numbers_on_their_cuts() {
    let of = |opcode, re: f32, im: f32| {
        let z = list(&[Complex32::new(re, im)]);
        let f = eval(&[z], |b, x| make::unary(b, opcode, x[0])).get::<Complex32>(0);
        (f.re, f.im)
    };
    let (half_turn, far) = (std::f32::consts::FRAC_PI_2, 1.316_958);
    assert_eq!(of(Opcode::ChloAsin, 2.0, 0.0), (half_turn, far));
    assert_eq!(of(Opcode::ChloAsin, 2.0, -0.0), (half_turn, -far));
    assert_eq!(of(Opcode::ChloAcos, 2.0, 0.0), (0.0, -far));
    assert_eq!(of(Opcode::ChloAcos, 2.0, -0.0), (0.0, far));
    assert_eq!(of(Opcode::ChloAsinh, 0.0, -2.0), (far, -half_turn));
    assert_eq!(of(Opcode::ChloAsinh, -0.0, 2.0), (-far, half_turn));
}

#[test]
fn next_after_steps_by_one_bit() {
    let next = |b: &mut Builder<'_>, x: &[Value]| make::binary(b, Opcode::ChloNextAfter, x[0], x[1]);
    let step = |a: f32, b: f32| eval(&[list(&[a]), list(&[b])], next).get::<f32>(0).to_bits();
    assert_eq!(step(1.0, 2.0), 1f32.to_bits() + 1);
    assert_eq!(step(-1.0, 2.0), (-1f32).to_bits() - 1);
    assert_eq!(step(0.0, -1.0), 0x8000_0001);
    assert_eq!(step(0.0, -0.0), (-0f32).to_bits());
}

fn matrix() -> Literal {
    Literal::new([2, 3], &[1i32, 2, 3, 4, 5, 6])
}

#[test]
fn movement() {
    let x = [matrix()];
    check(&x, |b, x| make::transpose(b, x[0], &[1, 0]), expect!["i32[3, 2][1.0, 4.0, 2.0, 5.0, 3.0, 6.0]"]);
    check(&x, |b, x| make::reverse(b, x[0], &[0]), expect!["i32[2, 3][4.0, 5.0, 6.0, 1.0, 2.0, 3.0]"]);
    check(&x, |b, x| make::slice(b, x[0], &[1, 0], &[2, 3], &[1, 2]), expect!["i32[1, 2][4.0, 6.0]"]);
    check(&x, |b, x| make::slice(b, x[0], &[1, 1], &[1, 3], &[1, 1]), expect!["i32[0, 2][]"]);
    check(
        &x,
        |b, x| make::concatenate(b, &[x[0], x[0]], 1),
        expect!["i32[2, 6][1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 4.0, 5.0, 6.0]"],
    );
    let column = [Literal::new([2, 1], &[7i32, 8])];
    check(
        &column,
        |b, x| make::broadcast_in_dim(b, x[0], &[2, 3], &[0, 1]),
        expect!["i32[2, 3][7.0, 7.0, 7.0, 8.0, 8.0, 8.0]"],
    );
    check(&[], |b, _| make::iota(b, i32s(&[2, 3]), 1), expect!["i32[2, 3][0.0, 1.0, 2.0, 0.0, 1.0, 2.0]"]);
}

#[test]
fn pads() {
    let pad = |low: i64, high: i64, interior: i64, expected| {
        let args = [list(&[1i32, 2, 3]), Literal::scalar(0i32)];
        check(&args, |b, x| make::pad(b, x[0], x[1], &[low], &[high], &[interior]), expected);
    };
    pad(1, 2, 0, expect!["i32[6][0.0, 1.0, 2.0, 3.0, 0.0, 0.0]"]);
    pad(0, 0, 1, expect!["i32[5][1.0, 0.0, 2.0, 0.0, 3.0]"]);
    pad(-1, 1, 0, expect!["i32[3][2.0, 3.0, 0.0]"]);
    pad(-1, -1, 2, expect!["i32[5][0.0, 0.0, 2.0, 0.0, 0.0]"]);
    pad(-3, 0, 0, expect!["i32[0][]"]);
}

#[test]
fn joins() {
    let join = |parts: &[usize], expected| {
        let attrs = Attrs::new().with("dimension", Attr::int(0)).with("parts", Attr::sizes(parts));
        let n = parts.chunks(3).map(|p| p[2]).sum::<usize>();
        let ty = Type::tensor(DType::I32, vec![n]);
        let args = [list(&[1i32, 2, 3]), list(&[8i32, 9])];
        check(&args, |b, x| b.value(Opcode::Join, x.to_vec(), attrs.clone(), ty.clone()), expected);
    };
    join(&[0, 2, 1, 1, 0, 1, 0, 0, 2], expect!["i32[4][3.0, 8.0, 1.0, 2.0]"]);
    join(&[1, 1, 1, 0, 1, 2, 1, 0, 0], expect!["i32[3][9.0, 2.0, 3.0]"]);
}

#[test]
fn resizes() {
    let x = Literal::new([2, 2], &[1i32, 2, 3, 4]);
    let resize =
        |sizes: &[usize], expected| check(std::slice::from_ref(&x), |b, x| make::resize(b, x[0], sizes), expected);
    resize(&[1, 3], expect!["i32[1, 3][1.0, 2.0, 0.0]"]);
    resize(&[3, 1], expect!["i32[3, 1][1.0, 3.0, 0.0]"]);
}

#[test]
fn blocks_are_moved_inside_the_bounds() {
    let slice = |start: i32, expected| {
        let args = [list(&[1i32, 2, 3, 4]), Literal::scalar(start)];
        check(&args, |b, x| make::dynamic_slice(b, x[0], &x[1..], &[2]), expected);
    };
    slice(-5, expect!["i32[2][1.0, 2.0]"]);
    slice(1, expect!["i32[2][2.0, 3.0]"]);
    slice(100, expect!["i32[2][3.0, 4.0]"]);
    let args = [list(&[1i32, 2, 3, 4]), list(&[9i32, 8]), Literal::scalar(3u64)];
    check(&args, |b, x| make::dynamic_update_slice(b, x[0], x[1], &x[2..]), expect!["i32[4][1.0, 2.0, 9.0, 8.0]"]);
}

#[test]
fn dots() {
    let plain = DotDims { lhs_contract: vec![1], rhs_contract: vec![0], ..DotDims::default() };
    let y = Literal::new([3, 1], &[1i32, 0, -1]);
    check(
        &[matrix(), y],
        |b, x| make::dot_general(b, x[0], x[1], &plain, DType::I32),
        expect!["i32[2, 1][-2.0, -2.0]"],
    );
    // Outer product and nothing to contract.
    let outer = DotDims::default();
    let args = [list(&[1f32, 2.0]), list(&[3f32, 4.0])];
    check(&args, |b, x| make::dot_general(b, x[0], x[1], &outer, DType::F32), expect!["f32[2, 2][3.0, 4.0, 6.0, 8.0]"]);
    let empty = [Literal::zeros(DType::F32, [2, 0]), Literal::zeros(DType::F32, [0, 2])];
    check(
        &empty,
        |b, x| make::dot_general(b, x[0], x[1], &plain, DType::F32),
        expect!["f32[2, 2][0.0, 0.0, 0.0, 0.0]"],
    );
    let none = [Literal::zeros(DType::F32, [2, 2]), Literal::zeros(DType::F32, [2, 0])];
    check(&none, |b, x| make::dot_general(b, x[0], x[1], &plain, DType::F32), expect!["f32[2, 0][]"]);
}

/// Sums 300 ones of type bf16, by a reduction and by dot products. In bf16 the sum would stop at 256.
#[test]
fn small_floats_are_summed_in_f32() {
    let ones = Literal::splat(DType::BF16, [300], &bf16::ONE.to_le_bytes());
    check(std::slice::from_ref(&ones), |b, x| make::reduce(b, ReduceKind::Add, x[0], &[0]), expect!["bf16[][300.0]"]);
    let all = DotDims { lhs_contract: vec![0], rhs_contract: vec![0], ..DotDims::default() };
    let args = [ones.clone(), ones];
    check(&args, |b, x| make::dot_general(b, x[0], x[1], &all, DType::BF16), expect!["bf16[][300.0]"]);
    check(&args, |b, x| make::dot_general(b, x[0], x[1], &all, DType::F32), expect!["f32[][300.0]"]);
}

#[test]
fn reductions() {
    let x = [matrix()];
    let by = |kind, dims: &'static [usize], expected| check(&x, |b, x| make::reduce(b, kind, x[0], dims), expected);
    by(ReduceKind::Add, &[0], expect!["i32[3][5.0, 7.0, 9.0]"]);
    by(ReduceKind::Mul, &[1], expect!["i32[2][6.0, 120.0]"]);
    by(ReduceKind::Max, &[0, 1], expect!["i32[][6.0]"]);
    by(ReduceKind::Min, &[], expect!["i32[2, 3][1.0, 2.0, 3.0, 4.0, 5.0, 6.0]"]);
    by(ReduceKind::Or, &[1], expect!["i32[2][3.0, 7.0]"]);
    let nothing = [Literal::zeros(DType::F32, [0, 2]), Literal::scalar(5f32)];
    check(&nothing, |b, x| make::reduce_from(b, ReduceKind::Max, x[0], x[1], &[0]), expect!["f32[2][5.0, 5.0]"]);
    check(&nothing[..1], |b, x| make::reduce(b, ReduceKind::Max, x[0], &[0]), expect!["f32[2][-inf, -inf]"]);
}

/// Reduces each row to its largest element and the index of that. Of equal elements, the first is taken. The reducer is
/// no known one, so its region runs.
#[test]
fn reductions_by_region() {
    let values = Literal::new([2, 3], &[1f32, 5.0, 2.0, 7.0, 0.0, 7.0]);
    let indices = Literal::new([2, 3], &[0i32, 1, 2, 0, 1, 2]);
    let args = [values, indices, Literal::scalar(f32::NEG_INFINITY), Literal::scalar(0i32)];
    let types: Vec<TensorType> = args.iter().map(|a| TensorType::new(a.dtype(), a.shape())).collect();
    let m = module(&types, |b, x| {
        let (f, i) = (Type::tensor(DType::F32, vec![]), Type::tensor(DType::I32, vec![]));
        let region = b.region(&[f.clone(), i.clone(), f, i], |b, x| {
            let keep = make::compare(b, "GE", x[0], x[2]);
            let value = make::select(b, keep, x[0], x[2]);
            let index = make::select(b, keep, x[1], x[3]);
            b.op(Opcode::RegionReturn, [value, index], Attrs::new(), []);
        });
        let attrs = [("dimensions", Attr::sizes(&[1]))].into_iter().collect();
        let to = [Type::tensor(DType::F32, [2]), Type::tensor(DType::I32, [2])];
        let op = b.op_with_regions(Opcode::Reduce, x.iter().copied(), attrs, [region], to);
        b.body[op].results.to_vec()
    });
    expect!["[f32[2][5.0, 7.0], i32[2][1.0, 0.0]]"].assert_eq(&format!("{:?}", run(&m, &args)));
}
