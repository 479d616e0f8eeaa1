//! The chapter's matmul on eight TPU v5e.

use crate::programs::{predicted, published, scheduled, shown, topology};
use shardwise_sim::Overlap;

#[test]
fn auto_makes_the_chapters_collective_matmul() {
    let topology = topology("v5e:2x4");
    let by_hand = predicted(&published("collective_matmul"), &topology, Overlap::Auto).end();
    let out = scheduled(&published("blocking"), &topology, Overlap::Auto);
    eprintln!("{}", shown(&out.module));
    for d in &out.decisions { eprintln!("{d}"); }
    eprintln!("{by_hand} {} {}", out.before, out.after);
    assert!(out.after as f64 <= 1.03 * by_hand as f64, "{} and by hand {by_hand}", out.after);
}
