//! Tests of programs with arrays.

mod behaviour;
mod captures;
mod checkpoint;
mod collective_matmul;
mod explicit;
mod explicit_cases;
mod explicit_denied;
mod explicit_functions;
mod explicit_mistakes;
mod kernels;
mod layouts;
mod limits;
mod manual;
mod manual_cases;
mod manual_mistakes;
mod many_mistakes;
mod mistakes;
mod misuses;
mod nesting;
mod ragged;
mod reference;
mod sizes;
mod values;
