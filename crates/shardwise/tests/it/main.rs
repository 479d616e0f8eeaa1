//! What programs can do with arrays.

mod behaviour;
mod explicit;
mod manual;
mod mistakes;
mod values;
