//! Tests of the rules of the repository.

mod deny;
mod docs;
mod ratchets;
