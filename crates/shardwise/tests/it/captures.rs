//! Tests bodies of loops and branches that return values that they did not make: captured arrays, constants, arguments,
//! duplicates.

use shardwise::prelude::*;

/// A body of a loop or branch: returns the next pair of arrays, from a captured array and the current pair.
type Body = fn(&Array, &Array, &Array) -> (Array, Array);

/// The bodies with their names. `y` is the captured array, and `a` and `b` are the current pair.
#[rustfmt::skip]
const BODIES: [(&str, Body); 9] = [
    ("captured", |y, _, _| (y.clone(), y.clone())),
    ("captured and argument", |y, a, _| (y.clone(), a.clone())),
    ("constant", |y, _, _| (ones_like(y), zeros([4], F32))),
    ("constant and argument", |_, a, _| (a.clone(), array(&[7.0f32, 8.0, 9.0, 10.0]))),
    ("arguments", |_, a, b| (a.clone(), b.clone())),
    ("swapped", |_, a, b| (b.clone(), a.clone())),
    ("duplicate", |_, a, _| (a.clone(), a.clone())),
    ("computed and captured", |y, a, b| (a + b, y.clone())),
    ("captured, used as well", |y, a, _| (a + y, y.clone())),
];

/// Runs the loop or branch number `kind` for `n` turns with `body`, which captures `y`. Starts with the pair `a`, `b`,
/// and returns the last pair.
fn run(kind: usize, n: usize, y: &Array, a: &Array, b: &Array, body: Body) -> (Array, Array) {
    let start = (a.clone(), b.clone());
    let zero = scalar(0, I32);
    match kind {
        0 => fori_loop(0..n, start, |_, (a, b)| body(y, &a, &b)),
        1 => scan(start, zeros([n], F32), |(a, b), _| (body(y, &a, &b), ())).0,
        2 => while_loop((zero, start), |(i, _)| i.lt(n), |(i, (a, b))| (i + 1, body(y, &a, &b))).1,
        3 => fori_loop(zero..scalar(n, I32), start, |_, (a, b)| body(y, &a, &b)),
        4 => (0..n).fold(start, |(a, b), _| cond(a.sum(..).lt(1e9), || body(y, &a, &b), || (a.clone(), b.clone()))),
        _ => (0..n).fold(start, |(a, b), k| {
            switch(scalar(k, I32) + 7, 2, |k| if k == 1 { body(y, &a, &b) } else { (b.clone(), y.clone()) })
        }),
    }
}

fn expected(n: usize, y: &Array, a: &Array, b: &Array, body: Body) -> [Vec<f32>; 2] {
    let (a, b) = (0..n).fold((a.clone(), b.clone()), |(a, b), _| body(y, &a, &b));
    [a.to_vec().unwrap(), b.to_vec().unwrap()]
}

fn inputs(place: impl Fn(Array) -> Array) -> [Array; 3] {
    [10, 20, 30].map(|from| place(arange(from..from + 4, F32)))
}

#[track_caller]
fn check(what: &str, [y, a, b]: &[Array; 3], f: impl Fn(usize, usize, &[Array; 3], Body) -> (Array, Array)) {
    for (name, body) in BODIES {
        for (kind, n) in (0..6).flat_map(|kind| [0, 1, 3].map(|n| (kind, n))) {
            let (c, d) = f(kind, n, &[y.clone(), a.clone(), b.clone()], body);
            let found = [c.to_vec::<f32>().unwrap(), d.to_vec::<f32>().unwrap()];
            assert_eq!(found, expected(n, y, a, b, body), "{what}: {name}, kind {kind}, {n} turns");
        }
    }
    assert_eq!(y.to_vec::<f32>().unwrap(), [10.0, 11.0, 12.0, 13.0], "what is captured keeps its value");
}

#[test]
fn eager() {
    check("eager", &inputs(|x| x), |kind, n, [y, a, b], body| run(kind, n, y, a, b, body));
}

#[test]
fn jitted() {
    check("arguments", &inputs(|x| x), |kind, n, [y, a, b], body| {
        jit(|y: &Array, a: &Array, b: &Array| run(kind, n, y, a, b, body))(y, a, b).unwrap()
    });
    check("captured by the function", &inputs(|x| x), |kind, n, [y, a, b], body| {
        jit(|a: &Array, b: &Array| run(kind, n, y, a, b, body))(a, b).unwrap()
    });
}

#[test]
fn jitted_with_layouts() {
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    check("auto", &inputs(|x| x.shard(mesh.sharding(P!("X")))), |kind, n, [y, a, b], body| {
        jit(|y: &Array, a: &Array, b: &Array| run(kind, n, y, a, b, body))(y, a, b).unwrap()
    });
}

#[test]
fn with_layouts_in_types() {
    let mesh = Mesh::explicit([("X", 2)]).unwrap();
    check("explicit", &inputs(|x| x.shard(mesh.sharding(P!()))), |kind, n, [y, a, b], body| {
        jit(|y: &Array, a: &Array, b: &Array| run(kind, n, y, a, b, body))(y, a, b).unwrap()
    });
}

#[test]
fn in_per_device_code() {
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    let [y, a, b] = inputs(|x| x);
    for (name, body) in BODIES.into_iter().filter(|(name, _)| !name.starts_with("constant")) {
        for kind in 0..4 {
            let f = shard_map(|y: &Array, a: &Array, b: &Array| run(kind, 3, y, a, b, body)).mesh(&mesh);
            let (c, d) = f.in_specs(P!("X")).out_specs(P!("X"))(&y, &a, &b);
            let found = [c.to_vec::<f32>().unwrap(), d.to_vec::<f32>().unwrap()];
            assert_eq!(found, expected(3, &y, &a, &b, body), "{name}, kind {kind}");
        }
    }
}

#[test]
fn a_loop_sees_what_its_device_sees() {
    let mesh = Mesh::auto([("X", 2), ("Y", 2)]).unwrap();
    let x = arange(0..4, F32).shard(mesh.sharding(P!("X")));
    let run = |is_used_before: bool| {
        jit(move |x: &Array| {
            let y = (x + 1.0).shard(P!(("X", "Y")));
            let body = |a: &Array| {
                let a = if is_used_before { a + &y } else { a.clone() };
                let step = |carry: Array, _: Array| (carry + &y, ());
                let sum = scan(a, zeros([3], F32), step).0;
                if is_used_before { sum - &y } else { sum }
            };
            shard_map(body).axes(["X"]).in_specs(P!()).out_specs(P!())(&zeros([4], F32))
        })
    };
    with_mesh(mesh, || {
        for is_used_before in [false, true] {
            let lowered = run(is_used_before).lower(&x).unwrap();
            let text = lowered.as_text();
            let step = text.lines().find(|line| line.contains("func.func private")).expect("the loop's function");
            assert!(!step.contains("\"X\""), "{step}");
            assert_eq!(run(is_used_before)(&x).unwrap().to_vec::<f32>().unwrap(), [3.0, 6.0, 9.0, 12.0]);
        }
    });
}

#[test]
fn a_mistake_from_outside_is_an_error_of_the_function_that_returns_it() {
    let wrong = arange(0..4, F32).i(99);
    let error = jit(|_: &Array| wrong.clone())(&scalar(1.0, F32)).unwrap_err();
    assert_eq!(error.to_string(), wrong.check().unwrap_err().to_string());
}
