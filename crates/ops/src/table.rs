//! The closed list of ops: one line each. Everything that is "per op" is derived from it.

use crate::{Facts, collective, elementwise, structure, syntax};
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::{OpCode, OpDef, OpTable, OpView, Type};

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

            pub fn facts(self) -> &'static dyn Facts { match self { $(Opcode::$variant => &$facts),* } }
        }
    };
}

ops! {
    // These two first: `shardwise-ir` knows them by number.
    Return "func.return" structure::Return;
    Call "func.call" structure::Call;

    // ── elementwise
    Add "stablehlo.add" elementwise::Binary;

    // ── shapes and movement

    // ── contractions and reductions

    // ── indexing: gather, scatter, sort, windows

    // ── random numbers

    // ── control flow, composites and calls out

    // ── collectives
    AllGather "stablehlo.all_gather" collective::AllGather;
    AllReduce "stablehlo.all_reduce" collective::AllReduce;
    ReduceScatter "stablehlo.reduce_scatter" collective::ReduceScatter;
    AllToAll "stablehlo.all_to_all" collective::AllToAll;
    CollectivePermute "stablehlo.collective_permute" collective::CollectivePermute;
    CollectiveBroadcast "stablehlo.collective_broadcast" collective::CollectiveBroadcast;
    PartitionId "stablehlo.partition_id" collective::ProcessId;
    ReplicaId "stablehlo.replica_id" collective::ProcessId;
    AxisIndex "shardwise.axis_index" collective::AxisIndexOp;
    AsyncStart "stablehlo.async_start" collective::Async;
    AsyncDone "stablehlo.async_done" collective::Async;

    // ── shardings

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

    pub fn syntax(self) -> syntax::Syntax {
        syntax::of(self)
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

    fn is_terminator(&self) -> bool {
        matches!(self, Opcode::Return | Opcode::RegionReturn | Opcode::SdyReturn)
    }

    /// The op's own checks, and that its results have the types that these give.
    fn verify(&self, op: &OpView<'_>) -> Diagnostics {
        let expected = match self.facts().infer(op) {
            Ok(types) => types,
            Err(found) => return found,
        };
        let given: Vec<Type> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
        if given == expected { Diagnostics::default() } else { result_types(op, &given, &expected).into() }
    }
}

fn result_types(op: &OpView<'_>, given: &[Type], expected: &[Type]) -> Diagnostic {
    Diagnostic::error("op-result-types", op.loc(), format!("`{}` cannot have these result types", op.name()))
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
