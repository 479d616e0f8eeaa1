//! The synchronization primitives of the pool: those of the standard library, or `loom`'s models of them under `--cfg
//! loom`.

#[cfg(not(loom))]
pub use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize},
    },
    thread::{Builder, JoinHandle, Thread, park, yield_now},
};

#[cfg(loom)]
pub use loom::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize},
    },
    thread::{Builder, JoinHandle, Thread, park, yield_now},
};
