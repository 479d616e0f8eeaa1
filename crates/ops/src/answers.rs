//! Answers that many ops share: each macro expands to the methods of [`Facts`](crate::Facts) that it is named after.

/// Shardings do not flow through the op by a rule, because `$why`.
macro_rules! no_factors {
    ($why:literal) => {
        fn propagation_class(
            &self,
            _: &shardwise_ir::OpView<'_>,
        ) -> $crate::PropagationClass {
            $crate::PropagationClass::Other
        }
        fn combine(&self, _: &shardwise_ir::OpView<'_>) -> $crate::Combine {
            $crate::Combine::No($why)
        }
        fn neutral(&self, _: &shardwise_ir::OpView<'_>, _: usize) -> Option<shardwise_base::Literal> {
            None
        }
    };
}

/// No reduction factors, because `$why`; the class of propagation is `$class`.
macro_rules! no_reduction {
    ($class:ident, $why:literal) => {
        fn propagation_class(
            &self,
            _: &shardwise_ir::OpView<'_>,
        ) -> $crate::PropagationClass {
            $crate::PropagationClass::$class
        }
        fn combine(&self, _: &shardwise_ir::OpView<'_>) -> $crate::Combine {
            $crate::Combine::No($why)
        }
        fn neutral(&self, _: &shardwise_ir::OpView<'_>, _: usize) -> Option<shardwise_base::Literal> {
            None
        }
    };
}

/// Shardings do not flow along edges.
macro_rules! no_edges {
    () => {
        fn data_flow(&self, _: &shardwise_ir::OpView<'_>) -> $crate::DataFlow {
            $crate::DataFlow::None
        }
    };
}

/// The per-device op is the op itself on per-device operands.
macro_rules! localized_as_is {
    () => {
        fn localize(
            &self,
            cx: &mut $crate::LocalizeCx<'_, '_>,
        ) -> Result<Vec<shardwise_ir::Value>, shardwise_base::Diagnostic> {
            Ok(cx.same_op())
        }
    };
}

/// The engine gives the op its meaning.
macro_rules! run_by_engine {
    ($semantics:ident) => {
        fn semantics(&self, _: &shardwise_ir::OpView<'_>) -> $crate::Semantics {
            $crate::Semantics::$semantics
        }
        fn eval(
            &self,
            op: &shardwise_ir::OpView<'_>,
            _: &[shardwise_base::Literal],
            _: &mut dyn $crate::RegionEval,
        ) -> Result<Vec<shardwise_base::Literal>, $crate::EvalError> {
            unreachable!("`{}` is run by the engine", op.name())
        }
    };
}

/// Reads its operands and writes its results once; computes nothing.
macro_rules! costs_traffic {
    () => {
        fn cost(&self, op: &shardwise_ir::OpView<'_>) -> $crate::Cost {
            $crate::spec::traffic(op)
        }
    };
}

/// Costs nothing by itself.
macro_rules! costs_nothing {
    () => {
        fn cost(&self, _: &shardwise_ir::OpView<'_>) -> $crate::Cost {
            $crate::Cost::default()
        }
    };
}

/// Effects, linearity and the policy of Explicit mode, the same for every op of the family.
macro_rules! always {
    ($effects:ident, $linear:expr, $explicit:expr) => {
        fn effects(&self, _: &shardwise_ir::OpView<'_>) -> $crate::Effects {
            $crate::Effects::$effects
        }
        fn linear(&self, _: &shardwise_ir::OpView<'_>) -> $crate::Linear {
            $linear
        }
        fn explicit(&self, _: &shardwise_ir::OpView<'_>) -> $crate::ExplicitPolicy {
            $explicit
        }
    };
}

pub(crate) use {
    always, costs_nothing, costs_traffic, localized_as_is, no_edges, no_factors, no_reduction, run_by_engine,
};
