//! The `interpreter` dialect: grids of programs, and ops that inspect values.

use crate::datum::Datum;
use crate::frame::{Active, Frame};
use crate::machine::{Env, Machine, PerProcess, Results, cannot_run};
use shardwise_base::{DType, Diagnostic, Literal};
use shardwise_ir::{Func, OpView};
use shardwise_ops::expect::{self, ExpectProbed, Nearness, Probe, RunParallel};
use shardwise_ops::token::Host;
use std::collections::{BTreeMap, VecDeque};

/// The state that programs share through the dialect.
#[derive(Default)]
pub(crate) struct DialectState<'m> {
    /// The values that probes have recorded, by the probe's name, first to last.
    probes: BTreeMap<String, Vec<Literal>>,
    /// The text that `interpreter.print` has written.
    pub printed: String,
    /// The values that were sent and not yet received, by channel.
    channels: BTreeMap<i64, VecDeque<Vec<Datum>>>,
    /// The functions that return the next values of `infeed`.
    infeed: VecDeque<&'m Func>,
}

impl<'m> Machine<'m> {
    /// Runs a grid of programs. Different programs run one after the other, in the order of their first processes, so a
    /// program can only receive what an earlier program or it itself has sent. Returns the results of process 0, then
    /// those of process 1, and so on. Fails if several processes run the op, if a named function does not exist, or if
    /// a program fails.
    pub(crate) fn run_parallel(&mut self, env: &Env<'m>, frame: &Frame, view: &OpView<'m>) -> Results {
        let Some((names, partitions)) = RunParallel::programs(view).filter(|_| frame.process_count == 1) else {
            return Err(nested(view));
        };
        let find = |name: &&str| self.module.func(name).ok_or_else(|| cannot_run(view));
        let funcs: Vec<&'m Func> = names.iter().map(find).collect::<Result<_, _>>()?;
        let infeed = RunParallel::infeed(view).ok_or_else(|| cannot_run(view))?;
        self.dialect.infeed = infeed.iter().map(find).collect::<Result<_, _>>()?;
        let grid = Frame::replicas(names.len() / partitions, partitions);
        let mut operands = view.operands().iter();
        let args: Vec<Vec<Datum>> = funcs
            .iter()
            .map(|f| operands.by_ref().take(f.body.args().len()).map(|&v| only(env.get(v)).clone()).collect())
            .collect();
        let mut results: Vec<Vec<Datum>> = vec![vec![]; names.len()];
        for (first, func) in funcs.iter().enumerate().filter(|&(i, _)| !names[..i].contains(&names[i])) {
            let active: Active = names.iter().map(|n| *n == names[first]).collect();
            let of = |i: usize, p: usize| active[p].then(|| args[p][i].clone());
            let inputs = (0..args[first].len()).map(|i| (0..names.len()).map(|p| of(i, p)).collect()).collect();
            for value in self.call(func, &grid, inputs, &active)? {
                let given = value.into_iter().enumerate().filter(|&(p, _)| active[p]);
                given.for_each(|(p, d)| results[p].extend(d));
            }
        }
        Ok(results.into_iter().flatten().map(|d| vec![Some(d)]).collect())
    }

    pub(crate) fn probe(&mut self, env: &Env<'m>, view: &OpView<'_>, active: &Active) -> Results {
        let value = env.get(view.operand(0)).clone();
        let seen = self.dialect.probes.entry(Probe::id(view).to_string()).or_default();
        seen.extend(active_values(&value, active).map(|(_, d)| d.tensor().clone()));
        Ok(vec![value])
    }

    pub(crate) fn expect_probed(&mut self, env: &Env<'m>, view: &OpView<'_>, active: &Active) -> Results {
        let iteration = ExpectProbed::iteration(view);
        let seen = self.dialect.probes.get(Probe::id(view)).and_then(|seen| seen.get(iteration));
        let seen = seen.ok_or_else(|| not_probed(view, iteration))?;
        for (_, d) in active_values(env.get(view.operand(0)), active) {
            expect::compare(view, Nearness::Equal, d.tensor(), seen)?;
        }
        Ok(vec![])
    }

    /// Appends `tensor<..> {..}` to the printed text for each active process. Never fails.
    pub(crate) fn print_value(&mut self, env: &Env<'m>, view: &OpView<'_>, active: &Active) -> Results {
        for (_, d) in active_values(env.get(view.operand(0)), active) {
            self.dialect.printed.push_str(&written(d.tensor()));
            self.dialect.printed.push('\n');
        }
        Ok(vec![])
    }

    /// Appends the operands of each active process, without the token, to the queue of the channel, from which `recv`
    /// takes the oldest entry. Returns a token. Never fails.
    pub(crate) fn send(&mut self, env: &Env<'m>, frame: &Frame, view: &OpView<'_>, active: &Active) -> Results {
        let (_, operands) = view.operands().split_last().expect("verified: a token");
        for p in (0..frame.process_count).filter(|&p| active[p]) {
            let values = operands.iter().map(|&v| env.get(v)[p].clone().expect("active")).collect();
            self.dialect.channels.entry(Host::channel(view)).or_default().push_back(values);
        }
        Ok(vec![tokens(frame)])
    }

    pub(crate) fn recv(&mut self, frame: &Frame, view: &OpView<'_>, active: &Active) -> Results {
        let mut results: Vec<PerProcess> = vec![vec![None; frame.process_count]; view.results().len() - 1];
        for p in (0..frame.process_count).filter(|&p| active[p]) {
            let channel = Host::channel(view);
            let queue = self.dialect.channels.entry(channel).or_default();
            let values = queue.pop_front().ok_or_else(|| nothing_sent(view, channel))?;
            self.check_received(view, &values)?;
            results.iter_mut().zip(values).for_each(|(r, v)| r[p] = Some(v));
        }
        results.push(tokens(frame));
        Ok(results)
    }

    pub(crate) fn infeed(&mut self, frame: &Frame, view: &OpView<'_>, active: &Active) -> Results {
        let mut results: Vec<PerProcess> = vec![vec![None; frame.process_count]; view.results().len() - 1];
        for p in (0..frame.process_count).filter(|&p| active[p]) {
            let func = self.dialect.infeed.pop_front().ok_or_else(|| nothing_fed(view))?;
            let values = self.call(func, &Frame::single(), vec![], &vec![true])?;
            let values: Vec<Datum> = values.iter().map(|v| only(v).clone()).collect();
            self.check_received(view, &values)?;
            results.iter_mut().zip(values).for_each(|(r, v)| r[p] = Some(v));
        }
        results.push(tokens(frame));
        Ok(results)
    }

    fn check_received(&self, view: &OpView<'_>, values: &[Datum]) -> Result<(), Diagnostic> {
        let expected = &view.results()[..view.results().len() - 1];
        let fits = |(d, &v): (&Datum, _)| match (d, view.body.ty(v).as_tensor()) {
            (Datum::Tensor(l), Some(t)) => l.dtype() == t.dtype && l.shape() == t.shape,
            _ => false,
        };
        match expected.len() == values.len() && values.iter().zip(expected).all(fits) {
            true => Ok(()),
            false => Err(other_types(view)),
        }
    }
}

fn only(value: &PerProcess) -> &Datum {
    value[0].as_ref().expect("the only process ran")
}

fn active_values<'a>(value: &'a PerProcess, active: &'a Active) -> impl Iterator<Item = (usize, &'a Datum)> {
    let values = value.iter().enumerate().filter(|&(p, _)| active[p]);
    values.map(|(p, d)| (p, d.as_ref().expect("active processes have every operand")))
}

fn tokens(frame: &Frame) -> PerProcess {
    vec![Some(Datum::Token); frame.process_count]
}

/// Returns an array as text. A scalar is on one line: `tensor<i32> {5}`. Otherwise each list of the innermost dimension
/// is on a line of its own, and so is each bracket of the outer dimensions: `tensor<2xi32> {`, `[0, 1]` and `}` are
/// three lines.
fn written(x: &Literal) -> String {
    let ty = shardwise_ir::Type::tensor(x.dtype(), x.shape());
    match x.rank() {
        0 => format!("{ty} {{{}}}", element(x, 0)),
        _ => format!("{ty} {{\n{}\n}}", lines(x, 0, 0, 1)),
    }
}

fn lines(x: &Literal, dim: usize, offset: usize, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let size: usize = x.shape()[dim + 1..].iter().product();
    let starts = (0..x.shape()[dim]).map(|i| offset + i * size);
    if dim + 1 == x.rank() || x.size() == 0 && x.shape()[dim] == 0 {
        let list: Vec<String> = starts.filter(|&i| i < x.size()).map(|i| element(x, i)).collect();
        return format!("{indent}[{}]", list.join(", "));
    }
    let inner: Vec<String> = starts.map(|start| lines(x, dim + 1, start, depth + 1)).collect();
    format!("{indent}[\n{}\n{indent}]", inner.join(",\n"))
}

fn element(x: &Literal, i: usize) -> String {
    let float = |v: f64| {
        let text = format!("{v:.6e}");
        match text.split_once('e') {
            Some((digits, exponent)) => {
                let (sign, power) = exponent.strip_prefix('-').map_or(("+", exponent), |p| ("-", p));
                format!("{digits}e{sign}{power:0>2}")
            }
            None => text,
        }
    };
    match x.dtype() {
        DType::I1 => (x.get_i128(i) != 0).to_string(),
        d if d.is_integer() => x.get_i128(i).to_string(),
        d if d.is_complex() => format!("[{}, {}]", float(x.get_f64(i)), float(x.imaginary_f64(i))),
        _ => float(x.get_f64(i)),
    }
}

fn nested(view: &OpView<'_>) -> Diagnostic {
    Diagnostic::error("run-parallel", view.loc(), "a grid of programs cannot be run by several processes").help(
        "run it in a program that is a single process: not in a program of another grid, nor in a manual computation",
    )
}

fn not_probed(view: &OpView<'_>, iteration: usize) -> Diagnostic {
    let message = format!("the probe \"{}\" has seen fewer than {} values", Probe::id(view), iteration + 1);
    Diagnostic::error("check-failed", view.loc(), message)
}

fn nothing_sent(view: &OpView<'_>, channel: i64) -> Diagnostic {
    let message = format!("`{}` would wait for ever: nothing is left that was sent to channel {channel}", view.name());
    Diagnostic::error("run-waits", view.loc(), message)
        .note("ops run in the order of the program here, and programs of a grid one after the other: a value must be sent before it is received")
        .help("send the values before, or move data between devices with collectives")
}

fn nothing_fed(view: &OpView<'_>) -> Diagnostic {
    let message = format!("`{}` would wait for ever: nothing is left in the feed", view.name());
    Diagnostic::error("run-waits", view.loc(), message)
        .note("each time that a process runs the op, it takes the results of the next function in `infeed` of `interpreter.run_parallel`")
        .help("list more functions in `infeed`, or pass the values as arguments of the program")
}

fn other_types(view: &OpView<'_>) -> Diagnostic {
    let message = format!("`{}` receives values whose number or types differ from those of its results", view.name());
    Diagnostic::error("run-received", view.loc(), message)
        .help("give its results, but for the token, the types of the values that are sent or fed")
}
