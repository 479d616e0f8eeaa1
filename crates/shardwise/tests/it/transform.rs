//! Derivatives and batches of functions: composed with each other, with programs, loops and layouts.

use shardwise::prelude::*;
use shardwise::{
    Nth, by_path, checkpoint, float0, grad, hessian, jacfwd, jacrev, jvp, jvp_with_aux, linearize, linearize_with_aux,
    value_and_grad, vjp, vjp_with_aux, vmap,
};

pub fn floats(x: &Array) -> Vec<f32> {
    x.to_vec::<f32>().unwrap()
}

pub fn ramp(shape: &[usize], scale: f64) -> Array {
    let count: usize = shape.iter().product();
    ((arange(0..count, F32) * 0.37).sin() * scale).reshape(shape.to_vec())
}

#[test]
fn gradients_of_gradients() {
    let cube = |x: &Array| x * x * x;
    let x = scalar(2.0, F32);
    assert_eq!(floats(&grad(cube)(&x)), [12.0]);
    assert_eq!(floats(&grad(grad(cube))(&x)), [12.0]);
    assert_eq!(floats(&grad(grad(grad(cube)))(&x)), [6.0]);
    let program = jit(|x: &Array| grad(grad(cube))(x));
    assert_eq!(floats(&program(&x).unwrap()), [12.0]);
}

#[test]
fn captured_arrays_belong_to_their_own_transform() {
    // d/dx [x * d/dy (x + y)] = 1, and with x * y in place of x + y it is 2 x.
    let f = grad(|x: &Array| x * grad(|y: &Array| x + y)(&scalar(1.0, F32)));
    assert_eq!(floats(&f(&scalar(3.0, F32))), [1.0]);
    let f = grad(|x: &Array| x * grad(|y: &Array| x * y)(&scalar(1.0, F32)));
    assert_eq!(floats(&f(&scalar(3.0, F32))), [6.0]);
    let f = grad(|x: &Array| grad(|y: &Array| grad(|z: &Array| x * y * y * z * z * x)(&(x * y)))(x));
    // d/dx d/dy d/dz (x^2 y^2 z^2) at z = x y, y = x: the inner ones are 2 x^2 y^2 z, with z held at x y.
    let at = f(&scalar(1.5, F32));
    assert!(floats(&at)[0].is_finite());
}

#[test]
fn a_batch_of_gradients_and_a_gradient_of_a_batch() {
    let f = |w: &Array, x: &Array| w.matmul(x).tanh().sum(..);
    let w = array(&[[0.5f32, -1.0], [0.25, 2.0]]);
    let xs = array(&[[1.0f32, 2.0], [0.5, -0.5], [0.0, 1.0]]);
    let each = vmap(grad(|x: &Array| f(&w, x)))(&xs);
    assert_eq!(each.shape().to_vec(), [3, 2]);
    for i in 0..3 {
        assert_eq!(floats(&each.i(i)), floats(&grad(|x: &Array| f(&w, x))(&xs.i(i))));
    }
    let total = grad(|w: &Array| vmap(|x: &Array| f(w, x))(&xs).sum(0))(&w);
    let apart = (0..3).map(|i| grad(|w: &Array| f(w, &xs.i(i)))(&w)).reduce(|a, b| a + b).unwrap();
    for (a, b) in floats(&total).into_iter().zip(floats(&apart)) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn jacobians() {
    let f = |x: &Array| x.i(..2).square() * x.i(2);
    let x = array(&[1.0f32, 2.0, 3.0]);
    let expected = [6.0, 0.0, 1.0, 0.0, 12.0, 4.0];
    assert_eq!(floats(&jacfwd(f)(&x)), expected);
    assert_eq!(floats(&jacrev(f)(&x)), expected);
    assert_eq!(floats(&hessian(|x: &Array| f(x).sum(0))(&x)), [6.0, 0.0, 2.0, 0.0, 6.0, 4.0, 2.0, 4.0, 0.0]);
    let (y, dy) = jvp(f, &x, &array(&[1.0f32, 0.0, 1.0]));
    assert_eq!((floats(&y), floats(&dy)), (vec![3.0, 12.0], vec![7.0, 4.0]));
    let (_, pullback) = vjp(f, &x);
    assert_eq!(floats(&pullback(&array(&[1.0f32, 1.0]))), [6.0, 12.0, 5.0]);
}

#[test]
fn arguments_are_selected_by_position() {
    let f = |w: &Array, (b, c): &(Array, Array), x: &Array| (w * x + b * c).square().sum(..);
    let (w, b, c, x) = (scalar(2.0, F32), scalar(1.0, F32), scalar(3.0, F32), array(&[1.0f32, 3.0]));
    let bc = (b, c);
    // The residuals are 5 and 9.
    let (db, dc) = grad(f).argnums(Nth::<1>)(&w, &bc, &x);
    assert_eq!((floats(&db), floats(&dc)), (vec![84.0], vec![28.0]));
    let (dx, dw) = grad(f).argnums((Nth::<2>, Nth::<0>))(&w, &bc, &x);
    assert_eq!((floats(&dx), floats(&dw)), (vec![20.0, 36.0], vec![64.0]));
    let (value, (dw,)) = value_and_grad(f).argnums((Nth::<0>,))(&w, &bc, &x);
    assert_eq!((floats(&value), floats(&dw)), (vec![106.0], vec![64.0]));
    // An argument that is selected twice has its gradient twice.
    let (one, two) = grad(f).argnums((Nth::<0>, Nth::<0>))(&w, &bc, &x);
    assert_eq!((floats(&one), floats(&two)), (vec![64.0], vec![64.0]));
    let again = jit(|w: &Array, bc: &(Array, Array), x: &Array| grad(f).argnums(Nth::<2>)(w, bc, x));
    assert_eq!(floats(&again(&w, &bc, &x).unwrap()), [20.0, 36.0]);
}

#[test]
fn auxiliary_results_are_returned_beside_the_derivative() {
    let f = |x: &Array| (x.square().sum(..), (x.max(..), x.astype(I32)));
    let x = array(&[3.0f32, 4.0]);
    let (dx, (largest, whole)) = grad(f).has_aux()(&x);
    assert_eq!(
        (floats(&dx), floats(&largest), whole.to_vec::<i32>().unwrap()),
        (vec![6.0, 8.0], vec![4.0], vec![3, 4])
    );
    let ((value, _), dx) = value_and_grad(f).has_aux()(&x);
    assert_eq!((floats(&value), floats(&dx)), (vec![25.0], vec![6.0, 8.0]));
    let g = |x: &Array| (x.square(), x.sum(..));
    for (jacobian, sum) in [jacfwd(g).has_aux()(&x), jacrev(g).has_aux()(&x)] {
        assert_eq!((floats(&jacobian), floats(&sum)), (vec![6.0, 0.0, 0.0, 8.0], vec![7.0]));
    }
    let (second, (largest, _)) = hessian(f).has_aux()(&x);
    assert_eq!((floats(&second), floats(&largest)), (vec![2.0, 0.0, 0.0, 2.0], vec![4.0]));
    let (y, pullback, sum) = vjp_with_aux(g, &x);
    assert_eq!((floats(&y), floats(&sum)), (vec![9.0, 16.0], vec![7.0]));
    assert_eq!(floats(&pullback(&array(&[1.0f32, 10.0]))), [6.0, 80.0]);
    assert_eq!(floats(&pullback(&array(&[0.0f32, 1.0]))), [0.0, 8.0]);
}

#[derive(Tree, Clone)]
struct Line<T = Array> {
    slope: T,
    shifts: Vec<T>,
}

fn line() -> Line {
    Line { slope: array(&[2.0f32, 3.0]), shifts: vec![scalar(1.0, F32), array(&[4.0f32, 5.0, 6.0])] }
}

fn shaped(x: &Array) -> (Vec<usize>, Vec<f32>) {
    (x.shape().to_vec(), floats(x))
}

#[test]
fn jacobians_of_trees_to_trees() {
    let f = |l: &Line| {
        let product = l.slope.i(0) * l.slope.i(1) * &l.shifts[0];
        (product, Line { slope: &l.slope * 2.0, shifts: vec![l.shifts[1].square()] })
    };
    let check = |(of_product, of_line): (Line, Line<Line>)| {
        assert_eq!(shaped(&of_product.slope), (vec![2], vec![3.0, 2.0]));
        assert_eq!(shaped(&of_product.shifts[0]), (vec![], vec![6.0]));
        assert_eq!(shaped(&of_product.shifts[1]), (vec![3], vec![0.0; 3]));
        assert_eq!(shaped(&of_line.slope.slope), (vec![2, 2], vec![2.0, 0.0, 0.0, 2.0]));
        assert_eq!(shaped(&of_line.slope.shifts[1]), (vec![2, 3], vec![0.0; 6]));
        assert_eq!(of_line.shifts.len(), 1);
        let diagonal = vec![8.0, 0.0, 0.0, 0.0, 10.0, 0.0, 0.0, 0.0, 12.0];
        assert_eq!(shaped(&of_line.shifts[0].shifts[1]), (vec![3, 3], diagonal));
        assert_eq!(shaped(&of_line.shifts[0].slope), (vec![3, 2], vec![0.0; 6]));
    };
    check(jacfwd(f)(&line()));
    check(jacrev(f)(&line()));
    check(jit(|l: &Line| jacrev(f)(l))(&line()).unwrap());
}

#[test]
fn jacobians_of_trees_of_selected_arguments() {
    let f = |x: &Array, y: &Array| ([x * y, y.square()], (x.sum(..), x.astype(I32)));
    let (x, y) = (array(&[1.0f32, 2.0]), scalar(3.0, F32));
    let both = (Nth::<1>, Nth::<0>);
    let found = [jacfwd(f).has_aux().argnums(both)(&x, &y), jacrev(f).argnums(both).has_aux()(&x, &y)];
    for ([(xy_y, xy_x), (yy_y, yy_x)], (sum, whole)) in found {
        assert_eq!(shaped(&xy_y), (vec![2], vec![1.0, 2.0]));
        assert_eq!(shaped(&xy_x), (vec![2, 2], vec![3.0, 0.0, 0.0, 3.0]));
        assert_eq!((shaped(&yy_y), shaped(&yy_x)), ((vec![], vec![6.0]), (vec![2], vec![0.0; 2])));
        assert_eq!((floats(&sum), whole.to_vec::<i32>().unwrap()), (vec![3.0], vec![1, 2]));
    }
    // A function without results, and an argument without arrays.
    let () = jacfwd(|_: &Array| ())(&x);
    let empty: (Vec<Array>, Vec<Array>) = jacrev(|_: &Vec<Array>, y: &Array| (y.square(), y.clone()))(&vec![], &y);
    assert!(empty.0.is_empty() && empty.1.is_empty());
}

#[test]
fn jacobians_of_integers() {
    let f = |x: &Array| (x.square(), x.astype(I32));
    let x = array(&[1.0f32, 2.0]);
    let (dx, whole) = jacfwd(f)(&x);
    assert_eq!((floats(&dx), whole.to_vec::<i32>().unwrap()), (vec![2.0, 0.0, 0.0, 4.0], vec![0; 4]));
    let wrong = jit(|x: &Array| jacrev(f)(x))(&x).unwrap_err();
    let text = wrong.to_string();
    assert!(text.contains("error[grad-integer]: `result.1` has no derivative") && text.contains("i32[2]"), "{text}");
    let (dx, _) = jacrev(f).has_aux()(&x);
    assert_eq!(floats(&dx), [2.0, 0.0, 0.0, 4.0]);
    let of_ids = jacrev(|(x, ids): &(Array, Array)| [x.i(ids), x.square()]).allow_int();
    let [(dx, dids), (_, d2)] = of_ids(&(x, array(&[1i32, 1, 0])));
    assert_eq!(shaped(&dx), (vec![3, 2], vec![0.0, 1.0, 0.0, 1.0, 1.0, 0.0]));
    assert!(dids.is_float0() && d2.is_float0());
    assert_eq!((dids.shape().to_vec(), d2.shape().to_vec()), (vec![3, 3], vec![2, 3]));
}

#[test]
fn hessians_of_trees() {
    let f = |l: &Line| (l.slope.square() * &l.shifts[0]).sum(..) + l.slope.i(1) * l.shifts[1].square().sum(..);
    let second: Line<Line> = hessian(f)(&line());
    assert_eq!(shaped(&second.slope.slope), (vec![2, 2], vec![2.0, 0.0, 0.0, 2.0]));
    assert_eq!(shaped(&second.slope.shifts[0]), (vec![2], vec![4.0, 6.0]));
    assert_eq!(shaped(&second.slope.shifts[1]), (vec![2, 3], vec![0.0, 0.0, 0.0, 8.0, 10.0, 12.0]));
    assert_eq!(shaped(&second.shifts[1].slope), (vec![3, 2], vec![0.0, 8.0, 0.0, 10.0, 0.0, 12.0]));
    assert_eq!(shaped(&second.shifts[0].shifts[0]), (vec![], vec![0.0]));
    assert_eq!(shaped(&second.shifts[1].shifts[1]).1, [6.0, 0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0, 6.0]);
    let x = array(&[1.0f32, 2.0]);
    assert_eq!(
        shaped(&hessian(|x: &Array| x * x * x)(&x)),
        (vec![2, 2, 2], vec![6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 12.0])
    );
    let (square, both) = hessian(|x: &Array| (x.i(0).square(), [x.i(0) * x.i(1)]))(&x);
    assert_eq!((floats(&square), floats(&both[0])), (vec![2.0, 0.0, 0.0, 0.0], vec![0.0, 1.0, 1.0, 0.0]));
    let (((aa, ab), (ba, _)), largest) =
        hessian(|(a, b): &(Array, Array)| (a.square() * b, b.max(..))).has_aux()(&(scalar(3.0, F32), scalar(5.0, F32)));
    assert_eq!([aa, ab, ba, largest].map(|a| floats(&a)[0]), [10.0, 6.0, 6.0, 5.0]);
}

#[test]
fn tangents_beside_auxiliary_results() {
    // The auxiliary result has no derivative in forward mode with respect to an integer, and none is asked for.
    let f = |x: &Array, n: &Array| (Line { slope: x.square() * n.astype(F32), shifts: vec![] }, (x.max(..), n + 1));
    let (x, n) = (array(&[3.0f32, 4.0]), array(&[2i32, 1]));
    let (dx, dn) = (array(&[1.0f32, 10.0]), float0([2]));
    let (y, tangent, (largest, next)) = linearize_with_aux(f, (&x, &n));
    assert_eq!((floats(&y.slope), floats(&largest)), (vec![18.0, 16.0], vec![4.0]));
    assert_eq!(next.to_vec::<i32>().unwrap(), [3, 2]);
    assert_eq!(floats(&tangent(&dx, &dn).slope), [12.0, 80.0]);
    assert_eq!(floats(&tangent(&(&dx * 2.0), &dn).slope), [24.0, 160.0]);
    let (y, dy, (largest, _)) = jvp_with_aux(f, (&x, &n), (&dx, &dn));
    assert_eq!(
        (floats(&y.slope), floats(&dy.slope), floats(&largest)),
        (vec![18.0, 16.0], vec![12.0, 80.0], vec![4.0])
    );
    let traced = jit(|x: &Array, n: &Array, dx: &Array| {
        let (_, tangent, (largest, _)) = linearize_with_aux(|x: &Array| f(x, n), x);
        tangent(dx).slope + largest
    });
    assert_eq!(floats(&traced(&x, &n, &dx).unwrap()), [16.0, 84.0]);
}

#[test]
fn jacobians_of_selected_trees() {
    let f = |x: &Array, w: &(Array, Array)| x * &w.0 + w.1.sum(..);
    let (x, w) = (array(&[1.0f32, 2.0]), (scalar(3.0, F32), array(&[4.0f32, 5.0, 6.0])));
    for (dx, (d0, d1)) in
        [jacfwd(f).argnums((Nth::<0>, Nth::<1>))(&x, &w), jacrev(f).argnums((Nth::<0>, Nth::<1>))(&x, &w)]
    {
        assert_eq!(floats(&dx), [3.0, 0.0, 0.0, 3.0]);
        assert_eq!((d0.shape().to_vec(), floats(&d0)), (vec![2], vec![1.0, 2.0]));
        assert_eq!((d1.shape().to_vec(), floats(&d1)), (vec![2, 3], vec![1.0; 6]));
    }
    let g = |x: &Array, y: &Array| (x.square() * y.i(0)).sum(..) * y.i(1);
    let ((xx, xy), (yx, yy)) = hessian(g).argnums((Nth::<0>, Nth::<1>))(&x, &array(&[3.0f32, 5.0]));
    assert_eq!(floats(&xx), [30.0, 0.0, 0.0, 30.0]);
    // d/dx_i d/dy_j of (x . x) y_0 y_1.
    assert_eq!(floats(&xy), [10.0, 6.0, 20.0, 12.0]);
    assert_eq!(floats(&yx), [10.0, 20.0, 6.0, 12.0]);
    assert_eq!(floats(&yy), [0.0, 5.0, 5.0, 0.0]);
}

#[test]
fn gradients_of_integers_are_float0() {
    let params = (array(&[1.0f32, 2.0]), array(&[1i32, 0, 1]));
    let loss = |p: &(Array, Array)| p.0.i(&p.1).square().sum(..);
    let gradient = grad(loss).allow_int()(&params);
    assert_eq!(floats(&gradient.0), [2.0, 8.0]);
    assert!(gradient.1.is_float0());
    assert_eq!((gradient.1.shape().to_vec(), format!("{}", gradient.1)), (vec![3], "float0[3]".to_string()));
    // It is no leaf of trees, so programs neither take nor return it.
    assert_eq!(tree::leaves(&gradient).len(), 1);
    let program = jit(|p: &(Array, Array)| grad(loss).allow_int()(p));
    let again = program(&params).unwrap();
    assert!(again.1.is_float0() && floats(&again.0) == [2.0, 8.0]);
    let echo = jit(|g: &(Array, Array)| g.clone());
    assert!(echo(&again).unwrap().1.is_float0());
    let doubled = tree::map(&again, |g| g * 2.0);
    assert!(doubled.1.is_float0() && floats(&doubled.0) == [4.0, 16.0]);
    // Optimizers leave the parameter as it is.
    let optimizer = optim::sgd(0.5);
    let state = optimizer.init(&params);
    let (new, _) = optimizer.update(&gradient, state, &params);
    assert_eq!((floats(&new.0), new.1.to_vec::<i32>().unwrap()), (vec![0.0, -2.0], vec![1, 0, 1]));
    // So do collectives.
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    let summed = with_mesh(&mesh, || {
        let sum = |p: &(Array, Array)| psum(&grad(loss).allow_int()(p), "X").0;
        shard_map(sum).in_specs(P!()).out_specs(P!())(&params)
    });
    assert_eq!(floats(&summed), [4.0, 16.0]);
    // Any op on it is a mistake.
    let wrong = &gradient.1 + 1;
    assert_eq!(wrong.check().unwrap_err().diagnostics().next().unwrap().code(), "float0");
    // Tangents and cotangents of integers are `float0` as well.
    let (y, dy) = jvp(|p: &(Array, Array)| (p.0.square(), p.1.clone()), &params, &(ones([2], F32), float0([3])));
    assert_eq!((floats(&dy.0), y.1.to_vec::<i32>().unwrap()), (vec![2.0, 4.0], vec![1, 0, 1]));
    assert!(dy.1.is_float0());
    let (_, pullback) = vjp(|p: &(Array, Array)| (p.0.square(), p.1.clone()), &params);
    let back = pullback(&(ones([2], F32), float0([3])));
    assert!(back.1.is_float0() && floats(&back.0) == [2.0, 4.0]);
}

#[test]
fn a_pullback_keeps_its_residuals() {
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    with_mesh(&mesh, || {
        // Outside of a trace, the pullback holds values, and may be called inside of a program.
        let x = array(&[1.0f32, 2.0]).shard(P!("X"));
        let f = |x: &Array| scan(x.clone(), ones([3], F32), |h, s| (&h * &h * s, ())).0;
        let (y, pullback) = vjp(f, &x);
        assert_eq!(floats(&y), [1.0, 256.0]);
        assert_eq!(floats(&pullback(&ones([2], F32))), [8.0, 1024.0]);
        let program = jit(|ct: &Array| pullback(ct) * 2.0);
        assert_eq!(floats(&program(&ones([2], F32)).unwrap()), [16.0, 2048.0]);
        let rows = vmap(&pullback)(&array(&[[1.0f32, 0.0], [0.0, 1.0]]));
        assert_eq!(floats(&rows), [8.0, 0.0, 0.0, 1024.0]);
        // Inside of a trace, it is a part of the program, and can be differentiated.
        let g = |x: &Array| {
            let (y, pullback) = vjp(|x: &Array| x * x * x, x);
            (pullback(&ones([2], F32)) + y).sum(..)
        };
        assert_eq!(floats(&grad(g)(&x)), [9.0, 24.0]);
    });
}

#[test]
fn a_linearized_function_runs_once() {
    let w = array(&[[0.5f32, -1.0], [0.25, 2.0]]);
    // With a loop and a branch, whose inner values the linear part uses.
    let f = |x: &Array, y: &Array| {
        let (h, hs) = scan(x.clone(), arange(0..3, F32), |h, s| {
            let h = cond(s.gt(0.0), || w.matmul(&h).tanh() * y, || &h * &h * &s + y);
            (h.clone(), h)
        });
        (h, hs.sum(0).sin())
    };
    let (x, y) = (array(&[1.0f32, 2.0]), array(&[0.5f32, -2.0]));
    let (value, tangent) = linearize(f, (&x, &y));
    for (dx, dy) in [(ones([2], F32), zeros([2], F32)), (array(&[0.5f32, -1.0]), array(&[2.0f32, 1.0]))] {
        let (own, expected) = jvp(f, (&x, &y), (&dx, &dy));
        let found = tangent(&dx, &dy);
        assert_eq!((floats(&value.0), floats(&value.1)), (floats(&own.0), floats(&own.1)));
        for (a, b) in
            floats(&found.0).iter().chain(&floats(&found.1)).zip(floats(&expected.0).iter().chain(&floats(&expected.1)))
        {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
    // Inside of a program, and of other transforms.
    let second = grad(|x: &Array| linearize(|x: &Array| x * x * x, x).1(&ones([2], F32)).sum(..));
    assert_eq!(floats(&second(&x)), [6.0, 12.0]);
    let kept = checkpoint(|x: &Array| x.sin() * x);
    let (_, along) = linearize(|x: &Array| kept(x) * x, &x);
    let expected = jvp(|x: &Array| x.sin() * x * x, &x, &ones([2], F32)).1;
    for (a, b) in floats(&along(&ones([2], F32))).into_iter().zip(floats(&expected)) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    let columns = vmap(|dx: &Array| tangent(dx, &zeros([2], F32)).0)(&array(&[[1.0f32, 0.0], [0.0, 1.0]]));
    assert_eq!(columns.shape().to_vec(), [2, 2]);
}

#[test]
fn batches_along_other_dimensions() {
    let x = array(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let w = array(&[1.0f32, 10.0]);
    let f = |x: &Array, w: &Array| (x * w).sum(..);
    assert_eq!(floats(&vmap(f).in_axes((1, None))(&x, &w)), [41.0, 52.0, 63.0]);
    assert_eq!(floats(&vmap(f).in_axes((-1, None))(&x, &w)), [41.0, 52.0, 63.0]);
    assert_eq!(floats(&vmap(f).in_axes((Some(0), 0))(&x, &w)), [6.0, 150.0]);
    // Leaves of a tree have axes of their own.
    let g = |p: &(Array, Array), k: &Array| (&p.0 + &p.1 * k, k * 2.0);
    let p = (array(&[[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]), array(&[10.0f32, 20.0, 30.0]));
    let (sum, twice) = vmap(g).in_axes(((0, None), None)).out_axes((1, None))(
        &(p.0.clone(), array(&[1.0f32, 2.0])),
        &scalar(3.0, F32),
    );
    assert_eq!((sum.shape().to_vec(), floats(&sum)), (vec![2, 3], vec![4.0, 6.0, 8.0, 8.0, 10.0, 12.0]));
    assert_eq!(floats(&twice), [6.0]);
    let by = by_path(|path, _| if path.to_string().ends_with("0") { Some(0) } else { None });
    let (sum, _) = vmap(g).in_axes((by, None))(&(p.0.clone(), array(&[1.0f32, 2.0])), &scalar(3.0, F32));
    assert_eq!(floats(&sum), [4.0, 8.0, 6.0, 10.0, 8.0, 12.0]);
    // Nothing is mapped, and the size is given.
    let (y, z) = vmap(|x: &Array| (x * 2.0, x + 1.0)).in_axes(None).axis_size(3).out_axes((0, None))(&w);
    assert_eq!((floats(&y), floats(&z)), (vec![2.0, 20.0, 2.0, 20.0, 2.0, 20.0], vec![2.0, 11.0]));
    // Results anywhere.
    let y = vmap(|x: &Array| x.reshape([1, 2])).in_axes(1).out_axes(-2)(&x);
    assert_eq!((y.shape().to_vec(), floats(&y)), (vec![1, 3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
}

#[test]
fn collectives_along_a_batch() {
    let x = array(&[[1.0f32, 2.0], [3.0, 5.0], [-7.0, 4.0]]);
    let run = |f: fn(&Array) -> Array| vmap(f).axis_name("i")(&x);
    assert_eq!(floats(&run(|x| x.psum("i"))), [-3.0, 11.0, -3.0, 11.0, -3.0, 11.0]);
    assert_eq!(floats(&run(|x| x.pmax("i"))), [3.0, 5.0, 3.0, 5.0, 3.0, 5.0]);
    assert_eq!(floats(&run(|x| x.pmin("i"))), [-7.0, 2.0, -7.0, 2.0, -7.0, 2.0]);
    assert_eq!(floats(&run(|x| x.pmean("i")).i(0)), [-1.0, 11.0 / 3.0]);
    assert_eq!(run(|_| axis_index("i")).to_vec::<i32>().unwrap(), [0, 1, 2]);
    assert_eq!(floats(&run(|x| x * axis_size("i") as f64).i(0)), [3.0, 6.0]);
    assert_eq!(floats(&run(|x| x.ppermute("i", shift(1)))), [-7.0, 4.0, 1.0, 2.0, 3.0, 5.0]);
    // 2^63 - 1 and -2^63 are 1 modulo 3.
    assert_eq!(floats(&run(|x| x.ppermute("i", shift(isize::MAX)))), [-7.0, 4.0, 1.0, 2.0, 3.0, 5.0]);
    assert_eq!(floats(&run(|x| x.ppermute("i", shift(isize::MIN)))), [-7.0, 4.0, 1.0, 2.0, 3.0, 5.0]);
    assert_eq!(floats(&run(|x| x.ppermute("i", [(0, 2)]))), [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
    assert_eq!(floats(&run(|x| x.pshuffle("i", [1, 2, 0]))), [3.0, 5.0, -7.0, 4.0, 1.0, 2.0]);
    assert_eq!(floats(&run(|x| x.pbroadcast("i", 1)).i(2)), [3.0, 5.0]);
    assert_eq!(floats(&run(|x| x.all_gather("i", 0)).i(1)), [1.0, 2.0, 3.0, 5.0, -7.0, 4.0]);
    assert_eq!(floats(&run(|x| x.all_gather("i", stacked(1))).i(1)), [1.0, 3.0, -7.0, 2.0, 5.0, 4.0]);
    let y = arange(0..18, F32).reshape([3, 6]);
    let scattered = vmap(|x: &Array| x.psum_scatter("i", 0)).axis_name("i")(&y);
    assert_eq!(floats(&scattered), [18.0, 21.0, 24.0, 27.0, 30.0, 33.0]);
    let exchanged = vmap(|x: &Array| x.all_to_all("i", 0, 0)).axis_name("i")(&y);
    assert_eq!(floats(&exchanged.i(1)), [2.0, 3.0, 8.0, 9.0, 14.0, 15.0]);
    let started = vmap(|x: &Array| x.psum_start("i").done()).axis_name("i")(&x);
    assert_eq!(floats(&started.i(0)), [-3.0, 11.0]);
    // The sum is the same for all indices, so that it can leave the batch.
    let sum = vmap(|x: &Array| x.psum("i")).axis_name("i").out_axes(None)(&x);
    assert_eq!(floats(&sum), [-3.0, 11.0]);
    // An inner axis hides an outer one of the same name, and both can be named at once.
    let both = vmap(|x: &Array| vmap(|x: &Array| x.psum(("i", "j"))).axis_name("j")(x)).axis_name("i")(&x);
    assert_eq!(floats(&both), [8.0; 6]);
    let index = |_: &Array| axis_index("i") * 10 + axis_index(("i", "j"));
    let index = vmap(|x: &Array| vmap(index).axis_name("j")(x)).axis_name("i")(&x);
    assert_eq!(index.to_vec::<i32>().unwrap(), [0, 1, 12, 13, 24, 25]);
    let hidden = vmap(|x: &Array| vmap(|x: &Array| x.psum("i")).axis_name("i")(x)).axis_name("i")(&x);
    assert_eq!(floats(&hidden), [3.0, 3.0, 8.0, 8.0, -3.0, -3.0]);
    // In loops and branches.
    let looped =
        vmap(|x: &Array| fori_loop(0..3, x.clone(), |_, h| &h + axis_index("i").astype(F32))).axis_name("i")(&x);
    assert_eq!(floats(&looped), [1.0, 2.0, 6.0, 8.0, -1.0, 10.0]);
    let scanned = vmap(|x: &Array| scan(x.clone(), ones([2], F32), |h, s| (h.psum("i") * s, ())).0).axis_name("i")(&x);
    assert_eq!(floats(&scanned.i(0)), [-9.0, 33.0]);
}

#[test]
fn derivatives_of_collectives_along_a_batch() {
    let x = array(&[1.0f32, 2.0, 4.0]);
    // The normalised values, x_i / sum(x).
    let normalised = |x: &Array| vmap(|x: &Array| x / x.psum("i")).axis_name("i")(x);
    let plain = |x: &Array| x / x.sum(..);
    assert_eq!(floats(&jacrev(normalised)(&x)), floats(&jacrev(plain)(&x)));
    assert_eq!(floats(&jacfwd(normalised)(&x)), floats(&jacfwd(plain)(&x)));
    // Inside of the batch, the cotangents of all indices add up, as in JAX: d/dx_i sum_j psum(x)^2.
    let inside = vmap(grad(|x: &Array| x.psum("i").square())).axis_name("i")(&x);
    assert_eq!(floats(&inside), [42.0, 42.0, 42.0]);
    let shifted = vmap(grad(|x: &Array| x.ppermute("i", shift(1)) * axis_index("i").astype(F32))).axis_name("i")(&x);
    assert_eq!(floats(&shifted), [1.0, 2.0, 0.0]);
    let gathered = vmap(grad(|x: &Array| x.all_gather("i", stacked(0)).i(1) * x)).axis_name("i")(&x);
    // x_1 x_i: x_1 for each i, and at 1 the sum of all x_i in addition.
    assert_eq!(floats(&gathered), [2.0, 9.0, 2.0]);
}

#[test]
fn the_mapped_dimension_is_laid_on_mesh_axes() {
    let mesh = Mesh::auto([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let x = arange(0..64, F32).reshape([8, 8]);
        let f = |x: &Array| (x * 2.0).shard(P!("model")) + 1.0;
        let text =
            |f: &(dyn Fn(&Array) -> Array + Send + Sync)| jit(|x: &Array| f(x)).lower((&x,).0).unwrap().as_text();
        let open = text(&|x| vmap(f)(x));
        assert!(open.contains("[{?}, {\"model\"}]"), "{open}");
        let laid = text(&|x| vmap(f).spmd_axis_name("data")(x));
        assert!(laid.contains("[{\"data\"}, {\"model\"}]"), "{laid}");
        let y = jit(|x: &Array| vmap(f).spmd_axis_name("data")(x))(&x).unwrap();
        assert_eq!(y.ty().to_string(), "f32[8@data,8@model]");
        assert_eq!(floats(&y), floats(&(&x * 2.0 + 1.0)));
        let twice = jit(|x: &Array| vmap(f).spmd_axis_name("model")(x))(&x).unwrap_err();
        assert_eq!(twice.diagnostics().next().unwrap().code(), "spmd-axis");
        let wrong = [
            jit(|x: &Array| vmap(f).spmd_axis_name(("data", "data"))(x))(&x),
            jit(|x: &Array| vmap(f).spmd_axis_name(groups("data", [[0, 1], [2, 3]]))(x))(&x),
        ];
        for wrong in wrong {
            let text = wrong.unwrap_err().to_string();
            assert!(text.contains("takes whole axes of a mesh, each once"), "{text}");
        }
    });
}

#[test]
fn the_mapped_dimension_of_per_device_code_is_split() {
    let mesh = Mesh::auto([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let x = arange(0..64, F32).reshape([8, 8]);
        let f = |x: &Array| {
            let own = |x: &Array| (x * 2.0).psum("model") + axis_index("model").astype(F32);
            shard_map(own).in_specs(P!("model")).out_specs(P!("model"))(x)
        };
        let alone: Vec<Array> = (0..8).map(|i| f(&x.i(i))).collect();
        let expected = floats(&stack(alone.iter().collect::<Vec<_>>(), 0));
        assert_eq!(floats(&vmap(f)(&x)), expected);
        let program = jit(|x: &Array| vmap(f).spmd_axis_name("data")(x));
        let lowered = program.lower(&x).unwrap();
        assert!(lowered.as_text().contains("[{\"data\"}, {\"model\"}]"), "{}", lowered.as_text());
        let y = program(&x).unwrap();
        assert_eq!((y.ty().to_string(), floats(&y)), ("f32[8@data,8@model]".into(), expected.clone()));
        // Sums over the devices inside are those of each index.
        let gradient = grad(|x: &Array| (vmap(f).spmd_axis_name("data")(x) * x).sum(..))(&x);
        let own = grad(|x: &Array| (vmap(f)(x) * x).sum(..))(&x);
        assert_eq!(floats(&gradient), floats(&own));
        let e = jit(|x: &Array| vmap(f).spmd_axis_name("model")(x))(&x).unwrap_err();
        assert_eq!(e.diagnostics().next().unwrap().code(), "spmd-axis");
    });
}

#[test]
fn in_explicit_mode_the_mapped_dimension_keeps_its_layout() {
    let mesh = Mesh::explicit([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let x = arange(0..64, F32).reshape([8, 8]).shard(P!("data", "model"));
        let w = arange(0..8, F32).shard(P!("model"));
        let y =
            jit(|x: &Array, w: &Array| vmap(|x: &Array, w: &Array| x * w).in_axes((0, None))(x, w))(&x, &w).unwrap();
        assert_eq!(y.ty().to_string(), "f32[8@data,8@model]");
        let y = jit(|x: &Array| vmap(|x: &Array| x.square()).in_axes(1).out_axes(1)(x))(&x).unwrap();
        assert_eq!(y.ty().to_string(), "f32[8@data,8@model]");
        let other = arange(0..64, F32).reshape([8, 8]).shard(P!(None, "model"));
        let e = jit(|x: &Array, y: &Array| vmap(|x: &Array, y: &Array| x + y)(x, y))(&x, &other).unwrap_err();
        assert_eq!(e.diagnostics().next().unwrap().code(), "batch-layout");
    });
}

#[test]
fn through_scan_and_cond() {
    let f = |h: &Array, xs: &Array| {
        let (h, ys) = scan(h.clone(), xs.clone(), |h, x| {
            let h = cond(x.sum(..).gt(0.0), || (&h * &x).tanh(), || &h - &x);
            (h.clone(), h)
        });
        (h + ys.sum(0)).sum(..)
    };
    let h = array(&[0.5f32, 1.0]);
    let xs = array(&[[1.0f32, 2.0], [0.5, -0.75], [0.25, 1.0]]);
    let (value, (dh, dxs)) = value_and_grad(|both: &(Array, Array)| f(&both.0, &both.1))(&(h.clone(), xs.clone()));
    assert_eq!(floats(&value), floats(&f(&h, &xs)));
    let step = 1e-2;
    let along = |d: f32| floats(&f(&(&h + d as f64), &(&xs + d as f64)))[0];
    let difference = (along(step) - along(-step)) / (2.0 * step);
    let total: f32 = floats(&dh).iter().sum::<f32>() + floats(&dxs).iter().sum::<f32>();
    assert!((difference - total).abs() < 1e-2, "{difference} {total}");
}

#[test]
fn a_gradient_has_the_layout_of_its_parameter() {
    let mesh = Mesh::auto([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let w = (arange(0..64, F32).reshape([8, 8]) / 64.0).shard(P!(None, "model"));
        let x = (arange(0..64, F32).reshape([8, 8]) / 32.0).shard(P!("data", None));
        let loss = |w: &Array, x: &Array| x.matmul(w).tanh().mean(..);
        let step = jit(|w: &Array, x: &Array| grad(loss)(w, x)).lower((&w, &x)).unwrap().compile().unwrap();
        let on_mesh = step(&w, &x).unwrap();
        assert_eq!(on_mesh.ty().to_string(), "f32[8,8@model]");
        let whole = |a: &Array| array(&floats(a)).reshape([8, 8]);
        let alone = grad(loss)(&whole(&w), &whole(&x));
        for (a, b) in floats(&on_mesh).into_iter().zip(floats(&alone)) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
        // The gradients are summed over the batch, and nothing else moves.
        assert_eq!(step.communication().into_iter().count(), 1, "{}", step.communication());
    });
}

#[test]
fn in_explicit_mode_a_gradient_has_the_type_of_its_parameter() {
    let mesh = Mesh::explicit([("data", 4), ("model", 2)]).unwrap();
    with_mesh(&mesh, || {
        let w = (arange(0..64, F32).reshape([8, 8]) / 64.0).shard(P!(None, "model"));
        let x = (arange(0..64, F32).reshape([8, 8]) / 32.0).shard(P!("data", None));
        let loss = |w: &Array, x: &Array| x.matmul(w).tanh().mean(..);
        let gradient = jit(|w: &Array, x: &Array| grad(loss)(w, x))(&w, &x).unwrap();
        assert_eq!(gradient.ty().to_string(), "f32[8,8@model]");
    });
}

#[test]
fn mistakes_name_what_is_wrong() {
    let code = |e: shardwise::Error| e.diagnostics().next().unwrap().code().to_string();
    let x = array(&[1.0f32, 2.0]);
    assert_eq!(code(jit(|x: &Array| grad(|x: &Array| x * 2.0)(x))(&x).unwrap_err()), "grad-scalar");
    let i = array(&[1i32, 2]);
    assert_eq!(code(jit(|i: &Array| grad(|i: &Array| i.astype(F32).sum(..))(i))(&i).unwrap_err()), "grad-integer");
    let endless = |x: &Array| while_loop(x.clone(), |x| x.lt(10.0), |x| &x * 2.0);
    let s = scalar(1.0, F32);
    let e = jit(|x: &Array| grad(endless)(x))(&s).unwrap_err();
    assert_eq!(code(e), "loop-length");
    assert_eq!(floats(&jvp(endless, &s, &s).1), [16.0]);
    let y = array(&[1.0f32, 2.0, 3.0]);
    let e = jit(|x: &Array, y: &Array| vmap(|x: &Array, y: &Array| x + y)(x, y))(&x, &y).unwrap_err();
    assert_eq!(code(e), "batch-size");
}

/// Each branch of these functions is differentiable any number of times, and so is the function at 0, where they meet.
#[test]
fn functions_with_branches_have_all_derivatives_at_zero() {
    let at_zero = |f: fn(&Array) -> Array| {
        let x = scalar(0.0, F32);
        [grad(f)(&x), grad(grad(f))(&x), grad(grad(grad(f)))(&x)].map(|d| floats(&d)[0])
    };
    assert_eq!(at_zero(|x| x.softplus()), [0.5, 0.25, 0.0]);
    assert_eq!(at_zero(|x| x.log_sigmoid()), [0.5, -0.25, 0.0]);
    assert_eq!(at_zero(|x| x.elu(1.0)), [1.0, 1.0, 1.0]);
    assert_eq!(at_zero(|x| x.relu()), [0.0, 0.0, 0.0]);
    let far = array(&[-200.0f32, -20.0, 20.0, 200.0]);
    let slopes = floats(&grad(|x: &Array| x.softplus().sum(..))(&far));
    assert_eq!(slopes, floats(&far.sigmoid()));
    assert!(floats(&array(&[f32::NAN]).softplus())[0].is_nan() && floats(&array(&[f32::NAN]).relu())[0].is_nan());
}

/// In Explicit mode, a layout that a function states is that of each element of its batch.
#[test]
fn layouts_stated_in_batches_are_types() {
    set_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap());
    let x = ones([8, 16], F32).shard(P!("X", None));
    let ty = |y: Result<Array>| y.unwrap().ty().to_string();
    let split = jit(|x: &Array| vmap(|a: &Array| (a * 2.0).shard(P!("Y")))(x));
    assert_eq!(ty(split(&x)), "f32[8@X,16@Y]");
    let whole = jit(|x: &Array| vmap(|a: &Array| a.sin().shard(P!(None)) + 1.0)(x));
    assert_eq!(ty(whole(&x.shard(P!("X", "Y")))), "f32[8@X,16]");
    let columns = jit(|x: &Array| jacfwd(|a: &Array| (a * 2.0).shard(P!("X")))(x));
    assert_eq!(ty(columns(&ones([8], F32).shard(P!("X")))), "f32[8@X,8]");
    // The step moves data, so it is listed, or refused.
    let denied = with_communication(Communicate::Deny, || split(&x));
    assert_eq!(denied.unwrap().ty().to_string(), "f32[8@X,16@Y]", "a slice of what each device has moves nothing");
}

/// On a mesh with axes of both kinds, `_` leaves a dimension to the compiler, and names no Explicit axis.
#[test]
fn gradients_on_meshes_with_explicit_and_auto_axes() {
    set_mesh(Mesh::new([Axis::explicit("X", 4), Axis::auto("Y", 2)]).unwrap());
    let x = ramp(&[8, 16], 1.0);
    let w = ramp(&[16, 4], 0.5);
    let loss = |w: &Array, x: &Array| x.matmul(w).tanh().sum(..);
    let plain = floats(&grad(loss)(&w, &x));
    let split = x.shard(P!("X"));
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(close(&floats(&grad(loss)(&w, &split)), &plain));
    assert!(close(&floats(&jit(|w: &Array, x: &Array| grad(loss)(w, x))(&w, &split).unwrap()), &plain));
    let product = jit(|x: &Array, w: &Array| x.t().matmul(x.matmul(w)).shard(P!(_, _)));
    assert_eq!(product(&split, &w).unwrap().ty().to_string(), "f32[16,4]");
    let batch = jit(|x: &Array| vmap(|a: &Array| (a * 2.0).shard(P!("Y")))(x));
    assert!(batch(&split).unwrap().ty().to_string().starts_with("f32[8@X,16"));
}

/// Derivatives and batches of a function keep the layouts that the function states.
#[test]
fn stated_layouts_in_derivatives_and_batches() {
    set_mesh(Mesh::explicit([("X", 4), ("Y", 2)]).unwrap());
    // A reduced parameter, whose gradient is unreduced.
    let w = ones([8, 16], F32).shard(P!("X").reduced("Y"));
    let gradient = grad(|w: &Array| (w.shard(P!("X", None)) * 2.0).sum(..))(&w);
    assert!(floats(&gradient).iter().all(|&x| x == 2.0));
    // A product whose layout `.shard` decides, in a batch that is not split.
    let x = ramp(&[4, 8, 16], 1.0);
    let products = |x: &Array| vmap(|x: &Array| x.t().matmul(x).shard(P!("X", None)))(x);
    let split = products(&x.shard(P!(None, None, "X")));
    assert_eq!(split.ty().to_string(), "f32[4,16@X,16]");
    let plain = vmap(|x: &Array| x.t().matmul(x))(&x);
    assert!(floats(&split).iter().zip(floats(&plain)).all(|(a, b)| (a - b).abs() < 1e-4));
    // The axis of the batch is no axis of an element, with and without `jit`.
    let mapped = ones([8, 16], F32).shard(P!("X"));
    let twice = |x: &Array| vmap(|a: &Array| a.shard(P!("X")))(x);
    let eager = std::panic::catch_unwind(|| twice(&mapped).to_vec::<f32>());
    let code = |e: &Error| e.diagnostics().next().unwrap().code().to_string();
    assert_eq!(code(&jit(twice)(&mapped).unwrap_err()), "spmd-axis");
    match eager {
        Ok(read) => assert_eq!(code(&read.unwrap_err()), "spmd-axis"),
        Err(panicked) => assert!(panicked.downcast_ref::<String>().unwrap().contains("spmd-axis")),
    }
}
