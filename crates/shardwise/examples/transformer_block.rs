//! A decoder block with its parameters split over "model" and its batch over "data". The specs require two sums over
//! "model". Each is a reduce-scatter and an all-gather, with the tokens split over "model" in between.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use shardwise::prelude::*;

const HEADS: usize = 4;

#[derive(Tree, Clone)]
struct Block<T = Array> {
    qkv: T,
    out: T,
    up: T,
    down: T,
}

fn norm(x: &Array) -> Array {
    x * (x.square().mean(keep(-1)) + 1e-6).rsqrt()
}

fn attention(p: &Block, x: &Array) -> Array {
    let [b, t, d] = x.dims();
    let qkv = einsum!("btd,dhsk->sbhtk", x, p.qkv.reshape([d, HEADS, 3, d / HEADS]));
    let (q, k, v) = (qkv.i(0), qkv.i(1), qkv.i(2));
    let scores = einsum!("bhqk,bhpk->bhqp", q, k) * (d as f64 / HEADS as f64).powf(-0.5);
    let position = arange(0..t, I32);
    let causal = position.expand_dims(1).ge(&position);
    let weights = causal.select(scores, -1e30).softmax(-1);
    let mixed = einsum!("bhqp,bhpk->bqhk", weights, v).reshape([b, t, d]);
    mixed.matmul(&p.out)
}

fn block(p: &Block, x: &Array) -> Array {
    let x = named_scope("attention", || x + attention(p, &norm(x)));
    named_scope("mlp", || &x + norm(&x).matmul(&p.up).gelu().matmul(&p.down))
}

fn main() -> Result<()> {
    set_mesh(Mesh::auto([("data", 2), ("model", 4)])?);
    let d = 64;
    let specs = Block { qkv: P!(None, "model"), out: P!("model"), up: P!(None, "model"), down: P!("model") };
    let [a, b, c, e, f] = Key::new(0).split();
    let scale = (d as f64).powf(-0.5);
    let weight = |key, shape| normal(key, shape, F32) * scale;
    let p = Block {
        qkv: weight(a, [d, 3 * d]),
        out: weight(b, [d, d]),
        up: weight(c, [d, 4 * d]),
        down: weight(e, [4 * d, d]),
    };
    let p = shard(p, specs);
    let x = normal(f, [4, 16, d], F32).shard(P!("data"));

    let step = jit(block).out_shardings(P!("data")).lower((&p, &x))?.compile()?;
    println!("{}", step.communication());
    step.communication().assert_only([
        "reduce-scatter model",
        "all-gather model",
        "reduce-scatter model",
        "all-gather model",
    ]);
    let y = step(&p, &x)?;
    println!("{}, mean square {:.3}", y.ty(), y.square().mean(..).item::<f32>()?);
    Ok(())
}
