//! Every collective has a reason: in a table, as data, and in an assertion in a test.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

fn mlp(x: &Array, w_in: &Array, w_out: &Array) -> Array {
    x.matmul(w_in).gelu().matmul(w_out)
}

/// Returns the communication of the compiled `mlp`. Types are enough: no array is allocated, and nothing runs. Fails if
/// the program cannot be compiled.
fn communication() -> Result<Communication> {
    set_mesh(Mesh::auto([("data", 4), ("model", 2)])?);
    let x = Array::of_type([512, 1024], BF16).shard(P!("data"));
    let w_in = Array::of_type([1024, 4096], BF16).shard(P!(None, "model"));
    let w_out = Array::of_type([4096, 1024], BF16).shard(P!("model"));
    jit(mlp).out_shardings(P!("data")).lower((&x, &w_in, &w_out))?.communication()
}

fn main() -> Result<()> {
    let communication = communication()?;
    println!("{communication}");
    for c in &communication {
        let line = c.source.as_ref().map_or(0, |source| source.line());
        println!("{} over {} moves {} B in line {line}: {}", c.kind, c.groups, c.bytes_received, c.reason);
        if let Some(other) = &c.rejected {
            println!("  rather than {} ({} B)", other.what, other.bytes_received);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mlp_needs_one_all_reduce() -> Result<()> {
        let communication = communication()?;
        communication.assert_only(["all-reduce model"]);
        assert!(communication.bytes_received() <= 256 * 1024);
        Ok(())
    }
}
