//! A Rust implementation of JAX's model for programming many devices: write an array program as if for one device,
//! place its inputs on a named mesh, and run it on the whole mesh.
//!
//! ```
//! use shardwise::prelude::*;
//!
//! fn matmul_square(x: &Array, w: &Array) -> Array {
//!     einsum!("bd,df->bf", x.square(), w)
//! }
//!
//! # fn main() -> Result<()> {
//! set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);
//! let x = ones([8, 64], BF16).shard(P!("X", "Y"));
//! let w = ones([64, 128], BF16).shard(P!("Y", None));
//! let out = jit(matmul_square).out_shardings(P!("X", None))(&x, &w)?;
//! assert_eq!(out.ty().to_string(), "bf16[8@X,128]");
//! # Ok(())
//! # }
//! ```
//!
//! An [`Array`] is a value, a step of a program that is being traced, a type without a value, or a mistake. Functions
//! from arrays to arrays accept all of these. Outside of a trace, a call of such a function is a small program of its
//! own, which is compiled through the same pipeline and cached.
//!
//! Functions from arrays to arrays do not return `Result`. The array that they return records a mistake, with the line
//! that made it. A function that needs a value returns the mistake as an error: a [`jit`]ted call or
//! [`Array::to_vec`], for example.
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

mod ambient;
mod array;
mod associative_scan;
mod cache;
pub mod checkpoint;
mod collective;
pub mod collective_matmul;
mod context;
mod control;
mod create;
pub mod debug;
mod diagonal;
mod dtype;
mod eager;
mod einsum;
mod error;
mod explain;
mod explicit;
pub mod fft;
mod function;
mod hlo;
mod index;
pub mod kernel;
mod layout;
mod limits;
pub mod linalg;
mod manual;
mod mesh;
mod mistakes;
mod named;
pub mod nn;
pub mod npz;
mod ops;
pub mod optim;
mod profile;
mod program;
mod random;
mod reduce;
mod replay;
mod runtime;
pub mod safetensors;
mod search;
mod shape;
mod shard_map;
mod spec;
mod statistics;
mod tensors;
pub mod topology;
mod trace;
mod transform;
pub mod tree;

pub use array::{Array, ArrayType, CompareWithMethods, IndexWithI, IntoShape, Shape, Shard};
pub use associative_scan::{associative_scan, associative_scan_reversed};
pub use collective::{
    Axes, AxisGroups, AxisName, Future, GatherDim, Pcast, Permutation, Ragged, Shift, Stacked, axis_index, axis_size,
    groups, pmax, pmean, pmin, psum, ragged_all_to_all, ragged_all_to_all_start, shift, stacked,
};
pub use context::named_scope;
pub use control::{
    Steps, StepsKind, Unrolled, cond, fori_loop, map, scan, scan_n, scan_reversed, switch, unroll, while_loop,
};
pub use create::{
    Data, arange, array, eye, full, full_like, identity, linspace, ones, ones_like, scalar, tri, zeros, zeros_like,
};
pub use dtype::{DType, Element};
pub use einsum::{Operands, check_einsum, einsum, einsum_refs, ragged_dot};
pub use error::{Diagnostic, Error, Result, SourceLocation};
pub use explain::{Explanation, Remedy};
pub use explicit::{auto_axes, explicit_axes, with_communication, with_warnings};
pub use function::{
    Arg, Args, Callable, Compiled, Function, HasArgument, Jit, Lowered, Memory, Returns, Static, Wrapped, eval_shape,
    jit,
};
pub use index::{At, Ds, Ellipsis, Entry, Index, IndexItem, NewAxis, Step, ds, step};
pub use limits::{Limits, MemoryUse, memory, reset_peak_memory, set_limits, with_limits};
pub use mesh::{Axis, Client, Communicate, Device, Mesh, get_mesh, set_mesh, with_mesh};
pub use ops::{AsArray, Dim, Dims, Either, Keep, Operand, keep, select};
pub use profile::{Instruction, Profile, profile};
pub use program::{
    Collective, CollectiveKind, Communication, CompiledProgram, DeviceGroups, Program, Rejected, assert_close,
    assert_equal,
};
pub use random::{
    Choice, Key, bernoulli, beta, bits, categorical, choice, dirichlet, exponential, gamma, gumbel, laplace, logistic,
    normal, permutation, poisson, randint, truncated_normal, uniform,
};
pub use search::Side;
pub use shape::{INFER, Indexing, Parts, PartsKind, column_stack, concatenate, hstack, meshgrid, stack, vstack};
pub use shard_map::{NoOutSpecs, Ready, ShardMap, shard_map};
pub use shardwise_macros::Tree;
pub use spec::{
    ByPath, DimSpec, IntoDimSpec, Layout, LeafSpec, P, Sharding, SpecFor, Specs, by_path, distinct_axes, shard,
};
pub use statistics::Interpolation;
pub use topology::Topology;
pub use transform::{
    AxesFor, Batch, BatchAxes, CheckpointPolicy, CustomJvp, CustomVjp, Derivative, DerivativeKind, Grad, HasAux,
    Hessian, Jacfwd, Jacrev, Linearized, Loss, Nth, Positions, Pullback, Remat, Residual, Reverse, Transform,
    ValueAndGrad, WithAux, checkpoint, checkpoint_name, custom_jvp, custom_vjp, float0, grad, hessian, jacfwd, jacrev,
    jvp, jvp_with_aux, linearize, linearize_with_aux, saved_residuals, value_and_grad, vjp, vjp_with_aux, vmap,
};
pub use tree::{MapLeaves, Path, Tree};

pub use shardwise_base::{CancelToken, bf16, f16};
pub use shardwise_view as timeline;
pub use shardwise_view::Timeline;

extern crate self as shardwise;

/// Numbers are refused by rustc where an operand must be an array.
///
/// ```compile_fail,E0277
/// # use shardwise::prelude::*;
/// ones([2, 3], F32).take_along(1, 0);
/// ```
///
/// ```compile_fail,E0277
/// # use shardwise::prelude::*;
/// ragged_dot(ones([2, 3], F32), ones([1, 3, 3], F32), 2);
/// ```
///
/// ```compile_fail,E0277
/// # use shardwise::prelude::*;
/// fn send(x: &Array, sizes: Ragged<'_>) -> Array {
///     ragged_all_to_all(x, 0, "X", sizes)
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use shardwise::prelude::*;
/// einsum!("i,i->", ones([3], F32), 2);
/// ```
#[cfg(doctest)]
mod numbers_are_not_arrays {}

/// The names that most programs need.
pub mod prelude {
    pub use crate::array::{Array, ArrayType, Shape};
    pub use crate::associative_scan::{associative_scan, associative_scan_reversed};
    pub use crate::checkpoint;
    pub use crate::collective::{
        Pcast, Ragged, axis_index, axis_size, groups, pmax, pmean, pmin, psum, ragged_all_to_all,
        ragged_all_to_all_start, shift, stacked,
    };
    pub use crate::collective_matmul::{self, Overlap};
    pub use crate::context::named_scope;
    pub use crate::control::{cond, fori_loop, map, scan, scan_n, scan_reversed, switch, unroll, while_loop};
    pub use crate::create::{
        arange, array, eye, full, full_like, identity, linspace, ones, ones_like, scalar, tri, zeros, zeros_like,
    };
    pub use crate::dtype::DType::{self, *};
    pub use crate::einsum::ragged_dot;
    pub use crate::error::{Error, Result};
    pub use crate::explicit::{auto_axes, explicit_axes, with_communication, with_warnings};
    pub use crate::fft;
    pub use crate::function::{Compiled, Jit, Lowered, Static, eval_shape, jit};
    pub use crate::index::{Ellipsis, NewAxis, ds, step};
    pub use crate::linalg;
    pub use crate::mesh::{Axis, Client, Communicate, Mesh, get_mesh, set_mesh, with_mesh};
    pub use crate::nn;
    pub use crate::ops::{keep, select};
    pub use crate::optim::{self, Optimizer};
    pub use crate::profile::profile;
    pub use crate::program::{Collective, Communication, Program, assert_close, assert_equal};
    pub use crate::random::{
        Choice, Key, bernoulli, beta, categorical, choice, dirichlet, exponential, gamma, gumbel, laplace, logistic,
        normal, permutation, poisson, randint, truncated_normal, uniform,
    };
    pub use crate::search::Side;
    pub use crate::shape::{INFER, Indexing, column_stack, concatenate, hstack, meshgrid, stack, vstack};
    pub use crate::shard_map::{ShardMap, shard_map};
    pub use crate::spec::shard;
    pub use crate::statistics::Interpolation;
    pub use crate::topology::Topology;
    pub use crate::tree::{self, Tree};
    pub use crate::{P, einsum};
    pub use shardwise_macros::Tree;
}
