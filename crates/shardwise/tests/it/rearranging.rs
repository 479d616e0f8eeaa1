//! Functions that create, cut and rearrange arrays: hand-worked answers, sizes 0 and 1, derivatives, layouts, mistakes.

use crate::values::check;
use shardwise::prelude::*;
use shardwise::{grad, vmap};

/// The matrix of `values::check`: f32[8,4] with elements -3, -2.75, …
fn at(i: usize, j: usize) -> f32 {
    (4 * i + j) as f32 / 4.0 - 3.0
}

fn matrix(rows: usize, columns: usize, f: impl Fn(usize, usize) -> f32) -> Vec<f32> {
    (0..rows * columns).map(|k| f(k / columns, k % columns)).collect()
}

fn code(x: &Array) -> String {
    let wrong = x.check().expect_err("a mistake");
    wrong.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>().join(" ")
}

fn rows(x: &Array) -> Vec<Vec<i32>> {
    x.to_vec2::<i32>().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn matrices_of_ones_on_diagonals() {
    assert_eq!(rows(&eye(2, 3, 0, I32)), [[1, 0, 0], [0, 1, 0]]);
    assert_eq!(rows(&eye(3, 2, -1, I32)), [[0, 0], [1, 0], [0, 1]]);
    for k in [isize::MIN, -3, 3, isize::MAX] {
        assert_eq!(rows(&eye(2, 3, k, I32)), [[0; 3]; 2], "{k}");
    }
    assert_eq!(rows(&identity(2, I32)), [[1, 0], [0, 1]]);
    assert_eq!(rows(&tri(3, 3, 1, I32)), [[1, 1, 0], [1, 1, 1], [1, 1, 1]]);
    assert_eq!(rows(&tri(2, 2, -1, I32)), [[0, 0], [1, 0]]);
    assert_eq!(rows(&tri(2, 2, isize::MAX, I32)), [[1; 2]; 2]);
    assert_eq!(rows(&tri(2, 2, isize::MIN, I32)), [[0; 2]; 2]);
    assert_eq!(eye(0, 5, 0, F32).ty().to_string(), "f32[0,5]");
    assert!(identity(1, Bool).reshape([]).item::<bool>().unwrap());
    assert_eq!(code(&eye(2, 2, 0, F8E8M0FNU)), "number-dtype");
    assert_eq!(code(&identity(usize::MAX, F32)), "too-large");
}

#[test]
fn made_matrices_need_no_communication() {
    let mesh = Mesh::auto([("X", 4), ("Y", 2)]).unwrap();
    let f = |x: &Array| x * tri(8, 4, 0, F32) + eye(8, 4, -2, F32) + linspace(0.0, 1.0, 4, F32);
    let x = ones([8, 4], F32).shard(mesh.sharding(P!("X", "Y")));
    let program = jit(f).lower(&x).unwrap().compile().unwrap();
    program.communication().assert_none();
    assert_equal(&program(&x).unwrap(), &f(&ones([8, 4], F32)));
}

#[test]
fn evenly_spaced_numbers() {
    let list = |x: Array| x.to_vec::<f32>().unwrap();
    assert_eq!(list(linspace(2.0, 3.0, 5, F32)), [2.0, 2.25, 2.5, 2.75, 3.0]);
    assert_eq!(list(linspace(1.0, -1.0, 3, F32)), [1.0, 0.0, -1.0]);
    assert_eq!(list(linspace(7.0, 9.0, 1, F32)), [7.0]);
    assert!(list(linspace(7.0, 9.0, 0, F32)).is_empty());
    // The last number is exact, though a seventh of six times it is not.
    assert_eq!(*list(linspace(0.0, 0.1, 8, F32)).last().unwrap(), 0.1);
    assert_eq!(linspace(0.0, 1.0, 3, BF16).astype(F32).to_vec::<f32>().unwrap(), [0.0, 0.5, 1.0]);
    assert_eq!(code(&linspace(0.0, 1.0, 3, I32)), "dtype-kind");
    assert_eq!(code(&linspace(0.0, 1.0, usize::MAX, F32)), "too-large");
}

#[test]
fn triangles_and_diagonals() {
    check(|x| x.tril(-1), &matrix(8, 4, |i, j| if j < i { at(i, j) } else { 0.0 }));
    check(|x| x.triu(2), &matrix(8, 4, |i, j| if j >= i + 2 { at(i, j) } else { 0.0 }));
    check(|x| x.tril(isize::MAX), &matrix(8, 4, at));
    check(|x| x.triu(isize::MAX), &[0.0; 32]);
    check(|x| x.diag(0), &(0..4).map(|i| at(i, i)).collect::<Vec<_>>());
    check(|x| x.diag(1), &(0..3).map(|i| at(i, i + 1)).collect::<Vec<_>>());
    check(|x| x.diag(-5), &(0..3).map(|i| at(i + 5, i)).collect::<Vec<_>>());
    check(|x| x.diag(4), &[]);
    check(|x| x.reshape([2, 4, 4]).diagonal(-1), &[at(1, 0), at(2, 1), at(3, 2), at(5, 0), at(6, 1), at(7, 2)]);
    check(|x| x.i((.., 1)).diag(0), &matrix(8, 8, |i, j| if i == j { at(i, 1) } else { 0.0 }));
    assert_eq!(rows(&array(&[5]).diag(-1)), [[0, 0], [5, 0]]);
    assert_eq!(zeros([0], F32).diag(2).ty().to_string(), "f32[2,2]");
    assert_eq!(array(&[f32::NAN, 1.0]).diag(0).diag(0).i(1).item::<f32>().unwrap(), 1.0);
    assert_eq!(array(&[[true, true], [false, false]]).diag(0).to_vec::<bool>().unwrap(), [true, false]);
    assert_eq!(code(&zeros([2, 2, 2], F32).diag(0)), "diag-rank");
    assert_eq!(code(&scalar(1, F32).diag(0)), "diag-rank");
    assert_eq!(code(&zeros([2], F32).tril(0)), "dimension");
    assert_eq!(code(&zeros([2], F32).diag(isize::MIN)), "too-large");
}

#[test]
fn moved_dimensions() {
    check(|x| x.swapaxes(0, -1), &matrix(4, 8, |i, j| at(j, i)));
    check(|x| x.reshape([2, 4, 4]).moveaxis(0, -1), &matrix(16, 2, |r, b| at(4 * b + r / 4, r % 4)));
    let x = zeros([2, 3, 4, 5], F32);
    assert_eq!(x.moveaxis([3, 0], [0, 1]).ty().to_string(), "f32[5,2,3,4]");
    assert_eq!(x.moveaxis([-1, 0], [0, -1]).ty().to_string(), "f32[5,3,4,2]");
    assert_eq!(x.swapaxes(1, 1).ty().to_string(), "f32[2,3,4,5]");
    assert_eq!(code(&x.moveaxis([0, 1], [2])), "moveaxis");
    assert_eq!(code(&x.moveaxis([0, 0], [2, 3])), "dimension-twice");
    assert_eq!(code(&x.moveaxis(0, 4)), "dimension");
    assert_eq!(code(&x.swapaxes(0, -5)), "dimension");
}

#[test]
fn repeated_arrays() {
    check(|x| x.tile([1, 2]), &matrix(8, 8, |i, j| at(i, j % 4)));
    check(|x| x.tile([2, 1]), &matrix(16, 4, |i, j| at(i % 8, j)));
    check(|x| x.tile([3]), &matrix(8, 12, |i, j| at(i, j % 4)));
    check(|x| x.tile([2, 1, 1]), &matrix(16, 4, |i, j| at(i % 8, j)));
    check(|x| x.tile([0, 2]), &[]);
    check(|x| x.tile([]), &matrix(8, 4, at));
    assert_eq!(scalar(3, I32).tile([2]).to_vec::<i32>().unwrap(), [3, 3]);
    let [x, y] = meshgrid([&array(&[1, 2, 3]), &array(&[10, 20])], Indexing::Ij);
    assert_eq!(rows(&x), [[1, 1], [2, 2], [3, 3]]);
    assert_eq!(rows(&y), [[10, 20], [10, 20], [10, 20]]);
    let [a, b, c] = meshgrid([zeros([2], F32), zeros([3], F32), zeros([4], F32)], Indexing::Xy);
    for grid in [a, b, c] {
        assert_eq!(grid.ty().to_string(), "f32[3,2,4]");
    }
    let [alone] = meshgrid([array(&[1, 2])], Indexing::Xy);
    assert_eq!(alone.to_vec::<i32>().unwrap(), [1, 2]);
    let [x, y] = meshgrid([zeros([2], F32), zeros([2, 2], F32)], Indexing::Xy);
    assert_eq!((code(&x), code(&y)), ("vector".into(), "vector".into()));
}

#[test]
fn parts_of_arrays() {
    check(|x| x.split(2, 0).remove(1), &matrix(4, 4, |i, j| at(i + 4, j)));
    check(|x| x.split(4, -1).remove(2), &matrix(8, 1, |i, _| at(i, 2)));
    check(|x| x.split([3, 5], 0).remove(1), &matrix(2, 4, |i, j| at(i + 3, j)));
    check(|x| x.array_split(3, 0).remove(2), &matrix(2, 4, |i, j| at(i + 6, j)));
    let list = |parts: Vec<Array>| parts.iter().map(|p| p.to_vec::<i32>().unwrap()).collect::<Vec<_>>();
    let x = arange(0..5, I32);
    assert_eq!(list(x.split([2, 1, 9], 0)), [vec![0, 1], vec![], vec![1, 2, 3, 4], vec![]]);
    assert_eq!(list(x.split(vec![], 0)), [vec![0, 1, 2, 3, 4]]);
    assert_eq!(list(x.array_split(7, 0)).iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 0, 0]);
    assert_eq!(list(zeros([0], I32).split(2, 0)), [vec![0i32; 0], vec![]]);
    let many = zeros([4], F32).split(usize::MAX, 0);
    assert_eq!((many.len(), code(&many[0])), (1, "too-large".to_string()));
    assert_eq!(code(&array(&[[0f32; 0]; 1 << 62])), "too-large");
    assert_eq!(x.split(2, 0).iter().map(code).collect::<Vec<_>>(), ["split", "split"]);
    assert_eq!(x.split(0, 0).iter().map(code).collect::<Vec<_>>(), ["split"]);
    assert_eq!(code(&x.split(usize::MAX, 0)[0]), "too-large");
    assert_eq!(code(&x.split(5, 1)[4]), "dimension");
    let wrong = zeros([2], I32) + zeros([3], I32);
    assert_eq!(code(&wrong.split(2, 0)[1]), "broadcast");
}

#[test]
fn products_and_differences() {
    check(|x| x.i((.., 0)).outer(x.i(0)), &matrix(8, 4, |i, j| at(i, 0) * at(0, j)));
    check(|x| x.i(..2).kron(x.i((0, ..2))), &matrix(2, 8, |i, j| at(i, j / 2) * at(0, j % 2)));
    check(|x| x.square().diff(1, 1), &matrix(8, 3, |i, j| at(i, j + 1).powi(2) - at(i, j).powi(2)));
    check(|x| x.square().diff(2, 0), &matrix(6, 4, |_, _| 2.0));
    check(|x| x.diff(0, 0), &matrix(8, 4, at));
    check(|x| x.diff(9, 0), &[]);
    assert_eq!(rows(&array(&[[1, 2]]).outer(array(&[3]))), [[3], [6]]);
    assert_eq!(scalar(2, I32).kron(array(&[1, 2])).to_vec::<i32>().unwrap(), [2, 4]);
    let a = array(&[[1, 2], [3, 4]]);
    assert_eq!(rows(&a.kron(identity(2, I32)))[3], [0, 3, 0, 4]);
    assert_eq!(code(&a.outer(zeros([2], F32))), "dtype-mixed");
    assert_eq!(code(&a.kron(zeros([2], F32))), "dtype-mixed");
    assert_eq!(code(&a.eq(1).outer(a.eq(1))), "dtype-kind");
    assert_eq!(code(&zeros([1 << 20], I8).diff(2000, 0)), "too-large");
    assert_eq!(code(&a.diff(1, 2)), "dimension");
}

#[test]
fn derivatives_and_batches() {
    let x = array(&[[1.0f32, 2.0], [3.0, 4.0]]);
    let floats = |x: Array| x.reshape([INFER]).to_vec::<f32>().unwrap();
    assert_eq!(floats(grad(|x: &Array| x.tril(0).square().sum(..))(&x)), [2.0, 0.0, 6.0, 8.0]);
    assert_eq!(floats(grad(|x: &Array| x.diag(1).square().sum(..))(&x)), [0.0, 4.0, 0.0, 0.0]);
    assert_eq!(floats(grad(|x: &Array| x.i(0).diag(1).square().sum(..))(&x)), [2.0, 4.0, 0.0, 0.0]);
    assert_eq!(floats(grad(|x: &Array| x.tile([2, 3]).sum(..))(&x)), [6.0; 4]);
    assert_eq!(floats(grad(|x: &Array| x.diff(1, 0).square().sum(..))(&x)), [-4.0, -4.0, 4.0, 4.0]);
    assert_eq!(floats(grad(|x: &Array| x.kron(x).sum(..))(&x)), [20.0; 4]);
    assert_eq!(floats(grad(|x: &Array| x.split(2, 0).remove(1).sum(..))(&x)), [0.0, 0.0, 1.0, 1.0]);
    let batch = stack([&x, &(&x * 2.0), &(&x - 5.0)], 0);
    let functions: [fn(&Array) -> Array; 8] = [
        |x| x.tril(0),
        |x| x.diag(-1),
        |x| x.i(0).diag(1),
        |x| x.tile([2, 2]),
        |x| x.outer(x),
        |x| x.kron(x),
        |x| x.diff(1, 1),
        |x| x.moveaxis(0, 1) + x.split(2, 0).remove(0),
    ];
    for f in functions {
        let each = (0..3).map(|i| f(&batch.i(i)));
        assert_equal(&vmap(f)(&batch), &stack(each, 0));
    }
}

#[test]
fn layouts_are_kept_and_ambiguous_ones_are_refused() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    let x = ones([8, 4], F32).shard(mesh.sharding(P!("X", "Y")));
    let ty = |x: Array| {
        x.check().map(|x| x.ty().to_string()).unwrap_or_else(|e| e.diagnostics().next().unwrap().code().into())
    };
    assert_eq!(ty(x.tril(1)), "f32[8@X,4@Y]");
    assert_eq!(ty(x.swapaxes(0, 1)), "f32[4@Y,8@X]");
    assert_eq!(ty(x.moveaxis(1, 0)), "f32[4@Y,8@X]");
    let rows = ones([8, 4], F32).shard(mesh.sharding(P!("X")));
    assert_eq!(ty(rows.split(2, 1).remove(0)), "f32[8@X,2]");
    assert_eq!(ty(rows.diff(1, 1)), "f32[8@X,3]");
    assert_eq!(ty(rows.tile([1, 2])), "f32[8@X,8]");
    let v = ones([8], F32).shard(mesh.sharding(P!("X")));
    assert_eq!(ty(v.outer(ones([4], F32))), "f32[8@X,4]");
    assert_eq!(ty(v.outer(&v)), "layout-ambiguous");
    assert_eq!(ty(v.outer(&v).shard(mesh.sharding(P!("X", None)))), "f32[8@X,8]");
}

#[test]
fn devices_work_on_their_parts() {
    let mesh = Mesh::auto([("X", 4)]).unwrap();
    let f = |x: &Array| x.tril(0) + eye(2, 4, 1, F32) + x.tile([1, 1]) + linspace(0.0, 3.0, 4, F32);
    let mapped = shard_map(f).mesh(&mesh).in_specs(P!("X")).out_specs(P!("X"));
    let x = arange(0..32, F32).reshape([8, 4]);
    let parts = x.split(4, 0);
    assert_equal(&mapped(&x), &concatenate(parts.iter().map(f), 0));
}

#[test]
fn stacks_of_vectors_and_matrices() {
    let (v, w) = (array(&[1, 2]), array(&[3, 4]));
    let m = array(&[[5, 6], [7, 8]]);
    let list = |x: Array| x.to_vec::<i32>().unwrap();
    assert_eq!(list(hstack([&v, &w])), [1, 2, 3, 4]);
    assert_eq!(list(hstack([scalar(1, I32), array(&[2, 3]), scalar(4, I32)])), [1, 2, 3, 4]);
    assert_eq!(rows(&hstack([&m, &m])), [[5, 6, 5, 6], [7, 8, 7, 8]]);
    assert_eq!(rows(&vstack([&v, &m])), [[1, 2], [5, 6], [7, 8]]);
    assert_eq!(rows(&vstack([scalar(1, I32), scalar(2, I32)])), [[1], [2]]);
    assert_eq!(rows(&column_stack([&v, &m])), [[1, 5, 6], [2, 7, 8]]);
    assert_eq!(rows(&column_stack([scalar(1, I32), scalar(2, I32)])), [[1, 2]]);
    assert_eq!(vstack([zeros([0, 2], F32), zeros([2], F32)]).ty().to_string(), "f32[1,2]");
    for stack in [hstack::<Array>, vstack, column_stack] {
        assert_eq!(code(&stack(vec![])), "no-arrays");
        assert_eq!(code(&stack(vec![m.clone(), m.astype(F32)])), "dtype-mixed");
        assert_eq!(code(&stack(vec![m.clone(), zeros([3, 3, 1], I32)])), "concatenate");
    }
    let message = hstack([m, v]).check().unwrap_err().to_string();
    assert!(message.contains("`hstack` along dimension 1 needs arrays of one rank"), "{message}");
    let slope = grad(|x: &Array| (column_stack([x, x]) * array(&[1.0f32, 10.0])).sum(..))(&ones([2], F32));
    assert_eq!(slope.to_vec::<f32>().unwrap(), [11.0, 11.0]);
}

#[test]
fn arrays_full_of_a_number_like_others() {
    let mesh = Mesh::auto([("X", 2)]).unwrap();
    let x = ones([4, 2], F32).shard(mesh.sharding(P!("X")));
    assert_eq!(full_like(&x, 3).ty().to_string(), "f32[4@X,2]");
    assert_eq!(full_like(&x, scalar(3.0, F32)).ty().to_string(), "f32[4@X,2]");
    assert_eq!(full_like(&x, array(&[1.0f32, 2.0])).to_vec::<f32>().unwrap(), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    let traced = jit(|x: &Array, n: &Array| full_like(x, n) + full_like(x, 0.5))(&x, &scalar(1.0, F32)).unwrap();
    assert_eq!(traced.to_vec::<f32>().unwrap(), [1.5; 8]);
    assert_eq!(full_like(&ones([2], Bool), true).to_vec::<bool>().unwrap(), [true, true]);
    for (value, expected) in [(full_like(&x, true), "number-dtype"), (full_like(&x, zeros([3], F32)), "broadcast")] {
        assert_eq!(code(&value), expected);
    }
    assert_eq!(code(&full_like(&x, zeros([2], I32))), "dtype-mixed");
    assert_eq!(code(&full_like(&x.reshape([3]), 1)), "reshape-size");
    assert_eq!(code(&full_like(&x.reshape([3]), scalar(1.0, F32))), "reshape-size");
}
