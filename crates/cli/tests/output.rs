//! Tests where the command writes its results, and in which forms.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SUM: &str = r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("output-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    folder
}

fn program(folder: &Path, text: &str) -> String {
    let file = folder.join("program.mlir");
    std::fs::write(&file, text).expect("the folder for tests can be written");
    file.display().to_string()
}

fn shardwise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shardwise")).args(args).output().expect("the command starts")
}

fn printed(args: &[&str]) -> String {
    let output = shardwise(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn failed(args: &[&str]) -> String {
    let output = shardwise(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_file_has_what_would_be_printed() {
    let folder = folder("same");
    let (program, file) = (program(&folder, SUM), folder.join("out.mlir").display().to_string());
    for args in [&["propagate"][..], &["partition"], &["partition", "--hlo"], &["opt", "--pass", "propagate,lower"]] {
        let args = [args, &[&program]].concat();
        let expected = printed(&args);
        assert_eq!(printed(&[&args[..], &["-o", &file]].concat()), "", "{args:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), expected, "{args:?}");
    }
}

#[test]
fn a_command_that_fails_leaves_the_old_file() {
    let folder = folder("failed");
    let (program, file) = (program(&folder, "func.func @main( {"), folder.join("out.mlir"));
    std::fs::write(&file, "old").unwrap();
    failed(&["propagate", &program, "-o", &file.display().to_string()]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    let nowhere = folder.join("missing/out.mlir").display().to_string();
    let error = failed(&["propagate", &program, "-o", &nowhere]);
    assert!(error.starts_with("error[output-unwritable]: cannot write the output: "), "{error}");
}

#[test]
fn a_dump_that_cannot_be_written_fails() {
    let folder = folder("dump");
    let program = program(&folder, SUM);
    for command in [&["run", "--random", "1"][..], &["propagate"], &["partition"], &["opt", "--pass", "propagate"]] {
        let error = failed(&[command, &[&program, "--dump", &program]].concat());
        assert!(error.starts_with("error[dump-unwritable]"), "{command:?}: {error}");
    }
}

/// Tests that each program of a file has its own folder of stages, also if an earlier one has the same stages.
#[test]
fn the_stages_of_each_program_of_a_file_are_kept() {
    let folder = folder("stages");
    let of = |size: usize| {
        format!(
            "func.func @main(%x: tensor<{size}xf32>) -> tensor<{size}xf32> {{\n  return %x : tensor<{size}xf32>\n}}\n"
        )
    };
    let program = program(&folder, &format!("{}// -----\n{}", of(2), of(3)));
    for (name, command) in [("opt", &["opt", "--pass", "import"][..]), ("run", &["run", "--random", "1"])] {
        let dump = folder.join(name);
        printed(&[command, &["--split-input-file", &program, "--dump", &dump.display().to_string()]].concat());
        for (part, ty) in [("01", "tensor<2xf32>"), ("02", "tensor<3xf32>")] {
            for stage in ["00_input.mlir", "01_import.mlir"] {
                let text = std::fs::read_to_string(dump.join(part).join(stage)).unwrap();
                assert!(text.contains(ty), "{name} {part} {stage}: {text}");
            }
        }
        let others = std::fs::read_dir(&dump).unwrap().count();
        assert_eq!(others, 2, "{name}");
    }
}

/// Runs the command with standard output into a pipe, and returns its exit code and what it writes into the pipe and on
/// standard error.
#[cfg(target_os = "linux")]
fn into_a_pipe(args: &[&str]) -> (Option<i32>, String, String) {
    let output = shardwise(args);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[cfg(target_os = "linux")]
#[test]
fn results_go_into_no_pipe_and_programs_do() {
    let folder = folder("pipe");
    let program = program(&folder, SUM);
    let (code, written, error) = into_a_pipe(&["partition", &program, "-o", "/dev/stdout"]);
    assert_eq!((code, written), (Some(0), printed(&["partition", &program])), "{error}");
    // Refused before the program is read: this one is missing.
    let missing = folder.join("missing.mlir").display().to_string();
    let (code, written, error) = into_a_pipe(&["run", "--random", "1", &missing, "--outputs", "/dev/stdout"]);
    assert_eq!((code, &*written), (Some(1), ""));
    assert!(error.starts_with("error[npz-unwritable]: cannot write the outputs into a pipe or terminal"), "{error}");
    assert!(error.contains("name a file"), "{error}");
    printed(&["run", "--random", "1", &program, "--outputs", "/dev/null"]);
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    for args in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_shardwise")).args(args).stdout(full).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        assert!(error.starts_with("error[output-unwritable]: cannot write to standard output"), "{args:?}: {error}");
        assert!(!printed(args).is_empty());
    }
    assert_eq!(shardwise(&["--no-such-option"]).status.code(), Some(2));
}

#[test]
fn collectives_as_json() {
    let folder = folder("json");
    let program = program(&folder, SUM);
    let unused = shardwise(&["partition", &program, "--communication", "--replica-groups", "dense"]);
    assert_eq!(unused.status.code(), Some(2));
    let text = printed(&["partition", &program, "--communication", "--format", "json"]);
    let all: Value = serde_json::from_str(&text).unwrap();
    let collectives = all["collectives"].as_array().unwrap();
    assert_eq!((collectives.len(), &all["bytes_received"]), (1, &48.into()), "{text}");
    let c = &collectives[0];
    assert_eq!((&c["kind"], &c["axes"]), (&"all-reduce".into(), &vec!["x", "y"].into()));
    assert_eq!((&c["operand_type"], &c["count"]), (&"f32[8]".into(), &1.into()));
    assert!(c["rejected"]["bytes_received"].as_u64().is_some_and(|bytes| bytes > 12), "{text}");
    assert_eq!((&c["location"]["file"], &c["location"]["line"]), (&program.as_str().into(), &4.into()));
    assert!(c["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{text}");
    assert_eq!(shardwise(&["partition", &program, "--format", "json"]).status.code(), Some(2));
}

#[test]
fn all_passes_are_listed() {
    let text = printed(&["opt", "--list-passes"]);
    let names: Vec<&str> = text.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!((names[0], names.last()), ("import", Some(&"vmap")), "{text}");
    for pass in shardwise_spmd::PASSES {
        assert!(names.contains(&pass.name), "{}", pass.name);
    }
    let output = shardwise(&["opt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("<FILE>"));
}

#[test]
fn a_prediction_is_text_json_or_a_file() {
    let folder = folder("simulated");
    let program = program(&folder, SUM);
    let simulate = |more: &[&str]| printed(&[&["simulate", &program, "--topology", "v5e:2x2"], more].concat());
    let text = simulate(&[]);
    assert!(text.contains("predicted on TPU v5e (v5e:2x2), 4 devices") && text.contains("all_reduce"), "{text}");
    let json: Value = serde_json::from_str(&simulate(&["--json"])).unwrap();
    let spans = json["spans"].as_array().unwrap();
    let end = |span: &Value| span["end_us"].as_f64().unwrap();
    assert_eq!(spans.iter().map(end).fold(0.0, f64::max), json["step_us"].as_f64().unwrap());
    let moved = spans.iter().find(|span| span["is_collective"] == true).unwrap();
    assert!(moved["op"] == "stablehlo.all_reduce" && moved["source"].as_str().unwrap().ends_with("program.mlir:4:3"));
    assert_eq!(json["fits"], true);
    for name in ["a.html", "a.json", "a.pftrace", "a.xplane.pb"] {
        let file = folder.join(name).display().to_string();
        assert_eq!(simulate(&["-o", &file]), "");
        assert!(std::fs::metadata(&file).unwrap().len() > 100, "{name}");
    }
}

#[test]
fn a_measured_timeline_is_written_by_its_extension() {
    let folder = folder("measured");
    let program = program(&folder, SUM);
    assert!(printed(&["run", &program, "--random", "1", "--profile"]).contains("measured on host"));
    let file = folder.join("a.html").display().to_string();
    assert_eq!(printed(&["run", &program, "--random", "1", &format!("--profile={file}")]), "");
    assert!(std::fs::read_to_string(&file).unwrap().contains("all_reduce"));
    // The extension is checked before the program runs.
    let output = shardwise(&["run", &program, "--random", "1", "--profile=a.png"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("timeline-format"));
}

#[test]
fn a_machine_that_cannot_be_simulated_is_an_error() {
    let program = program(&folder("machines"), SUM);
    for (topology, code) in [
        (&["--topology", "v5x:2x2"][..], "machine-unknown"),
        (&["--topology", "v5e:2by2"], "topology-grid"),
        (&["--topology", "v5e:4x4"], "topology-mesh"),
        (&[], "topology-missing"),
    ] {
        let error = failed(&[&["simulate", &program], topology].concat());
        assert!(error.contains(code), "{topology:?}: {error}");
    }
}

/// Each command names the main function, which is in the second line.
#[test]
fn a_mesh_that_does_not_fit_the_topology_has_a_place() {
    let program = program(&folder("misfit"), SUM);
    for command in ["simulate", "explain", "shardings"] {
        let error = failed(&[command, &program, "--topology", "v5e:4x4"]);
        assert!(error.contains("error[topology-mesh]: the mesh has 4 devices"), "{command}: {error}");
        assert!(error.contains(&format!("{program}:2:")), "{command}: {error}");
    }
}

/// If the rows of [`SUM`]'s argument are split over one axis, devices add up whole rows, and the 8 sums are gathered:
/// half of 32 bytes. Nothing is received if the argument is not split, but then each device adds up everything.
#[test]
fn an_explanation_is_text_or_json() {
    let program = program(&folder("explained"), SUM);
    let text = printed(&["explain", &program]);
    for part in ["1 collective: 48 B received", "all-reduce over x,y", "change 1, the best", "#sdy.sharding<@mesh, [{"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let json: Value = serde_json::from_str(&printed(&["explain", &program, "--json"])).unwrap();
    let remedy = |which: &str| &json["remedies"][json[which].as_u64().unwrap() as usize];
    let (best, other) = (remedy("best"), remedy("best_with_more_work"));
    assert_eq!((&best["bytes_saved"], &best["replicates_work"]), (&32.into(), &false.into()), "{text}");
    assert_eq!((&other["bytes_saved"], &other["replicates_work"]), (&48.into(), &true.into()), "{text}");
    assert_eq!((&other["place"], &other["index"]), (&"argument".into(), &0.into()), "{text}");
    assert_eq!(other["layout"]["rust"], "P!(None, None)");
    let group = &json["groups"][0];
    assert_eq!((&group["bytes_received"], &group["location"]["line"]), (&48.into(), &4.into()));
    assert!(group["remedy"].is_u64() && group["duration_us"].is_null());
    let json = printed(&["explain", &program, "--json", "--topology", "v5e:2x2", "--overlap", "auto"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["topology"], "v5e:2x2");
    assert!(json["figures"]["step_us"].as_f64() > json["groups"][0]["exposed_us"].as_f64());
}

#[test]
fn two_programs_are_compared() {
    let (one, other) = (folder("compared-1"), folder("compared-2"));
    let first = program(&one, SUM);
    let second = program(&other, &format!("\n{}", SUM.replace("[{}, {\"x\", \"y\"}]", "[{\"x\"}, {\"y\"}]")));
    let text = printed(&["explain", &first, &second]);
    assert!(text.contains("received") && text.contains("shrinks   all-reduce for reduce"), "{text}");
    assert!(printed(&["explain", &first, &first]).ends_with("the collectives are the same\n"));
    let json: Value = serde_json::from_str(&printed(&["explain", &first, &second, "--json"])).unwrap();
    assert_eq!((&json["programs"], &json["before"]["bytes_received"]), (&vec![first, second].into(), &48.into()));
    assert_eq!(json["collectives"][0]["before"]["bytes_received"], 48);
}

#[test]
fn what_cannot_be_explained_is_an_error() {
    let folder = folder("unexplained");
    let program = program(&folder, SUM);
    let local = folder.join("local.mlir").display().to_string();
    printed(&["partition", &program, "-o", &local]);
    let broken = folder.join("broken.mlir").display().to_string();
    std::fs::write(&broken, "func.func @main( {").unwrap();
    for (args, code) in [
        (&[&*local][..], "partitioned-twice"),
        (&[&program, &local], "partitioned-twice"),
        (&[&broken], "error["),
        (&[&program, "--topology", "v5e:4x4"], "topology-mesh"),
        (&[&program, "--topology", "v5x:4x4"], "machine-unknown"),
        (&[&program, "--overlap", "auto"], "explain-topology"),
        (&["-", "-"], "file-repeated"),
    ] {
        let error = failed(&[&["explain"], args].concat());
        assert!(error.contains(code), "{args:?}: {error}");
    }
    assert_eq!(shardwise(&["explain"]).status.code(), Some(2));
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::Stdio;
    let program = program(&folder("pipe"), SUM);
    let mut command = Command::new(env!("CARGO_BIN_EXE_shardwise"));
    let mut child = command.args(["explain", &program]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A matmul whose left operand is gathered.
const GATHERED: &str = r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<1024x2048xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %w: tensor<2048x8192xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<1024x8192xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<1024x2048xi32>, tensor<2048x8192xi32>) -> tensor<1024x8192xi32>
  return %0 : tensor<1024x8192xi32>
}"#;

#[test]
fn overlap_changes_the_program_and_says_why() {
    let folder = folder("overlap");
    let program = program(&folder, GATHERED);
    let simulate = |more: &[&str]| printed(&[&["simulate", &program, "--topology", "v5e:2x2"], more].concat());
    let step = |more: &[&str]| -> f64 {
        let json: Value = serde_json::from_str(&simulate(&[&["--json"], more].concat())).unwrap();
        json["step_us"].as_f64().unwrap()
    };
    assert!(step(&["--overlap", "auto"]) < 0.9 * step(&[]));
    let text = simulate(&["--overlap", "auto"]);
    assert!(text.contains("changed: all_gather and dot_general in 4 pieces"), "{text}");
    let shown = simulate(&["--overlap", "auto", "--program"]);
    assert!(shown.contains("stablehlo.async_start") && !shown.contains("all_gather"), "{shown}");
    // The program is the one that the pass makes of the partitioned program.
    let local = folder.join("local.mlir").display().to_string();
    std::fs::write(&local, printed(&["partition", &program])).unwrap();
    let made = printed(&["opt", "--pass", "schedule{topology=v5e:2x2,overlap=auto}", &local]);
    assert!(made.contains("stablehlo.async_start") && !made.contains("all_gather"), "{made}");
    let error = failed(&["opt", "--pass", "schedule{topology=v5e:2x2,way=auto}", &local]);
    assert!(error.contains("`schedule` has no option `way`"), "{error}");
}

/// Tests a program with a change that is tried after another one, so that the times of the first trial are not those of
/// the program, and one with a single change.
#[test]
fn times_of_trials_are_told_from_that_of_the_program() {
    let folder = folder("trials");
    let cases = [
        (include_str!("../../schedule/tests/filetests/combine/two_losses.mlir"), true),
        (include_str!("../../schedule/tests/filetests/loop/layers.mlir"), false),
    ];
    for (text, has_note) in cases {
        let text = text.split("// ---- expected").next().unwrap();
        let topology = text.split_whitespace().nth(1).unwrap();
        let program = program(&folder, text);
        let shown = printed(&["simulate", &program, "--topology", topology, "--overlap", "auto"]);
        assert!(shown.contains("changed: "), "{shown}");
        assert_eq!(shown.contains("the whole program when each was tried"), has_note, "{shown}");
    }
}

#[test]
fn pictures_are_printed_or_written() {
    let folder = folder("pictures");
    let program = program(&folder, SUM);
    let text = printed(&["shardings", &program, "--topology", "v5e:2x2"]);
    assert!(text.is_ascii() && text.contains("argument 0: f32[8,4]") && text.contains("result 0: f32[8]"), "{text}");
    assert!(text.contains("dim 1: size 4, 4 shards of 1 over \"x\", \"y\""), "{text}");
    assert!(text.contains("\"x\"=2: along y, neighbours 1 link apart"), "{text}");
    assert!(printed(&["shardings", &program, "--line", "4"]).contains("reduce 0: f32[8]"));
    let out = folder.join("out");
    let out_text = out.display().to_string();
    for (format, start) in [("svg", &b"<svg "[..]), ("png", b"\x89PNG"), ("txt", b"argument 0")] {
        let listed = printed(&["shardings", &program, "-o", &out_text, "--format", format]);
        assert_eq!(listed.lines().count(), 2);
        assert!(listed.lines().all(|path| std::fs::read(path).unwrap().len() > 100), "{listed}");
        assert!(std::fs::read(out.join(format!("argument0.{format}"))).unwrap().starts_with(start));
    }
    for (wrong, code) in [(["--line", "99"], "line-empty"), (["--topology", "v5e:2x4"], "topology-mesh")] {
        let error = failed(&[&["shardings", &program][..], &wrong].concat());
        assert!(error.contains(code), "{wrong:?}: {error}");
    }
}

/// A program that prints its argument, and returns the exponential of its logarithm.
const LOG: &str = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  stablehlo.custom_call @shardwise.print(%x) {has_side_effect = true, shardwise.format = "x = {}"} : (tensor<4xf32>) -> ()
  %0 = stablehlo.log %x : tensor<4xf32>
  %1 = stablehlo.exponential %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}"#;

#[test]
fn programs_print_and_their_numbers_are_checked() {
    let folder = folder("prints");
    let program = program(&folder, LOG);
    let run = |engine: &str, x: &str, more: &[&str]| {
        let x = format!("[dense<{x}> : tensor<4xf32>]");
        shardwise(&[&["run", &program, "--engine", engine, "--args", &x][..], more].concat())
    };
    for engine in ["host", "interp"] {
        let output = run(engine, "1.0", &["--check-nans"]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "x = [1. 1. 1. 1.]\n");
        assert!(output.status.success());
        let wrong = "[1.0, 2.0, 3.0, -1.0]";
        assert!(run(engine, wrong, &[]).status.success());
        let output = run(engine, wrong, &["--check-nans"]);
        let error = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains("`stablehlo.log` makes numbers that are NaN") && error.contains("program.mlir:4"),
            "{error}"
        );
        assert!(error.contains("on devices 1") && error.contains("1 of 2 elements"), "{error}");
        let output = run(engine, "0.0", &["--check-infs"]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("makes numbers that are infinite"));
    }
}

/// Elements in the padding of shards are not checked: 0 / 0 there is no mistake of the program.
#[test]
fn numbers_in_padding_are_not_checked() {
    let folder = folder("padding");
    let program = program(
        &folder,
        r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<5x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<5x6xf32> {
  %0 = stablehlo.divide %x, %x : tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}"#,
    );
    for engine in ["host", "interp"] {
        let run = |x: &str| {
            let x = format!("[dense<{x}> : tensor<5x6xf32>]");
            shardwise(&["run", &program, "--engine", engine, "--args", &x, "--check-nans"])
        };
        let output = run("2.0");
        assert!(output.status.success(), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
        let error = String::from_utf8_lossy(&run("0.0").stderr).to_string();
        assert!(error.contains("30 of 30 elements") && error.contains("on devices 0, 1, 2"), "{engine}: {error}");
    }
}

#[test]
fn options_for_partitioned_programs_are_refused_for_others() {
    let folder = folder("interpreted");
    let crash = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/crashes/run_parallel_partitioned.mlir");
    let program = program(&folder, &std::fs::read_to_string(crash).unwrap());
    let run = ["run", &program, "--random", "1"];
    assert!(printed(&run).starts_with("out0: f32[2]"));
    for option in ["--check", "--repeat=2", "--profile"] {
        let error = failed(&[&run[..], &[option]].concat());
        assert!(error.contains("error[run-as-it-stands]: `--"), "{error}");
    }
}

const TURNS: &str = "func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<1000> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<f32>
  cond {
    %1 = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.cosine %y : tensor<f32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %2 : tensor<i32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
}";

#[test]
fn each_repetition_has_the_limit_of_steps_for_itself() {
    let program = program(&folder("repetitions"), TURNS);
    let run = ["run", &program, "--random", "1", "--engine", "interp", "--max-steps"];
    let text = printed(&[&run[..], &["40000", "--repeat", "50"]].concat());
    assert!(text.starts_with("median of 50 runs: "), "{text}");
    let error = failed(&[&run[..], &["1000", "--repeat", "50"]].concat());
    assert!(error.contains("error[run-steps]") && error.contains("help: `--max-steps N` sets"), "{error}");
}

#[test]
fn mistakes_in_arguments_have_their_line() {
    let program = program(&folder("arguments"), TURNS);
    for (text, at) in [("[dense<a> : tensor<f32>]", "--args:1:"), ("[\n  dense<a> : tensor<f32>\n]", "--args:2:")] {
        let error = failed(&["run", &program, "--args", text]);
        assert!(error.contains(at), "{error}");
    }
}

#[test]
fn constants_may_be_infinite() {
    let folder = folder("infinite_constants");
    for dialect in ["stablehlo", "chlo", "sdy"] {
        let text = format!(
            "func.func @main() -> tensor<f32> {{\n  \
             %0 = \"{dialect}.constant\"() <{{value = dense<0x7F800000> : tensor<f32>}}> : () -> tensor<f32>\n  \
             return %0 : tensor<f32>\n}}"
        );
        let program = program(&folder, &text);
        for engine in ["host", "interp"] {
            printed(&["run", &program, "--engine", engine, "--check-infs"]);
        }
    }
}

/// Rates of a machine by hand: an all-reduce writes 1 kB in a microsecond, and an instruction takes 10 us beside its
/// work.
const HOST: &str = "host host \"By hand\"\nworkers 2 | by hand\nmemory_bytes 1e9 | by hand\n\
    instruction_s 1e-5 | by hand\nspeedup 2 | by hand\nstream.1000 1e9 | by hand\n\
    collective.stablehlo.all_reduce.1000 1e9 |? by hand\n\
    peak.f32 1e9 | by hand\nlevel.memory.bytes 1e9 | by hand\nlevel.memory.bytes_per_s 1e9 | by hand\n\
    error.collective 0.5 | by hand\n";

#[test]
fn a_host_is_predicted_from_a_file() {
    let folder = folder("hosts");
    let program = program(&folder, SUM);
    let file = folder.join("machine.txt").display().to_string();
    std::fs::write(&file, HOST).unwrap();
    for topology in [&["--topology", &format!("{file}:4")][..], &["--topology", "host:4", "--machine", &file]] {
        let json: Value =
            serde_json::from_str(&printed(&[&["simulate", &program, "--json"], topology].concat())).unwrap();
        assert_eq!(json["topology"], "host:4");
        let spans = json["spans"].as_array().unwrap();
        let moved = spans.iter().find(|span| span["is_collective"] == true).unwrap();
        assert_eq!((&moved["uncertainty"], &moved["op"]), (&0.5.into(), &"stablehlo.all_reduce".into()));
        assert!(moved["end_us"].as_f64().unwrap() - moved["start_us"].as_f64().unwrap() > 10.0, "{moved}");
    }
    let text = printed(&["run", &program, "--random", "1", "--profile", "--machine", &file]);
    assert!(text.contains("of the limit") && text.contains("all_reduce"), "{text}");
    let broken = folder.join("broken.txt").display().to_string();
    std::fs::write(&broken, HOST.replace("stream.1000", "streem.1000")).unwrap();
    let cases = [(format!("{broken}:4"), "machine-text"), (format!("{file}:2x2"), "topology-grid")];
    for (topology, code) in cases.into_iter().chain([("host:4".into(), "calibrate")]) {
        let error = failed(&["simulate", &program, "--topology", &topology]);
        assert!(error.contains(code), "{topology}: {error}");
    }
}
