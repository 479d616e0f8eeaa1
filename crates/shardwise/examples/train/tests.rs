//! Tests of the example: its losses are those of JAX and optax, and a run that is killed and resumed ends bit for bit
//! as one that was not.

use super::*;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use train::record::{parse, picture};

/// Returns the options of `oracle/training.py`.
fn tiny() -> Options {
    let model = Model { width: 32, hidden: 64, layers: 2, sequence: 32, compute: F32, ..Options::default().model };
    Options { steps: 100, batch: 8, evaluate_every: 100, model, ..Options::default() }
}

fn digits() -> Vec<u8> {
    (0..5000).map(|i: u64| (i * i).to_string()).collect::<Vec<_>>().join(" ").into_bytes()
}

/// Trains on the batches of `oracle/training.py`, and returns the loss of each step.
fn losses(options: &Options) -> Vec<f32> {
    let [data, model] = options.mesh;
    set_mesh(Mesh::auto([("data", data), ("model", model)]).unwrap());
    let text = Text { train: digits(), test: digits() };
    let (_, record) = train(options, &text).unwrap_or_else(|e| panic!("{e}"));
    record.rows.iter().map(|row| row.train).collect()
}

/// Returns the losses of JAX and optax in the row `name` of `testdata/training.txt`.
fn recorded(name: &str) -> Vec<f32> {
    let table = include_str!("../../../../testdata/training.txt");
    let line = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" | "));
    let word = |word| f32::from_bits(u32::from_str_radix(word, 16).unwrap());
    line.expect("a line of the table").split(' ').map(word).collect()
}

/// Returns the largest relative distances from JAX's losses, in the first ten steps and in all.
fn distances(found: &[f32], name: &str) -> [f32; 2] {
    let expected = recorded(name);
    assert_eq!(found.len(), expected.len());
    let distances: Vec<f32> = found.iter().zip(&expected).map(|(a, b)| (a - b).abs() / b.abs()).collect();
    [10, found.len()].map(|n| distances[..n].iter().fold(0.0, |a: f32, &b| if b > a || b.is_nan() { b } else { a }))
}

#[test]
fn losses_are_jaxs_on_each_mesh() {
    let on = |mesh| Options { mesh, ..tiny() };
    let with = |change: fn(&mut Options)| {
        let mut options = tiny();
        change(&mut options);
        options
    };
    let cases = [
        ("f32", on([1, 1])),
        ("f32", on([2, 1])),
        ("f32", on([1, 2])),
        ("f32", on([4, 2])),
        ("f32", on([2, 4])),
        ("f32", on([8, 1])),
        ("f32", with(|o| o.microbatches = 2)),
        ("f32", with(|o| o.model.remat = false)),
        ("bf16", with(|o| o.model.compute = BF16)),
        ("experts", with(|o| o.model.experts = 4)),
    ];
    let mut wrong = vec![];
    for (name, options) in cases {
        let [early, late] = distances(&losses(&options), name);
        let [early_limit, late_limit] = if name == "bf16" { [2e-2; 2] } else { [1e-5, 1e-4] };
        let facts = format!(
            "{name} on {:?}, {} microbatches, remat {}: {early:.1e} in 10 steps, {late:.1e} in 100",
            options.mesh, options.microbatches, options.model.remat
        );
        println!("{facts}");
        if !(early <= early_limit && late <= late_limit) {
            wrong.push(facts);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// ── kills
/// The variable of the environment that has the arguments of a run, one a line.
const ARGUMENTS: &str = "SHARDWISE_TRAIN_ARGUMENTS";
/// The variable of the environment that has the number of kills. The default is 3.
const KILLS: &str = "SHARDWISE_TRAIN_KILLS";

/// Runs the example, if the environment has arguments for it. This test does nothing by itself: others start it in a
/// process that they can kill.
#[test]
fn run_in_a_process() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let options = Options::parse(arguments.lines().map(String::from)).unwrap().unwrap();
    run(&options).unwrap_or_else(|e| panic!("{e}"));
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("shardwise-train-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const STEPS: usize = 8;

fn start(folder: &Path, text: &Path) -> Child {
    let save = if folder.join("model.safetensors").exists() { "--resume" } else { "--save" };
    let sizes = "--width\n32\n--hidden\n64\n--layers\n2\n--sequence\n32\n--batch\n8\n--sample\n0";
    let arguments = format!(
        "{save}\n{}\n--text\n{}\n--steps\n{STEPS}\n--save-every\n1\n--evaluate-every\n1\n{sizes}",
        folder.display(),
        text.display()
    );
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::run_in_a_process", "--nocapture"]).env(ARGUMENTS, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Kills the run after it has printed `lines` lines about steps and `more` has passed. Returns false if the run had
/// ended by itself, which it must do without an error.
fn kill(mut run: Child, lines: usize, more: Duration) -> bool {
    let is_step = |line: &String| line.starts_with("step");
    let mut output = BufReader::new(run.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    output.by_ref().filter(is_step).take(lines).for_each(drop);
    std::thread::sleep(more);
    run.kill().unwrap();
    let out = run.wait_with_output().unwrap();
    assert!(out.status.success() || out.status.code().is_none(), "{}", String::from_utf8_lossy(&out.stderr));
    !out.status.success()
}

fn left(folder: &Path) -> [Vec<u8>; 2] {
    ["model.safetensors", "loss.csv"].map(|file| fs::read(folder.join(file)).unwrap())
}

#[test]
fn killed_runs_continue_bit_for_bit() {
    let kills = std::env::var(KILLS).map_or(3, |n| n.parse().unwrap());
    let folder = Folder::new("kills");
    let [text, whole, parts] = ["text", "whole", "parts"].map(|name| folder.0.join(name));
    fs::write(&text, digits()).unwrap();
    assert!(!kill(start(&whole, &text), usize::MAX, Duration::ZERO), "it was waited for");
    let expected = left(&whole);
    assert_eq!(parse(std::str::from_utf8(&expected[1]).unwrap()).len(), STEPS);

    let (mut seed, mut killed, mut finished) = (0x5eed_u64, 0, 0);
    let mut draw = |n: u64| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (seed >> 33) % n
    };
    while killed < kills || parts.exists() {
        let (lines, more) = if killed < kills { (draw(4) as usize, draw(40_000)) } else { (usize::MAX, 0) };
        let is_killed = kill(start(&parts, &text), lines, Duration::from_micros(more));
        killed += usize::from(is_killed);
        println!("kill {killed}: after {lines} steps and {more} us: {}", if is_killed { "killed" } else { "ended" });
        if !is_killed {
            finished += 1;
            let [checkpoint, losses] = left(&parts);
            assert!(checkpoint == expected[0], "the checkpoint is another one");
            assert_eq!(String::from_utf8(losses).unwrap(), String::from_utf8(expected[1].clone()).unwrap());
            fs::remove_dir_all(&parts).unwrap();
        }
    }
    println!("{killed} kills, {finished} runs");
}

// ── parts
fn parsed(arguments: &str) -> std::result::Result<Option<Options>, String> {
    Options::parse(arguments.split_whitespace().map(String::from))
}

#[test]
fn wrong_arguments_are_explained() {
    let cases = [
        ("--stepz 3", "there is no option --stepz; --help lists them"),
        ("--steps", "--steps needs a value"),
        ("--steps few", "--steps needs a whole number, found \"few\""),
        ("--batch 0", "--batch needs a number that is not 0"),
        ("--mesh 4", "--mesh needs two sizes such as 4x2, of at most 64 devices, found \"4\""),
        ("--mesh 0x2", "--mesh needs two sizes such as 4x2, of at most 64 devices, found \"0x2\""),
        (
            "--mesh 4294967296x4294967296",
            "--mesh needs two sizes such as 4x2, of at most 64 devices, found \"4294967296x4294967296\"",
        ),
        (
            "--mesh 3x12297829382473034411",
            "--mesh needs two sizes such as 4x2, of at most 64 devices, found \"3x12297829382473034411\"",
        ),
        ("--remat maybe", "--remat needs `on` or `off`, found \"maybe\""),
        ("--heads 3", "cannot split --width 128 over 3 heads; use a multiple of 3"),
        ("--experts 3", "cannot split --experts 3 over 2 devices of the axis \"model\"; use a multiple of 2"),
        ("--mesh 1x1 --experts 1", "--experts 1 is too few: each token is sent to 2"),
        (
            "--batch 12",
            "cannot split --batch 12 over 8 parts (the microbatches times the axis \"data\"); use a multiple of 8",
        ),
        (
            "--microbatches 9223372036854775808 --mesh 2x1",
            "cannot split --batch 16 over 18446744073709551615 parts (the microbatches times the axis \"data\"); \
             use a multiple of 18446744073709551615",
        ),
    ];
    for (arguments, message) in cases {
        let arguments = if arguments.starts_with("--batch 12") { "--microbatches 2 --batch 12" } else { arguments };
        assert_eq!(parsed(arguments).unwrap_err(), message);
    }
    assert!(parsed("--steps 3 --help").unwrap().is_none());
}

#[test]
fn help_lists_all_options() {
    let names = HELP.lines().filter(|line| line.starts_with("  --")).flat_map(|line| line.split([' ', ',']));
    let names: Vec<&str> = names.filter(|word| word.starts_with("--")).collect();
    assert_eq!(names.len(), 19);
    for name in names {
        let wrong = ["", "2", "64", "2x2", "on"].map(|value| parsed(&format!("{name} {value}")));
        let is_known = !wrong.iter().any(|r| r.as_ref().is_err_and(|e| e.contains(&format!("no option {name}"))));
        assert!(is_known && wrong.iter().any(|r| r.is_ok()), "{name}");
    }
}

#[test]
fn batches_depend_on_the_step_alone() {
    set_mesh(Mesh::auto([("data", 4), ("model", 2)]).unwrap());
    let text = digits();
    let of_step = |step, microbatches| batch(&text, step, [microbatches, 8 / microbatches, 33]);
    assert_eq!(of_step(3, 1).ty().to_string(), "i32[1,8@data,33]");
    let values = |x: &Array| x.to_vec::<i32>().unwrap();
    assert_eq!(values(&of_step(3, 1)), values(&of_step(3, 1)));
    assert_eq!(values(&of_step(3, 1)), values(&of_step(3, 2)));
    assert_ne!(values(&of_step(3, 1)), values(&of_step(4, 1)));
    let row = values(&of_step(3, 1).i((0, 5)));
    assert!(text.windows(33).any(|window| window.iter().map(|&b| i32::from(b)).eq(row.iter().copied())));
}

#[test]
fn changed_settings_are_listed() {
    let folder = Folder::new("settings");
    let text = Text::new(digits());
    let changes = |options: Options, resume| write_settings(&folder.0, &options.settings(&text), resume).unwrap();
    assert!(changes(tiny(), true).is_empty(), "there are no older ones");
    assert!(changes(tiny(), true).is_empty());
    let other = Options { steps: 120, mesh: [2, 2], ..tiny() };
    assert_eq!(changes(other, true), ["steps 120 (it was steps 100)", "mesh 2x2 (it was mesh 4x2)"]);
    assert!(changes(tiny(), false).is_empty());
}

#[test]
fn tables_and_pictures() {
    let rows = [(1, 5.5, None), (2, 0.1, Some(4.25)), (3, f32::NAN, Some(4.0))];
    let rows = rows.map(|(step, train, test)| Row { step, train, test });
    let table = "step,train,test\n1,5.5,\n2,0.1,4.25\n3,N";
    assert_eq!(parse(table), rows[..2]);
    let diverged = picture(&[Row { step: 1, train: 1e12, test: None }], 2.5);
    assert!(diverged.matches("class=\"grid\"").count() <= 11, "{diverged}");
    let picture = picture(&rows, 2.5);
    let paths = picture.lines().filter(|line| line.contains("class=\"test\"")).collect::<Vec<_>>();
    assert!(paths.len() == 1 && paths[0].contains(" L640.0,"), "{picture}");
    assert!(picture.contains(">bigram 2.50</text>") && !picture.contains("NaN"), "{picture}");
}
