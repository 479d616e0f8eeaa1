//! The closed list of ops: one line each. Everything that is "per op" is derived from it.

// A glob: every file of the crate has rows here.
use crate::*;
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::text::Syntax;
use shardwise_ir::{OpCode, OpDef, OpTable, OpView, Type, ValueNames};

macro_rules! ops {
    ($($variant:ident $name:literal $facts:expr;)*) => {
        /// Every op. The number of a variant is its [`OpCode`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        pub enum Opcode { $($variant),* }

        impl Opcode {
            pub const ALL: &'static [Opcode] = &[$(Opcode::$variant),*];

            /// With its dialect: `stablehlo.add`.
            pub const fn name(self) -> &'static str { match self { $(Opcode::$variant => $name),* } }

            /// The label of each of its first operands: `dot_general_i1`.
            pub(crate) const fn operand_labels(self) -> &'static [&'static str; 5] {
                match self {
                    $(Opcode::$variant => &[
                        concat!($name, "_i1"),
                        concat!($name, "_i2"),
                        concat!($name, "_i3"),
                        concat!($name, "_i4"),
                        concat!($name, "_i5"),
                    ]),*
                }
            }

            pub fn facts(self) -> &'static dyn Facts { match self { $(Opcode::$variant => &$facts),* } }
        }
    };
}

ops! {
    // These two first: `shardwise-ir` knows them by number.
    Return "func.return" structure::Return;
    Call "func.call" structure::Call;

    // ── elementwise
    Abs "stablehlo.abs" elementwise::ABS;
    Cbrt "stablehlo.cbrt" elementwise::CBRT;
    Ceil "stablehlo.ceil" elementwise::CEIL;
    Cosine "stablehlo.cosine" elementwise::COSINE;
    CountLeadingZeros "stablehlo.count_leading_zeros" elementwise::COUNT_LEADING_ZEROS;
    Exponential "stablehlo.exponential" elementwise::EXPONENTIAL;
    ExponentialMinusOne "stablehlo.exponential_minus_one" elementwise::EXPONENTIAL_MINUS_ONE;
    Floor "stablehlo.floor" elementwise::FLOOR;
    Imag "stablehlo.imag" elementwise::IMAG;
    Log "stablehlo.log" elementwise::LOG;
    LogPlusOne "stablehlo.log_plus_one" elementwise::LOG_PLUS_ONE;
    Logistic "stablehlo.logistic" elementwise::LOGISTIC;
    Negate "stablehlo.negate" elementwise::NEGATE;
    Not "stablehlo.not" elementwise::NOT;
    Popcnt "stablehlo.popcnt" elementwise::POPCNT;
    Real "stablehlo.real" elementwise::REAL;
    RoundNearestAfz "stablehlo.round_nearest_afz" elementwise::ROUND_NEAREST_AFZ;
    RoundNearestEven "stablehlo.round_nearest_even" elementwise::ROUND_NEAREST_EVEN;
    Rsqrt "stablehlo.rsqrt" elementwise::RSQRT;
    Sign "stablehlo.sign" elementwise::SIGN;
    Sine "stablehlo.sine" elementwise::SINE;
    Sqrt "stablehlo.sqrt" elementwise::SQRT;
    Tan "stablehlo.tan" elementwise::TAN;
    Tanh "stablehlo.tanh" elementwise::TANH;
    Add "stablehlo.add" elementwise::ADD;
    And "stablehlo.and" elementwise::AND;
    Atan2 "stablehlo.atan2" elementwise::ATAN2;
    Divide "stablehlo.divide" elementwise::DIVIDE;
    Maximum "stablehlo.maximum" elementwise::MAXIMUM;
    Minimum "stablehlo.minimum" elementwise::MINIMUM;
    Multiply "stablehlo.multiply" elementwise::MULTIPLY;
    Or "stablehlo.or" elementwise::OR;
    Power "stablehlo.power" elementwise::POWER;
    Remainder "stablehlo.remainder" elementwise::REMAINDER;
    ShiftLeft "stablehlo.shift_left" elementwise::SHIFT_LEFT;
    ShiftRightArithmetic "stablehlo.shift_right_arithmetic" elementwise::SHIFT_RIGHT_ARITHMETIC;
    ShiftRightLogical "stablehlo.shift_right_logical" elementwise::SHIFT_RIGHT_LOGICAL;
    Subtract "stablehlo.subtract" elementwise::SUBTRACT;
    Xor "stablehlo.xor" elementwise::XOR;
    Compare "stablehlo.compare" elementwise::Compare;
    Select "stablehlo.select" elementwise::Select;
    Clamp "stablehlo.clamp" elementwise::Clamp;
    Complex "stablehlo.complex" elementwise::COMPLEX;
    IsFinite "stablehlo.is_finite" elementwise::IS_FINITE;
    Convert "stablehlo.convert" elementwise::Convert;
    BitcastConvert "stablehlo.bitcast_convert" elementwise::BitcastConvert;
    ReducePrecision "stablehlo.reduce_precision" elementwise::ReducePrecision;
    ChloSquare "chlo.square" elementwise::SQUARE;
    ChloConj "chlo.conj" elementwise::CONJ;
    ChloErf "chlo.erf" elementwise::ERF;
    ChloErfc "chlo.erfc" elementwise::ERFC;
    ChloErfInv "chlo.erf_inv" elementwise::ERF_INV;
    ChloLgamma "chlo.lgamma" elementwise::LGAMMA;
    ChloDigamma "chlo.digamma" elementwise::DIGAMMA;
    ChloSinh "chlo.sinh" elementwise::SINH;
    ChloCosh "chlo.cosh" elementwise::COSH;
    ChloAsin "chlo.asin" elementwise::ASIN;
    ChloAcos "chlo.acos" elementwise::ACOS;
    ChloAtan "chlo.atan" elementwise::ATAN;
    ChloAsinh "chlo.asinh" elementwise::ASINH;
    ChloAcosh "chlo.acosh" elementwise::ACOSH;
    ChloAtanh "chlo.atanh" elementwise::ATANH;
    ChloTan "chlo.tan" elementwise::CHLO_TAN;
    ChloIsInf "chlo.is_inf" elementwise::IS_INF;
    ChloIsPosInf "chlo.is_pos_inf" elementwise::IS_POS_INF;
    ChloIsNegInf "chlo.is_neg_inf" elementwise::IS_NEG_INF;
    ChloMulhi "chlo.mulhi" elementwise::MULHI;
    ChloPolygamma "chlo.polygamma" elementwise::POLYGAMMA;
    ChloZeta "chlo.zeta" elementwise::ZETA;
    ChloBesselI1e "chlo.bessel_i1e" elementwise::BESSEL_I1E;
    ChloNextAfter "chlo.next_after" elementwise::NextAfter;

    UniformQuantize "stablehlo.uniform_quantize" quantized::UniformQuantize;
    UniformDequantize "stablehlo.uniform_dequantize" quantized::UniformDequantize;

    // ── shapes and movement
    Constant "stablehlo.constant" shapes::Constant;
    SdyConstant "sdy.constant" shapes::Constant;
    ChloConstant "chlo.constant" shapes::Constant;
    Iota "stablehlo.iota" shapes::Iota;
    BroadcastInDim "stablehlo.broadcast_in_dim" shapes::BroadcastInDim;
    Reshape "stablehlo.reshape" shapes::Reshape;
    Transpose "stablehlo.transpose" shapes::Transpose;
    Slice "stablehlo.slice" shapes::Slice;
    DynamicSlice "stablehlo.dynamic_slice" shapes::DynamicSlice;
    DynamicUpdateSlice "stablehlo.dynamic_update_slice" shapes::DynamicUpdateSlice;
    Concatenate "stablehlo.concatenate" shapes::Concatenate;
    Pad "stablehlo.pad" shapes::Pad;
    Reverse "stablehlo.reverse" shapes::Reverse;

    // ── contractions and reductions
    DotGeneral "stablehlo.dot_general" dot::DotGeneral;
    Dot "stablehlo.dot" dot::Dot;
    RaggedDot "chlo.ragged_dot" ragged::RaggedDot;
    Reduce "stablehlo.reduce" reduce::Reduce;
    Scan "chlo.scan" scan::Scan;

    // ── indexing: gather, scatter, sort, windows
    Gather "stablehlo.gather" index::Gather;
    Scatter "stablehlo.scatter" index::Scatter;
    Sort "stablehlo.sort" sort::Sort;
    ReduceWindow "stablehlo.reduce_window" window::ReduceWindow;
    SelectAndScatter "stablehlo.select_and_scatter" window::SelectAndScatter;
    Convolution "stablehlo.convolution" window::Convolution;
    Fft "stablehlo.fft" fft::Fft;
    Cholesky "stablehlo.cholesky" linalg::Cholesky;
    TriangularSolve "stablehlo.triangular_solve" linalg::TriangularSolve;
    TopK "chlo.top_k" sort::TopK;
    Map "stablehlo.map" scalar_ops::Map;
    GetDimensionSize "stablehlo.get_dimension_size" scalar_ops::GetDimensionSize;

    BatchNormInference "stablehlo.batch_norm_inference" batch_norm::BatchNorm;
    BatchNormTraining "stablehlo.batch_norm_training" batch_norm::BatchNorm;
    BatchNormGrad "stablehlo.batch_norm_grad" batch_norm::BatchNorm;

    // ── sizes that are operands
    DynamicBroadcastInDim "stablehlo.dynamic_broadcast_in_dim" dynamic::Dynamic;
    DynamicConv "stablehlo.dynamic_conv" dynamic::Dynamic;
    DynamicGather "stablehlo.dynamic_gather" dynamic::Dynamic;
    DynamicIota "stablehlo.dynamic_iota" dynamic::Dynamic;
    DynamicPad "stablehlo.dynamic_pad" dynamic::Dynamic;
    DynamicReshape "stablehlo.dynamic_reshape" dynamic::Dynamic;
    RealDynamicSlice "stablehlo.real_dynamic_slice" dynamic::Dynamic;

    // ── random numbers
    Rng "stablehlo.rng" random::Rng;
    RngBitGenerator "stablehlo.rng_bit_generator" random::RngBitGenerator;

    // ── control flow, composites and calls out
    While "stablehlo.while" control::While;
    Case "stablehlo.case" control::Branch;
    If "stablehlo.if" control::Branch;
    OptimizationBarrier "stablehlo.optimization_barrier" control::OptimizationBarrier;
    Composite "stablehlo.composite" control::Composite;
    CustomCall "stablehlo.custom_call" control::CustomCall;
    NamedComputation "sdy.named_computation" control::NamedComputation;
    AfterAll "stablehlo.after_all" token::Token;
    CreateToken "stablehlo.create_token" token::Token;
    Send "stablehlo.send" token::Host;
    Recv "stablehlo.recv" token::Host;
    Infeed "stablehlo.infeed" token::Host;
    Outfeed "stablehlo.outfeed" token::Host;
    Tuple "stablehlo.tuple" token::Tuple;
    GetTupleElement "stablehlo.get_tuple_element" token::Tuple;

    // ── collectives
    AllGather "stablehlo.all_gather" collective::AllGather;
    AllReduce "stablehlo.all_reduce" collective::AllReduce;
    ReduceScatter "stablehlo.reduce_scatter" collective::ReduceScatter;
    AllToAll "stablehlo.all_to_all" collective::AllToAll;
    CollectivePermute "stablehlo.collective_permute" collective::CollectivePermute;
    CollectiveBroadcast "stablehlo.collective_broadcast" collective::CollectiveBroadcast;
    CollectiveReduce "stablehlo.collective_reduce" collective::CollectiveReduce;
    PartitionId "stablehlo.partition_id" collective::ProcessId;
    ReplicaId "stablehlo.replica_id" collective::ProcessId;
    AxisIndex "shardwise.axis_index" collective::AxisIndexOp;
    AsyncStart "stablehlo.async_start" collective::Async;
    AsyncDone "stablehlo.async_done" collective::Async;

    // ── shardings
    ShardingConstraint "sdy.sharding_constraint" shardy::Mark;
    Reshard "sdy.reshard" shardy::Mark;
    DataFlowEdgeOp "sdy.data_flow_edge" shardy::Mark;
    FuncDataFlowEdge "sdy.func_data_flow_edge" shardy::Mark;
    PropagationBarrier "sdy.propagation_barrier" shardy::Mark;
    ShardingGroup "sdy.sharding_group" shardy::ShardingGroup;
    ManualComputation "sdy.manual_computation" shardy::ManualComputation;
    SdyAllGather "sdy.all_gather" shardy::Collective;
    SdyAllSlice "sdy.all_slice" shardy::Collective;
    SdyAllToAll "sdy.all_to_all" shardy::Collective;
    SdyCollectivePermute "sdy.collective_permute" shardy::Collective;
    SdyAllReduce "sdy.all_reduce" shardy::Collective;
    SdyReduceScatter "sdy.reduce_scatter" shardy::Collective;
    ReplicatedToUnreduced "sdy.replicated_to_unreduced" shardy::Collective;
    ShardedToUnreduced "sdy.sharded_to_unreduced" shardy::Collective;

    // ── tests
    ExpectEq "check.expect_eq" expect::Expect;
    ExpectEqConst "check.expect_eq_const" expect::Expect;
    ExpectAlmostEq "check.expect_almost_eq" expect::Expect;
    ExpectAlmostEqConst "check.expect_almost_eq_const" expect::Expect;
    ExpectClose "check.expect_close" expect::Expect;
    ExpectSerializedEq "check.expect_serialized_eq" expect::ExpectProbed;
    Probe "interpreter.probe" expect::Probe;
    PrintValue "interpreter.print" expect::Print;
    RunParallel "interpreter.run_parallel" expect::RunParallel;

    // ── structure
    RegionReturn "stablehlo.return" structure::Return;
    SdyReturn "sdy.return" structure::Return;
}

impl Opcode {
    /// The op with this code. Panics on a code of another table.
    pub fn of(code: OpCode) -> Opcode {
        Opcode::ALL[usize::from(code.0)]
    }

    /// The op that a view shows.
    pub fn of_view(op: &OpView<'_>) -> Opcode {
        Opcode::of(op.data().code)
    }
}

impl From<Opcode> for OpCode {
    fn from(op: Opcode) -> OpCode {
        OpCode(op as u16)
    }
}

impl OpDef for Opcode {
    fn name(&self) -> &'static str {
        Opcode::name(*self)
    }

    fn syntax(&self) -> Syntax {
        syntax::of(*self)
    }

    fn is_terminator(&self) -> bool {
        matches!(self, Opcode::Return | Opcode::RegionReturn | Opcode::SdyReturn)
    }

    fn is_isolated(&self) -> bool {
        matches!(self, Opcode::ManualComputation | Opcode::NamedComputation)
    }

    fn value_names(&self, op: &OpView<'_>) -> ValueNames {
        let results: &'static [&'static str] = match self {
            Opcode::Constant
                if op.result_type(0).as_tensor().is_some_and(|t| t.dtype.is_integer() || t.dtype.is_bool()) =>
            {
                &["c"]
            }
            Opcode::Constant => &["cst"],
            Opcode::RngBitGenerator => &["output_state", "output"],
            Opcode::TopK => &["values", "indices"],
            _ => &[],
        };
        ValueNames { results, args: (*self == Opcode::While).then_some("iterArg") }
    }

    /// The op's own checks, and that its results have the types that these give.
    fn verify(&self, op: &OpView<'_>) -> Diagnostics {
        if let Err(found) = inputs::wrong_kinds(op).or(()).and_then(|()| inputs::per_axis_operands(op).or(())) {
            return found;
        }
        let expected = match infer_op(op) {
            Ok(types) => types,
            Err(found) => return found,
        };
        let given: Vec<Type> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
        if given == expected { Diagnostics::default() } else { result_types(op, &given, &expected).into() }
    }
}

pub(crate) fn result_types(op: &OpView<'_>, given: &[Type], expected: &[Type]) -> Diagnostic {
    let label = result_labels::broken(Opcode::of_view(op), given, expected);
    Diagnostic::error(label, op.loc(), format!("`{}` cannot have these result types", op.name()))
        .facts(format!("given: {given:?}"))
        .expected(format!("{expected:?}"))
}

/// The table itself, for [`Module::new`](shardwise_ir::Module::new).
pub static OPS: Table = Table;

/// The [`OpTable`] of all ops.
pub struct Table;

impl OpTable for Table {
    fn find(&self, name: &str) -> Option<OpCode> {
        index().get(name).map(|&op| op.into())
    }

    fn def(&self, code: OpCode) -> &'static dyn OpDef {
        &Opcode::ALL[usize::from(code.0)]
    }

    fn names(&self) -> Vec<&'static str> {
        Opcode::ALL.iter().map(|op| op.name()).collect()
    }
}

/// Ops by name; looked up only, never iterated.
fn index() -> &'static std::collections::HashMap<&'static str, Opcode> {
    static INDEX: std::sync::LazyLock<std::collections::HashMap<&'static str, Opcode>> =
        std::sync::LazyLock::new(|| Opcode::ALL.iter().map(|&op| (op.name(), op)).collect());
    &INDEX
}
