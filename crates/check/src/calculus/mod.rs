//! Generated programs with derivatives and batches in them.
//!
//! A program is drawn, transformed, and partitioned. Its results must be the numbers of the unpartitioned program if
//! its ops are exact on integers, and within a few units of the largest element otherwise. The first transform is
//! checked by what a derivative and a batch are: tangents against differences of values, cotangents against tangents,
//! and a batch against the program on each of its elements.

mod exact;
mod generate;
mod mutate;

pub use exact::is_exact;
pub use mutate::{MUTANTS, Mutant};

use crate::choose::Chooser;
use crate::run;
use generate::Source;
use shardwise_base::compare::{Tolerance, compare};
use shardwise_base::{DType, Diagnostics, Literal};
use shardwise_engine::Engine;
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Module, Type, verify};
use shardwise_transform::Request;

const BATCH: usize = 3;
/// The largest number of units by which results of inexact programs may differ. The unit is that of
/// [`Tolerance::OfLargestOrOne`].
const UNITS: u64 = 8;

/// A program, its transforms and the transformed program with inputs.
pub struct Case {
    pub seed: u64,
    /// The program before the transforms. It returns one array.
    source: Module,
    /// The transforms, in order, as [`Request::parse`] reads them: `jvp{args=0}`.
    pub requests: Vec<String>,
    pub module: Module,
    pub inputs: Vec<Literal>,
    /// True if the program before the transforms has only ops that are exact on integers.
    pub is_exact: bool,
}

/// The transforms of a program, first to last. Each letter of an entry is a transform: (g)radient of the sum, (j)vp,
/// v(t)jp or (v)map.
const CHAINS: [&str; 12] = ["g", "j", "t", "v", "j", "t", "v", "gv", "vt", "jt", "gj", "vj"];

/// Draws the case of a seed: a program, its transforms and inputs.
///
/// # Errors
/// Fails if the program cannot be transformed.
pub fn case(seed: u64) -> Result<Case, String> {
    let mut choose = Chooser::new(seed);
    let chain = *choose.of(&CHAINS);
    // Derivatives of derivatives are larger numbers.
    let (mut size, is_exact_kind) = (if chain.len() > 1 { 5 } else { 8 }, !choose.one_in(3));
    loop {
        let wants_scalar = chain.starts_with('g');
        let made = generate::source(&mut choose, size, is_exact_kind, wants_scalar);
        let found = transformed(seed, &mut choose, made, chain, is_exact_kind)?;
        if !is_exact_kind || is_exact(&found.module) || size == 0 {
            return Ok(found);
        }
        size -= 1;
    }
}

fn transformed(seed: u64, choose: &mut Chooser, made: Source, chain: &str, is_exact: bool) -> Result<Case, String> {
    let source = made.module;
    let (mut module, mut requests) = (source.clone(), vec![]);
    for letter in chain.chars() {
        let text = request(choose, &module, letter);
        module = apply(&module, &text).map_err(|e| format!("seed {seed}, {text}: {e}"))?;
        requests.push(text);
    }
    let inputs = inputs(choose, &module);
    Ok(Case { seed, source, requests, module, inputs, is_exact })
}

/// Returns the request of the transform that `letter` names in [`CHAINS`], for a random choice of the main function's
/// arguments, at least one: of those of floats, or of all for a batch.
fn request(choose: &mut Chooser, module: &Module, letter: char) -> String {
    let main = module.main().expect("made with a main function");
    let types: Vec<&Type> = main.body.args().iter().map(|&v| main.body.ty(v)).collect();
    let is_float = |i: &usize| types[*i].as_tensor().is_some_and(|t| t.dtype.is_float());
    let all: Vec<usize> = match letter {
        'v' => (0..types.len()).collect(),
        _ => (0..types.len()).filter(is_float).collect(),
    };
    let mut some: Vec<usize> = all.iter().copied().filter(|_| !choose.one_in(4)).collect();
    if some.is_empty() {
        some.push(all[0]);
    }
    let args: Vec<String> = some.iter().map(usize::to_string).collect();
    let args = args.join("+");
    match letter {
        'g' => format!("value-and-grad{{args={args}}}"),
        'j' => format!("jvp{{args={args}}}"),
        't' => format!("vjp{{args={args}}}"),
        _ => format!("vmap{{args={args},size={BATCH}}}"),
    }
}

fn apply(module: &Module, text: &str) -> Result<Module, Diagnostics> {
    let module = Request::parse(text).expect("the name of a transform")?.run(module)?;
    verify(&module).or(module)
}

fn inputs(choose: &mut Chooser, module: &Module) -> Vec<Literal> {
    let main = module.main().expect("made with a main function");
    main.body.args().iter().map(|&v| drawn(choose, main.body.ty(v))).collect()
}

fn drawn(choose: &mut Chooser, ty: &Type) -> Literal {
    let t = ty.as_tensor().expect("arguments are arrays");
    match t.dtype {
        DType::I32 => Literal::from_fn(&t.shape[..], |_| choose.below(3) as i32),
        _ => Literal::from_fn(&t.shape[..], |_| choose.between(-2, 2) as f64),
    }
}

impl Case {
    fn failed(&self, stage: &str, why: impl std::fmt::Display) -> String {
        format!("seed {}, {}, {stage}: {why}", self.seed, self.requests.join(","))
    }

    fn run(&self, module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, String> {
        run::whole(module, inputs).map_err(|e| self.failed("whole", e))
    }

    /// Checks that the partitioned program has the results of the unpartitioned one, on each engine.
    ///
    /// # Errors
    /// Fails if it has other results, if it cannot be partitioned or run, or if a value of an exact program may be
    /// rounded. Results of an exact program must be equal numbers. Those of another one may differ by rounding.
    pub fn check_partitioned(&self) -> Result<(), String> {
        if self.is_exact && !is_exact(&self.module) {
            return Err(self.failed("exactness", "a value may be rounded"));
        }
        let want = self.run(&self.module, &self.inputs)?;
        let local = run::partitioned(&self.module).map_err(|e| self.failed("partition", e))?.module;
        let tolerance = if self.is_exact { Tolerance::Numbers } else { Tolerance::OfLargestOrOne(UNITS) };
        for engine in [&InterpEngine as &dyn Engine, &HostEngine::default()] {
            let got = run::on(engine, &local, &self.inputs).map_err(|e| self.failed(engine.name(), e))?;
            compare(&got, &want, |_| tolerance).map_err(|why| self.failed(engine.name(), why))?;
        }
        Ok(())
    }

    /// Checks that `module`, the program after the first transform, computes what this transform means.
    ///
    /// # Errors
    /// Fails if the results are not those of the transform, or cannot be computed.
    pub fn check_meaning(&self, module: &Module) -> Result<(), String> {
        let text = &self.requests[0];
        let mut choose = Chooser::new(!self.seed);
        let inputs = inputs(&mut choose, module);
        let args = listed(text);
        match text.split('{').next() {
            Some("jvp") => self.check_tangents(module, &inputs, &args),
            Some("vmap") => self.check_batch(module, &inputs, &args),
            _ => self.check_cotangents(&mut choose, module, &inputs, &args),
        }
    }

    /// Compares tangents with quotients of differences: the difference between the values at two inputs near each
    /// other, divided by their distance. Fails if they differ by more than 1/256 of the largest quotient, or of one if
    /// that is larger, or if a program does not run.
    fn check_tangents(&self, module: &Module, inputs: &[Literal], args: &[usize]) -> Result<(), String> {
        let found = self.run(module, inputs)?;
        let (x, tangents) = inputs.split_at(inputs.len() - args.len());
        let step = (-20f64).exp2();
        let moved = |by: f64| {
            let mut moved = x.to_vec();
            for (&i, t) in args.iter().zip(tangents) {
                moved[i] = Literal::from_fn(x[i].shape(), |k| x[i].get_f64(k) + by * t.get_f64(k));
            }
            self.run(&self.source, &moved)
        };
        let (above, below) = (moved(step)?, moved(-step)?);
        let tangent = &found[above.len()];
        let expected: Vec<f64> =
            (0..tangent.size()).map(|i| (above[0].get_f64(i) - below[0].get_f64(i)) / (2.0 * step)).collect();
        let largest = expected.iter().fold(1.0, |m: f64, e| m.max(e.abs()));
        for (i, e) in expected.iter().enumerate() {
            let t = tangent.get_f64(i);
            let is_near = (t - e).abs() <= largest / 256.0;
            if !is_near {
                let why = format!("element {i} of the tangent is {t}, and the difference is {e}");
                return Err(self.failed("differences", why));
            }
        }
        Ok(())
    }

    /// Compares the product of the cotangents of the arguments with random tangents, and that of the cotangents of the
    /// results with the results' tangents. Fails if the products differ: at all for an exact program, and otherwise by
    /// more than rounding explains. Also fails if a program cannot be transformed or run.
    fn check_cotangents(
        &self,
        choose: &mut Chooser,
        module: &Module,
        inputs: &[Literal],
        args: &[usize],
    ) -> Result<(), String> {
        let is_gradient = self.requests[0].starts_with("value");
        let count = self.source.main().expect("a main function").body.args().len();
        let found = self.run(module, inputs)?;
        let cotangents = match is_gradient {
            true => vec![Literal::scalar(1f64)],
            false => inputs[count..].to_vec(),
        };
        let forward =
            apply(&self.source, &format!("jvp{{args={}}}", joined(args))).map_err(|e| self.failed("jvp", e))?;
        let tangents: Vec<Literal> =
            args.iter().map(|&i| drawn(choose, &Type::tensor(DType::F64, inputs[i].shape()))).collect();
        let results = self.run(&forward, &[&inputs[..count], &tangents].concat())?;
        let (ahead, behind) = (dot(&cotangents, &results[1..]), dot(&found[1..], &tangents));
        let allowed = if self.is_exact { 0.0 } else { 1e-9 * (1.0 + ahead.abs()) };
        match (ahead - behind).abs() <= allowed {
            true => Ok(()),
            false => Err(self.failed("products", format!("{ahead} forward and {behind} in reverse"))),
        }
    }

    /// Compares each element of a batch with the program on the inputs of this element. Fails if a result differs, by
    /// more than rounding unless the program is exact, or if a program does not run.
    fn check_batch(&self, module: &Module, inputs: &[Literal], args: &[usize]) -> Result<(), String> {
        let found = self.run(module, inputs)?;
        for row in 0..BATCH {
            let one: Vec<Literal> = (0..inputs.len())
                .map(|i| if args.contains(&i) { element(&inputs[i], row) } else { inputs[i].clone() })
                .collect();
            let want = self.run(&self.source, &one)?;
            let got: Vec<Literal> = found.iter().map(|x| element(x, row)).collect();
            let tolerance = if self.is_exact { Tolerance::Numbers } else { Tolerance::OfLargestOrOne(UNITS) };
            compare(&got, &want, |_| tolerance).map_err(|why| self.failed(&format!("element {row}"), why))?;
        }
        Ok(())
    }

    /// Checks the partitioned program ([`Case::check_partitioned`]), and the meaning of the first transform
    /// ([`Case::check_meaning`]).
    ///
    /// # Errors
    /// Fails if one of the checks does, or if the program cannot be transformed.
    pub fn check(&self) -> Result<(), String> {
        self.check_partitioned()?;
        self.check_meaning(&self.first()?)
    }

    /// Returns the number of arguments of the program before the transforms.
    pub fn argument_count(&self) -> usize {
        self.source.main().expect("a main function").body.args().len()
    }

    /// Returns the program after the first transform.
    ///
    /// # Errors
    /// Fails if the program cannot be transformed.
    pub fn first(&self) -> Result<Module, String> {
        apply(&self.source, &self.requests[0]).map_err(|e| self.failed("transform", e))
    }
}

/// Returns the numbers of the arguments in a request: `vmap{args=0+2,size=3}` -> `[0, 2]`.
fn listed(text: &str) -> Vec<usize> {
    let list = text.split_once("args=").map_or("", |(_, rest)| rest);
    let list = list.split([',', '}']).next().unwrap_or("");
    list.split('+').filter_map(|n| n.parse().ok()).collect()
}

fn joined(args: &[usize]) -> String {
    args.iter().map(usize::to_string).collect::<Vec<_>>().join("+")
}

fn dot(x: &[Literal], y: &[Literal]) -> f64 {
    x.iter().zip(y).flat_map(|(x, y)| (0..x.size()).map(|i| x.get_f64(i) * y.get_f64(i))).sum()
}

fn element(x: &Literal, i: usize) -> Literal {
    let shape = &x.shape()[1..];
    let size: usize = shape.iter().product();
    match x.dtype() {
        DType::I32 => Literal::from_fn(shape, |k| x.get_f64(i * size + k) as i32),
        _ => Literal::from_fn(shape, |k| x.get_f64(i * size + k)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::cases;
    use shardwise_ops::Opcode;
    use std::collections::BTreeMap;

    #[test]
    fn transformed_programs_keep_their_results_and_their_meaning() {
        for seed in 0..cases(120) {
            case(seed).and_then(|case| case.check()).unwrap_or_else(|why| panic!("{why}"));
        }
    }

    #[test]
    fn most_programs_are_exact_and_many_have_loops() {
        let all: Vec<Case> = (0..200).map(|seed| case(seed).unwrap_or_else(|why| panic!("{why}"))).collect();
        let count = |of: &dyn Fn(&Case) -> bool| all.iter().filter(|case| of(case)).count();
        let ops = |case: &Case| {
            let body = case.module.main().expect("a main function").body.clone();
            body.walk().into_iter().map(|op| Opcode::of(body[op].code)).collect::<Vec<_>>()
        };
        let exact = count(&|case| case.is_exact);
        assert!((100..180).contains(&exact), "{exact} of 200 are exact");
        for (opcode, least) in
            [(Opcode::While, 20), (Opcode::Case, 10), (Opcode::Scatter, 10), (Opcode::DotGeneral, 10)]
        {
            let found = count(&|case| ops(case).contains(&opcode));
            assert!(found >= least, "{found} of 200 have `{}`", opcode.name());
        }
        let long = count(&|case| ops(case).len() >= 15);
        assert!(long >= 100, "{long} of 200 have 15 ops");
    }

    #[test]
    fn every_mutant_dies() {
        let mut killed: BTreeMap<&str, usize> = BTreeMap::new();
        for seed in 0..400 {
            if killed.len() == MUTANTS.len() {
                return;
            }
            let case = case(seed).unwrap_or_else(|why| panic!("{why}"));
            let first = case.first().unwrap_or_else(|why| panic!("{why}"));
            for mutant in MUTANTS.iter().filter(|m| !killed.contains_key(m.name)).collect::<Vec<_>>() {
                if let Some(changed) = mutant.apply(&first, case.argument_count())
                    && case.check_meaning(&changed).is_err()
                {
                    *killed.entry(mutant.name).or_default() += 1;
                }
            }
        }
        let alive: Vec<&str> = MUTANTS.iter().map(|m| m.name).filter(|name| !killed.contains_key(name)).collect();
        assert!(alive.is_empty(), "these mutants live: {alive:?}");
    }
}
