//! Trains a decoder transformer on the source text of this repository, byte by byte, and samples from it.
//!
//! Parameters are split over both axes of the mesh: "data" is FSDP, "model" is tensor parallelism. Weights are f32, and
//! products are computed in bf16.
//!
//! ```sh
//! cargo run --release -p shardwise --example t1_train_transformer -- --steps 600 --save target/t1
//! cargo run --release -p shardwise --example t1_train_transformer -- --steps 700 --resume target/t1
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]

use shardwise::nn::Attention;
use shardwise::optim::{self, Chain, Optimizer, adamw, chain, clip_by_global_norm, warmup_cosine};
use shardwise::prelude::*;
use shardwise::{checkpoint, nn, value_and_grad};
use std::path::{Path, PathBuf};
use std::time::Instant;

const VOCAB: usize = 256;
const D: usize = 128;
const HEADS: usize = 4;
const F: usize = 512;
const LAYERS: usize = 4;
const SEQUENCE: usize = 128;
const BATCH: usize = 16;

/// The weights of all layers, stacked along the first dimension.
#[derive(Tree, Clone)]
struct Layers<T = Array> {
    wqkv: T,       // [LAYERS, D, 3, HEADS, D / HEADS]
    wo: T,         // [LAYERS, HEADS, D / HEADS, D]
    w_in: T,       // [LAYERS, D, F]
    w_out: T,      // [LAYERS, F, D]
    norms: [T; 2], // [LAYERS, D]
}

#[derive(Tree, Clone)]
struct Params<T = Array> {
    embed: T,     // [VOCAB, D]
    positions: T, // [SEQUENCE, D]
    layers: Layers<T>,
    norm: T, // [D]
}

fn specs() -> Params<P> {
    let layers = Layers {
        wqkv: P!(None, "data", None, "model", None),
        wo: P!(None, "model", None, "data"),
        w_in: P!(None, "data", "model"),
        w_out: P!(None, "model", "data"),
        norms: [P!(), P!()],
    };
    Params { embed: P!("model", "data"), positions: P!(None, "data"), layers, norm: P!() }
}

fn init(key: Key) -> Params {
    let [a, b, c, d, e, f] = key.split();
    let layers = Layers {
        wqkv: normal(a, [LAYERS, D, 3, HEADS, D / HEADS], F32) * 0.05,
        wo: normal(b, [LAYERS, HEADS, D / HEADS, D], F32) * 0.02,
        w_in: normal(c, [LAYERS, D, F], F32) * 0.05,
        w_out: normal(d, [LAYERS, F, D], F32) * 0.02,
        norms: [ones([LAYERS, D], F32), ones([LAYERS, D], F32)],
    };
    let embed = normal(e, [VOCAB, D], F32) * 0.05;
    Params { embed, positions: normal(f, [SEQUENCE, D], F32) * 0.05, layers, norm: ones([D], F32) }
}

/// Computes one layer. Its weights have no dimension of layers: bf16[b, s, D] -> bf16[b, s, D].
fn layer(x: &Array, w: &Layers) -> Array {
    let h = nn::rms_norm(x, &w.norms[0], 1e-6);
    let qkv = einsum!("bsd,dthk->tbshk", h, w.wqkv);
    let attended = nn::dot_product_attention(&qkv.i(0), &qkv.i(1), &qkv.i(2), Attention::new().causal());
    let x = x + einsum!("bshk,hkd->bsd", attended, w.wo);
    let h = einsum!("bsd,df->bsf", nn::rms_norm(&x, &w.norms[1], 1e-6), w.w_in);
    x + einsum!("bsf,fd->bsd", h.gelu(), w.w_out)
}

/// Computes the logits of the next byte at each position: i32[b, s] -> f32[b, s, VOCAB].
fn forward(params: &Params, tokens: &Array) -> Array {
    let p = tree::map(params, |w| w.astype(BF16));
    let x = p.embed.i(tokens) + &p.positions;
    let (x, ()) = scan(x.shard(P!("data")), p.layers, |x, w| (layer(&x, &w), ()));
    einsum!("bsd,vd->bsv", nn::rms_norm(&x, &p.norm, 1e-6), p.embed).astype(F32)
}

/// Computes the mean negative log-likelihood of each byte after those before it. `text: i32[b, SEQUENCE + 1]`.
fn loss(params: &Params, text: &Array) -> Array {
    let logits = forward(params, &text.i((.., ..SEQUENCE)));
    nn::softmax_cross_entropy(&logits, &text.i((.., 1..))).mean(..)
}

/// Returns all source files of the workspace, one after the other, in the order of their paths.
fn corpus() -> std::io::Result<Vec<u8>> {
    fn visit(folder: &Path, text: &mut Vec<u8>) -> std::io::Result<()> {
        let mut entries =
            std::fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
        entries.sort();
        for path in entries {
            match path.is_dir() {
                true => visit(&path, text)?,
                false if path.extension().is_some_and(|e| e == "rs") => text.extend(std::fs::read(path)?),
                false => {}
            }
        }
        Ok(())
    }
    let mut text = vec![];
    visit(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")), &mut text)?;
    Ok(text)
}

/// Rows of the text that begin at positions which depend only on `seed`.
fn batch(text: &[u8], seed: u64) -> Array {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut row = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let start = state as usize % (text.len() - SEQUENCE - 1);
        text[start..][..SEQUENCE + 1].iter().map(|&b| i32::from(b)).collect::<Vec<i32>>()
    };
    array(&(0..BATCH).flat_map(|_| row()).collect::<Vec<i32>>()).reshape([BATCH, SEQUENCE + 1]).shard(P!("data"))
}

/// Returns the conditional entropy of a byte given the one before it, in nats: what the best bigram model reaches.
fn bigram_entropy(text: &[u8]) -> f64 {
    let (mut pairs, mut firsts) = (vec![0f64; VOCAB * VOCAB], vec![0f64; VOCAB]);
    for pair in text.windows(2) {
        pairs[usize::from(pair[0]) * VOCAB + usize::from(pair[1])] += 1.0;
        firsts[usize::from(pair[0])] += 1.0;
    }
    let term = |(i, &n): (usize, &f64)| if n > 0.0 { -n * (n / firsts[i / VOCAB]).ln() } else { 0.0 };
    pairs.iter().enumerate().map(term).sum::<f64>() / (text.len() - 1) as f64
}

/// Everything that a run continues from.
#[derive(Tree, Clone)]
struct State {
    params: Params,
    optimizer: optim::State<Params>,
}

fn optimizer(steps: usize) -> Chain {
    chain((clip_by_global_norm(1.0), adamw(warmup_cosine(3e-3, 3e-4, 50, steps.max(100))).b2(0.95).weight_decay(0.1)))
}

/// Continues the text by 200 bytes, each drawn from the model's distribution.
fn sample(params: &Params, prompt: &str) -> Result<String> {
    let next = jit(|params: &Params, tokens: &Array| forward(params, tokens).i(0));
    let mut text: Vec<u8> = prompt.bytes().collect();
    for i in 0..200 {
        let shown = &text[text.len().saturating_sub(SEQUENCE)..];
        let mut window: Vec<i32> = shown.iter().map(|&b| i32::from(b)).collect();
        window.resize(SEQUENCE, 0);
        let logits = next(params, &array(&window.repeat(4)).reshape([4, SEQUENCE]))?;
        let byte = categorical(Key::new(i), &(logits.i(shown.len() - 1) / 0.7), 0).item::<i32>()?;
        text.push(byte as u8);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().position(|a| a == name).and_then(|i| arguments.get(i + 1)).cloned();
    let steps: usize = value("--steps").and_then(|n| n.parse().ok()).unwrap_or(600);

    set_mesh(Mesh::auto([("data", 4), ("model", 2)])?);
    let text = corpus()?;
    let (train, test) = text.split_at(text.len() / 20 * 19);
    println!("{} bytes of text; a bigram model reaches {:.3} nats", text.len(), bigram_entropy(test));

    let optimizer = optimizer(steps);
    let params = jit(init).out_shardings(specs())(Key::new(0))?;
    let mut state = State { optimizer: optimizer.init(&params), params };
    if let Some(folder) = value("--resume") {
        state = checkpoint::restore(&state, folder)?;
    }
    let step = jit(|state: State, text: &Array| {
        let (loss, gradient) = value_and_grad(loss)(&state.params, text);
        let (params, optimizer) = optimizer.update(&gradient, state.optimizer, &state.params);
        (params, optimizer, loss)
    });
    let step = step.out_shardings((specs(), optim::specs(specs()), P!()));
    let evaluate = jit(loss);

    let (first, begin) = (state.optimizer.steps().map_or(Ok(0), |n| n.item::<i32>())? as usize, Instant::now());
    for i in first..steps {
        let (params, optimizer, loss) = step(state, &batch(train, i as u64))?;
        state = State { params, optimizer };
        if (i + 1) % 50 == 0 || i + 1 == steps {
            let mut total = 0.0;
            for k in 0..4 {
                total += evaluate(&state.params, &batch(test, 1_000_000 + k))?.item::<f32>()?;
            }
            let time = begin.elapsed().as_secs_f64() / (i + 1 - first) as f64;
            let (loss, test) = (loss.item::<f32>()?, total / 4.0);
            println!("step {:5}: loss {loss:.4}, test {test:.4}, {:.0} ms a step", i + 1, 1e3 * time);
        }
    }
    if let Some(folder) = value("--save") {
        checkpoint::save(&state, &folder)?;
        eprintln!("saved to {folder}");
    }
    println!("\n{}", sample(&state.params, "/// Returns the ")?);
    Ok(())
}
