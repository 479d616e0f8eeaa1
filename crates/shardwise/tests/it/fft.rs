//! Tests of Fourier transforms: hand-worked answers, inverses, sizes, derivatives, batches, mistakes.

use shardwise::prelude::*;
use shardwise::{grad, vmap};

fn code(x: &Array) -> String {
    let wrong = x.check().expect_err("a mistake");
    wrong.diagnostics().map(|d| d.code().to_string()).collect::<Vec<_>>().join(" ")
}

fn parts(x: &Array) -> (Vec<f32>, Vec<f32>) {
    (x.real().to_vec().unwrap(), x.imag().to_vec().unwrap())
}

/// Returns real numbers of this shape without a pattern.
fn some(shape: &[usize]) -> Array {
    uniform(Key::new(1), shape, F32)
}

#[test]
fn answers() {
    let x = array(&[1.0f32, 2.0, 3.0, 4.0]);
    assert_eq!(parts(&fft::fft(&x, 0)), (vec![10.0, -2.0, -2.0, -2.0], vec![0.0, 2.0, 0.0, -2.0]));
    assert_eq!(parts(&fft::ifft(&x, 0)), (vec![2.5, -0.5, -0.5, -0.5], vec![0.0, -0.5, 0.0, 0.5]));
    assert_eq!(parts(&fft::rfft(&x, -1)), (vec![10.0, -2.0, -2.0], vec![0.0, 2.0, 0.0]));
    assert_eq!(fft::irfft(fft::rfft(&x, 0), 4, 0).to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    // Elements that are missing are zeros, and others are left out: 3 of 3, and 2 of 3 elements.
    assert_eq!(fft::irfft(array(&[4.0f32, 0.0]), 4, 0).to_vec::<f32>().unwrap(), [1.0; 4]);
    assert_eq!(fft::irfft(array(&[2.0f32, 0.0, 9.0]), 2, 0).to_vec::<f32>().unwrap(), [1.0; 2]);
    let square = array(&[[1.0f32, 2.0], [3.0, 4.0]]);
    assert_eq!(parts(&fft::fft2(&square)).0, [10.0, -2.0, -4.0, 0.0]);
    assert_eq!(fft::fft(zeros([3], F64), 0).ty().to_string(), "c128[3]");
    assert_eq!(fft::fftfreq(5, 1.0, F32).to_vec::<f32>().unwrap(), [0.0, 0.2, 0.4, -0.4, -0.2]);
    assert_eq!(fft::rfftfreq(5, 1.0, F32).to_vec::<f32>().unwrap(), [0.0, 0.2, 0.4]);
    assert_eq!(fft::rfftfreq(2, 1.0, F32).to_vec::<f32>().unwrap(), [0.0, 0.5]);
    assert_eq!(fft::fftfreq(1, 1.0, F64).to_vec::<f64>().unwrap(), [0.0]);
    let x = array(&[[0, 1, 2], [3, 4, 5]]);
    assert_eq!(fft::fftshift(&x, ..).to_vec2::<i32>().unwrap(), [[5, 3, 4], [2, 0, 1]]);
    assert_eq!(fft::ifftshift(&x, 1).to_vec2::<i32>().unwrap(), [[1, 2, 0], [4, 5, 3]]);
}

#[test]
fn inverses_over_any_dimensions() {
    let x = some(&[2, 3, 1, 4, 5]);
    for dim in 0..5 {
        assert_close(&fft::ifft(fft::fft(&x, dim), dim).real(), &x);
        let n = x.dim(dim);
        assert_close(&fft::irfft(fft::rfft(&x, dim), n, dim), &x);
        assert_equal(&fft::ifftshift(fft::fftshift(&x, dim), dim), &x);
    }
    assert_close(&fft::ifft2(fft::fft2(&x)).real(), &x);
    assert_close(&fft::ifftn(fft::fftn(&x, ..), ..).real(), &x);
    let one_by_one = fft::fft(fft::fft(&x, 0), 3);
    assert_close(&fft::fftn(&x, [3, 0]).imag(), &one_by_one.imag());
    assert_equal(&fft::fftn(&x, [0i32; 0]).real(), &x);
    for (n, half) in [(0, 0), (1, 1), (2, 2)] {
        assert_eq!(fft::rfft(zeros([2, n], F32), 1).shape(), [2, half]);
        assert_eq!(fft::irfft(zeros([2, 3], C64), n, 1).to_vec::<f32>().unwrap(), vec![0.0; 2 * n]);
        assert_eq!(fft::rfftfreq(n, 1.0, F32).shape(), [half]);
        assert_eq!(fft::fftfreq(n, 1.0, F32).shape(), [n]);
    }
}

#[test]
fn derivatives_and_batches() {
    // The sum of squared absolute values is n times that of the elements.
    let x = some(&[3, 4]);
    let energy = |x: &Array| fft::fft(x, 1).abs().square().sum(..);
    assert_close(&grad(energy)(&x), &(&x * 8.0));
    let through = |x: &Array| (fft::irfft(fft::rfft(x, 0), 3, 0) * array(&[1.0f32, 2.0, 3.0]).expand_dims(1)).sum(..);
    assert_close(&grad(through)(&x), &array(&[[1.0f32], [2.0], [3.0]]).broadcast_to([3, 4]));
    assert_close(&vmap(|x: &Array| fft::rfft(x, 0).imag())(&x), &fft::rfft(&x, 1).imag());
    let mesh = Mesh::explicit([("X", 2)]).unwrap().communication(Communicate::Deny);
    let split = some(&[4, 6]).shard(mesh.sharding(P!("X")));
    let rows = with_mesh(&mesh, || jit(|x: &Array| fft::fft(x, 1).real())(&split)).unwrap();
    assert_eq!(rows.ty().to_string(), "f32[4@X,6]");
    assert_close(&rows, &fft::fft(some(&[4, 6]), 1).real());
    let columns = with_mesh(&mesh, || jit(|x: &Array| fft::fft(x, 0))(&split).map(drop)).unwrap_err();
    assert_eq!(columns.diagnostics().next().unwrap().code(), "communication-denied");
}

#[test]
fn mistakes() {
    assert_eq!(code(&fft::fft(zeros([2], F32), 1)), "dimension");
    assert_eq!(code(&fft::fft2(zeros([2], F32))), "dimension");
    assert_eq!(code(&fft::fftn(zeros([2, 2], F32), [0, 0])), "dimension-twice");
    assert_eq!(code(&fft::fft(zeros([2], I32), 0)), "dtype-kind");
    assert_eq!(code(&fft::rfft(zeros([2], C64), 0)), "dtype-kind");
    assert_eq!(code(&fft::irfft(zeros([2], C64), usize::MAX, 0)), "too-large");
    assert_eq!(code(&fft::fftfreq(usize::MAX, 1.0, F32)), "too-large");
    assert_eq!(code(&fft::rfftfreq(usize::MAX, 1.0, I32)), "too-large");
    assert_eq!(code(&fft::fftfreq(4, 1.0, I32)), "dtype-kind");
}
