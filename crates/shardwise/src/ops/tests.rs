//! Tests every function with every dtype: it makes a valid program that runs, or it is a mistake of the dtype.

use super::*;
use crate::prelude::*;
use crate::random::{Key, categorical, normal, randint, uniform};
use crate::reduce::{ALONG, REDUCTIONS};
use std::panic::catch_unwind;

type Named = (&'static str, fn(&Array) -> Array);
type Maker = (&'static str, fn(DType) -> Array);

const OPERATORS: &[Named] = &[
    ("add", |x| x + x.clone()),
    ("sub", |x| x - x.clone()),
    ("mul", |x| x * x.clone()),
    ("div", |x| x / x.clone()),
    ("rem", |x| x % x.clone()),
    ("bitand", |x| x & x.clone()),
    ("bitor", |x| x | x.clone()),
    ("bitxor", |x| x ^ x.clone()),
    ("neg", |x| -x),
    ("not", |x| !x),
];

/// Functions that no macro defines.
#[rustfmt::skip]
const OTHERS: &[Named] = &[
    ("astype", |x| x.astype(F32)),
    ("select", |x| x.select(x, x)),
    ("select", |x| ones([4], Bool).select(x, x)),
    ("clamp", |x| x.clamp(x, x)),
    ("argmax", |x| x.argmax(0)),
    ("argmin", |x| x.argmin(..)),
    ("top_k", |x| x.top_k(2).0),
    ("matmul", |x| x.matmul(x)),
    ("matmul", |x| x.reshape([2, 2]).matmul(x.reshape([2, 2]))),
    ("einsum", |x| einsum!("i,j->ij", x, x)),
    ("sum", |x| einsum!("i->", x)),
    ("ragged_dot", |x| ragged_dot(x.reshape([2, 2]), x.reshape([1, 2, 2]), array(&[2]))),
    ("ragged_dot", |x| ragged_dot(ones([2, 2], F32), ones([4, 2, 3], F32), x)),
    ("reshape", |x| x.reshape([2, 2]).t()),
    ("broadcast_to", |x| x.broadcast_to([2, 4])),
    ("repeat", |x| x.repeat(2, 0)),
    ("roll", |x| x.roll(1, 0)),
    ("roll", |x| ones([4], F32).roll(x.i(0), 0)),
    ("pad", |x| x.pad([(1, 1)], x.i(0))),
    ("concatenate", |x| concatenate([x, x], 0)),
    ("stack", |x| stack([x, x], 0)),
    ("hstack", |x| hstack([x, x])),
    ("vstack", |x| vstack([x, x])),
    ("column_stack", |x| column_stack([x, x])),
    ("full_like", |x| full_like(x, 1)),
    ("full_like", |x| full_like(x, x.i(0))),
    ("tril", |x| x.reshape([2, 2]).tril(0)),
    ("triu", |x| x.reshape([2, 2]).triu(0)),
    ("diag", |x| x.diag(1)),
    ("diag", |x| x.reshape([2, 2]).diag(0)),
    ("diagonal", |x| x.reshape([2, 2]).diagonal(0)),
    ("swapaxes", |x| x.reshape([2, 2]).swapaxes(0, 1)),
    ("moveaxis", |x| x.reshape([2, 2]).moveaxis(0, 1)),
    ("tile", |x| x.tile([2])),
    ("split", |x| x.split(2, 0).remove(1)),
    ("array_split", |x| x.array_split(3, 0).remove(0)),
    ("meshgrid", |x| meshgrid([x, x], Indexing::Xy).into_iter().next().unwrap()),
    ("outer", |x| x.outer(x)),
    ("kron", |x| x.kron(x)),
    ("diff", |x| x.diff(1, 0)),
    ("searchsorted", |x| x.searchsorted(x, Side::Left)),
    ("interp", |x| x.interp(x, x)),
    ("unique", |x| x.unique(3, x.i(0))),
    ("unique_counts", |x| x.unique_counts(3, x.i(0)).1),
    ("nonzero", |x| x.nonzero(3, 0).remove(0)),
    ("histogram", |x| x.histogram(x)),
    ("histogram_weighted", |x| ones([4], F32).histogram_weighted(ones([3], F32), x)),
    ("histogram_weighted", |x| x.histogram_weighted(x, ones([4], F32))),
    ("fft", |x| fft::fft(x, 0)),
    ("ifft", |x| fft::ifft(x, 0)),
    ("rfft", |x| fft::rfft(x, 0)),
    ("irfft", |x| fft::irfft(x, 4, 0)),
    ("fft2", |x| fft::fft2(x.reshape([2, 2]))),
    ("fftn", |x| fft::fftn(x, ..)),
    ("fftshift", |x| fft::fftshift(x, ..)),
    ("poisson", |x| poisson(Key::new(1), x, [4], I32)),
    ("quantile", |x| x.quantile(0.5, 0)),
    ("quantile_by", |x| x.quantile_by(0.5, 0, Interpolation::Midpoint)),
    ("percentile", |x| x.percentile(50, 0)),
    ("median", |x| x.median(0)),
    ("cov", |x| x.cov(1)),
    ("corrcoef", |x| x.corrcoef()),
    ("choice", |x| choice(Key::new(1), 4, [2], Choice::new().p(x))),
    ("zeros_like", zeros_like),
    ("ones_like", ones_like),
    ("i", |x| x.i(step(.., 2))),
    ("i", |x| x.i(array(&[0, -1]))),
    ("i", |x| ones([4], F32).i(x)),
    ("i", |x| ones([4], F32).i(ds(x.i(0), 2))),
    ("take_along", |x| x.take_along(array(&[0]), 0)),
    ("take_along", |x| ones([4], F32).take_along(x, 0)),
    ("at.set", |x| x.at(step(.., 2)).set(x.i(..2))),
    ("at.set", |x| x.at(array(&[0, 1])).set(x.i(..2))),
    ("at.add", |x| x.at(array(&[0, 1])).add(x.i(..2))),
    ("at.add", |x| x.at(0).add(x.i(0))),
    ("at.mul", |x| x.at(array(&[0, 1])).mul(x.i(..2))),
    ("at.mul", |x| x.at(..2).mul(x.i(..2))),
    ("at.max", |x| x.at(array(&[0, 1])).max(x.i(..2))),
    ("at.max", |x| x.at(..2).max(x.i(..2))),
    ("at.min", |x| x.at(array(&[0, 1])).min(x.i(..2))),
    ("at.min", |x| x.at(..2).min(x.i(..2))),
    ("bincount", |x| x.bincount(3)),
    ("one_hot", |x| x.one_hot(3, F32)),
    ("elu", |x| x.elu(1.0)),
    ("leaky_relu", |x| x.leaky_relu(0.1)),
    ("celu", |x| x.celu(1.0)),
    ("squareplus", |x| x.squareplus(4.0)),
    ("glu", |x| x.glu(0)),
    ("l2_loss", |x| nn::l2_loss(x, x)),
    ("huber_loss", |x| nn::huber_loss(x, x, 1.0)),
    ("sigmoid_binary_cross_entropy", |x| nn::sigmoid_binary_cross_entropy(x, x)),
    ("group_norm", |x| nn::group_norm(&x.reshape([2, 2]), &ones([2], F32), &ones([2], F32), 1, 1e-5)),
    ("group_norm", |x| nn::group_norm(&ones([1, 4], F32), x, x, 2, 1e-5)),
    ("batch_norm", |x| {
        let statistics = nn::BatchStatistics { mean: x.clone(), var: x.clone() };
        nn::batch_norm(&ones([2, 4], F32), &statistics, x, x, 1e-5)
    }),
    ("BatchStatistics::of", |x| nn::BatchStatistics::of(x).mean),
    ("standardize", |x| nn::standardize(x, 0, 1e-5)),
    ("layer_norm", |x| nn::layer_norm(x, x, x, 1e-5)),
    ("layer_norm", |x| nn::layer_norm(&ones([4], F32), x, &ones([4], F32), 1e-5)),
    ("rms_norm", |x| nn::rms_norm(x, x, 1e-5)),
    ("dropout", |x| nn::dropout(Key::new(1), x, 0.5)),
    ("softmax_cross_entropy", |x| nn::softmax_cross_entropy(x, x)),
    ("dot_product_attention", |x| {
        let x = x.reshape([2, 1, 2]);
        nn::dot_product_attention(&x, &x, &x, nn::Attention::new())
    }),
    ("dot_product_attention", |x| {
        let (x, bias) = (ones([2, 1, 2], F32), x.reshape([2, 2]));
        nn::dot_product_attention(&x, &x, &x, nn::Attention::new().bias(&bias))
    }),
    ("conv", |x| nn::conv(&x.reshape([1, 4, 1]), &x.reshape([2, 1, 2]), nn::Conv::new())),
    ("max_pool", |x| nn::max_pool(&x.reshape([1, 4, 1]), nn::Pool::new([2]))),
    ("avg_pool", |x| nn::avg_pool(&x.reshape([1, 4, 1]), nn::Pool::new([2]))),
    ("fold_in", |x| Key::new(1).fold_in(x.i(0)).data()),
    ("categorical", |x| categorical(Key::new(1), x, 0)),
];

/// Functions that take their argument as a later operand, or in place of a number.
#[rustfmt::skip]
const SECOND: &[Named] = &[
    ("add", |x| ones([4], F32) + x),
    ("add", |x| 1.0 + x),
    ("select", |x| ones([4], Bool).select(x, 1)),
    ("select", |x| ones([4], Bool).select(1, x)),
    ("matmul", |x| ones([4], F32).matmul(x)),
    ("einsum", |x| einsum!("i,i->", ones([4], F32), x)),
    ("ragged_dot", |x| ragged_dot(ones([2, 2], F32), x, array(&[1, 1]))),
    ("roll", |x| ones([4], F32).roll(x, 0)),
    ("pad", |x| ones([4], F32).pad([(1, 1)], x)),
    ("concatenate", |x| concatenate([&ones([4], F32), x], 0)),
    ("stack", |x| stack([&ones([4], F32), x], 0)),
    ("hstack", |x| hstack([&ones([4], F32), x])),
    ("full_like", |x| full_like(&ones([4], F32), x)),
    ("gamma", |x| gamma(Key::new(1), x, [4], F32)),
    ("beta", |x| beta(Key::new(1), 1.0, x, [4], F32)),
    ("dirichlet", |x| dirichlet(Key::new(1), x, [4], F32)),
    ("full", |x| full([4], x, F32)),
    ("scalar", |x| scalar(x, F32)),
    ("outer", |x| ones([4], F32).outer(x)),
    ("kron", |x| ones([4], F32).kron(x)),
    ("searchsorted", |x| ones([4], F32).searchsorted(x, Side::Right)),
    ("interp", |x| ones([4], F32).interp(ones([2], F32), x)),
    ("histogram", |x| ones([4], F32).histogram(x)),
    ("quantile", |x| ones([4], F32).quantile(x, 0)),
    ("unique", |x| ones([4], F32).unique(2, x)),
    ("i", |x| ones([4], F32).i(x)),
    ("i", |x| ones([4], F32).i(ds(x, 2))),
    ("take_along", |x| ones([4], F32).take_along(x, 0)),
    ("at.set", |x| ones([4], F32).at(0).set(x)),
    ("at.add", |x| ones([4], F32).at(x).add(1)),
    ("fold_in", |x| Key::new(1).fold_in(x).data()),
];

/// Collectives. Each is called in a `shard_map` over two devices that split the given array. The names are those in the
/// collectives' messages.
const COLLECTIVES: &[Named] = &[
    ("psum", |x| on_devices(x, |x| x.psum("X"))),
    ("pmean", |x| on_devices(x, |x| x.pmean("X"))),
    ("pmax", |x| on_devices(x, |x| x.pmax("X"))),
    ("pmin", |x| on_devices(x, |x| x.pmin("X"))),
    ("psum_scatter", |x| on_devices(&x.repeat(2, 0), |x| x.psum_scatter("X", 0).psum("X"))),
];

#[rustfmt::skip]
const CONTROL: &[Named] = &[
    ("cond", |x| cond(x, || ones([4], F32), || ones([4], F32))),
    ("switch", |x| switch(x, 2, |_| ones([4], F32))),
    ("fori_loop", |x| fori_loop(x.clone()..scalar(3, I32), ones([4], F32), |_, c| c)),
    ("fori_loop", |x| fori_loop(0..2, x.clone(), |_, c| c)),
    ("while_loop", |x| while_loop(ones([4], F32), |_| x.clone(), |c| c)),
    ("scan", |x| scan(ones([4], F32), x.clone(), |c, _| (c, ())).0),
    ("scan_reversed", |x| scan_reversed(ones([4], F32), x.clone(), |c, _| (c, ())).0),
    ("scan_n", |x| scan_n(x.clone(), 2, |c, _| (c, ())).0),
    ("map", |x| map(x.clone(), |x| x)),
    ("associative_scan", |x| associative_scan(|a, _| a, x.clone(), 0)),
    ("associative_scan", |x| associative_scan_reversed(|a, _| a, x.clone(), 0)),
];

const MAKERS: &[Maker] = &[
    ("zeros", |d| zeros([4], d)),
    ("ones", |d| ones([4], d)),
    ("full", |d| full([4], 1, d)),
    ("full", |d| full([4], true, d)),
    ("scalar", |d| scalar(1, d)),
    ("arange", |d| arange(0..4, d)),
    ("arange", |d| arange(1..1, d)),
    ("arange", |d| arange(1..2, d)),
    ("arange", |d| arange(0..1, d)),
    ("arange", |d| arange(300..300, d)),
    ("eye", |d| eye(2, 3, 1, d)),
    ("identity", |d| identity(2, d)),
    ("tri", |d| tri(2, 3, 0, d)),
    ("linspace", |d| linspace(0.0, 1.0, 3, d)),
    ("fftfreq", |d| fft::fftfreq(4, 1.0, d)),
    ("rfftfreq", |d| fft::rfftfreq(4, 1.0, d)),
    ("gamma", |d| gamma(Key::new(1), 2.0, [4], d)),
    ("beta", |d| beta(Key::new(1), 1.0, 2.0, [4], d)),
    ("poisson", |d| poisson(Key::new(1), 2.0, [4], d)),
    ("gumbel", |d| gumbel(Key::new(1), [4], d)),
    ("exponential", |d| exponential(Key::new(1), [4], d)),
    ("laplace", |d| laplace(Key::new(1), [4], d)),
    ("logistic", |d| logistic(Key::new(1), [4], d)),
    ("uniform", |d| uniform(Key::new(1), [4], d)),
    ("normal", |d| normal(Key::new(1), [4], d)),
    ("truncated_normal", |d| truncated_normal(Key::new(1), -1.0, 1.0, [4], d)),
    ("he_normal", |d| nn::init::he_normal(Key::new(1), [4, 2], d)),
    ("randint", |d| randint(Key::new(1), [4], 0..3, d)),
    ("one_hot", |d| array(&[1, 2]).one_hot(3, d)),
    ("astype", |d| ones([4], F32).astype(d)),
];

fn on_devices(x: &Array, f: fn(&Array) -> Array) -> Array {
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    shard_map(f).mesh(&mesh).in_specs(P!("X")).out_specs(P!())(x)
}

fn dtypes() -> impl Iterator<Item = DType> {
    base::DType::ALL.iter().map(|&d| DType::of(d))
}

/// Returns `None` if `made` is a value, or an error that only reports mistakes of dtypes, each of an index or in the
/// function `name`. Otherwise, returns the text of the error or of the panic.
fn wrong<T>(name: &str, made: std::thread::Result<Result<T>>) -> Option<String> {
    match made {
        Ok(Ok(_)) => None,
        Ok(Err(e)) => {
            let is_known = |d: &crate::Diagnostic| {
                ["dtype-kind", "number-dtype", "index-dtype", "roll-shift"].contains(&d.code())
                    && (d.code() == "index-dtype" || d.message().contains(&format!("`{name}`")))
            };
            (!e.diagnostics().all(is_known)).then(|| e.to_string())
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref().copied());
            Some(text.unwrap_or("a panic").to_string())
        }
    }
}

#[test]
fn each_function_accepts_or_refuses_each_dtype() {
    let mut found = vec![];
    for &(name, f) in [UNARY, BINARY, REDUCTIONS, ALONG, OPERATORS, OTHERS, COLLECTIVES].into_iter().flatten() {
        for dtype in dtypes() {
            let lowered = catch_unwind(|| jit(f).lower(&Array::of_type([4], dtype)).map(|_| ()));
            let ran = || catch_unwind(|| f(&ones([4], dtype)).ready().map(|_| ()));
            let runs = dtype.base().is_computed() && matches!(lowered, Ok(Ok(())));
            let wrong = wrong(name, lowered).or_else(|| runs.then(|| wrong(name, ran()))?);
            found.extend(wrong.map(|wrong| format!("{name} of {dtype}: {wrong}")));
        }
    }
    for &(name, f) in MAKERS {
        for dtype in dtypes() {
            let wrong = wrong(name, catch_unwind(|| jit(move |_: &Array| f(dtype)).lower(&zeros([], F32)).map(|_| ())))
                .or_else(|| wrong(name, catch_unwind(|| f(dtype).check().map(|_| ()))));
            found.extend(wrong.map(|wrong| format!("{name} as {dtype}: {wrong}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Declares `FORMULAS`, the ops of one operand that engines compute by a formula.
macro_rules! formulas {
    (unary_functions { $($op:ident $name:ident $method:ident $f32:ident $f64:ident $how:ident,)* } $($binary:tt)*) => {
        const FORMULAS: &[Opcode] = &[$(Opcode::$op),*];
    };
}
shardwise_mathfn::with_functions! { formulas! }

#[test]
fn each_op_with_a_formula_has_a_function() {
    let text = |f: fn(&Array) -> Array| jit(f).lower(&Array::of_type([4], F32)).map(|lowered| lowered.as_text());
    let texts: String = UNARY.iter().filter_map(|&(_, f)| text(f).ok()).collect();
    let is_missing = |op: &&Opcode| !texts.contains(&format!("{} ", op.name()));
    let missing: Vec<&str> = FORMULAS.iter().filter(is_missing).map(|op| op.name()).collect();
    assert!(missing.is_empty(), "no function of `unary!` makes {missing:?}");
}

#[test]
fn a_mistake_without_a_type_is_passed_on() {
    let unknown = || ones([2], F32) + ones([3], F32);
    let codes = |e: Error| e.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>();
    let mut found = vec![];
    let mut check = |what: String, outcome: std::thread::Result<Result<(), Vec<String>>>| {
        if !matches!(&outcome, Ok(Err(codes)) if codes == &["broadcast"]) {
            found.push(format!("{what}: {outcome:?}"));
        }
    };
    let functions = [UNARY, BINARY, REDUCTIONS, ALONG, OPERATORS, OTHERS, SECOND];
    for &(name, f) in functions.into_iter().flatten() {
        check(format!("{name}, eager"), catch_unwind(|| f(&unknown()).check().map(|_| ()).map_err(codes)));
    }
    for &(name, f) in functions.into_iter().chain([COLLECTIVES, CONTROL]).flatten() {
        let lower = || jit(|_: &Array| f(&unknown())).lower(&zeros([], F32)).map(|_| ()).map_err(codes);
        check(format!("{name}, traced"), catch_unwind(lower));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
