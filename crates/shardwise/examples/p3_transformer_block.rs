//! Problem 3: all-reduce and reduce-scatter collective matmuls, and a block that uses them.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

/// Computes 3.1, `A[B_X, D_Y] · W[D_Y, F] -> Out[B_X, F]`: each tile's all-reduce overlaps with the next tile's matmul.
/// There are 8 tiles, so F must be a multiple of 8.
fn allreduce_matmul(a: &Array, w: &Array) -> Array {
    let tile = w.dim(1) / 8;
    concatenate((0..8).map(|i| a.matmul(w.i((.., i * tile..(i + 1) * tile))).psum("Y")), 1)
}

/// Computes 3.2, `Tmp[B_X, F_Y] · W[F_Y, D] -> Out[B_X, D_Y]`: a partial sum visits every device and ends at its owner.
/// D must be a multiple of the number of devices along Y.
fn reduce_scatter_matmul(tmp: &Array, w: &Array) -> Array {
    let (n, me) = (axis_size("Y"), axis_index("Y"));
    let chunk = w.dim(1) / n;
    let mut acc = zeros([tmp.dim(0), chunk], tmp.dtype());
    for i in 0..n {
        let owner = (&me + (n - 1 - i)) % n;
        acc = acc.ppermute("Y", shift(1)) + tmp.matmul(w.i((.., ds(owner * chunk, chunk))));
    }
    acc
}

/// Computes `A[B_X, D_Y] · W[D, F_Y] -> Out[B_X, F_Y]`, from the chapter.
fn allgather_matmul(lhs: &Array, rhs: &Array) -> Array {
    let (n, me, chunk) = (axis_size("Y"), axis_index("Y"), lhs.dim(1));
    let mut lhs = lhs.clone();
    let mut acc = zeros([lhs.dim(0), rhs.dim(1)], lhs.dtype());
    for i in 0..n {
        acc += lhs.matmul(rhs.i(ds((&me + i) % n * chunk, chunk)));
        lhs = lhs.ppermute("Y", shift(-1));
    }
    acc
}

/// Computes 3.3, `In[B_X, D_Y] -> Out[B_X, D_Y]` through `W_in[D, F_Y]` and `W_out[F_Y, D]`.
fn block(x: &Array, w_in: &Array, w_out: &Array) -> Array {
    reduce_scatter_matmul(&allgather_matmul(x, w_in).gelu(), w_out)
}

/// Computes the block of 3.3 with the library's functions.
fn block_of(x: &Array, w_in: &Array, w_out: &Array, overlap: Overlap) -> Array {
    let tmp = collective_matmul::all_gather("bd,df->bf", x, w_in, 'd', "Y", overlap);
    collective_matmul::reduce_scatter("bf,fd->bd", &tmp.gelu(), w_out, 'd', "Y", overlap)
}

/// Prints a table that compares variants of `A · W` with a split contracting dimension: by the compiler, by `f`, and by
/// `library` with each kind of overlap. `out` is the layout of the result. Fails if a variant cannot be compiled or
/// run, and panics if a result is not close to the compiler's.
fn matmul(title: &str, out: P, f: fn(&Array, &Array) -> Array, library: Library) -> Result<()> {
    println!("════ {title}\n");
    let [ka, kw] = Key::new(0).split();
    let a = normal(ka, [256, 512], BF16).shard(P!("X", "Y"));
    let w = normal(kw, [512, 1024], BF16).shard(P!("Y", None));

    let auto = jit(|a: &Array, w: &Array| a.matmul(w)).out_shardings(out.clone()).lower((&a, &w))?.compile()?;
    let expected = auto(&a, &w)?;
    println!("{} · {} -> {}\n", a.ty(), w.ty(), expected.ty());
    let mut table = chapter::Table::default();
    table.add("by the compiler", &auto, || auto(&a, &w))?;

    let by_hand = ("by hand, as the chapter asks".to_string(), None);
    for (name, overlap) in
        std::iter::once(by_hand).chain(Overlap::ALL.map(|overlap| (format!("library, {overlap:?}"), Some(overlap))))
    {
        let map = shard_map(|a: &Array, w: &Array| overlap.map_or_else(|| f(a, w), |overlap| library(a, w, overlap)));
        let map = jit(map.in_specs((P!("X", "Y"), P!("Y", None))).out_specs(out.clone())).lower((&a, &w))?.compile()?;
        assert_close(&map(&a, &w)?, &expected);
        table.add(&name, &map, || map(&a, &w))?;
    }
    println!("{table}");
    Ok(())
}

/// A function of the library that computes one device's shard of the result from its shards of the operands.
type Library = fn(&Array, &Array, Overlap) -> Array;

fn whole_block() -> Result<()> {
    println!("════ 3.3 the block, with a non-linearity between\n");
    let (b, d, f) = (256, 512, 2048);
    let [kx, k_in, k_out] = Key::new(1).split();
    let x = normal(kx, [b, d], BF16).shard(P!("X", "Y"));
    let w_in = (normal(k_in, [d, f], BF16) / 32).shard(P!(None, "Y"));
    let w_out = (normal(k_out, [f, d], BF16) / 32).shard(P!("Y", None));

    let auto = jit(|x: &Array, w_in: &Array, w_out: &Array| x.matmul(w_in).gelu().matmul(w_out));
    let auto = auto.out_shardings(P!("X", "Y")).lower((&x, &w_in, &w_out))?.compile()?;
    let expected = auto(&x, &w_in, &w_out)?;
    println!("{}, {}, {} -> {}\n", x.ty(), w_in.ty(), w_out.ty(), expected.ty());
    let mut table = chapter::Table::default();
    table.add("by the compiler", &auto, || auto(&x, &w_in, &w_out))?;

    let by_hand = ("by hand, fused".to_string(), None);
    for (name, overlap) in
        std::iter::once(by_hand).chain(Overlap::ALL.map(|overlap| (format!("library, {overlap:?}"), Some(overlap))))
    {
        let map = shard_map(|x: &Array, w_in: &Array, w_out: &Array| match overlap {
            None => block(x, w_in, w_out),
            Some(overlap) => block_of(x, w_in, w_out, overlap),
        });
        let specs = (P!("X", "Y"), P!(None, "Y"), P!("Y", None));
        let map = jit(map.in_specs(specs).out_specs(P!("X", "Y"))).lower((&x, &w_in, &w_out))?.compile()?;
        assert_close(&map(&x, &w_in, &w_out)?, &expected);
        table.add(&name, &map, || map(&x, &w_in, &w_out))?;
    }
    println!("{table}");
    Ok(())
}

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    set_mesh(Mesh::auto([("X", x), ("Y", y)])?);
    matmul("3.1 all-reduce", P!("X", None), allreduce_matmul, |a, w, overlap| {
        collective_matmul::all_reduce("bd,df->bf", a, w, 'f', "Y", overlap)
    })?;
    matmul("3.2 reduce-scatter", P!("X", "Y"), reduce_scatter_matmul, |a, w, overlap| {
        collective_matmul::reduce_scatter("bd,df->bf", a, w, 'f', "Y", overlap)
    })?;
    whole_block()
}
