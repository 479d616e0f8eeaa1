//! Problem 4: collective matmuls that use both directions of every link.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

/// Computes `Tmp[B_X, F_Y] · W[F_Y, D] -> Out[B_X, D_Y]`: half of each sum is sent up the ring, and half down. D must
/// be a multiple of twice the number of devices along Y.
fn reduce_scatter_matmul(tmp: &Array, w: &Array) -> Array {
    let (n, me) = (axis_size("Y"), axis_index("Y"));
    let half = w.dim(1) / n / 2;
    let part = |owner: Array, side: usize| tmp.matmul(w.i((.., ds(owner * (2 * half) + side * half, half))));

    let zero = zeros([tmp.dim(0), half], tmp.dtype());
    let (mut up, mut down) = (zero.clone(), zero);
    for i in 0..n {
        up = up.ppermute("Y", shift(1)) + part((&me + (n - 1 - i)) % n, 0);
        down = down.ppermute("Y", shift(-1)) + part((&me + (1 + i)) % n, 1);
    }
    concatenate([up, down], 1)
}

/// Computes `A[B_X, D_Y] · W[D_Y, F] -> Out[B_X, F]`: the sums are gathered after all matmuls. F must be a multiple of
/// twice the number of devices along Y.
fn allreduce_matmul(a: &Array, w: &Array) -> Array {
    reduce_scatter_matmul(a, w).all_gather_replicated("Y", 1)
}

/// A function that computes one device's shard of the product from its shards of the operands.
type Matmul = Box<dyn Fn(&Array, &Array) -> Array + Send + Sync>;

fn compare(title: &str, out: P, variants: Vec<(&str, Matmul)>) -> Result<()> {
    println!("════ {title}\n");
    let [ka, kw] = Key::new(0).split();
    let a = normal(ka, [256, 512], BF16).shard(P!("X", "Y"));
    let w = normal(kw, [512, 1024], BF16).shard(P!("Y", None));

    let auto = jit(|a: &Array, w: &Array| a.matmul(w)).out_shardings(out.clone()).lower((&a, &w))?.compile()?;
    let expected = auto(&a, &w)?;
    println!("{} · {} -> {}\n", a.ty(), w.ty(), expected.ty());
    let mut table = chapter::Table::default();
    for (name, f) in variants {
        let map = shard_map(move |a: &Array, w: &Array| f(a, w));
        let map = jit(map.in_specs((P!("X", "Y"), P!("Y", None))).out_specs(out.clone())).lower((&a, &w))?.compile()?;
        assert_close(&map(&a, &w)?, &expected);
        table.add(name, &map, || map(&a, &w))?;
    }
    table.add("by the compiler", &auto, || auto(&a, &w))?;
    println!("{table}");
    Ok(())
}

fn main() -> Result<()> {
    let [x, y] = chapter::grid();
    set_mesh(Mesh::auto([("X", x), ("Y", y)])?);
    let scatter = |overlap| -> Matmul {
        Box::new(move |a, w| collective_matmul::reduce_scatter("bd,df->bf", a, w, 'f', "Y", overlap))
    };
    let reduce = |overlap| -> Matmul {
        Box::new(move |a, w| collective_matmul::all_reduce("bd,df->bf", a, w, 'f', "Y", overlap))
    };
    compare(
        "reduce-scatter",
        P!("X", "Y"),
        vec![
            ("one way", scatter(Overlap::OneWay)),
            ("both ways", scatter(Overlap::BothWays)),
            ("both ways, by hand", Box::new(reduce_scatter_matmul)),
            ("blocking", scatter(Overlap::Blocking)),
        ],
    )?;
    compare(
        "all-reduce",
        P!("X", None),
        vec![
            ("one way", reduce(Overlap::OneWay)),
            ("both ways", reduce(Overlap::BothWays)),
            ("both ways, by hand", Box::new(allreduce_matmul)),
            ("blocking", reduce(Overlap::Blocking)),
        ],
    )
}
