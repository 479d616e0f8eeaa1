//! The text of each op, and the names of its attributes.
//!
//! In every form of the text, an op has the same attributes, under StableHLO's own property names. **An attribute that
//! the text leaves out is absent**, except for the strides of a slice and the segment sizes of a scan in their own
//! forms. A field of a record that is an empty list means the same as an absent field. Readers leave it out, except in
//! `stablehlo.output_operand_alias`.
//!
//! Shardings are not attributes:
//! - `sdy.sharding` on a function's argument or an op's result is the value's `sharding`;
//! - the `sharding` of `sdy.sharding_constraint`, `sdy.reshard` and `sdy.data_flow_edge`, the `out_sharding` of `sdy`'s
//!   collectives and the `out_shardings` of `sdy.manual_computation` and `sdy.named_computation` are the `sharding` of
//!   the op's results, and are stored nowhere else.
//!
//! The form of an op is a member of its [`Schema`](crate::Schema); `shardwise_ir::text` reads and prints it. This
//! module has the pieces that forms share, and the forms that are not a list of pieces. `docs/generated/attributes.md`
//! lists the attributes of all ops.
//!
//! Regions are in StableHLO's order: `while` cond, body; `select_and_scatter` select, scatter; `if` true, false. Enums
//! are `#stablehlo<comparison_direction LT>`: `kind` is the attribute's StableHLO kind (`comparison_direction`,
//! `comparison_type`, `precision`, `fft_type`, `transpose`, `rng_algorithm`, `rng_distribution`), `value` the word.

pub(crate) mod constant;
pub(crate) mod parts;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod shardy;
pub(crate) mod while_loop;
pub(crate) mod window;

use shardwise_base::DType;
use shardwise_ir::text::{Piece, ResultShardings, Syntax, Types, Written};

pub(crate) const UNARY: Syntax = Syntax::pieces(&[Piece::Operand], Types::Same);
pub(crate) const BINARY: Syntax = Syntax::pieces(&[Piece::Operand, COMMA, Piece::Operand], Types::Same);
pub(crate) const TERNARY: &[Piece] = &[Piece::Operand, COMMA, Piece::Operand, COMMA, Piece::Operand];
pub(crate) const OPERANDS: &[Piece] = &[Piece::Operands];
pub(crate) const COMMA: Piece = Piece::Text(", ");
pub(crate) const PRECISION: Piece = Piece::Optional(&[
    Piece::Text(", precision = "),
    Piece::Attr("precision_config", Written::Enums("stablehlo", "precision")),
]);

pub(crate) const PROBE: Piece = Piece::Text(", probe_id = ");
pub(crate) const PROBE_ID: Piece = Piece::Attr("probe_id", Written::Str);
pub(crate) const TOLERANCE: Piece =
    Piece::Optional(&[Piece::Text(", tolerance = "), Piece::Attr("tolerance", Written::Float(DType::F64))]);

/// The sharding of the result of one of `sdy`'s collectives: a property of the op.
pub(crate) const OUT_SHARDING: ResultShardings = ResultShardings::Property("out_sharding");
pub(crate) const SHARDING: ResultShardings = ResultShardings::Property("sharding");
pub(crate) const OUT_SHARDINGS: ResultShardings = ResultShardings::List("out_shardings");

/// The generic form, `"stablehlo.gather"(..)`, of ops that have no form of their own.
pub(crate) const GENERIC: Syntax = Syntax::GENERIC;

pub(crate) const DIRECTION: Piece =
    Piece::Attr("comparison_direction", Written::Enum("stablehlo", "comparison_direction"));
pub(crate) const COMPARE_TYPE: Piece = Piece::Attr("compare_type", Written::Enum("stablehlo", "comparison_type"));
pub(crate) const RNG_DISTRIBUTION: Piece =
    Piece::Attr("rng_distribution", Written::Enum("stablehlo", "rng_distribution"));
pub(crate) const RNG_ALGORITHM: Piece = Piece::Attr("rng_algorithm", Written::Enum("stablehlo", "rng_algorithm"));
pub(crate) const RANGES: Piece = Piece::Part(&parts::Ranges);
pub(crate) const BITS: Piece = Piece::Part(&parts::Bits);
pub(crate) const WINDOW: Piece = Piece::Part(&window::Window);
pub(crate) const DOT_DIMENSIONS: Piece = Piece::Part(&parts::DotDimensions);

pub(crate) const fn shardy_collective(form: &'static shardy::CollectiveForm) -> Syntax {
    Syntax::custom(form).with_results(OUT_SHARDING)
}
