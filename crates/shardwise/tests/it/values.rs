//! Compares array functions with plain Rust: eager, jitted, and jitted on a mesh.

use shardwise::prelude::*;
use shardwise::{Jit, bits, vmap};

fn mesh() -> Mesh {
    Mesh::auto([("X", 4), ("Y", 2)]).unwrap()
}

/// Runs a function of one matrix in all ways on f32[8,4] with elements -3, -2.75, …, and compares the result with
/// `expected`.
#[track_caller]
pub(crate) fn check(f: fn(&Array) -> Array, expected: &[f32]) {
    let data: Vec<f32> = (0..32).map(|i| i as f32 / 4.0 - 3.0).collect();
    check_on(&array(&data).reshape([8, 4]), f, expected);
}

#[track_caller]
pub(crate) fn check_on(x: &Array, f: fn(&Array) -> Array, expected: &[f32]) {
    let eager = f(x);
    let close = |a: &Array, how: &str| {
        let got = a.astype(F32).to_vec::<f32>().unwrap_or_else(|e| panic!("{how}: {e}"));
        assert_eq!(got.len(), expected.len(), "{how}: {:?}", a);
        for (i, (g, e)) in got.iter().zip(expected).enumerate() {
            let tolerance = 1e-5 * (1.0 + e.abs());
            assert!(
                g == e || (g - e).abs() <= tolerance || (g.is_nan() && e.is_nan()),
                "{how}, element {i}: {g} for {e}"
            );
        }
    };
    close(&eager, "eager");
    let jitted: Jit<'_, (&Array,), Array> = jit(f);
    close(&jitted(x).unwrap(), "jit");
    let mesh = mesh();
    let specs = [P!("X", "Y"), P!("Y"), P!(None, "X"), P!(("X", "Y"))];
    for spec in specs.iter().take(if x.rank() == 2 { 4 } else { 2 }) {
        let spec = if x.rank() == 2 { spec.clone() } else { P!("X") };
        let sharded = x.shard(mesh.sharding(spec.clone()));
        close(&jitted(&sharded).unwrap_or_else(|e| panic!("{spec}: {e}")), &format!("jit on {spec}"));
        close(&f(&sharded), &format!("eager on {spec}"));
    }
}

fn data() -> Vec<f32> {
    (0..32).map(|i| i as f32 / 4.0 - 3.0).collect()
}

fn map(f: impl Fn(f32) -> f32) -> Vec<f32> {
    data().into_iter().map(f).collect()
}

fn rows(f: impl Fn(&[f32]) -> f32) -> Vec<f32> {
    data().chunks(4).map(f).collect()
}

fn columns(f: impl Fn(&[f32]) -> f32) -> Vec<f32> {
    (0..4).map(|c| f(&data().chunks(4).map(|r| r[c]).collect::<Vec<_>>())).collect()
}

#[test]
fn elementwise() {
    check(|x| x + 1, &map(|x| x + 1.0));
    check(|x| 2.0 * x - x / 4, &map(|x| 2.0 * x - x / 4.0));
    check(|x| x.square(), &map(|x| x * x));
    check(|x| x.exp(), &map(f32::exp));
    check(|x| x.abs().sqrt(), &map(|x| x.abs().sqrt()));
    check(|x| x.tanh(), &map(f32::tanh));
    check(|x| x.relu(), &map(|x| x.max(0.0)));
    check(|x| x.sigmoid(), &map(|x| 1.0 / (1.0 + (-x).exp())));
    check(|x| x.silu(), &map(|x| x / (1.0 + (-x).exp())));
    check(|x| x.gelu(), &map(|x| 0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())));
    check(|x| -x % 2, &map(|x| -x % 2.0));
    check(|x| x.rem_euclid(2), &map(|x| x.rem_euclid(2.0)));
    check(
        |x| x.floor() + x.ceil() + x.round() + x.sign(),
        &map(|x| x.floor() + x.ceil() + x.round() + if x == 0.0 { 0.0 } else { x.signum() }),
    );
    check(|x| x.gt(0).select(x, 0), &map(|x| x.max(0.0)));
    check(|x| x.clamp(-1, 2), &map(|x| x.clamp(-1.0, 2.0)));
    check(|x| x.maximum(1).minimum(2), &map(|x| x.clamp(1.0, 2.0)));
    check(|x| x.astype(I32), &map(f32::trunc));
    check(
        |x| x.i(0) + x,
        &data().chunks(4).flat_map(|r| (0..4).map(|c| r[c] + data()[c]).collect::<Vec<_>>()).collect::<Vec<_>>(),
    );
}

#[test]
fn reductions() {
    check(|x| x.sum(0), &columns(|c| c.iter().sum()));
    check(|x| x.sum(-1), &rows(|r| r.iter().sum()));
    check(|x| x.sum(..), &[data().iter().sum()]);
    check(|x| x.mean(1), &rows(|r| r.iter().sum::<f32>() / 4.0));
    check(|x| x.mean(keep(1)) * 1, &rows(|r| r.iter().sum::<f32>() / 4.0));
    check(|x| x.max(0), &columns(|c| c.iter().copied().fold(f32::MIN, f32::max)));
    check(|x| x.min([0, 1]), &[-3.0]);
    check(|x| x.abs().prod(1), &rows(|r| r.iter().map(|x| x.abs()).product()));
    let var = |r: &[f32]| {
        let m = r.iter().sum::<f32>() / r.len() as f32;
        r.iter().map(|x| (x - m) * (x - m)).sum::<f32>() / r.len() as f32
    };
    check(|x| x.var(1), &rows(var));
    check(|x| x.std(0), &columns(|c| var(c).sqrt()));
    check(|x| x.logsumexp(1), &rows(|r| r.iter().map(|x| x.exp()).sum::<f32>().ln()));
    check(|x| x.gt(-3).all(1), &rows(|r| f32::from(u8::from(r.iter().all(|&x| x > -3.0)))));
    check(|x| x.gt(4).any(0), &columns(|c| f32::from(u8::from(c.iter().any(|&x| x > 4.0)))));
    check(
        |x| (x * x).argmin(1),
        &rows(|r| (0..4).min_by(|&a, &b| (r[a] * r[a]).total_cmp(&(r[b] * r[b]))).unwrap() as f32),
    );
    check(|x| x.argmax(..), &[31.0]);
}

#[test]
fn along_a_dimension() {
    let softmax = |r: &[f32]| {
        let sum: f32 = r.iter().map(|x| x.exp()).sum();
        r.iter().map(|x| x.exp() / sum).collect::<Vec<_>>()
    };
    let all: Vec<f32> = data().chunks(4).flat_map(softmax).collect();
    check(|x| x.softmax(-1), &all);
    check(|x| x.log_softmax(1), &all.iter().map(|x| x.ln()).collect::<Vec<_>>());
    let reversed: Vec<f32> = data().chunks(4).flat_map(|r| r.iter().rev().copied().collect::<Vec<_>>()).collect();
    check(|x| x.flip(1), &reversed);
    check(
        |x| (-x).sort(1),
        &data().chunks(4).flat_map(|r| r.iter().rev().map(|x| -x).collect::<Vec<_>>()).collect::<Vec<_>>(),
    );
    check(|x| (-x).argsort(0), &(0..32).map(|i| 7.0 - (i / 4) as f32).collect::<Vec<_>>());
    check(|x| x.top_k(2).0, &data().chunks(4).flat_map(|r| [r[3], r[2]]).collect::<Vec<_>>());
    check(|x| x.top_k(1).1, &[3.0; 8]);
}

#[test]
fn running() {
    let sums = |r: &[f32]| {
        r.iter()
            .scan(0.0, |s, x| {
                *s += x;
                Some(*s)
            })
            .collect::<Vec<f32>>()
    };
    check(|x| x.cumsum(1), &data().chunks(4).flat_map(sums).collect::<Vec<_>>());
    check(|x| x.cummax(0), &data());
}

#[test]
fn shapes() {
    check(|x| x.reshape([4, 8]), &data());
    check(|x| x.reshape([2, INFER, 2]), &data());
    let t: Vec<f32> = (0..4).flat_map(|c| (0..8).map(move |r| data()[r * 4 + c])).collect();
    check(|x| x.t(), &t);
    check(|x| x.transpose([1, 0]), &t);
    check(|x| concatenate([x, x], 0), &[data(), data()].concat());
    check(|x| stack([x, &(x + 1)], 0), &[data(), map(|x| x + 1.0)].concat());
    check(
        |x| x.pad([(0, 0), (1, 2)], 7),
        &data().chunks(4).flat_map(|r| [&[7.0], r, &[7.0, 7.0]].concat()).collect::<Vec<_>>(),
    );
    check(|x| x.roll(1, 1), &data().chunks(4).flat_map(|r| [r[3], r[0], r[1], r[2]]).collect::<Vec<_>>());
    check(|x| x.roll(scalar(-1, I32), 0), &[&data()[4..], &data()[..4]].concat());
    check(|x| x.repeat(2, 1), &data().iter().flat_map(|&x| [x, x]).collect::<Vec<_>>());
    check(|x| x.expand_dims(1).squeeze(1), &data());
    check(|x| x.i(0).broadcast_to([3, 4]), &data()[..4].repeat(3));
}

#[test]
fn indexing() {
    check(|x| x.i(2..4), &data()[8..16]);
    check(|x| x.i((.., 1)), &columns_of(1));
    check(|x| x.i(-1), &data()[28..]);
    check(
        |x| x.i((step(1.., 3), ..2)),
        &[1, 4, 7].iter().flat_map(|r| data()[r * 4..r * 4 + 2].to_vec()).collect::<Vec<_>>(),
    );
    check(|x| x.i(ds(scalar(3, I32), 2)), &data()[12..20]);
    check(|x| x.i((&scalar(-2, I32), NewAxis)), &data()[24..28]);
    check(
        |x| x.i(array(&[5, 0, -1])),
        &[5, 0, 7].iter().flat_map(|r| data()[r * 4..r * 4 + 4].to_vec()).collect::<Vec<_>>(),
    );
    check(|x| x.i((.., array(&[3, 0]))), &data().chunks(4).flat_map(|r| [r[3], r[0]]).collect::<Vec<_>>());
    check(|x| x.i((array(&[1, 2]), array(&[3, 0]))), &[data()[7], data()[8]]);
    check(|x| x.take_along(x.argmax(keep(1)), 1), &columns_of(3));
    // An `Ellipsis` separates index arrays even if it stands for no dimension, as in NumPy.
    let cube = |x: &Array| x.reshape([2, 4, 4]);
    let at = |d: usize, r: usize, c: usize| data()[d * 16 + r * 4 + c];
    check_on(
        &array(&data()).reshape([8, 4]),
        |x| x.reshape([2, 4, 4]).i((.., array(&[1, 0]), shardwise::Ellipsis, array(&[2, 3]))),
        &[at(0, 1, 2), at(1, 1, 2), at(0, 0, 3), at(1, 0, 3)],
    );
    let adjacent = cube(&array(&data())).i((shardwise::Ellipsis, array(&[1, 0]), array(&[2, 3])));
    assert_eq!(adjacent.to_vec::<f32>().unwrap(), [at(0, 1, 2), at(0, 0, 3), at(1, 1, 2), at(1, 0, 3)]);
    check(|x| x.at((1, 2)).set(9), &with(|v| v[6] = 9.0));
    check(|x| x.at(6..).add(x.i(..2)), &with(|v| (0..8).for_each(|i| v[24 + i] += data()[i])));
    check(|x| x.at((step(.., 2), 0)).mul(2), &with(|v| (0..4).for_each(|r| v[r * 8] *= 2.0)));
    check(
        |x| x.at(array(&[1, 1, 7])).add(1),
        &with(|v| {
            (0..4).for_each(|c| {
                v[4 + c] += 2.0;
                v[28 + c] += 1.0;
            })
        }),
    );
    check(|x| x.at((.., array(&[2]))).max(0), &with(|v| (0..8).for_each(|r| v[r * 4 + 2] = v[r * 4 + 2].max(0.0))));
    check(|x| x.at(ds(scalar(1, I32), 1)).set(0), &with(|v| (0..4).for_each(|c| v[4 + c] = 0.0)));
}

#[test]
fn updates_of_steps_from_computed_starts() {
    let row = |i: i32| scalar(i, I32);
    check(|x| x.at((scalar(5, I32), step(.., 2))).set(9), &with(|v| (v[20], v[22]) = (9.0, 9.0)));
    check(
        |x| x.at((scalar(-1, I32), step(1.., 2))).add(1),
        &with(|v| [29, 31].iter().for_each(|&i: &usize| v[i] += 1.0)),
    );
    check(
        |x| x.at((step(1.., 3), scalar(9, I32))).mul(2),
        &with(|v| [7, 19, 31].iter().for_each(|&i: &usize| v[i] *= 2.0)),
    );
    check(
        |x| x.at((ds(scalar(2, I32), 2), step(.., 3))).set(0),
        &with(|v| [8, 11, 12, 15].iter().for_each(|&i: &usize| v[i] = 0.0)),
    );
    check(
        |x| x.at((step(6.., 5), ds(scalar(-2, I32), 2))).set(x.i((0, ..2))),
        &with(|v| (v[26], v[27]) = (v[0], v[1])),
    );
    check(|x| x.at((scalar(5, I32), step(3..3, 2))).set(9), &data());
    let x = arange(0..24, F32).reshape([2, 3, 4]);
    let x = x.at((row(1), array(&[2, 0]), step(.., 2))).set(-1);
    let expected = (0..24).map(|i| if [12, 14, 20, 22].contains(&i) { -1.0 } else { i as f32 });
    assert_eq!(x.to_vec::<f32>().unwrap(), expected.collect::<Vec<f32>>());
}

#[test]
fn negative_starts_of_slices_count_from_the_end() {
    check(|x| x.i(ds(-2, 2)), &data()[24..]);
    check(|x| x.i(ds(-2, 1)), &data()[24..28]);
    check(|x| x.i(ds(-1, 1)), &data()[28..]);
    check(|x| x.i((ds(-8, 8), 0)), &columns_of(0));
    check(|x| x.at(ds(-2, 1)).set(0), &with(|v| v[24..28].fill(0.0)));
    let x = arange(0..5, I32);
    for (start, size) in (-5..=4).flat_map(|start| (0..=5).map(move |size| (start, size))) {
        let from = if start < 0 { start + 5 } else { start };
        let (constant, computed) = (x.i(ds(start, size)), x.i(ds(scalar(start, I8), size)));
        match from as usize + size <= 5 {
            true => assert_eq!(constant.to_vec::<i32>().unwrap(), computed.to_vec::<i32>().unwrap(), "{start}, {size}"),
            false => assert_eq!(constant.check().unwrap_err().diagnostics().next().unwrap().code(), "index-bounds"),
        }
    }
    assert_eq!(x.i(ds(5, 0)).shape(), [0]);
    assert!(x.i(ds(-6, 1)).check().is_err());
}

fn columns_of(c: usize) -> Vec<f32> {
    data().chunks(4).map(|r| r[c]).collect()
}

fn with(f: impl Fn(&mut Vec<f32>)) -> Vec<f32> {
    let mut v = data();
    f(&mut v);
    v
}

#[test]
fn products() {
    let gram: Vec<f32> = (0..64).map(|i| (0..4).map(|k| data()[i / 8 * 4 + k] * data()[i % 8 * 4 + k]).sum()).collect();
    check(|x| x.matmul(x.t()), &gram);
    check(|x| einsum!("ik,jk->ij", x, x), &gram);
    check(|x| einsum!("ij->ji", x), &(0..4).flat_map(columns_of).collect::<Vec<_>>());
    check(|x| einsum!("ij->", x), &[data().iter().sum()]);
    check(|x| einsum!("ij,ij->i", x, x), &rows(|r| r.iter().map(|x| x * x).sum()));
    check(|x| einsum!("ii->i", x.i(..4)), &[data()[0], data()[5], data()[10], data()[15]]);
    check(|x| x.matmul(x.i(0)), &rows(|r| (0..4).map(|k| r[k] * data()[k]).sum()));
    check(|x| x.reshape([2, 4, 4]).matmul(x.reshape([2, 4, 4])).i((1, 0)), &{
        let m = |r: usize, c: usize| data()[16 + r * 4 + c];
        (0..4).map(|c| (0..4).map(|k| m(0, k) * m(k, c)).sum()).collect::<Vec<f32>>()
    });
}

#[test]
fn classes() {
    let x = array(&[1, 0, 3, 1]);
    check_on(&x, |x| x.one_hot(3, F32), &[0., 1., 0., 1., 0., 0., 0., 0., 0., 0., 1., 0.]);
    check_on(&x, |x| x.bincount(3), &[1.0, 2.0, 0.0]);
}

#[test]
fn control() {
    check(|x| fori_loop(0..3, x.clone(), |i, c| c + i.astype(F32)), &map(|x| x + 3.0));
    check(|x| fori_loop(unroll(2..7).by(2), x.clone(), |i, c| c + i.astype(F32)), &map(|x| x + 20.0));
    check(|x| fori_loop(scalar(1, I32)..scalar(4, I32), x.clone(), |i, c| c * i.astype(F32)), &map(|x| x * 6.0));
    check(|x| while_loop(x.clone(), |c| c.max(..).lt(20), |c| c * 2.0), &map(|x| x * 8.0));
    check(|x| scan(x.i(0), x.clone(), |c, x| (&c + &x, c)).0, &columns(|c| c.iter().sum::<f32>() + c[0]));
    check(
        |x| {
            scan(zeros([4], F32), x.clone(), |c, x| {
                let s = c + x;
                (s.clone(), s)
            })
            .1
        },
        &{
            let mut sums = data();
            (4..32).for_each(|i| sums[i] += sums[i - 4]);
            sums
        },
    );
    check(|x| cond(x.sum(..).gt(0), || x + 1, || x - 1), &map(|x| x + 1.0));
    check(|x| switch(scalar(1, I32), 3, |k| x * k), &data());
    check(
        |x| {
            let w = x.i(1);
            let (c, _) = scan(x.i(0), arange(0..3, F32), |c, k| (fori_loop(0..2, c, |_, c| c + &w * &k), ()));
            c
        },
        &(0..4).map(|i| data()[i] + 6.0 * data()[4 + i]).collect::<Vec<_>>(),
    );
}

/// Compares the first two and the last two elements of `bits` and `normal` of shape (8, 16) with those recorded from
/// JAX 0.10.2: bits exactly, and normal numbers within two epsilons.
#[test]
fn random_numbers_as_recorded_from_jax() {
    let key = |high: u64, low: u64| Key::new(high << 32 | low);
    let got = bits(key(3150577931, 2263121653), [8, 16]).to_vec::<u32>().unwrap();
    assert_eq!((&got[..2], &got[126..]), (&[0x7ab70df6, 0xf991eb81][..], &[0x24cbe7d4, 0x72d7fa1e][..]));
    let got = normal(key(2541310919, 727806188), [8, 16], F32).to_vec::<f32>().unwrap();
    for (i, bits) in [(0, 0x3f467442u32), (1, 0x3e967940), (126, 0xbe64ab8c), (127, 0xbfbbbf06)] {
        let expected = f32::from_bits(bits);
        assert!((got[i] - expected).abs() <= 2.0 * f32::EPSILON * expected.abs(), "{i}: {} for {expected}", got[i]);
    }
}

/// Tests keys whose arrays are not those of one key: stacked keys, a word of a key, and a key of another dtype.
#[test]
fn only_single_keys_are_drawn_from() {
    let stacked = vmap(|i: &Array| Key::new(0).fold_in(i))(&arange(0..4, I32));
    let draws = |key: &Key| {
        let key = || key.reuse();
        let mut drawn = vec![
            normal(key(), [3], F32),
            bits(key(), [2]),
            bernoulli(key(), 0.5, [2]),
            permutation(key(), 3),
            categorical(key(), &zeros([3], F32), 0),
            choice(key(), 3, [2], Choice::new()),
            choice(key(), 2, [2], Choice::new().p(&array(&[0.5f32, 0.5]))),
            randint(key(), [2], 0..3, I32),
            gamma(key(), 1.0, [2], F32),
            beta(key(), 1.0, 1.0, [2], F32),
            dirichlet(key(), ones([2], F32), [2], F32),
            poisson(key(), 1.0, [2], I32),
            truncated_normal(key(), -1.0, 1.0, [2], F32),
            shardwise::nn::dropout(key(), &ones([3], F32), 0.5),
            key().fold_in(1).data(),
            uniform(key().split_n(2).remove(1), [2], F32),
        ];
        drawn.push(key().next().0.data());
        drawn
    };
    let half = tree::map(&Key::new(0), |a| a.astype(BF16));
    for key in [&stacked, &half] {
        for x in draws(key) {
            let wrong = x.check().expect_err("no single key");
            assert_eq!(wrong.diagnostics().next().map(|d| d.code()), Some("key-type"), "{wrong}");
        }
    }
    assert!(draws(&Key::new(0)).iter().all(|x| x.check().is_ok()));
    let one_each = vmap(|key: &Key| normal(key.reuse(), [3], F32))(&stacked);
    assert_eq!(one_each.ty().to_string(), "f32[4,3]");
    // The probabilities of 16 bits reach all numbers.
    let drawn = choice(Key::new(1), 1000, [4000], Choice::new().p(&full([1000], 1.0, BF16)));
    let mut found = drawn.to_vec::<i32>().unwrap();
    found.sort_unstable();
    found.dedup();
    assert!(found.len() > 900, "{} of 1000 numbers are drawn", found.len());
}

#[test]
fn random_bits_are_threefrys() {
    let one = |k: [u32; 2], n: u32| {
        let [a, b] = shardwise_base::threefry::threefry2x32(k, [0, n]);
        a ^ b
    };
    let expected: Vec<u32> = (0..4).map(|n| one([0, 42], n)).collect();
    assert_eq!(bits(Key::new(42), [4]).to_vec::<u32>().unwrap(), expected);
    let [a, _] = Key::new(42).split();
    assert_eq!(a.data().to_vec::<u32>().unwrap(), shardwise_base::threefry::threefry2x32([0, 42], [0, 0]));
    let f = Key::new(42).fold_in(7);
    assert_eq!(f.data().to_vec::<u32>().unwrap(), shardwise_base::threefry::threefry2x32([0, 42], [0, 7]));
    let mesh = mesh();
    let x = normal(Key::new(1), [8, 16], F32);
    let y = normal(Key::new(1), [8, 16], F32).shard(mesh.sharding(P!("X", "Y")));
    assert_eq!(y.ty().to_string(), "f32[8@X,16@Y]");
    assert_equal(&x, &y);
    let n = randint(Key::new(3), [100], 5..9, I32).to_vec::<i32>().unwrap();
    assert!(n.iter().all(|n| (5..9).contains(n)) && n.contains(&5) && n.contains(&8));
}

#[test]
fn integers_from_a_whole_range() {
    // JAX computes 2^32 modulo the size of the range in 32 bits. For a size above 2^16, this is 0, so that only the low
    // word counts. For the size 2^32 itself, which is 0 in 32 bits, XLA's remainder is the number.
    let [_, second] = Key::new(3).split();
    let low = bits(second, [100]).to_vec::<u32>().unwrap();
    let drawn = |range| randint(Key::new(3), [100], range, U32).to_vec::<u32>().unwrap();
    assert_eq!(drawn(0..1 << 32), low);
    let modulo = |n: u32| low.iter().map(|low| low % n).collect::<Vec<_>>();
    assert_eq!(drawn(0..u32::MAX as usize), modulo(u32::MAX));
    assert_eq!(drawn(1..1 << 32), modulo(u32::MAX).into_iter().map(|n| n + 1).collect::<Vec<_>>());
    let positive = randint(Key::new(3), [100], 0..1 << 31, I32).to_vec::<i32>().unwrap();
    assert_eq!(positive.into_iter().map(|n| n as u32).collect::<Vec<_>>(), modulo(1 << 31));
    for (range, dtype) in [(0..(1 << 32) + 1, U32), (1..(1 << 32) + 1, U32), (0..(1 << 31) + 1, I32), (3..3, U32)] {
        let found = randint(Key::new(3), [100], range, dtype).check().unwrap_err();
        assert_eq!(found.diagnostics().map(|d| d.code()).collect::<Vec<_>>(), ["randint-range"], "{found}");
    }
}

#[test]
fn random_numbers_are_the_same_on_every_mesh() {
    let draws: [fn() -> Array; 7] = [
        || bits(Key::new(1), [24, 6]),
        || uniform(Key::new(2), [24, 6], F32),
        || normal(Key::new(3), [24, 6], F32),
        || randint(Key::new(4), [24, 6], 3..99, I32),
        || bernoulli(Key::new(5), 0.3, [24, 6]),
        || permutation(Key::new(6), 24),
        || categorical(Key::new(7), &(arange(0..144, I32) % 5).astype(F32).reshape([24, 6]), -1),
    ];
    let mixed = Mesh::new([Axis::explicit("X", 4), Axis::auto("Y", 3)]);
    for mesh in [Mesh::explicit([("X", 8), ("Y", 1)]), Mesh::auto([("X", 2), ("Y", 3)]), mixed].map(Result::unwrap) {
        for spec in [P!("X"), P!("Y"), P!(("Y", "X"))] {
            for draw in &draws {
                let one = draw();
                let (eager, traced) = with_mesh(&mesh, || {
                    let traced = jit(|_: &Array| draw().shard(&spec));
                    (draw().shard(&spec), traced(&ones([8], F32)).unwrap())
                });
                assert_equal(&eager, &one);
                assert_equal(&traced, &one);
            }
        }
    }
}

/// Compares random numbers with `testdata/random.txt`, which `oracle/random_numbers.py` makes: numbers that are
/// computed with logarithms and such within 4 ulp, and all others bit for bit.
#[test]
fn random_numbers_are_jaxs() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    for line in include_str!("../../../../testdata/random.txt").lines().filter(|l| !l.starts_with('#')) {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let args: Vec<&str> = parts[1].split(' ').collect();
        let number = |i: usize| args[i].parse::<u64>().unwrap();
        let (key, shape) =
            (Key::new(number(0)), args[1].split(',').map(|n| n.parse().unwrap()).collect::<Vec<usize>>());
        let expected: Vec<u32> = parts[2].split(' ').map(|w| u32::from_str_radix(w, 16).unwrap()).collect();
        let draw = |key: Key| match parts[0] {
            "split" => stack(key.split_n(shape[0]).iter().map(Key::data), 0),
            "fold_in" => key.fold_in(number(1)).data(),
            "bits" => shardwise::bits(key, &shape[..]),
            "uniform" => uniform(key, &shape[..], F32),
            "uniform_bf16" => uniform(key, &shape[..], BF16),
            "normal" => normal(key, &shape[..], F32),
            "randint" => randint(key, &shape[..], number(2) as usize..number(3) as usize, I32),
            "bernoulli" => bernoulli(key, args[2].parse().unwrap(), &shape[..]),
            "categorical" => {
                let n: usize = shape.iter().product();
                categorical(key, &(arange(0..n, I32) % 5).astype(F32).reshape(&shape[..]), -1)
            }
            "permutation" => permutation(key, shape[0]),
            "gumbel" => gumbel(key, &shape[..], F32),
            "exponential" => exponential(key, &shape[..], F32),
            "laplace" => laplace(key, &shape[..], F32),
            "logistic" => logistic(key, &shape[..], F32),
            "choice" | "choice_once" | "choice_p" | "choice_once_p" => {
                let n = number(2) as usize;
                let p = (arange(0..n, I32) % 4 + 1).astype(F32) * (1.0 / 64.0);
                let options = if parts[0].ends_with("_p") { Choice::new().p(&p) } else { Choice::new() };
                let is_once = parts[0].contains("once");
                choice(key, n, &shape[..], if is_once { options.without_replacement() } else { options })
            }
            other => panic!("{other}"),
        };
        let words = |x: &Array| -> Vec<u32> {
            match x.dtype() {
                F32 => x.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect(),
                BF16 => x.to_vec::<shardwise::bf16>().unwrap().into_iter().map(|v| u32::from(v.to_bits())).collect(),
                Bool => x.to_vec::<bool>().unwrap().into_iter().map(u32::from).collect(),
                I32 => x.to_vec::<i32>().unwrap().into_iter().map(|v| v as u32).collect(),
                _ => x.to_vec::<u32>().unwrap(),
            }
        };
        let drawn = draw(key);
        let got = words(&drawn);
        if ["normal", "gumbel", "exponential", "laplace", "logistic"].contains(&parts[0]) {
            // A logarithm near 1 is near 0, where the rounding of its operand counts.
            let cancels = ["gumbel", "logistic"].contains(&parts[0]);
            let ulps = |(a, b): (&u32, &u32)| {
                let (x, y) = (f32::from_bits(*a), f32::from_bits(*b));
                let near = (x - y).abs() <= 4.0 * f32::EPSILON;
                if cancels && near { 0 } else { (i64::from(*a) - i64::from(*b)).abs() }
            };
            let worst = got.iter().zip(&expected).map(ulps).max().unwrap();
            assert!(worst <= 4 && got.len() == expected.len(), "{worst} ulp: {line:.60}");
        } else {
            assert!(got == expected, "{:.60}", line);
        }
        // The numbers are the same where `.shard` sets their layout, eagerly and traced.
        if drawn.rank() == 2 && drawn.dim(0) == 4 && drawn.dim(1) == 6 {
            let sharded = draw(Key::new(number(0))).shard(mesh.sharding(P!("X", "Y")));
            assert_equal(&sharded, &drawn);
            let lowered = with_mesh(&mesh, || {
                jit(|_: &Array| draw(Key::new(number(0))).shard(P!("X", "Y"))).lower(&ones([8], F32))
            });
            let compiled = lowered.unwrap().compile().unwrap();
            // Draws without replacement are sorted, and then a part of them is taken.
            if !parts[0].contains("once") {
                compiled.communication().assert_none();
            }
            assert!(words(&compiled(&ones([8], F32)).unwrap()) == got, "{line:.60}");
        }
    }
}

#[test]
fn the_signature_of_a_quantized_program_names_its_types() {
    let text = "func.func @main(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4xf32> {
        %0 = stablehlo.uniform_dequantize %a : (tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
    }";
    let program = shardwise::Program::parse(text).unwrap();
    assert_eq!(program.signature(), "(!quant.uniform<i8:f32, 0.5>[4]) -> f32[4]");
}

#[test]
fn vectors_become_arrays_of_any_shape_and_back() -> Result<()> {
    let x = Array::from_vec((0..24).collect::<Vec<i32>>(), [2, INFER, 4]);
    assert_eq!(x.ty().to_string(), "i32[2,3,4]");
    let blocks = x.to_vec3::<i32>()?;
    assert_eq!(blocks[1], [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]]);
    assert_eq!(x.i(1).to_vec2::<i32>()?, blocks[1]);
    assert_eq!(Array::from_vec(Vec::<f32>::new(), [2, 0]).to_vec2::<f32>()?, [[0.0f32; 0]; 2]);
    assert!(Array::from_vec(vec![true], []).item::<bool>()?);
    Ok(())
}

#[test]
fn vectors_that_do_not_fit_a_shape_are_mistakes() {
    let code = |e: Error| e.diagnostics().map(|d| format!("{}: {}", d.code(), d.message())).collect::<String>();
    let found = |shape: &[usize]| code(Array::from_vec(vec![1, 2, 3], shape).check().unwrap_err());
    assert_eq!(found(&[2, 2]), "data-size: `from_vec`: 3 elements cannot be arranged in the shape [2,2]");
    assert_eq!(found(&[2, INFER]), "data-size: `from_vec`: 3 elements cannot be arranged in the shape [2,INFER]");
    assert!(found(&[3; 1].into_iter().chain([1; 300]).collect::<Vec<_>>()).starts_with("too-large"));
    let x = array(&[1, 2]);
    assert_eq!(
        code(x.to_vec2::<i32>().unwrap_err()),
        "rank: `to_vec2` is called for 2 dimensions, and the array is i32[2]"
    );
    assert_eq!(
        code(x.to_vec3::<i32>().unwrap_err()),
        "rank: `to_vec3` is called for 3 dimensions, and the array is i32[2]"
    );
}
