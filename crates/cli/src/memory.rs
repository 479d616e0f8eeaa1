//! The memory of a run: the prediction before it begins, and the counted memory.

use shardwise_base::budget::peak_resident_bytes;
use shardwise_base::{Account, Literal};
use shardwise_engine::{Executable, ShardedType};
use std::sync::OnceLock;

/// The bytes of which memory for arrays is a multiple.
const WORD: usize = size_of::<u64>();

static PREDICTED: OnceLock<usize> = OnceLock::new();
static COUNTED: OnceLock<usize> = OnceLock::new();

/// Records how much memory a run of the program will use at most, including the literals of its inputs and results.
/// Only the first record counts. Records nothing if the engine cannot predict the memory.
pub fn predict(program: &dyn Executable, inputs: &[Literal]) {
    let account = Account::current();
    let Some(needed) = program.memory(&[]) else { return };
    let signature = program.signature();
    // A shard is copied, and padded, before it is placed.
    let placed = signature.inputs.iter().zip(inputs).filter(|(_, x)| !x.is_splat()).map(|(ty, _)| copies(ty)).max();
    // Results are read shard by shard while all of them are alive.
    let literals = signature.outputs.iter().map(|ty| in_words(ty.ty.bytes() as usize));
    let results = literals.fold(needed.result_bytes, usize::saturating_add);
    let read = signature.outputs.iter().map(|ty| copies(ty).max(sums(ty))).max().unwrap_or(0);
    let more = needed.new_bytes().max(results.saturating_add(read)).max(placed.unwrap_or(0));
    let predicted = account.in_use().saturating_add(needed.argument_bytes).saturating_add(more).max(account.peak());
    PREDICTED.get_or_init(|| predicted);
}

/// Records the largest amount of memory so far as that of the run, after its results have been read. Only the first
/// record counts.
pub fn ran() {
    COUNTED.get_or_init(|| Account::current().peak());
}

/// Returns the line that `--memory` prints.
pub fn report(account: &Account) -> String {
    let resident = peak_resident_bytes().map_or(String::new(), |bytes| format!(", {bytes} resident"));
    let all = format!("memory: at most {} bytes of {} in use{resident}", account.peak(), account.limit());
    match (PREDICTED.get(), COUNTED.get()) {
        (Some(predicted), Some(counted)) => format!("{all}; {counted} by the run, {predicted} predicted"),
        (Some(predicted), None) => format!("{all}; {predicted} predicted for the run"),
        _ => all,
    }
}

/// Returns the bytes that are allocated for an array, which are whole words.
fn in_words(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(WORD).unwrap_or(usize::MAX)
}

fn local_bytes(ty: &ShardedType) -> usize {
    let shape = ty.sharding.as_ref().map_or_else(|| ty.ty.shape.clone(), |s| s.local_shape(&ty.ty.shape));
    in_words(shape.iter().product::<usize>() * ty.ty.dtype.storage_bytes())
}

/// Returns the bytes of the copies that are made of a shard before it is placed: one copy, and one more if it is
/// padded. An array that is not split is not copied.
fn copies(ty: &ShardedType) -> usize {
    let Some(sharding) = &ty.sharding else { return 0 };
    let local = sharding.local_shape(&ty.ty.shape);
    if local == ty.ty.shape {
        return 0;
    }
    let bytes = local_bytes(ty);
    let is_padded = local.iter().zip(&ty.ty.shape).any(|(l, n)| !n.is_multiple_of(*l));
    if is_padded { 2 * bytes } else { bytes }
}

/// Returns the bytes that are used to add the summands of an unreduced array, besides those of the result: the sums of
/// all parts, one summand and its sum. Sums of narrow floats are wider. Returns 0 for other arrays.
fn sums(ty: &ShardedType) -> usize {
    let Some(sharding) = ty.sharding.as_ref().filter(|s| !s.unreduced.is_empty()) else { return 0 };
    let dtype = ty.ty.dtype;
    let (global, local) = (ty.ty.size(), sharding.local_shape(&ty.ty.shape).iter().product::<usize>());
    let (own, wide) = match dtype.storage_bytes() {
        // A narrow summand is copied before it is converted.
        size if dtype.is_float() && size < 4 => (2 * size + 4, 4),
        size => (size, size),
    };
    let adding = global * wide + local * (own + wide) + copies(ty).saturating_sub(local_bytes(ty));
    let finishing = global * wide + if own == wide { 0 } else { local * dtype.storage_bytes() };
    adding.saturating_sub(ty.ty.bytes() as usize).max(finishing)
}
