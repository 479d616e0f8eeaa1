//! Compares kernels with plain loops, at every level and for several numbers of workers.
#![expect(unsafe_code, reason = "the machine follows addresses")]

use super::emit::Unfusable;
use super::machine::{Ins, Machine, Op, TEMP};
use super::*;
use crate::elem::Elem;
use crate::operand::{Source, Target};
use crate::pool::Workers;
use crate::simd::{Level, Word};
use bytemuck::Pod;
use half::{bf16, f16};
use shardwise_mathfn::order::{self, LANES_32, LANES_64};

/// A small generator of test data.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a random number from 0 to `count - 1`.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        (self.next() >> 20) as usize % count
    }

    /// Returns a random multiple of 1/4 from -32 to 32.
    pub(crate) fn dyadic(&mut self) -> f32 {
        (self.next() % 257) as f32 / 4.0 - 32.0
    }
}

/// Runs a program with one output at every level, with one worker and with three, and checks that all results have the
/// same bits. Leaves the result in `out`.
fn run<T: Pod + PartialEq + std::fmt::Debug>(program: &Program, inputs: &[Source<'_>], out: &mut [T]) {
    let kernel = program.compile().unwrap();
    let mut all: Vec<Vec<u8>> = Vec::new();
    for level in Level::available() {
        for workers in [Workers::new(1), Workers::new(3)] {
            let mut operands: Vec<Operand> = inputs.iter().copied().map(Operand::Read).collect();
            operands.push(Operand::Write(Target::of(out)));
            kernel.run_at(level, &workers, &operands, level == Level::Avx2);
            all.push(bytemuck::cast_slice(out).to_vec());
        }
    }
    assert!(all.iter().all(|bits| *bits == all[0]), "levels or workers differ");
    let mut operands: Vec<Operand> = inputs.iter().copied().map(Operand::Read).collect();
    let mut native = out.to_vec();
    bytemuck::cast_slice_mut::<T, u8>(&mut native).fill(7);
    operands.push(Operand::Write(Target::of(&mut native)));
    if kernel.run_as_machine_code(&Workers::new(2), &operands, 64) {
        let is_same = |(a, b): (&T, &T)| bytemuck::bytes_of(a) == bytemuck::bytes_of(b) || (is_nan(a) && is_nan(b));
        assert!(native.iter().zip(&*out).all(is_same), "machine code: {native:?}, {out:?}");
    }
}

/// Returns true if `x` is NaN, whose bits may differ between machine code and the block machine.
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<T: PartialEq>(x: &T) -> bool {
    x != x
}

fn specials<W: Word>(random: &mut Random) -> W {
    let floats = [0.0, -0.0, 1.0, -1.5, 0.3, 1e-40, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 88.5, 3e9, -7e18, 2.5];
    match random.next() % 4 {
        0 => W::from_float(floats[random.next() as usize % floats.len()]),
        1 => W::from_bits64(random.next() % 70),
        2 => W::from_bits64((random.next() % 70).wrapping_neg()),
        _ => W::from_bits64(random.next()),
    }
}

/// Returns true if the bits are equal or both words are NaN as floats.
fn same<W: Word>(a: W, b: W) -> bool {
    let is_nan = |w: W| w.feq(w) == W::truth(false);
    a == b || (is_nan(a) && is_nan(b))
}

#[repr(align(64))]
struct Temp<W>([W; TEMP / 4]);

fn check_machine<W: Word>(level: Level) {
    let machine = Machine::new(level, W::SIZE == 8);
    let mut random = Random(7);
    for &op in Op::TESTED {
        for _ in 0..20 {
            let mut a = Temp(std::array::from_fn(|_| specials::<W>(&mut random)));
            let mut b = Temp(std::array::from_fn(|_| specials::<W>(&mut random)));
            let before = a.0;
            let is_immediate = format!("{op:?}").ends_with("Imm");
            if is_immediate {
                b.0 = [b.0[0]; TEMP / 4];
            }
            let bits = b.0[0].to_bits64() as usize;
            let base = if is_immediate { std::ptr::without_provenance_mut(bits) } else { b.0.as_mut_ptr().cast() };
            let ins = |op, base| Ins { op, extra: 0, step: 0, base };
            let a_base = a.0.as_mut_ptr().cast();
            let code = [ins(Op::Load, a_base), ins(op, base), ins(Op::Store, a_base)];
            // SAFETY: the temporaries hold a block.
            unsafe { (machine.run)(&code, 1, std::ptr::null_mut(), 8) };
            for (i, &x) in before.iter().enumerate().take(machine.lanes) {
                let expected = op.evaluate(x, b.0[i]).unwrap();
                assert!(same(a.0[i], expected), "{level:?} {op:?} {x:?} {:?}: {:?}", b.0[i], a.0[i]);
            }
        }
    }
}

#[test]
fn every_level_computes_what_a_word_does() {
    for level in Level::available() {
        check_machine::<u32>(level);
        check_machine::<u64>(level);
    }
}

fn bytes<T: Pod>(x: T) -> Vec<u8> {
    bytemuck::bytes_of(&x).to_vec()
}

#[test]
fn any_length_is_computed() {
    for n in [0, 1, 2, 63, 64, 65, 127, 128, 129, 1009, 70_001] {
        let x: Vec<f32> = (0..n).map(|i| i as f32 / 8.0 - 3.0).collect();
        let mut y = vec![7.0f32; n];
        let mut p = Program::new(&[n]);
        let v = p.input(Elem::F32, &[1]);
        let two = p.constant(Elem::F32, &bytes(2.0f32));
        let product = p.binary(Binary::Mul, v, two).unwrap();
        let sum = p.binary(Binary::Sub, product, v).unwrap();
        let e = p.unary(Unary::Exp, sum).unwrap();
        p.output(e, &[1]);
        run(&p, &[Source::of(&x)], &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| shardwise_mathfn::exp_f32(x * 2.0 - x) == *y));
    }
}

#[test]
fn broadcasts_transposes_and_slices_are_strides() {
    let (rows, cols) = (37, 150);
    let x: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
    let row: Vec<f32> = (0..cols).map(|i| 0.5 * i as f32).collect();
    let col: Vec<f32> = (0..rows).map(|i| 1000.0 * i as f32).collect();
    let mut y = vec![0.0f32; rows * cols];
    let mut p = Program::new(&[rows, cols]);
    let c = cols as isize;
    // The first operand is x reversed along the columns. The transposed operand is x again, read as [150, 37].
    let operands = [p.input(Elem::F32, &[c, -1]), p.input(Elem::F32, &[0, 1]), p.input(Elem::F32, &[1, 0])];
    let transposed = p.input(Elem::F32, &[1, rows as isize]);
    let sum = operands.into_iter().fold(transposed, |a, b| p.binary(Binary::Add, a, b).unwrap());
    let i = p.index(Elem::I32, 0);
    let j = p.index(Elem::I32, 1);
    let below = p.binary(Binary::Compare(Comparison::Le), j, i).unwrap();
    let zero = p.constant(Elem::F32, &bytes(0.0f32));
    let masked = p.select(below, sum, zero);
    p.output(masked, &[c, 1]);
    let reversed = Source::at(bytemuck::cast_slice(&x), 4 * (cols - 1));
    run(&p, &[reversed, Source::of(&row), Source::of(&col), Source::of(&x)], &mut y);
    for i in 0..rows {
        for j in 0..cols {
            let expected = x[i * cols + cols - 1 - j] + row[j] + col[i] + x[j * rows + i];
            assert_eq!(y[i * cols + j], if j <= i { expected } else { 0.0 });
        }
    }
}

#[test]
fn indices_go_on_from_block_to_block() {
    for (rows, cols) in [(1, 1000), (3, 129), (700, 2)] {
        let mut y = vec![0i32; rows * cols];
        let mut p = Program::new(&[rows, cols]);
        let (i, j) = (p.index(Elem::I32, 0), p.index(Elem::I32, 1));
        let width = p.constant(Elem::I32, &bytes(cols as i32));
        let row = p.binary(Binary::Mul, i, width).unwrap();
        let place = p.binary(Binary::Add, row, j).unwrap();
        p.output(place, &[cols as isize, 1]);
        run(&p, &[], &mut y);
        assert!(y.iter().copied().eq(0..(rows * cols) as i32), "{rows} x {cols}");
    }
}

#[test]
fn strided_outputs_are_scattered() {
    let x: Vec<f32> = (0..13 * 140).map(|i| i as f32).collect();
    let mut y = vec![0.0f32; 13 * 140];
    let mut p = Program::new(&[13, 140]);
    let v = p.input(Elem::F32, &[140, 1]);
    let minus = p.unary(Unary::Neg, v).unwrap();
    p.output(minus, &[1, 13]);
    run(&p, &[Source::of(&x)], &mut y);
    assert!((0..13).all(|i| (0..140).all(|j| y[j * 13 + i] == -x[i * 140 + j])));
}

fn check_add<T: Pod + PartialEq + std::fmt::Debug>(
    elem: Elem,
    wide: bool,
    make: impl Fn(u64) -> T,
    add: impl Fn(T, T) -> T,
) {
    let mut random = Random(3);
    let n = 333;
    let [x, y] = [0, 1].map(|_| (0..n).map(|_| make(random.next())).collect::<Vec<T>>());
    let mut z = vec![T::zeroed(); n];
    let mut p = Program::new(&[n]);
    if wide {
        p = p.wide();
    }
    let (a, b) = (p.input(elem, &[1]), p.input(elem, &[1]));
    let sum = p.binary(Binary::Add, a, b).unwrap();
    p.output(sum, &[1]);
    run(&p, &[Source::of(&x), Source::of(&y)], &mut z);
    for i in 0..n {
        assert_eq!(z[i], add(x[i], y[i]), "{elem:?} {:?} + {:?}", x[i], y[i]);
    }
}

#[test]
fn all_types_add() {
    for wide in [false, true] {
        check_add(Elem::I8, wide, |r| r as i8, i8::wrapping_add);
        check_add(Elem::U8, wide, |r| r as u8, u8::wrapping_add);
        check_add(Elem::I16, wide, |r| r as i16, i16::wrapping_add);
        check_add(Elem::U16, wide, |r| r as u16, u16::wrapping_add);
        check_add(Elem::I32, wide, |r| r as i32, i32::wrapping_add);
        check_add(Elem::U32, wide, |r| r as u32, u32::wrapping_add);
        check_add(Elem::F32, wide, |r| (r as i32) as f32 / 3.0, |a, b| a + b);
        check_add(Elem::F16, wide, |r| f16::from_f32(r as i8 as f32 / 3.0), |a, b| a + b);
        check_add(Elem::BF16, wide, |r| bf16::from_f32(r as i8 as f32 / 3.0), |a, b| a + b);
        check_add(Elem::Bool, wide, |r| (r & 1) as u8, |a, b| a | b);
    }
    check_add(Elem::I64, true, |r| r as i64, i64::wrapping_add);
    check_add(Elem::U64, true, |r| r, u64::wrapping_add);
    check_add(Elem::F64, true, |r| (r as i64) as f64 / 3.0, |a, b| a + b);
}

fn converted<A: Pod, B: Pod + PartialEq + std::fmt::Debug>(from: Elem, to: Elem, x: &[A]) -> Vec<B> {
    let mut y = vec![B::zeroed(); x.len()];
    let mut p = Program::new(&[x.len()]);
    if from.is_wide() || to.is_wide() {
        p = p.wide();
    }
    let a = p.input(from, &[1]);
    let b = p.convert(a, to).unwrap();
    p.output(b, &[1]);
    run(&p, &[Source::of(x)], &mut y);
    y
}

#[test]
fn conversions_saturate_and_wrap() {
    let floats = [0.0f32, -0.0, 1.9, -1.9, 300.0, -300.0, 3e9, -3e9, 5e9, 1e30, -1e30, f32::NAN, f32::INFINITY];
    assert_eq!(converted::<_, i8>(Elem::F32, Elem::I8, &floats), floats.map(|x| x as i8));
    assert_eq!(converted::<_, u8>(Elem::F32, Elem::U8, &floats), floats.map(|x| x as u8));
    assert_eq!(converted::<_, i32>(Elem::F32, Elem::I32, &floats), floats.map(|x| x as i32));
    assert_eq!(converted::<_, u32>(Elem::F32, Elem::U32, &floats), floats.map(|x| x as u32));
    assert_eq!(converted::<_, i64>(Elem::F32, Elem::I64, &floats), floats.map(|x| x as i64));
    assert_eq!(converted::<_, u64>(Elem::F32, Elem::U64, &floats), floats.map(|x| x as u64));
    assert_eq!(converted::<_, u8>(Elem::F32, Elem::Bool, &floats), floats.map(|x| (x != 0.0) as u8));
    let ints = [0i32, 1, -1, 127, 128, 255, 256, -129, 65_537, i32::MIN, i32::MAX, 16_777_217];
    assert_eq!(converted::<_, i8>(Elem::I32, Elem::I8, &ints), ints.map(|x| x as i8));
    assert_eq!(converted::<_, u16>(Elem::I32, Elem::U16, &ints), ints.map(|x| x as u16));
    assert_eq!(converted::<_, u64>(Elem::I32, Elem::U64, &ints), ints.map(|x| x as u64));
    assert_eq!(converted::<_, f32>(Elem::I32, Elem::F32, &ints), ints.map(|x| x as f32));
    assert_eq!(converted::<_, f64>(Elem::I32, Elem::F64, &ints), ints.map(f64::from));
    assert_eq!(converted::<_, u8>(Elem::I32, Elem::Bool, &ints), ints.map(|x| (x != 0) as u8));
    let unsigned = ints.map(|x| x as u32);
    assert_eq!(converted::<_, f32>(Elem::U32, Elem::F32, &unsigned), unsigned.map(|x| x as f32));
    let doubles = [0.1f64, 1e300, -2.5, 1.0 + 2f64.powi(-24)];
    assert_eq!(converted::<_, f32>(Elem::F64, Elem::F32, &doubles), doubles.map(|x| x as f32));
    assert_eq!(converted::<_, bf16>(Elem::F64, Elem::BF16, &doubles), doubles.map(bf16::from_f64));
    assert_eq!(converted::<_, f32>(Elem::Bool, Elem::F32, &[0u8, 1, 1]), [0.0, 1.0, 1.0]);
    let wide = [i64::MAX, (1 << 24) + 1, -((1 << 53) + 1)];
    assert_eq!(converted::<_, f32>(Elem::I64, Elem::F32, &wide), wide.map(|x| x as f32));
}

#[test]
fn narrow_integers_divide_and_shift_as_their_type() {
    let (x, y) = ([-128i8, 100, -7, 5, -128, 64], [-1i8, 0, 2, 9, 8, 7]);
    let check = |function: Binary, expected: [i8; 6]| {
        let mut z = [0i8; 6];
        let mut p = Program::new(&[6]);
        let (a, b) = (p.input(Elem::I8, &[1]), p.input(Elem::I8, &[1]));
        let r = p.binary(function, a, b).unwrap();
        p.output(r, &[1]);
        run(&p, &[Source::of(&x), Source::of(&y)], &mut z);
        assert_eq!(z, expected, "{function:?}");
    };
    check(Binary::Div, [-128, -1, -3, 0, -16, 9]);
    check(Binary::Rem, [0, 100, -1, 5, 0, 1]);
    check(Binary::ShiftLeft, [0, 100, -28, 0, 0, 0]);
    check(Binary::ShiftRightLogical, [0, 100, 62, 0, 0, 0]);
    check(Binary::ShiftRightArithmetic, [-1, 100, -2, 0, -1, 0]);
}

#[test]
fn bf16_is_rounded_after_each_operation() {
    let n = 500;
    let x: Vec<bf16> = (0..n).map(|i| bf16::from_f32(i as f32 / 37.0 - 6.0)).collect();
    let mut y = vec![bf16::ZERO; n];
    let mut p = Program::new(&[n]);
    let v = p.input(Elem::BF16, &[1]);
    let square = p.binary(Binary::Mul, v, v).unwrap();
    let sum = p.binary(Binary::Add, square, v).unwrap();
    let t = p.unary(Unary::Tanh, sum).unwrap();
    p.output(t, &[1]);
    run(&p, &[Source::of(&x)], &mut y);
    let round = |x: f32| bf16::from_f32(x).to_f32();
    for i in 0..n {
        let x = x[i].to_f32();
        let expected = bf16::from_f32(shardwise_mathfn::tanh_f32(round(round(x * x) + x)));
        assert_eq!(y[i].to_bits(), expected.to_bits());
    }
}

#[test]
fn rows_are_folded_in_the_documented_order() {
    for (rows, len) in [(1, 0), (3, 1), (7, 5), (5, 64), (4, 129), (2, 1000), (3, 40_000), (1, 300_001)] {
        let mut random = Random(rows as u64 + 5);
        let x: Vec<f32> = (0..rows * len).map(|_| random.next() as i32 as f32 / 1e9).collect();
        let mut y = vec![0.0f32; rows];
        let mut p = Program::new(&[rows, len]).reducing(&[1]);
        let v = p.input(Elem::F32, &[len as isize, 1]);
        let init = p.constant(Elem::F32, &bytes(0.25f32));
        let sum = p.reduce(Reducer::Sum, v, init).unwrap();
        p.row_output(sum, &[1, 0]);
        if len == 1 {
            continue; // A dimension of size 1 is no row.
        }
        run(&p, &[Source::of(&x)], &mut y);
        for r in 0..rows {
            let total = order::fold_row(len, LANES_32, 0.0, |i| x[r * len + i], |a: f32, b| a + b);
            assert_eq!(y[r], 0.25 + total, "{rows} {len}");
        }
    }
}

#[test]
fn leading_dimensions_are_folded_in_the_documented_order() {
    for (rows, cols) in [(1, 5), (2, 1), (5, 64), (7, 129), (300, 77), (513, 2100), (0, 9)] {
        let mut random = Random(rows as u64 + 9);
        let x: Vec<f64> = (0..rows * cols).map(|_| random.next() as i32 as f64 / 1e9).collect();
        let mut y = vec![0.0f64; cols];
        let mut p = Program::new(&[rows, cols]).wide().reducing(&[0]);
        let v = p.input(Elem::F64, &[cols as isize, 1]);
        let init = p.constant(Elem::F64, &bytes(0.5f64));
        let sum = p.reduce(Reducer::Sum, v, init).unwrap();
        if cols == 1 {
            continue; // The rows are the innermost dimension in this case.
        }
        p.output(sum, &[0, 1]);
        run(&p, &[Source::of(&x)], &mut y);
        for c in 0..cols {
            let total = order::fold(rows, 1, LANES_64, 0.0, |i| x[i * cols + c], |a: f64, b| a + b);
            assert_eq!(y[c], 0.5 + total.unwrap_or(0.0), "{rows} {cols}");
        }
    }
}

/// Returns the bits of the sum of negative zeros, starting with `init`, over dimension `dim` of a matrix. A 32-bit sum
/// is in the upper half. Checks that all sums of the matrix are equal.
fn sum_of_negative_zeros(elem: Elem, shape: [usize; 2], dim: usize, init: f64) -> u64 {
    let bits = |x: f64| match elem {
        Elem::F64 => x.to_le_bytes().to_vec(),
        _ => (x as f32).to_le_bytes().to_vec(),
    };
    let x = bits(-0.0).repeat(shape[0] * shape[1]);
    let mut y = vec![0xa5u8; shape[1 - dim] * elem.size()];
    let mut p = Program::of(elem, &shape).reducing(&[dim]);
    let v = p.input(elem, &[shape[1] as isize, 1]);
    let init = p.constant(elem, &bits(init));
    let sum = p.reduce(Reducer::Sum, v, init).unwrap();
    if dim == 1 {
        p.row_output(sum, &[1, 0])
    } else {
        p.output(sum, &[0, 1])
    }
    run(&p, &[Source::of(&x)], &mut y);
    assert!(y.chunks(elem.size()).all(|sum| sum == &y[..elem.size()]));
    let mut word = [0; 8];
    word[8 - elem.size()..].copy_from_slice(&y[..elem.size()]);
    u64::from_le_bytes(word)
}

#[test]
fn sums_of_negative_zeros_are_negative() {
    for elem in [Elem::F32, Elem::F64] {
        for len in [0, 2, 5, 129, 1000, 40_000, 300_001] {
            for (shape, dim) in [([1, len], 1), ([3, len], 1), ([len, 2], 0)] {
                let [negative, positive] = [-0.0, 0.0].map(|init| sum_of_negative_zeros(elem, shape, dim, init));
                assert_eq!([negative, positive], [1 << 63, 0], "{elem:?} {shape:?} {dim}");
            }
        }
    }
}

#[test]
fn narrow_floats_have_no_sums_in_64_bits() {
    for (elem, has_kernel) in [(Elem::F32, false), (Elem::BF16, false), (Elem::F64, true), (Elem::I32, true)] {
        let mut p = Program::new(&[8]).wide().reducing(&[0]);
        let v = p.input(elem, &[1]);
        let init = p.constant(elem, &vec![0; elem.size()]);
        for reducer in [Reducer::Sum, Reducer::Product] {
            assert_eq!(p.reduce(reducer, v, init).is_some(), has_kernel, "{elem:?}");
        }
        assert!(p.reduce(Reducer::Max, v, init).is_some());
    }
}

#[test]
fn dimensions_in_between_are_reduced() {
    let (a, b, c, d) = (3, 5, 2, 70);
    let x: Vec<i32> = (0..a * b * c * d).collect();
    let mut y = vec![0i32; (a * c * d) as usize];
    let mut p = Program::new(&[a, b, c, d].map(|n| n as usize)).reducing(&[1]);
    let v = p.input(Elem::I32, &[b * c * d, c * d, d, 1].map(|n| n as isize));
    let init = p.constant(Elem::I32, &bytes(i32::MIN));
    let max = p.reduce(Reducer::Max, v, init).unwrap();
    let doubled = p.binary(Binary::Add, max, max).unwrap();
    p.output(doubled, &[c * d, 0, d, 1].map(|n| n as isize));
    run(&p, &[Source::of(&x)], &mut y);
    for i in 0..a {
        for j in 0..c * d {
            assert_eq!(y[(i * c * d + j) as usize], 2 * (i * b * c * d + (b - 1) * c * d + j));
        }
    }
}

#[test]
fn softmax_has_three_phases() {
    let (rows, cols) = (9, 1000);
    let mut random = Random(11);
    let x: Vec<f32> = (0..rows * cols).map(|_| random.dyadic()).collect();
    let mut y = vec![0.0f32; rows * cols];
    let c = cols as isize;
    let mut p = Program::new(&[rows, cols]).reducing(&[1]);
    let v = p.input(Elem::F32, &[c, 1]);
    let low = p.constant(Elem::F32, &bytes(f32::NEG_INFINITY));
    let zero = p.constant(Elem::F32, &bytes(0.0f32));
    let max = p.reduce(Reducer::Max, v, low).unwrap();
    let shifted = p.binary(Binary::Sub, v, max).unwrap();
    let e = p.unary(Unary::Exp, shifted).unwrap();
    let sum = p.reduce(Reducer::Sum, e, zero).unwrap();
    let out = p.binary(Binary::Div, e, sum).unwrap();
    p.output(out, &[c, 1]);
    run(&p, &[Source::of(&x)], &mut y);
    for r in 0..rows {
        let row = &x[r * cols..(r + 1) * cols];
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let e: Vec<f32> = row.iter().map(|x| shardwise_mathfn::exp_f32(x - max)).collect();
        let sum = 0.0 + order::fold_row(cols, LANES_32, 0.0, |i| e[i], |a, b| a + b);
        assert!((0..cols).all(|j| y[r * cols + j] == e[j] / sum));
    }
}

#[test]
fn layer_norm_uses_row_values() {
    let (rows, cols) = (5, 300);
    let mut random = Random(12);
    let x: Vec<f32> = (0..rows * cols).map(|_| random.dyadic()).collect();
    let gamma: Vec<f32> = (0..cols).map(|_| random.dyadic()).collect();
    let mut y = vec![0.0f32; rows * cols];
    let c = cols as isize;
    let mut p = Program::new(&[rows, cols]).reducing(&[1]);
    let (v, g) = (p.input(Elem::F32, &[c, 1]), p.input(Elem::F32, &[0, 1]));
    let [zero, n, eps] = [0.0f32, cols as f32, 1e-5].map(|x| p.constant(Elem::F32, &bytes(x)));
    let sum = p.reduce(Reducer::Sum, v, zero).unwrap();
    let mean = p.binary(Binary::Div, sum, n).unwrap();
    let d = p.binary(Binary::Sub, v, mean).unwrap();
    let square = p.binary(Binary::Mul, d, d).unwrap();
    let squares = p.reduce(Reducer::Sum, square, zero).unwrap();
    let variance = p.binary(Binary::Div, squares, n).unwrap();
    let shifted = p.binary(Binary::Add, variance, eps).unwrap();
    let inverse = p.unary(Unary::Rsqrt, shifted).unwrap();
    let normal = p.binary(Binary::Mul, d, inverse).unwrap();
    let out = p.binary(Binary::Mul, normal, g).unwrap();
    p.output(out, &[c, 1]);
    run(&p, &[Source::of(&x), Source::of(&gamma)], &mut y);
    for r in 0..rows {
        let row = &x[r * cols..(r + 1) * cols];
        let add = |a: f32, b: f32| a + b;
        let mean = order::fold_row(cols, LANES_32, 0.0, |i| row[i], add) / n_of(cols);
        let variance = order::fold_row(cols, LANES_32, 0.0, |i| (row[i] - mean) * (row[i] - mean), add) / n_of(cols);
        let inverse = 1.0 / (variance + 1e-5).sqrt();
        assert!((0..cols).all(|j| y[r * cols + j] == (row[j] - mean) * inverse * gamma[j]));
    }
}

fn n_of(cols: usize) -> f32 {
    cols as f32
}

#[test]
fn extremes_and_truth_values_reduce() {
    let x = [3.0f32, -0.0, f32::NAN, 7.0];
    let flags = [1u8, 0, 1, 1];
    let reduce = |reducer, elem, input: Source<'_>, init: Vec<u8>, n: usize| {
        let mut p = Program::new(&[1, n]).reducing(&[1]);
        let v = p.input(elem, &[n as isize, 1]);
        let init = p.constant(elem, &init);
        let r = p.reduce(reducer, v, init).unwrap();
        p.row_output(r, &[0, 0]);
        let mut out = vec![0u8; elem.size()];
        run(&p, &[input], &mut out);
        out
    };
    let as_f32 = |b: Vec<u8>| f32::from_le_bytes(b.try_into().unwrap());
    let max = |n| as_f32(reduce(Reducer::Max, Elem::F32, Source::of(&x), bytes(f32::NEG_INFINITY), n));
    assert_eq!(max(2), 3.0);
    assert!(max(4).is_nan());
    assert_eq!(reduce(Reducer::And, Elem::Bool, Source::of(&flags), vec![1], 4), [0]);
    assert_eq!(reduce(Reducer::Or, Elem::Bool, Source::of(&flags), vec![0], 4), [1]);
    assert_eq!(reduce(Reducer::Sum, Elem::U8, Source::of(&[200u8, 100]), vec![0], 2), [44]);
}

#[test]
fn results_may_take_the_place_of_an_input() {
    let mut x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut p = Program::new(&[1000]);
    let v = p.input(Elem::F32, &[1]);
    let square = p.binary(Binary::Mul, v, v).unwrap();
    let sum = p.binary(Binary::Add, square, v).unwrap();
    p.output(sum, &[1]);
    let kernel = p.compile().unwrap();
    assert!(kernel.in_place(1, 0));
    kernel.run(&Workers::new(1), &[Operand::InPlace, Operand::Write(Target::of(&mut x))], false);
    assert!((0..1000).all(|i| x[i] == (i * i + i) as f32));
}

#[test]
fn instances_run_together() {
    let x: Vec<f32> = (0..800).map(|i| i as f32).collect();
    let mut y = vec![0.0f32; 800];
    let mut p = Program::new(&[100]);
    let v = p.input(Elem::F32, &[1]);
    let minus = p.unary(Unary::Neg, v).unwrap();
    p.output(minus, &[1]);
    let kernel = p.compile().unwrap();
    let instances = x.chunks(100).zip(y.chunks_mut(100));
    let operands = instances.flat_map(|(x, y)| [Operand::Read(Source::of(x)), Operand::Write(Target::of(y))]);
    kernel.run(&Workers::new(2), &operands.collect::<Vec<_>>(), true);
    assert!((0..800).all(|i| y[i] == -x[i]));
}

#[test]
fn what_cannot_be_fused_says_so() {
    let mut p = Program::new(&[4, 5, 6]).reducing(&[1, 2]);
    let v = p.input(Elem::F32, &[30, 6, 1]);
    let row = p.input(Elem::F32, &[5, 1, 0]);
    let sum = p.binary(Binary::Add, v, row).unwrap();
    let zero = p.constant(Elem::F32, &bytes(0.0f32));
    let total = p.reduce(Reducer::Sum, sum, zero).unwrap();
    p.row_output(total, &[1, 0, 0]);
    assert_eq!(p.compile().unwrap_err(), Unfusable::Row);
    let mut p = Program::new(&[2, 3]).reducing(&[0]);
    let x = p.input(Elem::F32, &[3, 1]);
    p.output(x, &[0, 1]);
    assert_eq!(p.compile().unwrap_err(), Unfusable::Output);
}

fn copy(n: usize, from: isize, to: isize) -> Program {
    let mut p = Program::new(&[n, 2]);
    let x = p.input(Elem::F32, &[from, 1]);
    p.output(x, &[to, 1]);
    p
}

#[test]
fn an_element_is_written_once() {
    assert!(copy(3, 0, 2).compile().is_ok());
    assert_eq!(copy(3, 2, 1).compile().unwrap_err(), Unfusable::Output);
    assert_eq!(copy(3, 2, 0).compile().unwrap_err(), Unfusable::Output);
    // Each part of a long row would write the row's value.
    let mut p = Program::new(&[3, 100_000]);
    let x = p.input(Elem::F32, &[1, 0]);
    p.row_output(x, &[1, 0]);
    assert_eq!(p.compile().unwrap_err(), Unfusable::Output);
}

fn run_copy(len: usize, start: usize, room: usize, from: isize) {
    let (x, mut y) = (vec![0u8; len], vec![0u8; room]);
    let operands = [Operand::Read(Source::at(&x, start)), Operand::Write(Target::of(&mut y))];
    copy(3, from, 3).compile().unwrap().run(&Workers::new(1), &operands, false);
}

#[test]
fn operands_have_what_is_reached() {
    // The rows have 8 bytes and are 12 bytes apart, so 32 bytes are reached.
    run_copy(32, 0, 32, 3);
    run_copy(32, 24, 32, -3);
    for (len, start, room, from) in [(31, 0, 32, 3), (32, 0, 31, 3), (32, 23, 32, -3), (32, 25, 32, -3), (0, 0, 32, 0)]
    {
        let run = std::panic::catch_unwind(|| run_copy(len, start, room, from));
        assert!(run.is_err(), "{len} {start} {room} {from}");
    }
}

#[test]
#[should_panic(expected = "operand 0 of a kernel")]
fn operands_are_where_the_program_has_them() {
    let (x, mut y) = ([0f32; 8], [0f32; 8]);
    let operands = [Operand::Write(Target::of(&mut y)), Operand::Read(Source::of(&x))];
    copy(3, 2, 2).compile().unwrap().run(&Workers::new(1), &operands, false);
}

#[test]
fn a_row_is_added_to_exponentials() {
    let mut p = Program::new(&[2, 3]);
    let x = p.input(Elem::F32, &[3, 1]);
    let row = p.input(Elem::F32, &[0, 1]);
    let e = p.unary(Unary::Exp, x).unwrap();
    let sum = p.binary(Binary::Add, e, row).unwrap();
    p.output(sum, &[3, 1]);
    let (x, row, mut out) = ([0.0f32, 1.0, -1.0, 2.0, 0.5, 0.0], [10.0f32, 20.0, 30.0], [0.0f32; 6]);
    run(&p, &[Source::of(&x), Source::of(&row)], &mut out);
    let want: Vec<f32> = x.iter().zip(row.iter().cycle()).map(|(&x, row)| shardwise_mathfn::exp_f32(x) + row).collect();
    assert_eq!(out[..], want);
}

/// Checks `sum(-x) - sum(x)` over one dimension of three, where `sum` begins with 1/4, at all levels.
fn check_tiles(shape: [usize; 3], dim: usize) {
    let [a, b, c] = shape;
    let mut random = Random((a * 71 + b * 7 + c) as u64 + 1);
    let x: Vec<f32> = (0..a * b * c).map(|_| random.next() as i32 as f32 / 1e9).collect();
    let wide: Vec<f64> = x.iter().map(|&x| f64::from(x) * 1.1).collect();
    let strides = [b * c, c, 1].map(|n| n as isize);
    let to = if dim == 1 { [c, 0, 1] } else { [b, 1, 0] }.map(|n| n as isize);
    let program = |elem: Elem, quarter: Vec<u8>| {
        let mut p = Program::of(elem, &shape).reducing(&[dim]);
        let v = p.input(elem, &strides);
        let minus = p.unary(Unary::Neg, v).unwrap();
        let init = p.constant(elem, &quarter);
        let [n, m] = [minus, v].map(|v| p.reduce(Reducer::Sum, v, init).unwrap());
        let sum = p.binary(Binary::Sub, n, m).unwrap();
        if dim == 1 {
            p.output(sum, &to)
        } else {
            p.row_output(sum, &to)
        }
        p
    };
    let at = |i: usize, r: usize| if dim == 1 { (i / c * b + r) * c + i % c } else { i * c + r };
    let (rows, len) = if dim == 1 { (b, 1) } else { (1, c) };
    let mut out = vec![0f32; a * b * c / shape[dim]];
    run(&program(Elem::F32, bytes(0.25f32)), &[Source::of(&x)], &mut out);
    for (i, &got) in out.iter().enumerate() {
        let sum = order::fold(rows, len, LANES_32, -0.0, |r| x[at(i, r)], |a: f32, b| a + b).unwrap();
        assert_eq!(got, (0.25 - sum) - (0.25 + sum), "{shape:?} {dim} {i}");
    }
    let mut out = vec![0f64; a * b * c / shape[dim]];
    run(&program(Elem::F64, bytes(0.25f64)), &[Source::of(&wide)], &mut out);
    for (i, &got) in out.iter().enumerate() {
        let sum = order::fold(rows, len, LANES_64, -0.0, |r| wide[at(i, r)], |a: f64, b| a + b).unwrap();
        assert_eq!(got, (0.25 - sum) - (0.25 + sum), "{shape:?} {dim} {i}");
    }
}

#[test]
fn short_rows_and_few_lanes_are_folded_in_the_documented_order() {
    for n in 2..=130 {
        check_tiles([1, 21, n], 2);
        check_tiles([1, 21, n], 1);
        check_tiles([3, n, 5], 1);
    }
    for shape in [[1, 4100, 3], [5, 300, 7], [2, 5000, 2], [1, 513, 16], [40, 9, 33], [1, 700, 100], [3, 8, 127]] {
        (1..3).for_each(|dim| check_tiles(shape, dim));
    }
}

/// Runs a program of two outputs at every level, with its stages and row by row, and checks that both results have the
/// same bits.
fn compare_stages(program: &Program, inputs: &[Source<'_>], sizes: [usize; 2]) {
    let kernel = program.compile().unwrap();
    assert!(kernel.has_stages());
    let by_row = kernel.clone().without_stages();
    for level in Level::available() {
        let [tiles, rows, shared] = [(&kernel, 1), (&by_row, 1), (&kernel, 3)].map(|(kernel, workers)| {
            let (mut first, mut second) = (vec![1f32; sizes[0]], vec![2f32; sizes[1]]);
            let mut operands: Vec<Operand> = inputs.iter().copied().map(Operand::Read).collect();
            operands.extend([&mut first, &mut second].map(|out| Operand::Write(Target::of(&mut out[..]))));
            kernel.run_at(level, &Workers::new(workers), &operands, true);
            [first, second].concat().into_iter().map(f32::to_bits).collect::<Vec<u32>>()
        });
        assert!(tiles == rows && shared == rows, "{level:?} {sizes:?}");
    }
}

fn numbers(count: usize, random: &mut Random) -> Vec<f32> {
    (0..count).map(|_| random.next() as i32 as f32 / 1e9).collect()
}

/// Tests a chain of two levels of reductions over rows, whose operands do not flatten, and vary by row, by lane or
/// both.
#[test]
fn chains_on_short_rows_are_those_on_each_row() {
    for [a, b, c] in [[1, 9, 2], [3, 40, 8], [2, 700, 7], [5, 33, 127], [2, 64, 64]] {
        let mut random = Random(c as u64);
        let (x, y, w) = (numbers(a * b * c, &mut random), numbers(a * b * c, &mut random), numbers(a * b, &mut random));
        let w: Vec<bf16> = w.into_iter().map(bf16::from_f32).collect();
        let gamma = numbers(c, &mut random);
        let mut p = Program::new(&[a, b, c]).reducing(&[2]);
        let strides = |s: [usize; 3]| s.map(|n| n as isize);
        let x_in = p.input(Elem::F32, &strides([b * c, c, 1]));
        let y_in = p.input(Elem::F32, &strides([c, a * c, 1]));
        let w_in = p.input(Elem::BF16, &strides([b, 1, 0]));
        let gamma_in = p.input(Elem::F32, &strides([0, 0, 1]));
        let zero = p.constant(Elem::F32, &bytes(0f32));
        let (row, lane) = (p.index(Elem::I32, 1), p.index(Elem::I32, 2));
        let number = p.binary(Binary::Add, row, lane).unwrap();
        let number = p.convert(number, Elem::F32).unwrap();
        let w_root = p.unary(Unary::Abs, w_in).unwrap();
        let w_root = p.convert(w_root, Elem::F32).unwrap();
        let w_root = p.unary(Unary::Sqrt, w_root).unwrap();
        let xy = p.binary(Binary::Add, x_in, y_in).unwrap();
        let xy = p.binary(Binary::Mul, xy, w_root).unwrap();
        let max = p.reduce(Reducer::Max, xy, zero).unwrap();
        let shifted = p.binary(Binary::Sub, xy, max).unwrap();
        let e = p.unary(Unary::Exp, shifted).unwrap();
        let weighted = p.binary(Binary::Mul, e, gamma_in).unwrap();
        let sums = [e, weighted, x_in].map(|v| p.reduce(Reducer::Sum, v, zero).unwrap());
        let share = p.binary(Binary::Div, e, sums[0]).unwrap();
        let more = p.binary(Binary::Mul, number, sums[1]).unwrap();
        let out = p.binary(Binary::Add, share, more).unwrap();
        let of_row = p.binary(Binary::Sub, sums[1], sums[2]).unwrap();
        p.output(out, &strides([b * c, c, 1]));
        p.row_output(of_row, &strides([1, a, 0]));
        let inputs = [Source::of(&x), Source::of(&y), Source::of(&w), Source::of(&gamma)];
        compare_stages(&p, &inputs, [a * b * c, a * b]);
    }
}

#[test]
fn chains_on_few_lanes_are_those_on_each_row() {
    for [a, b, c] in [[1, 8, 2], [1, 1000, 3], [1, 5000, 17], [6, 600, 10], [90, 12, 8], [3, 8, 127]] {
        let mut random = Random(c as u64);
        let (x, y, w) = (numbers(a * b * c, &mut random), numbers(a * c, &mut random), numbers(b, &mut random));
        let mut p = Program::new(&[a, b, c]).reducing(&[1]);
        let strides = |s: [usize; 3]| s.map(|n| n as isize);
        let x_in = p.input(Elem::F32, &strides([b * c, c, 1]));
        let y_in = p.input(Elem::F32, &strides([c, 0, 1]));
        let w_in = p.input(Elem::F32, &strides([0, 1, 0]));
        let zero = p.constant(Elem::F32, &bytes(0f32));
        let row = p.index(Elem::I32, 1);
        let row = p.convert(row, Elem::F32).unwrap();
        let d = p.binary(Binary::Sub, x_in, y_in).unwrap();
        let square = p.binary(Binary::Mul, d, d).unwrap();
        let weighted = p.binary(Binary::Mul, square, w_in).unwrap();
        let weighted = p.binary(Binary::Add, weighted, row).unwrap();
        let sums = [x_in, weighted].map(|v| p.reduce(Reducer::Sum, v, zero).unwrap());
        let max = p.reduce(Reducer::Max, square, zero).unwrap();
        let first = p.binary(Binary::Mul, sums[0], y_in).unwrap();
        let second = p.binary(Binary::Div, sums[1], max).unwrap();
        p.output(first, &strides([c, 0, 1]));
        p.output(second, &strides([1, 0, a]));
        compare_stages(&p, &[Source::of(&x), Source::of(&y), Source::of(&w)], [a * c; 2]);
    }
}

#[test]
fn short_rows_may_be_written_in_place() {
    let (rows, cols) = (1000, 7);
    let x = numbers(rows * cols, &mut Random(4));
    let mut p = Program::new(&[rows, cols]).reducing(&[1]);
    let v = p.input(Elem::F32, &[cols as isize, 1]);
    let zero = p.constant(Elem::F32, &bytes(0f32));
    let sum = p.reduce(Reducer::Sum, v, zero).unwrap();
    let share = p.binary(Binary::Div, v, sum).unwrap();
    p.output(share, &[cols as isize, 1]);
    let kernel = p.compile().unwrap();
    assert!(kernel.has_stages() && kernel.in_place(1, 0));
    let (mut own, mut apart) = (x.clone(), vec![0f32; rows * cols]);
    kernel.run(&Workers::new(2), &[Operand::InPlace, Operand::Write(Target::of(&mut own))], false);
    kernel.run(&Workers::new(2), &[Operand::Read(Source::of(&x)), Operand::Write(Target::of(&mut apart))], false);
    assert!(own == apart);
}
