//! The training step of a transformer, written and differentiated here, against the one that JAX computed for
//! `testdata/transformer/tiny_train.mlir`, of which `oracle/transformer.py` is the source.

use shardwise::prelude::*;
use shardwise::{npz, value_and_grad};
use std::collections::BTreeMap;

const LEARNING_RATE: f64 = 0.125;

/// The parameters in the order of JAX's tree: the embedding, eight for each layer, the last scale and the last
/// projection.
type Params = Vec<Array>;

const PER_LAYER: usize = 8;

struct Config {
    layers: usize,
    width: usize,
    heads: usize,
    ff: usize,
    vocabulary: usize,
    tokens: usize,
    batch: usize,
}

const TINY: Config = Config { layers: 2, width: 16, heads: 4, ff: 64, vocabulary: 32, tokens: 8, batch: 4 };

impl Config {
    fn shapes(&self) -> Vec<Vec<usize>> {
        let Config { layers, width, heads, ff, vocabulary, .. } = *self;
        let head = width / heads;
        let layer = || {
            let (into, back) = (vec![width, heads, head], vec![heads, head, width]);
            [vec![width], vec![width], vec![width, ff], vec![ff, width], into.clone(), back, into.clone(), into]
        };
        let inner = (0..layers).flat_map(|_| layer());
        std::iter::once(vec![vocabulary, width]).chain(inner).chain([vec![width], vec![width, vocabulary]]).collect()
    }
}

fn specs(layers: usize) -> Vec<P> {
    let heads = || P!(None, "model");
    let layer = || {
        let [norm1, norm2, w1, w2] = [P!(), P!(), P!(None, "model"), P!("model")];
        [norm1, norm2, w1, w2, heads(), P!("model"), heads(), heads()]
    };
    let inner = (0..layers).flat_map(|_| layer());
    std::iter::once(P!("model")).chain(inner).chain([P!(), P!(None, "model")]).collect()
}

fn rms_norm(x: &Array, scale: &Array) -> Array {
    let inverse = (x.square().mean(keep(-1)) + 1e-6).rsqrt();
    x * inverse * scale
}

fn attention(x: &Array, p: &[Array]) -> Array {
    let [wk, wo, wq, wv] = [&p[4], &p[5], &p[6], &p[7]];
    let [q, k, v] = [wq, wk, wv].map(|w| einsum("btd,dhk->bthk", (x, w)));
    let scores = einsum("bqhk,bshk->bhqs", (&q, &k)) * (q.shape()[3] as f64).powf(-0.5);
    let tokens = x.shape()[1];
    let causal = arange(0..tokens, I32).expand_dims(1).ge(arange(0..tokens, I32));
    let weights = causal.select(&scores, -1e30).softmax(-1);
    let mixed = einsum("bhqs,bshk->bqhk", (&weights, &v));
    einsum("bqhk,hkd->bqd", (&mixed, wo))
}

fn block(x: &Array, p: &[Array]) -> Array {
    let x = x + attention(&rms_norm(x, &p[0]), p);
    let hidden = rms_norm(&x, &p[1]).matmul(&p[2]).gelu();
    (&x + hidden.matmul(&p[3])).shard(P!("data"))
}

fn loss(params: &Params, tokens: &Array, targets: &Array) -> Array {
    let [embed, inner @ .., norm, unembed] = &params[..] else { panic!("too few parameters") };
    let x = inner.chunks(PER_LAYER).fold(embed.i(tokens), |x, layer| block(&x, layer));
    let logits = rms_norm(&x, norm).matmul(unembed);
    -logits.log_softmax(-1).take_along(targets.expand_dims(-1), -1).mean(..)
}

fn step(params: &Params, tokens: &Array, targets: &Array) -> (Array, Params) {
    let (value, gradient) = value_and_grad(|p: &Params| loss(p, tokens, targets))(params);
    (value, params.iter().zip(gradient).map(|(p, g)| p - g * LEARNING_RATE).collect())
}

#[test]
fn a_step_is_that_of_jax() {
    set_mesh(Mesh::auto([("data", 2), ("model", 4)]).unwrap());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/transformer");
    let like = |prefix: &str, types: Vec<(Vec<usize>, DType)>| -> BTreeMap<String, Array> {
        types.into_iter().enumerate().map(|(i, (shape, dtype))| (format!("{prefix}{i}"), zeros(shape, dtype))).collect()
    };
    let weights = || TINY.shapes().into_iter().map(|shape| (shape, F32));
    let ids = || (vec![TINY.batch, TINY.tokens], I32);
    let given = like("arg", weights().chain([ids(), ids()]).collect());
    let given = npz::load(&given, format!("{folder}/tiny_train.in.npz")).unwrap();
    let expected = like("out", std::iter::once((vec![], F32)).chain(weights()).collect());
    let expected = npz::load(&expected, format!("{folder}/tiny_train.out.npz")).unwrap();
    let params: Params =
        specs(2).iter().enumerate().map(|(i, spec)| given[&format!("arg{i}")].shard(spec.clone())).collect();
    let [tokens, targets] = ["arg19", "arg20"].map(|name| given[name].shard(P!("data")));
    let out = (P!(), specs(2));
    let (value, stepped) = jit(step).out_shardings(out)(&params, &tokens, &targets).unwrap();
    for (i, found) in std::iter::once(&value).chain(&stepped).enumerate() {
        let expected = &expected[&format!("out{i}")];
        let (a, b) = (found.to_vec::<f32>().unwrap(), expected.to_vec::<f32>().unwrap());
        let largest = b.iter().fold(0f32, |m, x| m.max(x.abs()));
        assert!(a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-5 * largest), "result {i}");
    }
}
