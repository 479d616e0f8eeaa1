//! Searches and statistics: hand-worked answers, sizes 0 and 1, NaN, derivatives, batches, layouts, mistakes.

use crate::values::{check, check_on};
use shardwise::prelude::*;
use shardwise::{grad, vmap};

fn code(x: &Array) -> String {
    let wrong = x.check().expect_err("a mistake");
    wrong.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>().join(" ")
}

fn ints(x: &Array) -> Vec<i32> {
    x.to_vec::<i32>().unwrap_or_else(|e| panic!("{e}"))
}

fn floats(x: &Array) -> Vec<f32> {
    x.to_vec::<f32>().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn positions_in_sorted_vectors() {
    // The number of elements below, and of those that are not above, for every size.
    for n in 0..18 {
        let sorted = arange(0..n, I32) / 2;
        let values = arange(0..11, I32) - 1;
        let below = |v: i32| (0..n as i32).filter(|i| i / 2 < v).count() as i32;
        let up_to = |v: i32| (0..n as i32).filter(|i| i / 2 <= v).count() as i32;
        assert_eq!(ints(&sorted.searchsorted(&values, Side::Left)), (-1..10).map(below).collect::<Vec<_>>());
        assert_eq!(ints(&sorted.searchsorted(&values, Side::Right)), (-1..10).map(up_to).collect::<Vec<_>>());
    }
    let sorted = array(&[f32::NEG_INFINITY, -0.0, 0.0, 1.0, f32::NAN]);
    let values = array(&[f32::NEG_INFINITY, 0.0, 0.5, f32::INFINITY, f32::NAN]);
    assert_eq!(ints(&sorted.searchsorted(&values, Side::Left)), [0, 1, 3, 4, 4]);
    assert_eq!(ints(&sorted.searchsorted(&values, Side::Right)), [1, 3, 3, 4, 5]);
    check(
        |x| array(&[-1.0f32, 0.0, 2.5]).searchsorted(x, Side::Right),
        &(0..32)
            .map(|i| [-1.0, 0.0, 2.5].iter().filter(|&&e| e <= i as f32 / 4.0 - 3.0).count() as f32)
            .collect::<Vec<_>>(),
    );
    check(|x| x.i((.., 0)).searchsorted(array(&[0.5f32, 9.0]), Side::Left), &[4.0, 8.0]);
    assert_eq!(sorted.searchsorted(0.5, Side::Left).ty().to_string(), "i32[]");
    assert_eq!(code(&zeros([2, 2], F32).searchsorted(1, Side::Left)), "vector");
    assert_eq!(code(&sorted.searchsorted(array(&[1]), Side::Left)), "dtype-mixed");
    assert_eq!(code(&array(&[1]).searchsorted(0.5, Side::Left)), "number-dtype");
    assert_eq!(code(&array(&[true]).searchsorted(true, Side::Left)), "dtype-kind");
}

#[test]
fn interpolation() {
    let (xp, fp) = (array(&[0.0f32, 1.0, 3.0]), array(&[10.0f32, 20.0, 0.0]));
    let f = |x: &Array| x.interp(&xp, &fp);
    assert_eq!(floats(&f(&array(&[-1.0f32, 0.0, 0.25, 1.0, 2.0, 3.0, 4.0]))), [10.0, 10.0, 12.5, 20.0, 10.0, 0.0, 0.0]);
    assert_eq!(floats(&array(&[0.0f32, 9.0]).interp(array(&[5.0f32]), array(&[7.0f32]))), [7.0, 7.0]);
    // A jump between two equal points.
    let jump = array(&[0.5f32, 1.0, 1.5]).interp(array(&[0.0f32, 1.0, 1.0, 2.0]), array(&[0.0f32, 1.0, 5.0, 6.0]));
    assert_eq!(floats(&jump), [0.5, 5.0, 5.5]);
    let slope = grad(|x: &Array| f(x).sum(..))(&array(&[-1.0f32, 0.25, 2.0, 4.0]));
    assert_eq!(floats(&slope), [0.0, 10.0, -10.0, 0.0]);
    let of_values = grad(|fp: &Array| array(&[0.25f32, 9.0]).interp(&xp, fp).sum(..))(&fp);
    assert_eq!(floats(&of_values), [0.75, 0.25, 1.0]);
    check(
        |x| x.interp(array(&[-2.0f32, 2.0]), array(&[0.0f32, 8.0])),
        &(0..32).map(|i| ((i as f32 / 4.0 - 3.0).clamp(-2.0, 2.0) + 2.0) * 2.0).collect::<Vec<_>>(),
    );
    assert_eq!(code(&fp.interp(zeros([0], F32), zeros([0], F32))), "reduce-empty");
    assert_eq!(code(&fp.interp(&xp, zeros([2], F32))), "interp");
    assert_eq!(code(&fp.interp(zeros([2, 2], F32), &xp)), "vector");
}

#[test]
fn different_elements() {
    let x = array(&[[3, 1, 3], [2, 1, 3]]);
    for (size, values, counts) in [
        (0, vec![], vec![]),
        (2, vec![1, 2], vec![2, 1]),
        (3, vec![1, 2, 3], vec![2, 1, 3]),
        (5, vec![1, 2, 3, -1, -1], vec![2, 1, 3, 0, 0]),
    ] {
        assert_eq!(ints(&x.unique(size, -1)), values);
        let (found, times) = x.unique_counts(size, -1);
        assert_eq!((ints(&found), ints(&times)), (values, counts));
    }
    assert_eq!(ints(&zeros([0], I32).unique(2, 7)), [7, 7]);
    assert_eq!(ints(&scalar(4, I32).unique(2, 7)), [4, 7]);
    let nan = array(&[f32::NAN, 1.0, f32::NAN]).unique_counts(3, 0.0);
    assert!(floats(&nan.0)[1].is_nan());
    assert_eq!(ints(&nan.1), [1, 2, 0]);
    check(|x| x.floor().unique(10, 99.0), &[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 99.0, 99.0]);
    check(|x| x.floor().unique_counts(9, 99.0).1, &[4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 0.0]);
    assert_eq!(code(&x.unique(2, array(&[1]))), "fill-value");
    assert_eq!(code(&x.unique(2, 0.5)), "number-dtype");
    assert_eq!(code(&x.unique_counts(usize::MAX, 0).1), "too-large");
}

#[test]
fn positions_of_elements_that_are_not_0() {
    let x = array(&[[0, 7, 0], [8, 0, 9]]);
    let places = |x: &Array, size| x.nonzero(size, -1).iter().map(ints).collect::<Vec<_>>();
    assert_eq!(places(&x, 3), [[0, 1, 1], [1, 0, 2]]);
    assert_eq!(places(&x, 5), [[0, 1, 1, -1, -1], [1, 0, 2, -1, -1]]);
    assert_eq!(places(&x, 2), [[0, 1], [1, 0]]);
    assert_eq!(places(&x, 0), [[0i32; 0]; 2]);
    assert_eq!(places(&zeros([0, 3], I32), 2), [[-1, -1]; 2]);
    assert_eq!(places(&array(&[false, true]), 1), [[1]]);
    check(|x| x.gt(4.0).nonzero(4, -1).remove(0), &[7.0, 7.0, 7.0, -1.0]);
    check(|x| x.gt(4.0).nonzero(4, -1).remove(1), &[1.0, 2.0, 3.0, -1.0]);
    let wrong = scalar(1, I32).nonzero(1, 0);
    assert_eq!((wrong.len(), code(&wrong[0])), (1, "nonzero-rank".into()));
    assert_eq!(x.nonzero(usize::MAX, 0).iter().map(code).collect::<Vec<_>>(), ["too-large", "too-large"]);
}

#[test]
fn histograms() {
    let edges = array(&[0.0f32, 1.0, 2.0]);
    let x = array(&[-1.0f32, 0.0, 0.5, 1.0, 2.0, 3.0, f32::NAN]);
    assert_eq!(ints(&x.histogram(&edges)), [2, 2]);
    assert_eq!(ints(&x.histogram(array(&[1.0f32]))), [0i32; 0]);
    assert_eq!(ints(&zeros([0], F32).histogram(&edges)), [0, 0]);
    check(|x| x.histogram(linspace(-3.0, 5.0, 5, F32)), &[8.0, 8.0, 8.0, 8.0]);
    assert_eq!(code(&x.histogram(zeros([0], F32))), "reduce-empty");
    assert_eq!(code(&x.histogram(array(&[1, 2]))), "dtype-mixed");
}

#[test]
fn quantiles() {
    let x = array(&[[3.0f32, 1.0], [1.0, f32::NAN], [2.0, 0.0], [4.0, 5.0]]);
    let column = x.i((.., 0));
    assert_eq!(column.median(0).item::<f32>().unwrap(), 2.5);
    assert_eq!(column.i(..3).median(0).item::<f32>().unwrap(), 2.0);
    assert_eq!(column.quantile(0, 0).item::<f32>().unwrap(), 1.0);
    assert_eq!(column.quantile(1, 0).item::<f32>().unwrap(), 4.0);
    assert_eq!(column.percentile(10.0, 0).item::<f32>().unwrap(), 1.3);
    let infinite = array(&[f32::INFINITY, 1.0, f32::NEG_INFINITY, f32::INFINITY, f32::NEG_INFINITY]);
    assert_eq!(infinite.median(0).item::<f32>().unwrap(), 1.0);
    assert_eq!(infinite.i(1..4).median(0).item::<f32>().unwrap(), 1.0);
    assert_eq!(
        floats(&infinite.quantile(array(&[0.0f32, 0.75, 1.0]), 0)),
        [f32::NEG_INFINITY, f32::INFINITY, f32::INFINITY]
    );
    assert_eq!(infinite.quantile(1, 0).item::<f32>().unwrap(), f32::INFINITY);
    let by = |between| column.quantile_by(0.4, 0, between).item::<f32>().unwrap();
    use Interpolation::*;
    assert_eq!([Linear, Lower, Higher, Nearest, Midpoint].map(by), [2.2, 2.0, 3.0, 2.0, 2.5]);
    // A column with a NaN has no quantiles.
    let both = floats(&x.median(0));
    assert_eq!(both[0], 2.5);
    assert!(both[1].is_nan());
    let at = array(&[0.0f32, 0.5, 1.0]);
    assert_eq!(floats(&column.quantile(&at, 0)), [1.0, 2.5, 4.0]);
    let m = arange(0..24, F32).reshape([2, 3, 4]);
    assert_eq!(m.quantile(&at, [0, 2]).ty().to_string(), "f32[3,3]");
    assert_eq!(m.quantile(&at, keep([0, 2])).ty().to_string(), "f32[3,1,3,1]");
    assert_eq!(m.quantile(at.i(1), keep(1)).ty().to_string(), "f32[2,1,4]");
    assert_eq!(m.median(keep([0, 2])).ty().to_string(), "f32[1,3,1]");
    assert_eq!(m.median(..).item::<f32>().unwrap(), 11.5);
    assert_eq!(floats(&m.median([0, 2])), [7.5, 11.5, 15.5]);
    assert_eq!(array(&[1, 4]).median(0).item::<f32>().unwrap(), 2.5);
    assert_eq!(array(&[7.0f32]).quantile(0.3, 0).item::<f32>().unwrap(), 7.0);
    check(|x| x.median(0), &[0.5, 0.75, 1.0, 1.25]);
    check(|x| x.quantile(0.25, 1), &(0..8).map(|i| i as f32 - 3.0 + 0.1875).collect::<Vec<_>>());
    check(|x| x.percentile(array(&[0.0f32, 100.0]), ..), &[-3.0, 4.75]);
    let slope = grad(|x: &Array| x.quantile(0.25, 0))(&array(&[3.0f32, 1.0, 2.0]));
    assert_eq!(floats(&slope), [0.0, 0.5, 0.5]);
    assert_eq!(code(&column.quantile(1.5, 0)), "quantile");
    assert_eq!(code(&column.percentile(-1, 0)), "quantile");
    assert_eq!(code(&column.quantile(zeros([2, 2], F32), 0)), "quantile");
    assert_eq!(code(&column.quantile(zeros([2], F64), 0)), "dtype-mixed");
    assert_eq!(code(&zeros([0, 2], F32).median(0)), "reduce-empty");
    assert_eq!(code(&column.median(1)), "dimension");
}

#[test]
fn covariances() {
    let x = array(&[[1.0f32, 2.0, 6.0], [1.0, 1.0, 4.0]]);
    // The distances from the means are -2, -1, 3 and -1, -1, 2.
    assert_eq!(x.cov(1).to_vec2::<f32>().unwrap(), [[7.0, 4.5], [4.5, 3.0]]);
    assert_close(&x.cov(0), &(x.cov(1) * (2.0 / 3.0)));
    assert_close(&x.corrcoef().i((0, 1)), &scalar(9.0 / (14.0f64 * 6.0).sqrt(), F32));
    assert_eq!(x.i(0).cov(1).item::<f32>().unwrap(), 7.0);
    assert_eq!(x.astype(I32).cov(1).to_vec2::<f32>().unwrap(), x.cov(1).to_vec2::<f32>().unwrap());
    assert!(ones([2, 3], F32).corrcoef().i((0, 1)).item::<f32>().unwrap().is_nan());
    check_on(&x.tile([2, 4]), |x| x.cov(0), &[14.0 / 3.0, 3.0, 14.0 / 3.0, 3.0, 3.0, 2.0, 3.0, 2.0].repeat(2));
    assert_eq!(code(&zeros([2, 2, 2], F32).cov(1)), "cov-rank");
    assert_eq!(code(&scalar(1, F32).corrcoef()), "cov-rank");
    let slope = grad(|x: &Array| x.i(0).cov(0))(&x);
    assert_close(&slope, &array(&[[-4.0f32 / 3.0, -2.0 / 3.0, 2.0], [0.0; 3]]));
}

#[test]
fn batches() {
    let x = (arange(0..24, F32) * 0.7).sin().reshape([4, 6]);
    let functions: [fn(&Array) -> Array; 9] = [
        |x| x.sort(0).searchsorted(x, Side::Right),
        |x| x.interp(linspace(-1.0, 1.0, 4, F32), array(&[0.0f32, 2.0, 1.0, 5.0])),
        |x| array(&[0.25f32, 1.5]).interp(array(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]), x),
        |x| x.round().unique(4, 9.0),
        |x| x.round().unique_counts(4, 9.0).1,
        |x| x.gt(0.0).nonzero(4, -1).remove(0),
        |x| x.histogram(linspace(-1.0, 1.0, 4, F32)),
        |x| x.quantile(array(&[0.1f32, 0.9]), 0),
        |x| x.reshape([2, 3]).corrcoef(),
    ];
    for f in functions {
        assert_close(&vmap(f)(&x), &stack((0..4).map(|i| f(&x.i(i))), 0));
    }
}

#[test]
fn layouts() {
    let mesh = Mesh::explicit([("X", 4), ("Y", 2)]).unwrap();
    let x = (arange(0..32, F32) * 0.7).sin().reshape([8, 4]);
    let rows = x.shard(mesh.sharding(P!("X")));
    let ty = |x: Array| {
        x.check().map(|x| x.ty().to_string()).unwrap_or_else(|e| e.diagnostics().next().unwrap().code().into())
    };
    assert_eq!(ty(linspace(0.0, 1.0, 5, F32).searchsorted(&rows, Side::Left)), "i32[8@X,4]");
    assert_eq!(ty(rows.interp(linspace(0.0, 1.0, 5, F32), zeros([5], F32))), "f32[8@X,4]");
    assert_eq!(ty(rows.median(1)), "f32[8@X]");
    assert_eq!(ty(rows.quantile(array(&[0.5f32, 0.75]), 1)), "f32[2,8@X]");
    // As for a product, the caller says which devices add the sums up, and which dimension of the result is split.
    let columns = x.shard(mesh.sharding(P!(None, "Y")));
    assert_eq!((ty(columns.cov(1)), ty(rows.cov(1))), ("layout-ambiguous".into(), "layout-ambiguous".into()));
    assert_close(&columns.cov(1).shard(mesh.sharding(P!())), &x.cov(1));
    assert_close(&rows.cov(1).shard(mesh.sharding(P!("X", None))), &x.cov(1));
    let local =
        shard_map(|x: &Array| x.median(1) + x.searchsorted_first()).mesh(&mesh).in_specs(P!("X")).out_specs(P!("X"));
    assert_close(&local(&rows), &(x.median(1) + x.searchsorted_first()));
}

trait Searched {
    fn searchsorted_first(&self) -> Array;
}

impl Searched for Array {
    fn searchsorted_first(&self) -> Array {
        linspace(-1.0, 1.0, 5, F32).searchsorted(self.i((.., 0)), Side::Left).astype(F32)
    }
}

#[test]
fn histograms_with_weights() {
    let x = array(&[[0, 1, 1], [3, 4, 9]]);
    let weights = array(&[[1.0f32, 2.0, 4.0], [8.0, 16.0, f32::INFINITY]]);
    let edges = array(&[0, 1, 3, 4]);
    assert_eq!(floats(&x.histogram_weighted(&edges, &weights)), [1.0, 6.0, 24.0]);
    assert_eq!(ints(&x.histogram_weighted(&edges, ones_like(&x))), ints(&x.histogram(&edges)));
    assert_eq!(floats(&x.histogram_weighted(array(&[7]), &weights)), [0.0; 0]);
    assert_eq!(floats(&zeros([0], I32).histogram_weighted(&edges, zeros([0], F32))), [0.0; 3]);
    // Sums of 16 bits are rounded once.
    let many = zeros([5000], F32).histogram_weighted(array(&[0.0f32, 1.0]), ones([5000], F16));
    assert_eq!(floats(&many.astype(F32)), [5000.0]);
    let weight_of = grad(|w: &Array| x.histogram_weighted(&edges, w).i(1))(&zeros([2, 3], F32));
    assert_eq!(floats(&weight_of), [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    let rows = vmap(|x: &Array, w: &Array| x.histogram_weighted(array(&[0, 1, 3, 4]), w))(&x, &weights.minimum(20.0));
    assert_eq!(floats(&rows), [1.0, 6.0, 0.0, 0.0, 0.0, 24.0]);
    assert_eq!(code(&x.histogram_weighted(&edges, ones([6], F32))), "histogram-weights");
    assert_eq!(code(&x.histogram_weighted(&edges, ones([2, 3], Bool))), "dtype-kind");
    assert_eq!(code(&x.histogram_weighted(ones([2], F32), &weights)), "dtype-mixed");
}
