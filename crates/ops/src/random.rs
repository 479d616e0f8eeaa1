//! `rng_bit_generator`, which computes random bits from a key and a counter with Threefry or Philox, as XLA does, and
//! `rng`, whose numbers are this library's own. `DEFAULT` is Philox.
//!
//! The state is a key and a counter of 64 bits; Philox may have a counter of 128 bits. With Threefry, element `i` of
//! the output, counted row-major, has the counter `counter + i` if it is of 64 bits. Narrower elements take the two
//! words of one counter: the first dimension of even size is divided into pairs of neighbours, and pair `i`, counted
//! row-major, has the counter `counter + i`. If all sizes are odd, the first of the largest dimensions is divided, and
//! its last element is paired with none. With Philox, a block of four words has one counter.

use crate::check::{self, Check, counted_tensors};
use crate::eval::{self, Number};
use crate::facts::*;
use crate::make_collective as make;
use crate::schema::*;
use crate::{Opcode, index, shapes};
use shardwise_base::philox::philox4x32;
use shardwise_base::threefry::threefry2x32;
use shardwise_base::{DType, Data, Diagnostic, Diagnostics, Literal, LiteralWriter};
use shardwise_ir::{FuncId, Module, Op, OpView, TensorType, Type, Value};
use shardwise_mathfn as fns;
use shardwise_sharding::{FactorSpec, RuleBuilder};
use std::collections::HashSet;

pub struct RngBitGenerator;

impl RngBitGenerator {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required(
            "rng_algorithm",
            Some("rng_bit_generator_i1"),
            AttrKind::Enum(&Enumeration::stablehlo("rng_algorithm", &["DEFAULT", "THREE_FRY", "PHILOX"])),
        )],
        operands: Operands::Each,
        results: ResultLabels::both("rng_bit_generator_c1"),
        on_quantized: OnQuantized::Refuses,
        syntax: Syntax::pieces(&[Piece::Operand, Piece::Text(", algorithm = "), RNG_ALGORITHM], Types::Functional),
        names: Names::Results(&["output_state", "output"]),
        role: Role::Plain,
    };
}

impl Facts for RngBitGenerator {
    answer!(
        calculus = none(
            "random bits have no tangents",
            "it has one state, and each index of a batch needs a state of its own"
        )
    );
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let state = counted_tensors(op, 1..=1, 0)?[0];
        let algorithm = op.attrs().str("rng_algorithm").unwrap_or("");
        let mut check = Check::new(op);
        let is_state = state.rank() == 1 && state.dtype == DType::U64;
        check.that("rng_bit_generator_i2", is_state, "the state must be a vector of ui64");
        let fits = algorithm != "THREE_FRY" || state.shape.first() == Some(&2);
        check.that("rng_bit_generator_c2", fits, "the state of THREE_FRY must have two elements");
        let fits = algorithm == "THREE_FRY" || matches!(state.shape[..], [2 | 3]);
        check.that("rng_bit_generator_c2", fits, "the state of PHILOX or DEFAULT must have two or three elements");
        let output = op.results().get(1).and_then(|&v| op.body.ty(v).as_tensor());
        check.that("rng_bit_generator_o2", output.is_some(), "the second result must be a tensor");
        let is_real = output.is_none_or(|t| t.dtype.is_integer() || t.dtype.is_float());
        check.that("rng_bit_generator_o2", is_real, "the output must have integers or floats");
        check.so_far()?;
        check.give(output.map(|t| [state.clone().into(), t.clone().into()]).into_iter().flatten())
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (state, output) = (op.operand_shape(0), op.result_shape(1));
        let mut rule = RuleBuilder::new([state.len()], [state.len(), output.len()]);
        for (d, &size) in state.iter().enumerate() {
            let spec = FactorSpec::need_replication(size).blocked_if(true);
            rule.add_factor(&[Some(d)], &[Some(d), None], spec);
        }
        for (d, &size) in output.iter().enumerate() {
            rule.add_factor(&[None], &[None, Some(d)], FactorSpec::pass_through(size));
        }
        RuleFact::Rule(rule.build())
    }

    answer!(usual but splits);
    answer!(splits = Evenly);
    answer!(pure);
    answer!(class = Other);
    answer!(combine = none);

    /// Makes every device compute all bits and keep its own, so that they are the same whatever the sharding.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let sharding = cx.result_shardings[1].clone().expect("a tensor has a sharding");
        cx.result_types[1] = cx.op.result_type(1).clone();
        let results = cx.same_op();
        let dims: Vec<_> = sharding.dims.iter().map(|d| d.axes.clone()).collect();
        if sharding.is_replicated() {
            return Ok(results);
        }
        Ok(vec![results[0], make::local_slice(cx.builder, results[1], &sharding.mesh, &dims)])
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let algorithm = op.attrs().str("rng_algorithm").unwrap_or("");
        let t = op.result_tensor(1);
        if algorithm != "THREE_FRY" {
            return Ok(philox_bits(&x[0], t));
        }
        let (key, counter): (u64, u64) = (x[0].get(0), x[0].get(1));
        let wide = t.dtype.bits() == 64;
        let halves = Halves::of(&t.shape);
        let count = if wide { t.size() } else { halves.pair_count() };
        let state = Literal::new([2], &[key, counter.wrapping_add(count as u64)]);
        let words = |i: usize| threefry2x32(split(key), split(counter.wrapping_add(i as u64)));
        let output = if wide {
            let bits = Data::from_fn(count, |i| join(words(i)));
            Literal::from_bytes(t.dtype, &t.shape, bytemuck::cast_slice(&bits)).expect("one for each element")
        } else {
            halves.output(t.dtype, words)
        };
        Ok(vec![state, output])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        Cost::streams(op, 0.0).with_flops(op.result_tensor(1).size() as f64 * 50.0)
    }

    answer!(linear = No);
    answer!(explicit = not("bits have the sharding that their users ask for"));
    answer!(
        example = "func.func @main(%arg0: tensor<2xui64>) -> tensor<6x2xui32> {
  %output_state, %output = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6x2xui32>)
  return %output : tensor<6x2xui32>
}"
    );
}

/// Computes the next state and an output of type `t` with Philox. The state has the key and the two halves of a counter
/// of 128 bits, the low one first. If the state has no high half, the key is in its place. Block `i` of four words has
/// the counter `counter + i`. Elements of 64 bits take two words, the low one first. Narrower elements take the low
/// bits of one word.
fn philox_bits(state: &Literal, t: &TensorType) -> Vec<Literal> {
    let words_of_element = if t.dtype.bits() == 64 { 2 } else { 1 };
    let blocks = (t.size() * words_of_element).div_ceil(4);
    let state_words: Vec<u64> = (0..state.size()).map(|i| state.get(i)).collect();
    let high = state_words.get(2).copied().unwrap_or(state_words[0]);
    let counter = u128::from(state_words[1]) | u128::from(high) << 64;
    let key = split(state_words[0]);
    let block = |i: usize| {
        let x = counter.wrapping_add(i as u128);
        philox4x32(key, [0, 32, 64, 96].map(|shift| (x >> shift) as u32))
    };
    let words = Data::collect(blocks * 4, (0..blocks).flat_map(block));
    let width = t.dtype.storage_bytes();
    let mut output = LiteralWriter::new(t.dtype, &t.shape);
    for element in words.chunks(words_of_element).take(t.size()) {
        match element {
            [word] => output.push(&low_bits(t.dtype, *word)[..width]),
            words => output.push(bytemuck::cast_slice(words)),
        }
    }
    let next = counter.wrapping_add(blocks as u128);
    let next = [state_words[0], next as u64, (next >> 64) as u64];
    vec![Literal::new([state.size()], &next[..state.size()]), output.finish()]
}

/// `stablehlo.rng`: random numbers of a distribution. The specification leaves their computation to the implementation.
///
/// Element `i`, counted row-major, is computed from the Philox block with counter `i`. The key is the op's number among
/// the `rng`s of its module: the attribute `shardwise.stream`, which a pass before propagation sets on all of them. The
/// ops without it have the numbers from 0 on that no other op has as this attribute, in the order of the text. So a
/// program computes the same numbers in each run and on each mesh, and each `rng` computes its own. An `rng` in a loop
/// or in a function computes the same numbers each time.
pub struct Rng;

/// The attribute with the number of an `rng` among those of its module.
const STREAM: &str = "shardwise.stream";

fn streams(module: &Module) -> impl Iterator<Item = (FuncId, Op)> + '_ {
    let draws = |op: &OpView<'_>| Opcode::of_view(op) == Opcode::Rng;
    module.funcs.iter().enumerate().flat_map(move |(f, func)| {
        let ops = func.body.walk().into_iter().filter(move |&op| draws(&module.view(&func.body, op)));
        ops.map(move |op| (FuncId::new(f), op))
    })
}

/// Returns the number of an `rng` among those of its module: the attribute [`STREAM`] if the op has it. The ops without
/// it have the least numbers from 0 on that no op has as this attribute, in the order of the text.
fn stream_of(op: &OpView<'_>) -> u64 {
    if let Some(written) = op.attrs().int(STREAM) {
        return written as u64;
    }
    let number = |(f, other): &(FuncId, Op)| op.module[*f].body[*other].attrs.int(STREAM);
    let is_this = |(f, other): &(FuncId, Op)| *other == op.op && std::ptr::eq(&op.module[*f].body, op.body);
    let written: HashSet<i64> = streams(op.module).filter_map(|s| number(&s)).collect();
    let place = streams(op.module).filter(|s| number(s).is_none()).position(|s| is_this(&s)).unwrap_or(0);
    let mut free = (0..).filter(|n| !written.contains(n));
    free.nth(place).expect("more numbers than ops") as u64
}

impl Rng {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required(
                "rng_distribution",
                Some("rng_i4"),
                AttrKind::Enum(&Enumeration::stablehlo("rng_distribution", &["UNIFORM", "NORMAL"])),
            ),
            optional("shardwise.stream", None, AttrKind::Int(DType::I64), "the op has no number yet"),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Refuses,
        syntax: Syntax::pieces(
            &[
                Piece::Operand,
                COMMA,
                Piece::Operand,
                COMMA,
                Piece::Operand,
                Piece::Text(", distribution = "),
                RNG_DISTRIBUTION,
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Rng {
    answer!(
        calculus = none(
            "its results do not depend smoothly on its operands",
            "its operands `a` and `b` are scalars, which cannot differ along the batch"
        )
    );
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let ([a, b, shape], to) = (check::tensors(op)?, check::declared(op)?);
        let distribution = op.attrs().str("rng_distribution").unwrap_or("");
        let mut check = Check::new(op);
        check
            .that("rng_i1", a.rank() == 0 && !a.dtype.is_complex(), "`a` must be a scalar, and not complex")
            .that("rng_i2", b.rank() == 0, "`b` must be a scalar")
            .that("rng_i3", shape.rank() == 1 && shape.dtype.is_integer(), "`shape` must be a vector of integers")
            .that(
                "rng_c1",
                a.dtype == b.dtype && b.dtype == to.dtype,
                "`a`, `b` and the result must have the same element type",
            )
            .that("rng_c2", distribution != "NORMAL" || a.dtype.is_float(), "NORMAL is a distribution of floats")
            .so_far()?;
        let known = shapes::constant_operand(op, 2);
        let fits = known.is_none_or(|s| is_shape(s, to)) && shape.shape == [to.rank()];
        check
            .that("rng_c3", fits, "the result must have the shape that the operand `shape` states")
            .give([to.clone().into()])
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let shape = op.result_shape(0);
        let mut rule = RuleBuilder::new([0, 0, 1], [shape.len()]);
        rule.add_factor(&[None, None, Some(0)], &[None], FactorSpec::need_replication(shape.len()));
        for (d, &size) in shape.iter().enumerate() {
            rule.add_factor(&[None; 3], &[Some(d)], FactorSpec::pass_through(size));
        }
        RuleFact::Rule(rule.build())
    }

    /// Makes every device compute all numbers and keep its own, so that they are the same whatever the sharding.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let sharding = cx.result_shardings[0].clone().expect("a tensor has a sharding");
        cx.result_types[0] = cx.op.result_type(0).clone();
        let results = cx.same_op();
        if sharding.is_replicated() {
            return Ok(results);
        }
        let dims: Vec<_> = sharding.dims.iter().map(|d| d.axes.clone()).collect();
        Ok(vec![make::local_slice(cx.builder, results[0], &sharding.mesh, &dims)])
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let t = op.result_tensor(0);
        if !is_shape(&x[2], t) {
            return Err(crate::dynamic::other_shape(op, &x[2].to_i64s()));
        }
        let key = split(stream_of(op));
        let block = |i: usize| {
            let [a, b, c, d] = philox4x32(key, [i as u32, (i as u64 >> 32) as u32, 0, 0]);
            [join([a, b]), join([c, d])]
        };
        if t.dtype.is_float() {
            let (a, b) = (x[0].get_f64(0), x[1].get_f64(0));
            let is_normal = op.attrs().str("rng_distribution") == Some("NORMAL");
            let y = eval::fill(t.dtype, &t.shape, |i| {
                Number::Double(if is_normal { a + b * normal(block(i)) } else { between(a, b, fraction(block(i)[0])) })
            });
            return Ok(vec![if is_normal { y } else { below(&y, a, b) }]);
        }
        let (a, b) = (x[0].get_i128(0), x[1].get_i128(0));
        let count = (b - a).max(1);
        let at = |i: usize| a + i128::from(block(i)[0]) % count;
        let number = |n: i128| i64::try_from(n).map_or(Number::Unsigned(n as u64), Number::Signed);
        Ok(vec![eval::fill(t.dtype, &t.shape, |i| number(at(i)))])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        Cost::streams(op, 50.0)
    }

    answer!(usual but splits, number);
    fn number_attr(&self, _: &OpView<'_>) -> Option<&'static str> {
        Some(STREAM)
    }

    answer!(splits = Evenly);
    answer!(pure);
    answer!(class = Other);
    answer!(combine = none);
    answer!(linear = No);
    answer!(explicit = not("numbers have the sharding that their users ask for"));
    answer!(
        example = "func.func @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<6x2xf32> {
  %c = stablehlo.constant dense<[6, 2]> : tensor<2xi64>
  %0 = stablehlo.rng %arg0, %arg1, %c, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}"
    );
}

/// Returns true if `sizes` is a list of integers that are the sizes of `t`.
fn is_shape(sizes: &Literal, t: &TensorType) -> bool {
    let is_list = sizes.dtype().is_integer() && sizes.shape() == [t.rank()];
    is_list && t.shape.iter().enumerate().all(|(d, &n)| sizes.get_i128(d) == n as i128)
}

fn fraction(bits: u64) -> f64 {
    (bits >> 11) as f64 * 2f64.powi(-53)
}

/// Returns the number at `fraction` of the way from `a` to `b`, whose distance may be too large for an `f64`.
fn between(a: f64, b: f64, fraction: f64) -> f64 {
    let span = b - a;
    if span.is_infinite() { a * (1.0 - fraction) + b * fraction } else { a + span * fraction }
}

/// Returns a number of the standard normal distribution, computed from random bits by Box and Muller's transform.
fn normal([a, b]: [u64; 2]) -> f64 {
    let radius = (-2.0 * fns::log_f64(1.0 - fraction(a))).sqrt();
    radius * fns::cos_f64(std::f64::consts::TAU * fraction(b))
}

/// Returns `x` with `a` in place of elements that are not less than `b`, which may arise from rounding.
fn below(x: &Literal, a: f64, b: f64) -> Literal {
    eval::fill(x.dtype(), x.shape(), |i| Number::Double(if x.get_f64(i) < b { x.get_f64(i) } else { a }))
}

fn split(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

fn join([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Returns the bytes of an element of at most 32 bits that has the low bits of a word. The other bits are copies of the
/// sign bit for signed types, and zeros for all others.
fn low_bits(dtype: DType, word: u32) -> [u8; 4] {
    let unused = 32 - dtype.bits() as u32;
    let high = word << unused;
    let bits = if dtype.is_signed() { (high as i32 >> unused) as u32 } else { high >> unused };
    bits.to_le_bytes()
}

/// A shape whose elements are paired along one dimension.
struct Halves<'a> {
    shape: &'a [usize],
    /// The dimension that is divided into pairs, or `None` for a scalar.
    dim: Option<usize>,
    /// The shape of the pairs.
    pairs: Vec<usize>,
}

impl Halves<'_> {
    fn of(shape: &[usize]) -> Halves<'_> {
        let largest = || (0..shape.len()).rev().max_by_key(|&d| shape[d]);
        let dim = shape.iter().position(|n| n.is_multiple_of(2)).or_else(largest);
        let mut pairs = shape.to_vec();
        if let Some(d) = dim {
            pairs[d] = pairs[d].div_ceil(2);
        }
        Halves { shape, dim, pairs }
    }

    fn pair_count(&self) -> usize {
        self.pairs.iter().product()
    }

    /// Builds the array of elements of type `dtype`. `words(i)` returns the two words of pair `i`, and each element has
    /// the low bits of its word.
    fn output(&self, dtype: DType, words: impl Fn(usize) -> [u32; 2]) -> Literal {
        let pairs = Data::from_fn(self.pair_count(), words);
        let strides = eval::row_major(&self.pairs);
        let width = dtype.storage_bytes();
        let mut out = LiteralWriter::new(dtype, self.shape);
        index::for_each_index(self.shape, |place| {
            let half = |d: usize, i: usize| if Some(d) == self.dim { i / 2 } else { i };
            let at: isize = place.iter().enumerate().map(|(d, &i)| half(d, i) as isize * strides[d]).sum();
            let word = pairs[at as usize][self.dim.map_or(0, |d| place[d] % 2)];
            out.push(&low_bits(dtype, word)[..width]);
        });
        out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_cut_along_the_first_even_dimension() {
        assert_eq!(Halves::of(&[3, 4, 2]).dim, Some(1));
        assert_eq!(Halves::of(&[3, 5, 5]).dim, Some(1));
        assert_eq!(Halves::of(&[3, 5]).pair_count(), 9);
        assert_eq!(Halves::of(&[]).dim, None);
        assert_eq!(Halves::of(&[0]).pair_count(), 0);
    }

    #[test]
    fn shapes_of_other_types_and_lengths_are_refused() {
        let codes = |shape: &str| {
            let ty = shape.split_once(" : ").unwrap().1;
            crate::check::codes(&format!(
                "func.func @main(%a: tensor<f32>) -> tensor<2xf32> {{
  %c = stablehlo.constant {shape}
  %0 = stablehlo.rng %a, %a, %c, distribution = UNIFORM : (tensor<f32>, tensor<f32>, {ty}) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"
            ))
        };
        assert_eq!(codes("dense<2> : tensor<1xui8>"), [""; 0]);
        assert_eq!(codes("dense<2.0> : tensor<1xf32>"), ["rng_i3"]);
        assert_eq!(codes("dense<2> : tensor<1x1xi64>"), ["rng_i3"]);
        assert_eq!(codes("dense<2> : tensor<4000000000xi64>"), ["rng_c3"]);
    }

    #[test]
    fn elements_of_a_pair_are_neighbours() {
        let halves = Halves::of(&[2, 3]);
        let x = halves.output(DType::U32, |i| [10 * i as u32, 10 * i as u32 + 1]);
        assert_eq!(x, Literal::new([2, 3], &[0u32, 10, 20, 1, 11, 21]));
    }

    #[test]
    fn numbers_of_rng_have_their_distribution() {
        let block = |i: u32| {
            let [a, b, c, d] = philox4x32([7, 0], [i, 0, 0, 0]);
            [join([a, b]), join([c, d])]
        };
        let mean = |f: &dyn Fn([u64; 2]) -> f64| (0..10_000).map(|i| f(block(i))).sum::<f64>() / 10_000.0;
        assert!((mean(&|b| fraction(b[0])) - 0.5).abs() < 0.01);
        assert!(mean(&normal).abs() < 0.03);
        assert!((mean(&|b| normal(b).powi(2)) - 1.0).abs() < 0.05);
        assert_eq!((fraction(0), fraction(u64::MAX) < 1.0), (0.0, true));
    }

    #[test]
    fn elements_of_less_than_a_byte_have_no_other_bits() {
        let bytes = |dtype| [0x84, 0xb9, 0xffff_fff2].map(|word| low_bits(dtype, word)[0]);
        assert_eq!(bytes(DType::I4), [4, -7i8 as u8, 2]);
        assert_eq!(bytes(DType::U4), [4, 9, 2]);
        assert_eq!(bytes(DType::I2), [0, 1, -2i8 as u8]);
        assert_eq!(bytes(DType::U2), [0, 1, 2]);
        assert_eq!(bytes(DType::F4E2M1FN), [4, 9, 2]);
        assert_eq!(bytes(DType::F6E3M2FN), [4, 0x39, 0x32]);
        assert_eq!(bytes(DType::I8), [0x84, 0xb9, 0xf2]);
        let state = Literal::new([2], &[1u64, 2]);
        let narrow = philox_bits(&state, &TensorType::new(DType::I4, vec![64]))[1].to_i64s();
        assert!(narrow.iter().all(|i| (-8..8).contains(i)) && narrow.contains(&-8) && narrow.contains(&7));
    }

    #[test]
    fn numbers_between_the_largest_and_the_least() {
        let (a, b) = (-f64::MAX, f64::MAX);
        assert_eq!([0.0, 0.5, 1.0].map(|f| between(a, b, f)), [a, 0.0, b]);
        assert_eq!(between(-2.0, 2.0, 0.75), 1.0);
    }

    /// Compares bits and next states of Philox, for elements of 16, 32 and 64 bits, with answers of XLA's CPU backend.
    #[test]
    fn known_answers_of_philox() {
        let t = |dtype| TensorType::new(dtype, vec![5]);
        let state = Literal::new([2], &[0x2_0000_0001u64, 0x4_0000_0003]);
        let words = [0x1e8f_e864u32, 0x4d5e_0bd7, 0x4b87_c9be, 0x2d68_9201, 0x5273_487b];
        let narrow = philox_bits(&state, &t(DType::U32));
        assert_eq!(narrow[1], Literal::new([5], &words));
        assert_eq!(narrow[0], Literal::new([2], &[0x2_0000_0001u64, 0x4_0000_0005]));
        assert_eq!(philox_bits(&state, &t(DType::U16))[1], Literal::new([5], &words.map(|w| w as u16)));
        let wide = philox_bits(&state, &t(DType::U64));
        assert_eq!(wide[1].get::<u64>(0), 0x4d5e_0bd7_1e8f_e864);
        assert_eq!(wide[0].get::<u64>(1), 0x4_0000_0006);
    }

    fn bits(state: [u64; 2], shape: &[usize], dtype: DType) -> Vec<Literal> {
        use crate::shard_test::{module_of, run_split};
        use shardwise_ir::{Attr, Attrs};
        let x = [Literal::new([2], &state)];
        let module = module_of(&x, |_, b, args| {
            let attrs = Attrs::new().with("rng_algorithm", Attr::stablehlo_enum("rng_algorithm", "THREE_FRY"));
            let types = [Type::tensor(DType::U64, vec![2]), Type::tensor(dtype, shape)];
            b.op(Opcode::RngBitGenerator, args.iter().copied(), attrs, types)
        });
        run_split(&module, &x)
    }

    /// Computes the example of the StableHLO specification.
    #[test]
    fn known_answer() {
        let found = bits([1, 2], &[2, 2], DType::U64);
        assert_eq!(found[0], Literal::new([2], &[1u64, 6]));
        let expected = [
            9_236_835_810_183_407_956u64,
            16_087_790_271_692_313_299,
            18_212_823_393_184_779_219,
            2_658_481_902_456_610_144,
        ];
        assert_eq!(found[1], Literal::new([2, 2], &expected));
    }

    #[test]
    fn words_are_halves_of_wide_elements() {
        let wide = bits([7, 5], &[3], DType::U64)[1].clone();
        let narrow = bits([7, 5], &[6], DType::U32);
        assert_eq!(narrow[1].raw_bytes(), wide.raw_bytes());
        assert_eq!(narrow[0], Literal::new([2], &[7u64, 8]));
        let bytes = bits([7, 5], &[6], DType::U8)[1].clone();
        assert_eq!(bytes.get::<u8>(3), narrow[1].get::<u32>(3) as u8);
    }
}
