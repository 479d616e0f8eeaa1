//! Each operation in machine code, compared with the interpreter.

use super::Native;
use crate::block::machine::Op;
use crate::elem::Elem;
use crate::small::interpreter::Interpreter;
use crate::small::words::Words;
use crate::small::{Action, Array, Bytes, Code, Input, Ins, Output, Place, Program, Window};
use smallvec::{SmallVec, smallvec};

fn real(place: Place, len: usize) -> Array {
    Array { place, len, parts: 1 }
}

/// Returns `count` words, drawn from a seed, with the bits of `f64` and `i64` if `is_wide`, and otherwise of `f32` and
/// `i32`: of numbers at which operations are special, and of others.
fn words(is_wide: bool, count: usize, seed: u64) -> Vec<u64> {
    const FLOATS: [f64; 18] = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        -1.0,
        1.5,
        2.5,
        -2.5,
        3e9,
        -3e9,
        1e10,
        -1e20,
        1e-40,
        0.3,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    const INTEGERS: [i64; 12] = [0, 1, -1, 2, 7, -7, 31, 32, 63, 64, i64::MIN, i64::MAX];
    let bits = |x: f64| if is_wide { x.to_bits() } else { u64::from((x as f32).to_bits()) };
    let low = |n: i64| if is_wide { n as u64 } else { u64::from((n ^ (n >> 32)) as u32) };
    let mut state = seed;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut word = || match next(4) {
        0 => bits(FLOATS[next(FLOATS.len())]),
        1 => low(INTEGERS[next(INTEGERS.len())]),
        2 => bits(next(2000) as f64 / 16.0 - 60.0),
        _ => low((next(1 << 30) as i64) << next(33)),
    };
    (0..count).map(|_| word()).collect()
}

fn bytes(is_wide: bool, words: &[u64]) -> Vec<u8> {
    let width = if is_wide { 8 } else { 4 };
    words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(width)).collect()
}

/// Runs a program with one output of `size` bytes on each list of inputs: on all by the interpreter, then on all by
/// machine code. For each list, calls `check` with the result of the machine code and that of the interpreter.
fn compare(code: Code, inputs: &[Vec<Vec<u8>>], size: usize, check: impl Fn(&[u8], &[u8])) {
    let program = Program::new(code);
    let run = |is_eager: bool| {
        let of = |inputs: &Vec<Vec<u8>>| {
            let mut result = vec![0; size];
            let mut inputs: Vec<Bytes<'_>> = inputs.iter().map(|input| Bytes::Read(input)).collect();
            program.run(&mut inputs, &mut [&mut result], is_eager);
            result
        };
        inputs.iter().map(of).collect::<Vec<_>>()
    };
    let want = run(false);
    assert!(!program.is_hot(), "the interpreter has run");
    let got = run(true);
    assert!(program.is_hot(), "there is machine code");
    got.iter().zip(&want).for_each(|(got, want)| check(got, want));
}

/// Returns true if both have the same bits, or both are NaN: the sign and the low bits of NaN may differ.
fn is_same(is_wide: bool, a: &[u8], b: &[u8]) -> bool {
    let is_nan = |x: &[u8]| match is_wide {
        true => f64::from_le_bytes(x.try_into().expect("8 bytes")).is_nan(),
        false => f32::from_le_bytes(x.try_into().expect("4 bytes")).is_nan(),
    };
    let width = if is_wide { 8 } else { 4 };
    a.chunks(width).zip(b.chunks(width)).all(|(a, b)| a == b || (is_nan(a) && is_nan(b)))
}

#[test]
fn operations_have_the_bits_of_the_interpreter() {
    for is_wide in [false, true] {
        let (elem, width) = if is_wide { (Elem::U64, 8) } else { (Elem::U32, 4) };
        for (len, steps) in
            [(1, [1, 1]), (2, [1, 1]), (3, [1, 0]), (4, [0, 1]), (7, [1, 1]), (57, [1, 0]), (90, [1, 1])]
        {
            let mut code = Code::default();
            let [a, b] = steps.map(|step| Place { step, ..code.place(elem, len) });
            code.inputs = [a, b].map(|place| Input::Words(real(Place { step: 1, ..place }, len))).to_vec();
            let to = code.place(elem, len * Op::TESTED.len());
            for (op, k) in Op::TESTED.iter().zip(0..) {
                let action = Action::Each { op: *op, len: len as u32, to: to.at + k * len as u32, a, b };
                code.push(Ins::on(is_wide, action));
            }
            code.outputs.push(Output::Words(real(to, len * Op::TESTED.len())));
            let inputs = |seed| [seed, 100 + seed].map(|seed| bytes(is_wide, &words(is_wide, len, seed))).to_vec();
            let inputs: Vec<Vec<Vec<u8>>> = (0..20).map(inputs).collect();
            compare(code, &inputs, len * width * Op::TESTED.len(), |got, want| {
                let results = got.chunks(len * width).zip(want.chunks(len * width));
                for (op, (got, want)) in Op::TESTED.iter().zip(results) {
                    assert!(is_same(is_wide, got, want), "{op:?} of {len} words: {got:x?} is not {want:x?}");
                }
            });
        }
    }
}

#[test]
fn shifts_by_constants_have_the_bits_of_the_interpreter() {
    for is_wide in [false, true] {
        let (elem, width) = if is_wide { (Elem::U64, 8) } else { (Elem::U32, 4) };
        let (mut code, len) = (Code::default(), 6);
        let a = code.place(elem, len);
        code.inputs = vec![Input::Words(real(a, len))];
        let by: Vec<u64> = vec![0, 1, 13, 31, 32, 33, 63, 64, 100];
        let ops = [Op::Shl, Op::Shr, Op::Sar];
        let constants: Vec<Place> = by.iter().map(|&by| code.constant(elem, by)).collect();
        let to = code.place(elem, len * by.len() * ops.len());
        let pairs = constants.iter().flat_map(|&b| ops.map(|op| (op, b)));
        for ((op, b), k) in pairs.zip(0..) {
            code.push(Ins::on(is_wide, Action::Each { op, len: len as u32, to: to.at + k * len as u32, a, b }));
        }
        code.outputs.push(Output::Words(real(to, len * by.len() * ops.len())));
        let inputs = vec![vec![bytes(is_wide, &words(is_wide, len, 5))]];
        compare(code, &inputs, len * width * by.len() * ops.len(), |got, want| assert_eq!(got, want));
    }
}

/// Checks folds of rows of several lengths, of several rows, and of runs of rows of one word.
#[test]
fn folds_have_the_bits_of_the_interpreter() {
    use Op::*;
    let ops = [
        (SumF, 0x8000_0000),
        (ProdF, 0x3f80_0000),
        (MaxF, 0xff80_0000),
        (MinF, 0x7f80_0000),
        (SumI, 0),
        (ProdI, 1),
        (MaxS, 0x8000_0000),
        (MinS, 0x7fff_ffff),
        (MaxU, 0),
        (MinU, 0xffff_ffff),
        (AllBits, 0xffff_ffff),
        (AnyBits, 0),
    ];
    for (op, identity) in ops {
        for (rows, row_len, run) in
            [(1, 2, 1), (1, 3, 1), (2, 5, 1), (3, 8, 1), (1, 16, 1), (1, 40, 1), (3, 1, 7), (9, 1, 4)]
        {
            let (mut code, count) = (Code::default(), rows * row_len * run);
            let (from, to) = (code.place(Elem::U32, count), code.place(Elem::U32, run));
            code.inputs = vec![Input::Words(real(from, count))];
            let firsts = (0..rows as u32).map(|row| from.at + row * (row_len * run) as u32);
            let table = code.table(firsts);
            let [len, rows, row_len, run] = [run, rows, row_len, run].map(|n| n as u32);
            code.push(Ins::On32(Action::Fold { op, identity, len, to: to.at, rows, row_len, run, table }));
            code.outputs.push(Output::Words(real(to, run as usize)));
            let inputs: Vec<Vec<Vec<u8>>> =
                (0..10).map(|seed| vec![bytes(false, &words(false, count, seed))]).collect();
            compare(code, &inputs, 4 * run as usize, |got, want| {
                assert!(is_same(false, got, want), "{op:?} of {rows} x {row_len} x {run}: {got:x?} is not {want:x?}");
            });
        }
    }
}

/// A run whose only input begins far in front of the bytes that its program accesses.
struct Far {
    words: Words,
    input: *mut u8,
    unpaid: u32,
}

impl Interpreter for Far {
    fn words(&mut self) -> &mut Words {
        &mut self.words
    }

    fn inputs(&mut self) -> SmallVec<[*mut u8; 8]> {
        smallvec![self.input]
    }

    fn unpaid(&mut self) -> &mut u32 {
        &mut self.unpaid
    }

    fn step(&mut self, at: u32) {
        panic!("instruction {at} is no machine code");
    }
}

/// Copies elements of an input of 2 GiB, whose offsets do not fit into instructions. Only its last bytes exist.
#[test]
fn elements_far_into_an_input_are_read_and_written() {
    const FAR: usize = (1 << 31) - 8;
    let mut code = Code::default();
    code.inputs.push(Input::Array { bytes: FAR + 88, is_written: true });
    let mut bytes: Vec<u8> = (0..88).collect();
    let mut want = bytes.clone();
    for (elem, from, to) in [(Elem::F32, 0, 12), (Elem::I16, 24, 30), (Elem::I64, 40, 64)] {
        let place = code.place(elem, 3);
        let [read, written] = [from, to].map(|offset| {
            let table = code.table([((FAR + offset) / elem.size()) as u32]);
            Window { run: 3, table, starts: 0..0, slices: 0..0 }
        });
        code.push(Ins::on(elem.is_wide(), Action::Read { elem, array: 0, to: place.at, window: read }));
        code.push(Ins::on(elem.is_wide(), Action::Write { array: 0, update: place, window: written }));
        want.copy_within(from..from + 3 * elem.size(), to);
    }
    let native = Native::new(&code).expect("machine code");
    let input = bytes.as_mut_ptr().wrapping_sub(FAR);
    native.run(&mut Far { words: code.words.clone(), input, unpaid: 0 }, 0);
    assert_eq!(bytes, want);
}

#[test]
#[should_panic(expected = "an input that the code writes is for writing")]
fn inputs_for_reading_are_not_written() {
    let mut code = Code::default();
    code.inputs.push(Input::Array { bytes: 64, is_written: true });
    let (update, table) = (code.constant(Elem::F32, 7), code.table([3]));
    let window = Window { run: 1, table, starts: 0..0, slices: 0..0 };
    code.push(Ins::On32(Action::Write { array: 0, update, window }));
    Program::new(code).run(&mut [Bytes::Read(&[0; 64])], &mut [], true);
}

/// Gathers and scatters 100 slices of a matrix, at indices of several types of which some are outside.
#[test]
fn many_slices_have_the_bits_of_the_interpreter() {
    const COUNT: usize = 100;
    for (elem, index) in [(Elem::F32, Elem::I32), (Elem::F64, Elem::I64), (Elem::I16, Elem::U64), (Elem::U32, Elem::U8)]
    {
        for (combine, columns) in [(None, 1), (Some(Op::SumI), 1), (Some(Op::MaxU), 3), (None, 2)] {
            let len = 2 * columns * COUNT;
            let (mut code, size) = (Code::default(), if elem.is_wide() { 8 } else { elem.size() });
            let [array, update] = [7 * 9, len].map(|len| code.place(elem, len));
            let indices = code.place(index, 2 * COUNT);
            let lens = [7 * 9, len, 2 * COUNT];
            code.inputs =
                [array, update, indices].into_iter().zip(lens).map(|(p, len)| Input::Words(real(p, len))).collect();
            let copy = code.place(elem, 7 * 9);
            code.push(Ins::on(elem.is_wide(), Action::Move { len: 7 * 9, to: copy.at, from: array }));
            let starts = code.starts.len() as u32;
            for (dim, (most, stride)) in [(5, 9), (9 - columns as u32, 1)].into_iter().enumerate() {
                let index = Place { at: indices.at + dim as u32, ..indices };
                code.starts.push(crate::small::Start { index, most, stride });
            }
            let slices = code.table((0..COUNT as u32).flat_map(|k| [0, 2 * k]));
            let window = |code: &mut Code, at: u32| {
                let table = code.table([at, at + 9]);
                Window { run: columns as u32, table, starts: starts..starts + 2, slices: slices.clone() }
            };
            let (to, put) = (code.place(elem, len), window(&mut code, 0));
            let action = Action::Put { combine, at: copy.at, update, window: put };
            code.push(Ins::on(elem.is_wide(), action));
            let picked = window(&mut code, copy.at);
            code.push(Ins::on(elem.is_wide(), Action::Window { to: to.at, window: picked }));
            code.outputs = vec![Output::Words(real(to, len))];
            let index_bytes = |seed: u64| -> Vec<u8> {
                let numbers = (0..2 * COUNT as u64).map(|i| ((i * i * 7 + i + seed) % 12) as i64 - 1);
                numbers.flat_map(|n| n.to_le_bytes().into_iter().take(index.size())).collect()
            };
            let raw = |len: usize, seed: u64| (0..len * elem.size()).map(|i| (i as u64 * 37 + seed) as u8).collect();
            let inputs = |seed: u64| vec![raw(7 * 9, seed), raw(len, seed + 3), index_bytes(seed)];
            let inputs: Vec<Vec<Vec<u8>>> = (0..10).map(inputs).collect();
            compare(code, &inputs, len * size, |got, want| {
                assert_eq!(got, want, "{columns} columns of {elem:?} at {index:?}, {combine:?}");
            });
        }
    }
}
