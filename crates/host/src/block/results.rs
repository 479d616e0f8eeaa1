//! Words that the parts of a kernel exchange.
#![forbid(unsafe_code)]

use crate::parts::{hold, table_bytes};
use crate::simd::Word;
use shardwise_base::Reservation;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words that parts save for later parts.
pub(super) struct Results<W> {
    words: Vec<AtomicU64>,
    _held: Option<Reservation>,
    word: PhantomData<W>,
}

impl<W: Word> Results<W> {
    /// Returns `len` words, which are 0 until they are saved. If they take 64 KiB or more, they are charged to the
    /// current account. Stops the computation if the account refuses them.
    pub(super) fn new(len: usize) -> Self {
        let _held = hold(table_bytes::<u64>(len));
        Results { words: (0..len).map(|_| AtomicU64::new(0)).collect(), _held, word: PhantomData }
    }

    pub(super) fn set(&self, i: usize, w: W) {
        self.words[i].store(w.to_bits64(), Relaxed);
    }

    pub(super) fn get(&self, i: usize) -> W {
        W::from_bits64(self.words[i].load(Relaxed))
    }
}
