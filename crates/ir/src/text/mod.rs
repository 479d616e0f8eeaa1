//! Text: converts the MLIR that JAX exports and jaxlib reads to a [`Module`] and back.
//!
//! ```text
//! module @jit_f {
//!   sdy.mesh @mesh = <["x"=4, "y"=2]>
//!   func.func public @main(%arg0: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x2xf32> {
//!     %0 = stablehlo.add %arg0, %arg0 : tensor<8x2xf32>
//!     return %0 : tensor<8x2xf32>
//!   }
//! }
//! ```
//! This module reads modules, functions, meshes, regions, values, locations, types, and the attributes of StableHLO and
//! Shardy. The notation of an op is in its row of the [`OpTable`] ([`Syntax`]): most are a list of [`Piece`]s, and
//! every op can be written in MLIR's generic form. An attribute that is not understood is kept as text. An op or type
//! that is not understood is refused.
//!
//! - `parse(print(m)) == m`, locations included if they are printed ([`PrintOptions::EXACT`]).
//! - A mistake in the text is a diagnostic with its line. Nesting, sizes and the expansion of aliases are limited.
//! - If no location is written for an op, its location is its position in the text.

mod alias;
mod attr;
mod attr_print;
mod dense;
mod facts;
mod form;
mod lexer;
mod locs;
mod mistakes;
mod module;
mod names;
mod number;
mod op;
mod parser;
mod print;
mod records;
mod scope;
mod sharding;
mod types;

pub use form::{CustomForm, Form, OpParts, OperandAt, Part, Piece, ResultShardings, Syntax, Types, Written};
pub use op::RegionArg;
pub use parser::{At, Failed, Parsed, Parser};
pub use print::{PrintOptions, Printer, print, print_op};
pub use sharding::RawAxis;
pub use types::FunctionType;

use crate::{Module, OpTable};
use shardwise_base::Diagnostics;

/// Texts with more bytes than this are refused.
const MAX_BYTES: usize = u32::MAX as usize;

/// Reads a module. `source_name` is the name of the text in diagnostics and locations.
///
/// The result is not verified.
///
/// # Errors
/// Returns the mistakes that were found in the text. It is a mistake if the text has 2^32 bytes or more.
pub fn parse(source_name: &str, text: &str, table: &'static dyn OpTable) -> Result<Module, Diagnostics> {
    if text.len() > MAX_BYTES {
        return Err(
            mistakes::text_too_large(&shardwise_base::Loc::file(source_name, 1, 1), text.len(), MAX_BYTES).into()
        );
    }
    let mut parser = Parser::new(source_name, text, table);
    let module = parser.module();
    let found = parser.found;
    match module {
        Some(module) if found.is_empty() => Ok(module),
        _ => Err(found),
    }
}
