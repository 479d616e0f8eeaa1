//! Problem 2.1 and 2.2: a mixture of experts that ignores sharding, and the compiler's program for it.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]
mod chapter;

/// Computes `out[i] = a[i] · w[b[i]]` for w: f32[E, D, F], a: f32[S, D], b: i32[S].
fn moe_local(w: &Array, a: &Array, b: &Array) -> Array {
    let ([s, _], [e, _, f]) = (a.dims(), w.dims());
    let (out, ()) = scan(zeros([s, f], F32), arange(0..e, I32), |out, e| {
        let mask = b.eq(&e).i((.., NewAxis)); // bool[S, 1]
        let expert = a.matmul(w.i(&e)); // f32[S, F], this expert's view of all tokens
        (out + mask.select(expert, 0.0), ())
    });
    out
}

/// Computes the result of [`moe_local`] with one product for all experts. The tokens of each expert are placed in a row
/// of their own with S places, since all tokens may belong to one expert.
fn moe_sorted(w: &Array, a: &Array, b: &Array) -> Array {
    let ([s, d], e) = (a.dims(), w.dim(0));
    let (by_expert, counts) = (b.argsort(0), b.bincount(e));
    let expert = b.i(&by_expert);
    let place = arange(0..s, I32) - (counts.cumsum(0) - &counts).i(&expert);
    let buffer = zeros([e, s, d], F32).at((&expert, &place)).set(a.i(&by_expert));
    einsum!("esd,edf->esf", buffer, w).i((&expert, &place)).i(by_expert.argsort(0))
}

/// Computes the result of [`moe_local`] with a product of the sorted tokens, without masks and without unused places.
fn moe_ragged_dot(w: &Array, a: &Array, b: &Array) -> Array {
    let by_expert = b.argsort(0);
    let out = ragged_dot(a.i(&by_expert), w, b.bincount(w.dim(0)));
    out.i(by_expert.argsort(0))
}

/// Computes the expected result with a matrix for each token, f32[S, D, F].
fn dense(w: &Array, a: &Array, b: &Array) -> Array {
    einsum!("sd,sdf->sf", a, w.i(b))
}

type Moe = fn(&Array, &Array, &Array) -> Array;

fn main() -> Result<()> {
    let n = chapter::grid().iter().product();
    set_mesh(Mesh::auto([("X", n)])?);
    let (e, s, d, f) = (n.max(16), 1024, 64, 128);
    let [kw, ka, kb] = Key::new(0).split();
    let w = normal(kw, [e, d, f], F32).shard(P!("X"));
    let a = normal(ka, [s, d], F32).shard(P!("X"));
    let random = randint(kb, [s], 0..e, I32);
    let one_without = random.eq(3).select(4, &random);
    let routes = [random, full([s], 3, I32), one_without].map(|b| b.shard(P!("X")));
    let b = &routes[0];

    let variants: [(&str, Moe); 3] =
        [("a scan with masks", moe_local), ("sorted into [E, S, D]", moe_sorted), ("ragged_dot", moe_ragged_dot)];
    let mut table = chapter::Table::default();
    for (name, moe) in variants {
        let moe = jit(move |w: &Array, a: &Array, b: &Array| moe(w, a, b)).out_shardings(P!("X"));
        let moe = moe.lower((&w, &a, b))?.compile()?;
        assert!(moe.memory().largest_bytes < s * d * f * 4, "no f32[S, D, F]");
        for b in &routes {
            assert_close(&moe(&w, &a, b)?, &dense(&w, &a, b));
        }
        // 2.2: shows what the compiler decided to move, why, and how long it takes.
        table.add(name, &moe, || moe(&w, &a, b))?;
    }
    println!("{table}");
    Ok(())
}
