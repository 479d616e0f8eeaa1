//! The rules of the repository, as tests.

mod deny;
mod docs;
mod ratchets;
