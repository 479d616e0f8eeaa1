//! Measures the time of a program on this machine, and predicts it for eight TPU chips.
//!
//! The program is the chapter's matmul of integers, `A[B_X, D_Y] · W[D, F_Y] -> Out[B_X, F_Y]`, in three variants. The
//! chapter measured them on eight TPU v5e chips: 312 us, 244 us in its text and 235 us in its picture, and 224 us.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;
use shardwise::timeline::{Picoseconds, Timeline};
use shardwise::topology::Overlap;

/// The sizes B, D and F.
const SIZES: [usize; 3] = [1024, 2048, 8192];

/// Multiplies one chunk of `lhs` while the next one is sent around the ring.
fn collective(lhs: &Array, rhs: &Array) -> Array {
    let (n, me, chunk) = (axis_size("Y"), axis_index("Y"), lhs.dim(1));
    let mut lhs = lhs.clone();
    let mut acc: Option<Array> = None;
    for i in 0..n {
        let next = (i + 1 < n).then(|| lhs.ppermute("Y", shift(-1)));
        let part = lhs.matmul(rhs.i(ds((&me + i) % n * chunk, chunk)));
        acc = Some(acc.map_or(part.clone(), |acc| acc + part));
        lhs = next.unwrap_or(lhs);
    }
    acc.expect("the axis has a device")
}

/// Returns the predicted timelines of the three variants: an all-gather before the product, the collective matmul, and
/// the product of an operand that is not split along the contraction. Fails if a variant cannot be compiled, or cannot
/// be simulated on the machine.
fn predictions([b, d, f]: [usize; 3], machine: &Topology) -> Result<[Timeline; 3]> {
    let (a, w) = (zeros([b, d], I32).shard(P!("X", "Y")), zeros([d, f], I32).shard(P!(None, "Y")));
    let product =
        |a: &Array| jit(|a: &Array, w: &Array| a.matmul(w)).out_shardings(P!("X", "Y")).lower((a, &w))?.compile();
    let map = shard_map(collective).in_specs((P!("X", "Y"), P!(None, "Y"))).out_specs(P!("X", "Y"));
    let map = jit(map).lower((&a, &w))?.compile()?;
    Ok([
        product(&a)?.simulate(machine)?,
        map.simulate_with(machine, Overlap::Auto)?,
        product(&a.shard(P!("X", None)))?.simulate(machine)?,
    ])
}

fn microseconds(time: Picoseconds) -> f64 {
    time as f64 / 1e6
}

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("X", 2), ("Y", 4)])?);
    let machine = Topology::parse("v5e:2x4")?;

    println!("{:24}{:>12}{:>14}", "predicted for v5e:2x4", "predicted", "measured");
    let timelines = predictions(SIZES, &machine)?;
    let names = ["all-gather, then matmul", "collective matmul", "nothing to gather"];
    for ((name, timeline), measured) in names.iter().zip(&timelines).zip(["312 us", "235..244 us", "224 us"]) {
        println!("{name:24}{:>9.1} us{measured:>14}", microseconds(timeline.end()));
    }
    println!("\n{}\n", timelines[1]);

    // The same function is measured on the virtual devices of this machine, with smaller sizes.
    let [b, d, f] = SIZES.map(|n| n / 8);
    let (a, w) = (zeros([b, d], I32).shard(P!("X", "Y")), zeros([d, f], I32).shard(P!(None, "Y")));
    let here = jit(shard_map(collective).in_specs((P!("X", "Y"), P!(None, "Y"))).out_specs(P!("X", "Y")));
    println!("{}", profile(|| here(&a, &w))?.timeline());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chapters_times_are_predicted() {
        set_mesh(Mesh::auto([("X", 2), ("Y", 4)]).unwrap());
        let found = predictions(SIZES, &Topology::tpu_v5e([2, 4])).unwrap().map(|t| microseconds(t.end()));
        for ((found, measured), limit) in found.iter().zip([312.0, 234.8, 224.0]).zip([0.03, 0.04, 0.03]) {
            assert!((found - measured).abs() <= limit * measured, "{found} for {measured}");
        }
    }
}
