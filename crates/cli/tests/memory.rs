//! Tests the memory of whole runs, each in a separate process: the counted memory is at most the predicted memory and
//! at least nine tenths of it. The resident memory is at most 64 MiB more.

use std::process::Command;

/// The numbers that the command printed about its memory.
struct Report {
    resident: usize,
    counted: usize,
    predicted: usize,
}

fn command(name: &str, program: &str, args: &[&str]) -> (bool, String) {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("memory-{name}.mlir"));
    std::fs::write(&file, program).expect("the folder for tests can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_shardwise"));
    let output = command.arg("run").arg(&file).arg("--memory").args(args).output();
    let output = output.expect("the command starts");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn report(name: &str, program: &str) -> Report {
    let (is_success, text) = command(name, program, &["--random", "1"]);
    assert!(is_success, "{name}: {text}");
    let line = text.lines().find(|line| line.starts_with("memory:")).unwrap_or_else(|| panic!("{name}: {text}"));
    let before = |what: &str| -> usize {
        let number = line.split(what).next().and_then(|before| before.rsplit([' ', ',', ';']).next());
        number.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{name}: {what} in {line}"))
    };
    Report { resident: before(" resident"), counted: before(" by the run"), predicted: before(" predicted") }
}

/// The number of bytes by which the resident memory may exceed the predicted memory: 64 MiB. Buffers are rounded up to
/// huge pages, and a command without optimizations takes 4 MB more.
const SLACK: usize = 64 << 20;

const PROGRAMS: &[(&str, &str)] = &[
    (
        "product",
        "func.func @main(%x: tensor<1536x1536xf32>, %y: tensor<1536x1536xf32>) -> tensor<1536x1536xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1536x1536xf32>, tensor<1536x1536xf32>) -> tensor<1536x1536xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [1] : (tensor<1536x1536xf32>, tensor<1536x1536xf32>) -> tensor<1536x1536xf32>
  return %1 : tensor<1536x1536xf32>
}",
    ),
    (
        "chain",
        "func.func @main(%x: tensor<4000x1000xf32>, %y: tensor<4000x1000xf32>) -> tensor<4000x1000xf32> {
  %0 = stablehlo.tanh %x : tensor<4000x1000xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4000x1000xf32>) -> tensor<1000x4000xf32>
  %2 = stablehlo.reshape %1 : (tensor<1000x4000xf32>) -> tensor<4000x1000xf32>
  %3 = stablehlo.add %2, %y : tensor<4000x1000xf32>
  return %3 : tensor<4000x1000xf32>
}",
    ),
    (
        "sort",
        "func.func @main(%x: tensor<40x100000xf32>) -> tensor<40x100000xf32> {
  %0 = \"stablehlo.sort\"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<40x100000xf32>) -> tensor<40x100000xf32>
  return %0 : tensor<40x100000xf32>
}",
    ),
    (
        "convolution",
        "func.func @main(%x: tensor<8x128x128x32xf32>, %k: tensor<3x3x32x32xf32>) -> tensor<8x128x128x32xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x128x128x32xf32>, tensor<3x3x32x32xf32>) -> tensor<8x128x128x32xf32>
  return %0 : tensor<8x128x128x32xf32>
}",
    ),
    (
        "loop",
        "func.func @main(%x: tensor<4000x1000xf32>, %y: tensor<4000x1000xf32>) -> tensor<4000x1000xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%v = %x, %i = %zero) : tensor<4000x1000xf32>, tensor<i32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.add %v, %y : tensor<4000x1000xf32>
      stablehlo.return %w, %j : tensor<4000x1000xf32>, tensor<i32>
    }
  return %0#0 : tensor<4000x1000xf32>
}",
    ),
    (
        "collectives on eight devices",
        "sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>
func.func @main(%x: tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>}, %w: tensor<2048x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}, {}]>}) -> (tensor<2048x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %1 = stablehlo.tanh %0 : tensor<2048x1024xf32>
  return %1 : tensor<2048x1024xf32>
}",
    ),
    (
        "many small shards",
        "sdy.mesh @mesh = <[\"x\"=512, \"y\"=8]>
func.func @main(%x: tensor<5000x130xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> (tensor<5000x130xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>}, tensor<130x5000xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\", \"y\"}]>}) {
  %0 = stablehlo.tanh %x : tensor<5000x130xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<5000x130xf32>) -> tensor<130x5000xf32>
  return %0, %1 : tensor<5000x130xf32>, tensor<130x5000xf32>
}",
    ),
    (
        "an exchange between 2048 devices",
        "sdy.mesh @mesh = <[\"x\"=2048]>
func.func @main(%x: tensor<2048x2048xi8> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> (tensor<2048x2048xi8> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) {
  %0 = stablehlo.add %x, %x : tensor<2048x2048xi8>
  return %0 : tensor<2048x2048xi8>
}",
    ),
    (
        "sums that stay partial",
        "sdy.mesh @mesh = <[\"x\"=64, \"y\"=2]>
func.func @main(%x: tensor<1024x8000xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>}) -> (tensor<8000xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}], unreduced={\"x\"}>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1024x8000xbf16>, tensor<bf16>) -> tensor<8000xbf16>
  return %0 : tensor<8000xbf16>
}",
    ),
    (
        "attention",
        "func.func @main(%q: tensor<2048x512xf32>, %k: tensor<2048x512xf32>, %v: tensor<2048x512xf32>) -> tensor<2048x512xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<2048x512xf32>, tensor<2048x512xf32>) -> tensor<2048x2048xf32>
  %1 = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2048x2048xf32>
  %4 = stablehlo.exponential %3 : tensor<2048x2048xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2048x2048xf32>
  %8 = stablehlo.dot_general %7, %v, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x512xf32>) -> tensor<2048x512xf32>
  return %8 : tensor<2048x512xf32>
}",
    ),
];

#[test]
fn runs_take_what_is_predicted() {
    let mut table = String::new();
    let mut is_right = true;
    for (name, program) in PROGRAMS {
        let Report { resident, counted, predicted } = report(name, program);
        table += &format!("{name}: {predicted} predicted, {counted} counted, {resident} resident\n");
        is_right &= counted <= predicted && counted >= predicted / 10 * 9 && resident <= predicted + SLACK;
    }
    assert!(is_right, "{table}");
    eprint!("{table}");
}

#[test]
fn what_does_not_fit_is_refused_at_its_line() {
    let splat = "func.func @main() -> tensor<1073741824xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<1073741824xf32>
  %1 = stablehlo.tanh %0 : tensor<1073741824xf32>
  return %1 : tensor<1073741824xf32>
}";
    let argument = "func.func @main(%x: tensor<1073741824xf32>) -> tensor<1073741824xf32> {
  return %x : tensor<1073741824xf32>
}";
    let temporary = "func.func @main(%x: tensor<1x1048576xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x1048576xf32>) -> tensor<1024x1048576xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<1024x1048576xf32>) -> tensor<1048576x1024xf32>
  %2 = \"stablehlo.sort\"(%1) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<1048576x1024xf32>) -> tensor<1048576x1024xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1048576x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  return %3 : tensor<1024xf32>
}";
    for engine in ["host", "interp"] {
        for (name, program) in [("splat", splat), ("argument", argument), ("temporary", temporary)] {
            let text = refused(name, program, &["--random", "1", "--engine", engine]);
            assert!(text.contains("error[run-memory]: out of memory"), "{name}: {text}");
            assert!(text.contains(&format!("memory-{name}.mlir:")), "{name}: {text}");
        }
    }
}

/// Runs a program under a limit of a hundred megabytes, and returns its standard error. Panics if the command succeeds,
/// or if its resident memory reaches 150 MB.
fn refused(name: &str, program: &str, args: &[&str]) -> String {
    let (is_success, text) = command(name, program, &[args, &["--max-bytes", "100000000"]].concat());
    assert!(!is_success, "{name}: {text}");
    let resident = text.split(" resident").next().and_then(|before| before.rsplit(' ').next());
    let resident: usize = resident.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(resident < 150_000_000, "{name}: {text}");
    eprint!("{name}: {text}");
    text
}

/// Returns the bytes of an archive whose member `arg0.npy` has the header of an f32 array of `size` elements, and
/// `count` compressed zeros behind it. It is written by hand, because compressing gigabytes takes too long. The
/// member's checksum is wrong, which is only known when the whole member has been read.
fn archive_of_zeros(size: usize, count: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({size},), }}");
    let header = format!("\u{93}NUMPY\u{1}\0v\0{header:<117}\n").chars().map(|c| c as u8).collect::<Vec<u8>>();
    let size = header.len() + 4 * count;
    // A block that is not compressed holds the header.
    let mut data = [&[0, 128, 0, 127, 255][..], &header].concat();
    // A block with fixed codes repeats a zero. Codes are written from their first bit on, and numbers from their last.
    let (mut bits, mut filled) = (0u32, 0);
    let mut put = |value: u32, length: u32| {
        bits |= value << filled;
        filled += length;
        while filled >= 8 {
            data.push(bits as u8);
            (bits, filled) = (bits >> 8, filled - 8);
        }
    };
    let code = |code: u32, length: u32| code.reverse_bits() >> (32 - length);
    put(0b011, 3);
    put(code(0b0011_0000, 8), 8);
    let repeats = (4 * count - 1) / 258;
    (0..repeats).for_each(|_| put(code(0b1100_0101, 8), 8 + 5));
    (0..4 * count - 1 - 258 * repeats).for_each(|_| put(code(0b0011_0000, 8), 8));
    put(0, 7);
    put(0, 7);
    // Both headers of the member have its method, time, date, checksum, sizes and the length of its name in common.
    let name = b"arg0.npy";
    let [size, compressed] = [size, data.len()].map(|n| u32::try_from(n).expect("a size of 32 bits"));
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let common = [&[20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0][..], &words(&[0, compressed, size]), &[8, 0, 0, 0]].concat();
    let local = [&b"PK\x03\x04"[..], &common, name, &data].concat();
    let central = [&b"PK\x01\x02\x14\0"[..], &common, &[0; 14], name].concat();
    let [at, length] = [local.len() as u32, central.len() as u32];
    let end = [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &words(&[length, at]), &[0, 0]].concat();
    [local, central, end].concat()
}

#[test]
fn four_gigabytes_in_an_archive_are_refused() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("memory-zeros.npz");
    let inputs = ["--inputs", file.to_str().expect("the folder's name is text")];
    let program = |count: usize| {
        format!(
            "func.func @main(%x: tensor<{count}xf32>) -> tensor<{count}xf32> {{\n  return %x : tensor<{count}xf32>\n}}"
        )
    };
    // The archive is right: what it holds is read if it is small.
    std::fs::write(&file, archive_of_zeros(1000, 1000)).expect("the folder for tests can be written");
    let (_, text) = command("zeros", &program(1000), &inputs);
    assert!(text.contains("Invalid checksum"), "{text}");
    const COUNT: usize = 1_000_000_000;
    std::fs::write(&file, archive_of_zeros(COUNT, COUNT)).expect("the folder for tests can be written");
    let text = refused("whole", &program(COUNT), &inputs);
    assert!(text.contains("error[run-memory]: out of memory") && text.contains("memory-whole.mlir:1:"), "{text}");
    // The member says that it has less than it holds.
    std::fs::write(&file, archive_of_zeros(10_000_000, COUNT)).expect("the folder for tests can be written");
    let text = refused("part", &program(10_000_000), &inputs);
    assert!(text.contains("error[npz-length]") && text.contains("more bytes"), "{text}");
    std::fs::remove_file(&file).expect("the file was written");
}
