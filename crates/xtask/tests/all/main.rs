//! The rules of the repository, as tests.

mod docs;
mod ratchets;
