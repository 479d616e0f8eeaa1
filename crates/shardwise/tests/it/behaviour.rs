//! Tests how programs are written: locations, trees, captures, calls, layouts.

use shardwise::prelude::*;
use shardwise::{CollectiveKind, DeviceGroups, SourceLocation};

fn at(e: &Error) -> Vec<String> {
    e.diagnostics().map(|d| format!("{}:{}", d.location().line(), d.location().column())).collect()
}

fn codes(e: &Error) -> Vec<&str> {
    e.diagnostics().map(|d| d.code()).collect()
}

fn bad() -> (Array, Array) {
    (ones([8, 16], F32), ones([12, 4], F32))
}

#[rustfmt::skip]
#[test]
fn mistakes_stand_at_the_operator() {
    let (x, w) = bad();
    let y = &x + &w; let l = line!();
    assert_eq!(at(&y.check().unwrap_err()), [format!("{l}:13")]);
    let mut z = x.clone();
    z += &w; let l = line!();
    assert_eq!(at(&z.check().unwrap_err()), [format!("{l}:5")]);
    let y = x + w; let l = line!();
    assert_eq!(at(&y.check().unwrap_err()), [format!("{l}:13")]);
}

#[rustfmt::skip]
#[test]
fn mistakes_stand_at_the_method_in_the_closure() {
    let (x, w) = bad();
    let f = jit(|x: &Array, w: &Array| {
        x.matmul(w)
    });
    let l = line!() - 2;
    assert_eq!(at(&f(&x, &w).unwrap_err()), [format!("{l}:11")]);
    let y = einsum!("bdd,df->bf", ones([8, 16], F32), ones([16, 4], F32)); let l = line!();
    assert_eq!(at(&y.check().unwrap_err()), [format!("{l}:13")]);
    let y = Some(ones([8, 16], F32)).map(|x| x.reshape([3])); let l = line!();
    assert_eq!(at(&y.unwrap().check().unwrap_err()), [format!("{l}:48")]);
    let y = ones([3], F32).stack_twice(); let l = line!();
    assert_eq!(at(&y.check().unwrap_err()), [format!("{}:14", l + 9)]);
}

trait Helper {
    fn stack_twice(&self) -> Array;
}
impl Helper for Array {
    fn stack_twice(&self) -> Array {
        self.expand_dims(4)
    }
}

#[rustfmt::skip]
#[test]
fn mistakes_of_nested_calls_stand_at_their_own_call() {
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    let x = with_mesh(&mesh, || ones([8], F32).shard(P!("X")));
    let total = jit(|x: &Array| x.sum(..)).in_shardings(P!("X"));
    let shift = jit(|x: &Array| x + 1);
    let map = shard_map(|x: &Array| -> Result<Array> { Ok(x.clone()) }).mesh(&mesh).in_specs(P!("X")).out_specs(P!("X"));
    let scalar = total(&x).unwrap();
    let nested = || total(&shift(&scalar)?); let l = line!();
    assert_eq!(at(&nested().unwrap_err()), [format!("{l}:21")]);
    let of_itself = || total(&total(&x)?); let l = line!();
    assert_eq!(at(&of_itself().unwrap_err()), [format!("{l}:24")]);
    let mapped = || map(&shift(&scalar)?); let l = line!();
    assert_eq!(at(&mapped().unwrap_err()), [format!("{l}:21")]);
    let compiled = total.lower(&x).unwrap().compile().unwrap();
    let compiled = || compiled(&shift(&scalar)?); let l = line!();
    assert_eq!(at(&compiled().unwrap_err()), [format!("{l}:23")]);
    for _ in 0..5000 {
        let inner_fails = || shift(&total(&scalar)?); let l = line!();
        assert_eq!(at(&inner_fails().unwrap_err()), [format!("{l}:37")]);
    }
    assert_eq!(at(&nested().unwrap_err()).len(), 1);
}

#[test]
fn poison_keeps_what_is_known() {
    let (x, w) = bad();
    let y = x.matmul(&w);
    let [a, b] = y.dims();
    assert_eq!((a, b), (8, 4));
    let f = jit(|x: &Array, w: &Array| {
        let a = x.matmul(w);
        let [rows, _] = a.dims();
        let b = x.reshape([rows, 17]);
        a + b.t()
    });
    assert_eq!(codes(&f(&x, &w).unwrap_err()), ["dot-contracting-size", "reshape-size"]);
}

#[test]
fn a_mistake_that_nobody_reads_is_reported() {
    let f = jit(|x: &Array| {
        let _ = x.reshape([3]);
        x + 1
    });
    assert_eq!(codes(&f(&ones([4], F32)).unwrap_err()), ["reshape-size"]);
}

#[test]
fn an_unknown_shape_ends_the_trace() {
    let f = jit(|x: &Array, w: &Array| {
        let y = x + w; // no common shape
        let [a, _] = y.dims();
        y.reshape([a * 1000]).reshape([7]) // never reached
    });
    let (x, w) = bad();
    assert_eq!(codes(&f(&x, &w).unwrap_err()), ["broadcast"]);
    let g = jit(|x: &Array| {
        let [n] = x.dims();
        x.reshape([n])
    });
    assert_eq!(codes(&g(&x).unwrap_err()), ["rank"]);
    // A panic of the program after a mistake is reported as the mistake.
    let h = jit(|x: &Array, w: &Array| {
        let y = x.matmul(w);
        assert_eq!(y.dim(0), 9);
        y
    });
    assert_eq!(codes(&h(&x, &w).unwrap_err()), ["dot-contracting-size"]);
    let y = x + w;
    assert!(std::panic::catch_unwind(|| y.dims::<2>()).is_err());
}

#[test]
fn a_panic_of_the_programs_own_goes_on() {
    let f = jit(|x: &Array| -> Array {
        let _ = x + 1;
        panic!("mine")
    });
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(&ones([2], F32))));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"mine"));
    assert_eq!((ones([2], F32) + 1).to_vec::<f32>().unwrap(), [2.0, 2.0]);
}

#[test]
fn a_loop_without_results_panics_with_its_mistakes() {
    let text = |f: &dyn Fn()| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
        caught.expect_err("a panic").downcast::<String>().expect("a text").to_string()
    };
    let adds = || fori_loop(0..3, (), |_, ()| drop(array(&[1, 2]) + array(&[1, 2, 3])));
    assert!(text(&adds).contains("error[broadcast]"), "{}", text(&adds));
    let prints = || fori_loop(0..3, (), |i, ()| shardwise::debug::print!("{}", i));
    assert_eq!(shardwise::debug::captured(prints).1, ["0", "1", "2"]);
    let token = shardwise::CancelToken::default();
    token.cancel();
    let limits = shardwise::Limits::default().cancel(&token);
    let cancelled = || shardwise::with_limits(limits.clone(), prints);
    assert!(text(&cancelled).contains("error[run-cancelled]"), "{}", text(&cancelled));
}

type Step = Jit<'static, (Array, &'static Array), (Array, Array)>;
struct Trainer {
    step: Step,
}
fn step_of(s: Array, x: &Array) -> (Array, Array) {
    (s + x, x.square())
}
static STEP: std::sync::LazyLock<Step> = std::sync::LazyLock::new(|| jit(step_of));

#[test]
fn functions_are_stored_and_sent() {
    let t = Trainer { step: jit(step_of) };
    let (s, _) = (t.step)(ones([2], F32), &ones([2], F32)).unwrap();
    let (s, _) = STEP(s, &ones([2], F32)).unwrap();
    assert_eq!(s.to_vec::<f32>().unwrap(), [3.0, 3.0]);
    let x = ones([2], F32);
    let c = jit(|x: &Array| x.square()).lower(&x).unwrap().compile().unwrap();
    std::thread::spawn(move || assert_eq!(c(&ones([2], F32)).unwrap().to_vec::<f32>().unwrap(), [1.0, 1.0]))
        .join()
        .unwrap();
    let j = jit(step_of);
    std::thread::scope(|s| {
        s.spawn(|| j(ones([2], F32), &x).unwrap().0.to_vec::<f32>().unwrap());
    });
}

#[derive(Tree)]
struct Chain<T = Array> {
    value: T,
    next: Vec<Chain<T>>,
    named: std::collections::BTreeMap<String, Chain<T>>,
}

/// The functions of trees recurse, so their depth is limited, also in derived ones.
#[test]
fn derived_trees_are_mapped_to_a_limited_depth() {
    let chain = |depth: usize, is_named: bool| {
        let end = Chain { value: zeros([], F32), next: vec![], named: Default::default() };
        (0..depth).fold(end, |tree, _| {
            let value = zeros([], F32);
            match is_named {
                true => Chain { value, next: vec![], named: [("a".to_string(), tree)].into() },
                false => Chain { value, next: vec![tree], named: Default::default() },
            }
        })
    };
    let count = |depth: usize, is_named: bool| {
        let (tree, mut count) = (chain(depth, is_named), 0);
        let _ = tree::MapLeaves::map_leaves(&tree, &mut |_: &Array| count += 1);
        count
    };
    for is_named in [false, true] {
        assert_eq!(count(200, is_named), 201);
        let panic = std::panic::catch_unwind(|| count(400, is_named)).unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().contains("error[tree-depth]"));
    }
}

#[test]
fn any_number_of_arguments() {
    assert_eq!(zeros([], F32).rank(), 0);
    let init = jit(|| (zeros([2], F32), zeros([3], F32)));
    let (a, b) = init().unwrap();
    assert_eq!(a.dim(-1) + b.dim(0), 5);
    let eight = jit(
        |a: &Array, b: &Array, c: &Array, d: &Array, e: Array, f: Static<u8>, g: &Vec<Array>, h: &(Array, Array)| {
            a + b + c + d + e + &g[0] + &h.0 * *f as i32
        },
    );
    let x = ones([2], F32);
    let y = eight(&x, &x, &x, &x, x.clone(), Static(3), &vec![x.clone()], &(x.clone(), x.clone())).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [9.0, 9.0]);
}

#[derive(Tree, Clone, Debug)]
struct Linear<T = Array> {
    w: T,
    b: Option<T>,
}
#[derive(Tree, Clone, Debug)]
struct Net {
    layers: Vec<Linear>,
    head: (Array, Array),
    #[tree(fixed)]
    heads: usize,
}
#[derive(Tree, Clone, Debug)]
struct Wrap<T = Array>(Vec<Linear<T>>, [T; 2], (T, T));

#[test]
fn trees() {
    let l = || Linear { w: ones([2], F32), b: None };
    let n = Net {
        layers: vec![l(), Linear { b: Some(ones([3], F32)), ..l() }],
        head: (ones([1], F32), ones([1], F32)),
        heads: 4,
    };
    let p: Vec<String> = tree::paths(&n).iter().map(|(p, _)| p.to_string()).collect();
    assert_eq!(p, [".layers[0].w", ".layers[1].w", ".layers[1].b", ".head.0", ".head.1"]);
    let f = jit(|n: &Net| &n.layers[0].w * n.heads);
    assert_eq!(f(&n).unwrap().to_vec::<f32>().unwrap(), [4.0, 4.0]);
    assert_eq!(f(&Net { heads: 5, ..n.clone() }).unwrap().to_vec::<f32>().unwrap(), [5.0, 5.0]);
    let g = jit(|n: Net, x: &Array| (tree::map(&n, |a| a * 2.0), x.square()));
    let (n, _) = g(n, &ones([1], F32)).unwrap();
    assert_eq!((n.heads, n.layers[1].b.as_ref().unwrap().to_vec::<f32>().unwrap()), (4, vec![2.0; 3]));
    let w = Wrap(vec![l()], [ones([1], F32), ones([2], F32)], (ones([1], F32), ones([2], F32)));
    let types = tree::MapLeaves::map_leaves(&w, &mut |a: &Array| a.ty().to_string());
    assert_eq!(types.1, ["f32[1]", "f32[2]"]);
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    let specs = tree::MapLeaves::map_leaves(&w, &mut |_: &Array| P!("X"));
    let h = jit(|w: &Wrap| w.1[1].clone()).in_shardings(specs);
    assert_eq!(with_mesh(&mesh, || h(&w).unwrap()).ty().to_string(), "f32[2@X]");
}

#[derive(Tree, Clone)]
struct OfU<U = Array> {
    a: U,
}
#[derive(Tree, Clone)]
struct Bounded<T: Clone = Array> {
    a: T,
}
#[derive(Tree, Clone)]
struct Where<T = Array>
where
    T: Clone,
{
    a: T,
}
#[derive(Tree, Clone)]
struct Named<T = Array> {
    a: std::collections::BTreeMap<String, T>,
}

/// A tree whose leaves must be trees. `P` is not a `Tree`, so that there are no specs of this form.
#[derive(Tree, Clone)]
struct OfTrees<T: Tree = Array> {
    a: Vec<T>,
}

macro_rules! struct_of {
    ($one:ty, $many:ty) => {
        #[derive(Tree, Clone)]
        struct OfFragments<T = Array> {
            one: $one,
            many: $many,
        }
    };
}
struct_of!(T, Vec<T>);

/// Tests that `#[derive(Tree)]` sees the leaves in types that are fragments of a macro.
#[test]
fn types_of_fields_may_come_through_a_macro() {
    let tree = OfFragments { one: ones([2], F32), many: vec![ones([1], F32), ones([3], F32)] };
    let mut count = 0;
    let numbers = shardwise::MapLeaves::map_leaves(&tree, &mut |_: &Array| {
        count += 1;
        count
    });
    assert_eq!((numbers.one, numbers.many), (1, vec![2, 3]));
}

/// Tests that `#[derive(Tree)]` accepts a parameter of any name, bounds on it, and maps, and that specs of the same
/// struct are accepted for `in_shardings`.
#[test]
fn parameters_of_trees() {
    let one = || ones([2], F32);
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    with_mesh(&mesh, || {
        let u = jit(|x: &OfU| x.a.clone()).in_shardings(OfU { a: P!("X") });
        assert_eq!(u(&OfU { a: one() }).unwrap().ty().to_string(), "f32[2@X]");
        let bounded = jit(|x: &Bounded| x.a.clone()).in_shardings(Bounded { a: P!("X") });
        assert_eq!(bounded(&Bounded { a: one() }).unwrap().ty().to_string(), "f32[2@X]");
        let wheres = jit(|x: &Where| x.a.clone()).in_shardings(Where { a: P!("X") });
        assert_eq!(wheres(&Where { a: one() }).unwrap().ty().to_string(), "f32[2@X]");
        let trees = jit(|x: &OfTrees| x.a[0].clone()).in_shardings(P!("X"));
        assert_eq!(trees(&OfTrees { a: vec![one()] }).unwrap().ty().to_string(), "f32[2@X]");
        let named = Named { a: [("k".to_string(), one())].into() };
        let specs = tree::MapLeaves::map_leaves(&named, &mut |_: &Array| P!("X"));
        let f = jit(|x: &Named| x.a["k"].clone()).in_shardings(specs);
        assert_eq!(f(&named).unwrap().ty().to_string(), "f32[2@X]");
        let none = jit(|x: &Named| x.a["k"].clone()).in_shardings(Named { a: [].into() });
        assert_eq!(none(&named).unwrap_err().diagnostics().next().unwrap().code(), "spec-form");
    });
}

/// A value that prints like all others of its type and has the same hash as they.
#[derive(Clone, PartialEq, Eq)]
struct Factor(i32);
impl std::fmt::Debug for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Factor")
    }
}
impl std::hash::Hash for Factor {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

#[derive(Tree, Clone)]
struct Scaled {
    x: Array,
    #[tree(fixed)]
    by: Factor,
}

#[test]
fn programs_are_for_one_value_of_what_is_fixed() {
    let x = ones([1], F32);
    let scaled = |by| Scaled { x: x.clone(), by: Factor(by) };
    let f = jit(|s: &Scaled| &s.x * s.by.0);
    let g = jit(|x: &Array, by: Static<Factor>| x * by.0.0);
    for by in [2, 3, 2] {
        let results = [f(&scaled(by)).unwrap(), g(&x, Static(Factor(by))).unwrap()];
        assert_eq!(results.map(|y| y.item::<f32>().unwrap()), [by as f32; 2]);
    }
    let compiled = f.lower(&scaled(2)).unwrap().compile().unwrap();
    assert_eq!(codes(&compiled(&scaled(3)).unwrap_err()), ["tree-form"]);
}

#[test]
fn trees_of_other_forms_are_not_paired() {
    let x = ones([1], F32);
    let tree = |name: &str| std::collections::BTreeMap::from([(name.to_string(), x.clone())]);
    let (a, b) = (tree("a"), tree("b"));
    let sum = tree::map3(&a, &a, &a, |a, b, c| a + b + c);
    assert_eq!(tree::map2(&sum, &a, |sum, a| sum + a)["a"].item::<f32>().unwrap(), 4.0);
    let is_refused = |f: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    assert!(is_refused(&|| drop(tree::map2(&a, &b, |a, _| a.clone()))));
    assert!(is_refused(&|| drop(tree::map3(&a, &a, &b, |a, _, _| a.clone()))));
    assert!(is_refused(&|| drop(tree::map2(&[Some(x.clone()), None], &[None, Some(x.clone())], |a, _| a.clone()))));
}

#[test]
fn numbers_take_the_arrays_dtype() {
    let x = ones([2, 3], BF16);
    let y = (&x + 1e-6).rsqrt() * 2 - 1.0f32 / 1.0 + 3usize;
    assert_eq!(y.dtype(), BF16);
    let n: usize = 3;
    let v: Vec<f32> = vec![1.0];
    let m = n * 2 + n; // plain integers still infer
    let k: f64 = 2.0 * 3.0;
    let j = 2.0 * k + n as f64;
    let z = &x * v[0] + v.len() - 1 + 2 * &x / 3.0 - 1.0 * (&x + 1) + m * &x + j * &x;
    assert_eq!(z.dtype(), BF16);
    assert_eq!((arange(0..3, I32) % 2 + 1).to_vec::<i32>().unwrap(), [1, 2, 1]);
    assert!(arange(300..300, U8).to_vec::<u8>().unwrap().is_empty());
    assert_eq!((ones([2], Bool) & true).to_vec::<bool>().unwrap(), [true, true]);
}

fn takes_fn(f: impl Fn(&Array) -> Result<Array>, x: &Array) -> Result<Array> {
    f(x)
}
struct Model {
    w: Array,
}
impl Model {
    fn forward(&self, x: &Array) -> Array {
        x.matmul(&self.w)
    }
    fn run(&self, x: &Array) -> Result<Array> {
        let f = jit(|x: &Array| self.forward(x));
        f(x)
    }
}

#[test]
fn functions_compose() -> Result<()> {
    let x = ones([4, 4], F32);
    let f = jit(|x: &Array| x.square() * 2.0);
    let y = takes_fn(&*f, &x)?;
    let z = takes_fn(|x| f(x), &y)?;
    let g = jit(|x: &Array| {
        let y = f(x)?;
        Ok(y * 2.0)
    });
    let h = jit(|x: &Array| -> Result<(Array, Vec<Array>)> { Ok((f(x)?, vec![x.clone()])) });
    let ((a, b), c) = (h(&z)?, g(&x)?);
    assert_eq!(
        (a.i((0, 0)).item::<f32>()?, b[0].i((0, 0)).item::<f32>()?, c.i((0, 0)).item::<f32>()?),
        (128.0, 8.0, 4.0)
    );
    let d = Model { w: x.clone() }.run(&x)?;
    assert_eq!(d.i((3, 3)).item::<f32>()?, 4.0);
    let fs: Vec<Jit<'_, (&Array,), Array>> = (0..3usize).map(|k| jit(move |x: &Array| x * k)).collect();
    let r = fs.iter().map(|f| f(&x)).collect::<Result<Vec<_>>>()?;
    assert_eq!(r[2].i((0, 0)).item::<f32>()?, 2.0);
    let twice = jit(jit(|x: &Array| x + 1));
    assert_eq!(twice(&x)?.i((0, 0)).item::<f32>()?, 2.0);
    std::thread::spawn(move || jit(|x: &Array| x.square())(&ones([2], F32)).map(|_| ())).join().unwrap()?;
    Ok(())
}

#[test]
fn a_second_call_traces_nothing() -> Result<()> {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let f = jit(|x: &Array, k: Static<usize>| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        x * *k
    });
    let x = ones([4], F32);
    let traced = || count.load(std::sync::atomic::Ordering::SeqCst);
    let _ = f(&x, Static(1))?;
    let _ = f(&(&x + 1), Static(1))?;
    assert_eq!(traced(), 1);
    let _ = f(&x, Static(2))?;
    let _ = f(&ones([5], F32), Static(2))?;
    let mesh = Mesh::auto([("X", 2)])?;
    let _ = f(&x.shard(mesh.sharding(P!("X"))), Static(2))?;
    assert_eq!(traced(), 4);
    Ok(())
}

#[test]
fn donation() -> Result<()> {
    let step = jit(|s: Array, x: &Array| s + x);
    let x = ones([4], F32);
    let mut s = zeros([4], F32);
    let kept = s.clone();
    for _ in 0..3 {
        s = step(s, &x)?;
    }
    assert_eq!(s.to_vec::<f32>()?, [3.0; 4]);
    assert_eq!(kept.to_vec::<f32>()?, [0.0; 4]);
    let y = &x + 1;
    y.clone().delete();
    assert_eq!(codes(&y.to_vec::<f32>().unwrap_err()), ["deleted"]);
    Ok(())
}

#[test]
fn layouts() -> Result<()> {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)])?;
    set_mesh(&mesh);
    let x = zeros([8, 16], BF16).shard(P!("X", "Y"));
    assert_eq!(x.ty().to_string(), "bf16[8@X,16@Y]");
    assert_eq!(format!("{:#}", x.ty()), "bf16[8@X,16@Y] on (X=4 Auto, Y=2 Auto)");
    assert_eq!(x.sharding().unwrap().spec, P!("X", "Y"));
    let y = arange(0..32, I32).reshape([8, 4]).shard(P!("X"));
    assert_eq!(y.shard(P!(_, "Y")).ty().to_string(), "i32[8@X,4@Y]");
    assert_eq!(y.shard(P!(None, ("X", "Y"))).ty().to_string(), "i32[8,4@(X,Y)]");
    assert_equal(&y.shard(P!("Y", "X")), &y);
    let shards = y.shards()?;
    assert_eq!(shards.len(), 8);
    assert_eq!((shards[3].device, shards[3].offset.clone()), (3, vec![2, 0]));
    assert_eq!(shards[3].coordinates, [("X".to_string(), 1), ("Y".to_string(), 1)]);
    assert_eq!(shards[3].data.to_vec::<i32>()?, (8..16).collect::<Vec<i32>>());
    y.assert_sharding(P!("X")).check()?;
    assert_eq!(codes(&y.assert_sharding(P!("Y")).check().unwrap_err()), ["layout"]);
    let z =
        Array::from_parts([8, 2], mesh.sharding(P!("X")), |offset, shape| vec![offset[0] as i32; shape[0] * shape[1]])?;
    assert_eq!(z.i((.., 0)).to_vec::<i32>()?, [0, 0, 2, 2, 4, 4, 6, 6]);
    let bad = Array::from_parts([8], mesh.sharding(P!("X")), |_, _| vec![1.0f32]);
    assert_eq!(codes(&bad.unwrap_err()), ["part-length"]);
    let out = jit(|x: &Array| x.shard(P!("Y")) + 1).out_shardings(P!(None, "X"))(&y)?;
    assert_eq!(out.ty().to_string(), "i32[8,4@X]");
    assert_equal(&out, &(y + 1));
    Ok(())
}

#[test]
fn printing() {
    assert_eq!(array(&[[1.0f32, 2.5], [-3.0, 0.0]]).to_string(), "[[ 1.   2.5]\n [-3.   0. ]]");
    assert_eq!(format!("{:?}", ones([2], BF16)), "Array(bf16[2])");
    assert_eq!(Array::of_type([8, 2], F32).to_string(), "f32[8,2]");
}

#[test]
fn captured_arrays_become_arguments() -> Result<()> {
    let w = normal(Key::new(0), [4, 4], F32);
    let f = jit(|x: &Array| x.matmul(&w) + &w);
    let x = ones([4, 4], F32);
    assert_equal(&f(&x)?, &(x.matmul(&w) + &w));
    let mesh = Mesh::auto([("X", 2)])?;
    let g = jit(|x: &Array| scan(x.clone(), arange(0..3, F32), |c, k| (c.matmul(&w) * k, ())).0);
    assert_close(&g(&x.shard(mesh.sharding(P!("X"))))?, &g(&x)?);
    Ok(())
}

#[test]
fn data_in_a_function_is_part_of_its_program() -> Result<()> {
    let f = jit(|x: &Array| x + array(&[1.0f32, 2.0]) + normal(Key::new(0), [2], F32));
    let text = f.lower(&ones([2], F32))?.as_text();
    assert_eq!(text.matches("%arg").count(), text.matches("%arg0").count(), "{text}");
    assert_close(&f(&ones([2], F32))?, &(array(&[2.0f32, 3.0]) + normal(Key::new(0), [2], F32)));
    Ok(())
}

#[test]
fn an_array_that_outlives_its_trace() -> Result<()> {
    let kept = std::sync::Mutex::new(None);
    let f = jit(|x: &Array| {
        let y = x + 1;
        *kept.lock().unwrap() = Some(y.clone());
        y
    });
    let _ = f(&ones([2], F32))?;
    let y = kept.lock().unwrap().take().unwrap();
    assert_eq!(codes(&y.to_vec::<f32>().unwrap_err()), ["traced-escaped"]);
    assert_eq!(codes(&(y + 1).check().unwrap_err()), ["traced-escaped"]);
    let inner = std::sync::Mutex::new(None);
    let g = jit(|x: &Array| {
        let z = fori_loop(0..2, x.clone(), |_, c| {
            *inner.lock().unwrap() = Some(&c + 0);
            c
        });
        z + inner.lock().unwrap().take().unwrap()
    });
    let escaped = g(&ones([2], F32)).unwrap_err();
    assert_eq!(codes(&escaped), ["traced-escaped"]);
    assert!(escaped.to_string().contains("return it from the function, loop or branch that made it"), "{escaped}");
    Ok(())
}

#[test]
fn programs_leave_and_arrive_as_text() -> Result<()> {
    set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);
    let x = Array::of_type([8, 16], BF16).shard(P!("X", "Y"));
    let w = Array::of_type([16, 32], BF16).shard(P!("Y", None));
    assert_eq!(x.matmul(&w).ty().to_string(), "bf16[8,32]");
    let lowered = jit(|x: &Array, w: &Array| x.square().matmul(w)).out_shardings(P!("X")).lower((&x, &w))?;
    let program = Program::parse(&lowered.as_text())?;
    assert_eq!(program.as_text(), lowered.as_text());
    assert_eq!(program.signature(), "(bf16[8@X,16@Y], bf16[16@Y,32]) -> bf16[8@X,32]");
    let compiled = program.compile()?;
    let out = compiled.call(&[ones([8, 16], BF16), ones([16, 32], BF16)])?;
    assert_eq!(out[0].to_vec::<shardwise::bf16>()?, vec![shardwise::bf16::from_f32(16.0); 256]);
    compiled.communication().assert_only(["all-reduce Y"]);
    let short = compiled.call(&[ones([8, 16], BF16)]).unwrap_err();
    let other = compiled.call(&[ones([8, 16], BF16), ones([16, 3], BF16)]).unwrap_err();
    assert_eq!([codes(&short), codes(&other)], [["call-arguments"], ["call-types"]]);
    let own = lowered.compile()?;
    assert!(own.as_hlo().contains("all-reduce"), "{}", own.as_hlo());
    assert_eq!(own.memory().argument_bytes, (2 * 8 + 8 * 32) * 2);
    assert!(Program::parse("module {").is_err());
    Ok(())
}

#[test]
fn each_kind_of_collective_has_its_own_name() {
    let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
    let add = "({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
      })";
    let groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>";
    let collectives = [
        (format!("collective_reduce\"(%l) <{{{channel}, {groups}}}> {add}"), "collective-reduce"),
        (format!("all_reduce\"(%l) <{{{channel}, {groups}, use_global_device_ids}}> {add}"), "all-reduce"),
        (format!("collective_broadcast\"(%l) <{{{channel}, {groups}}}>"), "collective-broadcast"),
        (
            format!(
                "collective_permute\"(%l) <{{{channel}, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}}>"
            ),
            "collective-permute",
        ),
    ];
    for (collective, name) in collectives {
        let text = format!(
            r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{"x"}}]>] out_shardings=[<@mesh, [{{"x"}}]>] manual_axes={{"x"}} (%l: tensor<2xf32>) {{
    %0 = "stablehlo.{collective} : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %0 : tensor<2xf32>
  }} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}}"#
        );
        let communication = Program::parse(&text).unwrap().compile().unwrap().communication();
        let kinds: Vec<String> = communication.into_iter().map(|c| c.kind.to_string()).collect();
        assert_eq!(kinds, [name]);
    }
}

#[test]
fn explanations_name_the_lines_of_their_own_program() -> Result<()> {
    let mesh = Mesh::auto([("X", 4)])?;
    let x = Array::of_type([8, 16], F32).shard(mesh.sharding(P!(None, "X")));
    let source = |f: &Jit<'_, (&Array,), Array>| -> Result<SourceLocation> {
        let communication = f.lower(&x)?.compile()?.communication();
        Ok(communication.into_iter().next().and_then(|c| c.source.clone()).expect("a line"))
    };
    let first = source(&jit(|x: &Array| x.sum(1)))?;
    let second = source(&jit(|x: &Array| x.sum(1)))?;
    assert!(first.file().ends_with("behaviour.rs") && first.line() < second.line(), "{first} {second}");
    assert_eq!(first.to_string(), format!("{}:{}:{}", first.file(), first.line(), first.column()));
    Ok(())
}

#[test]
fn collectives_are_data() -> Result<()> {
    let mesh = Mesh::auto([("X", 2), ("Y", 2)])?;
    let x = Array::of_type([8, 16], F32).shard(mesh.sharding(P!(None, ("X", "Y"))));
    let sums = |x: &Array| while_loop(zeros([], F32), |s| s.lt(9.0), |s| (x + &s).tanh().sum(..));
    let communication = jit(sums).lower(&x)?.communication()?;
    let c = communication.of(CollectiveKind::AllReduce).next().expect("a sum over devices");
    assert_eq!(c.groups, DeviceGroups::Along(vec!["X".into(), "Y".into()]));
    assert_eq!((c.groups.axes(), c.groups.to_string()), (&["X".to_string(), "Y".to_string()][..], "X,Y".into()));
    assert_eq!((c.ty.dtype, c.count), (F32, None));
    communication.assert_only(["all-reduce X,Y x?"]);
    Ok(())
}

#[test]
fn groups_of_devices_may_be_along_no_axes() -> Result<()> {
    let text = |groups: &str| {
        format!(
            r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{
  %r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{"x"}}]>] out_shardings=[<@mesh, [{{"x"}}]>] manual_axes={{"x"}} (%l: tensor<2xf32>) {{
    %0 = "stablehlo.collective_broadcast"(%l) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{groups}>}}> : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %0 : tensor<2xf32>
  }} : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}}"#
        )
    };
    let groups = |text: &str| -> Result<DeviceGroups> {
        let communication = Program::parse(text)?.compile()?.communication();
        Ok(communication.into_iter().next().expect("a broadcast").groups.clone())
    };
    let listed = groups(&text("[[0, 3], [2, 1]]> : tensor<2x2xi64"))?;
    assert_eq!((listed.axes(), listed.to_string()), (&[][..], "2 groups of 2".into()));
    assert_eq!(listed, DeviceGroups::Listed { count: 2, size: 2 });
    Ok(())
}

#[test]
fn meshes_and_layouts_can_be_read() -> Result<()> {
    let mesh = Mesh::new([Axis::auto("X", 4), Axis::explicit("Y", 2), Axis::auto("Z", 1)])?;
    let axes: Vec<(String, usize, bool)> =
        mesh.axes().iter().map(|a| (a.name().into(), a.size(), a.is_explicit())).collect();
    assert_eq!(axes, [("X".into(), 4, false), ("Y".into(), 2, true), ("Z".into(), 1, false)]);
    assert_eq!(mesh.axes()[1].to_string(), "Y=2 Explicit");
    assert_eq!(with_mesh(&mesh, get_mesh), Some(mesh.clone()));

    let layout = mesh.sharding(P!(("X", "Y"), None));
    assert_eq!(layout.to_string(), r#"P!(("X", "Y"), None) on (X=4, Y=2, Z=1)"#);
    assert_eq!(layout.shard_shape([16, 3])?.to_string(), "[2,3]");
    assert_eq!(codes(&layout.shard_shape([16]).unwrap_err()), ["spec-rank"]);
    let is_whole = |spec: P| mesh.sharding(spec).is_fully_replicated();
    assert_eq!([is_whole(P!()), is_whole(P!(None)), is_whole(P!("Z"))], [true; 3]);
    assert_eq!([is_whole(P!("X")), is_whole(P!(_)), is_whole(P!().unreduced("Y"))], [false; 3]);
    Ok(())
}

#[test]
fn element_types_are_parsed_from_their_names() {
    for dtype in [Bool, I4, U8, F8E4M3FN, BF16, F32, C128] {
        assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
    }
    assert_eq!(codes(&"float".parse::<DType>().unwrap_err()), ["dtype-name"]);
    assert_eq!([I4, BF16, C128].map(|dtype| (dtype.bits(), dtype.storage_bytes())), [(4, 1), (16, 2), (128, 16)]);
}

#[test]
fn types_of_results_without_a_run() -> Result<()> {
    let f = |x: &Array, n: &Array| (x.matmul(x.t()).sum(0), vec![n + 1]);
    let large = Array::of_type([1 << 20, 4], F32);
    let (sums, counts) = shardwise::eval_shape(f, (&large, &scalar(1, I32)))?;
    assert_eq!(sums.ty().to_string(), "f32[1048576]");
    assert_eq!(counts[0].ty().to_string(), "i32[]");
    assert!(sums.to_vec::<f32>().is_err());
    let mesh = Mesh::explicit([("X", 4)])?;
    let rows = ones([8, 4], F32).shard(mesh.sharding(P!("X")));
    assert_eq!(shardwise::eval_shape(|x: &Array| x.t(), &rows)?.ty().to_string(), "f32[4,8@X]");
    let wrong = shardwise::eval_shape(|x: &Array| x.reshape([5]), &rows).unwrap_err();
    assert_eq!(wrong.diagnostics().next().unwrap().code(), "reshape-size");
    Ok(())
}

#[test]
fn trees_become_vectors_and_back() -> Result<()> {
    let params = (vec![array(&[[1.0f32, 2.0], [3.0, 4.0]]), zeros([0, 3], F32)], scalar(5.0, F32));
    let (flat, unravel) = tree::ravel(&params);
    assert_eq!(flat.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0]);
    let (list, number) = unravel.tree(&(&flat * 2.0));
    assert_eq!(list[0].to_vec2::<f32>()?, [[2.0, 4.0], [6.0, 8.0]]);
    assert_eq!((list[1].ty().to_string(), number.item::<f32>()?), ("f32[0,3]".into(), 10.0));
    let loss = |flat: &Array| unravel.tree(flat).0[0].square().sum(..);
    assert_eq!(shardwise::grad(loss)(&flat).to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0, 0.0]);
    let inside = jit(|x: &Array| {
        let (flat, unravel) = tree::ravel(&(x.clone(), x + 1.0));
        unravel.tree(&flat.flip(0)).1
    });
    assert_eq!(inside(&array(&[1.0f32, 2.0]))?.to_vec::<f32>()?, [2.0, 1.0]);
    let code = |x: &Array| x.check().unwrap_err().diagnostics().next().unwrap().code().to_string();
    assert_eq!(code(&tree::ravel(&(scalar(1, I32), scalar(1, F32))).0), "dtype-mixed");
    assert_eq!(code(&unravel.tree(&zeros([4], F32)).1), "ravel-size");
    assert_eq!(tree::ravel(&Vec::<Array>::new()).0.ty().to_string(), "f32[0]");
    Ok(())
}
