//! How transforms compose with programs, loops and each other, and what they say about mistakes.

use crate::transform::floats;
use shardwise::prelude::*;
use shardwise::{Diagnostic, Error, Nth, custom_vjp, grad, jvp, value_and_grad, vjp, vmap};

fn first(e: &Error) -> &Diagnostic {
    e.diagnostics().next().unwrap()
}

#[track_caller]
fn says(e: &Error, code: &str, line: u32, words: &[&str]) {
    let text = e.to_string();
    assert_eq!(e.diagnostics().count(), 1, "{text}");
    let d = first(e);
    assert_eq!(d.code(), code, "{text}");
    assert!(d.location().file().ends_with("compose.rs"), "{text}");
    assert_eq!(d.location().line(), line, "{text}");
    words.iter().for_each(|word| assert!(text.contains(word), "`{word}` in {text}"));
}

// ── how they compose
#[test]
fn an_eager_call_is_one_program() {
    let x = array(&[1.0f32, 2.0]);
    let gradient = grad(|x: &Array| (x * 3.0).sin().square().sum(..));
    let ran = shardwise::profile(|| gradient(&x)).unwrap();
    // Ops of several lines run as one instruction, which only happens within one program.
    let names: Vec<String> = (&ran).into_iter().map(|i| i.name.clone()).collect();
    assert!(names.iter().any(|n| n.starts_with("small(")), "{names:?}");
    // A value cannot be read inside, as in `jit`.
    let reads = |x: &Array| x * x.sum(..).item::<f32>().map_or(1.0, f64::from);
    let inside = std::panic::catch_unwind(|| grad(|x: &Array| reads(x).sum(..))(&x));
    let read = jit(|x: &Array| -> Result<Array> { Ok(x * f64::from(x.sum(..).item::<f32>()?)) })(&x).unwrap_err();
    let graded =
        jit(|x: &Array| grad(|x: &Array| -> Result<Array> { Ok(x.sum(..) * f64::from(x.sum(..).item::<f32>()?)) })(x));
    let graded = graded(&x).unwrap_err();
    assert_eq!((first(&read).code(), first(&read).message()), (first(&graded).code(), first(&graded).message()));
    assert_eq!(first(&graded).code(), "no-value");
    // A function that ignores the error computes with what it has.
    assert_eq!(floats(&inside.unwrap()), [1.0, 1.0]);
}

#[test]
fn the_time_of_a_loop_counts_once() {
    // A loop over fewer elements would be one instruction.
    let x = ones([20_000], F32);
    let looped = jit(|x: &Array| fori_loop(0..100, x.clone(), |_, x| x.sin()).exp());
    let ran = shardwise::profile(|| looped(&x)).unwrap();
    let sum = |is_counted: fn(usize) -> bool| -> std::time::Duration {
        (&ran).into_iter().filter(|i| is_counted(i.depth)).map(|i| i.total).sum()
    };
    let inside = |i: &&shardwise::Instruction| i.depth == 1 && i.count == 100;
    assert!((&ran).into_iter().any(|i| inside(&i)), "{ran}");
    assert_eq!(ran.total(), sum(|depth| depth == 0), "{ran}");
    assert!(ran.total() < sum(|_| true), "{ran}");
}

#[test]
fn a_compiled_function_inside_a_trace_is_refused() {
    let x = array(&[1.0f32, 2.0]);
    let compiled = jit(|x: &Array| x.square().sum(..)).lower(&x).unwrap().compile().unwrap();
    let line = line!() + 1;
    let program = jit(|x: &Array| -> Result<Array> { Ok(grad(|x: &Array| compiled(x))(x)) });
    let e = program(&x).unwrap_err();
    says(&e, "compiled-traced", line, &["`jit`", "f32[2]"]);
    // A `jit`ted one is transparent, and a compiled one computes values of arrays that have some.
    let function = jit(|x: &Array| x.square().sum(..));
    assert_eq!(floats(&grad(|x: &Array| function(x))(&x)), [2.0, 4.0]);
    assert_eq!(floats(&grad(|y: &Array| -> Result<Array> { Ok(compiled(&x)? * y.sum(..)) })(&x)), [5.0, 5.0]);
}

#[test]
fn captured_arrays_are_constants_or_belong_to_their_own_transform() {
    let c = array(&[2.0f32, 3.0]);
    let x = array(&[1.0f32, 4.0]);
    // A concrete array is a constant.
    assert_eq!(floats(&grad(|x: &Array| (x * &c).sum(..))(&x)), [2.0, 3.0]);
    // Three levels: d/dx of x d/dy of (x y d/dz of (x y z^2)).
    let one = scalar(1.0, F32);
    let f = |x: &Array| {
        let x = x.clone();
        let inner = |y: &Array| {
            let (x, y) = (x.clone(), y.clone());
            let innermost = grad(|z: &Array| &x * &y * z * z);
            &x * &y * innermost(&one)
        };
        &x * grad(inner)(&one)
    };
    // innermost: 2 x y at z = 1; inner: d/dy 2 x^2 y^2 = 4 x^2 y; f: 4 x^3 at y = 1; its derivative: 12 x^2.
    assert_eq!(floats(&grad(f)(&scalar(3.0, F32))), [108.0]);
    // Forward inside of reverse, batched.
    let f = |x: &Array| jvp(|y: &Array| y * x * y, x, &one).1;
    assert_eq!(floats(&vmap(grad(f))(&x)), [4.0, 16.0]);
    // Across a scan: the carry of each step captures what the outer transform differentiates.
    let f = |x: &Array| {
        let step = |h: &Array| grad(|y: &Array| y * y * x)(h);
        scan(x.clone(), ones([2], F32), |h, _| (step(&h), ())).0
    };
    // h -> 2 h x, twice from x: 4 x^3.
    assert_eq!((floats(&f(&scalar(2.0, F32))), floats(&grad(f)(&scalar(2.0, F32)))), (vec![32.0], vec![48.0]));
}

#[test]
fn captured_arrays_across_shard_map() {
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    with_mesh(&mesh, || {
        let x = array(&[1.0f32, 2.0]);
        // Per device: x d/dy (x y^2) at y = x, which is 2 x^3.
        let f = |x: &Array| {
            let own = shard_map(|x: &Array| x * grad(|y: &Array| (x * y * y).sum(..))(x));
            own.in_specs(P!("X")).out_specs(P!("X"))(x)
        };
        assert_eq!(floats(&f(&x)), [2.0, 16.0]);
        assert_eq!(floats(&grad(|x: &Array| f(x).sum(..))(&x)), [6.0, 24.0]);
        // Three levels: the map captures an array that an outer transform differentiates.
        let f = |w: &Array| {
            let own = shard_map(|x: &Array| w * grad(|y: &Array| (w * y * y).sum(..))(x));
            own.in_specs(P!("X")).out_specs(P!("X"))(&x).sum(..)
        };
        // w 2 w (x_0 + x_1) = 6 w^2.
        let w = scalar(5.0, F32);
        assert_eq!(
            (floats(&f(&w)), floats(&grad(f)(&w)), floats(&grad(grad(f))(&w))),
            (vec![150.0], vec![60.0], vec![12.0])
        );
    });
}

#[test]
fn only_the_outermost_program_takes_donated_arrays() {
    // The inner function takes its argument by value, and the gradient needs the argument afterwards.
    let square = jit(|x: Array| &x * &x * x);
    let step = jit(|w: Array| {
        let gradient = grad(|w: &Array| -> Result<Array> { Ok(square(w.clone())?.sum(..)) })(&w);
        (&w - gradient, w)
    });
    let w = array(&[1.0f32, 2.0]);
    let (new, old) = step(w.clone()).unwrap();
    assert_eq!((floats(&new), floats(&old), floats(&w)), (vec![-2.0, -10.0], vec![1.0, 2.0], vec![1.0, 2.0]));
    let gradient = grad(|w: &Array| -> Result<Array> { Ok(square(w.clone())?.sum(..)) });
    assert_eq!((floats(&gradient(&w)), floats(&w)), (vec![3.0, 12.0], vec![1.0, 2.0]));
    // A transformed function with an argument by value.
    let gradient = grad(|w: Array| (&w * &w).sum(..));
    assert_eq!(floats(&gradient(w.clone())), [2.0, 4.0]);
    assert_eq!(floats(&w), [1.0, 2.0]);
}

// ── bad input
#[test]
fn a_gradient_is_that_of_a_real_scalar() {
    let x = array(&[1.0f32, 2.0]);
    let line = line!() + 1;
    let program = jit(|x: &Array| grad(|x: &Array| x * 2.0)(x));
    says(&program(&x).unwrap_err(), "grad-scalar", line, &["f32[2]", "sum or a mean", "vjp"]);
    let line = line!() + 1;
    let program = jit(|x: &Array| grad(|x: &Array| x.sum(..).astype(I32))(x));
    says(&program(&x).unwrap_err(), "grad-scalar", line, &["i32[]", "astype(F32)"]);
    let line = line!() + 1;
    let program = jit(|x: &Array| grad(|x: &Array| x.sum(..).astype(C64))(x));
    says(&program(&x).unwrap_err(), "grad-scalar", line, &["c64[]", "real number"]);
}

#[test]
fn integers_are_named_unless_they_are_allowed() {
    let p = (array(&[1.0f32]), vec![array(&[1i32]), array(&[true])]);
    let loss = |p: &(Array, Vec<Array>)| p.0.sum(..);
    let line = line!() + 1;
    let program = jit(|p: &(Array, Vec<Array>)| grad(loss)(p));
    let e = program(&p).unwrap_err();
    let messages: Vec<&str> = e.diagnostics().map(|d| d.message()).collect();
    assert_eq!(messages, ["`arg.1[0]` has no derivative", "`arg.1[1]` has no derivative"]);
    assert!(e.diagnostics().all(|d| d.code() == "grad-integer" && d.location().line() == line), "{e}");
    assert!(e.to_string().contains("allow_int") && e.to_string().contains("argnums"), "{e}");
    let line = line!() + 2;
    let program =
        jit(|x: &Array, i: &Array| value_and_grad(|x: &Array, i: &Array| x.i(i).sum(..)).argnums(Nth::<1>)(x, i));
    says(&program(&p.0, &p.1[0]).unwrap_err(), "grad-integer", line, &["arg.1", "i32[1]"]);
}

#[test]
fn a_loop_of_unknown_length_is_named() {
    let x = scalar(1.0, F32);
    let program = jit(|x: &Array| grad(|x: &Array| while_loop(x.clone(), |x| x.lt(10.0), |x| &x * 2.0))(x));
    let line = line!() - 1;
    says(&program(&x).unwrap_err(), "loop-length", line, &["`scan`", "`jvp`"]);
}

#[test]
fn tangents_and_cotangents_have_the_types_of_what_they_belong_to() {
    let (x, y) = (array(&[1.0f32, 2.0]), scalar(1.0, F32));
    let line = line!() + 1;
    let program = jit(|x: &Array, y: &Array| jvp(|x: &Array, y: &Array| x * y, (x, y), (y, x)).1);
    let words = ["arg.0: f32[], arg.1: f32[2]", "arg.0: f32[2], arg.1: f32[]"];
    says(&program(&x, &y).unwrap_err(), "transform-types", line, &words);
    let line = line!() + 1;
    let program = jit(|x: &Array, y: &Array| vjp(|x: &Array| x.square(), x).1(y));
    says(&program(&x, &y).unwrap_err(), "transform-types", line, &["cotangent: f32[]", "cotangent: f32[2]"]);
}

#[test]
fn batches_of_other_sizes_are_all_listed() {
    let (x, y, z) = (ones([2, 3], F32), ones([3, 4], F32), ones([], F32));
    let f = |x: &Array, y: &Array, z: &Array| x.sum(..) + y.sum(..) + z;
    let line = line!() + 1;
    let program = jit(|x: &Array, y: &Array, z: &Array| vmap(f)(x, y, z));
    let listed = ["dimension 0 of arg.0: f32[2,3]", "dimension 0 of arg.1: f32[3,4]", "dimension 0 of arg.2: f32[]"];
    says(
        &program(&x, &y, &z).unwrap_err(),
        "batch-size",
        line,
        &[listed[0], listed[1], listed[2], "`None` in `in_axes`"],
    );
    let line = line!() + 1;
    let program = jit(|x: &Array, y: &Array, z: &Array| vmap(f).in_axes((1, 0, None)).axis_size(4)(x, y, z));
    says(&program(&x, &y, &z).unwrap_err(), "batch-size", line, &["dimension 1 of arg.0", "`axis_size` 4"]);
    let line = line!() + 1;
    let program = jit(|x: &Array, y: &Array, z: &Array| vmap(f).in_axes(None)(x, y, z));
    says(&program(&x, &y, &z).unwrap_err(), "batch-size", line, &["no argument is mapped", "axis_size"]);
    let line = line!() + 1;
    let program = jit(|x: &Array, y: &Array, z: &Array| vmap(f).in_axes((2, -3, 0))(x, y, z));
    let words = ["dimension 2 of arg.0: f32[2,3]", "dimension -3 of arg.1: f32[3,4]", "dimension 0 of arg.2: f32[]"];
    says(&program(&x, &y, &z).unwrap_err(), "batch-axes", line, &words);
    let line = line!() + 1;
    let program = jit(|x: &Array| vmap(|x: &Array| (x.sum(..), x * 2.0)).out_axes((None, 0))(x));
    says(&program(&x).unwrap_err(), "batch-result", line, &["result.0: f32[]"]);
    let line = line!() + 1;
    let program = jit(|x: &Array| vmap(|x: &Array| vec![x.sum(..)]).out_axes(vec![0, 1])(x));
    says(&program(&x).unwrap_err(), "batch-axes", line, &["2 axes for 1 array"]);
}

#[test]
fn collectives_name_the_axes_that_they_can_use() {
    let x = ones([2, 3], F32);
    let program = jit(|x: &Array| vmap(|x: &Array| x.psum("j")).axis_name("i")(x));
    assert_eq!(first(&program(&x).unwrap_err()).code(), "not-manual");
    let line = line!() + 1;
    let program = jit(|x: &Array| vmap(|x: &Array| x.all_gather(("i", "X"), 0)).axis_name("i")(x));
    says(&program(&x).unwrap_err(), "mixed-axes", line, &["\"i\"", "\"X\""]);
    let line = line!() + 1;
    let program = jit(|x: &Array| vmap(|x: &Array| x.psum_scatter("i", 0)).axis_name("i")(x));
    says(&program(&x).unwrap_err(), "collective-uneven", line, &["\"i\""]);
    let line = line!() + 1;
    let program = jit(|x: &Array| vmap(|x: &Array| x.ppermute("i", [(0, 5)])).axis_name("i")(x));
    says(&program(&x).unwrap_err(), "permutation", line, &["\"i\""]);
}

#[test]
fn collectives_over_an_empty_batch_move_nothing_or_say_so() {
    let x = zeros([0, 3], F32);
    let shapes = [
        vmap(|x: &Array| x.ppermute("i", shift(1))).axis_name("i")(&x),
        vmap(|x: &Array| x.pshuffle("i", [])).axis_name("i")(&x),
    ];
    assert!(shapes.iter().all(|y| y.shape() == [0, 3]), "{shapes:?}");
    let program = jit(|x: &Array| vmap(|x: &Array| x.ppermute("i", [(0, 0)])).axis_name("i")(x));
    says(&program(&x).unwrap_err(), "permutation", line!() - 1, &["the batch is empty"]);
    let program = jit(|x: &Array| vmap(|x: &Array| x.pbroadcast("i", 0)).axis_name("i")(x));
    says(&program(&x).unwrap_err(), "permutation", line!() - 1, &["the batch is empty"]);
    let program = jit(|x: &Array| vmap(|x: &Array| x.psum_scatter("i", stacked(0))).axis_name("i")(x));
    says(&program(&x).unwrap_err(), "collective-uneven", line!() - 1, &["map a batch that is not empty"]);
    for x in [x, zeros([0, 0], F32)] {
        let program = jit(|x: &Array| vmap(|x: &Array| x.psum_scatter("i", 0)).axis_name("i")(x));
        says(&program(&x).unwrap_err(), "collective-uneven", line!() - 1, &["map a batch that is not empty"]);
        let program = jit(|x: &Array| vmap(|x: &Array| x.all_to_all("i", 0, 0)).axis_name("i")(x));
        says(&program(&x).unwrap_err(), "collective-uneven", line!() - 1, &["map a batch that is not empty"]);
    }
}

#[test]
fn a_cotangent_of_another_type_is_named_where_the_function_is_called() {
    let x = array(&[1.0f32, 2.0]);
    let f = custom_vjp(|x: &Array| x * 2.0).defvjp(|x| (x * 2.0, ()), |(), ct| ct.sum(..));
    let line = line!() + 1;
    let program = jit(|x: &Array| grad(|x: &Array| f(x).sum(..))(x));
    says(&program(&x).unwrap_err(), "transform-types", line, &["cotangent of arg: f32[]", "cotangent of arg: f32[2]"]);
}
