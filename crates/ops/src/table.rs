//! The closed list of ops, one line each. Everything that exists once per op is derived from it. The rows of unary
//! elementwise ops, which have their facts in them, are beside the facts of the family.

// This is a glob because the rows name items of most modules of the crate.
use crate::*;
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::text::Syntax;
use shardwise_ir::{OpCode, OpDef, OpTable, OpView, Type, ValueNames};

/// Selects the schema of a row. For a member of a family, it is the member's field.
macro_rules! schema {
    ($facts:expr, $schema:expr) => {
        &$schema
    };
    ($facts:expr) => {
        &$facts.schema
    };
}

macro_rules! ops {
    ($($variant:ident $name:literal $facts:expr $(, $schema:expr)?;)*) => {
        /// Every op. The number of a variant is its [`OpCode`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        pub enum Opcode { $($variant),* }

        impl Opcode {
            pub const ALL: &'static [Opcode] = &[$(Opcode::$variant),*];

            /// Returns the name with its dialect: `stablehlo.add`.
            pub const fn name(self) -> &'static str { match self { $(Opcode::$variant => $name),* } }

            /// Returns the labels of the first five operands, with the dialect: `stablehlo.dot_general_i1`, …. They do
            /// not depend on the number of operands that the op has.
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

            pub fn schema(self) -> &'static Schema {
                match self { $(Opcode::$variant => schema!($facts $(, $schema)?)),* }
            }
        }
    };
}

/// Adds the rows of the family of unary ops between `first` and `rest`.
macro_rules! with_unary_ops {
    ({ $($first:tt)* } { $($rest:tt)* } $($variant:ident $name:literal $row:expr;)*) => {
        ops! { $($first)* $($variant $name elementwise::unary::of::$variant;)* $($rest)* }
    };
}

elementwise::unary::unary_ops! { with_unary_ops!
    {
        // These two are first, because `shardwise-ir` knows them by number.
        Return "func.return" structure::Return, structure::Return::RETURN;
        Call "func.call" structure::Call, structure::Call::SCHEMA;
    }
    {
        // ── elementwise
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
        Compare "stablehlo.compare" elementwise::Compare, elementwise::Compare::SCHEMA;
        Select "stablehlo.select" elementwise::Select, elementwise::Select::SCHEMA;
        Clamp "stablehlo.clamp" elementwise::Clamp, elementwise::Clamp::SCHEMA;
        Complex "stablehlo.complex" elementwise::MakeComplex, elementwise::MakeComplex::SCHEMA;
        IsFinite "stablehlo.is_finite" elementwise::IS_FINITE;
        Convert "stablehlo.convert" elementwise::Convert, elementwise::Convert::SCHEMA;
        BitcastConvert "stablehlo.bitcast_convert" elementwise::BitcastConvert, elementwise::BitcastConvert::SCHEMA;
        ReducePrecision "stablehlo.reduce_precision" elementwise::ReducePrecision, elementwise::ReducePrecision::SCHEMA;
        ChloIsInf "chlo.is_inf" elementwise::IS_INF;
        ChloIsPosInf "chlo.is_pos_inf" elementwise::IS_POS_INF;
        ChloIsNegInf "chlo.is_neg_inf" elementwise::IS_NEG_INF;
        ChloMulhi "chlo.mulhi" elementwise::MULHI;
        ChloPolygamma "chlo.polygamma" elementwise::POLYGAMMA;
        ChloZeta "chlo.zeta" elementwise::ZETA;
        ChloNextAfter "chlo.next_after" elementwise::NextAfter, elementwise::NextAfter::SCHEMA;

        UniformQuantize "stablehlo.uniform_quantize" quantized::UniformQuantize, quantized::UniformQuantize::SCHEMA;
        UniformDequantize "stablehlo.uniform_dequantize" quantized::UniformDequantize, quantized::UniformDequantize::SCHEMA;

        // ── shapes and movement
        Constant "stablehlo.constant" shapes::Constant, shapes::Constant::CONSTANT;
        SdyConstant "sdy.constant" shapes::Constant, shapes::Constant::WITHOUT_LABELS;
        ChloConstant "chlo.constant" shapes::Constant, shapes::Constant::WITHOUT_LABELS;
        Iota "stablehlo.iota" shapes::Iota, shapes::Iota::SCHEMA;
        BroadcastInDim "stablehlo.broadcast_in_dim" shapes::BroadcastInDim, shapes::BroadcastInDim::SCHEMA;
        Reshape "stablehlo.reshape" shapes::Reshape, shapes::Reshape::SCHEMA;
        Transpose "stablehlo.transpose" shapes::Transpose, shapes::Transpose::SCHEMA;
        Slice "stablehlo.slice" shapes::Slice, shapes::Slice::SCHEMA;
        DynamicSlice "stablehlo.dynamic_slice" shapes::DynamicSlice, shapes::DynamicSlice::SCHEMA;
        DynamicUpdateSlice "stablehlo.dynamic_update_slice" shapes::DynamicUpdateSlice, shapes::DynamicUpdateSlice::SCHEMA;
        Concatenate "stablehlo.concatenate" shapes::Concatenate, shapes::Concatenate::SCHEMA;
        Pad "stablehlo.pad" shapes::Pad, shapes::Pad::SCHEMA;
        Reverse "stablehlo.reverse" shapes::Reverse, shapes::Reverse::SCHEMA;

        // ── contractions and reductions
        DotGeneral "stablehlo.dot_general" dot::DotGeneral, dot::DotGeneral::SCHEMA;
        Dot "stablehlo.dot" dot::Dot, dot::Dot::SCHEMA;
        RaggedDot "chlo.ragged_dot" ragged::RaggedDot, ragged::RaggedDot::SCHEMA;
        Reduce "stablehlo.reduce" reduce::Reduce, reduce::Reduce::SCHEMA;
        Scan "chlo.scan" scan::Scan, scan::Scan::SCHEMA;

        // ── indexing: gather, scatter, sort, windows
        Gather "stablehlo.gather" index::Gather, index::Gather::SCHEMA;
        Scatter "stablehlo.scatter" index::Scatter, index::Scatter::SCHEMA;
        Sort "stablehlo.sort" sort::Sort, sort::Sort::SCHEMA;
        ReduceWindow "stablehlo.reduce_window" window::ReduceWindow, window::ReduceWindow::SCHEMA;
        SelectAndScatter "stablehlo.select_and_scatter" window::SelectAndScatter, window::SelectAndScatter::SCHEMA;
        Convolution "stablehlo.convolution" window::Convolution, window::Convolution::SCHEMA;
        Fft "stablehlo.fft" fft::Fft, fft::Fft::SCHEMA;
        Cholesky "stablehlo.cholesky" linalg::Cholesky, linalg::Cholesky::SCHEMA;
        TriangularSolve "stablehlo.triangular_solve" linalg::TriangularSolve, linalg::TriangularSolve::SCHEMA;
        TopK "chlo.top_k" sort::TopK, sort::TopK::SCHEMA;
        Map "stablehlo.map" scalar_ops::Map, scalar_ops::Map::SCHEMA;
        GetDimensionSize "stablehlo.get_dimension_size" scalar_ops::GetDimensionSize, scalar_ops::GetDimensionSize::SCHEMA;

        BatchNormInference "stablehlo.batch_norm_inference" batch_norm::BatchNorm, batch_norm::BatchNorm::BATCH_NORM_INFERENCE;
        BatchNormTraining "stablehlo.batch_norm_training" batch_norm::BatchNorm, batch_norm::BatchNorm::BATCH_NORM_TRAINING;
        BatchNormGrad "stablehlo.batch_norm_grad" batch_norm::BatchNorm, batch_norm::BatchNorm::BATCH_NORM_GRAD;

        // ── sizes that are operands
        DynamicBroadcastInDim "stablehlo.dynamic_broadcast_in_dim" dynamic::Dynamic, dynamic::Dynamic::DYNAMIC_BROADCAST_IN_DIM;
        DynamicConv "stablehlo.dynamic_conv" dynamic::Dynamic, dynamic::Dynamic::DYNAMIC_CONV;
        DynamicGather "stablehlo.dynamic_gather" dynamic::Dynamic, dynamic::Dynamic::DYNAMIC_GATHER;
        DynamicIota "stablehlo.dynamic_iota" dynamic::Dynamic, dynamic::Dynamic::DYNAMIC_IOTA;
        DynamicPad "stablehlo.dynamic_pad" dynamic::Dynamic, dynamic::Dynamic::DYNAMIC_PAD;
        DynamicReshape "stablehlo.dynamic_reshape" dynamic::Dynamic, dynamic::Dynamic::DYNAMIC_RESHAPE;
        RealDynamicSlice "stablehlo.real_dynamic_slice" dynamic::Dynamic, dynamic::Dynamic::REAL_DYNAMIC_SLICE;

        // ── random numbers
        Rng "stablehlo.rng" random::Rng, random::Rng::SCHEMA;
        RngBitGenerator "stablehlo.rng_bit_generator" random::RngBitGenerator, random::RngBitGenerator::SCHEMA;

        // ── control flow, composites and calls out
        While "stablehlo.while" control::While, control::While::SCHEMA;
        Case "stablehlo.case" control::Branch, control::Branch::CASE;
        If "stablehlo.if" control::Branch, control::Branch::IF;
        OptimizationBarrier "stablehlo.optimization_barrier" control::OptimizationBarrier, control::OptimizationBarrier::SCHEMA;
        Composite "stablehlo.composite" control::Composite, control::Composite::SCHEMA;
        CustomCall "stablehlo.custom_call" control::CustomCall, control::CustomCall::SCHEMA;
        NamedComputation "sdy.named_computation" control::NamedComputation, control::NamedComputation::SCHEMA;
        AfterAll "stablehlo.after_all" token::Token, token::Token::AFTER_ALL;
        CreateToken "stablehlo.create_token" token::Token, token::Token::CREATE_TOKEN;
        Send "stablehlo.send" token::Host, token::Host::SEND;
        Recv "stablehlo.recv" token::Host, token::Host::RECV;
        Infeed "stablehlo.infeed" token::Host, token::Host::INFEED;
        Outfeed "stablehlo.outfeed" token::Host, token::Host::OUTFEED;
        Tuple "stablehlo.tuple" token::Tuple, token::Tuple::TUPLE;
        GetTupleElement "stablehlo.get_tuple_element" token::Tuple, token::Tuple::GET_TUPLE_ELEMENT;

        // ── collectives
        AllGather "stablehlo.all_gather" collective::AllGather, collective::AllGather::SCHEMA;
        AllReduce "stablehlo.all_reduce" collective::AllReduce, collective::AllReduce::SCHEMA;
        ReduceScatter "stablehlo.reduce_scatter" collective::ReduceScatter, collective::ReduceScatter::SCHEMA;
        AllToAll "stablehlo.all_to_all" collective::AllToAll, collective::AllToAll::SCHEMA;
        CollectivePermute "stablehlo.collective_permute" collective::CollectivePermute, collective::CollectivePermute::SCHEMA;
        CollectiveBroadcast "stablehlo.collective_broadcast" collective::CollectiveBroadcast, collective::CollectiveBroadcast::SCHEMA;
        CollectiveReduce "stablehlo.collective_reduce" collective::CollectiveReduce, collective::CollectiveReduce::SCHEMA;
        PartitionId "stablehlo.partition_id" collective::ProcessId, collective::ProcessId::SCHEMA;
        ReplicaId "stablehlo.replica_id" collective::ProcessId, collective::ProcessId::SCHEMA;
        Join "shardwise.join" shapes::Join, shapes::Join::SCHEMA;
        Resize "shardwise.resize" shapes::Resize, shapes::Resize::SCHEMA;
        AxisIndex "shardwise.axis_index" collective::AxisIndexOp, collective::AxisIndexOp::SCHEMA;
        AsyncStart "stablehlo.async_start" collective::Async, collective::Async::ASYNC_START;
        AsyncDone "stablehlo.async_done" collective::Async, collective::Async::ASYNC_DONE;

        // ── shardings
        ShardingConstraint "sdy.sharding_constraint" shardy::Mark, shardy::Mark::WITH_SHARDING;
        Reshard "sdy.reshard" shardy::Mark, shardy::Mark::WITH_SHARDING;
        DataFlowEdgeOp "sdy.data_flow_edge" shardy::Mark, shardy::Mark::DATA_FLOW_EDGE_OP;
        FuncDataFlowEdge "sdy.func_data_flow_edge" shardy::Mark, shardy::Mark::FUNC_DATA_FLOW_EDGE;
        PropagationBarrier "sdy.propagation_barrier" shardy::Mark, shardy::Mark::PROPAGATION_BARRIER;
        ShardingGroup "sdy.sharding_group" shardy::ShardingGroup, shardy::ShardingGroup::SCHEMA;
        ManualComputation "sdy.manual_computation" shardy::ManualComputation, shardy::ManualComputation::SCHEMA;
        SdyAllGather "sdy.all_gather" shardy::Collective, shardy::Collective::SDY_ALL_GATHER;
        SdyAllSlice "sdy.all_slice" shardy::Collective, shardy::Collective::SDY_ALL_SLICE;
        SdyAllToAll "sdy.all_to_all" shardy::Collective, shardy::Collective::SDY_ALL_TO_ALL;
        SdyCollectivePermute "sdy.collective_permute" shardy::Collective, shardy::Collective::PERMUTE;
        Exchange "shardwise.exchange" shardy::Collective, shardy::Collective::PERMUTE;
        SdyAllReduce "sdy.all_reduce" shardy::Collective, shardy::Collective::SDY_ALL_REDUCE;
        SdyReduceScatter "sdy.reduce_scatter" shardy::Collective, shardy::Collective::SDY_REDUCE_SCATTER;
        ReplicatedToUnreduced "sdy.replicated_to_unreduced" shardy::Collective, shardy::Collective::REPLICATED_TO_UNREDUCED;
        ShardedToUnreduced "sdy.sharded_to_unreduced" shardy::Collective, shardy::Collective::SHARDED_TO_UNREDUCED;

        // ── tests
        ExpectEq "check.expect_eq" expect::Expect, expect::Expect::EXPECT_EQ;
        ExpectEqConst "check.expect_eq_const" expect::Expect, expect::Expect::EXPECT_EQ_CONST;
        ExpectAlmostEq "check.expect_almost_eq" expect::Expect, expect::Expect::EXPECT_ALMOST_EQ;
        ExpectAlmostEqConst "check.expect_almost_eq_const" expect::Expect, expect::Expect::EXPECT_ALMOST_EQ_CONST;
        ExpectClose "check.expect_close" expect::Expect, expect::Expect::EXPECT_CLOSE;
        ExpectSerializedEq "check.expect_serialized_eq" expect::ExpectProbed, expect::ExpectProbed::SCHEMA;
        Probe "interpreter.probe" expect::Probe, expect::Probe::SCHEMA;
        PrintValue "interpreter.print" expect::Print, expect::Print::SCHEMA;
        RunParallel "interpreter.run_parallel" expect::RunParallel, expect::RunParallel::SCHEMA;

        // ── structure
        RegionReturn "stablehlo.return" structure::Return, structure::Return::REGION_RETURN;
        SdyReturn "sdy.return" structure::Return, structure::Return::RETURN;
    }
}

impl Opcode {
    /// Returns the op with this code.
    ///
    /// # Panics
    /// If the table has no op with this code.
    pub fn of(code: OpCode) -> Opcode {
        Opcode::ALL[usize::from(code.0)]
    }

    /// Returns the op of a view.
    ///
    /// # Panics
    /// If the table has no op with the code of the view's op.
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
        self.schema().syntax
    }

    fn is_terminator(&self) -> bool {
        self.schema().role == Role::Terminator
    }

    fn region_end(&self) -> &'static str {
        let is_of_shardy = self.name().starts_with("sdy.");
        if is_of_shardy { Opcode::SdyReturn } else { Opcode::RegionReturn }.name()
    }

    // JAX ends the function of an approximate selection with `stablehlo.return`.
    fn ends_functions(&self) -> bool {
        matches!(self, Opcode::Return | Opcode::RegionReturn)
    }

    fn is_isolated(&self) -> bool {
        self.schema().role == Role::Isolated
    }

    fn value_names(&self, op: &OpView<'_>) -> ValueNames {
        self.schema().names.of(op)
    }

    /// Checks the op itself, and that its results have the types that its operands and attributes determine. Returns
    /// the errors.
    fn verify(&self, op: &OpView<'_>) -> Diagnostics {
        let expected = match infer_op(op) {
            Ok(types) => types,
            Err(found) => return found,
        };
        let given: Vec<Type> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
        if given == expected { Diagnostics::default() } else { result_types(op, &given, &expected).into() }
    }
}

pub(crate) fn result_types(op: &OpView<'_>, given: &[Type], expected: &[Type]) -> Diagnostic {
    let label = Opcode::of_view(op).schema().results.broken(given, expected);
    Diagnostic::error(label, op.loc(), format!("`{}` cannot have these result types", op.name()))
        .facts(format!("given: {given:?}"))
        .expected(format!("{expected:?}"))
}

/// The table, for [`Module::new`](shardwise_ir::Module::new).
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

/// Returns the ops by name. The map is only looked up, never iterated.
fn index() -> &'static std::collections::HashMap<&'static str, Opcode> {
    static INDEX: std::sync::LazyLock<std::collections::HashMap<&'static str, Opcode>> =
        std::sync::LazyLock::new(|| Opcode::ALL.iter().map(|&op| (op.name(), op)).collect());
    &INDEX
}
