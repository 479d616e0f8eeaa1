//! Tests of debugging: prints in order with coordinates, layouts that the compiler chooses, and checks of numbers.

use shardwise::debug::{self, Checks, Style, captured};
use shardwise::prelude::*;
use shardwise::{checkpoint as remat, grad, jvp, value_and_grad, vmap};
use std::sync::{Arc, Mutex};

fn mesh() -> Mesh {
    Mesh::auto([("X", 2), ("Y", 2)]).unwrap()
}

fn lines<T>(f: impl FnOnce() -> Result<T>) -> Vec<String> {
    let (result, lines) = captured(f);
    result.unwrap_or_else(|e| panic!("{e}"));
    lines
}

#[test]
fn a_print_in_jit_shows_whole_arrays_once() {
    with_mesh(mesh(), || {
        let f = jit(|x: &Array, y: &Array| {
            debug::print!("x = {}, {} times {{y}} = {}", x, 2, y);
            let z = x + y;
            debug::print!("z = {}; x again = {}", &z, x);
            z.sum(..)
        });
        let (x, y) = (arange(0..4, I32).shard(P!("X")), arange(0..4, I32).shard(P!("Y")));
        let expected = ["x = [0 1 2 3], 2 times {y} = [0 1 2 3]", "z = [0 2 4 6]; x again = [0 1 2 3]"];
        assert_eq!(lines(|| f(&x, &y)), expected);
        assert_eq!(lines(|| f(&x, &y)), expected, "a cached program prints, too");
        assert_eq!(lines(|| f(&(&x + 1), &y))[0], "x = [1 2 3 4], 2 times {y} = [0 1 2 3]");
    });
}

#[test]
fn explicit_mode_prints_once_without_warnings() {
    let mesh = Mesh::explicit([("X", 2), ("Y", 2)]).unwrap();
    with_mesh(&mesh, || {
        let f = jit(|x: &Array| {
            debug::print!("{}", x);
            x * 2
        });
        let x = arange(0..6, I32).shard(P!("X"));
        assert_eq!(lines(|| shardwise::with_communication(Communicate::Deny, || f(&x))), ["[0 1 2 3 4 5]"]);
    });
}

#[test]
fn loops_and_branches_print_what_runs() {
    let f = jit(|x: &Array| {
        fori_loop(0..3, x.clone(), |i, x| {
            debug::print!("turn {}: {}", i, x);
            let large = || {
                debug::print!("large");
                x.clone()
            };
            let small = || {
                debug::print!("small {}", x);
                &x * 3
            };
            cond(x.sum(..).gt(10), large, small)
        })
    });
    let expected = ["turn 0: [1 2]", "small [1 2]", "turn 1: [3 6]", "small [3 6]", "turn 2: [ 9 18]", "large"];
    assert_eq!(lines(|| f(&array(&[1i32, 2]))), expected);
}

#[test]
fn each_device_of_a_shard_map_prints_with_its_coordinates() {
    with_mesh(mesh(), || {
        let f = |x: &Array| {
            debug::print!("{}", x);
            let total = psum(x, "X");
            debug::print!("total {}", &total);
            total
        };
        let f = shard_map(f).in_specs(P!("X", "Y")).out_specs(P!(None, "Y"));
        let x = arange(0..8, I32).reshape([4, 2]);
        let expected = [
            "[X=0,Y=0] [[0]\n [2]]",
            "[X=0,Y=1] [[1]\n [3]]",
            "[X=1,Y=0] [[4]\n [6]]",
            "[X=1,Y=1] [[5]\n [7]]",
            "[X=0,Y=0] total [[4]\n [8]]",
            "[X=0,Y=1] total [[ 6]\n [10]]",
            "[X=1,Y=0] total [[4]\n [8]]",
            "[X=1,Y=1] total [[ 6]\n [10]]",
        ];
        assert_eq!(lines(|| Ok(f(&x))), expected);
        assert_eq!(lines(|| jit(|x: &Array| f(x))(&x)), expected);
    });
}

#[test]
fn nested_shard_maps_and_branches_have_all_coordinates() {
    with_mesh(mesh(), || {
        let inner = |x: &Array| {
            let is_first = axis_index("Y").eq(0);
            let first = || {
                debug::print!("first {}", x);
                x.clone()
            };
            cond(&is_first, first, || x.clone())
        };
        let outer = move |x: &Array| {
            debug::print!("outer {}", x);
            shard_map(inner).axes("Y").in_specs(P!("Y")).out_specs(P!("Y"))(x)
        };
        let f = shard_map(outer).axes("X").in_specs(P!("X")).out_specs(P!("X"));
        let x = arange(0..4, I32);
        let found = lines(|| Ok(f(&x)));
        assert_eq!(found, ["[X=0] outer [0 1]", "[X=1] outer [2 3]", "[X=0,Y=0] first [0]", "[X=1,Y=0] first [2]"]);
    });
}

#[test]
fn transformed_functions_print_the_primals() {
    let f = |x: &Array| {
        debug::print!("x = {}", x);
        (x * x).sum(..)
    };
    let x = array(&[1.0f32, 2.0]);
    assert_eq!(lines(|| jit(grad(f))(&x)), ["x = [1. 2.]"]);
    assert_eq!(lines(|| jit(value_and_grad(f))(&x)), ["x = [1. 2.]"]);
    assert_eq!(lines(|| Ok(jvp(f, &x, &x))), ["x = [1. 2.]"]);
    assert_eq!(lines(|| jit(grad(remat(f)))(&x)), ["x = [1. 2.]"]);
    let rows = array(&[[1.0f32, 2.0], [3.0, 4.0]]);
    assert_eq!(lines(|| jit(vmap(f))(&rows)), ["x = [1. 2.]", "x = [3. 4.]"]);
    assert_eq!(lines(|| jit(vmap(grad(f)))(&rows)), ["x = [1. 2.]", "x = [3. 4.]"]);
    let nested = array(&[[[1.0f32], [2.0]], [[3.0], [4.0]]]);
    assert_eq!(lines(|| jit(vmap(vmap(f)))(&nested)), ["x = [1.]", "x = [2.]", "x = [3.]", "x = [4.]"]);
    let scanned = |x: &Array| {
        fori_loop(0..2, x.clone(), |i, x| {
            debug::print!("{}: {}", i, x);
            &x * &x
        })
        .sum(..)
    };
    assert_eq!(lines(|| jit(grad(scanned))(&x)), ["0: [1. 2.]", "1: [1. 4.]"]);
}

#[test]
fn wrong_formats_are_mistakes() {
    let f = jit(|x: &Array| {
        debug::print!("{:>8}", x);
        x.clone()
    });
    let error = f(&scalar(1, I32)).unwrap_err();
    assert_eq!(error.diagnostics().next().unwrap().code(), "print-format");
    assert_eq!(error.diagnostics().next().unwrap().location().file(), file!());
}

#[test]
fn values_that_are_no_arrays_are_printed_as_by_println() {
    let (_, lines) = captured(|| debug::print!("{:.2}|{:3}|{:<3}|{:>4}|{:05.1}", 1.006, 7, "a", F32, -1.5));
    assert_eq!(lines, ["1.01|  7|a  | f32|-01.5"]);
}

/// The pictures that `inspect` has shown, as text.
type Seen = Arc<Mutex<Vec<String>>>;

fn show(seen: &Seen) -> impl Fn(&debug::Picture) + Send + Sync + 'static {
    let seen = seen.clone();
    move |picture| seen.lock().unwrap().push(picture.to_text(&Style::PLAIN))
}

#[test]
fn inspect_shows_what_the_compiler_chooses() {
    with_mesh(mesh(), || {
        let seen = Seen::default();
        let to = seen.clone();
        let f = jit(move |x: &Array, w: &Array| {
            let y = x.matmul(w);
            debug::inspect(&y, show(&to));
            y.relu()
        });
        let (x, w) = (ones([5, 4], F32).shard(P!("X", None)), ones([4, 6], F32).shard(P!(None, "Y")));
        f(&x, &w).unwrap().check().unwrap();
        f(&x, &w).unwrap().check().unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert!(seen[0].contains("dim 0: size 5, 2 shards of 3 over \"X\", the last one of 2"), "{}", seen[0]);
        assert!(seen[0].contains("dim 1: size 6, 2 shards of 3 over \"Y\""), "{}", seen[0]);
    });
}

#[test]
fn inspect_in_a_shard_map_shows_each_device() {
    with_mesh(mesh(), || {
        let seen = Seen::default();
        let to = seen.clone();
        let f = shard_map(move |x: &Array| {
            debug::inspect(x, show(&to));
            debug::inspect(&psum(x, "X"), show(&to));
            x.clone()
        });
        let f = f.axes("X").in_specs(P!("X")).out_specs(P!("X"));
        f(&arange(0..8, I32)).check().unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 2);
        assert!(seen[0].contains("per device: one array for each coordinate along \"X\""), "{}", seen[0]);
        assert!(seen[0].contains("X=0") && seen[0].contains("X=1"), "{}", seen[0]);
        assert!(!seen[1].contains("per device") && seen[1].contains("0-3"), "{}", seen[1]);
    });
}

#[test]
fn the_layout_of_a_traced_array_is_not_guessed() {
    let f = jit(|x: &Array| {
        let _ = debug::visualize(x);
        x.clone()
    });
    assert_eq!(f(&scalar(1, I32)).unwrap_err().diagnostics().next().unwrap().code(), "no-layout");
    let alone = debug::visualize(&arange(0..3, F32)).to_text(&Style::PLAIN);
    assert!(alone.starts_with("f32[3] on one device\n"), "{alone}");
}

#[test]
fn a_mistake_has_no_picture() {
    let wrong = || ones([2], F32).reshape([3]);
    let text = std::panic::catch_unwind(|| debug::visualize(&wrong())).unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("error[reshape-size]"), "{text}");
    let f = jit(move || {
        let _ = debug::visualize(&wrong());
        scalar(1, I32)
    });
    let error = f().unwrap_err();
    assert_eq!(error.diagnostics().map(|d| d.code()).collect::<Vec<_>>(), ["reshape-size"]);
}

fn refused<T>(f: impl FnOnce() -> Result<T>) -> String {
    match debug::with_checks(Checks::nans(), f) {
        Ok(_) => panic!("a NaN is not found"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn the_op_that_makes_a_nan_is_named() {
    with_mesh(mesh(), || {
        let f = jit(|x: &Array| {
            let y = shardwise::named_scope("norm", || (x * 2.0 - 1.0).ln());
            (y + 1.0).exp()
        });
        let x = array(&[1.0f32, 4.0, 0.25, 9.0]).shard(P!("X"));
        let line = line!() - 4;
        let error = refused(|| f(&x));
        assert!(error.contains("error[not-finite]: `stablehlo.log` makes numbers that are NaN"), "{error}");
        assert!(error.contains(&format!("debug.rs:{line}")) && error.contains("in the scope norm"), "{error}");
        assert!(error.contains("1 of 2 elements of f32[2]") && error.contains("on devices 2, 3"), "{error}");
        assert!(f(&x).is_ok());
        // A NaN in an argument is not made by an op.
        let given = array(&[f32::NAN, 4.0, 1.0, 9.0]).shard(P!("X"));
        assert!(debug::with_checks(Checks::nans(), || f(&given)).is_ok());
        let infinite = debug::with_checks(Checks::infs(), || jit(|x: &Array| 1.0 / (x - 1.0))(&x)).unwrap_err();
        assert!(infinite.to_string().contains("`stablehlo.divide` makes numbers that are infinite"), "{infinite}");
    });
}

#[test]
fn loops_and_library_functions_are_checked_at_the_call() {
    let f = jit(|x: &Array| fori_loop(0..4, x.clone(), |_, x| (x - 2.0).sqrt()));
    let error = refused(|| f(&array(&[100.0f32, 5.0])));
    assert!(error.contains("`stablehlo.sqrt` makes numbers that are NaN"), "{error}");
    for _ in 0..2 {
        let line = line!() + 1;
        let error = refused(|| array(&[-1.0f32]).ln().check().map(|_| ()));
        assert!(error.contains(&format!("debug.rs:{line}")), "{error}");
    }
}
