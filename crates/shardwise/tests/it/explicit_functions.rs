//! Tests Explicit mode function by function: every public array function of [`SOURCES`] has a case here, or is in
//! [`ELSEWHERE`].
//!
//! The names are read from the sources. Each case runs on a matrix that is split in several ways. If it is accepted,
//! which it must be for one of them, its value is that of the unsharded one. Under `Deny` it communicates nothing or is
//! refused, and then with a message of Explicit mode.

use shardwise::prelude::*;
use shardwise::{bits, grad, linalg};
use std::collections::BTreeSet;

const SOURCES: [&str; 23] = [
    include_str!("../../src/control.rs"),
    include_str!("../../src/create.rs"),
    include_str!("../../src/diagonal.rs"),
    include_str!("../../src/einsum.rs"),
    include_str!("../../src/fft.rs"),
    include_str!("../../src/index.rs"),
    include_str!("../../src/linalg.rs"),
    include_str!("../../src/linalg/triangular.rs"),
    include_str!("../../src/nn/activation.rs"),
    include_str!("../../src/nn/attention.rs"),
    include_str!("../../src/nn/conv.rs"),
    include_str!("../../src/nn/dropout.rs"),
    include_str!("../../src/nn/loss.rs"),
    include_str!("../../src/nn/norm.rs"),
    include_str!("../../src/ops.rs"),
    include_str!("../../src/optim/clip.rs"),
    include_str!("../../src/random.rs"),
    include_str!("../../src/random/choice.rs"),
    include_str!("../../src/random/gamma.rs"),
    include_str!("../../src/reduce.rs"),
    include_str!("../../src/search.rs"),
    include_str!("../../src/shape.rs"),
    include_str!("../../src/statistics.rs"),
];

/// Returns the names of the public functions that return arrays: `pub fn f(..) -> Array`, and rows of tables, as in
/// `exp Floats |x| ..`. The update `.at(..).set(..)` has the name `at_set`.
fn names() -> BTreeSet<String> {
    SOURCES.iter().flat_map(|source| source.lines().filter_map(name)).collect()
}

fn name(line: &str) -> Option<String> {
    let is_name =
        |s: &&str| !s.is_empty() && s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if let Some(function) = line.trim_start().strip_prefix("pub fn ") {
        let name = function.split(['(', '<']).next().filter(is_name)?;
        let result = function.rsplit_once("-> ").map_or("", |(_, ty)| ty);
        let gives_arrays = ["Array", "(Array", "[Array", "Vec<Array>", "C ", "(C,", "R ", "Y "]
            .iter()
            .any(|ty| result.starts_with(ty));
        return gives_arrays.then(|| name.to_string());
    }
    let mut words = line.strip_prefix("    ")?.split(' ');
    let (name, kinds) = (words.next().filter(is_name)?, words.next()?);
    let place = kinds.strip_prefix("\"at.").map(|_| format!("at_{name}"));
    let is_row = ["Any", "Numbers", "Ordered", "Inexact", "Floats", "Integers", "Bits"].contains(&kinds);
    place.or_else(|| is_row.then(|| name.to_string()))
}

/// Functions that are not ops of operands with layouts, and where they are tested.
const ELSEWHERE: [(&str, &str); 3] = [
    ("contract", "the inside of `einsum`"),
    ("data", "a key's words: `random`"),
    ("einsum_refs", "`einsum` of a slice"),
];

type Case = (&'static str, fn(&Array) -> Array);

fn ints(x: &Array) -> Array {
    (x * 40.0).astype(I32)
}

fn key() -> Key {
    Key::new(7)
}

/// The cases, for f32[8,16] with elements between 0 and 1.
#[rustfmt::skip]
const CASES: &[Case] = &[
    ("square", |x| x.square()), ("sqrt", |x| x.sqrt()), ("cbrt", |x| x.cbrt()), ("rsqrt", |x| x.rsqrt()),
    ("exp", |x| x.exp()), ("exp_m1", |x| x.exp_m1()), ("ln", |x| x.ln()), ("ln_1p", |x| x.ln_1p()),
    ("sin", |x| x.sin()), ("cos", |x| x.cos()), ("tan", |x| x.tan()), ("tanh", |x| x.tanh()), ("abs", |x| x.abs()), ("real", |x| x.real()), ("imag", |x| x.imag()),
    ("sign", |x| x.sign()), ("floor", |x| x.floor()), ("ceil", |x| x.ceil()), ("round", |x| x.round()),
    ("round_ties_even", |x| x.round_ties_even()), ("recip", |x| x.recip()), ("relu", |x| x.relu()), ("stop_gradient", |x| x.stop_gradient()),
    ("sigmoid", |x| x.sigmoid()), ("silu", |x| x.silu()), ("gelu", |x| x.gelu()), ("softplus", |x| x.softplus()),
    ("asin", |x| x.asin()), ("acos", |x| x.acos()), ("atan", |x| x.atan()), ("asinh", |x| x.asinh()),
    ("acosh", |x| x.acosh()), ("atanh", |x| x.atanh()), ("sinh", |x| x.sinh()), ("cosh", |x| x.cosh()),
    ("erfc", |x| x.erfc()), ("lgamma", |x| x.lgamma()), ("digamma", |x| x.digamma()),
    ("bessel_i1e", |x| x.bessel_i1e()),
    ("erf", |x| x.erf()), ("erf_inv", |x| x.erf_inv()), ("is_nan", |x| x.is_nan()), ("is_finite", |x| x.is_finite()),
    ("eq", |x| x.eq(x)), ("ne", |x| x.ne(0.5)), ("lt", |x| x.lt(0.5)), ("le", |x| x.le(x)), ("gt", |x| x.gt(0.5)),
    ("ge", |x| x.ge(x)), ("maximum", |x| x.maximum(0.5)), ("minimum", |x| x.minimum(x)),
    ("rem_euclid", |x| x.rem_euclid(0.25)), ("pow", |x| x.pow(2.0)), ("atan2", |x| x.atan2(x)),
    ("shl", |x| ints(x).shl(2)), ("shr", |x| ints(x).shr(1)), ("astype", |x| x.astype(I32)),
    ("select", |x| select(&x.gt(0.5), x, 0.0)), ("clamp", |x| x.clamp(0.25, 0.75)),
    ("sum", |x| x.sum(0)), ("prod", |x| x.prod(1)), ("mean", |x| x.mean(0)), ("var", |x| x.var(1)), ("std", |x| x.std(0)),
    ("max", |x| x.max(0)), ("min", |x| x.min(1)), ("all", |x| x.gt(0.1).all(0)), ("any", |x| x.gt(0.9).any(1)),
    ("logsumexp", |x| x.logsumexp(0)), ("argmax", |x| x.argmax(0)), ("argmin", |x| x.argmin(1)),
    ("cumsum", |x| x.cumsum(0)), ("cumprod", |x| x.cumprod(1)), ("cummax", |x| x.cummax(0)), ("cummin", |x| x.cummin(1)),
    ("softmax", |x| x.softmax(1)), ("log_softmax", |x| x.log_softmax(0)), ("sort", |x| x.sort(0)),
    ("argsort", |x| x.argsort(1)), ("flip", |x| x.flip(0)), ("top_k", |x| x.top_k(3).0),
    ("reshape", |x| x.reshape([4, 2, 16])), ("transpose", |x| x.transpose([1, 0])), ("t", |x| x.t()),
    ("broadcast_to", |x| x.broadcast_to([2, 8, 16])), ("squeeze", |x| x.expand_dims(1).squeeze(1)),
    ("expand_dims", |x| x.expand_dims(0)), ("repeat", |x| x.repeat(2, 0)), ("roll", |x| x.roll(1, 1)),
    ("pad", |x| x.pad([(0, 0), (2, 2)], 0.0)), ("bincount", |x| (ints(x) % 8).reshape([128]).bincount(8)),
    ("one_hot", |x| (ints(x) % 8).one_hot(8, F32)), ("concatenate", |x| concatenate([x, x], 1)),
    ("stack", |x| stack([x, x], 0)), ("hstack", |x| hstack([x, x])), ("vstack", |x| vstack([x, x])),
    ("column_stack", |x| column_stack([x, x])), ("matmul", |x| x.matmul(full([16, 4], 2, F32))),
    ("einsum", |x| einsum!("ij,jk->ik", x, full([16, 4], 2, F32))),
    ("ragged_dot", |x| ragged_dot(x, full([2, 16, 4], 1.0, F32), array(&[3, 5]))),
    ("i", |x| x.i((.., ..4))), ("take_along", |x| x.take_along(ints(x) % 8, 0)),
    ("at_set", |x| x.at(0).set(1.0)), ("at_add", |x| x.at(0).add(1.0)), ("at_mul", |x| x.at(0).mul(2.0)),
    ("at_max", |x| x.at(0).max(0.5)), ("at_min", |x| x.at(0).min(0.5)),
    ("zeros", |x| x + zeros([8, 16], F32)), ("ones", |x| x + ones([8, 16], F32)), ("full", |x| x + full([8, 16], 2, F32)),
    ("full_like", |x| x + full_like(x, 2.0)), ("zeros_like", |x| x + zeros_like(x)), ("ones_like", |x| x + ones_like(x)), ("scalar", |x| x + scalar(2, F32)),
    ("arange", |x| x + arange(0..16, F32)), ("array", |x| x + array(&[2.0f32; 16])),
    ("from_vec", |x| x + Array::from_vec(vec![2.0f32; 16], [16])),
    ("bits", |x| x + (bits(key(), [8, 16]) % 8).astype(F32)), ("uniform", |x| x + uniform(key(), [8, 16], F32)),
    ("normal", |x| x + normal(key(), [8, 16], F32)), ("bernoulli", |x| x + bernoulli(key(), 0.5, [8, 16]).astype(F32)),
    ("permutation", |x| x + permutation(key(), 16).astype(F32)), ("categorical", |x| categorical(key(), x, 1)),
    ("randint", |x| x + randint(key(), [8, 16], 0..9, I32).astype(F32)),
    ("truncated_normal", |x| x + truncated_normal(key(), -2.0, 2.0, [8, 16], F32)),
    ("eye", |x| x + eye(8, 16, 1, F32)), ("identity", |x| x.matmul(identity(16, F32))), ("tri", |x| x * tri(8, 16, 0, F32)),
    ("linspace", |x| x + linspace(0.0, 1.0, 16, F32)), ("tril", |x| x.tril(1)), ("triu", |x| x.triu(-1)),
    ("diag", |x| x.diag(-1)), ("diagonal", |x| x.diagonal(2)), ("swapaxes", |x| x.swapaxes(0, 1)),
    ("moveaxis", |x| x.moveaxis(0, -1)), ("tile", |x| x.tile([2, 1])), ("diff", |x| x.diff(1, 1)),
    ("split", |x| x.split(2, 1).remove(1)), ("array_split", |x| x.array_split(3, 0).remove(0)),
    ("meshgrid", |x| { let [a, b] = meshgrid([&x.i(0), &array(&[1.0f32, 2.0])], Indexing::Ij); a * b }),
    ("outer", |x| x.i(0).outer(array(&[1.0f32, 2.0]))), ("kron", |x| x.kron(array(&[[1.0f32, 2.0]]))),
    ("searchsorted", |x| linspace(0.0, 1.0, 9, F32).searchsorted(x, Side::Left)),
    ("interp", |x| x.interp(linspace(0.0, 1.0, 5, F32), array(&[0.0f32, 3.0, 1.0, 2.0, 5.0]))),
    ("unique", |x| ints(x).unique(30, -1)), ("unique_counts", |x| ints(x).unique_counts(30, -1).1),
    ("nonzero", |x| x.gt(0.5).nonzero(40, -1).remove(1)), ("histogram", |x| x.histogram(linspace(0.0, 1.0, 5, F32))),
    ("histogram_weighted", |x| x.histogram_weighted(linspace(0.0, 1.0, 5, F32), x)),
    ("gamma", |x| gamma(key(), x + 0.5, [8, 16], F32)), ("gamma", |x| x + gamma(key(), 2.0, [8, 16], F32)), ("beta", |x| beta(key(), x + 0.5, x + 1.0, [8, 16], F32)),
    ("dirichlet", |x| dirichlet(key(), x + 0.5, [8], F32)), ("poisson", |x| poisson(key(), x * 20.0, [8, 16], I32)),
    ("fft", |x| fft::fft(x, 1).abs()), ("ifft", |x| fft::ifft(x, 0).real()), ("rfft", |x| fft::rfft(x, 1).real()),
    ("irfft", |x| fft::irfft(x, 14, 1)), ("fft2", |x| fft::fft2(x.reshape([8, 4, 4])).real()),
    ("ifft2", |x| fft::ifft2(x.reshape([8, 4, 4])).real()), ("fftn", |x| fft::fftn(x, [0]).real()),
    ("ifftn", |x| fft::ifftn(x, ..).real()), ("fftfreq", |x| x + fft::fftfreq(16, 1.0, F32)),
    ("rfftfreq", |x| x + fft::rfftfreq(30, 1.0, F32)), ("fftshift", |x| fft::fftshift(x, 1)),
    ("ifftshift", |x| fft::ifftshift(x, 0)),
    ("quantile", |x| x.quantile(0.3, 0)), ("quantile_by", |x| x.quantile_by(0.3, 1, Interpolation::Nearest)),
    ("percentile", |x| x.percentile(array(&[10.0f32, 70.0]), 0)), ("median", |x| x.median(1)),
    ("cov", |x| x.i(0).cov(1)), ("corrcoef", |x| x.i((.., 0)).corrcoef()),
    ("gumbel", |x| x + gumbel(key(), [8, 16], F32)), ("exponential", |x| x + exponential(key(), [8, 16], F32)),
    ("laplace", |x| x + laplace(key(), [8, 16], F32)), ("logistic", |x| x + logistic(key(), [8, 16], F32)),
    ("choice", |x| x + choice(key(), 9, [8, 16], Choice::new()).astype(F32)),
    ("relu6", |x| (x * 10.0).relu6()), ("hard_sigmoid", |x| x.hard_sigmoid()), ("hard_silu", |x| x.hard_silu()),
    ("hard_tanh", |x| (x * 3.0).hard_tanh()), ("soft_sign", |x| x.soft_sign()), ("mish", |x| x.mish()), ("selu", |x| x.selu()),
    ("celu", |x| x.celu(0.5)), ("squareplus", |x| x.squareplus(4.0)), ("glu", |x| x.glu(1)),
    ("l2_loss", |x| nn::l2_loss(x, &x.square())), ("huber_loss", |x| nn::huber_loss(x, &(x * 5.0), 1.0)),
    ("sigmoid_binary_cross_entropy", |x| nn::sigmoid_binary_cross_entropy(x, x)),
    ("group_norm", |x| nn::group_norm(x, &ones([16], F32), &ones([16], F32), 4, 1e-5)),
    ("batch_norm", |x| nn::batch_norm(x, &nn::BatchStatistics::of(x), &ones([16], F32), &ones([16], F32), 1e-5)),
    ("elu", |x| x.elu(1.0)), ("leaky_relu", |x| x.leaky_relu(0.1)), ("gelu_exact", |x| x.gelu_exact()),
    ("log_sigmoid", |x| x.log_sigmoid()), ("standardize", |x| nn::standardize(x, -1, 1e-5)),
    ("layer_norm", |x| nn::layer_norm(x, &ones([16], F32), &ones([16], F32), 1e-5)),
    ("rms_norm", |x| nn::rms_norm(x, &ones([16], F32), 1e-5)), ("dropout", |x| nn::dropout(key(), x, 0.5)),
    ("softmax_cross_entropy", |x| nn::softmax_cross_entropy(x, &array(&[1, 2, 3, 4, 5, 6, 7, 15]))),
    ("dot_product_attention", |x| {
        let x = x.reshape([8, 16, 1, 1]);
        nn::dot_product_attention(&x, &x, &x, nn::Attention::new().causal())
    }),
    ("conv", |x| nn::conv(&x.expand_dims(-1), &ones([3, 1, 2], F32), nn::Conv::new())),
    ("max_pool", |x| nn::max_pool(&x.expand_dims(-1), nn::Pool::new([2]).strides([2]))),
    ("avg_pool", |x| nn::avg_pool(&x.expand_dims(-1), nn::Pool::new([3]).padding(nn::Padding::Same))),
    ("global_norm", optim::global_norm),
    ("fori_loop", |x| fori_loop(0..3, x.clone(), |_, x| x * 2.0)),
    ("while_loop", |x| while_loop((x.clone(), scalar(0, I32)), |c| c.1.lt(3), |(x, i)| (x * 2.0, i + 1)).0),
    ("scan", |x| scan(zeros_like(&x.i(0)), x.clone(), |c, r| (&c + r, c)).0),
    ("cholesky", |x| linalg::cholesky(positive(x))),
    ("qr", |x| linalg::qr(positive(x)).1),
    ("lu", |x| linalg::lu(positive(x)).2),
    ("eigh", |x| linalg::eigh(positive(x)).0),
    ("svd", |x| linalg::svd(positive(x)).1),
    ("solve", |x| linalg::solve(positive(x), positive(x) * 0.5)),
    ("inv", |x| linalg::inv(positive(x))),
    ("solve_triangular", |x| linalg::solve_triangular(positive(x), positive(x), linalg::Triangular::lower())),
    ("det", |x| linalg::det(positive(x))),
    ("slogdet", |x| linalg::slogdet(positive(x)).1),
    ("pinv", |x| linalg::pinv(positive(x))),
    ("lstsq", |x| linalg::lstsq(positive(x), positive(x))),
    ("norm", |x| linalg::norm(x, -1)),
    ("matrix_power", |x| linalg::matrix_power(positive(x), -3)),
    ("expm", |x| linalg::expm(positive(x) * 0.1)),
    ("cond", |x| cond(scalar(1, I32).eq(1), || x * 2.0, || x.clone())),
    ("scan_n", |x| scan_n(x.clone(), 3, |c, i| (&c + i.astype(F32), ())).0),
    ("scan_reversed", |x| scan_reversed(zeros_like(&x.i(0)), x.clone(), |c, r| (&c + r, c)).0),
    ("map", |x| map(x.clone(), |r| r.exp())),
    ("switch", |x| switch(scalar(1, I32), 2, |i| x * (i as f64 + 1.0))),
];

fn value() -> Array {
    ((arange(0..128, I32) * 37 % 41).astype(F32) * (1.0 / 43.0) + 0.01).reshape([8, 16])
}

/// Returns 8 positive definite matrices of 4 rows, whose diagonals grow with the row.
fn positive(x: &Array) -> Array {
    let x = x.reshape([8, 4, 4]);
    let diagonal = arange(0..4, I32).eq(arange(0..4, I32).expand_dims(-1)).astype(F32);
    &x + 8.0 * diagonal * (arange(0..4, I32).astype(F32) + 1.0)
}

fn float(x: Array) -> Array {
    if x.dtype() == F32 { x } else { x.astype(F32) }
}

const SPECS: [fn() -> P; 4] = [|| P!("X"), || P!(None, "Y"), || P!("Y", "X"), || P!(("X", "Y"))];

fn split(spec: &P, level: Communicate) -> (Mesh, Array) {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap().communication(level);
    let x = value().shard(mesh.sharding(spec.clone()));
    (mesh, x)
}

fn run(
    f: impl Fn(&Array) -> Array + Send + Sync,
    spec: &P,
    level: Communicate,
) -> Result<(Array, Communication), String> {
    let codes = |e: Error| e.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>().join(" ");
    let (mesh, x) = split(spec, level);
    let program = jit(|x: &Array| f(x));
    let communication = with_mesh(&mesh, || program.lower(&x)).and_then(|l| l.communication()).map_err(codes)?;
    Ok((with_mesh(&mesh, || program(&x)).map_err(codes)?, communication))
}

#[test]
fn every_function_has_a_case() {
    let covered: BTreeSet<String> = CASES.iter().map(|c| c.0).chain(ELSEWHERE.map(|e| e.0)).map(String::from).collect();
    let names = names();
    assert!(names.len() > 90, "{names:?}");
    let missing: Vec<_> = names.difference(&covered).collect();
    let gone: Vec<_> = covered.difference(&names).collect();
    assert!(missing.is_empty() && gone.is_empty(), "without a case: {missing:?}; cases of nothing: {gone:?}");
}

#[test]
fn every_function() {
    let mut wrong = vec![];
    for (name, f) in CASES {
        let expected = float(f(&value()));
        let mut accepted = 0;
        for spec in SPECS.map(|spec| spec()) {
            let allowed = run(*f, &spec, Communicate::Allow);
            match (&allowed, run(*f, &spec, Communicate::Deny)) {
                (_, Ok((_, c))) if !c.is_empty() => wrong.push(format!("{name} of {spec}: under Deny it has\n{c}")),
                (Ok((_, c)), Err(e)) if c.is_empty() || e != "communication-denied" => {
                    wrong.push(format!("{name} of {spec}: refused ({e}), and has\n{c}"));
                }
                _ => {}
            }
            match allowed {
                Ok((out, _)) => {
                    assert_close(&float(out), &expected);
                    accepted += 1;
                }
                Err(e) if e == "layout-ambiguous" => {}
                Err(e) => wrong.push(format!("{name} of {spec}: {e}")),
            }
        }
        if accepted == 0 {
            wrong.push(format!("{name} is never accepted"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// Tests that the gradient of a function is accepted wherever the function is. The gradient must have the layout of the
/// argument, and the values that it has without a layout.
#[test]
fn every_gradient() {
    let mut wrong = vec![];
    for (name, f) in CASES {
        let gradient = grad(move |x: &Array| float(f(x)).cos().sum(..));
        let Ok(expected) = jit(|x: &Array| gradient(x))(&value()) else { continue };
        for spec in SPECS.map(|spec| spec()) {
            if run(*f, &spec, Communicate::Allow).is_err() {
                continue;
            }
            match run(|x: &Array| gradient(x), &spec, Communicate::Allow) {
                Ok((out, _)) => {
                    let difference = (&out - &expected).abs().max(..).item::<f32>().unwrap();
                    if difference > 1e-4 * expected.abs().max(..).item::<f32>().unwrap() {
                        wrong.push(format!("the gradient of {name} of {spec} differs by {difference}"));
                    }
                    let like = split(&spec, Communicate::Allow).1;
                    assert_eq!(out.ty().to_string(), like.ty().to_string(), "{name}");
                }
                Err(e) => wrong.push(format!("the gradient of {name} of {spec}: {e}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
