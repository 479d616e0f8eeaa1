//! Lists the ops that have no answer worked out by hand, and those that have no refusal.
//!
//! The tests' sources are searched for the op: by its variant (`Opcode::Abs`), its name in text (`stablehlo.abs`), or
//! its constructor (`make::abs`).

use expect_test::expect;
use shardwise_ops::Opcode;

const ANSWERS: &[&str] = &[
    include_str!("answers.rs"),
    include_str!("quantized.rs"),
    include_str!("../../src/index/tests.rs"),
    include_str!("../../src/window/tests.rs"),
];

const REFUSALS: &[&str] =
    &[include_str!("mistakes.rs"), include_str!("mistakes_in_text.rs"), include_str!("text_mistakes.rs")];

fn missing(sources: &[&str]) -> String {
    let names = |op: Opcode, source: &str| {
        let (_, stem) = op.name().split_once('.').expect("a dialect");
        let spellings = [format!("Opcode::{op:?}"), op.name().to_string(), format!("make::{stem}")];
        spellings.iter().any(|spelling| has_word(source, spelling))
    };
    let is_missing = |op: &Opcode| !sources.iter().any(|source| names(*op, source));
    Opcode::ALL.iter().copied().filter(is_missing).map(|op| format!("{}\n", op.name())).collect()
}

fn has_word(text: &str, word: &str) -> bool {
    let ends = |at: usize| !text[at..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| ends(at + word.len()))
}

/// Lists the ops without an answer: engines run them, or another op's answer is theirs. Add an answer for a new op; the
/// list may only shrink.
#[test]
fn answers() {
    expect![[r#"
        func.return
        func.call
        stablehlo.cbrt
        stablehlo.ceil
        stablehlo.cosine
        stablehlo.exponential_minus_one
        stablehlo.floor
        stablehlo.log_plus_one
        stablehlo.logistic
        stablehlo.rsqrt
        stablehlo.sine
        stablehlo.tan
        stablehlo.tanh
        chlo.square
        chlo.conj
        chlo.erf
        chlo.erfc
        chlo.erf_inv
        chlo.lgamma
        chlo.digamma
        chlo.sinh
        chlo.cosh
        chlo.atan
        chlo.acosh
        chlo.atanh
        chlo.tan
        chlo.bessel_i1e
        stablehlo.and
        stablehlo.atan2
        stablehlo.or
        stablehlo.xor
        stablehlo.complex
        stablehlo.is_finite
        chlo.is_inf
        chlo.is_pos_inf
        chlo.is_neg_inf
        chlo.mulhi
        chlo.polygamma
        chlo.zeta
        sdy.constant
        chlo.constant
        stablehlo.reshape
        stablehlo.dot
        chlo.ragged_dot
        chlo.scan
        stablehlo.sort
        stablehlo.fft
        stablehlo.cholesky
        stablehlo.triangular_solve
        chlo.top_k
        stablehlo.map
        stablehlo.get_dimension_size
        stablehlo.batch_norm_inference
        stablehlo.batch_norm_training
        stablehlo.batch_norm_grad
        stablehlo.dynamic_broadcast_in_dim
        stablehlo.dynamic_conv
        stablehlo.dynamic_gather
        stablehlo.dynamic_iota
        stablehlo.dynamic_pad
        stablehlo.dynamic_reshape
        stablehlo.real_dynamic_slice
        stablehlo.rng_bit_generator
        stablehlo.while
        stablehlo.case
        stablehlo.if
        stablehlo.optimization_barrier
        stablehlo.composite
        stablehlo.custom_call
        sdy.named_computation
        stablehlo.after_all
        stablehlo.create_token
        stablehlo.send
        stablehlo.recv
        stablehlo.infeed
        stablehlo.outfeed
        stablehlo.tuple
        stablehlo.get_tuple_element
        stablehlo.all_gather
        stablehlo.all_reduce
        stablehlo.reduce_scatter
        stablehlo.all_to_all
        stablehlo.collective_permute
        stablehlo.collective_broadcast
        stablehlo.collective_reduce
        stablehlo.partition_id
        stablehlo.replica_id
        shardwise.axis_index
        stablehlo.async_start
        stablehlo.async_done
        sdy.sharding_constraint
        sdy.reshard
        sdy.data_flow_edge
        sdy.func_data_flow_edge
        sdy.propagation_barrier
        sdy.sharding_group
        sdy.manual_computation
        sdy.all_gather
        sdy.all_slice
        sdy.all_to_all
        sdy.collective_permute
        shardwise.exchange
        sdy.all_reduce
        sdy.reduce_scatter
        sdy.replicated_to_unreduced
        sdy.sharded_to_unreduced
        check.expect_eq
        check.expect_eq_const
        check.expect_almost_eq
        check.expect_almost_eq_const
        check.expect_close
        check.expect_serialized_eq
        interpreter.probe
        interpreter.print
        interpreter.run_parallel
        sdy.return
    "#]]
    .assert_eq(&missing(ANSWERS));
}

/// Lists the ops without a refusal. Add one for a new op; the list may only shrink.
#[test]
fn refusals() {
    expect![[r#"
        func.call
        stablehlo.cbrt
        stablehlo.ceil
        stablehlo.cosine
        stablehlo.count_leading_zeros
        stablehlo.exponential
        stablehlo.exponential_minus_one
        stablehlo.floor
        stablehlo.imag
        stablehlo.log
        stablehlo.log_plus_one
        stablehlo.logistic
        stablehlo.not
        stablehlo.real
        stablehlo.round_nearest_afz
        stablehlo.round_nearest_even
        stablehlo.rsqrt
        stablehlo.sign
        stablehlo.sine
        stablehlo.sqrt
        stablehlo.tan
        chlo.square
        chlo.conj
        chlo.erf
        chlo.erfc
        chlo.erf_inv
        chlo.lgamma
        chlo.digamma
        chlo.sinh
        chlo.cosh
        chlo.asin
        chlo.acos
        chlo.atan
        chlo.asinh
        chlo.acosh
        chlo.atanh
        chlo.tan
        chlo.bessel_i1e
        stablehlo.atan2
        stablehlo.divide
        stablehlo.maximum
        stablehlo.minimum
        stablehlo.multiply
        stablehlo.or
        stablehlo.power
        stablehlo.remainder
        stablehlo.shift_left
        stablehlo.shift_right_arithmetic
        stablehlo.shift_right_logical
        stablehlo.xor
        stablehlo.is_finite
        stablehlo.reduce_precision
        chlo.is_inf
        chlo.is_pos_inf
        chlo.is_neg_inf
        chlo.mulhi
        chlo.polygamma
        chlo.zeta
        chlo.next_after
        stablehlo.uniform_quantize
        stablehlo.uniform_dequantize
        sdy.constant
        chlo.constant
        chlo.ragged_dot
        chlo.scan
        stablehlo.scatter
        stablehlo.sort
        stablehlo.reduce_window
        stablehlo.convolution
        stablehlo.fft
        stablehlo.cholesky
        stablehlo.triangular_solve
        chlo.top_k
        stablehlo.map
        stablehlo.get_dimension_size
        stablehlo.batch_norm_inference
        stablehlo.batch_norm_training
        stablehlo.batch_norm_grad
        stablehlo.dynamic_broadcast_in_dim
        stablehlo.dynamic_conv
        stablehlo.dynamic_gather
        stablehlo.dynamic_iota
        stablehlo.dynamic_pad
        stablehlo.dynamic_reshape
        stablehlo.real_dynamic_slice
        stablehlo.rng
        stablehlo.rng_bit_generator
        stablehlo.optimization_barrier
        stablehlo.composite
        stablehlo.custom_call
        stablehlo.after_all
        stablehlo.create_token
        stablehlo.send
        stablehlo.recv
        stablehlo.infeed
        stablehlo.outfeed
        stablehlo.tuple
        stablehlo.get_tuple_element
        stablehlo.all_reduce
        stablehlo.reduce_scatter
        stablehlo.all_to_all
        stablehlo.collective_broadcast
        stablehlo.collective_reduce
        stablehlo.partition_id
        stablehlo.replica_id
        shardwise.axis_index
        sdy.reshard
        sdy.data_flow_edge
        sdy.func_data_flow_edge
        sdy.propagation_barrier
        sdy.sharding_group
        sdy.all_to_all
        sdy.collective_permute
        shardwise.exchange
        sdy.reduce_scatter
        sdy.replicated_to_unreduced
        sdy.sharded_to_unreduced
        check.expect_eq
        check.expect_eq_const
        check.expect_almost_eq
        check.expect_almost_eq_const
        check.expect_close
        check.expect_serialized_eq
        interpreter.probe
        interpreter.print
        interpreter.run_parallel
    "#]]
    .assert_eq(&missing(REFUSALS));
}
