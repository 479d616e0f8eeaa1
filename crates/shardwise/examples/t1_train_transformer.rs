//! Trains a decoder transformer on the source text of this repository, byte by byte, and samples from it.
//!
//! Parameters are split over both axes of the mesh: "data" is FSDP, "model" is tensor parallelism, or has the experts.
//! Weights are f32, and products are computed in bf16.
//!
//! ```sh
//! cargo run --release -p shardwise --example t1_train_transformer -- --save target/t1
//! cargo run --release -p shardwise --example t1_train_transformer -- --help
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its results")]

use shardwise::optim::{self, Chain, Optimizer, adamw, chain, clip_by_global_norm, warmup_cosine};
use shardwise::prelude::*;
use shardwise::value_and_grad;
use std::process::ExitCode;
use train::data::{Text, batch, bigram_entropy};
use train::model::{Model, Params};
use train::options::{HELP, Options};
use train::record::{Record, Row, write_settings};

mod train;

#[cfg(test)]
#[path = "train/tests.rs"]
mod tests;

/// Everything that a run continues from. Its number of steps also says which batch is next.
#[derive(Tree, Clone)]
struct State {
    params: Params,
    optimizer: optim::State<Params>,
}

impl State {
    fn new(options: &Options) -> Result<State> {
        let params = jit(|key: Key| options.model.init(key)).out_shardings(options.model.specs())(Key::new(0))?;
        Ok(State { optimizer: optimizer(options.steps).init(&params), params })
    }

    fn steps(&self) -> Result<usize> {
        self.optimizer.steps().map_or(Ok(0), |n| Ok(n.item::<i32>()? as usize))
    }
}

fn optimizer(steps: usize) -> Chain {
    let schedule = warmup_cosine(3e-3, 3e-4, steps.div_ceil(10).min(50), steps.max(2));
    chain((clip_by_global_norm(1.0), adamw(schedule).b2(0.95).weight_decay(0.1)))
}

/// Returns the objective and its gradient, as the means over microbatches.
/// `text: i32[microbatches, rows, sequence + 1]`.
fn gradient(model: &Model, params: &Params, text: &Array) -> (Array, Params) {
    let of_part = value_and_grad(|params: &Params, text: &Array| model.objective(params, text));
    let count = text.dim(0);
    if count == 1 {
        return of_part(params, &text.i(0));
    }
    let zero = (scalar(0.0, F32), tree::map(params, zeros_like));
    let (sum, ()) = scan(zero, text.clone(), |sum, text| {
        let part = of_part(params, &text.shard(P!("data")));
        (tree::map2(&sum, &part, |a, b| a + b), ())
    });
    tree::map(&sum, |x| x / count)
}

/// Makes one step. Returns the new parameters, the new state of the optimizer, and the objective before the step.
fn step(options: &Options, state: State, text: &Array) -> (Params, optim::State<Params>, Array) {
    let (objective, gradient) = gradient(&options.model, &state.params, text);
    let (params, optimizer) = optimizer(options.steps).update(&gradient, state.optimizer, &state.params);
    (params, optimizer, objective)
}

/// Trains, and returns the last state and the losses. Fails if a step fails, or if a file cannot be read or written.
/// Panics if a part of the text is shorter than a row.
fn train(options: &Options, text: &Text) -> Result<(State, Record)> {
    let specs = options.model.specs();
    let mut state = State::new(options)?;
    if let (true, Some(folder)) = (options.resume, &options.save) {
        state = checkpoint::restore(&state, folder)?;
    }
    if let Some(folder) = &options.save {
        let changed = write_settings(folder, &options.settings(text), options.resume)?;
        if !changed.is_empty() {
            eprintln!("note: the run does not continue bit for bit: {}", changed.join(", "));
        }
    }
    let step = jit(|state: State, text: &Array| step(options, state, text));
    let step = step.out_shardings((specs.clone(), optim::specs(specs), P!()));
    let evaluate = jit(|params: &Params, text: &Array| options.model.loss(params, &text.i(0)));
    let length = options.model.sequence + 1;
    let shape = [options.microbatches, options.batch / options.microbatches, length];
    let test: Vec<Array> = (0..4).map(|i| batch(&text.test, i, [1, options.batch, length])).collect();

    let (first, steps) = (state.steps()?, options.steps);
    let mut record = Record::new(options.save.as_deref(), first, steps, bigram_entropy(&text.test))?;
    let mut saving = None;
    for i in first..steps {
        let is_due = |every: usize| (i + 1) % every == 0 || i + 1 == steps;
        let (params, optimizer, loss) = step(state, &batch(&text.train, i as u64, shape))?;
        state = State { params, optimizer };
        let mut row = Row { step: i + 1, train: loss.item()?, test: None };
        if is_due(options.evaluate_every) {
            let losses = test.iter().map(|text| evaluate(&state.params, text)?.item::<f32>());
            row.test = Some(losses.sum::<Result<f32>>()? / test.len() as f32);
        }
        record.add(row)?;
        if let Some(folder) = options.save.as_ref().filter(|_| is_due(options.save_every)) {
            saving.take().map_or(Ok(()), checkpoint::Saving::wait)?;
            saving = Some(checkpoint::save_in_background(&state, folder)?);
        }
    }
    saving.map_or(Ok(()), checkpoint::Saving::wait)?;
    Ok((state, record))
}

/// Continues a text, which must not be empty, by `count` bytes, each drawn from the model's distribution at temperature
/// 0.7. Returns the given text and these bytes, with replacement characters for what is not UTF-8. Fails if the model
/// cannot be run.
fn sample(options: &Options, params: &Params, prompt: &str, count: usize) -> Result<String> {
    let (model, [rows, _]) = (&options.model, options.mesh);
    let next = jit(|params: &Params, tokens: &Array, last: &Array, key: Key| {
        let (logits, _) = model.forward(params, tokens);
        categorical(key, &(logits.i(0).i(last) / 0.7), 0)
    });
    let mut text: Vec<u8> = prompt.bytes().collect();
    for (_, key) in (0..count).zip(Key::new(1).split_n(count)) {
        let shown = &text[text.len().saturating_sub(model.sequence)..];
        let mut window: Vec<i32> = shown.iter().map(|&b| i32::from(b)).collect();
        window.resize(model.sequence, 0);
        let tokens = array(&window.repeat(rows)).reshape([rows, model.sequence]);
        text.push(next(params, &tokens, &scalar(shown.len() - 1, I32), key)?.item::<i32>()? as u8);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn run(options: &Options) -> Result<()> {
    let [data, model] = options.mesh;
    set_mesh(Mesh::auto([("data", data), ("model", model)])?);
    let text = Text::read(options.text.as_deref())?;
    let bytes = text.train.len() + text.test.len();
    if text.train.len().min(text.test.len()) <= options.model.sequence {
        let message = format!("the text has only {bytes} bytes; a row has {}", options.model.sequence + 1);
        return Err(std::io::Error::other(message).into());
    }
    println!("{bytes} bytes of text; a bigram model reaches {:.3} nats", bigram_entropy(&text.test));
    if let Some(folder) = &options.save
        && !options.resume
        && folder.join("model.safetensors").exists()
    {
        let message = format!("{0} has a run; continue it with --resume {0}, or remove it", folder.display());
        return Err(std::io::Error::other(message).into());
    }
    let (state, _) = train(options, &text)?;
    if options.sample > 0 {
        println!("\n{}", sample(options, &state.params, "/// Returns the ", options.sample)?);
    }
    Ok(())
}

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Ok(None) => print!("{HELP}"),
        Ok(Some(options)) => {
            if let Err(e) = run(&options) {
                eprintln!("{e}");
                return ExitCode::FAILURE;
            }
        }
        Err(wrong) => {
            eprintln!("error: {wrong}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
