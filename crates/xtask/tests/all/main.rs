//! The rules of the repository, as tests.

mod ratchets;
