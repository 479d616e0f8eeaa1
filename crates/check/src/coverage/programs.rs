//! Programs in addition to the examples, for factors whose size occurs in several types or in attributes. Also their
//! inputs, and the reasons for cells that are empty or ran whole.

use super::FactorColumn;
use super::Fit::{self, Empty, Even, One, Uneven};
use shardwise_base::{Complex32, Complex64, DType, Literal, bf16, f16};
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;

/// The numbers with which the functions in [`PROGRAMS`] are called. Each of them makes programs with a factor of this
/// size, or of a size that depends on it.
const SIZES: [usize; 4] = [0, 1, 2, 6];

pub(super) fn of(op: Opcode) -> Vec<String> {
    let Some((_, make)) = PROGRAMS.iter().find(|row| row.0 == op) else { return vec![] };
    SIZES.iter().flat_map(|&n| make(n)).collect()
}

/// Returns the text of a function `@main` whose only op is `op`, on the arguments `%arg0`, `%arg1`, … of the types
/// `args`. A type is written as `3x4xf32`.
fn main(args: &[&str], op: &str, result: &str) -> String {
    let params: Vec<String> = args.iter().enumerate().map(|(i, t)| format!("%arg{i}: tensor<{t}>")).collect();
    format!(
        "func.func @main({}) -> tensor<{result}> {{\n  %0 = {op}\n  return %0 : tensor<{result}>\n}}",
        params.join(", ")
    )
}

type Programs = fn(usize) -> Vec<String>;

const PROGRAMS: &[(Opcode, Programs)] = &[
    (Opcode::Slice, |n| {
        let cut = n / 2;
        let whole = format!("stablehlo.slice %arg0 [0:{n}, 1:3] : (tensor<{n}x4xf32>) -> tensor<{n}x2xf32>");
        let part = format!("stablehlo.slice %arg0 [0:3, 0:{cut}] : (tensor<3x{n}xf32>) -> tensor<3x{cut}xf32>");
        let (last, rows) = (n.saturating_sub(1), n.min(1));
        let row = format!("stablehlo.slice %arg0 [{last}:{n}, 0:64] : (tensor<{n}x64xf32>) -> tensor<{rows}x64xf32>");
        vec![
            main(&[&format!("{n}x4xf32")], &whole, &format!("{n}x2xf32")),
            main(&[&format!("3x{n}xf32")], &part, &format!("3x{cut}xf32")),
            main(&[&format!("{n}x64xf32")], &row, &format!("{rows}x64xf32")),
        ]
    }),
    (Opcode::DynamicSlice, |n| {
        let of = |x: &str, y: &str, sizes: &str| {
            let op = format!(
                "stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [{sizes}] : \
                 (tensor<{x}>, tensor<i32>, tensor<i32>) -> tensor<{y}>"
            );
            main(&[x, "i32"], &op, y)
        };
        let cut = n / 2;
        vec![
            of(&format!("{n}x4xf32"), &format!("{n}x2xf32"), &format!("{n}, 2")),
            of(&format!("3x{n}xf32"), &format!("3x{cut}xf32"), &format!("3, {cut}")),
        ]
    }),
    (Opcode::DynamicUpdateSlice, |n| {
        let of = |x: String, y: String| {
            let op = format!(
                "stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 : \
                 (tensor<{x}>, tensor<{y}>, tensor<i32>, tensor<i32>) -> tensor<{x}>"
            );
            main(&[&x, &y, "i32"], &op, &x)
        };
        vec![of(format!("3x{n}xf32"), format!("3x{}xf32", n / 2)), of("3x8xf32".into(), format!("3x{n}xf32"))]
    }),
    (Opcode::Concatenate, |n| {
        let (a, b) = (format!("3x{}xf32", n - n / 2), format!("3x{}xf32", n / 2));
        let op =
            format!("stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<{a}>, tensor<{b}>) -> tensor<3x{n}xf32>");
        vec![main(&[&a, &b], &op, &format!("3x{n}xf32"))]
    }),
    (Opcode::Join, |n| {
        let (cut, ty) = (n / 2, format!("{n}x3xf32"));
        let parts = format!("0, {cut}, {}, 0, 0, {cut}", n - cut);
        let op = format!(
            r#""shardwise.join"(%arg0) <{{dimension = 0 : i64, parts = array<i64: {parts}>}}> : (tensor<{ty}>) -> tensor<{ty}>"#
        );
        let across = format!("{n}x4xf32");
        let rows = format!(
            r#""shardwise.join"(%arg0) <{{dimension = 1 : i64, parts = array<i64: 0, 3, 1, 0, 0, 3>}}> : (tensor<{across}>) -> tensor<{across}>"#
        );
        let every_other = || {
            let (half, rest) = (format!("{}x3xf32", n.div_ceil(2)), n.div_ceil(2) - 1);
            let parts = format!("0, {}, 1, 0, {}, {rest}", n - 1, (n - 1) % 2);
            let op = format!(
                r#""shardwise.join"(%arg0) <{{dimension = 0 : i64, parts = array<i64: {parts}>, stride = 2 : i64}}> : (tensor<{ty}>) -> tensor<{half}>"#
            );
            main(&[&ty], &op, &half)
        };
        let strided = (n > 1).then(every_other);
        [main(&[&ty], &op, &ty), main(&[&across], &rows, &across)].into_iter().chain(strided).collect()
    }),
    (Opcode::Resize, |n| {
        let op = format!(
            r#""shardwise.resize"(%arg0) <{{sizes = array<i64: {n}, 4>}}> : (tensor<{n}x3xf32>) -> tensor<{n}x4xf32>"#
        );
        vec![main(&[&format!("{n}x3xf32")], &op, &format!("{n}x4xf32"))]
    }),
    (Opcode::Pad, |n| {
        let op = format!(
            "stablehlo.pad %arg0, %arg1, low = [0, 1], high = [0, 1], interior = [0, 0] : \
             (tensor<3x{n}xf32>, tensor<f32>) -> tensor<3x{}xf32>",
            n + 2
        );
        vec![main(&[&format!("3x{n}xf32"), "f32"], &op, &format!("3x{}xf32", n + 2))]
    }),
    (Opcode::BitcastConvert, |n| {
        let op = format!("stablehlo.bitcast_convert %arg0 : (tensor<{n}x4xi8>) -> tensor<{n}xi32>");
        vec![main(&[&format!("{n}x4xi8")], &op, &format!("{n}xi32"))]
    }),
    (Opcode::ReduceWindow, |n| {
        let (x, y) = (format!("3x{}xf32", 2 * n), format!("3x{n}xf32"));
        let op = format!(
            r#""stablehlo.reduce_window"(%arg0, %arg1) <{{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }}) : (tensor<{x}>, tensor<f32>) -> tensor<{y}>"#
        );
        vec![main(&[&x, "f32"], &op, &y)]
    }),
    (Opcode::SelectAndScatter, |n| {
        let (x, y) = (format!("3x{n}xf32"), format!("3x{}xf32", n / 2));
        let op = format!(
            r#""stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }}) : (tensor<{x}>, tensor<{y}>, tensor<f32>) -> tensor<{x}>"#
        );
        vec![main(&[&x, &y, "f32"], &op, &x)]
    }),
    (Opcode::Convolution, |n| {
        let of = |b: usize, space: usize, i: usize, window: usize, o: usize, pad: usize, groups: usize| {
            let out = (space + 2 * pad + 1).saturating_sub(window);
            let (x, k) = (format!("{b}x{space}x{i}xf32"), format!("{window}x{}x{o}xf32", i / groups));
            let y = format!("{b}x{out}x{o}xf32");
            let op = format!(
                "stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], \
                 window = {{pad = [[{pad}, {pad}]]}} \
                 {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : \
                 (tensor<{x}>, tensor<{k}>) -> tensor<{y}>"
            );
            main(&[&x, &k], &op, &y)
        };
        let mut all = vec![of(n, 4, 2, 3, 2, 1, 1), of(2, n, 2, 3, 2, 1, 1)];
        if n > 0 {
            all.extend([of(2, 4, n, 3, 2, 1, 1), of(2, n, 2, n, 2, 0, 1), of(2, 4, 2 * n, 1, 2 * n, 0, n)]);
        }
        all
    }),
    (Opcode::Fft, |n| {
        let t = format!("3x{n}xcomplex<f32>");
        let op = format!("stablehlo.fft %arg0, type = FFT, length = [{n}] : (tensor<{t}>) -> tensor<{t}>");
        if n == 0 { vec![] } else { vec![main(&[&t], &op, &t)] }
    }),
    (Opcode::Cholesky, |n| {
        let t = format!("3x{n}x{n}xf32");
        vec![main(&[&t], &format!("stablehlo.cholesky %arg0, lower = true : tensor<{t}>"), &t)]
    }),
    (Opcode::TriangularSolve, |n| {
        let (a, b) = (format!("3x{n}x{n}xf32"), format!("3x{n}x2xf32"));
        let op = format!(
            r#""stablehlo.triangular_solve"(%arg0, %arg1) <{{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}}> : (tensor<{a}>, tensor<{b}>) -> tensor<{b}>"#
        );
        vec![main(&[&a, &b], &op, &b)]
    }),
    (Opcode::Scan, |n| {
        let t = format!("{n}xf32");
        vec![format!(
            "func.func @main(%arg0: tensor<{t}>, %arg1: tensor<f32>) -> tensor<{t}> {{
  %0:2 = chlo.scan(%arg0) inits(%arg1) dimension=0 {{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1, %1 : tensor<f32>, tensor<f32>
  }} : (tensor<{t}>, tensor<f32>) -> (tensor<{t}>, tensor<f32>)
  return %0#0 : tensor<{t}>
}}"
        )]
    }),
    (Opcode::Gather, |n| {
        let of = |x: &str, i: &str, y: &str, numbers: &str, sizes: &str| {
            let op = format!(
                r#""stablehlo.gather"(%arg0, %arg1) <{{dimension_numbers = #stablehlo.gather<{numbers}, index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: {sizes}>}}> : (tensor<{x}>, tensor<{i}>) -> tensor<{y}>"#
            );
            main(&[x, i], &op, y)
        };
        let rows = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0]";
        let cut = n / 2;
        let mut all = vec![
            of(&format!("5x{n}xf32"), "3x1xi32", &format!("3x{n}xf32"), rows, &format!("1, {n}")),
            of(&format!("5x{n}xf32"), "3x1xi32", &format!("3x{cut}xf32"), rows, &format!("1, {cut}")),
        ];
        if n > 0 {
            all.push(of(&format!("{n}x4xf32"), "3x1xi32", "3x4xf32", rows, "1, 4"));
        }
        if n <= 2 {
            let map = ["", "0", "0, 1"][n];
            let numbers = format!("offset_dims = [1, 2], start_index_map = [{map}]");
            all.push(of("4x4xf32", &format!("3x{n}xi32"), "3x2x2xf32", &numbers, "2, 2"));
        }
        all
    }),
    (Opcode::Scatter, |n| {
        let map = match n {
            0 => "",
            1 => "0",
            2 => "0, 1",
            _ => return vec![],
        };
        let op = format!(
            r#""stablehlo.scatter"(%arg0, %arg1, %arg2) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [{map}], index_vector_dim = 1>, unique_indices = false}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }}) : (tensor<4x4xf32>, tensor<3x{n}xi32>, tensor<3x2x2xf32>) -> tensor<4x4xf32>"#
        );
        vec![main(&["4x4xf32", &format!("3x{n}xi32"), "3x2x2xf32"], &op, "4x4xf32")]
    }),
    (Opcode::Rng, |n| {
        let of = |shape: &[usize]| {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            let y = sizes.iter().map(|n| format!("{n}x")).collect::<String>() + "f32";
            let (rank, list) = (shape.len(), sizes.join(", "));
            let list = if rank == 0 { String::new() } else { format!("[{list}]") };
            format!(
                "func.func @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<{y}> {{
  %c = stablehlo.constant dense<{list}> : tensor<{rank}xi64>
  %0 = stablehlo.rng %arg0, %arg1, %c, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<{rank}xi64>) -> tensor<{y}>
  return %0 : tensor<{y}>
}}"
            )
        };
        let mut all = vec![of(&[n, 2])];
        if n < 2 {
            all.push(of(&[6, 2][..n]));
        }
        all
    }),
    (Opcode::TopK, |n| {
        let k = n / 2;
        vec![format!(
            "func.func @main(%arg0: tensor<3x{n}xf32>) -> tensor<3x{k}xf32> {{
  %0:2 = chlo.top_k(%arg0, k = {k}) : tensor<3x{n}xf32> -> (tensor<3x{k}xf32>, tensor<3x{k}xi32>)
  return %0#0 : tensor<3x{k}xf32>
}}"
        )]
    }),
];

/// Returns an array of small integers that depend on `seed`, so that every sum of them is exact. The imaginary parts of
/// complex numbers are 1. Panics for an element type that no example has, such as f8.
pub(super) fn sample(t: &TensorType, seed: usize) -> Literal {
    if let Some(quantized) = t.dtype.quantized() {
        let stored = sample(&TensorType::new(quantized.storage, t.shape.clone()), seed);
        return Literal::from_bytes(t.dtype, &t.shape, stored.raw_bytes()).expect("as many bytes");
    }
    let values: Vec<i32> = (0..t.size()).map(|i| ((i * 7 + seed * 3 + i * i) % 5) as i32 - 1).collect();
    macro_rules! of {
        ($f:expr) => {
            Literal::new(t.shape.clone(), &values.iter().map(|&v| $f(v)).collect::<Vec<_>>())
        };
    }
    match t.dtype {
        DType::F32 => of!(|v| v as f32),
        DType::F64 => of!(f64::from),
        DType::BF16 => of!(|v| bf16::from_f32(v as f32)),
        DType::F16 => of!(|v| f16::from_f32(v as f32)),
        DType::I8 => of!(|v| v as i8),
        DType::I16 => of!(|v| v as i16),
        DType::I32 => of!(|v| v),
        DType::I64 => of!(i64::from),
        DType::U8 => of!(|v: i32| v.unsigned_abs() as u8),
        DType::U16 => of!(|v: i32| v.unsigned_abs() as u16),
        DType::U32 => of!(|v: i32| v.unsigned_abs()),
        DType::U64 => of!(|v: i32| u64::from(v.unsigned_abs())),
        DType::I1 => of!(|v| shardwise_base::Bool8::from(v > 0)),
        DType::C64 => of!(|v| Complex32::new(v as f32, 1.0)),
        DType::C128 => of!(|v| Complex64::new(f64::from(v), 1.0)),
        other => unreachable!("no example has {other}"),
    }
}

/// The reason why cells are empty, or ran whole.
pub struct Reason {
    pub ops: &'static [Opcode],
    pub kind: FactorColumn,
    pub fits: &'static [Fit],
    pub text: &'static str,
}

pub(super) fn reasons(op: Opcode) -> impl Iterator<Item = &'static Reason> {
    REASONS.iter().filter(move |r| r.ops.contains(&op))
}

const REASONS: &[Reason] = &[
    Reason {
        ops: &[Opcode::UniformQuantize, Opcode::UniformDequantize],
        kind: FactorColumn::PassThrough,
        fits: &[Even, Uneven],
        text: "the partitioner first replaces it by float arithmetic, which runs in parts",
    },
    Reason {
        ops: &[Opcode::BitcastConvert],
        kind: FactorColumn::NeedReplication,
        fits: &[Empty, One],
        text: "the extra dimension is the ratio of the widths, at least 2",
    },
    Reason {
        ops: &[Opcode::Reshape],
        kind: FactorColumn::PassThrough,
        fits: &[Empty],
        text: "a reshape of nothing has no factors",
    },
    Reason {
        ops: &[Opcode::Slice],
        kind: FactorColumn::Permutation,
        fits: &[Empty],
        text: "an empty slice cannot be split",
    },
    Reason {
        ops: &[Opcode::Slice],
        kind: FactorColumn::Reduction,
        fits: &[Empty, One],
        text: "one element is taken of several",
    },
    Reason {
        ops: &[Opcode::Slice],
        kind: FactorColumn::NeedReplication,
        fits: &[Even, Uneven, Empty],
        text: "the slice has one element there",
    },
    Reason {
        ops: &[Opcode::DynamicSlice],
        kind: FactorColumn::Reduction,
        fits: &[Empty],
        text: "an empty slice cannot be split",
    },
    Reason {
        ops: &[Opcode::DynamicSlice, Opcode::Gather],
        kind: FactorColumn::Reduction,
        fits: &[Uneven],
        text: "indices are clamped to the size of the dimension, which padding would change",
    },
    Reason {
        ops: &[Opcode::Gather],
        kind: FactorColumn::Reduction,
        fits: &[Empty],
        text: "a slice of one element needs one",
    },
    Reason {
        ops: &[Opcode::Gather],
        kind: FactorColumn::Reduction,
        fits: &[One],
        text: "a collapsed dimension of one element needs replication",
    },
    Reason {
        ops: &[Opcode::Convolution],
        kind: FactorColumn::NeedReplication,
        fits: &[Empty, One],
        text: "a window of one place has no factor",
    },
    Reason {
        ops: &[Opcode::Convolution],
        kind: FactorColumn::Permutation,
        fits: &[Empty, One],
        text: "a spatial dimension with one place or none has no factor",
    },
    Reason {
        ops: &[Opcode::Fft],
        kind: FactorColumn::NeedReplication,
        fits: &[Empty],
        text: "a transform has a length",
    },
    Reason {
        ops: &[Opcode::RngBitGenerator, Opcode::Rng],
        kind: FactorColumn::PassThrough,
        fits: &[Uneven],
        text: "bits depend on their position in the whole, padding included",
    },
    Reason {
        ops: &[Opcode::RngBitGenerator],
        kind: FactorColumn::NeedReplication,
        fits: &[Empty, One],
        text: "a state has two or three words",
    },
];
