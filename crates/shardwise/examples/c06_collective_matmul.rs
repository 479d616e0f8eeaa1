//! Collective matmul: `A[B_X, D_Y] · W[D, F_Y] -> Out[B_X, F_Y]`, with an all-gather that overlaps with the matmul.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

/// Computes one device's shard of the product as in the chapter: an unrolled loop with a carry multiplies one chunk of
/// `lhs` while the next one is sent around the ring. Panics unless `rhs` has a row for each column of all chunks.
fn allgather_matmul(lhs: &Array, rhs: &Array) -> Array {
    let (n, me) = (axis_size("Y"), axis_index("Y"));
    let chunk = lhs.dim(1);
    assert_eq!(rhs.dim(0), n * chunk);
    let rows = |i: Array| rhs.i(ds((&me + i) % n * chunk, chunk));

    let acc = zeros([lhs.dim(0), rhs.dim(1)], lhs.dtype());
    let (acc, lhs) = fori_loop(unroll(0..n - 1), (acc, lhs.clone()), |i, (acc, lhs)| {
        let acc = acc + lhs.matmul(rows(i));
        (acc, lhs.ppermute("Y", shift(-1)))
    });
    // The last chunk is not sent on, which would return it to its first device.
    acc + lhs.matmul(rows(scalar(n - 1, I32)))
}

/// Does the same as [`allgather_matmul`] in plain Rust: a `for` loop is unrolled during tracing, and `i` is a number.
fn allgather_matmul_plain(lhs: &Array, rhs: &Array) -> Array {
    let (n, me, chunk) = (axis_size("Y"), axis_index("Y"), lhs.dim(1));
    let mut lhs = lhs.clone();
    let mut acc = zeros([lhs.dim(0), rhs.dim(1)], lhs.dtype());
    for i in 0..n {
        acc += lhs.matmul(rhs.i(ds((&me + i) % n * chunk, chunk)));
        lhs = lhs.ppermute("Y", shift(-1));
    }
    acc
}

/// A function that computes one device's shard of the product from its shards of the operands.
type Matmul = fn(&Array, &Array) -> Array;

fn blocking(lhs: &Array, rhs: &Array) -> Array {
    lhs.all_gather("Y", 1).matmul(rhs)
}

fn compare(dtype: DType, [b, d, f]: [usize; 3]) -> Result<()> {
    println!("════ {dtype:?}\n");
    let whole = |shape: [usize; 2]| match dtype {
        I32 => arange(0..shape[0] * shape[1], I32).reshape(shape),
        _ => normal(Key::new(0), shape, dtype),
    };
    let (a, w) = (whole([b, d]).shard(P!("X", "Y")), whole([d, f]).shard(P!(None, "Y")));

    let auto = jit(|a: &Array, w: &Array| a.matmul(w)).out_shardings(P!("X", "Y")).lower((&a, &w))?.compile()?;
    let expected = auto(&a, &w)?;
    println!("{} · {} -> {}\n", a.ty(), w.ty(), expected.ty());
    let mut table = chapter::Table::default();
    table.add("by the compiler", &auto, || auto(&a, &w))?;

    let specs = (P!("X", "Y"), P!(None, "Y"));
    let variants: [(&str, Matmul); 3] = [
        ("collective, a loop with a carry", allgather_matmul),
        ("collective, a plain `for`", allgather_matmul_plain),
        ("blocking", blocking),
    ];
    for (name, f) in variants {
        let map = shard_map(move |lhs: &Array, rhs: &Array| f(lhs, rhs));
        let map = jit(map.in_specs(specs.clone()).out_specs(P!("X", "Y"))).lower((&a, &w))?.compile()?;
        match dtype {
            I32 => assert_equal(&map(&a, &w)?, &expected),
            _ => assert_close(&map(&a, &w)?, &expected),
        }
        table.add(name, &map, || map(&a, &w))?;
    }

    // If the contraction is not sharded, nothing is gathered: this is the time of the matmul alone.
    let a = whole([b, d]).shard(P!("X", None));
    let alone = jit(|a: &Array, w: &Array| a.matmul(w)).out_shardings(P!("X", "Y")).lower((&a, &w))?.compile()?;
    alone.communication().assert_none();
    table.add("unsharded contraction", &alone, || alone(&a, &w))?;
    println!("{table}");
    Ok(())
}

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    set_mesh(Mesh::explicit([("X", x), ("Y", y)])?);
    [I32, BF16, F32].into_iter().try_for_each(|dtype| compare(dtype, [256, 512, 1024]))
}
