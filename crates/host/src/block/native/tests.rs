//! Random programs as machine code, compared with the block machine.

use crate::block::tests::Random;
use crate::block::{Binary, Comparison, Operand, Program, Reducer, Unary, Value};
use crate::elem::Elem;
use crate::operand::{Source, Target};
use crate::pool::Workers;
use crate::simd::Level;

const NARROW: [Elem; 10] =
    [Elem::F32, Elem::I32, Elem::Bool, Elem::U32, Elem::BF16, Elem::I8, Elem::U8, Elem::I16, Elem::U16, Elem::F32];
const WIDE: [Elem; 9] =
    [Elem::F64, Elem::I64, Elem::U64, Elem::F32, Elem::Bool, Elem::I32, Elem::U32, Elem::I8, Elem::U16];
const UNARY: [Unary; 12] = [
    Unary::Abs,
    Unary::Ceil,
    Unary::CountLeadingZeros,
    Unary::Exp,
    Unary::IsFinite,
    Unary::Neg,
    Unary::Not,
    Unary::Popcount,
    Unary::Rsqrt,
    Unary::Sign,
    Unary::Sqrt,
    Unary::Tanh,
];
const BINARY: [Binary; 16] = [
    Binary::Add,
    Binary::And,
    Binary::Compare(Comparison::Eq),
    Binary::Compare(Comparison::Lt),
    Binary::Compare(Comparison::Ge),
    Binary::Div,
    Binary::Max,
    Binary::Min,
    Binary::Mul,
    Binary::Or,
    Binary::Rem,
    Binary::ShiftLeft,
    Binary::ShiftRightArithmetic,
    Binary::ShiftRightLogical,
    Binary::Sub,
    Binary::Xor,
];
const REDUCERS: [Reducer; 6] = [Reducer::Sum, Reducer::Product, Reducer::Max, Reducer::Min, Reducer::And, Reducer::Or];

/// A random program, and its operands.
struct Case {
    random: Random,
    program: Program,
    sizes: Vec<usize>,
    is_wide: bool,
    values: Vec<Value>,
    inputs: Vec<Vec<u8>>,
    /// The type and the bytes of each output.
    outputs: Vec<(Elem, Vec<u8>)>,
}

/// Returns strides of an array that has its own dimensions in any order, and the number of its elements. The array has
/// one more element behind each if `is_spread`.
fn strides(random: &mut Random, sizes: &[usize], has: &[bool], is_spread: bool) -> (Vec<isize>, usize) {
    let mut order: Vec<usize> = (0..sizes.len()).filter(|&d| has[d]).collect();
    if random.next().is_multiple_of(3) {
        order.reverse();
    }
    let (mut strides, mut count) = (vec![0; sizes.len()], if is_spread { 2 } else { 1 });
    for &d in order.iter().rev() {
        strides[d] = count as isize;
        count *= sizes[d];
    }
    (strides, count)
}

impl Case {
    fn new(seed: u64) -> Option<Case> {
        let mut random = Random(seed);
        let lens = [1, 2, 3, 4, 5, 8, 9, 17, 33, 70, 81];
        let sizes: Vec<usize> = (0..1 + random.pick(3)).map(|_| lens[random.pick(lens.len())]).collect();
        if sizes.iter().product::<usize>() > 20_000 {
            return None;
        }
        let (is_wide, how, edge) = (random.pick(3) == 0, random.pick(3), 1 + random.pick(sizes.len()));
        let reduced: Vec<usize> = match how {
            0 => vec![],
            1 => (edge - 1..sizes.len()).collect(),
            _ => (0..edge.min(sizes.len() - 1)).collect(),
        };
        let program = Program::new(&sizes);
        let program = if is_wide { program.wide() } else { program };
        let program = program.reducing(&reduced);
        let mut case = Case { random, program, sizes, is_wide, values: vec![], inputs: vec![], outputs: vec![] };
        case.operands();
        for _ in 0..1 + case.random.pick(10) {
            case.operation();
        }
        case.finish(&reduced)
    }

    fn elem(&mut self) -> Elem {
        let elems: &[Elem] = if self.is_wide { &WIDE } else { &NARROW };
        elems[self.random.pick(elems.len())]
    }

    fn operands(&mut self) {
        for _ in 0..1 + self.random.pick(3) {
            let (elem, is_spread) = (self.elem(), self.random.pick(6) == 0);
            let has: Vec<bool> = self.sizes.iter().map(|_| self.random.pick(3) > 0).collect();
            let (strides, count) = strides(&mut self.random, &self.sizes, &has, is_spread);
            let bytes = (0..count * elem.size()).map(|_| self.random.next() as u8);
            let bytes: Vec<u8> = if elem == Elem::Bool { bytes.map(|b| b & 1).collect() } else { bytes.collect() };
            self.inputs.push(bytes);
            self.values.push(self.program.input(elem, &strides));
        }
        let dim = self.random.pick(self.sizes.len());
        self.values.push(self.program.index(Elem::I32, dim));
        let elem = self.elem();
        self.values.push(self.program.constant(elem, &[1, 0, 0, 0, 0, 0, 0, 0][..elem.size()]));
    }

    fn value(&mut self) -> Value {
        self.values[self.random.pick(self.values.len())]
    }

    /// Returns a value of type `elem`.
    fn of(&mut self, elem: Elem) -> Value {
        let value = self.value();
        self.program.convert(value, elem).expect("a conversion")
    }

    fn operation(&mut self) {
        let a = self.value();
        let result = match self.random.pick(5) {
            0 => self.program.unary(UNARY[self.random.pick(UNARY.len())], a),
            1 => {
                let (predicate, b) = (self.of(Elem::Bool), self.of(a.elem));
                Some(self.program.select(predicate, a, b))
            }
            2 => {
                let elem = self.elem();
                self.program.convert(a, elem)
            }
            _ => {
                let b = self.of(a.elem);
                self.program.binary(BINARY[self.random.pick(BINARY.len())], a, b)
            }
        };
        self.values.extend(result);
    }

    /// Adds a reduction if there are dimensions for it, and the output.
    fn finish(mut self, reduced: &[usize]) -> Option<Case> {
        let mut last = *self.values.last()?;
        let (mut has, mut is_row_output) = (vec![true; self.sizes.len()], false);
        if !reduced.is_empty() {
            let init = self.of(last.elem);
            let init = if self.random.pick(2) == 0 { init } else { self.program.identity(Reducer::Sum, last.elem)? };
            last = self.program.reduce(REDUCERS[self.random.pick(REDUCERS.len())], last, init)?;
            is_row_output = reduced.contains(&(self.sizes.len() - 1)) && self.random.pick(3) > 0;
            if is_row_output || !reduced.contains(&(self.sizes.len() - 1)) {
                reduced.iter().for_each(|&d| has[d] = false);
            } else {
                let other = self.of(last.elem);
                last = self.program.binary(Binary::Sub, other, last)?;
            }
        }
        self.output(last, &has, is_row_output);
        if reduced.is_empty() && self.random.pick(3) == 0 {
            let other = self.value();
            self.output(other, &has, false);
        }
        Some(self)
    }

    fn output(&mut self, value: Value, has: &[bool], is_row_output: bool) {
        let (strides, count) = strides(&mut self.random, &self.sizes, has, false);
        match is_row_output {
            true => self.program.row_output(value, &strides),
            false => self.program.output(value, &strides),
        }
        self.outputs.push((value.elem, vec![7; count * value.elem.size()]));
    }

    /// Runs the program both ways, and compares the results. Returns false if there is no kernel or no machine code.
    fn check(&mut self, seed: u64) -> bool {
        let Ok(kernel) = self.program.compile() else { return false };
        let (workers, part) = (Workers::new(2), [1, 100, usize::MAX][self.random.pick(3)]);
        let mut native = self.outputs.clone();
        if !kernel.run_as_machine_code(&workers, &operands(&self.inputs, &mut native), part) {
            return false;
        }
        kernel.run_at(Level::best(), &workers, &operands(&self.inputs, &mut self.outputs), false);
        self.compare(&native, seed);
        for (i, input) in self.inputs.iter().enumerate() {
            if kernel.in_place(self.inputs.len(), i) && input.len() == self.outputs[0].1.len() {
                let mut native = vec![(self.outputs[0].0, input.clone())];
                let mut operands = operands(&self.inputs, &mut native);
                operands[i] = Operand::InPlace;
                kernel.run_as_machine_code(&workers, &operands, part);
                self.compare(&native, seed);
            }
        }
        true
    }

    fn compare(&self, native: &[(Elem, Vec<u8>)], seed: u64) {
        for ((elem, native), (_, want)) in native.iter().zip(&self.outputs) {
            let elements = native.chunks(elem.size()).zip(want.chunks(elem.size()));
            for (i, (a, b)) in elements.enumerate() {
                let is_same = a == b || (is_nan(*elem, a) && is_nan(*elem, b));
                assert!(is_same, "seed {seed}: element {i}: {a:x?}, not {b:x?}: {:?}", self.program);
            }
        }
    }
}

fn operands<'a>(inputs: &'a [Vec<u8>], outputs: &'a mut [(Elem, Vec<u8>)]) -> Vec<Operand<'a>> {
    let inputs = inputs.iter().map(|bytes| Operand::Read(Source::of(bytes)));
    inputs.chain(outputs.iter_mut().map(|(_, bytes)| Operand::Write(Target::of(bytes)))).collect()
}

fn is_nan(elem: Elem, bytes: &[u8]) -> bool {
    match (elem, bytes) {
        (Elem::F64, bytes) => f64::from_le_bytes(bytes.try_into().expect("8 bytes")).is_nan(),
        (Elem::F32, bytes) => f32::from_le_bytes(bytes.try_into().expect("4 bytes")).is_nan(),
        (Elem::BF16, bytes) => half::bf16::from_le_bytes(bytes.try_into().expect("2 bytes")).is_nan(),
        _ => false,
    }
}

#[test]
fn programs_have_the_bits_of_the_block_machine() {
    let count =
        (1..=3000).filter(|&seed| Case::new(seed * 0x9e37_79b9).is_some_and(|mut case| case.check(seed))).count();
    assert!(count > 1000, "only {count} programs are machine code");
}
