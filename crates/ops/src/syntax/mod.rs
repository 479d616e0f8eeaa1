//! How each op is written, and by which names its attributes are known.
//!
//! Whatever the form of the text, an op has the same attributes: StableHLO's own property names. **An attribute that
//! the text leaves out is absent**, so readers supply the default that the specification names; an empty list inside a
//! record is left out, never stored. Shardings are not attributes:
//! - `sdy.sharding` on a function's argument or an op's result is the value's `sharding`;
//! - the `sharding` of `sdy.sharding_constraint`, `sdy.reshard` and `sdy.data_flow_edge`, the `out_sharding` of `sdy`'s
//!   collectives and the `out_shardings` of `sdy.manual_computation` and `sdy.named_computation` are the `sharding` of
//!   the op's results, and stand nowhere else.
//!
//! How an op is written, [`of`] says; `shardwise_ir::text` reads and prints it.
//!
//! | op | attributes: name `kind` (`?`: may be absent) |
//! |---|---|
//! | `func.call` | callee `Symbol` |
//! | `stablehlo.` and `chlo.constant`, `sdy.constant` | value `Dense` |
//! | `iota`, `dynamic_iota` | iota_dimension `Int` i64 |
//! | `exponential`, `log`, `tanh`, … (the inexact unary ones) | result_accuracy? `Record` `stablehlo.result_accuracy {atol, rtol, ulps, mode}` |
//! | `compare` | comparison_direction `Enum` (`EQ` `NE` `GE` `GT` `LE` `LT`), compare_type? `Enum` (`FLOAT` `TOTALORDER` `SIGNED` `UNSIGNED`) |
//! | `reduce_precision` | exponent_bits, mantissa_bits `Int` i32 |
//! | `broadcast_in_dim`, `dynamic_broadcast_in_dim` | broadcast_dimensions `Ints` |
//! | `transpose` | permutation `Ints` |
//! | `reverse`, `reduce`, `map` | dimensions `Ints` |
//! | `slice` | start_indices, limit_indices, strides `Ints` |
//! | `dynamic_slice` | slice_sizes `Ints` |
//! | `concatenate`, `get_dimension_size` | dimension `Int` i64 |
//! | `pad` | edge_padding_low, edge_padding_high, interior_padding `Ints` |
//! | `sort` | dimension? `Int` i64 (-1), is_stable? `Bool` |
//! | `dot_general` | dot_dimension_numbers `Record` `stablehlo.dot {lhs_batching_dimensions?, rhs_batching_dimensions?, lhs_contracting_dimensions?, rhs_contracting_dimensions?: Ints}`, precision_config? `Array` of `Enum` (`DEFAULT` `HIGH` `HIGHEST`), algorithm? `Record` `stablehlo.dot_algorithm` |
//! | `convolution` | dimension_numbers `Record` `stablehlo.conv {input_batch_dimension, input_feature_dimension, kernel_input_feature_dimension, kernel_output_feature_dimension, output_batch_dimension, output_feature_dimension: Int; input_spatial_dimensions?, kernel_spatial_dimensions?, output_spatial_dimensions?: Ints}`, window_strides?, lhs_dilation?, rhs_dilation? `Ints`, padding? `Dense` i64 [n, 2], window_reversal? `Bools`, feature_group_count, batch_group_count `Int` i64, precision_config? as above |
//! | `gather`, `dynamic_gather` | dimension_numbers `Record` `stablehlo.gather {offset_dims?, collapsed_slice_dims?, operand_batching_dims?, start_indices_batching_dims?, start_index_map?: Ints; index_vector_dim?: Int}` (0), slice_sizes `Ints`, indices_are_sorted? `Bool` |
//! | `scatter` | scatter_dimension_numbers `Record` `stablehlo.scatter {update_window_dims?, inserted_window_dims?, input_batching_dims?, scatter_indices_batching_dims?, scatter_dims_to_operand_dims?: Ints; index_vector_dim?: Int}` (0), indices_are_sorted?, unique_indices? `Bool` |
//! | `select_and_scatter` | window_dimensions?, window_strides? `Ints`, padding? `Dense` i64 [n, 2] |
//! | `reduce_window` | window_dimensions `Ints`, window_strides?, base_dilations?, window_dilations? `Ints`, padding? `Dense` i64 [n, 2] |
//! | `fft` | fft_type `Enum` (`FFT` `IFFT` `RFFT` `IRFFT`), fft_length `Ints` |
//! | `cholesky` | lower? `Bool` |
//! | `triangular_solve` | left_side, lower, unit_diagonal `Bool`, transpose_a `Enum` (`NO_TRANSPOSE` `TRANSPOSE` `ADJOINT`) |
//! | `rng` | rng_distribution `Enum` (`UNIFORM` `NORMAL`), shardwise.stream? `Int` i64 |
//! | `rng_bit_generator` | rng_algorithm `Enum` (`DEFAULT` `THREE_FRY` `PHILOX`) |
//! | `batch_norm_*` | epsilon `Float` f32, feature_index `Int` i64 |
//! | `get_tuple_element` | index `Int` i32 |
//! | `custom_call` | call_target_name `Str`, has_side_effect? `Bool`, backend_config? `Str` or `Dict`, api_version? `Int` i32, called_computations? `Array` of `Symbol`, operand_layouts?, result_layouts? `Array`, output_operand_aliases? `Array` of `Record` `stablehlo.output_operand_alias` |
//! | `composite` | name `Str`, decomposition `Symbol`, composite_attributes? `Dict`, version? `Int` i32 |
//! | `all_gather` | all_gather_dim `Int` i64, and the collectives' own: replica_groups `Dense` i64 [groups, size] or `Axes`, channel_handle? `Record` `stablehlo.channel_handle {handle, type: Int}`, use_global_device_ids? `Unit` |
//! | `all_reduce` | the collectives' own |
//! | `reduce_scatter` | scatter_dimension `Int` i64, and the collectives' own |
//! | `all_to_all` | split_dimension, concat_dimension, split_count `Int` i64, replica_groups, channel_handle? |
//! | `collective_broadcast` | replica_groups, channel_handle? |
//! | `collective_permute` | channel_handle?, and one of these: source_target_pairs `Dense` i64 [n, 2], shardwise.axes? `Axes`; shardwise.axes `Axes`, shardwise.shift `Int` i64, shardwise.wraps? `Unit`; shardwise.from, shardwise.to `Axes` |
//! | `send`, `recv` | channel_handle `Record`, is_host_transfer? `Bool`, source_target_pairs? `Dense` |
//! | `infeed`, `outfeed` | infeed_config? or outfeed_config? `Str`, layout? `Array` |
//! | `shardwise.axis_index` | axes `Axes` |
//! | `chlo.top_k` | k `Int` i64, is_stable? `Bool` |
//! | `chlo.scan` | dimension `Int` i64, is_reverse?, is_associative? `Bool`, scan_dim_size? `Int` i64, operandSegmentSizes, resultSegmentSizes `Ints` i32 |
//! | `chlo.ragged_dot` | ragged_dot_dimension_numbers `Record` `chlo.ragged_dot`, precision_config? |
//! | `check.expect_*` | value? `Dense` (of `_const`), tolerance? `Float` f64, max_ulp_difference?, min_ulp_difference? `Int` ui64, probe_id? `Str` and iteration? `Int` ui32 (of `expect_serialized_eq`) |
//! | `interpreter.probe` | probe_id `Str` |
//! | `interpreter.run_parallel` | programs `Array` of `Array` of `Symbol`, infeed? `Array` of `Symbol` |
//! | `sdy.manual_computation` | in_shardings `Shardings`, manual_axes `Axes` |
//! | `sdy.named_computation` | name `Str`, in_shardings? `Shardings` |
//! | `sdy.all_gather` | gathering_axes `AxesPerDim` |
//! | `sdy.all_slice` | slicing_axes `AxesPerDim` |
//! | `sdy.all_to_all` | params `Array` of `Record` `sdy.all_to_all_param {axes: Axes, src_dim, tgt_dim: Int}` |
//! | `sdy.all_reduce` | reduction_axes `Axes`, reduction_op? `Enum` (`prod` `max` `min` `and` `or`; absent: sum) |
//! | `sdy.reduce_scatter` | reduce_scatter_axes `AxesPerDim`, reduction_op? as above |
//! | `sdy.sharded_to_unreduced` | axes `AxesPerDim` |
//! | `sdy.replicated_to_unreduced` | axes `Axes` |
//! | `sdy.sharding_group` | group_id `Int` i64 |
//! | `sdy.propagation_barrier` | allowed_direction `Enum` `sdy` (`NONE` `FORWARD` `BACKWARD` `BOTH`) |
//!
//! Every other op has no attributes of its own. Regions stand in StableHLO's order: `while` cond, body; `select_and_scatter`
//! select, scatter; `if` true, false. Enums are `#stablehlo<comparison_direction LT>`: `kind` is the attribute's
//! StableHLO kind (`comparison_direction`, `comparison_type`, `precision`, `fft_type`, `transpose`, `rng_algorithm`,
//! `rng_distribution`), `value` the word.

mod constant;
mod parts;
mod reduce;
mod scan;
mod shardy;
mod while_loop;
mod window;

use crate::Opcode;
use shardwise_base::DType;
use shardwise_ir::text::{Piece, ResultShardings, Syntax, Types, Written};

const UNARY: Syntax = Syntax::pieces(&[Piece::Operand], Types::Same);
const BINARY: Syntax = Syntax::pieces(&[Piece::Operand, COMMA, Piece::Operand], Types::Same);
const TERNARY: &[Piece] = &[Piece::Operand, COMMA, Piece::Operand, COMMA, Piece::Operand];
const OPERANDS: &[Piece] = &[Piece::Operands];
const COMMA: Piece = Piece::Text(", ");
const PRECISION: Piece = Piece::Optional(&[
    Piece::Text(", precision = "),
    Piece::Attr("precision_config", Written::Enums("stablehlo", "precision")),
]);

const PROBE: Piece = Piece::Text(", probe_id = ");
const PROBE_ID: Piece = Piece::Attr("probe_id", Written::Str);
const TOLERANCE: Piece =
    Piece::Optional(&[Piece::Text(", tolerance = "), Piece::Attr("tolerance", Written::Float(DType::F64))]);

/// `sdy`'s collectives and marks: the sharding of the result is a property of the op.
const OUT_SHARDING: ResultShardings = ResultShardings::Property("out_sharding");
const SHARDING: ResultShardings = ResultShardings::Property("sharding");
const OUT_SHARDINGS: ResultShardings = ResultShardings::List("out_shardings");

/// `"stablehlo.gather"(..)`: the op has no form of its own.
const GENERIC: Syntax = Syntax::GENERIC;

const DIRECTION: Piece = Piece::Attr("comparison_direction", Written::Enum("stablehlo", "comparison_direction"));
const COMPARE_TYPE: Piece = Piece::Attr("compare_type", Written::Enum("stablehlo", "comparison_type"));
const RNG_DISTRIBUTION: Piece = Piece::Attr("rng_distribution", Written::Enum("stablehlo", "rng_distribution"));
const RNG_ALGORITHM: Piece = Piece::Attr("rng_algorithm", Written::Enum("stablehlo", "rng_algorithm"));
const RANGES: Piece = Piece::Part(&parts::Ranges);
const BITS: Piece = Piece::Part(&parts::Bits);
const WINDOW: Piece = Piece::Part(&window::Window);
const DOT_DIMENSIONS: Piece = Piece::Part(&parts::DotDimensions);

/// How `op` is written. The forms are MLIR's; what they leave to the attribute dictionary stands before the types.
pub fn of(op: Opcode) -> Syntax {
    use Opcode::*;
    use Piece::{Attr, Operand, Operands, OperandsAndComma, Optional, Sharding, Text};
    use Written::{Bool, Int, Ints, Str, StrAsSymbol, Symbol};
    match op {
        // ── structure
        Return | SdyReturn => Syntax::pieces(&[Piece::Dict, Operands], Types::Operands),
        RegionReturn => Syntax::pieces(OPERANDS, Types::Operands),
        Call => Syntax::pieces(&[Attr("callee", Symbol), Text("("), Operands, Text(")")], Types::Functional),

        // ── elementwise
        Abs | Cbrt | Ceil | Cosine | CountLeadingZeros | Exponential | ExponentialMinusOne | Floor | Imag | Log
        | LogPlusOne | Logistic | Negate | Not | Popcnt | Real | RoundNearestAfz | RoundNearestEven | Rsqrt | Sign
        | Sine | Sqrt | Tan | Tanh | Convert | UniformQuantize | UniformDequantize => UNARY,
        Add | And | Atan2 | Divide | Maximum | Minimum | Multiply | Or | Power | Remainder | ShiftLeft
        | ShiftRightArithmetic | ShiftRightLogical | Subtract | Xor => BINARY,
        IsFinite | BitcastConvert | Reshape | DynamicUpdateSlice | DynamicReshape | DynamicPad | RealDynamicSlice => {
            Syntax::pieces(OPERANDS, Types::Functional)
        }
        Compare => Syntax::pieces(
            &[DIRECTION, COMMA, Operand, COMMA, Operand, Optional(&[COMMA, COMPARE_TYPE])],
            Types::Functional,
        ),
        Select => Syntax::pieces(TERNARY, Types::Select),
        Clamp => Syntax::pieces(TERNARY, Types::Same),
        Complex => Syntax::pieces(&[Operand, COMMA, Operand], Types::Complex),
        ReducePrecision => Syntax::pieces(&[Operand, Text(", format = "), BITS], Types::Same),
        ChloSquare | ChloConj | ChloErf | ChloErfc | ChloErfInv | ChloLgamma | ChloDigamma | ChloSinh | ChloCosh
        | ChloAsin | ChloAcos | ChloAtan | ChloAsinh | ChloAcosh | ChloAtanh | ChloTan | ChloIsInf | ChloIsPosInf
        | ChloIsNegInf | ChloNextAfter | ChloMulhi | ChloPolygamma | ChloZeta | ChloBesselI1e => {
            Syntax::pieces(OPERANDS, Types::Arrow)
        }

        // ── shapes and movement
        Constant | SdyConstant | ChloConstant => Syntax::custom(&constant::ConstantForm),
        Iota => Syntax::pieces(&[Text(" dim = "), Attr("iota_dimension", Int(DType::I64))], Types::Result),
        BroadcastInDim => {
            Syntax::pieces(&[Operand, Text(", dims = "), Attr("broadcast_dimensions", Ints)], Types::Functional)
        }
        DynamicIota => {
            Syntax::pieces(&[Operand, Text(", dim = "), Attr("iota_dimension", Int(DType::I64))], Types::Functional)
        }
        DynamicBroadcastInDim => Syntax::pieces(
            &[Operand, COMMA, Operand, Text(", dims = "), Attr("broadcast_dimensions", Ints)],
            Types::Functional,
        ),
        Transpose => Syntax::pieces(&[Operand, Text(", dims = "), Attr("permutation", Ints)], Types::Functional),
        Reverse => Syntax::pieces(&[Operand, Text(", dims = "), Attr("dimensions", Ints)], Types::Same),
        Slice => Syntax::pieces(&[Operand, Text(" "), RANGES], Types::Functional),
        DynamicSlice => Syntax::pieces(
            &[Operand, COMMA, OperandsAndComma, Text("sizes = "), Attr("slice_sizes", Ints)],
            Types::Functional,
        ),
        Concatenate => {
            Syntax::pieces(&[OperandsAndComma, Text("dim = "), Attr("dimension", Int(DType::I64))], Types::Functional)
        }
        GetDimensionSize => {
            Syntax::pieces(&[Operand, Text(", dim = "), Attr("dimension", Int(DType::I64))], Types::Functional)
        }
        Pad => Syntax::pieces(
            &[
                Operand,
                COMMA,
                Operand,
                Text(", low = "),
                Attr("edge_padding_low", Ints),
                Text(", high = "),
                Attr("edge_padding_high", Ints),
                Text(", interior = "),
                Attr("interior_padding", Ints),
            ],
            Types::Functional,
        ),

        // ── contractions and reductions
        DotGeneral => Syntax::pieces(
            &[
                Operand,
                COMMA,
                Operand,
                COMMA,
                DOT_DIMENSIONS,
                PRECISION,
                Optional(&[Text(", algorithm = "), Attr("algorithm", Written::Record("stablehlo.dot_algorithm"))]),
            ],
            Types::Functional,
        ),
        Dot => Syntax::pieces(&[Operand, COMMA, Operand, PRECISION], Types::Functional),
        Reduce => Syntax::custom(&reduce::ReduceForm),
        Scan => Syntax::custom(&scan::ScanForm),
        Convolution => Syntax::pieces(
            &[
                Text("("),
                Operands,
                Text(") dim_numbers = "),
                Attr("dimension_numbers", Written::ConvDimensions),
                Text(", window = "),
                WINDOW,
            ],
            Types::Functional,
        ),

        // ── linear algebra
        Fft => Syntax::pieces(
            &[
                Operand,
                Text(", type = "),
                Attr("fft_type", Written::Enum("stablehlo", "fft_type")),
                Text(", length = "),
                Attr("fft_length", Ints),
            ],
            Types::Functional,
        ),
        Cholesky => Syntax::pieces(&[Operand, Optional(&[Text(", lower = "), Attr("lower", Bool)])], Types::Same),

        // ── random numbers
        Rng => Syntax::pieces(
            &[Operand, COMMA, Operand, COMMA, Operand, Text(", distribution = "), RNG_DISTRIBUTION],
            Types::Functional,
        ),
        RngBitGenerator => Syntax::pieces(&[Operand, Text(", algorithm = "), RNG_ALGORITHM], Types::Functional),

        // ── control flow, composites and calls out
        While => Syntax::custom(&while_loop::WhileForm),
        OptimizationBarrier => Syntax::pieces(&[Piece::Dict, Operands], Types::Pairwise),
        Composite => Syntax::pieces(&[Attr("name", Str), Text(" "), Operands], Types::Functional),
        CustomCall => {
            Syntax::pieces(&[Attr("call_target_name", StrAsSymbol), Text("("), Operands, Text(")")], Types::Functional)
        }
        NamedComputation => Syntax::custom(&shardy::NamedForm).with_results(OUT_SHARDINGS),
        CreateToken | PartitionId | ReplicaId => Syntax::pieces(&[], Types::Result),
        AfterAll => Syntax::pieces(OPERANDS, Types::Same),
        Tuple => Syntax::pieces(OPERANDS, Types::Tuple),
        GetTupleElement => {
            Syntax::pieces(&[Operand, Text("["), Attr("index", Int(DType::I32)), Text("]")], Types::Functional)
        }

        // ── tests
        ExpectEq => Syntax::pieces(&[Operand, COMMA, Operand], Types::OperandsSame),
        ExpectEqConst | ExpectAlmostEqConst => {
            Syntax::pieces(&[Operand, COMMA, Attr("value", Written::Any), TOLERANCE], Types::None)
        }
        ExpectAlmostEq => Syntax::pieces(&[Operand, COMMA, Operand, TOLERANCE], Types::OperandsSame),
        ExpectClose => Syntax::pieces(
            &[
                Operand,
                COMMA,
                Operand,
                Text(", max_ulp_difference = "),
                Attr("max_ulp_difference", Int(DType::U64)),
                Optional(&[Text(", min_ulp_difference = "), Attr("min_ulp_difference", Int(DType::U64))]),
            ],
            Types::Operands,
        ),
        ExpectSerializedEq => Syntax::pieces(
            &[Operand, PROBE, PROBE_ID, Optional(&[Text(", iter = "), Attr("iteration", Int(DType::U32))])],
            Types::OperandsSame,
        ),
        Probe => Syntax::pieces(&[Operand, PROBE, PROBE_ID], Types::AlwaysSame),
        PrintValue => Syntax::pieces(&[Operand], Types::OperandsSame),

        // ── shardings
        ShardingConstraint | Reshard => {
            Syntax::pieces(&[Operand, Text(" "), Sharding], Types::AlwaysSame).with_results(SHARDING)
        }
        DataFlowEdgeOp => Syntax::custom(&shardy::EdgeForm).with_results(SHARDING),
        FuncDataFlowEdge => Syntax::pieces(&[Operand], Types::Same),
        PropagationBarrier => Syntax::pieces(
            &[
                Operand,
                Text(" allowed_direction="),
                Attr(
                    "allowed_direction",
                    Written::NumberedEnum("sdy", "propagation_direction", &["NONE", "FORWARD", "BACKWARD", "BOTH"]),
                ),
            ],
            Types::AlwaysSame,
        ),
        ShardingGroup => {
            Syntax::pieces(&[Operand, Text(" group_id="), Attr("group_id", Int(DType::I64))], Types::Operands)
        }
        ManualComputation => Syntax::custom(&shardy::ManualForm).with_results(OUT_SHARDINGS),
        SdyAllGather => collective(&shardy::CollectiveForm::GATHER),
        SdyAllSlice => collective(&shardy::CollectiveForm::SLICE),
        SdyAllToAll => collective(&shardy::CollectiveForm::ALL_TO_ALL),
        SdyCollectivePermute => collective(&shardy::CollectiveForm::PERMUTE),
        SdyAllReduce => collective(&shardy::CollectiveForm::REDUCE),
        SdyReduceScatter => collective(&shardy::CollectiveForm::REDUCE_SCATTER),
        ReplicatedToUnreduced => collective(&shardy::CollectiveForm::REPLICATED_TO_UNREDUCED),
        ShardedToUnreduced => collective(&shardy::CollectiveForm::SHARDED_TO_UNREDUCED),

        // ── our own, and those that MLIR writes in the generic form only
        TriangularSolve | Gather | Scatter | SelectAndScatter | ReduceWindow | Sort | Map | Case | If | AllGather
        | RaggedDot | BatchNormInference | BatchNormTraining | BatchNormGrad | DynamicConv | DynamicGather
        | CollectiveReduce | AllReduce | ReduceScatter | AllToAll | CollectivePermute | CollectiveBroadcast
        | AsyncStart | AsyncDone | Send | Recv | Infeed | Outfeed | RunParallel => GENERIC,
        AxisIndex => Syntax::pieces(&[Attr("axes", Written::MeshAxes)], Types::Result),
        TopK => Syntax::pieces(
            &[
                Text("("),
                Operand,
                Text(", k = "),
                Attr("k", Int(DType::I64)),
                Optional(&[Text(", is_stable = "), Attr("is_stable", Bool)]),
                Text(")"),
            ],
            Types::Arrow,
        ),
    }
}

const fn collective(form: &'static shardy::CollectiveForm) -> Syntax {
    Syntax::custom(form).with_results(OUT_SHARDING)
}
