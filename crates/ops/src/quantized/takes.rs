//! What each op does with quantized values.

use crate::Opcode;

/// How an op takes quantized values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    /// It makes or unmakes them.
    Conversion,
    /// As the floats that they stand for. The labels of the constraints on which values may be quantized, and on how
    /// alike they must be.
    Floats { which: &'static str, alike: &'static str },
    /// It moves their integers. The label of the constraint on the operand.
    Moves(&'static str),
    /// As it takes all other values: its regions, or nobody, compute.
    AsAny,
    /// Not at all.
    Not,
}

/// Whether the op is computed as what it decomposes into.
pub(crate) fn is_computed(op: Opcode) -> bool {
    matches!(takes(op), Takes::Conversion | Takes::Floats { .. })
}

macro_rules! floats {
    ($stem:literal) => {
        floats!($stem, "_c1")
    };
    ($stem:literal, $alike:literal) => {
        Takes::Floats { which: concat!($stem, "_i1"), alike: concat!($stem, $alike) }
    };
}

pub(super) fn takes(op: Opcode) -> Takes {
    use Opcode::*;
    match op {
        UniformQuantize | UniformDequantize => Takes::Conversion,

        Abs => floats!("abs", "_c2"),
        Add => floats!("add"),
        Atan2 => floats!("atan2"),
        BatchNormGrad => floats!("batch_norm_grad", "_c2"),
        BatchNormInference => floats!("batch_norm_inference", "_c2"),
        BatchNormTraining => floats!("batch_norm_training", "_c2"),
        Cbrt => floats!("cbrt"),
        Ceil => floats!("ceil"),
        Cholesky => floats!("cholesky"),
        Clamp => floats!("clamp", "_c3"),
        Compare => floats!("compare"),
        Convolution => floats!("convolution", "_c28"),
        Cosine => floats!("cosine"),
        Divide => floats!("divide"),
        DotGeneral => floats!("dot_general", "_c14"),
        DynamicConv => floats!("dynamic_conv", "_c28"),
        DynamicIota => floats!("dynamic_iota"),
        Exponential => floats!("exponential"),
        ExponentialMinusOne => floats!("exponential_minus_one"),
        Floor => floats!("floor"),
        Iota => floats!("iota"),
        IsFinite => floats!("is_finite"),
        Log => floats!("log"),
        LogPlusOne => floats!("log_plus_one"),
        Logistic => floats!("logistic"),
        Maximum => floats!("maximum"),
        Minimum => floats!("minimum"),
        Multiply => floats!("multiply"),
        Negate => floats!("negate"),
        Power => floats!("power"),
        ReducePrecision => floats!("reduce_precision"),
        Remainder => floats!("remainder"),
        RoundNearestAfz => floats!("round_nearest_afz"),
        RoundNearestEven => floats!("round_nearest_even"),
        Rsqrt => floats!("rsqrt"),
        Select => floats!("select", "_c2"),
        Sign => floats!("sign"),
        Sine => floats!("sine"),
        Sqrt => floats!("sqrt"),
        Subtract => floats!("subtract"),
        Tan => floats!("tan"),
        Tanh => floats!("tanh"),
        TriangularSolve => floats!("triangular_solve"),

        BroadcastInDim => Takes::Moves("broadcast_in_dim_i1"),
        Concatenate => Takes::Moves("concatenate_i1"),
        DynamicBroadcastInDim => Takes::Moves("dynamic_broadcast_in_dim_i1"),
        DynamicGather => Takes::Moves("dynamic_gather_i1"),
        DynamicPad => Takes::Moves("dynamic_pad_i1"),
        DynamicReshape => Takes::Moves("dynamic_reshape_i1"),
        DynamicSlice => Takes::Moves("dynamic_slice_i1"),
        DynamicUpdateSlice => Takes::Moves("dynamic_update_slice_i1"),
        Gather => Takes::Moves("gather_i1"),
        Pad => Takes::Moves("pad_i1"),
        RealDynamicSlice => Takes::Moves("real_dynamic_slice_i1"),
        Reshape => Takes::Moves("reshape_i1"),
        Reverse => Takes::Moves("reverse_i1"),
        Slice => Takes::Moves("slice_i1"),
        Transpose => Takes::Moves("transpose_i1"),

        BitcastConvert | Constant | SdyConstant | ChloConstant | GetDimensionSize | Map | Reduce | ReduceWindow
        | Scatter | SelectAndScatter | Sort => Takes::AsAny,
        Return
        | Call
        | While
        | Case
        | If
        | OptimizationBarrier
        | Composite
        | CustomCall
        | NamedComputation
        | AfterAll
        | CreateToken
        | Send
        | Recv
        | Infeed
        | Outfeed
        | Tuple
        | GetTupleElement
        | AllGather
        | AllReduce
        | ReduceScatter
        | AllToAll
        | CollectivePermute
        | CollectiveBroadcast
        | CollectiveReduce
        | PartitionId
        | ReplicaId
        | AxisIndex
        | AsyncStart
        | AsyncDone
        | ShardingConstraint
        | Reshard
        | DataFlowEdgeOp
        | FuncDataFlowEdge
        | PropagationBarrier
        | ShardingGroup
        | ManualComputation
        | SdyAllGather
        | SdyAllSlice
        | SdyAllToAll
        | SdyCollectivePermute
        | SdyAllReduce
        | SdyReduceScatter
        | ReplicatedToUnreduced
        | ShardedToUnreduced
        | ExpectEq
        | ExpectEqConst
        | ExpectAlmostEq
        | ExpectAlmostEqConst
        | ExpectClose
        | ExpectSerializedEq
        | Probe
        | PrintValue
        | RunParallel
        | RegionReturn
        | SdyReturn => Takes::AsAny,

        _ => Takes::Not,
    }
}
