//! Measures the machine on which it runs: the constants with which `shardwise_sim` predicts how long the host engine
//! takes for a program.
//!
//! Each constant is measured by small programs that the engine runs, or by loops over memory. A time is the first
//! quartile of several runs, so that other processes disturb it little. Programs that determine constants are measured
//! in several rounds, because many machines run at another speed from one second to the next. [`calibrate`] takes one
//! to two minutes on a machine that does nothing else. Its result is a machine in the form of a file
//! ([`Machine::to_text`]).
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

mod memory;
mod others;
mod programs;
mod text;
mod timed;

pub use memory::{copy_bytes_per_s, processor};
use programs::Small;
use shardwise_base::{DType, Diagnostics};
use shardwise_host::pool::{Effort, Workers};
use shardwise_sim::{Machine, Options, Topology, simulate};
use std::collections::BTreeMap;
use std::sync::Arc;
use timed::{Timed, quartile};

/// The number of devices of programs with several instances of each instruction.
const INSTANCES: usize = 8;

/// The shape of an array that is just too large for a small program. Its elements take much less time than an
/// instruction.
const FEW: &[usize] = &[1100];

/// The number of rounds, in each of which all programs that determine constants are measured. Memories and workers are
/// measured before the rounds, and the programs that check predictions after them.
const ROUNDS: usize = 3;

/// The constants of the machine by name: the value of each, and how it was measured or where it is from.
type Facts = BTreeMap<String, (f64, String)>;

/// Measures this machine. `report` is called with the name of each group of constants before it is measured, as in
/// `memory and workers`, or in `products, round 1 of 3` for a group that is measured in several rounds.
///
/// # Errors
/// Fails if a program cannot be compiled, run or predicted, such as for lack of memory. A program of elementwise ops
/// that cannot be compiled is left out instead. Fails if a constant that a host must have is not found, because a time
/// was measured as 0. Fails, or stops the computation, if the run is cancelled or reaches its limit of steps.
pub fn calibrate(mut report: impl FnMut(&str)) -> Result<Machine, Diagnostics> {
    let mut facts = Facts::new();
    report("memory and workers");
    machine_facts(&mut facts);
    let mut rounds = vec![];
    for number in 1..=ROUNDS {
        rounds.push(round(|group| report(&format!("{group}, round {number} of {ROUNDS}")))?);
    }
    facts.extend(merged(&rounds));
    report("errors of predictions");
    let measured = machine(&facts)?;
    errors(&mut facts, measured)?;
    machine(&facts)
}

/// Measures the programs that determine constants, and returns the constants. Leaves out elementwise ops whose programs
/// cannot be compiled. Fails if another program cannot be compiled, or if a program cannot be run.
fn round(mut report: impl FnMut(&str)) -> Result<Facts, Diagnostics> {
    let mut facts = Facts::new();
    report("instructions and loops");
    overheads(&mut facts)?;
    report("elementwise ops");
    elements(&mut facts)?;
    report("products");
    subjects(&mut facts, &programs::products())?;
    report("other ops and collectives");
    subjects(&mut facts, &programs::streams())?;
    subjects(&mut facts, &others::others())?;
    subjects(&mut facts, &programs::collectives())?;
    Ok(facts)
}

/// Returns the constants that at least one of several rounds found. Of rates the largest one counts, because what
/// disturbs a program makes it slower. Of times the median counts, because they are differences of measured ones.
fn merged(rounds: &[Facts]) -> Facts {
    let mut all: BTreeMap<&str, Vec<&(f64, String)>> = BTreeMap::new();
    rounds.iter().flatten().for_each(|(name, fact)| all.entry(name).or_default().push(fact));
    let one = |(name, mut facts): (&str, Vec<&(f64, String)>)| {
        facts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let is_time = name.ends_with("_s") && !name.ends_with("_per_s");
        let at = if is_time { facts.len() / 2 } else { facts.len() - 1 };
        (name.to_string(), facts[at].clone())
    };
    all.into_iter().map(one).collect()
}

/// Adds a constant, or replaces the one of the same name. Does nothing if the value is not finite or not positive, as
/// measured differences may be.
fn add(facts: &mut Facts, name: impl Into<String>, value: f64, source: impl Into<String>) {
    if value.is_finite() && value > 0.0 {
        facts.insert(name.into(), (value, source.into()));
    }
}

fn machine_facts(facts: &mut Facts) {
    let workers = Workers::global().count();
    add(facts, "workers", workers as f64, "the cores that this process may use, or SHARDWISE_WORKERS");
    add(facts, "memory_bytes", shardwise_base::budget::default_max_bytes() as f64, "the limit of data of a command");
    for level in memory::levels() {
        let name = |what: &str| format!("level.{}.{what}", level.name);
        add(facts, name("bytes"), level.bytes, level.source);
        let rates = memory::rates(&level);
        for (what, rate) in &rates {
            let source = format!("{what} of {} bytes by {workers} workers", memory::probe_bytes(&level));
            add(facts, name(&format!("{what}_bytes_per_s")), *rate, source);
        }
        let fastest = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        add(facts, name("bytes_per_s"), fastest, "the fastest of reads, writes and copies");
    }
    for (dtype, lanes) in [(DType::F32, "f32"), (DType::F64, "f64")] {
        let [one, all] = [1, workers].map(|count| shardwise_host::peak_flops(dtype, count));
        add(facts, format!("peak.{lanes}"), all, format!("multiply-adds in registers by {workers} workers"));
        if dtype == DType::F32 {
            add(
                facts,
                "peak.bf16",
                all,
                "the rate of f32, which products of bf16 exceed where the processor has instructions for them",
            );
            add(facts, "speedup", (all / one).max(1.0), "the rate of multiply-adds of all workers and of one");
        }
    }
    let barrier = quartile((0..200).map(|_| timed::seconds(|| Workers::global().run(workers, Effort::Large, |_| {}))));
    add(facts, "barrier_s", barrier, "a call of all workers that does nothing");
}

/// Measures the times that an instruction, an instance and a turn of a loop take beside their work, and the ops of
/// small programs. Fails if a program cannot be compiled or run.
fn overheads(facts: &mut Facts) -> Result<(), Diagnostics> {
    let instruction = Timed::new(&programs::idle())?.seconds()?;
    add(facts, "instruction_s", instruction, "a permutation of devices, which moves no data");
    let (instance, launch) = instances(FEW, instruction)?;
    let source = |what: &str| format!("an addition of {what} on {INSTANCES} devices, and on one");
    add(facts, "instance_s", instance, source("few elements"));
    add(facts, "launch_s", launch, source("few elements"));
    let (program, _) = instances(&[1], instruction)?;
    add(facts, "small_program_s", program, source("one element"));
    let negation = mean_seconds(&programs::chain(20))?;
    let turn = turn_seconds(programs::turns)? - 2.0 * (instruction + launch + program) - negation;
    add(facts, "turn_s", turn, "loops of 1100 and of 100 turns with three instructions each");
    small_programs(facts)
}

/// Returns the time that each instance of an addition takes, and the time that the instruction takes beside these and
/// `instruction`. Both may be negative, because the times vary. Fails if a program cannot be compiled or run.
fn instances(shape: &[usize], instruction: f64) -> Result<(f64, f64), Diagnostics> {
    let seconds = |devices: usize| Timed::new(&programs::additions(devices, shape))?.seconds();
    let (one, many) = (seconds(1)?, seconds(INSTANCES)?);
    let instance = (many - one) / (INSTANCES - 1) as f64;
    Ok((instance, one - instance - instruction))
}

/// Returns the mean time, in seconds, of the instructions of a program without loops and branches. Fails if the program
/// cannot be compiled or run.
fn mean_seconds(text: &str) -> Result<f64, Diagnostics> {
    let program = Timed::new(text)?;
    Ok(program.seconds()?.max(1e-9) / program.instruction_count()?.max(1) as f64)
}

/// Returns the time, in seconds, of a turn of a loop, from the times of two programs: `program(n)` has `n` turns. It
/// may be negative, because the times vary. Fails if a program cannot be compiled or run.
fn turn_seconds(program: impl Fn(usize) -> String) -> Result<f64, Diagnostics> {
    let [few, many] = [100, 1100].map(|turns| Timed::new(&program(turns))?.whole_seconds());
    Ok((many? - few?) / 1000.0)
}

/// Measures the ops of small programs. Fails if a program cannot be compiled or run.
fn small_programs(facts: &mut Facts) -> Result<(), Diagnostics> {
    let turn = |small: Small| turn_seconds(|turns| programs::small_turns(turns, small));
    const ELEMENTS: [usize; 2] = [1, 257];
    let [few, many] = [turn(Small::Elements(ELEMENTS[0]))?, turn(Small::Elements(ELEMENTS[1]))?];
    let element = (many - few) / (programs::SMALL_OPS * (ELEMENTS[1] - ELEMENTS[0])) as f64;
    // The condition and the counter are ops of one element, and the jump is an op without elements.
    let ops = (programs::SMALL_OPS + 2) as f64;
    let op = ((few - ops * element) / (ops + 1.0)).max(1e-10);
    let source = format!("loops of {} ops on {} and on {} elements", programs::SMALL_OPS, ELEMENTS[0], ELEMENTS[1]);
    add(facts, "small_op_s", op, source.clone());
    add(facts, "small_element_s", element.max(1e-11), source);
    let (square, half) = ((programs::SMALL_SIDE * programs::SMALL_SIDE) as f64, programs::SMALL_OPS as f64 / 2.0);
    let rest = (ops + 1.0) * op;
    let moved = (turn(Small::Moves)? - rest - half * square * element) / (half * square);
    add(facts, "small_moved_s", moved.max(element), "loops of sums and transposes of a matrix");
    let product = (turn(Small::Products)? - rest) / (2.0 * half * square * programs::SMALL_SIDE as f64);
    add(facts, "small_product_s", product.max(1e-12), "loops of products of matrices");
    Ok(())
}

/// Measures how many elements a worker computes in a second, for each op and type of [`programs::elements`] that the
/// engine can compile. Fails if a program fails when it is run.
fn elements(facts: &mut Facts) -> Result<(), Diagnostics> {
    for (name, dtype, [short, long]) in programs::elements() {
        // The engine may not have the op for this type.
        let [Ok(short), Ok(long)] = [&short, &long].map(|text| Timed::new(text)) else { continue };
        let seconds = long.seconds()? - short.seconds()?;
        let each = seconds / (programs::ELEMENTS * (programs::CHAIN - 1)) as f64;
        let source = format!("{} ops of {} elements in one instruction, and one", programs::CHAIN, programs::ELEMENTS);
        // An op whose time is lost in that of the memory counts as very fast.
        add(facts, format!("element.{name}.{}", dtype.name()), 1.0 / each.max(2e-12), source);
    }
    Ok(())
}

/// Measures programs of one instruction each, and adds the constant that each of them determines. Skips a program that
/// determines none. Fails if a program cannot be compiled or run.
fn subjects(facts: &mut Facts, texts: &[String]) -> Result<(), Diagnostics> {
    let known = |name: &str| facts.get(name).map_or(0.0, |fact| fact.0);
    let instruction = known("instruction_s");
    let computing = instruction + known("launch_s") + known("instance_s");
    for text in texts {
        let program = Timed::new(text)?;
        let Some(subject) = shardwise_sim::subject(program.module()) else { continue };
        let is_collective = subject.name.starts_with("collective.");
        let overhead = if is_collective { instruction } else { computing };
        let seconds = (program.seconds()? - overhead).max(instruction / 20.0).max(1e-9);
        add(facts, subject.name, subject.amount / seconds, "a program of this instruction");
    }
    Ok(())
}

/// Predicts programs whose sizes were not measured, and adds the typical error of each class of instructions in
/// [`programs::checks`], which is at least 0.01. Fails if a program cannot be compiled, predicted or run.
fn errors(facts: &mut Facts, machine: Machine) -> Result<(), Diagnostics> {
    let machine = Arc::new(machine);
    for (class, texts) in programs::checks() {
        let mut errors = vec![];
        for text in &texts {
            let program = Timed::new(text)?;
            let devices = program.module().main_mesh().map_or(1, |mesh| mesh.size());
            let topology = Topology::new(machine.clone(), &[devices], 1)?;
            let predicted = simulate(program.module(), &topology, &Options::default())?.end() as f64 * 1e-12;
            let measured = program.seconds()?;
            errors.push((predicted / measured).max(measured / predicted) - 1.0);
        }
        let count = errors.len();
        let source = format!("{count} programs of other sizes: two of three predictions are not worse");
        add(facts, format!("error.{class}"), shardwise_sim::typical_error(errors).max(0.01), source);
    }
    Ok(())
}

fn machine(facts: &Facts) -> Result<Machine, Diagnostics> {
    let (processor, count) = (memory::processor(), Workers::global().count());
    let title: String = format!("{processor}, {count} workers").chars().filter(|c| *c != '"').collect();
    let mut text = format!("host host \"{title}\"\n");
    for (name, (value, source)) in facts {
        text.push_str(&format!("{name} {value:.4e} | {}\n", source.replace('\n', " ")));
    }
    Ok(Machine::parse(&text, "calibration")?.remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that all products, streams, other ops and collectives can be partitioned, and that each of these programs
    /// determines a constant of a known name.
    #[test]
    fn programs_determine_constants() {
        let all = [programs::products(), programs::streams(), others::others(), programs::collectives()];
        let mut names = vec![];
        for text in all.iter().flatten() {
            let local = timed::localized(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let subject = shardwise_sim::subject(&local).unwrap_or_else(|| panic!("no subject:\n{text}"));
            assert!(subject.amount > 0.0, "{text}");
            names.push(subject.name);
        }
        let mut facts = Facts::new();
        names.iter().for_each(|name| add(&mut facts, name.clone(), 1e9, "by hand"));
        for required in ["workers", "memory_bytes", "instruction_s", "speedup"] {
            add(&mut facts, required, 1.0, "by hand");
        }
        let machine = machine(&facts).unwrap_or_else(|e| panic!("{e}"));
        assert!(names.iter().all(|name| machine.fact(name).is_some()));
        let has = |start: &str| names.iter().any(|name| name.starts_with(start));
        assert!(
            ["product.f32.", "batched.f32.", "product.bf16.", "stream.", "op.", "flops.", "collective."]
                .into_iter()
                .all(has)
        );
    }

    #[test]
    fn rounds_are_merged() {
        let round = |rate: f64, time: f64| -> Facts {
            [("stream.64", rate), ("turn_s", time)].map(|(name, value)| (name.into(), (value, "x".into()))).into()
        };
        let merged = merged(&[round(2.0, 7.0), round(3.0, 1.0), round(1.0, 5.0)]);
        assert_eq!((merged["stream.64"].0, merged["turn_s"].0), (3.0, 5.0));
    }

    #[test]
    fn programs_have_as_many_instructions_as_they_say() {
        let count = |text: &str| {
            let program = Timed::new(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            program.instruction_count().unwrap_or_else(|e| panic!("{e}\n{text}"))
        };
        assert_eq!(count(&programs::chain(20)), 20);
        // The loop, its condition, the counter and the negation.
        assert_eq!(count(&programs::turns(100)), 4);
        // One small program.
        let kinds = [Small::Elements(1), Small::Elements(257), Small::Moves, Small::Products];
        assert_eq!(kinds.map(|small| count(&programs::small_turns(100, small))), [1; 4]);
        assert_eq!([FEW, &[1]].map(|shape| count(&programs::additions(INSTANCES, shape))), [1, 1]);
        assert_eq!(count(&programs::idle()), 1);
    }

    #[test]
    fn programs_of_checks_are_predicted() {
        let text = "host host \"h\"\nworkers 2 | x\nmemory_bytes 1e9 | x\ninstruction_s 1e-6 | x\nspeedup 2 | x\n\
                    stream.100 1e9 | x\n";
        let machine = Arc::new(Machine::parse(text, "h").unwrap().remove(0));
        for (class, texts) in programs::checks() {
            for text in texts {
                let local = timed::localized(&text).unwrap_or_else(|e| panic!("{class}: {e}\n{text}"));
                let devices = local.main_mesh().map_or(1, |mesh| mesh.size());
                let topology = Topology::new(machine.clone(), &[devices], 1).unwrap();
                let timeline = simulate(&local, &topology, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(timeline.check(), Ok(()));
                assert!(timeline.end() > 0, "{text}");
            }
        }
    }
}
