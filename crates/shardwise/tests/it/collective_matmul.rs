//! Tests that each collective matmul equals its plain counterpart, and that one equals the matmul of the whole arrays.

use expect_test::expect;
use shardwise::prelude::*;

/// An einsum spec, the sizes of the letters g, b, d and f, and the letter that is split along the axes.
type Case<'a> = (&'a str, [usize; 4], char);

/// Returns an array with the letters `labels` as dimensions, of small integers whose sums of products are exact in
/// every dtype. `sizes` are those of g, b, d and f.
fn whole(labels: &str, sizes: [usize; 4], dtype: DType, seed: u64) -> Array {
    let shape: Vec<usize> = labels.chars().map(|c| sizes["gbdf".find(c).unwrap()]).collect();
    (randint(Key::new(seed), shape, 0..3, I32) - 1).astype(dtype)
}

fn split(labels: &str, letter: char, axes: &'static [&'static str]) -> P {
    let at = labels.chars().position(|c| c == letter);
    match at {
        Some(0) => P!(axes),
        Some(1) => P!(None, axes),
        Some(2) => P!(None, None, axes),
        _ => P!(),
    }
}

fn parts(spec: &str) -> [&str; 3] {
    let (inputs, out) = spec.split_once("->").unwrap();
    let (a, b) = inputs.split_once(',').unwrap();
    [a, b, out]
}

/// Runs `f` in a `shard_map` with every kind of overlap, as one program, and checks that each result equals the einsum
/// of the whole arrays. `specs` are those of the two operands and of the result.
fn check<F>(case: Case<'_>, dtype: DType, axes: &'static [&'static str], specs: [P; 3], f: F)
where
    F: Fn(&Array, &Array, Overlap) -> Array + Send + Sync,
{
    let (spec, sizes, _) = case;
    let [a, b, _] = parts(spec);
    let (a, b) = (whole(a, sizes, dtype, 1), whole(b, sizes, dtype, 2));
    let all =
        move |a: &Array, b: &Array| -> Vec<Array> { Overlap::ALL.iter().map(|overlap| f(a, b, *overlap)).collect() };
    let [of_a, of_b, of_out] = specs;
    let map = shard_map(all).in_specs((of_a, of_b)).out_specs(vec![of_out; 3]);
    let found: Vec<Array> = jit(map)(&a, &b).unwrap();
    let expected = shardwise::einsum(spec, (&a.astype(F64), &b.astype(F64))).astype(dtype);
    for (overlap, found) in Overlap::ALL.iter().zip(&found) {
        let found = found.astype(F64).to_vec::<f64>().unwrap();
        assert_eq!(found, expected.astype(F64).to_vec::<f64>().unwrap(), "{overlap:?} {case:?} {dtype} over {axes:?}");
    }
}

fn all_gather(case: Case<'_>, dtype: DType, axes: &'static [&'static str]) {
    let (spec, _, letter) = case;
    let [a, _, _] = parts(spec);
    let spec_of_a = split(a, letter, axes);
    let text = spec.to_string();
    // The result varies as far as types can tell, so the result of one device is kept.
    check(case, dtype, axes, [spec_of_a, P!(), P!()], move |a, b, overlap| {
        collective_matmul::all_gather(&text, a, b, letter, axes, overlap).pmax(axes)
    });
}

fn reduce_scatter(case: Case<'_>, dtype: DType, axes: &'static [&'static str]) {
    let (spec, _, letter) = case;
    let [a, b, out] = parts(spec);
    let text = spec.to_string();
    let specs = [split(a, 'd', axes), split(b, 'd', axes), split(out, letter, axes)];
    check(case, dtype, axes, specs, move |a, b, overlap| {
        collective_matmul::reduce_scatter(&text, a, b, letter, axes, overlap)
    });
}

fn all_reduce(case: Case<'_>, dtype: DType, axes: &'static [&'static str]) {
    let (spec, _, letter) = case;
    let [a, b, _] = parts(spec);
    let text = spec.to_string();
    check(case, dtype, axes, [split(a, 'd', axes), split(b, 'd', axes), P!()], move |a, b, overlap| {
        collective_matmul::all_reduce(&text, a, b, letter, axes, overlap)
    });
}

fn sizes(letter: char, count: usize, chunk: usize) -> [usize; 4] {
    let mut sizes = [2, 3, 5, 2];
    sizes["gbdf".find(letter).unwrap()] = count * chunk;
    sizes
}

const DTYPES: [DType; 3] = [I32, BF16, F32];
const Y: &[&str] = &["Y"];

/// Runs `f` for each number of devices and dtype. The current mesh then has this number of devices along Y.
fn everywhere(f: impl Fn(usize, DType)) {
    for n in [1, 2, 3, 4, 8] {
        set_mesh(Mesh::auto([("Y", n)]).unwrap());
        DTYPES.into_iter().for_each(|dtype| f(n, dtype));
    }
}

/// Tests `all_gather` along a contracting, a free and a batch dimension, with parts of one to three elements, also
/// where only one operand has a letter that the result lacks.
#[test]
fn gathers() {
    everywhere(|n, dtype| {
        for letter in ['d', 'b', 'g'] {
            all_gather(("gbd,gdf->gbf", sizes(letter, n, 3), letter), dtype, Y);
            all_gather(("dbg,fgd->fbg", sizes(letter, n, 1), letter), dtype, Y);
        }
        all_gather(("bd,df->bf", sizes('d', n, 2), 'd'), dtype, Y);
        // Summed only in the left operand, and only in the right one.
        all_gather(("gbd,df->bf", sizes('g', n, 2), 'g'), dtype, Y);
        all_gather(("bd,gdf->bf", sizes('d', n, 2), 'd'), dtype, Y);
    });
}

#[test]
fn scatters() {
    everywhere(|n, dtype| {
        for letter in ['f', 'b', 'g'] {
            let [g, b, _, f] = sizes(letter, n, 3);
            reduce_scatter(("gbd,gdf->gbf", [g, b, 3 * n, f], letter), dtype, Y);
            let [g, b, _, f] = sizes(letter, n, 1);
            reduce_scatter(("dbg,fgd->fbg", [g, b, n, f], letter), dtype, Y);
        }
        reduce_scatter(("bd,df->bf", [1, 3, 2 * n, 2 * n], 'f'), dtype, Y);
    });
}

#[test]
fn reduces() {
    everywhere(|n, dtype| {
        for (letter, size) in [('f', 1), ('b', 7), ('g', 2 * n + 1), ('f', 4 * n)] {
            let mut sizes = [2, 3, 3 * n, 2];
            sizes["gbdf".find(letter).unwrap()] = size;
            all_reduce(("gbd,gdf->gbf", sizes, letter), dtype, Y);
        }
        all_reduce(("bd,df->bf", [1, 3, 2 * n, 5], 'f'), dtype, Y);
    });
}

#[test]
fn over_several_axes() {
    set_mesh(Mesh::auto([("X", 3), ("Y", 2), ("Z", 2)]).unwrap());
    let axes = &["Y", "X"];
    all_gather(("bd,df->bf", [1, 2, 12, 3], 'd'), I32, axes);
    all_gather(("bd,df->bf", [1, 12, 2, 3], 'b'), I32, axes);
    reduce_scatter(("bd,df->bf", [1, 2, 6, 12], 'f'), I32, axes);
    all_reduce(("bd,df->bf", [1, 2, 6, 13], 'f'), I32, axes);
}

/// Tests that the sums of `all_reduce` in bf16 are rounded once: 256 + 1 + … + 1 would stay 256 otherwise.
#[test]
fn narrow_floats_are_rounded_once() {
    set_mesh(Mesh::auto([("Y", 8)]).unwrap());
    let a = (arange(0..8, I32).eq(0)).select(256, ones([8], I32)).reshape([1, 8]).astype(BF16);
    let w = ones([8, 16], BF16);
    let f = shard_map(|a: &Array, w: &Array| -> Vec<Array> {
        let sums =
            Overlap::ALL.iter().map(|overlap| collective_matmul::all_reduce("bd,df->bf", a, w, 'f', "Y", *overlap));
        sums.collect()
    });
    let out = jit(f.in_specs((P!(None, "Y"), P!("Y", None))).out_specs(vec![P!(); 3]))(&a, &w).unwrap();
    for sum in out {
        assert_equal(&sum, &full([1, 16], 264, BF16));
    }
}

/// Tests that the transfers of `reduce_scatter` are started before the matmuls that overlap with them, and are as many
/// as in the chapter, and that `Blocking` is one reduce-scatter.
#[test]
fn what_moves() {
    set_mesh(Mesh::auto([("Y", 4)]).unwrap());
    let (a, w) = (ones([8, 16], F32), ones([16, 32], F32));
    let lowered = |overlap: Overlap| {
        let f = shard_map(move |a: &Array, w: &Array| {
            collective_matmul::reduce_scatter("bd,df->bf", a, w, 'f', "Y", overlap)
        });
        jit(f.in_specs((P!(None, "Y"), P!("Y", None))).out_specs(P!(None, "Y"))).lower((&a, &w)).unwrap()
    };
    let part = 8 * (32 / 4) * 4;
    lowered(Overlap::Blocking).communication().unwrap().assert_only(["reduce-scatter Y"]);
    for (overlap, permutes) in [(Overlap::OneWay, 3), (Overlap::BothWays, 3)] {
        let moved = lowered(overlap).compile().unwrap().communication();
        assert_eq!(moved.into_iter().filter_map(|c| c.count).sum::<u64>(), permutes, "{moved}");
        assert_eq!(moved.bytes_received(), 3 * part, "{moved}");
        let text = lowered(overlap).as_text();
        let started = text.find("async_start").expect("a transfer is started");
        let multiplied = started + text[started..].find("dot_general").expect("a matmul follows");
        assert!(multiplied < started + text[started..].find("async_done").expect("it is finished"), "{text}");
    }
}

fn mistake(f: impl Fn(&Array, &Array) -> Array + Send + Sync) -> String {
    set_mesh(Mesh::auto([("Y", 4)]).unwrap());
    let map = shard_map(move |a: &Array, b: &Array| f(a, b)).in_specs((P!(None, "Y"), P!())).out_specs(P!());
    let text = jit(map)(&zeros([2, 8], F32), &zeros([8, 6], F32)).expect_err("a mistake").to_string();
    text.lines().filter(|l| !l.contains("-->")).collect::<Vec<_>>().join("\n")
}

#[test]
fn mistakes_in_words() {
    expect![[r#"
        error[matmul-letter]: `collective_matmul::all_gather`: `f` cannot be the split letter of "bd,df->bf"
           = expected: a letter that occurs once in the left operand, and at most once in the right one"#]]
    .assert_eq(&mistake(|a, b| collective_matmul::all_gather("bd,df->bf", a, b, 'f', "Y", Overlap::OneWay)));
    expect![[r#"
        error[matmul-letter]: `collective_matmul::reduce_scatter`: `d` cannot be the split letter of "bd,df->bf"
           = expected: a letter that occurs in the result, and at most once in each operand"#]]
    .assert_eq(&mistake(|a, b| {
        collective_matmul::reduce_scatter("bd,df->bf", a, &b.i(..2), 'd', "Y", Overlap::OneWay)
    }));
    expect![[r#"
        error[collective-uneven]: `collective_matmul::reduce_scatter` cannot split a dimension evenly over "Y"
           | f32[2,6]: dim 1 has size 6, and there are 4 positions along "Y"
           = help: make dim 1 a multiple of 4 (8 with padding)"#]]
    .assert_eq(&mistake(|a, b| {
        collective_matmul::reduce_scatter("bd,df->bf", a, &b.i(..2), 'f', "Y", Overlap::OneWay)
    }));
    expect![[r#"
        error[einsum-size]: `collective_matmul::all_gather` bd,df->bf: `d` has two sizes, 8 and 7
           | f32[2,2]{V:Y}, f32[7,6]"#]]
    .assert_eq(&mistake(|a, b| collective_matmul::all_gather("bd,df->bf", a, &b.i(..7), 'd', "Y", Overlap::OneWay)));
    expect![[r#"
        error[manual-axis]: `collective_matmul::all_reduce` over axis "y", which the mesh does not have
           = mesh: Y=4 Manual
           = help: did you mean "Y"?"#]]
    .assert_eq(&mistake(|a, b| collective_matmul::all_reduce("bd,df->bf", a, &b.i(..2), 'f', "y", Overlap::OneWay)));
}
