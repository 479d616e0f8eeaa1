//! Tests functions that nest without end, and arrays that are used where they cannot be.

use shardwise::prelude::*;
use std::sync::Mutex;

fn codes<T>(result: Result<T>) -> Vec<String> {
    let Err(e) = result else { return vec![] };
    let in_this_file = |d: &shardwise::Diagnostic| d.location().file().ends_with("nesting.rs");
    assert!(e.diagnostics().all(in_this_file), "{e}");
    e.diagnostics().map(|d| d.code().to_string()).collect()
}

// ── depth
fn jitted(x: &Array) -> Result<Array> {
    jit(jitted)(&(x + 1.0))
}

fn lowered(x: &Array) -> Result<Array> {
    jit(lowered).lower(x)?;
    Ok(x.clone())
}

fn mapped(x: &Array) -> Array {
    let mesh = Mesh::auto([("X", 1)]).unwrap();
    shard_map(|x: &Array| mapped(&auto_axes("X", P!(), || x.clone()))).mesh(&mesh).in_specs(P!()).out_specs(P!())(x)
}

fn counted(x: &Array, n: Static<usize>) -> Result<Array> {
    if *n == 0 { Ok(x.clone()) } else { jit(counted)(&(x + 1.0), Static(*n - 1)) }
}

fn nested(kind: usize, n: usize, x: &Array) -> Array {
    if n == 0 {
        return x + 1.0;
    }
    let again = |x: &Array| nested(kind, n - 1, x);
    match kind {
        0 => cond(x.sum(..).gt(0.0), || again(x), || x.clone()),
        1 => fori_loop(0..2, x.clone(), |_, x| again(&x)),
        2 => while_loop(x.clone(), |x| x.sum(..).lt(0.0), |x| again(&x)),
        3 => scan(x.clone(), x.clone(), |x, _| (again(&x), ())).0,
        _ => switch(x.sum(..).astype(I32), 2, |k| if k == 0 { x.clone() } else { again(x) }),
    }
}

#[test]
fn recursion_without_end_is_a_mistake() {
    let x = ones([2], F32);
    assert_eq!(codes(jitted(&x)), ["trace-depth"]);
    assert_eq!(codes(lowered(&x)), ["trace-depth"]);
    assert_eq!(codes(jit(|x: &Array| nested(0, usize::MAX, x)).lower(&x)), ["trace-depth"]);
    assert!(!codes(jit(|x: &Array| mapped(x)).lower(&x)).is_empty());
    // The thread is as it was before.
    assert_eq!((&x + 1.0).to_vec::<f32>().unwrap(), [2.0, 2.0]);
}

#[test]
fn recursion_that_ends_runs() {
    let x = ones([2], F32);
    assert_eq!(jit(counted)(&x, Static(90)).unwrap().to_vec::<f32>().unwrap(), [91.0, 91.0]);
    assert_eq!(codes(jit(counted)(&x, Static(500))), ["trace-depth"]);
}

#[test]
fn control_flow_nests_so_deep() {
    for kind in 0..5 {
        let run = |n: usize| codes(jit(|x: &Array| nested(kind, n, x)).lower(&ones([2], F32)));
        assert_eq!((run(20), run(2_000)), (vec![], vec!["trace-depth".to_string()]), "{kind}");
    }
    let deep = jit(|x: &Array| nested(0, 99, x))(&ones([2], F32)).unwrap();
    assert_eq!(deep.to_vec::<f32>().unwrap(), [2.0, 2.0]);
}

#[derive(Tree)]
struct Chain {
    x: Array,
    next: Vec<Chain>,
}

#[test]
fn trees_nest_so_deep() {
    let chain = |n: usize| {
        let end = Chain { x: ones([1], F32), next: vec![] };
        (0..n).fold(end, |next, _| Chain { x: ones([1], F32), next: vec![next] })
    };
    let sum = |c: &Chain| tree::leaves(c).into_iter().fold(scalar(0.0, F32), |sum, x| sum + x.sum(..));
    assert_eq!(jit(sum)(&chain(100)).unwrap().item::<f32>().unwrap(), 101.0);
    assert_eq!(codes(jit(sum)(&chain(5_000))), ["tree-depth"]);
    assert_eq!(codes(jit(sum).lower(&chain(5_000)).map(|_| ())), ["tree-depth"]);
    assert_eq!(codes(jit(|| chain(5_000))()), ["tree-depth"]);
}

// ── elsewhere
/// Functions, each of which uses its argument in another way. The tests call them with an array of a trace where it
/// cannot be used.
const USES: [fn(&Array) -> Array; 5] = [
    |x| x + 1.0,
    |x| x.shard(Mesh::explicit([("X", 2)]).unwrap().sharding(P!("X"))),
    |x| x.reshape([2, 1]).matmul(ones([1, 2], F32)).sum(..),
    |x| concatenate([x, &ones([2], F32)], 0),
    |x| x.roll(1, 0).sort(0),
];

#[test]
fn traced_arrays_on_another_thread() {
    for (i, mesh) in [Mesh::auto([("X", 2)]), Mesh::explicit([("X", 2)])].into_iter().enumerate() {
        let mesh = mesh.unwrap();
        let arg = ones([2], F32).shard(mesh.sharding(P!("X")));
        let f = jit(|x: &Array| {
            let traced = x * 2.0;
            let elsewhere = |f: &(dyn Fn(&Array) -> Result<()> + Sync)| {
                std::thread::scope(|s| s.spawn(|| codes(f(&traced))).join().unwrap())
            };
            for (k, f) in USES.iter().enumerate() {
                assert_eq!(elsewhere(&|x| f(x).check().map(|_| ())), ["traced-escaped"], "eager {i} {k}");
                let in_trace = |x: &Array| {
                    let (mesh, x) = (mesh.clone(), x.clone());
                    with_mesh(mesh, || jit(move || f(&x)).lower(()).map(|_| ()))
                };
                assert_eq!(elsewhere(&in_trace), ["traced-escaped"], "traced {i} {k}");
            }
            assert_eq!(elsewhere(&|x| x.to_vec::<f32>().map(|_| ())), ["traced-escaped"]);
            assert_eq!(elsewhere(&|x| jit(|x: &Array| x + 1.0)(x).map(|_| ())), ["traced-escaped"]);
            let looped = |x: &Array| {
                let x = x.clone();
                jit(move || fori_loop(0..3, x.clone(), |_, y| y + &x)).lower(()).map(|_| ())
            };
            assert_eq!(elsewhere(&looped), ["traced-escaped"]);
            let chosen = |x: &Array| {
                let x = x.clone();
                jit(move |p: &Array| cond(p.gt(0.0), || x.clone(), || x.clone())).lower(&scalar(1.0, F32)).map(|_| ())
            };
            assert_eq!(elsewhere(&chosen), ["traced-escaped"]);
            traced + 1.0
        });
        assert_eq!(f(&arg).unwrap().to_vec::<f32>().unwrap(), [3.0, 3.0]);
    }
}

#[test]
fn traced_arrays_after_their_trace_and_in_other_traces() {
    let kept: Mutex<Option<Array>> = Mutex::new(None);
    let f = jit(|x: &Array| {
        let y = x * 2.0;
        *kept.lock().unwrap() = Some(y.clone());
        // The inner trace is a separate program.
        assert_eq!(codes(jit(|x: &Array| x + &y).lower(&ones([2], F32)).map(|_| ())), ["traced-escaped"]);
        y
    });
    assert_eq!(f(&ones([2], F32)).unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0]);
    drop(f);
    let y = kept.into_inner().unwrap().unwrap();
    for f in USES {
        assert_eq!(codes(f(&y).check().map(|_| ())), ["traced-escaped"]);
        assert_eq!(codes(jit(|x: &Array| f(&y) + x).lower(&ones([2], F32)).map(|_| ()))[..1], ["traced-escaped"]);
    }
    let doubled = |y: &Array| jit(|x: &Array| x * 2.0)(y);
    assert_eq!(codes(doubled(&y)), ["traced-escaped"]);
    let inside = jit(|x: &Array| -> Result<Array> { Ok(doubled(&y)? + x) });
    assert_eq!(codes(inside.lower(&ones([2], F32)).map(|_| ()))[..1], ["traced-escaped"]);
    drop(inside);
    let late = move || y.clone() + 1.0;
    assert_eq!(codes(late().check().map(|_| ())), ["traced-escaped"]);
    assert_eq!(codes(jit(late)()), ["traced-escaped"]);
    std::thread::spawn(move || drop(kept_in_a_closure())).join().unwrap();
}

fn kept_in_a_closure() -> impl FnOnce() -> Array + Send {
    let kept = std::sync::Arc::new(Mutex::new(None));
    let keeper = kept.clone();
    jit(move |x: &Array| {
        *keeper.lock().unwrap() = Some(x.clone());
        x.clone()
    })
    .lower(&ones([2], F32))
    .unwrap();
    move || kept.lock().unwrap().take().unwrap()
}

#[test]
fn loops_do_not_leak_what_they_made() {
    let leaked: Mutex<Option<Array>> = Mutex::new(None);
    let f = jit(|x: &Array| {
        let out = fori_loop(0..3, x.clone(), |_, c| {
            let inner = &c * 2.0;
            *leaked.lock().unwrap() = Some(inner.clone());
            inner
        });
        out + leaked.lock().unwrap().take().unwrap()
    });
    assert_eq!(codes(f(&ones([2], F32))), ["traced-escaped"]);
}

// ── deleted
#[test]
fn arrays_that_have_yet_to_be_made_are_deleted_too() {
    let mesh = Mesh::explicit([("X", 4)]).unwrap();
    let x = arange(0..16, F32).reshape([4, 4]).shard(mesh.sharding(P!("X", None)));
    let open = || x.t().sum(1);
    let makers: [&dyn Fn() -> Array; 5] = [
        &|| zeros([4], F32),
        &|| array(&[1.0f32, 2.0]),
        &|| normal(Key::new(1), [4], F32),
        &|| zeros([4], F32).shard(mesh.sharding(P!("X"))),
        &open,
    ];
    for (i, make) in makers.into_iter().enumerate() {
        let a = make();
        a.clone().delete();
        assert_eq!(codes(a.to_vec::<f32>()), ["deleted"], "{i}");
        assert_eq!(codes((&a + 1.0).check().map(|_| ())), ["deleted"], "{i}");
        assert_eq!(codes(a.shard(mesh.sharding(P!())).to_vec::<f32>()), ["deleted"], "{i}");
        if i == 4 {
            assert_eq!(codes(a.shard(mesh.sharding(P!().unreduced("X"))).check().map(|_| ())), ["deleted"]);
        }
        assert_eq!(codes(jit(|a: Array| a + 1.0)(a)), ["deleted"], "{i}");
    }
    let unclear = x.t().matmul(&x);
    unclear.clone().delete();
    assert_eq!(codes(unclear.shard(mesh.sharding(P!())).check().map(|_| ())), ["deleted"]);
}

#[test]
fn a_caught_panic_leaves_no_region_open() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let bodies: [fn(&Array) -> Array; 4] = [
        |x| fori_loop(0..3, x.clone(), |_, _| -> Array { panic!("of the user") }),
        |x| while_loop(x.clone(), |_| panic!("of the user"), |x| x),
        |x| cond(x.sum(..).gt(0.0), || x.clone(), || panic!("of the user")),
        |x| shard_map(|_: &Array| -> Array { panic!("of the user") }).in_specs(P!("X")).out_specs(P!("X"))(x),
    ];
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    let results = bodies.map(|body| {
        let f = jit(move |x: &Array| catch_unwind(AssertUnwindSafe(|| body(x))).unwrap_or_else(|_| x + 1.0));
        with_mesh(&mesh, || f(&zeros([2], F32)).and_then(|y| y.to_vec::<f32>()))
    });
    std::panic::set_hook(hook);
    results.into_iter().for_each(|y| assert_eq!(y.unwrap(), [1.0, 1.0]));
}
