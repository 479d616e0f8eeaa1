//! What programs can do with arrays.

mod behaviour;
mod mistakes;
mod values;
