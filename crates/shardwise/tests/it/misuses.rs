//! Tests of programs on which JAX 0.10.2 crashes, or which it accepts silently or refuses without a reason: meshes,
//! layouts, arrays, `jit` and AOT, control of layouts, and other cases. Each has a diagnostic here, or a meaning.

use shardwise::Diagnostic;
use shardwise::prelude::*;

fn mesh() -> Mesh {
    Mesh::explicit([("X", 4), ("Y", 2)]).unwrap()
}

fn auto() -> Mesh {
    Mesh::auto([("X", 4), ("Y", 2)]).unwrap()
}

fn x() -> Array {
    on(&mesh(), &[8, 6], P!("X", None))
}

fn on(mesh: &Mesh, shape: &[usize], spec: P) -> Array {
    let n: usize = shape.iter().product();
    arange(0..n, F32).reshape(shape).shard(mesh.sharding(spec))
}

fn eager(f: impl FnOnce(&Array) -> Array) -> Result<()> {
    with_mesh(mesh(), || f(&x()).check().map(|_| ()))
}

fn traced(f: impl Fn(&Array) -> Array + Send + Sync) -> Result<()> {
    with_mesh(mesh(), || jit(|x: &Array| f(x)).lower(&x()).map(|_| ()))
}

fn manual(f: impl Fn(&Array) -> Array + Send + Sync) -> Result<()> {
    with_mesh(mesh(), || {
        let mapped = shard_map(|x: &Array| f(x)).axes(["X"]).in_specs(P!("X")).out_specs(P!("X"));
        jit(mapped).lower(&on(&mesh(), &[16, 8], P!("X"))).map(|_| ())
    })
}

fn name() -> &'static str {
    std::hint::black_box("X")
}

/// The section in which the misuse is listed, JAX's behaviour, the code that is expected here, and the misuse.
type Row = (&'static str, &'static str, &'static str, fn() -> Result<()>);

#[rustfmt::skip]
const MISUSES: &[Row] = &[
    ("1a", "make_mesh: too many devices", "mesh", || Mesh::explicit([("X", 1 << 20), ("Y", 1 << 20)]).map(|_| ())),
    ("1a", "make_mesh accepts duplicate names", "mesh", || Mesh::explicit([("X", 4), ("X", 2)]).map(|_| ())),
    ("1a", "make_mesh accepts odd sizes", "mesh", || Mesh::explicit([("X", 0)]).map(|_| ())),
    ("1a", "Mesh: other devices than places", "mesh", || mesh().on(Client::host(3).devices()).map(|_| ())),
    ("1a", "Mesh: a device twice", "mesh", || mesh().on(vec![Client::host(1).devices()[0]; 8]).map(|_| ())),
    ("1a", "context mesh should match the aval mesh", "mesh-mismatch", || {
        let y = on(&Mesh::explicit([("X", 2), ("Y", 4)]).unwrap(), &[8, 6], P!("X"));
        eager(|x| x + &y)
    }),
    ("1a", "context mesh should match the aval mesh", "mesh-mismatch", || {
        let y = on(&auto(), &[8, 6], P!("X"));
        traced(move |x| x + &y)
    }),

    ("1b", "partitions cannot overlap with unreduced axes", "spec-axis-twice", || eager(|x| x.shard(P!("X").unreduced("X")))),
    ("1b", "partitions cannot overlap with reduced axes", "spec-axis-twice", || traced(|x| x.shard(P!("X").reduced("X")))),
    ("1b", "unreduced and reduced cannot overlap", "spec-axis-twice", || traced(|x| x.shard(P!().unreduced("Y").reduced("Y")))),
    ("1b", "Resource axis z is not found in mesh", "spec-unknown-axis", || eager(|x| x.shard(P!("Z")))),
    ("1b", "Resource axis z, unreduced", "spec-unknown-axis", || traced(|x| x.shard(P!().unreduced("Z")))),
    ("1b", "DuplicateSpecError", "spec-axis-twice", || eager(|x| x.shard(P!(name(), "X")))),
    ("1b", "UNCONSTRAINED where no axis is Auto", "spec-unconstrained", || eager(|_| zeros([8], F32).shard(P!(_)))),
    ("1b", "UNCONSTRAINED where no axis is Auto", "spec-unconstrained", || traced(|x| x.t().matmul(x).shard(P!(_, None)))),
    ("1b", "Unreduced axes can only be Explicit", "spec-unreduced", || on(&auto(), &[8], P!().unreduced("X")).check().map(|_| ())),
    ("1b", "Reduced axes can only be Explicit", "spec-unreduced", || on(&auto(), &[8], P!().reduced("X")).check().map(|_| ())),
    ("1b", "IndivisibleError", "spec-uneven", || eager(|x| x.shard(P!(None, "X")))),
    ("1b", "does not evenly divide the dimension size", "spec-uneven", || traced(|x| x.shard(P!(None, "X")))),
    ("1b", "does not evenly divide the dimension size, of nothing", "spec-uneven", || traced(|x| x.sum(..) + zeros([7], F32).shard(P!("X")))),

    ("1c", "device_put: Please set a mesh", "no-mesh", || {
        std::thread::spawn(|| zeros([8], F32).shard(P!("X")).check().map(|_| ())).join().unwrap()
    }),
    ("1c", "device_put: bare AssertionError for a long spec", "spec-rank", || eager(|x| x.shard(P!("X", None, None)))),
    ("1c", "device_put: KeyError UNCONSTRAINED", "spec-unconstrained", || eager(|_| array(&[1.0f32, 2.0]).shard(P!(_)))),
    ("1c", "device_put: unreduced", "spec-unreduced", || eager(|x| x.shard(P!("X").unreduced("Y")))),
    ("1c", "zeros(device=P): AttributeError", "spec-rank", || eager(|_| zeros([8], F32).shard(P!("X", "Y")))),
    ("1c", "out_sharding of Manual axes", "layout-manual", || manual(|x| x.shard(P!("X")))),
    ("1c", "out_sharding of another mesh", "mesh-mismatch", || traced(|x| x.shard(auto().sharding(P!("X"))))),
    ("1c", "Array has been deleted", "deleted", || {
        let x = x();
        x.clone().delete();
        x.to_vec::<f32>().map(|_| ())
    }),
    ("1c", "make_array_from_callback: Expected shard shape", "part-length", || {
        Array::from_parts([8], mesh().sharding(P!("X")), |_, _| vec![0.0f32]).map(|_| ())
    }),
    ("1c", "make_array_from_callback: uneven", "spec-uneven", || {
        Array::from_parts([6], mesh().sharding(P!("X")), |_, s| vec![0.0f32; s[0]]).map(|_| ())
    }),
    ("1c", "make_array_from_callback: UNCONSTRAINED", "spec-unconstrained", || {
        Array::from_parts([8], mesh().sharding(P!(_)), |_, s| vec![0.0f32; s[0]]).map(|_| ())
    }),
    ("1c", "make_array_from_callback: unreduced", "spec-unreduced", || {
        Array::from_parts([8], mesh().sharding(P!().unreduced("X")), |_, s| vec![0.0f32; s[0]]).map(|_| ())
    }),

    ("1d", "in_shardings: a spec that is too long", "spec-rank", || with_mesh(mesh(), || {
        jit(|x: &Array| x.clone()).in_shardings(P!(None, None, "X")).lower(&x()).map(|_| ())
    })),
    ("1d", "in_shardings: uneven", "spec-uneven", || with_mesh(mesh(), || {
        jit(|x: &Array| x.clone()).in_shardings(P!(None, "X"))(&x()).map(|_| ())
    })),
    ("1d", "in_shardings: of another mesh", "mesh-mismatch", || with_mesh(mesh(), || {
        jit(|x: &Array, y: &Array| x + y).in_shardings((P!("X"), auto().sharding(P!("X"))))(&x(), &x()).map(|_| ())
    })),
    ("1d", "in_shardings: UNCONSTRAINED", "spec-unconstrained", || with_mesh(mesh(), || {
        jit(|x: &Array| x.clone()).in_shardings(P!(_)).lower(&Array::of_type([8], F32)).map(|_| ())
    })),
    ("1d", "in_shardings: PartitionSpec without a mesh", "no-mesh", || {
        std::thread::spawn(|| jit(|x: &Array| x.clone()).in_shardings(P!("X")).lower(&Array::of_type([8], F32)).map(|_| ())).join().unwrap()
    }),
    ("1d", "out_shardings: not divisible, without words", "spec-uneven", || with_mesh(mesh(), || {
        jit(|x: &Array| x.clone()).out_shardings(P!(None, "X")).lower(&x()).map(|_| ())
    })),
    ("1d", "out_shardings: of another mesh", "mesh-mismatch", || with_mesh(mesh(), || {
        jit(|x: &Array| x.clone()).out_shardings(auto().sharding(P!("X"))).lower(&x()).map(|_| ())
    })),
    ("1d", "out_shardings: UNCONSTRAINED", "spec-unconstrained", || with_mesh(mesh(), || {
        jit(|x: &Array| x.t().matmul(x)).out_shardings(P!(_, None)).lower(&x()).map(|_| ())
    })),
    ("1d", "out_shardings: a sum that is none", "spec-unreduced", || with_mesh(mesh(), || {
        jit(|x: &Array| x.clone()).out_shardings(P!("X").unreduced("Y")).lower(&x()).map(|_| ())
    })),
    ("1d", "out_shardings: pytree structure error", "spec-form", || with_mesh(mesh(), || {
        jit(|x: &Array| vec![x.clone(), x.clone()]).out_shardings(vec![P!("X")]).lower(&x()).map(|_| ())
    })),
    ("1d", "Received incompatible devices", "mesh-mismatch", || {
        let y = on(&mesh().on(Client::host(8).devices().into_iter().rev()).unwrap(), &[8, 6], P!("X"));
        jit(|x: &Array, y: &Array| x + y)(&x(), &y).map(|_| ())
    }),
    ("1d", "ShapeDtypeStruct: the mesh cannot be empty", "no-mesh", || {
        std::thread::spawn(|| Array::of_type([8], F32).shard(P!("X")).check().map(|_| ())).join().unwrap()
    }),
    ("1d", "Argument types differ from those compiled for", "compiled-types", || {
        let f = jit(|x: &Array| x + 1.0).lower(&x())?.compile()?;
        f(&on(&mesh(), &[4, 6], P!("X"))).map(|_| ())
    }),

    ("1e", "with_sharding_constraint as an assert", "layout", || traced(|x| x.assert_sharding(P!(None, "Y")))),
    ("1e", "with_sharding_constraint as an assert", "layout", || eager(|x| x.assert_sharding(P!("X").reduced("Y")))),
    ("1e", "reshard over Manual axes", "layout-manual", || manual(|x| (x * 2.0).shard(P!("X", "Y")))),
    ("1e", "auto_axes: an axis that is none", "axis-mode", || traced(|x| auto_axes("Z", P!(), || x * 2.0))),
    ("1e", "auto_axes: not Explicit", "axis-mode", || {
        jit(|x: &Array| auto_axes("X", P!(), || x * 2.0)).lower(&on(&auto(), &[8, 6], P!())).map(|_| ())
    }),
    ("1e", "auto_axes: from Manual", "axis-mode", || manual(|x| auto_axes("X", P!(), || x * 2.0))),
    ("1e", "auto_axes: a spec that is too long", "spec-rank", || traced(|x| auto_axes("X", P!(None, None, "X"), || x * 2.0))),
    ("1e", "explicit_axes: Context mesh cannot be empty", "no-mesh", || {
        std::thread::spawn(|| jit(|x: &Array| explicit_axes("X", x, P!("X"), |x| x * 2.0)).lower(&Array::of_type([8], F32)).map(|_| ())).join().unwrap()
    }),
    ("1e", "explicit_axes: not Auto", "axis-mode", || traced(|x| explicit_axes("X", x, P!("X"), |x| x * 2.0))),
    ("1e", "explicit_axes: uneven", "spec-uneven", || {
        let mixed = Mesh::new([Axis::auto("X", 4), Axis::explicit("Y", 2)]).unwrap();
        let x = on(&mixed, &[6, 3], P!());
        jit(|x: &Array| explicit_axes("X", x, P!("X"), |x| x * 2.0)).lower(&x).map(|_| ())
    }),

    ("6.1", "psum over an unknown axis in the body", "manual-axis", || manual(|x| x.psum("Z"))),
    ("6.1", "psum over an axis that is not manual", "manual-axis", || manual(|x| x.psum("Y"))),
    ("6.1", "psum groups: empty text", "axis-groups", || manual(|x| x.psum(groups("X", [[0, 3], [1, 2]])))),
    ("6.1", "ppermute out of range: IndexError", "permutation", || manual(|x| x.ppermute("X", [(0, 7)]))),
    ("6.2", "out_sharding longer than the rank, in dot", "spec-rank", || traced(|x| x.t().matmul(x).shard(P!("X", "Y", None)))),
    ("6.2", "an uneven constraint comes out replicated", "spec-uneven", || traced(|x| x.t().matmul(x).shard(P!("X")))),
    ("6.4", "psum over axes of mixed states", "mixed-states", || {
        let mesh = mesh();
        let f = shard_map(|x: &Array| x.psum(("X", "Y"))).in_specs(P!("X")).out_specs(P!());
        with_mesh(&mesh, || jit(f).lower(&x()).map(|_| ()))
    }),
    ("6.7", "a value that is not clear is used", "layout-ambiguous", || traced(|x| x.t().matmul(x) + 1.0)),
];

#[test]
fn each_misuse_has_words() {
    let mut wrong = vec![];
    for (section, what, expected, misuse) in MISUSES {
        let found = match misuse() {
            Ok(()) => "nothing".to_string(),
            Err(e) => {
                let all: Vec<&Diagnostic> = e.diagnostics().collect();
                let says_where = |d: &&Diagnostic| d.location().line() > 0 && d.location().file().contains("misuses");
                if !all.iter().all(says_where) || all.iter().any(|d| d.message().is_empty()) {
                    wrong.push(format!("{section}: {what}: no place\n{e}"));
                }
                all.iter().map(|d| d.code()).collect::<Vec<_>>().join(" ")
            }
        };
        if found != *expected {
            wrong.push(format!("{section}: {what}: expected {expected}, found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that programs that JAX accepts and ignores, or to which it gives two meanings, are accepted here and have
/// one.
#[test]
fn what_has_one_meaning() {
    let mesh = mesh();
    with_mesh(&mesh, || {
        // JAX ignores `asarray(out_sharding=)`, and nested `out_shardings` are not in the type.
        assert_eq!(array(&[1.0f32; 8]).shard(P!("X")).ty().to_string(), "f32[8@X]");
        let inner = jit(|x: &Array| x * 2.0).out_shardings(P!("Y"));
        let outer = jit(|x: &Array| inner(x).map(|y| y.assert_sharding(P!("Y", None))));
        assert_eq!(outer(&x()).unwrap().ty().to_string(), "f32[8@Y,6]");
        // `in_shardings` place the arguments, whatever the mesh and the argument are.
        let placed = jit(|x: &Array| x + 1.0).in_shardings(P!("Y"));
        assert_eq!(placed(&x()).unwrap().ty().to_string(), "f32[8@Y,6]");
        assert_eq!(placed(&zeros([8, 6], F32)).unwrap().ty().to_string(), "f32[8@Y,6]");
        // An unreduced array has a value: the sum.
        let open = x().t().matmul(x()).shard(P!().unreduced("X"));
        assert_eq!(open.to_vec::<f32>().unwrap(), x().t().matmul(x()).shard(P!()).to_vec::<f32>().unwrap());
        // `_` keeps the layout.
        assert_eq!(x().shard(P!(_, "Y")).ty().to_string(), "f32[8@X,6@Y]");
        // `P('x', None) != P('x')` in JAX, but they describe the same layout.
        assert_eq!(x().shard(P!("X")).ty(), x().shard(P!("X", None)).ty());
    });
}
