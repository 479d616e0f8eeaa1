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

/// Returns an empty folder for a test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("output-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for tests can be written");
    folder
}

/// Writes a program to a file in the folder, and returns the path of the file.
fn program(folder: &Path, text: &str) -> String {
    let file = folder.join("program.mlir");
    std::fs::write(&file, text).expect("the folder for tests can be written");
    file.display().to_string()
}

fn shardwise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shardwise")).args(args).output().expect("the command starts")
}

/// Runs the command, which must succeed, and returns its standard output.
fn printed(args: &[&str]) -> String {
    let output = shardwise(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
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
    assert_eq!(shardwise(&["propagate", &program, "-o", &file.display().to_string()]).status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    let nowhere = folder.join("missing/out.mlir").display().to_string();
    let output = shardwise(&["propagate", &program, "-o", &nowhere]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error[output-unwritable]: cannot write the output: "));
}

#[test]
fn a_dump_that_cannot_be_written_fails() {
    let folder = folder("dump");
    let program = program(&folder, SUM);
    for command in [&["run", "--random", "1"][..], &["propagate"], &["partition"], &["opt", "--pass", "propagate"]] {
        let output = shardwise(&[command, &[&program, "--dump", &program]].concat());
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error[dump-unwritable]"), "{command:?}");
    }
}

#[test]
fn collectives_as_json() {
    let folder = folder("json");
    let program = program(&folder, SUM);
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
        let output = shardwise(&[&["simulate", &program], topology].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(code), "{topology:?}");
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
        let output = shardwise(&["simulate", &program, "--topology", &topology]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && error.contains(code), "{topology}: {error}");
    }
}
