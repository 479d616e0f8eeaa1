//! What programs can do with arrays.

mod behaviour;
mod explicit;
mod mistakes;
mod values;
