//! Tests of custom calls that engines know: calls of LAPACK, `ApproxTopK` and products with sparse matrices.

use super::Batch;
use crate::shard_test::run_split;
use shardwise_base::{Complex32, Complex64, DType, Literal};
use shardwise_ir::{Module, text, verify};

/// Calls of routines by LAPACK's names, with their options, the types of their operands and those of their results. `T`
/// is the element type, `R` the real and `C` the complex one. Names have the letter of the element type left out.
const CALLS: &[(&str, &str, &str, &str)] = &[
    ("potrf", "uplo = 76 : ui8", "6x3x3xT", "6x3x3xT, 6xi32"),
    ("potrf", "uplo = 85 : ui8", "3x3xT", "3x3xT, i32"),
    ("trsm", "diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8", "6x3x3xT, 6x3x2xT", "6x3x2xT"),
    (
        "trsm",
        "diag = 85 : ui8, side = 82 : ui8, trans_x = 67 : ui8, uplo = 85 : ui8",
        "2x2x3x3xT, 2x2x4x3xT",
        "2x2x4x3xT",
    ),
    ("getrf", "", "6x3x4xT", "6x3x4xT, 6x3xi32, 6xi32"),
    ("geqrf", "", "6x4x3xT", "6x4x3xT, 6x3xT"),
    ("geqp3", "", "4x4x3xT, 4x3xi32", "4x4x3xT, 4x3xi32, 4x3xT"),
    ("orgqr", "", "6x4x3xT, 6x2xT", "6x4x3xT"),
    ("ormqr", "left = true, transpose = false", "6x4x3xT, 6x3xT, 6x4x2xT", "6x4x2xT"),
    ("ormqr", "left = false, transpose = true", "6x4x3xT, 6x3xT, 6x2x4xT", "6x2x4xT"),
    ("syevd", "mode = 86 : ui8, uplo = 76 : ui8", "6x3x3xT", "6x3x3xT, 6x3xR, 6xi32"),
    ("syevd", "mode = 78 : ui8, uplo = 85 : ui8", "6x3x3xT", "6x3x3xT, 6x3xR, 6xi32"),
    ("gesdd", "mode = 65 : ui8", "6x4x3xT", "6x4x3xT, 6x3xR, 6x4x4xT, 6x3x3xT, 6xi32"),
    ("gesdd", "mode = 83 : ui8", "6x3x4xT", "6x3x4xT, 6x3xR, 6x3x3xT, 6x3x4xT, 6xi32"),
    ("gesvd", "mode = 78 : ui8", "6x4x3xT", "6x4x3xT, 6x3xR, 6x4x3xT, 6x3x3xT, 6xi32"),
    ("gehrd", "high = 3 : i32, low = 1 : i32", "6x3x3xT", "6x3x3xT, 6x2xT, 6xi32"),
    ("sytrd", "uplo = 76 : ui8", "6x3x3xT", "6x3x3xT, 6x3xR, 6x2xR, 6x2xT, 6xi32"),
    ("gtsv", "", "6x3xT, 6x3xT, 6x3xT, 6x3x2xT", "6x3xT, 6x3xT, 6x3xT, 6x3x2xT, 6xi32"),
];

/// The routines whose results differ for complex matrices: with the results for real ones, then for complex ones.
const EIGENVALUES: &[(&str, &str, &str, [&str; 2])] = &[
    (
        "geev",
        "compute_left = 78 : ui8, compute_right = 86 : ui8",
        "6x3x3xT",
        ["6x3xT, 6x3xT, 6x3x3xC, 6x3x3xC, 6xi32", "6x3xT, 6x3x3xC, 6x3x3xC, 6xi32"],
    ),
    (
        "gees",
        "mode = 86 : ui8, sort = 78 : ui8",
        "6x3x3xT",
        ["6x3x3xT, 6x3x3xT, 6x3xT, 6x3xT, 6xi32, 6xi32", "6x3x3xT, 6x3x3xT, 6x3xT, 6xi32, 6xi32"],
    ),
];

const TYPES: [(char, DType, [&str; 3]); 4] = [
    ('s', DType::F32, ["f32", "f32", "complex<f32>"]),
    ('d', DType::F64, ["f64", "f64", "complex<f64>"]),
    ('c', DType::C64, ["complex<f32>", "f32", "complex<f32>"]),
    ('z', DType::C128, ["complex<f64>", "f64", "complex<f64>"]),
];

/// Returns the types of a list such as `6x3xT, 6xi32` in text. `T`, `R` and `C` stand for the names `same`, `real` and
/// `complex`.
fn types(list: &str, [same, real, complex]: [&str; 3]) -> Vec<String> {
    let with = |ty: &str| ty.replace('T', same).replace('R', real).replace('C', complex);
    list.split(", ").map(|ty| format!("tensor<{}>", with(ty))).collect()
}

fn name(letter: char, routine: &str, is_complex: bool) -> String {
    let routine = match (routine, is_complex) {
        ("syevd", true) => "heevd",
        ("sytrd", true) => "hetrd",
        ("orgqr", true) => "ungqr",
        ("ormqr", true) => "unmqr",
        (routine, _) => routine,
    };
    format!("lapack_{letter}{routine}_ffi")
}

fn program(target: &str, attrs: &str, operands: &[String], results: &[String]) -> String {
    let args: Vec<String> = operands.iter().enumerate().map(|(i, ty)| format!("%a{i}: {ty}")).collect();
    let names: Vec<String> = (0..operands.len()).map(|i| format!("%a{i}")).collect();
    let (count, given) = (results.len(), results.join(", "));
    let all: Vec<String> = (0..count).map(|i| if count == 1 { "%0".into() } else { format!("%0#{i}") }).collect();
    let result = if count == 1 { "%0".into() } else { format!("%0:{count}") };
    format!(
        "func.func @main({}) -> ({given}) {{
          {result} = stablehlo.custom_call @{target}({}) {{{attrs}}} : ({}) -> ({given})
          return {} : {given}
        }}",
        args.join(", "),
        names.join(", "),
        operands.join(", "),
        all.join(", ")
    )
}

fn parse(source: &str) -> Module {
    text::parse("test", source, &crate::OPS).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

fn inputs(module: &Module) -> Vec<Literal> {
    let func = module.main().expect("a main function");
    func.body.args().iter().map(|&v| input(func.body.ty(v).as_tensor().expect("a tensor"))).collect()
}

fn input(t: &shardwise_ir::TensorType) -> Literal {
    let shape = &t.shape[..];
    let [rows, columns] = [shape.len().checked_sub(2), shape.len().checked_sub(1)].map(|d| d.map_or(1, |d| shape[d]));
    let element = |k: usize| {
        let (b, i, j) = (k / (rows * columns), k / columns % rows, k % columns);
        let number = |i: usize, j: usize| ((7 * b + 3 * i * j + i + j) % 11) as f64 / 8.0 - 0.6;
        let im = if i == j || rows != columns { 0.0 } else { (i as f64 - j as f64) / 4.0 };
        Complex64::new(number(i, j) + if i == j { 6.0 } else { 0.0 }, im)
    };
    let n = t.size();
    match t.dtype {
        DType::F32 => Literal::new(shape, &(0..n).map(|k| element(k).re as f32).collect::<Vec<_>>()),
        DType::F64 => Literal::new(shape, &(0..n).map(|k| element(k).re).collect::<Vec<_>>()),
        DType::C64 => {
            let narrow = |z: Complex64| Complex32::new(z.re as f32, z.im as f32);
            Literal::new(shape, &(0..n).map(|k| narrow(element(k))).collect::<Vec<_>>())
        }
        DType::C128 => Literal::new(shape, &(0..n).map(element).collect::<Vec<_>>()),
        _ => Literal::zeros(t.dtype, shape).to_dense(),
    }
}

fn config(options: &str) -> String {
    format!("mhlo.backend_config = {{{options}}}")
}

fn run_call(target: &str, options: &str, operands: &[String], results: &[String]) -> Vec<Literal> {
    let module = parse(&program(target, &config(options), operands, results));
    run_split(&module, &inputs(&module))
}

#[test]
fn all_routines_of_all_types_run_split_over_the_batch() {
    for (letter, dtype, names) in TYPES {
        let is_complex = dtype.is_complex();
        for (routine, options, operands, results) in CALLS {
            let target = name(letter, routine, is_complex);
            run_call(&target, options, &types(operands, names), &types(results, names));
        }
        for (routine, options, operands, results) in EIGENVALUES {
            let target = name(letter, routine, is_complex);
            run_call(&target, options, &types(operands, names), &types(results[usize::from(is_complex)], names));
        }
    }
}

#[test]
fn names_are_divided() {
    let name = super::lapack_name;
    assert_eq!(name("lapack_ssyevd_ffi"), Some((DType::F32, "syevd")));
    assert_eq!(name("lapack_saé_ffi"), Some((DType::F32, "aé")));
    assert_eq!(name("lapack_z_ffi"), Some((DType::C128, "")));
    let others = ["lapack_csyevd_ffi", "lapack_dunmqr_ffi", "lapack_é_ffi", "lapack__ffi", "lapack_ffi", "spotrf"];
    assert!(others.iter().all(|other| name(other).is_none()));
}

/// Checks that every byte of every result is written: engines pass memory with arbitrary contents.
#[test]
fn results_do_not_depend_on_what_was_in_memory() {
    let modes = [("gees", "mode = 78 : ui8, sort = 78 : ui8", "3x3xT", "3x3xT, 3x3xT, 3xT, 3xT, i32, i32")];
    for (routine, options, operands, results) in CALLS.iter().chain(&modes) {
        let names = TYPES[1].2;
        let target = name('d', routine, false);
        let module = parse(&program(&target, &config(options), &types(operands, names), &types(results, names)));
        let main = module.main().expect("a main function");
        let call = module.view(&main.body, main.body.walk()[0]);
        let batch = Batch::of(&call).expect("a call");
        let x = inputs(&module);
        let given: Vec<&[u8]> = x.iter().zip(&batch.operand_bytes).map(|(x, &n)| &x.raw_bytes()[..n]).collect();
        let run = |byte: u8| {
            // Words, so that the bytes are aligned.
            let words = |&bytes: &usize| vec![u64::from_ne_bytes([byte; 8]); bytes.div_ceil(8)];
            let mut memory: Vec<Vec<u64>> = batch.result_bytes.iter().map(words).collect();
            let parts = memory.iter_mut().zip(&batch.result_bytes);
            let mut parts: Vec<&mut [u8]> = parts.map(|(m, &n)| &mut bytemuck::cast_slice_mut(m)[..n]).collect();
            batch.run(&given, &mut parts);
            parts.iter().map(|part| part.to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(run(0), run(0xA5), "{routine} with {options}");
    }
}

#[test]
fn infos_are_zero() {
    for (routine, options, operands, results) in CALLS.iter().filter(|(.., results)| results.ends_with("i32")) {
        let names = TYPES[3].2;
        let found = run_call(&name('z', routine, true), options, &types(operands, names), &types(results, names));
        let info = found.last().expect("an info");
        assert!(info.to_i64s().iter().all(|&i| i == 0), "{routine}: {info:?}");
    }
}

#[test]
fn a_factor_by_hand() {
    let text = program(
        "lapack_dpotrf_ffi",
        &config("uplo = 76 : ui8"),
        &types("2x2xT", TYPES[1].2),
        &types("2x2xT, i32", TYPES[1].2),
    );
    let a = Literal::new([2, 2], &[4.0, 2.0, 2.0, 5.0]);
    let found = run_split(&parse(&text), &[a]);
    assert_eq!(found, [Literal::new([2, 2], &[2.0, 2.0, 1.0, 2.0]), Literal::new([], &[0i32])]);
}

#[test]
fn other_machines_have_other_names() {
    let f32s = TYPES[0].2;
    for (target, config, operands, results) in [
        ("Qr", "", "6x4x3xT", "6x4x3xT, 6x3xT"),
        ("ProductOfElementaryHouseholderReflectors", "", "6x4x3xT, 6x3xT", "6x4x3xT"),
        ("Eigh", "backend_config = \"1,1,100,1e-6\"", "6x3x3xT", "6x3x3xT, 6x3xT"),
    ] {
        let module = parse(&program(target, config, &types(operands, f32s), &types(results, f32s)));
        run_split(&module, &inputs(&module));
    }
    let text = program("LuDecomposition", "", &types("2x2xT", f32s), &types("2x2xT, 2xi32, 2xi32", f32s));
    let found = run_split(&parse(&text), &[Literal::new([2, 2], &[1f32, 2.0, 4.0, 4.0])]);
    let expected =
        [Literal::new([2, 2], &[4f32, 4.0, 0.25, 1.0]), Literal::new([2], &[1i32, 1]), Literal::new([2], &[1i32, 0])];
    assert_eq!(found, expected);
}

/// Calls that are refused, with a part of the message.
const WRONG: &[(&str, &str, &str, &str, &str)] = &[
    ("lapack_spotrf_ffi", "", "3x3xT", "3x3xT, i32", "`uplo` must be one of 76 ('L'), 85 ('U')"),
    ("lapack_spotrf_ffi", "uplo = 1 : ui8", "3x3xT", "3x3xT, i32", "`uplo` must be one of"),
    ("lapack_spotrf_ffi", "uplo = 76 : ui8", "3x2xT", "3x2xT, i32", "must be square"),
    ("lapack_dpotrf_ffi", "uplo = 76 : ui8", "3x3xT", "3x3xT, i32", "operand 0 must have the element type f64"),
    ("lapack_sgetrf_ffi", "", "3xT", "3xT, i32, i32", "in front of those of the matrices"),
    ("lapack_sgetrf_ffi", "", "3x3xT, 3x3xT", "3x3xT, 3xi32, i32", "there must be 1 operands"),
    ("lapack_sorgqr_ffi", "", "3x3xT, 4xT", "3x3xT", "no more reflectors than columns"),
    ("lapack_sorgqr_ffi", "", "2x3x3xT, 3xT", "2x3x3xT", "in front of those of the matrices"),
    ("lapack_sormqr_ffi", "left = 1 : i32, transpose = true", "3x3xT, 3xT, 3x3xT", "3x3xT", "must be true or false"),
    (
        "lapack_sgees_ffi",
        "mode = 86 : ui8, sort = 83 : ui8",
        "3x3xT",
        "3x3xT, 3x3xT, 3xT, 3xT, i32, i32",
        "`sort` must be one of 78 ('N')",
    ),
    ("lapack_sgehrd_ffi", "low = 0 : i32, high = 3 : i32", "3x3xT", "3x3xT, 2xT, i32", "must be rows, in order"),
    ("lapack_sgtsv_ffi", "", "3xT, 3xT, 2xT, 3x1xT", "3xT, 3xT, 2xT, 3x1xT, i32", "same number of rows"),
];

#[test]
fn wrong_calls_are_refused() {
    for (target, options, operands, results, message) in WRONG {
        let names = TYPES[0].2;
        let module = parse(&program(target, &config(options), &types(operands, names), &types(results, names)));
        let found = verify(&module).to_string();
        assert!(found.contains("lapack-call") && found.contains(message), "{target}: {found}");
    }
    let text = program("lapack_sgetrf_ffi", "", &types("3x3xT", TYPES[0].2), &types("3x3xT, 2xi32, i32", TYPES[0].2));
    assert!(verify(&parse(&text)).to_string().contains("cannot have these result types"));
}

/// Runs calls on no matrix, on matrices without elements, and on elements that are not finite.
#[test]
fn edges() {
    for (letter, dtype, names) in TYPES {
        for (routine, options, operands, results) in CALLS {
            let empty = |list: &str| list.replace("6x", "0x");
            let target = name(letter, routine, dtype.is_complex());
            run_call(&target, options, &types(&empty(operands), names), &types(&empty(results), names));
        }
        for (routine, size) in [("getrf", "2x0x3xT|2x0x3xT, 2x0xi32, 2xi32"), ("geqrf", "3x0xT|3x0xT, 0xT")] {
            let (operands, results) = size.split_once('|').expect("two lists");
            run_call(&name(letter, routine, false), "", &types(operands, names), &types(results, names));
        }
    }
    for (routine, options, operands, results) in CALLS.iter().filter(|(.., operands, _)| !operands.contains(", ")) {
        let (operands, results) = (types(operands, TYPES[1].2), types(results, TYPES[1].2));
        let module = parse(&program(&name('d', routine, false), &config(options), &operands, &results));
        for x in [f64::NAN, f64::INFINITY] {
            let given = inputs(&module).remove(0);
            let with_x = |i: usize| if i.is_multiple_of(5) { x } else { given.get_f64(i) };
            let given = Literal::from_fn(given.shape(), with_x);
            crate::shard_test::run(&module, &[given]);
        }
    }
}

const SELECTION: &str = r#"
func.func private @top_k_gt_f32_comparator(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}"#;

fn selection(comparator: &str) -> String {
    let types = |shape: &str| [format!("tensor<{shape}xf32>"), format!("tensor<{shape}xi32>")];
    let operands = [&types("2x4")[..], &["tensor<f32>".into(), "tensor<i32>".into()]].concat();
    let attrs = "called_computations = [@top_k_gt_f32_comparator], mhlo.backend_config = {reduction_dim = 1 : i64, top_k = 2 : i64}";
    program("ApproxTopK", attrs, &operands, &types("2x2")) + comparator
}

#[test]
fn the_first_of_the_sorted_elements_are_selected() {
    let x = Literal::new([2, 4], &[1f32, 3.0, 2.0, 3.0, -1.0, -2.0, f32::INFINITY, -3.0]);
    let indices = Literal::new([2, 4], &[0i32, 1, 2, 3, 10, 11, 12, 13]);
    let init = [Literal::scalar(f32::NEG_INFINITY), Literal::scalar(-1i32)];
    let inputs = [&[x, indices][..], &init].concat();
    let found = run_split(&parse(&selection(SELECTION)), &inputs);
    let values = Literal::new([2, 2], &[3f32, 3.0, f32::INFINITY, -1.0]);
    assert_eq!(found, [values, Literal::new([2, 2], &[1i32, 3, 12, 10])]);
    // A comparator of this name that does something else is not known.
    let other = parse(&selection(&SELECTION.replace("GT", "LE")));
    let main = other.main().expect("a main function");
    let call = other.view(&main.body, main.body.walk()[0]);
    assert!(crate::approximate::Selection::of(&call).is_none());
}

#[test]
fn sparse_products() {
    let list = |n: usize, ty: &str| format!("tensor<{n}x{ty}>");
    let operands = [list(3, "f32"), list(4, "i32"), list(3, "i32"), "tensor<2x2xf32>".into()];
    let module = parse(&program("cpu_csr_sparse_dense_ffi", "", &operands, &["tensor<3x2xf32>".into()]));
    // [[1, 2], [0, 0], [0, 3]] times [[1, 10], [100, 1000]].
    let inputs = |columns: &[i32], end: i32| {
        let data = Literal::new([3], &[1f32, 2.0, 3.0]);
        let starts = Literal::new([4], &[0, 2, 2, end]);
        let x = Literal::new([2, 2], &[1f32, 10.0, 100.0, 1000.0]);
        [data, starts, Literal::new([3], columns), x]
    };
    let product = Literal::new([3, 2], &[201f32, 2010.0, 0.0, 0.0, 300.0, 3000.0]);
    assert_eq!(run_split(&module, &inputs(&[0, 1, 1], 3)), [product]);
    // The last element is in no row, so its column is not read.
    let padded = Literal::new([3, 2], &[201f32, 2010.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(run_split(&module, &inputs(&[0, 1, 2], 2)), [padded]);
    let main = module.main().expect("a main function");
    let call = module.view(&main.body, main.body.walk()[0]);
    let outside = crate::evaluate(&call, &inputs(&[0, 1, 2], 3), &mut crate::NoRegions);
    assert_eq!(outside.expect_err("column 2 is outside").code, "sparse-index");
}
