//! Tests sizes, positions and counts of every magnitude: each function returns an array or a mistake at the caller's
//! line.

use shardwise::nn::{Conv, Padding, Pool, avg_pool, conv, max_pool};
use shardwise::prelude::*;
use shardwise::{Limits, with_limits};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SIZES: [usize; 11] =
    [0, 1, 2, 3, i32::MAX as usize, 1 << 31, 1 << 32, 1 << 40, 1 << 62, usize::MAX - 1, usize::MAX];

/// Returns `None` if `f` succeeds, or fails with mistakes in this file only. Otherwise, returns what is wrong.
fn problem(f: impl FnOnce() -> Result<()>) -> Option<String> {
    let limits = Limits::default().max_bytes(1 << 20).max_steps(100_000);
    match catch_unwind(AssertUnwindSafe(|| with_limits(limits, f))) {
        Ok(Ok(())) => None,
        Ok(Err(e)) => {
            let is_here = |d: &shardwise::Diagnostic| d.location().file().ends_with("sizes.rs");
            (!e.diagnostics().all(is_here)).then(|| format!("not in this file: {e}"))
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            Some(format!(
                "panics: {}",
                text.unwrap_or_else(|| panic.downcast_ref::<&str>().unwrap_or(&"?").to_string())
            ))
        }
    }
}

#[track_caller]
fn assert_none(problems: Vec<String>) {
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn x() -> Array {
    arange(0..6, I32).reshape([2, 3])
}

fn key() -> Key {
    Key::new(1)
}

/// A function of one size, with its name.
type Sized = (&'static str, fn(usize) -> Array);
/// A function of one array, with its name.
type OfLarge = (&'static str, fn(&Array) -> Array);

#[rustfmt::skip]
const SIZED: &[Sized] = &[
    ("zeros", |n| zeros([n], I8)), ("zeros of none", |n| zeros([0, n], F32)), ("zeros twice", |n| zeros([n, n], F64)),
    ("ones", |n| ones([n, 1], BF16)), ("full", |n| full([2, n], 3, I32)), ("full of an array", |n| full([n], scalar(1, I32), I32)),
    ("many dimensions", |n| zeros(vec![1; n.min(70_000)], F32)), ("zeros_like", |n| zeros_like(&zeros([n], F32))),
    ("of_type", |n| Array::of_type([n], F32) + 1.0), ("arange", |n| arange(0..n, F32)), ("arange of the end", |n| arange(n.saturating_sub(2)..n, I64)),
    ("scalar", |n| scalar(n, I64)), ("normal", |n| normal(key(), [n], F32)), ("uniform", |n| uniform(key(), [n, 2], F64)),
    ("bernoulli", |n| bernoulli(key(), 0.5, [n])), ("bits", |n| shardwise::bits(key(), [n])), ("permutation", |n| permutation(key(), n)),
    ("randint", |n| randint(key(), [n], 0..3, I32)), ("randint range", |n| randint(key(), [2], 0..n, U32)), ("fold_in", |n| key().fold_in(n).data()),
    ("reshape", |n| x().reshape([n])), ("reshape to two", |n| x().reshape([n, INFER])), ("reshape none", |n| zeros([0], F32).reshape([0, n])),
    ("broadcast_to", |n| x().broadcast_to([n, 2, 3])), ("broadcast_to none", |n| zeros([1, 0], F32).broadcast_to([n, 0])),
    ("expand_dims", |n| x().expand_dims(n)), ("squeeze", |n| x().squeeze(n)), ("repeat", |n| x().repeat(n, 0)), ("roll", |n| x().roll(n, 1)),
    ("pad", |n| x().pad([(n, 0), (0, n)], 0)), ("pad both", |n| x().pad([(n, n), (1, 1)], 0)), ("bincount", |n| x().bincount(n)),
    ("one_hot", |n| x().one_hot(n, F32)), ("one_hot of bytes", |n| x().astype(I8).one_hot(n, F32)),
    ("concatenate", |n| concatenate([zeros([n, 2], F32), zeros([n, 2], F32)], 0)), ("concatenate dim", |n| concatenate([x(), x()], n)),
    ("stack", |n| stack([zeros([n], F32), zeros([n], F32)], 0)), ("stack dim", |n| stack([x(), x()], n)),
    ("i", |n| x().i(n)), ("i range", |n| x().i(n..)), ("i to", |n| x().i(..n)), ("i inclusive", |n| x().i(..=n)), ("i back", |n| x().i(-(n as i64))),
    ("i step", |n| x().i(step(.., n))), ("i steps", |n| x().i(step(step(1.., n), n))), ("ds", |n| x().i(ds(n, 1))), ("ds size", |n| x().i(ds(0, n))),
    ("ds array", |n| x().i(ds(scalar(1, I32), n))), ("ds both", |n| x().i(ds(n, n))), ("set", |n| x().at(n).set(1)), ("set step", |n| x().at((.., step(.., n))).set(1)),
    ("sum", |n| x().sum(n)), ("argmax", |n| x().argmax(n)), ("cumsum", |n| x().cumsum(n)), ("sort", |n| x().sort(n)), ("top_k", |n| x().top_k(n).0),
    ("take_along", |n| x().take_along(zeros([2, n], I32), 1)), ("take_along dim", |n| x().take_along(x(), n)), ("number", |n| x() + n), ("shl", |n| x().shl(n)), ("pow", |n| x().pow(n)),
    ("select", |n| x().gt(1).select(n, 0)), ("clamp", |n| x().clamp(0, n)), ("matmul", |n| zeros([n, 2], F32).matmul(zeros([2, n], F32))),
    ("einsum", |n| einsum!("a,b,c->abc", zeros([n], F32), zeros([n], F32), zeros([n], F32))), ("einsum none", |n| einsum!("ab,b->a", zeros([n, 0], F32), zeros([0], F32))),
    ("einsum wrong", |n| shardwise::einsum(&"a".repeat(n.min(10_000)), [x()])), ("ragged_dot", |n| shardwise::ragged_dot(zeros([n, 2], F32), zeros([1, 2, 3], F32), zeros([1], I32))),
    ("fori_loop", |n| jit(move || fori_loop(0..n, scalar(0, I32), |_, x| x)).lower(()).map_or_else(|e| Array::of_type([], I32).shard(no_mesh(e)), |_| scalar(0, I32))),
    ("scan", |n| scan(zeros([], F32), zeros([n], F32), |c, x| (c + &x, x)).1), ("scan results", |n| scan(zeros([], F32), zeros([3], F32), move |c, x| (c, x.broadcast_to([n]))).1),
    ("eye", |n| eye(n, 2, -1, F32)), ("eye columns", |n| eye(2, n, n as isize, I8)), ("identity", |n| identity(n, F64)), ("tri", |n| tri(n, n, -(n as i64 as isize), Bool)),
    ("linspace", |n| linspace(0.0, 1.0, n, F32)), ("meshgrid", |n| { let [a, b] = meshgrid([zeros([n], F32), zeros([n], F32)], Indexing::Xy); a + b }),
    ("diag", |n| zeros([2], F32).diag(n as isize)), ("diag down", |n| zeros([2], F32).diag((n as isize).wrapping_neg())), ("diag of a vector", |n| zeros([n], F32).diag(0)),
    ("diag of a matrix", |n| x().diag(n as isize)), ("diagonal", |n| x().diagonal((n as isize).wrapping_neg())), ("tril", |n| x().tril(n as isize)), ("triu", |n| x().triu(n as isize)),
    ("swapaxes", |n| x().swapaxes(n, 0)), ("moveaxis", |n| x().moveaxis(n, 0)), ("tile", |n| x().tile([n, 1])), ("tile twice", |n| x().tile([n, n, 1])), ("tile many", |n| x().tile(vec![1; n.min(70_000)])),
    ("split", |n| x().split(n, 1).remove(0)), ("split at", |n| x().split([n], 1).remove(1)), ("split dim", |n| x().split(2, n).remove(0)), ("array_split", |n| x().array_split(n, 1).remove(0)),
    ("outer", |n| zeros([n], F32).outer(zeros([n], F32))), ("kron", |n| zeros([n, 2], F32).kron(zeros([2, n], F32))), ("diff", |n| x().diff(n, 1)), ("diff dim", |n| x().diff(1, n)),
    ("searchsorted", |n| zeros([n], I32).searchsorted(x(), Side::Left)), ("unique", |n| x().unique(n, 0)), ("unique_counts", |n| x().unique_counts(n, 0).1), ("nonzero", |n| x().nonzero(n, 0).remove(0)),
    ("quantile", |n| x().quantile(0.5, n)), ("quantile of", |n| x().quantile(n, 0)), ("cov", |n| x().cov(n)), ("histogram", |n| x().histogram(zeros([n], I32))), ("interp", |n| zeros([2], F32).interp(zeros([n], F32), zeros([n], F32))),
    ("gumbel", |n| gumbel(key(), [n], F32)), ("exponential", |n| exponential(key(), [n], F16)), ("laplace", |n| laplace(key(), [n], F32)), ("logistic", |n| logistic(key(), [n], F32)),
    ("choice of", |n| choice(key(), n, [2], Choice::new())), ("choice", |n| choice(key(), 3, [n], Choice::new())), ("choice once", |n| choice(key(), n, [2], Choice::new().without_replacement())), ("choice p", |n| choice(key(), 3, [n], Choice::new().p(&ones([3], F32)))),
    ("choice of p", |n| choice(key(), n, [2], Choice::new().p(&zeros([n], F32)).without_replacement())),
    ("scan_n", |n| jit(move || scan_n(scalar(0, I32), n, |c, i| (c + i, ())).0).lower(()).map_or_else(|e| Array::of_type([], I32).shard(no_mesh(e)), |_| scalar(0, I32))),
    ("fori_loop of the end", |n| jit(move || fori_loop(n.saturating_sub(2)..n, scalar(0, I32), |i, x| x + i)).lower(()).map_or_else(|e| Array::of_type([], I32).shard(no_mesh(e)), |_| scalar(0, I32))),
];

/// Fails the test unless the only mistake is `too-large`. Returns a layout that can be passed to `.shard`, which fails
/// since there is no mesh.
fn no_mesh(e: Error) -> P {
    let codes: Vec<&str> = e.diagnostics().map(|d| d.code()).collect();
    assert_eq!(codes, ["too-large"], "{e}");
    P!()
}

#[test]
fn functions_of_sizes() {
    let mut problems = vec![];
    for (name, f) in SIZED {
        for n in SIZES {
            // Outside of a trace, a loop over an array without a type panics, as documented.
            let eager = problem(|| {
                if name.starts_with("scan") && n > 3 {
                    return Ok(());
                }
                let a = f(n);
                a.check()?;
                if a.ty().to_string().is_empty() || name.starts_with("of_type") || name.starts_with("fori") {
                    Ok(())
                } else {
                    a.ready().map(|_| ())
                }
            });
            let traced = problem(|| jit(move || f(n)).lower(()).map(|_| ()));
            problems.extend(eager.map(|p| format!("{name} {n}: {p}")));
            problems.extend(traced.map(|p| format!("{name} {n}, traced: {p}")));
        }
    }
    assert_none(problems);
}

#[rustfmt::skip]
const OF_LARGE: &[OfLarge] = &[
    ("add", |x| x + x), ("sum", |x| x.sum(0)), ("sum all", |x| x.sum(..)), ("mean", |x| x.mean(0)), ("argmax", |x| x.argmax(0)), ("argmin all", |x| x.argmin(..)),
    ("sort", |x| x.sort(0)), ("argsort", |x| x.argsort(0)), ("top_k", |x| x.t().top_k(1).1), ("cumsum", |x| x.cumsum(0)), ("cummax", |x| x.cummax(0)), ("flip", |x| x.flip(0)),
    ("first", |x| x.i(0)), ("last", |x| x.i(-1)), ("picked", |x| x.i(array(&[0i32, 2]))), ("picked by bytes", |x| x.i(array(&[0i8, -2]))), ("slice", |x| x.i(ds(scalar(1, I32), 1))),
    ("slice by a byte", |x| x.i(ds(scalar(-1, I8), 1))), ("strided", |x| x.i((step(.., 2), scalar(0, I32)))), ("set", |x| x.at(0).set(1)), ("set last", |x| x.at(-1).set(1)), ("set picked", |x| x.at(array(&[0i32])).add(1)),
    ("set strided", |x| x.at(step(.., 3)).set(1)), ("roll", |x| x.roll(1, 0)), ("roll by", |x| x.roll(scalar(1, I32), 0)), ("roll by a byte", |x| x.roll(scalar(1, I8), 0)),
    ("concatenate", |x| concatenate([x, x, x, x, x], 0)), ("pad", |x| x.pad([(3, 3), (1, 1)], 0)), ("repeat", |x| x.repeat(1 << 10, 0)), ("reshape", |x| x.reshape([INFER])),
    ("broadcast", |x| x.broadcast_to([1 << 10, x.dim(0), 2])), ("outer", |x| x.matmul(x.t())), ("gram", |x| x.t().matmul(x)), ("einsum", |x| einsum!("ab,cd->acbd", x, x)),
    ("one_hot", |x| x.one_hot(1 << 10, F32)), ("bincount", |x| x.bincount(3)), ("softmax", |x| x.astype(F32).softmax(0)), ("convert", |x| x.astype(C128)), ("stack", |x| stack([x, x], 0)),
    ("take_along", |x| x.take_along(zeros_like(x), 0)), ("scan", |x| scan(zeros([2], I32), x.clone(), |c, x| (c + &x, x)).1), ("scan over none", |x| scan(zeros([], I32), x.t(), |c, x| (c, x)).1),
    ("loop", |x| fori_loop(0..3, x.clone(), |_, x| x + 1)), ("cond", |x| cond(x.sum(..).gt(0), || x.clone(), || x * 2)), ("dims", |x| x.expand_dims(-1)), ("transpose", |x| x.transpose([1, 0])),
    ("tril", |x| x.tril(0)), ("diag", |x| x.diag(-1)), ("tile", |x| x.tile([1 << 10, 2])), ("split", |x| x.split(2, 1).remove(0)), ("diff", |x| x.diff(1, 0)), ("kron", |x| x.kron(x)), ("outer", |x| x.outer(x)),
    ("searchsorted", |x| x.i((.., 0)).searchsorted(3, Side::Right)), ("unique", |x| x.unique(3, 0)), ("nonzero", |x| x.nonzero(3, 0).remove(0)), ("median", |x| x.median(0)), ("histogram", |x| x.histogram(array(&[0, 1, 2]))), ("cov", |x| x.t().cov(1)),
    ("scan_reversed", |x| scan_reversed(zeros([2], I32), x.clone(), |c, x| (c + &x, x)).1), ("map", |x| map(x.clone(), |x| x + 1)),
    ("categorical", |x| shardwise::categorical(key(), &x.astype(F32), 0)), ("noise", |x| x + randint(key(), x.shape(), 0..3, I32)), ("squares", |x| x.square().max(keep(0))), ("logsumexp", |x| x.astype(F32).logsumexp(0)),
];

#[test]
fn functions_of_large_arrays() {
    let mut problems = vec![];
    for (name, f) in OF_LARGE {
        for n in [0, 1, 3, i32::MAX as usize, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 40, 1 << 55] {
            let traced = problem(|| jit(|x: &Array| f(x)).lower(&Array::of_type([n, 2], I32)).map(|_| ()));
            problems.extend(traced.map(|p| format!("{name} {n}, traced: {p}")));
            let typed = problem(|| f(&Array::of_type([n, 2], I32)).check().map(|_| ()));
            let is_loop = ["loop", "cond", "scan", "scan over none", "scan_reversed", "map"].contains(name);
            problems.extend(typed.filter(|_| !is_loop).map(|p| format!("{name} {n}, of a type: {p}")));
        }
    }
    assert_none(problems);
}

#[test]
fn layouts_and_devices_of_large_arrays() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    let gathered =
        shard_map(|x: &Array| x.all_gather(("X", "Y"), 0)).mesh(&mesh).in_specs(P!()).out_specs(P!(("X", "Y")));
    let mut problems = vec![];
    for n in SIZES {
        let on = |spec: P| mesh.sharding(spec);
        problems.extend(problem(|| zeros([n, 2], F32).shard(on(P!("X"))).check().map(|_| ())));
        problems.extend(problem(|| zeros([n, 2], F32).shard(on(P!("X"))).ready().map(|_| ())));
        problems.extend(problem(|| Array::from_parts([n], on(P!("X")), |_, s| vec![0.0f32; s[0].min(4)]).map(|_| ())));
        problems.extend(problem(|| jit(|| gathered(&zeros([n], I8))).lower(()).map(|_| ())));
    }
    assert_none(problems);
    // The result on each device would have 2^61 bytes.
    let wrong = jit(|| gathered(&zeros([1usize << 58], I8))).lower(()).map(|_| ()).unwrap_err();
    assert_eq!(wrong.diagnostics().next().unwrap().code(), "too-large");
}

#[test]
fn what_can_be_is_right() {
    // Pads must not wrap around and remove an element.
    let e = x().pad([(usize::MAX, 0), (0, 0)], 0);
    assert_eq!(e.check().unwrap_err().diagnostics().next().unwrap().code(), "too-large");
    assert_eq!(x().pad([(1, 0), (0, 1)], 7).to_vec::<i32>().unwrap(), [7, 7, 7, 7, 0, 1, 2, 7, 3, 4, 5, 7]);
    // Positions of narrow types are computed in a wide one.
    let many = arange(0..1000, I32);
    assert_eq!(many.i(array(&[3i8, -1])).to_vec::<i32>().unwrap(), [3, 999]);
    assert_eq!(many.i(ds(scalar(-2, I8), 2)).to_vec::<i32>().unwrap(), [998, 999]);
    assert_eq!(many.roll(scalar(1, I8), 0).i(..2).to_vec::<i32>().unwrap(), [999, 0]);
    assert_eq!(array(&[44i8]).one_hot(1000, I32).sum(..).item::<i32>().unwrap(), 1);
    assert_eq!(x().i((.., step(.., usize::MAX))).to_vec::<i32>().unwrap(), [0, 3]);
    let none = zeros([0, 4], F32);
    let (carry, steps) = scan(scalar(5, F32), none.clone(), |c, x| (&c + x.sum(..), x * 2.0));
    assert_eq!((carry.item::<f32>().unwrap(), steps.ty().to_string()), (5.0, "f32[0,4]".to_string()));
    assert_eq!(none.i(zeros([0], I32)).ty().to_string(), "f32[0,4]");
    assert_eq!(none.i(zeros([2], I32)).check().unwrap_err().diagnostics().next().unwrap().code(), "index-bounds");
    assert_eq!(none.take_along(zeros([0, 2], I32), 1).ty().to_string(), "f32[0,2]");
    assert_eq!(none.sum(0).to_vec::<f32>().unwrap(), [0.0; 4]);
}

#[track_caller]
fn code(a: Array) -> String {
    let wrong = a.check().expect_err("a mistake");
    let codes: Vec<&str> = wrong.diagnostics().map(|d| d.code()).collect();
    codes.join(", ")
}

#[test]
fn strides_dilations_and_windows_of_every_size() {
    let x = &array(&[1.0f32, 5.0, 2.0, 4.0]).reshape([1, 4, 1]);
    let kernel = &ones([3, 1, 1], F32);
    let valid = |options: Conv| options.padding(Padding::Valid);
    for n in [1 << 31, 1 << 62, 1 << 63, usize::MAX] {
        for options in [Conv::new().strides([n]), Conv::new().input_dilation([n]), Conv::new().kernel_dilation([n])] {
            assert_eq!(code(conv(x, kernel, options.clone())), "too-large");
            assert_eq!(code(conv(x, kernel, valid(options))), "too-large");
        }
        assert_eq!(code(max_pool(x, Pool::new([2]).strides([n]))), "too-large");
    }
    for n in [1 << 59, 1 << 63, usize::MAX] {
        assert_eq!(code(max_pool(x, Pool::new([n]))), "too-large");
        assert_eq!(code(avg_pool(x, Pool::new([n]).padding(Padding::Same))), "too-large");
    }
    let most = i32::MAX as usize;
    assert_eq!(conv(x, kernel, valid(Conv::new().kernel_dilation([most]))).shape(), [1, 0, 1]);
    assert_eq!(conv(x, kernel, valid(Conv::new().strides([most]))).to_vec::<f32>().unwrap(), [8.0]);
    assert_eq!(max_pool(x, Pool::new([2]).strides([most])).to_vec::<f32>().unwrap(), [5.0]);
    let wide = Array::of_type([1, 1 << 40, 1], F32);
    assert_eq!(code(conv(&wide, kernel, Conv::new().input_dilation([most]))), "too-large");
}

#[test]
fn mistakes_have_no_types_that_arrays_cannot_have() {
    let bad = ones([4], F32).reshape([1 << 40, 1 << 40]);
    for next in [bad.clone(), &bad + 1, bad.sum(0), bad.reshape([INFER]), zeros_like(&bad), ones_like(&bad)] {
        assert_eq!(code(next), "reshape-size");
    }
    let panic = std::panic::catch_unwind(|| bad.size()).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("error[reshape-size]"));
}

#[test]
fn zeros_like_a_mistake_are_this_mistake() {
    let bad = ones([4], F32).reshape([3]);
    for like in [zeros_like, ones_like] {
        assert_eq!(like(&bad).ty().to_string(), "f32[3]");
        assert_eq!(code(like(&bad)), "reshape-size");
    }
}

#[test]
fn means_of_large_windows_of_f16() {
    let x = &ones([1, 300, 300, 1], F16);
    for pool in [Pool::new([300, 300]), Pool::new([300, 300]).without_padding()] {
        assert_eq!(avg_pool(x, pool).astype(F32).to_vec::<f32>().unwrap(), [1.0]);
    }
}

#[test]
fn positions_of_wide_types_are_clamped() {
    let x = arange(0..10, I32);
    let beyond = (1i64 << 32) + 1;
    let at = |i: Array| x.i(&i).item::<i32>().unwrap();
    assert_eq!(at(scalar(u32::MAX, U32)), 9);
    assert_eq!(at(scalar(beyond, I64)), 9);
    assert_eq!(at(scalar(u64::MAX, U64)), 9);
    assert_eq!(at(scalar(-beyond, I64)), 0);
    assert_eq!(at(scalar(-1, I64)), 9);
    assert_eq!(at(scalar(i64::MIN, I64)), 0);
    let all = |x: Array| x.to_vec::<i32>().unwrap();
    assert_eq!(all(x.i(ds(scalar(beyond, I64), 2))), [8, 9]);
    assert_eq!(all(x.i(ds(scalar(-beyond, I64), 2))), [0, 1]);
    assert_eq!(all(x.i(array(&[u32::MAX, 3, 10]))), [9, 3, 9]);
    assert_eq!(all(x.i(array(&[u64::MAX, 3, 1 << 32]))), [9, 3, 9]);
    assert_eq!(all(x.i(array(&[beyond, -beyond, -10, -11]))), [9, 0, 0, 0]);
    assert_eq!(all(x.take_along(array(&[u64::MAX, 3]), 0)), [9, 3]);
    assert_eq!(all(x.take_along(array(&[u32::MAX, 3]), 0)), [9, 3]);
    assert_eq!(all(x.take_along(array(&[beyond, -beyond]), 0)), [9, 0]);
    assert_eq!(all(x.at(scalar(beyond, I64)).set(77).i(-2..)), [8, 77]);
    // Updates at positions in index arrays are dropped if these are out of bounds.
    assert_eq!(all(x.at(array(&[beyond, -beyond, 2, 10, -11])).set(77)), [0, 1, 77, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(all(x.at(array(&[u64::MAX, 1 << 63, 2, 10])).set(77)), [0, 1, 77, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(all(x.at(array(&[u32::MAX, 1 << 31, 2, 10])).set(77)), [0, 1, 77, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn branches_of_wide_indices_are_clamped() {
    let branch = |i: Array, n: usize| switch(&i, n, |k| scalar(k, I32)).item::<i32>().unwrap();
    assert_eq!(branch(scalar(1i64 << 32, I64), 3), 2);
    assert_eq!(branch(scalar(i64::MIN, I64), 3), 0);
    assert_eq!(branch(scalar(u32::MAX, U32), 3), 2);
    assert_eq!(branch(scalar(u64::MAX, U64), 3), 2);
    // A byte has no number for the last of many branches.
    assert_eq!(branch(scalar(127, I8), 130), 127);
    assert_eq!(branch(scalar(-1, I8), 130), 0);
}

#[test]
fn integers_beside_index_arrays_are_index_arrays() {
    let x = arange(0..24, I32).reshape([2, 3, 4]);
    let index = array(&[0i32, 1]);
    let zero = scalar(0, I32);
    let is = |a: Array, shape: &[usize], elements: &[i32]| {
        assert_eq!((&a.shape()[..], &a.to_vec::<i32>().unwrap()[..]), (shape, elements));
    };
    is(x.i((0, .., &index)), &[2, 3], &[0, 4, 8, 1, 5, 9]);
    is(x.i((&zero, .., &index)), &[2, 3], &[0, 4, 8, 1, 5, 9]);
    is(x.i((0, ..2, &index)), &[2, 2], &[0, 4, 1, 5]);
    is(x.i((&index, .., 0)), &[2, 3], &[0, 4, 8, 12, 16, 20]);
    is(x.i((.., 0, &index)), &[2, 2], &[0, 1, 12, 13]);
    is(x.i((.., &index, 0)), &[2, 2], &[0, 4, 12, 16]);
    is(x.i((.., &index, NewAxis, 0)), &[2, 2, 1], &[0, 12, 4, 16]);
    is(x.i((0, NewAxis, .., &index)), &[2, 1, 3], &[0, 4, 8, 1, 5, 9]);
    // The start of a slice is no index array.
    is(x.i((ds(&zero, 1), .., &index)), &[1, 3, 2], &[0, 1, 4, 5, 8, 9]);
    let changed = x.at((0, .., &index)).set(arange(100..106, I32).reshape([2, 3]));
    is(changed.i((0, .., ..2)), &[3, 2], &[100, 103, 101, 104, 102, 105]);
}

#[test]
fn loops_end_before_their_index_is_too_large() {
    let last = |steps: std::ops::Range<usize>| {
        let body = move || fori_loop(steps.clone(), scalar(0, I32), |i, _| i);
        jit(body)().and_then(|a: Array| a.item::<i32>())
    };
    assert_eq!(last(2147483646..2147483648).unwrap(), i32::MAX);
    let wrong = last(2147483646..2147483650).unwrap_err();
    assert_eq!(wrong.diagnostics().next().unwrap().code(), "too-large");
    let unrolled = |by: usize| {
        let steps = move || unroll(2147483644..2147483650).by(by);
        jit(move || fori_loop(steps(), scalar(0, I32), |i, _| i)).lower(()).map(|_| ())
    };
    for by in [1, 2, 6] {
        let wrong = unrolled(by).unwrap_err();
        assert_eq!(wrong.diagnostics().next().unwrap().code(), "too-large", "{by}");
    }
}

#[test]
fn no_elements_have_no_extremes() {
    let functions: [fn(&Array, usize) -> Array; 4] =
        [|x, d| x.argmax(d), |x, d| x.argmin(d), |x, d| x.max(d), |x, d| x.min(d)];
    for f in functions {
        assert_eq!(code(f(&zeros([0], F32), 0)), "reduce-empty");
        assert_eq!(code(f(&zeros([2, 0], I32), 1)), "reduce-empty");
        assert!(f(&zeros([2, 0], I32), 0).to_vec::<i32>().unwrap().is_empty());
    }
    assert_eq!(code(zeros([2, 0], F32).argmax(..)), "reduce-empty");
    assert_eq!(code(zeros([2, 0], F32).max(..)), "reduce-empty");
    assert_eq!(code(shardwise::categorical(key(), &zeros([2, 0], F32), 1)), "reduce-empty");
    assert_eq!(zeros([0], F32).logsumexp(0).item::<f32>().unwrap(), f32::NEG_INFINITY);
    // A scalar array cannot select an element of a dimension that has none.
    assert_eq!(code(zeros([0, 2], F32).i(scalar(0, I32))), "index-bounds");
    assert_eq!(code(zeros([0, 2], F32).at(scalar(0, I32)).set(1)), "index-bounds");
}

#[test]
fn integers_of_a_range_are_rounded_once() {
    let elements = |x: Array| x.astype(F32).to_vec::<f32>().unwrap();
    assert_eq!(elements(arange(1..300, BF16).i(255..262)), [256.0, 256.0, 258.0, 260.0, 260.0, 260.0, 262.0]);
    assert_eq!(elements(arange(1..2100, F16).i(2047..2053)), [2048.0, 2048.0, 2050.0, 2052.0, 2052.0, 2052.0]);
    assert_eq!(elements(arange(usize::MAX - 1..usize::MAX, F32)), [2.0f32.powi(64)]);
    assert_eq!(arange((1 << 53) - 1..(1 << 53) + 3, F64).to_vec::<f64>().unwrap()[3], 9007199254740994.0);
}

#[test]
fn numbers_that_can_only_be_stored_are_set_and_not_combined() {
    let lowered = |f: fn(&Array) -> Array| jit(f).lower(&Array::of_type([2], F8E8M0FNU)).map(|_| ());
    assert!(lowered(|x| x.at(0).set(x.i(1))).is_ok());
    let combined: [fn(&Array) -> Array; 3] =
        [|x| x.at(0).add(x.i(1)), |x| x.at(array(&[0i32])).mul(x.i(1)), |x| x.at(..1).max(x.i(1))];
    for f in combined {
        assert_eq!(lowered(f).unwrap_err().diagnostics().next().unwrap().code(), "dtype-kind");
    }
}

#[test]
fn an_einsum_adds_only_what_can_be_added() {
    for dtype in [F8E4M3FN, F8E8M0FNU, I4, Bool] {
        let lowered = |f: fn(&Array) -> Array| jit(f).lower(&Array::of_type([3, 3], dtype)).map(|_| ());
        assert!(lowered(|x| einsum!("ij->ji", x)).is_ok(), "{dtype}");
        let summed: [fn(&Array) -> Array; 3] =
            [|x| einsum!("ii->i", x), |x| einsum!("ii->", x), |x| einsum!("ij->i", x)];
        for f in summed {
            let wrong = lowered(f).unwrap_err();
            assert_eq!(wrong.diagnostics().next().unwrap().code(), "dtype-kind", "{dtype}");
        }
    }
}
