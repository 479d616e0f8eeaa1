//! Looks inside a program: layouts as pictures, values while it runs, and the op that makes a NaN.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::debug::{self, Checks};
use shardwise::prelude::*;

/// Normalizes the rows of `x · w`. The debugging functions change neither the result nor the layouts.
fn normalized(x: &Array, w: &Array) -> Array {
    let y = x.matmul(w);
    debug::inspect(&y, |picture| println!("the compiler chooses for x · w:\n{picture}\n"));
    let scale = y.square().mean(keep(1)).sqrt();
    debug::print!("scale of each row:\n{}", &scale);
    y / scale
}

fn sum(x: &Array) -> Array {
    debug::print!("a block of {} columns: {}", x.dim(1), x);
    psum(&x.sum(..), ("X", "Y"))
}

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("X", 2), ("Y", 2)])?.with_topology(&Topology::tpu_v5e([2, 2])));
    let x = (arange(0..12, F32).reshape([4, 3]) / 4.0).shard(P!("X", None));
    let w = ones([3, 4], F32).shard(P!(None, "Y"));
    println!("{}\n", debug::visualize(&x));

    // A program prints to standard error, unless its lines are captured.
    let f = jit(normalized);
    let (out, lines) = debug::captured(|| f(&x, &w));
    println!("{}\n{}\n", lines.join("\n"), out?);

    let blocks = shard_map(sum).in_specs(P!("X", "Y")).out_specs(P!());
    let (_, lines) = debug::captured(|| blocks(&arange(0..8, I32).reshape([2, 4])));
    println!("{}\n", lines.join("\n"));

    // A row of zeros has the scale 0, so that 0 is divided by 0.
    let zeros = debug::with_checks(Checks::nans(), || f(&(&x * 0.0), &w));
    println!("{}", zeros.expect_err("a NaN is made"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debugging_changes_nothing() {
        set_mesh(Mesh::auto([("X", 2), ("Y", 2)]).unwrap());
        let x = arange(0..12, F32).reshape([4, 3]).shard(P!("X", None));
        let w = ones([3, 4], F32).shard(P!(None, "Y"));
        let plain = jit(|x: &Array, w: &Array| {
            let y = x.matmul(w);
            let scale = y.square().mean(keep(1)).sqrt();
            y / scale
        });
        let (out, lines) = debug::captured(|| jit(normalized)(&x, &w).unwrap());
        assert_equal(&out, &plain(&x, &w).unwrap());
        assert_eq!(lines.len(), 1);
        let error = debug::with_checks(Checks::nans(), || jit(normalized)(&(x * 0.0), &w)).unwrap_err().to_string();
        assert!(
            error.contains("`stablehlo.divide` makes numbers that are NaN") && error.contains("u6_debug.rs"),
            "{error}"
        );
    }
}
