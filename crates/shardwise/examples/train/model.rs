//! A decoder transformer, whose feed-forward layers may be mixtures of experts.

use shardwise::nn::{self, Attention};
use shardwise::prelude::*;
use shardwise::{CheckpointPolicy, checkpoint};

/// The number of different tokens, which are bytes.
pub const VOCAB: usize = 256;
/// The number of experts that are chosen for a token. It is not sent to those that have no room left.
pub const CHOSEN: usize = 2;

/// The sizes of the model, and how it computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub width: usize,
    pub heads: usize,
    pub hidden: usize,
    pub layers: usize,
    pub sequence: usize,
    /// The number of experts of each layer. 0 if the layers have none.
    pub experts: usize,
    /// The dtype of products and activations. Weights are f32.
    pub compute: DType,
    /// True if the backward pass computes the values inside a layer again, except for products without batch
    /// dimensions, which are kept.
    pub remat: bool,
}

/// The weights of all layers, stacked along the first dimension.
#[derive(Tree, Clone)]
pub struct Layers<T = Array> {
    pub wqkv: T,           // [layers, width, 3, heads, width / heads]
    pub wo: T,             // [layers, heads, width / heads, width]
    pub router: Option<T>, // [layers, width, experts]
    pub w_in: T,           // [layers, width, hidden] or [layers, experts, width, hidden]
    pub w_out: T,          // [layers, hidden, width] or [layers, experts, hidden, width]
    pub norms: [T; 2],     // [layers, width]
}

#[derive(Tree, Clone)]
pub struct Params<T = Array> {
    pub embed: T,     // [VOCAB, width]
    pub positions: T, // [sequence, width]
    pub layers: Layers<T>,
    pub norm: T, // [width]
}

impl Model {
    /// Returns the layouts of the weights. Matrices are split over "data" (FSDP), and over "model" by heads, hidden
    /// units, experts or, for the embedding, bytes. Positions are split over "data" only. Norms and the router are
    /// whole.
    pub fn specs(&self) -> Params<P> {
        let has_experts = self.experts > 0;
        let layers = Layers {
            wqkv: P!(None, "data", None, "model", None),
            wo: P!(None, "model", None, "data"),
            router: has_experts.then(|| P!()),
            w_in: if has_experts { P!(None, "model", "data", None) } else { P!(None, "data", "model") },
            w_out: if has_experts { P!(None, "model", None, "data") } else { P!(None, "model", "data") },
            norms: [P!(), P!()],
        };
        Params { embed: P!("model", "data"), positions: P!(None, "data"), layers, norm: P!() }
    }

    /// Draws the weights. The scales of the norms are 1.
    pub fn init(&self, key: Key) -> Params {
        let &Model { width, heads, hidden, layers, sequence, experts, .. } = self;
        let [a, b, c, d, e, f, g] = key.split();
        let of_experts = |rest: [usize; 2]| match experts {
            0 => [&[layers][..], &rest].concat(),
            _ => [&[layers, experts][..], &rest].concat(),
        };
        let ones = |shape: &[usize]| ones(shape.to_vec(), F32);
        let layers = Layers {
            wqkv: normal(a, [layers, width, 3, heads, width / heads], F32) * 0.05,
            wo: normal(b, [layers, heads, width / heads, width], F32) * 0.02,
            router: (experts > 0).then(|| normal(c, [layers, width, experts], F32) * 0.05),
            w_in: normal(d, of_experts([width, hidden]), F32) * 0.05,
            w_out: normal(e, of_experts([hidden, width]), F32) * 0.02,
            norms: [ones(&[layers, width]), ones(&[layers, width])],
        };
        let embed = normal(f, [VOCAB, width], F32) * 0.05;
        Params { embed, positions: normal(g, [sequence, width], F32) * 0.05, layers, norm: ones(&[width]) }
    }

    /// Returns the logits of the next byte at each position, `i32[b, sequence] -> f32[b, sequence, VOCAB]`, and how
    /// unevenly the experts are used: the sum over the layers of a number that is 1 if they are used evenly, and 0
    /// without experts.
    pub fn forward(&self, params: &Params, tokens: &Array) -> (Array, Array) {
        let p = tree::map(params, |w| w.astype(self.compute));
        let x = (p.embed.i(tokens) + &p.positions).shard(P!("data"));
        let again = checkpoint(layer).policy(CheckpointPolicy::DotsWithNoBatchDims);
        let ((x, unevenness), ()) = scan((x, scalar(0.0, F32)), p.layers, |(x, sum), w| {
            let (x, unevenness) = if self.remat { again(&x, &w) } else { layer(&x, &w) };
            ((x, sum + unevenness), ())
        });
        (einsum!("bsd,vd->bsv", nn::rms_norm(&x, &p.norm, 1e-6), p.embed).astype(F32), unevenness)
    }

    /// Returns the mean negative log-likelihood of each byte after those before it, and the unevenness of the experts.
    /// `text: i32[b, sequence + 1]`.
    fn losses(&self, params: &Params, text: &Array) -> (Array, Array) {
        let (logits, unevenness) = self.forward(params, &text.i((.., ..-1)));
        (nn::softmax_cross_entropy(&logits, &text.i((.., 1..))).mean(..), unevenness)
    }

    /// Returns the mean negative log-likelihood of each byte after those before it.
    pub fn loss(&self, params: &Params, text: &Array) -> Array {
        self.losses(params, text).0
    }

    /// Returns what training minimizes: the loss, and a hundredth of the unevenness of the experts if there are any.
    pub fn objective(&self, params: &Params, text: &Array) -> Array {
        let (loss, unevenness) = self.losses(params, text);
        if self.experts == 0 { loss } else { loss + unevenness * 0.01 }
    }
}

/// Computes one layer, whose weights have no dimension of layers. `x: [b, s, width]`. Also returns how unevenly its
/// experts are used, or 0 if it has none.
fn layer(x: &Array, w: &Layers) -> (Array, Array) {
    let h = nn::rms_norm(x, &w.norms[0], 1e-6);
    let qkv = einsum!("bsd,dthk->tbshk", h, w.wqkv);
    let attended = nn::dot_product_attention(&qkv.i(0), &qkv.i(1), &qkv.i(2), Attention::new().causal());
    let x = x + einsum!("bshk,hkd->bsd", attended, w.wo);
    let h = nn::rms_norm(&x, &w.norms[1], 1e-6);
    match &w.router {
        Some(router) => {
            let (out, unevenness) = mixture(&h, router, &w.w_in, &w.w_out);
            (x + out, unevenness)
        }
        None => {
            let h = einsum!("bsd,df->bsf", h, w.w_in).gelu();
            (x + einsum!("bsf,fd->bsd", h, w.w_out), scalar(0.0, F32))
        }
    }
}

/// Sends each token to the [`CHOSEN`] experts with the highest scores, and adds their results, weighted by their shares
/// of the sum of these scores. Also returns how unevenly the experts are used: 1 if they are used evenly.
///
/// An expert has room for a quarter more tokens of each row than there are for it on average, rounded up. A token for
/// which it has no room left is not sent to it.
fn mixture(x: &Array, router: &Array, w_in: &Array, w_out: &Array) -> (Array, Array) {
    let ([b, s, _], experts) = (x.dims(), router.dim(1));
    let room = (s * CHOSEN * 5).div_ceil(experts * 4);
    let scores = einsum!("bsd,de->bse", x, router).astype(F32).softmax(-1);
    let (best, chosen) = scores.top_k(CHOSEN); // [b, s, k]
    let weights = &best / best.sum(keep(-1));

    let sent = chosen.one_hot(experts, I32); // [b, s, k, e]
    let queue = sent.reshape([b, s * CHOSEN, experts]).cumsum(1).reshape(sent.shape());
    let place = ((queue - 1) * &sent).sum(-1).one_hot(room, F32); // [b, s, k, room]
    let sent = sent.astype(F32);
    let places = einsum!("bske,bskr->bsker", sent, place);
    let dispatch = places.sum(2).astype(x.dtype()); // [b, s, e, room]
    let combine = einsum!("bsker,bsk->bser", places, weights).astype(x.dtype());

    let h = einsum!("bser,bsd->ebrd", dispatch, x);
    let h = einsum!("ebrd,edf->ebrf", h, w_in).gelu();
    let out = einsum!("bser,ebrd->bsd", combine, einsum!("ebrf,efd->ebrd", h, w_out));
    let parts = sent.mean([0, 1, 2]) * scores.mean([0, 1]);
    (out, parts.sum(..) * experts)
}
