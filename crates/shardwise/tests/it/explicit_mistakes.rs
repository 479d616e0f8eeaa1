//! Tests of Explicit mode for programs on which JAX 0.10.2 crashes, or which it accepts silently or refuses without a
//! reason. Also tests of unreduced sums.

use shardwise::prelude::*;

fn mesh() -> Mesh {
    Mesh::explicit([("X", 4), ("Y", 2)]).unwrap()
}

fn like(mesh: &Mesh, shape: &[usize], spec: P) -> Array {
    let n: usize = shape.iter().product();
    arange(0..n, F32).reshape(shape).shard(mesh.sharding(spec))
}

fn codes(e: &Error) -> String {
    e.diagnostics().map(|d| d.code()).collect::<Vec<_>>().join(" ")
}

/// Returns the codes of the mistakes that the result of `f` carries. Checks that the traced program has the same
/// mistakes.
fn wrong(mesh: &Mesh, x: &Array, f: impl Fn(&Array) -> Array + Send + Sync) -> String {
    let (eager, traced) =
        with_mesh(mesh, || (codes(&f(x).check().unwrap_err()), codes(&jit(|x: &Array| f(x))(x).unwrap_err())));
    assert_eq!(eager, traced, "eagerly and traced");
    traced
}

#[test]
fn meshes() {
    for axes in [[("X", 4), ("X", 2)], [("X", 4), ("Y", 0)], [("X", 1 << 20), ("Y", 1 << 20)]] {
        assert_eq!(codes(&Mesh::explicit(axes).unwrap_err()), "mesh");
    }
    let mixed = Mesh::new([Axis::explicit("X", 4), Axis::auto("Y", 2)]).unwrap();
    assert_eq!(format!("{:#}", like(&mixed, &[8], P!("X")).ty()), "f32[8@X] on (X=4 Explicit, Y=2 Auto)");
}

#[test]
fn layouts() {
    let mesh = mesh();
    let x = like(&mesh, &[8, 6], P!("X", None));
    let t = |f: fn(&Array) -> Array| wrong(&mesh, &x, f);
    assert_eq!(t(|x| x.shard(P!("X", None, None))), "spec-rank");
    assert_eq!(t(|x| x.shard(P!("Z"))), "spec-unknown-axis");
    assert_eq!(t(|x| x.shard(P!(("X", "Y")).unreduced("Y"))), "spec-axis-twice");
    assert_eq!(t(|x| x.shard(P!(None, "X"))), "spec-uneven");
    assert_eq!(t(|x| x.shard(P!("X").unreduced("Y"))), "spec-unreduced");
    assert_eq!(t(|x| x.t().matmul(x).shard(P!(_, None))), "spec-unconstrained");
    assert_eq!(t(|x| x.t().matmul(x).shard(P!(None, None, None))), "spec-rank");
    assert_eq!(t(|x| x.assert_sharding(P!(None, None))), "layout");
    assert_eq!(t(|x| zeros([7], F32).shard(P!("X")) + x.sum(..)), "spec-uneven");
    let e = with_mesh(&mesh, || jit(|x: &Array| x.clone()).out_shardings(P!(None, "X")).lower(&x).err().unwrap());
    assert_eq!(codes(&e), "spec-uneven");
}

/// Tests that per-device code cannot give values a layout over its axes.
#[test]
fn layouts_over_manual_axes() {
    let mesh = mesh();
    let x = like(&mesh, &[16, 8], P!("X", None));
    for spec in [P!("X"), P!(None, None).unreduced("X"), P!(None, None).reduced("X")] {
        let map = shard_map(move |x: &Array| x.shard(spec.clone())).axes(["X"]).in_specs(P!("X")).out_specs(P!("X"));
        assert_eq!(with_mesh(&mesh, || codes(&jit(map).lower(&x).err().unwrap())), "layout-manual");
    }
}

#[test]
fn an_array_of_another_mesh() {
    let (mesh, other) = (mesh(), Mesh::explicit([("X", 2), ("Y", 4)]).unwrap());
    let auto = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    for mesh in [other, auto] {
        let y = like(&mesh, &[8, 16], P!("X", "Y"));
        assert_eq!(codes(&(&x + &y).check().unwrap_err()), "mesh-mismatch");
        assert_eq!(codes(&jit(|x: &Array| x + &y)(&x).unwrap_err()), "mesh-mismatch");
        assert_eq!(codes(&jit(|x: &Array| x.shard(mesh.sharding(P!("X"))))(&x).unwrap_err()), "mesh-mismatch");
        let moved = y.shard(x.sharding().unwrap());
        assert_eq!((&x + &moved).ty().to_string(), "f32[8@X,16@Y]");
    }
}

#[test]
fn a_nested_program_s_layouts_are_types() {
    let mesh = mesh();
    let x = like(&mesh, &[8, 16], P!("X", None));
    let inner = jit(|x: &Array| x * 2.0).out_shardings(P!(None, "Y"));
    let outer = jit(|x: &Array| {
        let y = inner(x)?;
        assert_eq!(y.ty().to_string(), "f32[8,16@Y]");
        Ok::<_, Error>(y)
    });
    assert_eq!(with_mesh(&mesh, || outer(&x)).unwrap().ty().to_string(), "f32[8,16@Y]");
}

#[test]
fn sums_yet_to_be_taken() {
    let mesh = mesh();
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    let w = like(&mesh, &[16, 4], P!("Y", None));
    let open = |x: &Array| x.matmul(&w).shard(P!("X", None).unreduced("Y"));
    let expected = with_mesh(&mesh, || x.matmul(&w).shard(P!("X", None)));
    let sum = with_mesh(&mesh, || jit(|x: &Array| open(x))(&x)).unwrap();
    assert_eq!(sum.ty().to_string(), "f32[8@X,4]{U:Y}");
    assert_equal(&sum, &expected);
    assert_equal(&sum.shard(mesh.sharding(P!("X", None))), &expected);
    let types = |f: fn(&Array) -> Array| {
        let traced = jit(|x: &Array| f(&open(x)));
        with_mesh(&mesh, || traced(&x)).map_or_else(|e| codes(&e), |y| y.ty().to_string())
    };
    assert_eq!(types(|y| y + y), "f32[8@X,4]{U:Y}");
    assert_eq!(types(|y| -y), "f32[8@X,4]{U:Y}");
    assert_eq!(types(|y| y * 3.0), "f32[8@X,4]{U:Y}");
    assert_eq!(types(|y| y.t()), "f32[4,8@X]{U:Y}");
    assert_eq!(types(|y| y.expand_dims(0)), "f32[1,8@X,4]{U:Y}");
    assert_eq!(types(|y| y.i((.., ..2))), "f32[8@X,2]{U:Y}");
    assert_eq!(types(|y| y.sum(1)), "f32[8@X]{U:Y}");
    assert_eq!(types(|y| y * y), "unreduced");
    assert_eq!(types(|y| y.exp()), "unreduced");
    assert_eq!(types(|y| y + 1.0), "unreduced");
    assert_eq!(types(|y| y.max(0)), "unreduced");
    assert_eq!(types(|y| y.shard(P!("X", "Y"))), "f32[8@X,4@Y]");
    // One sum for two products.
    let both = jit(|x: &Array| (open(x) + open(&(x * 2.0))).shard(P!("X", None)));
    let lowered = with_mesh(&mesh, || both.lower(&x)).unwrap();
    lowered.communication().unwrap().assert_only(["all-reduce Y"]);
    assert_equal(&with_mesh(&mesh, || both(&x)).unwrap(), &(&expected * 3.0));
    let negated = with_mesh(&mesh, || jit(|x: &Array| -open(x) * 2.0)(&x)).unwrap();
    assert_equal(&negated, &(&expected * -2.0));
}

#[test]
fn gradients_left_as_sums() {
    let mesh = mesh();
    let w = like(&mesh, &[8, 16], P!("X").reduced("Y"));
    assert_eq!(w.ty().to_string(), "f32[8@X,16]{R:Y}");
    assert_eq!(w.sharding().unwrap().spec, P!("X", None).reduced("Y"));
    assert_eq!(w.sharding().unwrap().spec.to_string(), r#"P!("X", None).reduced("Y")"#);
    let x = like(&mesh, &[8, 16], P!("X"));
    let both = |f: fn(&Array, &Array) -> Array| {
        let word =
            |y: Result<Array>| y.and_then(|y| y.check().map(|y| y.ty().to_string())).unwrap_or_else(|e| codes(&e));
        let (eager, traced) = with_mesh(&mesh, || (word(Ok(f(&w, &x))), word(jit(f)(&w, &x))));
        assert_eq!(eager, traced, "eagerly and traced");
        traced
    };
    assert_eq!(both(|w, _| w * 2.0 + 1.0), "f32[8@X,16]{R:Y}");
    assert_eq!(both(|w, _| w + w.exp()), "f32[8@X,16]{R:Y}");
    assert_eq!(both(|w, _| w.t().softmax(0)), "f32[16,8@X]{R:Y}");
    assert_eq!(both(|w, _| w.i((.., arange(0..4, I32)))), "f32[8@X,4]{R:Y}");
    assert_eq!(both(|w, x| select(&x.gt(3.0), w, w)), "f32[8@X,16]{R:Y}");
    assert_eq!(both(|w, x| w + x), "reduced");
    assert_eq!(both(|w, x| w + x.shard(P!("X").reduced("Y"))), "f32[8@X,16]{R:Y}");
    assert_eq!(both(|w, x| w * x.shard(P!("X", "Y"))), "reduced");
    assert_eq!(both(|w, x| w.shard(P!("X", None)) + x), "f32[8@X,16]");
    assert_eq!(both(|w, x| x.shard(P!(None, "Y")).matmul(w.t().shard(P!("Y", None).reduced("X")))), "layout-ambiguous");
    assert_eq!(both(|w, x| x.shard(P!("Y", None)).matmul(w.shard(P!().reduced("Y")).t())), "f32[8@Y,8]");
    assert_eq!(both(|w, _| fori_loop(0..2, w.clone(), |_, c| c * 2.0)), "f32[8@X,16]{R:Y}");
    assert_eq!(both(|w, x| fori_loop(0..2, w.clone(), |_, _| x.clone())), "carry");
    assert_eq!(
        both(|w, _| scan(zeros_like(&w.i(0)), w.shard(P!().reduced("Y")), |c, r| (&c + r, c)).1),
        "f32[8,16]{R:Y}"
    );
    assert_eq!(both(|w, _| w.assert_sharding(P!("X", None))), "layout");
    assert_eq!(both(|w, _| w.shard(P!("X").reduced("X"))), "spec-axis-twice");
    let e = with_mesh(&mesh, || jit(|w: &Array, x: &Array| w + x)(&w, &x).unwrap_err());
    let text: Vec<String> = e.to_string().lines().filter(|l| !l.contains("-->")).map(String::from).collect();
    expect_test::expect![[r#"
        error[reduced]: `add` combines an array that is reduced over "Y" with one that is not reduced over the same axes
           | f32[8@X,16]{R:Y}, f32[8@X,16]
           = note: their gradients would differ by a sum over devices that the program does not ask for
           = help: give both the same state: `.shard(P!("X", None).reduced("Y"))` on operand 1"#]]
    .assert_eq(&text.join("\n"));
    // Nothing moves: its layout is that of a replicated value.
    let cast = jit(|x: &Array| (x.shard(P!("X", None).reduced("Y")) * 2.0).shard(P!("X", None)));
    with_mesh(&mesh, || cast.lower(&x)).unwrap().communication().unwrap().assert_none();
    let asked = jit(|x: &Array| x * 2.0).out_shardings(P!("X").reduced("Y"));
    let out = with_mesh(&mesh, || asked(&x)).unwrap();
    assert_eq!(out.ty().to_string(), "f32[8@X,16]{R:Y}");
    assert_equal(&out, &(&x * 2.0));
    let taken = jit(|x: &Array| x.clone()).in_shardings(P!("X").reduced("Y"));
    assert_eq!(with_mesh(&mesh, || taken(&x)).unwrap().ty().to_string(), "f32[8@X,16]{R:Y}");
    // An unreduced sum times a reduced value is an unreduced sum.
    let product = jit(|x: &Array, w: &Array| {
        let open = x.shard(P!(None, "Y")).matmul(x.t().shard(P!("Y"))).shard(P!().unreduced("Y"));
        open * w.shard(P!().reduced("Y")).i((.., ..8))
    });
    assert_eq!(with_mesh(&mesh, || product(&x, &w)).unwrap().ty().to_string(), "f32[8,8]{U:Y}");
}

#[test]
fn an_argument_that_is_no_sum_does_not_become_one() {
    let mesh = mesh();
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    let f = jit(|x: &Array| x.clone()).in_shardings(P!("X").unreduced("Y"));
    with_mesh(&mesh, || {
        let sum = x.sum(1);
        let open = sum.shard(P!("X").unreduced("Y"));
        let whole = x.max(1).shard(P!("X")) * 1.0;
        assert_eq!(f(&open).unwrap().ty().to_string(), "f32[8@X]{U:Y}");
        assert_equal(&f(&open).unwrap(), &sum);
        assert_eq!(codes(&f(&whole).unwrap_err()), "spec-unreduced");
        assert_eq!(codes(&f(&ones([8], F32)).unwrap_err()), "spec-unreduced");
        assert_eq!(codes(&jit(|x: &Array| f(x))(&whole).unwrap_err()), "spec-unreduced");
    });
}

#[test]
fn a_sum_waits_for_shard() {
    let mesh = mesh();
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    let open = || mesh.sharding(P!("X").unreduced("Y"));
    let whole = arange(0..128, F32).reshape([8, 16]);
    let sum = x.sum(1);
    assert_eq!(sum.ty().to_string(), "f32[8@X]");
    assert_eq!(sum.shard(open()).check().unwrap().ty().to_string(), "f32[8@X]{U:Y}");
    assert_equal(&sum.shard(open()), &whole.sum(1));
    assert_equal(&sum, &whole.sum(1));
    // It has been reduced.
    assert_eq!(codes(&sum.shard(open()).check().unwrap_err()), "spec-unreduced");
    // Partial maxima are not summands.
    let traced = jit(|x: &Array| x.max(1).shard(P!("X").unreduced("Y")));
    assert_equal(&with_mesh(&mesh, || traced(&x)).unwrap(), &whole.max(1));
    assert_equal(&x.max(1).shard(open()), &whole.max(1));
    // A sum that is reduced later has the values that it had when it was made.
    let later = x.sum(0);
    x.delete();
    assert_equal(&later, &whole.sum(0));
}

#[test]
fn modes_compose() {
    let mesh = mesh();
    let x = like(&mesh, &[8, 16], P!("X", "Y"));
    let f = jit(|x: &Array| {
        let y = auto_axes(["X", "Y"], P!("X", None), || x.matmul(x.t()));
        assert_eq!(y.ty().to_string(), "f32[8@X,8]");
        y + 1.0
    });
    let expected = x.to_vec::<f32>().map(|v| array(&v).reshape([8, 16])).map(|x| x.matmul(x.t()) + 1.0).unwrap();
    let got = with_mesh(&mesh, || f(&x)).unwrap();
    assert_eq!(got.ty().to_string(), "f32[8@X,8]");
    assert_equal(&got, &expected);
    let eager = with_mesh(&mesh, || auto_axes("Y", P!("X", None), || &x * 2.0));
    assert_eq!(eager.ty().to_string(), "f32[8@X,16]");
    assert_eq!(codes(&jit(|x: &Array| auto_axes("Z", P!(), || x + 1.0))(&x).unwrap_err()), "axis-mode");

    let auto = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    let x = like(&auto, &[8, 16], P!("X", "Y"));
    let f =
        jit(|x: &Array| explicit_axes(["X", "Y"], x, P!("X", "Y"), |x| (x * 2.0).t().assert_sharding(P!("Y", "X"))));
    assert_eq!(f(&x).unwrap().ty().to_string(), "f32[16@Y,8@X]");
    let f = jit(|x: &Array| {
        let y = x.matmul(x.t());
        explicit_axes(["X", "Y"], &(x.clone(), y), (P!("X", None), P!(None, "Y")), |(x, y)| {
            assert_eq!((x.ty().to_string(), y.ty().to_string()), ("f32[8@X,16]".into(), "f32[8,8@Y]".into()));
            y.matmul(x)
        })
    });
    assert_eq!(codes(&f(&x).unwrap_err()), "layout-ambiguous");
    let f = jit(|x: &Array| {
        let y = x.matmul(x.t());
        explicit_axes("X", &(), P!(), |()| &y * 2.0)
    });
    assert_eq!(codes(&f(&x).unwrap_err()), "layout-unknown");
    assert_eq!(codes(&jit(|x: &Array| explicit_axes("Z", x, P!(), |x| x * 2.0))(&x).unwrap_err()), "axis-mode");
    assert_eq!(
        codes(&jit(|x: &Array| explicit_axes("X", x, P!("X", "Z"), |x| x * 2.0))(&x).unwrap_err()),
        "spec-unknown-axis"
    );
    let inside = jit(|x: &Array| {
        shard_map(|x: &Array| auto_axes("X", P!(), || x * 2.0)).in_specs(P!("X")).out_specs(P!("X"))(x)
    });
    assert_eq!(codes(&with_mesh(&mesh, || inside(&like(&mesh, &[8, 16], P!("X")))).unwrap_err()), "axis-mode");

    let mixed = Mesh::new([Axis::explicit("X", 4), Axis::auto("Y", 2)]).unwrap();
    let (x, w) = (like(&mixed, &[8, 16], P!("X", "Y")), like(&mixed, &[16, 4], P!("Y", None)));
    let f = jit(|x: &Array, w: &Array| {
        let y = x.matmul(w);
        assert_eq!(y.ty().to_string(), "f32[8@X,4]");
        shard_map(|y: &Array| y.psum("X")).axes(["X"]).out_specs(P!())(&y)
    });
    let got = with_mesh(&mixed, || f(&x, &w)).unwrap();
    assert_eq!(got.shape(), [2, 4]);
}
