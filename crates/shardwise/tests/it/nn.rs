//! Tests of `nn`: values against JAX's, sharded values against those of one device, communication, and mistakes.

use shardwise::nn::{self, Attention, Conv, Padding, Pool, init};
use shardwise::prelude::*;
use std::collections::BTreeSet;

/// Draws numbers from -2 up to 2, as `oracle/layers.py` does.
fn draw<const N: usize>(seed: u64, shape: [usize; N]) -> Array {
    uniform(Key::new(seed), shape, F32) * 4.0 - 2.0
}

fn points() -> Array {
    concatenate([draw(1, [40]), draw(2, [20]) * 32.0, array(&[0.0f32, -0.0, 100.0, -100.0, 1e-6, -1e-6])], 0)
}

fn cube() -> Array {
    draw(3, [3, 4, 5]) * 8.0
}

fn attend(f: fn([Array; 3], Array, Array) -> Array) -> Array {
    let arrays = [draw(10, [2, 5, 4, 8]), draw(11, [2, 6, 4, 8]), draw(12, [2, 6, 4, 8])];
    f(arrays, draw(13, [2, 1, 5, 6]).gt(-1.0), draw(14, [1, 4, 5, 6]))
}

fn grouped(f: fn([Array; 3], Array, Array) -> Array) -> Array {
    let few = |x: Array| x.i((.., .., ..2));
    let arrays = [draw(10, [2, 5, 4, 8]), few(draw(11, [2, 6, 4, 8])), few(draw(12, [2, 6, 4, 8]))];
    f(arrays, draw(13, [2, 1, 5, 6]).gt(-1.0), draw(14, [1, 4, 5, 6]))
}

fn logits() -> Array {
    draw(20, [3, 4, 7]) * 10.0
}

fn classes() -> Array {
    randint(Key::new(21), [3, 4], 0..7, I32)
}

fn image() -> Array {
    draw(30, [2, 7, 6, 4])
}

fn convolve(options: Conv) -> Array {
    nn::conv(&image(), &draw(31, [3, 2, 4, 6]), options)
}

/// The name of a case of `testdata/nn.txt`, its tolerance in ulps of the largest value, and the function that computes
/// it here.
type Case = (&'static str, f64, fn() -> Array);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("relu", 0.0, || points().relu()),
    ("sigmoid", 1.0, || points().sigmoid()),
    ("silu", 1.0, || points().silu()),
    ("softplus", 1.0, || points().softplus()),
    ("log_sigmoid", 1.0, || points().log_sigmoid()),
    ("elu", 1.0, || points().elu(1.0)),
    ("elu_alpha", 1.0, || points().elu(0.5)),
    ("leaky_relu", 0.0, || points().leaky_relu(0.01)),
    ("leaky_relu_slope", 0.0, || points().leaky_relu(0.2)),
    ("gelu", 1.0, || points().gelu()),
    ("gelu_exact", 2.0, || points().gelu_exact()),
    ("relu6", 0.0, || points().relu6()),
    ("hard_sigmoid", 1.0, || points().hard_sigmoid()),
    ("hard_silu", 1.0, || points().hard_silu()),
    ("hard_tanh", 0.0, || points().hard_tanh()),
    ("soft_sign", 1.0, || points().soft_sign()),
    ("mish", 1.0, || points().mish()),
    ("selu", 1.0, || points().selu()),
    ("celu", 1.0, || points().celu(1.0)),
    ("celu_alpha", 1.0, || points().celu(0.5)),
    ("squareplus", 1.0, || points().squareplus(4.0)),
    ("glu", 1.0, || draw(3, [3, 4, 5]).glu(1)),
    ("softmax", 4.0, || cube().softmax(-1)),
    ("softmax_1", 4.0, || cube().softmax(1)),
    ("log_softmax", 2.0, || cube().log_softmax(-1)),
    ("logsumexp", 1.0, || cube().logsumexp(1)),
    ("one_hot", 0.0, || array(&[1, 0, 4, -1]).one_hot(4, F32)),
    ("standardize", 4.0, || nn::standardize(&cube(), -1, 1e-5)),
    ("standardize_two", 4.0, || nn::standardize(&cube(), [0, 2], 1e-3)),
    ("layer_norm", 4.0, || nn::layer_norm(&cube(), &draw(4, [5]), &draw(5, [5]), 1e-6)),
    ("rms_norm", 2.0, || nn::rms_norm(&cube(), &draw(4, [5]), 1e-6)),
    ("rms_norm_bf16", 0.0, || nn::rms_norm(&draw(3, [3, 4, 5]).astype(BF16), &draw(4, [5]), 1e-6)),
    ("group_norm", 4.0, || nn::group_norm(&image(), &draw(4, [4]), &draw(5, [4]), 2, 1e-6)),
    ("batch_norm", 4.0, || {
        let x = image();
        nn::batch_norm(&x, &nn::BatchStatistics::of(&x), &draw(4, [4]), &draw(5, [4]), 1e-5)
    }),
    ("l2_loss", 1.0, || nn::l2_loss(&cube(), &draw(6, [3, 4, 5]))),
    ("huber_loss", 1.0, || nn::huber_loss(&cube(), &draw(6, [3, 4, 5]), 1.5)),
    ("sigmoid_cross_entropy", 1.0, || nn::sigmoid_binary_cross_entropy(&cube(), &uniform(Key::new(8), [3, 4, 5], F32))),
    ("dropout", 1.0, || nn::dropout(Key::new(7), &cube(), 0.25)),
    ("attention", 4.0, || attend(|[q, k, v], _, _| nn::dot_product_attention(&q, &k, &v, Attention::new()))),
    ("attention_causal", 4.0, || attend(|[q, k, v], _, _| nn::dot_product_attention(&q, &k, &v, Attention::new().causal()))),
    ("attention_mask", 4.0, || attend(|[q, k, v], m, _| nn::dot_product_attention(&q, &k, &v, Attention::new().mask(&m)))),
    ("attention_none", 4.0, || attend(|[q, k, v], _, _| {
        nn::dot_product_attention(&q, &k, &v, Attention::new().mask(&zeros([1, 4, 5, 6], Bool)))
    })),
    ("attention_bias", 4.0, || attend(|[q, k, v], m, b| {
        nn::dot_product_attention(&q, &k, &v, Attention::new().bias(&b).scale(0.3).mask(&m).causal())
    })),
    ("attention_groups", 4.0, || grouped(|[q, k, v], _, _| nn::dot_product_attention(&q, &k, &v, Attention::new()))),
    ("attention_groups_bias", 4.0, || grouped(|[q, k, v], m, b| {
        nn::dot_product_attention(&q, &k, &v, Attention::new().bias(&b).mask(&m))
    })),
    ("attention_bf16", 1.0, || grouped(|arrays, _, _| {
        let [q, k, v] = arrays.map(|x| x.astype(BF16));
        nn::dot_product_attention(&q, &k, &v, Attention::new().causal())
    })),
    ("attention_one", 4.0, || grouped(|arrays, _, _| {
        let [q, k, v] = arrays.map(|x| x.i(0));
        nn::dot_product_attention(&q, &k, &v, Attention::new().causal())
    })),
    ("cross_entropy_integers", 2.0, || nn::softmax_cross_entropy(&logits(), &classes())),
    ("cross_entropy_soft", 4.0, || nn::softmax_cross_entropy(&logits(), &uniform(Key::new(22), [3, 4, 7], F32))),
    ("cross_entropy_large", 1.0, || nn::softmax_cross_entropy(&(logits() * 1e3), &classes())),
    ("conv", 2.0, || convolve(Conv::new())),
    ("conv_strides", 2.0, || convolve(Conv::new().strides([2, 3]))),
    ("conv_valid", 2.0, || convolve(Conv::new().padding(Padding::Valid).kernel_dilation([2, 1]))),
    ("conv_padding", 2.0, || convolve(Conv::new().padding([(2, 1), (0, 3)]).strides([1, 2]))),
    ("conv_negative", 2.0, || convolve(Conv::new().padding([(-1, 1), (0, -2)]))),
    ("conv_dilation", 2.0, || convolve(Conv::new().input_dilation([2, 3]).padding([(2, 1), (1, 2)]))),
    ("conv_groups", 2.0, || nn::conv(&image(), &draw(32, [3, 2, 2, 6]), Conv::new().groups(2))),
    ("conv_depthwise", 2.0, || nn::conv(&image(), &draw(33, [2, 2, 1, 8]), Conv::new().groups(4).strides([2, 2]))),
    ("conv_line", 2.0, || nn::conv(&draw(34, [2, 9, 3]), &draw(35, [4, 3, 2]), Conv::new().strides([2]))),
    ("max_pool", 0.0, || nn::max_pool(&image(), Pool::new([2, 3]).strides([2, 2]))),
    ("max_pool_same", 0.0, || nn::max_pool(&image(), Pool::new([3, 2]).strides([2, 1]).padding(Padding::Same))),
    ("avg_pool", 2.0, || nn::avg_pool(&image(), Pool::new([2, 3]))),
    ("avg_pool_same", 2.0, || nn::avg_pool(&image(), Pool::new([3, 2]).strides([2, 2]).padding(Padding::Same))),
    ("avg_pool_inside", 2.0, || {
        nn::avg_pool(&image(), Pool::new([3, 2]).strides([2, 2]).padding(Padding::Same).without_padding())
    }),
    ("init_normal", 4.0, || init::normal(Key::new(40), 0.02, [3, 4, 5], F32)),
    ("init_uniform", 1.0, || init::uniform(Key::new(40), 0.05, [3, 4, 5], F32)),
    ("init_truncated", 4.0, || init::truncated_normal(Key::new(40), 0.02, [3, 4, 5], F32)),
    ("init_glorot_uniform", 2.0, || init::glorot_uniform(Key::new(40), [3, 4, 5], F32)),
    ("init_glorot_normal", 4.0, || init::glorot_normal(Key::new(40), [3, 4, 5], F32)),
    ("init_lecun_uniform", 2.0, || init::lecun_uniform(Key::new(40), [3, 4, 5], F32)),
    ("init_lecun_normal", 4.0, || init::lecun_normal(Key::new(40), [3, 4, 5], F32)),
    ("init_he_uniform", 2.0, || init::he_uniform(Key::new(40), [3, 4, 5], F32)),
    ("init_he_normal", 4.0, || init::he_normal(Key::new(40), [3, 4, 5], F32)),
    ("init_scaling", 4.0, || {
        init::Scaling::fan_out(3.0).inputs([0]).outputs([1, 2]).normal(Key::new(40), [3, 4, 5], F32)
    }),
    ("truncated_normal", 4.0, || truncated_normal(Key::new(40), -1.0, 0.5, [60], F32)),
];

/// Reads the cases of a table that `oracle/recorded.py` writes: `name | words`. A word is the bits of a float as a
/// hexadecimal number: of a `bf16` if it has four digits, and of an `f32` otherwise.
pub fn recorded(table: &'static str) -> impl Iterator<Item = (&'static str, Vec<f64>)> {
    let cases = table.lines().filter(|l| !l.starts_with('#')).map(|l| l.rsplit_once(" | ").unwrap());
    let float = |word: &str| {
        let bits = u32::from_str_radix(word, 16).unwrap() << if word.len() == 4 { 16 } else { 0 };
        f64::from(f32::from_bits(bits))
    };
    cases.map(move |(name, words)| (name, words.split(' ').map(float).collect()))
}

pub fn floats(x: &Array) -> Vec<f64> {
    x.astype(F32).to_vec::<f32>().unwrap().into_iter().map(f64::from).collect()
}

/// Returns the largest difference, in units of `epsilon` times the largest magnitude of an expected value. Returns NaN
/// if a difference is NaN, and if all values are 0. Panics if the numbers of values differ.
pub fn ulps(got: &[f64], expected: &[f64], epsilon: f64) -> f64 {
    assert_eq!(got.len(), expected.len());
    let largest = expected.iter().fold(0f64, |m, x| m.max(x.abs()));
    let differences = got.iter().zip(expected).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() });
    differences.fold(0f64, |m, d| if d > m || d.is_nan() { d } else { m }) / (epsilon * largest)
}

/// Compares the functions of `nn`, eager and traced, with the values of JAX in `testdata/nn.txt`, which
/// `oracle/layers.py` makes.
#[test]
fn values_are_jaxs() {
    let mut wrong = vec![];
    let table = recorded(include_str!("../../../../testdata/nn.txt"));
    let mut names = BTreeSet::new();
    for (name, expected) in table {
        names.insert(name);
        let (_, tolerance, f) = CASES.iter().find(|case| case.0 == name).unwrap_or_else(|| panic!("no case {name}"));
        let eager = f();
        let epsilon = if eager.dtype() == BF16 { 2f64.powi(-8) } else { 2f64.powi(-23) };
        let traced = jit(|_: &Array| f())(&zeros([], F32)).unwrap();
        for (how, x) in [("eager", &eager), ("traced", &traced)] {
            let worst = ulps(&floats(x), &expected, epsilon);
            if worst.is_nan() || worst > *tolerance {
                wrong.push(format!("{name} ({how}): {worst:.2} ulp, and {tolerance} are allowed"));
            }
        }
    }
    assert_eq!(names.len(), CASES.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the communication of `f`, traced for the arrays in the layouts `p` and `q`. Checks that its results for
/// these, traced and eager, are close to those for the same arrays on one device.
fn communication(f: fn(&Array, &Array) -> Array, [x, y]: [&Array; 2], [p, q]: [P; 2]) -> Communication {
    let split = (x.shard(p), y.shard(q));
    let traced = jit(f);
    assert_close(&traced(&split.0, &split.1).unwrap(), &f(x, y));
    assert_close(&f(&split.0, &split.1), &f(x, y));
    traced.lower((&split.0, &split.1)).unwrap().communication().unwrap()
}

type Two = fn(&Array, &Array) -> Array;

#[test]
fn sharded_layers_communicate_only_sums() {
    let axes = [("X", 4), ("Y", 2)];
    let rms: Two = |x, scale| nn::rms_norm(x, scale, 1e-6);
    let loss: Two = nn::softmax_cross_entropy;
    let attend: Two = |q, kv| nn::dot_product_attention(q, kv, kv, Attention::new().causal());
    let depthwise: Two = |x, k| nn::conv(x, k, Conv::new().groups(8));
    let conv: Two = |x, k| nn::max_pool(&nn::conv(x, k, Conv::new()), Pool::new([2, 2]).strides([2, 2]));
    let (x, scale, labels) = (draw(1, [8, 16, 64]), draw(2, [64]), randint(Key::new(3), [8, 16], 0..64, I32));
    let (q, kv, one) = (draw(4, [8, 6, 4, 8]), draw(5, [8, 6, 2, 8]), draw(6, [8, 6, 1, 8]));
    let (image, each, kernel) = (draw(7, [8, 6, 6, 8]), draw(8, [3, 3, 1, 8]), draw(9, [3, 3, 8, 4]));
    for mesh in [Mesh::auto(axes).unwrap(), Mesh::explicit(axes).unwrap()] {
        with_mesh(&mesh, || {
            communication(rms, [&x, &scale], [P!("X", "Y"), P!()]).assert_none();
            communication(rms, [&x, &scale], [P!("X", None, "Y"), P!("Y")]).assert_only(["all-reduce Y"]);
            communication(loss, [&x, &labels], [P!("X", "Y"), P!("X", "Y")]).assert_none();
            // The largest logit, the sum, and the logit of the right class: 32 floats on a device. In Auto mode each
            // device sums its part of some of them.
            let summed = communication(loss, [&x, &labels], [P!("X", None, "Y"), P!("X")]);
            assert!(summed.bytes_received() <= 3 * 32 * 4, "{summed}");
            if mesh.axes().iter().all(|axis| axis.is_explicit()) {
                summed.assert_only(["all-reduce Y"; 3]);
            }
            communication(attend, [&q, &kv], [P!("X", None, "Y"), P!("X", None, "Y")]).assert_none();
            communication(attend, [&q, &one], [P!("X", None, "Y"), P!("X")]).assert_none();
            communication(depthwise, [&image, &each], [P!("X", None, None, "Y"), P!(None, None, None, "Y")])
                .assert_none();
            communication(conv, [&image, &kernel], [P!("X"), P!(None, None, None, "Y")]).assert_none();
        });
    }
}

#[test]
fn dropout_is_the_same_on_every_mesh() {
    let x = draw(1, [8, 16]);
    let dropped = nn::dropout(Key::new(1), &x, 0.25);
    assert_equal(&nn::dropout(Key::new(1), &x, 0.0), &x);
    assert_equal(&nn::dropout(Key::new(1), &x, 1.0), &zeros([8, 16], F32));
    for mesh in [Mesh::auto([("X", 4)]).unwrap(), Mesh::explicit([("X", 4)]).unwrap()] {
        with_mesh(&mesh, || {
            let split = x.shard(P!("X"));
            let drop = jit(|x: &Array| nn::dropout(Key::new(1), x, 0.25));
            let out = drop(&split).unwrap();
            assert_equal(&out, &dropped);
            assert_eq!(out.ty().to_string(), "f32[8@X,16]");
            assert_equal(&nn::dropout(Key::new(1), &split, 0.25), &dropped);
            drop.lower(&split).unwrap().communication().unwrap().assert_none();
        });
    }
}

#[test]
fn layers_run_in_manual_mode() {
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    let (x, labels) = (draw(1, [8, 16]), randint(Key::new(3), [8], 0..16, I32));
    let local = |x: &Array, labels: &Array| {
        let x = nn::layer_norm(x, &ones([16], F32), &zeros([16], F32), 1e-6);
        let x = nn::conv(&x.expand_dims(-1), &ones([3, 1, 1], F32), Conv::new()).squeeze(-1);
        nn::softmax_cross_entropy(&x, labels)
    };
    let mapped = shard_map(local).mesh(&mesh).in_specs((P!("X"), P!("X"))).out_specs(P!("X"));
    assert_close(&mapped(&x, &labels), &local(&x, &labels));
    let dropped = shard_map(|x: &Array| nn::dropout(Key::new(0).fold_in(axis_index("X")), x, 0.5))
        .mesh(&mesh)
        .in_specs(P!("X"))
        .out_specs(P!("X"));
    let kept = dropped(&x).eq(0.0).astype(I32).sum(1).to_vec::<i32>().unwrap();
    assert!(kept.iter().all(|&n| n < 16) && kept.iter().any(|&n| n != kept[0]), "{kept:?}");
}

#[test]
fn initial_values_are_made_in_their_layout() {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    let make = || init::he_normal(Key::new(1), [8, 6], F32);
    let split = make().shard(mesh.sharding(P!("X", "Y")));
    assert_eq!(split.ty().to_string(), "f32[8@X,6@Y]");
    assert_equal(&split, &make());
    // The variances differ, so one must not be taken for the other in a cache.
    let other = init::he_normal(Key::new(1), [8, 6], F32) / init::lecun_normal(Key::new(1), [8, 6], F32);
    assert_close(&other, &full([8, 6], 2f64.sqrt(), F32));
}

#[test]
fn rows_of_an_empty_batch() {
    let none = zeros([0, 5, 4], F32);
    assert_eq!(nn::rms_norm(&none, &ones([4], F32), 1e-6).shape(), [0, 5, 4]);
    assert_eq!(nn::softmax_cross_entropy(&none, &zeros([0, 5], I32)).shape(), [0, 5]);
    assert_eq!(nn::conv(&none, &ones([3, 4, 2], F32), Conv::new()).shape(), [0, 5, 2]);
    assert_eq!(nn::max_pool(&none, Pool::new([8])).shape(), [0, 0, 4]);
    let q = zeros([0, 5, 4, 2], F32);
    assert_eq!(nn::dot_product_attention(&q, &q, &q, Attention::new()).shape(), [0, 5, 4, 2]);
}
