//! Overlap of communication and computation, decided by a machine model.
//!
//! [`schedule`] takes the program of one device, as the partitioner makes it, and returns a program that computes the
//! same and hides its collectives behind other ops:
//!
//! - A gather before a product, or a scatter after it, becomes a loop over pieces in which one piece is multiplied
//!   while the next one is sent (a *collective matmul*).
//! - A sum over devices becomes a scatter and a gather, of which each can be hidden by itself, or small sums become
//!   one.
//! - A gather in a loop is started in the turn before.
//! - Collectives that run beside other ops are written as started and awaited ones, in the order in which the simulator
//!   issues them. So the printed program says what overlaps.
//!
//! Each change is tried in the simulator ([`shardwise_sim`]), which decides whether it pays. The simulator is the only
//! place that knows times, and the order of its queue is the only list scheduler.
//!
//! # Examples
//!
//! ```
//! use shardwise_schedule::{Options, schedule};
//! use shardwise_sim::{Overlap, Topology};
//!
//! let text = r#"sdy.mesh @mesh = <["x"=4]>
//! func.func @main(%a: tensor<1024x512xi32>, %w: tensor<2048x2048xi32>) -> tensor<1024x2048xi32> {
//!   %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups =
//!       #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}>
//!       : (tensor<1024x512xi32>) -> tensor<1024x2048xi32>
//!   %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
//!       : (tensor<1024x2048xi32>, tensor<2048x2048xi32>) -> tensor<1024x2048xi32>
//!   return %1 : tensor<1024x2048xi32>
//! }"#;
//! let module = shardwise_ir::text::parse("product.mlir", text, &shardwise_ops::OPS).unwrap();
//! let topology = Topology::parse("v5e:2x2").unwrap();
//! let scheduled = schedule(&module, &topology, Overlap::Auto, &Options::default()).unwrap();
//! assert!(scheduled.after < scheduled.before);
//! assert_eq!(scheduled.decisions.iter().filter(|decision| decision.is_taken).count(), 1);
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

mod change;
mod combine;
mod decide;
mod matmul;
mod prefetch;
mod request;
mod ring;
mod site;
mod split;
mod times;
mod write;

pub use decide::{Decision, Options, Scheduled, schedule};
pub use request::Request;
