//! The specification's constraints on result types: what an op is reported for whose results have other types than its
//! operands and attributes give.

use crate::Opcode;
use shardwise_ir::Type;

/// The label of the first difference: of shapes, else of element types.
pub(crate) fn broken(op: Opcode, given: &[Type], expected: &[Type]) -> &'static str {
    let (shape, element) = labels(op);
    if given.len() != expected.len() {
        return shape;
    }
    match given.iter().zip(expected).position(|(a, b)| a.shape() != b.shape()) {
        None => element,
        Some(i) => shape_of_one(op, i, given, expected).unwrap_or(shape),
    }
}

/// The label of the shape of one result, the first that is wrong, where the specification has one for it.
fn shape_of_one(op: Opcode, index: usize, given: &[Type], expected: &[Type]) -> Option<&'static str> {
    match (op, index) {
        (Opcode::BatchNormGrad, 0) => Some("batch_norm_grad_c3"),
        (Opcode::BatchNormTraining, 1) => Some("batch_norm_training_c5"),
        (Opcode::BatchNormTraining, 2) => Some("batch_norm_training_c6"),
        (Opcode::Convolution, _) if given[0].shape().len() != expected[0].shape().len() => Some("convolution_c26"),
        (Opcode::ReduceWindow, _) if given.iter().any(|t| t.shape() != given[0].shape()) => Some("reduce_window_c14"),
        _ => None,
    }
}

/// The labels of the constraints on the results' shapes and on their element types.
fn labels(op: Opcode) -> (&'static str, &'static str) {
    use Opcode::*;
    let both = |label| (label, label);
    match op {
        Abs => ("abs_c1", "abs_c2"),
        Complex => ("complex_c2", "complex_c3"),
        Real => ("real_c1", "real_c2"),
        Imag => ("imag_c1", "imag_c2"),
        Add => both("add_c1"),
        And => both("and_c1"),
        Atan2 => both("atan2_c1"),
        Cbrt => both("cbrt_c1"),
        Ceil => both("ceil_c1"),
        Clamp => both("clamp_c4"),
        Compare => both("compare_c2"),
        Cosine => both("cosine_c1"),
        CountLeadingZeros => both("count_leading_zeros_c1"),
        Divide => both("divide_c1"),
        Exponential => both("exponential_c1"),
        ExponentialMinusOne => both("exponential_minus_one_c1"),
        Floor => both("floor_c1"),
        IsFinite => both("is_finite_c1"),
        Log => both("log_c1"),
        LogPlusOne => both("log_plus_one_c1"),
        Logistic => both("logistic_c1"),
        Maximum => both("maximum_c1"),
        Minimum => both("minimum_c1"),
        Multiply => both("multiply_c1"),
        Negate => both("negate_c1"),
        Not => both("not_c1"),
        Or => both("or_c1"),
        Popcnt => both("popcnt_c1"),
        Power => both("power_c1"),
        ReducePrecision => both("reduce_precision_c1"),
        Remainder => both("remainder_c1"),
        RoundNearestAfz => both("round_nearest_afz_c1"),
        RoundNearestEven => both("round_nearest_even_c1"),
        Rsqrt => both("rsqrt_c1"),
        Select => both("select_c2"),
        ShiftLeft => both("shift_left_c1"),
        ShiftRightArithmetic => both("shift_right_arithmetic_c1"),
        ShiftRightLogical => both("shift_right_logical_c1"),
        Sign => both("sign_c1"),
        Sine => both("sine_c1"),
        Sqrt => both("sqrt_c1"),
        Subtract => both("subtract_c1"),
        Tan => both("tan_c1"),
        Tanh => both("tanh_c1"),
        UniformDequantize => ("uniform_dequantize_c1", "uniform_dequantize_c2"),
        Xor => both("xor_c1"),

        Concatenate => ("concatenate_c6", "concatenate_c5"),
        Constant => both("constant_c1"),
        DynamicSlice => ("dynamic_slice_c5", "dynamic_slice_c1"),
        DynamicUpdateSlice => both("dynamic_update_slice_c1"),
        Gather => ("gather_c22", "gather_c23"),
        Pad => ("pad_c4", "pad_c1"),
        Reverse => both("reverse_c1"),
        Slice => ("slice_c5", "slice_c1"),
        Transpose => ("transpose_c3", "transpose_c1"),

        BatchNormGrad => ("batch_norm_grad_c4", "batch_norm_grad_c2"),
        BatchNormInference => both("batch_norm_inference_c7"),
        BatchNormTraining => both("batch_norm_training_c7"),
        Cholesky => both("cholesky_c1"),
        Convolution => ("convolution_c25", "convolution_c27"),
        DotGeneral => ("dot_general_c12", "dot_general_c13"),
        Fft => ("fft_c5", "fft_c2"),
        Map => both("map_c4"),
        Reduce => ("reduce_c7", "reduce_c8"),
        ReduceWindow => ("reduce_window_c15", "reduce_window_c16"),
        RngBitGenerator => both("rng_bit_generator_c1"),
        Scatter => ("scatter_c24", "scatter_c25"),
        SelectAndScatter => ("select_and_scatter_c11", "select_and_scatter_c12"),
        Sort => both("sort_c2"),
        TriangularSolve => both("triangular_solve_c4"),

        AsyncStart => both("async_start_c4"),
        Case => both("case_c4"),
        Composite => both("composite_c4"),
        GetTupleElement => both("get_tuple_element_c2"),
        If => both("if_c3"),
        OptimizationBarrier => both("optimization_barrier_c1"),
        Tuple => both("tuple_c1"),
        While => both("while_c3"),

        AllGather => both("all_gather_c6"),
        AllReduce => ("all_reduce_c6", "all_reduce_c7"),
        AllToAll => both("all_to_all_c9"),
        CollectiveBroadcast => both("collective_broadcast_c3"),
        CollectivePermute => both("collective_permute_c5"),
        ReduceScatter => ("reduce_scatter_c8", "reduce_scatter_c9"),

        _ => both("op-result-types"),
    }
}
