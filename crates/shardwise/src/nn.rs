//! Layers and losses as pure functions of arrays: normalisation, dropout, attention, convolutions, pooling, losses, and
//! initial values of parameters.
//!
//! There are no layer objects: parameters are arrays of the caller. Names, defaults and numbers are those of `jax.nn`,
//! Flax and optax. Activations and some other functions are methods of [`Array`](crate::Array):
//! [`relu`](crate::Array::relu), [`silu`](crate::Array::silu), [`gelu`](crate::Array::gelu),
//! [`softmax`](crate::Array::softmax), [`one_hot`](crate::Array::one_hot) and so on.
//!
//! Each function is typed as a whole in Explicit mode: its result keeps the layout of the operands, and a layout inside
//! the function is never asked for.
//!
//! ```
//! use shardwise::prelude::*;
//!
//! // x: bf16[batch, d], scale: f32[d], w: bf16[d, classes], labels: i32[batch]
//! fn loss(x: &Array, scale: &Array, w: &Array, labels: &Array) -> Array {
//!     let logits = nn::rms_norm(x, scale, 1e-6).matmul(w).astype(F32);
//!     nn::softmax_cross_entropy(&logits, labels).mean(..)
//! }
//!
//! # fn main() -> Result<()> {
//! set_mesh(Mesh::auto([("data", 4)])?);
//! let x = normal(Key::new(0), [8, 16], BF16).shard(P!("data"));
//! let loss = jit(loss)(&x, &ones([16], F32), &zeros([16, 10], BF16), &zeros([8], I32))?;
//! assert!((loss.item::<f32>()? - 10f32.ln()).abs() < 1e-6);
//! # Ok(())
//! # }
//! ```

mod activation;
mod attention;
mod conv;
mod dropout;
pub mod init;
mod loss;
mod norm;

pub use attention::{Attention, dot_product_attention};
pub use conv::{Conv, Padding, Pool, avg_pool, conv, max_pool};
pub use dropout::dropout;
pub use loss::{huber_loss, l2_loss, sigmoid_binary_cross_entropy, softmax_cross_entropy};
pub use norm::{BatchStatistics, batch_norm, group_norm, layer_norm, rms_norm, standardize};
