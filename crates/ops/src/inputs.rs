//! The attributes that the specification numbers among an op's inputs: one of another kind is reported with its number.

use crate::Opcode;
use crate::check::constraint;
use shardwise_base::{DType, Diagnostic, Diagnostics};
use shardwise_ir::{Attr, OpView};
use std::sync::LazyLock;

/// What an attribute has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Int,
    Ints,
    /// Rows of two integers.
    Pairs,
    Flag,
    Flags,
    Word,
    /// Entries of any kind.
    List,
    /// A word of a closed list, or a list of them.
    Enums,
    Record,
    Symbol,
    /// Whatever the op's own check says.
    Own,
}

impl Kind {
    fn fits(self, attr: &Attr) -> bool {
        match self {
            Kind::Int => attr.as_int().is_some(),
            Kind::Ints | Kind::Pairs => match attr {
                Attr::Ints { dtype, .. } => *dtype == DType::I64,
                _ => attr.to_ints().is_some(),
            },
            Kind::Flag => attr.as_bool().is_some(),
            Kind::Flags => match attr {
                Attr::Bools(_) => true,
                Attr::Dense(x) => x.dtype() == DType::I1,
                _ => attr.to_ints().is_some_and(|list| list.is_empty()),
            },
            Kind::Word => attr.as_str().is_some(),
            Kind::List => matches!(attr, Attr::Array(_)),
            Kind::Enums => match attr {
                Attr::Array(items) => items.iter().all(is_known_word),
                _ => is_known_word(attr),
            },
            // `Opaque`: a record with fields that we do not know.
            Kind::Record => attr.as_record().is_some() || matches!(attr, Attr::Opaque(_)),
            Kind::Symbol => matches!(attr, Attr::Symbol(_)),
            Kind::Own => true,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Kind::Int => "an integer",
            Kind::Ints => "a list of 64-bit integers",
            Kind::Pairs => "rows of two integers",
            Kind::Flag => "`true` or `false`",
            Kind::Flags => "a list of `true` and `false`",
            Kind::Word => "a string",
            Kind::List => "a list",
            Kind::Enums => "a word of the attribute's own list, or some of them",
            Kind::Record => "a record",
            Kind::Symbol => "the name of a function",
            Kind::Own => "another kind",
        }
    }
}

/// A word that is in its list, where we know it.
fn is_known_word(attr: &Attr) -> bool {
    match attr {
        Attr::Enum { kind, value, .. } if &**kind == "precision" => ["DEFAULT", "HIGH", "HIGHEST"].contains(&&**value),
        _ => matches!(attr, Attr::Enum { .. }),
    }
}

/// The attributes of an op that are of the wrong kind.
pub(crate) fn wrong_kinds(op: &OpView<'_>) -> Diagnostics {
    let mut found = Diagnostics::default();
    for &(label, name, kind) in numbered(Opcode::of_view(op)) {
        if op.attr(name).is_some_and(|attr| !kind.fits(attr)) {
            found.push(wrong_kind(op, label, name, kind.in_words()));
        }
    }
    found
}

/// An attribute is not what it has to be.
pub(crate) fn wrong_kind(op: &OpView<'_>, label: &'static str, name: &str, expected: &str) -> Diagnostic {
    let message = format!("attribute `{name}` of `{}` is not of the right kind", op.name());
    Diagnostic::error(label, op.loc(), message).expected(expected)
}

/// Operands that are quantized along a dimension where the specification takes those quantized as a whole only. (Ops that compute
/// with them are looked at in `quantized`.)
pub(crate) fn per_axis_operands(op: &OpView<'_>) -> Diagnostics {
    let opcode = Opcode::of_view(op);
    if !takes_per_tensor(opcode) {
        return Diagnostics::default();
    }
    let is_per_axis = |i: &usize| {
        let quantized = op.operand_type(*i).as_tensor().and_then(|t| t.dtype.quantized());
        quantized.is_some_and(|q| q.axis.is_some())
    };
    let found = (0..op.operands().len()).find(is_per_axis);
    let rule = "values may be quantized per tensor only";
    found.map_or_else(Diagnostics::default, |i| constraint(op, operand_label(opcode, i), rule).into())
}

fn takes_per_tensor(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        AllGather
            | AllReduce
            | AllToAll
            | AsyncStart
            | CollectiveBroadcast
            | CollectivePermute
            | CollectiveReduce
            | OptimizationBarrier
            | ReduceScatter
    )
}

/// The label of an operand; those of a list have one.
pub(crate) fn operand_label(op: Opcode, index: usize) -> &'static str {
    let labels = op.operand_labels();
    let label = if is_list(op) { labels[0] } else { labels[index.min(labels.len() - 1)] };
    label.split_once('.').map_or(label, |(_, label)| label)
}

/// Whether the first input is a list of operands.
fn is_list(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        AllGather
            | AllReduce
            | AllToAll
            | AsyncStart
            | CollectiveBroadcast
            | CollectiveReduce
            | Composite
            | Concatenate
            | CustomCall
            | Map
            | OptimizationBarrier
            | Reduce
            | ReduceWindow
            | Scatter
            | Sort
            | Tuple
            | While
    )
}

/// The label of an attribute.
pub(crate) fn label(op: Opcode, name: &str) -> Option<&'static str> {
    numbered(op).iter().find(|input| input.1 == name).map(|input| input.0)
}

/// The attributes of an op.
fn numbered(op: Opcode) -> &'static [Input] {
    static OF_OPS: LazyLock<Vec<&[Input]>> = LazyLock::new(|| {
        let of = |op: &Opcode| INPUTS.iter().find(|row| row.0 == *op).map_or(&[][..], |row| row.1);
        Opcode::ALL.iter().map(of).collect()
    });
    OF_OPS[op as usize]
}

/// Label, name and kind.
type Input = (&'static str, &'static str, Kind);

static INPUTS: &[(Opcode, &[Input])] = {
    use Kind::*;
    use Opcode as O;
    &[
        (
            O::AllGather,
            &[
                ("all_gather_i2", "all_gather_dim", Int),
                ("all_gather_i4", "channel_handle", Record),
                ("all_gather_i5", "use_global_device_ids", Flag),
            ],
        ),
        (
            O::AllReduce,
            &[("all_reduce_i3", "channel_handle", Record), ("all_reduce_i4", "use_global_device_ids", Flag)],
        ),
        (
            O::AllToAll,
            &[
                ("all_to_all_i2", "split_dimension", Int),
                ("all_to_all_i3", "concat_dimension", Int),
                ("all_to_all_i4", "split_count", Int),
                ("all_to_all_i6", "channel_handle", Record),
            ],
        ),
        (O::BatchNormGrad, &[("batch_norm_grad_i6", "epsilon", Own), ("batch_norm_grad_i7", "feature_index", Int)]),
        (
            O::BatchNormInference,
            &[("batch_norm_inference_i6", "epsilon", Own), ("batch_norm_inference_i7", "feature_index", Int)],
        ),
        (
            O::BatchNormTraining,
            &[("batch_norm_training_i4", "epsilon", Own), ("batch_norm_training_i5", "feature_index", Int)],
        ),
        (O::BroadcastInDim, &[("broadcast_in_dim_i2", "broadcast_dimensions", Ints)]),
        (O::Cholesky, &[("cholesky_i2", "lower", Flag)]),
        (
            O::CollectiveBroadcast,
            &[
                ("collective_broadcast_i3", "channel_handle", Record),
                ("collective_broadcast_i4", "has_dynamic_root", Flag),
            ],
        ),
        (
            O::CollectivePermute,
            &[
                ("collective_permute_i2", "source_target_pairs", Pairs),
                ("collective_permute_i3", "channel_handle", Record),
            ],
        ),
        (
            O::CollectiveReduce,
            &[("collective_reduce_i3", "channel_handle", Record), ("collective_reduce_i4", "has_dynamic_root", Flag)],
        ),
        (O::Compare, &[("compare_i3", "comparison_direction", Own), ("compare_i4", "compare_type", Enums)]),
        (
            O::Composite,
            &[
                ("composite_i2", "name", Word),
                ("composite_i4", "decomposition", Symbol),
                ("composite_i5", "version", Int),
            ],
        ),
        (O::Concatenate, &[("concatenate_i2", "dimension", Int)]),
        (O::Constant, &[("constant_i1", "value", Own)]),
        (
            O::Convolution,
            &[
                ("convolution_i3", "window_strides", Ints),
                ("convolution_i4", "padding", Pairs),
                ("convolution_i5", "lhs_dilation", Ints),
                ("convolution_i6", "rhs_dilation", Ints),
                ("convolution_i7", "window_reversal", Flags),
                ("convolution_i8", "dimension_numbers", Own),
                ("convolution_i17", "feature_group_count", Int),
                ("convolution_i18", "batch_group_count", Int),
                ("convolution_i19", "precision_config", Enums),
            ],
        ),
        (
            O::CustomCall,
            &[
                ("custom_call_i3", "has_side_effect", Flag),
                ("custom_call_i5", "api_version", Int),
                ("custom_call_i6", "called_computations", List),
                ("custom_call_i7", "output_operand_aliases", List),
            ],
        ),
        (
            O::DotGeneral,
            &[
                ("dot_general_i3", "dot_dimension_numbers", Own),
                ("dot_general_i7", "precision_config", Enums),
                ("dot_general_i8", "algorithm", Record),
            ],
        ),
        (
            O::DynamicBroadcastInDim,
            &[
                ("dynamic_broadcast_in_dim_i3", "broadcast_dimensions", Ints),
                ("dynamic_broadcast_in_dim_i4", "known_expanding_dimensions", Ints),
                ("dynamic_broadcast_in_dim_i5", "known_nonexpanding_dimensions", Ints),
            ],
        ),
        (
            O::DynamicConv,
            &[
                ("dynamic_conv_i4", "window_strides", Ints),
                ("dynamic_conv_i5", "lhs_dilation", Ints),
                ("dynamic_conv_i6", "rhs_dilation", Ints),
                ("dynamic_conv_i7", "window_reversal", Flags),
                ("dynamic_conv_i8", "dimension_numbers", Own),
                ("dynamic_conv_i17", "feature_group_count", Int),
                ("dynamic_conv_i18", "batch_group_count", Int),
                ("dynamic_conv_i19", "precision_config", Enums),
            ],
        ),
        (
            O::DynamicGather,
            &[("dynamic_gather_i4", "dimension_numbers", Own), ("dynamic_gather_i8", "indices_are_sorted", Flag)],
        ),
        (O::DynamicIota, &[("dynamic_iota_i2", "iota_dimension", Int)]),
        (O::DynamicSlice, &[("dynamic_slice_i3", "slice_sizes", Ints)]),
        (O::Fft, &[("fft_i2", "fft_type", Own), ("fft_i3", "fft_length", Ints)]),
        (
            O::Gather,
            &[
                ("gather_i3", "dimension_numbers", Own),
                ("gather_i9", "slice_sizes", Ints),
                ("gather_i10", "indices_are_sorted", Flag),
            ],
        ),
        (O::GetDimensionSize, &[("get_dimension_size_i2", "dimension", Int)]),
        (O::GetTupleElement, &[("get_tuple_element_i2", "index", Int)]),
        (O::Infeed, &[("infeed_i2", "infeed_config", Word)]),
        (O::Iota, &[("iota_i1", "iota_dimension", Int)]),
        (O::Map, &[("map_i2", "dimensions", Ints)]),
        (O::Outfeed, &[("outfeed_i3", "outfeed_config", Word)]),
        (
            O::Pad,
            &[
                ("pad_i3", "edge_padding_low", Ints),
                ("pad_i4", "edge_padding_high", Ints),
                ("pad_i5", "interior_padding", Ints),
            ],
        ),
        (
            O::Recv,
            &[
                ("recv_i2", "channel_handle", Record),
                ("recv_i4", "is_host_transfer", Flag),
                ("recv_i5", "source_target_pairs", Pairs),
            ],
        ),
        (O::Reduce, &[("reduce_i3", "dimensions", Ints)]),
        (
            O::ReducePrecision,
            &[("reduce_precision_i2", "exponent_bits", Int), ("reduce_precision_i3", "mantissa_bits", Int)],
        ),
        (
            O::ReduceScatter,
            &[
                ("reduce_scatter_i2", "scatter_dimension", Int),
                ("reduce_scatter_i4", "channel_handle", Record),
                ("reduce_scatter_i5", "use_global_device_ids", Flag),
            ],
        ),
        (
            O::ReduceWindow,
            &[
                ("reduce_window_i3", "window_dimensions", Ints),
                ("reduce_window_i4", "window_strides", Ints),
                ("reduce_window_i5", "base_dilations", Ints),
                ("reduce_window_i6", "window_dilations", Ints),
                ("reduce_window_i7", "padding", Pairs),
            ],
        ),
        (O::Reverse, &[("reverse_i2", "dimensions", Ints)]),
        (
            O::Scatter,
            &[
                ("scatter_i4", "scatter_dimension_numbers", Own),
                ("scatter_i10", "indices_are_sorted", Flag),
                ("scatter_i11", "unique_indices", Flag),
            ],
        ),
        (
            O::SelectAndScatter,
            &[
                ("select_and_scatter_i4", "window_dimensions", Ints),
                ("select_and_scatter_i5", "window_strides", Ints),
                ("select_and_scatter_i6", "padding", Pairs),
            ],
        ),
        (
            O::Send,
            &[
                ("send_i3", "channel_handle", Record),
                ("send_i5", "is_host_transfer", Flag),
                ("send_i6", "source_target_pairs", Pairs),
            ],
        ),
        (
            O::Slice,
            &[("slice_i2", "start_indices", Ints), ("slice_i3", "limit_indices", Ints), ("slice_i4", "strides", Ints)],
        ),
        (O::Sort, &[("sort_i2", "dimension", Int), ("sort_i3", "is_stable", Flag)]),
        (O::Transpose, &[("transpose_i2", "permutation", Ints)]),
        (
            O::TriangularSolve,
            &[
                ("triangular_solve_i3", "left_side", Flag),
                ("triangular_solve_i4", "lower", Flag),
                ("triangular_solve_i5", "unit_diagonal", Flag),
            ],
        ),
    ]
};
