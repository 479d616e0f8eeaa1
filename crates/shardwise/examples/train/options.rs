//! The options of a run, from the command line.

use super::data::Text;
use super::model::{CHOSEN, Model};
use shardwise::prelude::*;
use std::path::PathBuf;

pub const HELP: &str = "\
Trains a decoder transformer on text, byte by byte, on a mesh of virtual devices, and samples from it.

    cargo run --release -p shardwise --example t1_train_transformer -- [OPTIONS]

Run:
  --steps N           Train for N steps (600)
  --save FOLDER       Write checkpoints, loss.csv and loss.svg to FOLDER
  --resume FOLDER     Continue the run that is saved in FOLDER, bit for bit if the other options are the same
  --save-every N      Write a checkpoint every N steps, and after the last one (100)
  --evaluate-every N  Compute the loss on other text every N steps (50)
  --text FILE         Train on this file instead of the source files of this repository
  --sample N          Print N bytes of text from the model at the end (200)

Data and devices:
  --mesh DxM          Split batches and weights over D devices, and heads and hidden units over M (4x2)
  --batch N           Use N rows of text in each step (16)
  --microbatches N    Compute the gradient of a batch in N parts, one after the other (1)

Model:
  --layers N, --width N, --heads N, --hidden N, --sequence N
                      The sizes of the model (4, 128, 4, 512, 128)
  --experts N         Use a mixture of N experts in each layer, which are split over the M devices
  --f32               Compute in f32 instead of bf16
  --remat on|off      Compute values inside of layers again in the backward pass, which saves memory (on)
  --help              Print this help
";

/// The options of a run. [`HELP`] explains them.
#[derive(Clone, Debug)]
pub struct Options {
    pub steps: usize,
    pub save: Option<PathBuf>,
    pub resume: bool,
    pub save_every: usize,
    pub evaluate_every: usize,
    pub text: Option<PathBuf>,
    pub sample: usize,
    /// The sizes of "data" and "model".
    pub mesh: [usize; 2],
    pub batch: usize,
    pub microbatches: usize,
    pub model: Model,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            steps: 600,
            save: None,
            resume: false,
            save_every: 100,
            evaluate_every: 50,
            text: None,
            sample: 200,
            mesh: [4, 2],
            batch: 16,
            microbatches: 1,
            model: Model {
                width: 128,
                heads: 4,
                hidden: 512,
                layers: 4,
                sequence: 128,
                experts: 0,
                compute: BF16,
                remat: true,
            },
        }
    }
}

impl Options {
    /// Reads the arguments of the command line. Returns `None` as soon as one asks for help. Fails with a message if an
    /// argument before that is wrong, or if the sizes do not fit each other.
    pub fn parse(args: impl IntoIterator<Item = String>) -> std::result::Result<Option<Options>, String> {
        let (mut o, mut args) = (Options::default(), args.into_iter());
        while let Some(name) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--steps" => o.steps = number(&name, &value()?)?,
                "--save" => o.save = Some(value()?.into()),
                "--resume" => (o.save, o.resume) = (Some(value()?.into()), true),
                "--save-every" => o.save_every = number(&name, &value()?)?,
                "--evaluate-every" => o.evaluate_every = number(&name, &value()?)?,
                "--text" => o.text = Some(value()?.into()),
                "--sample" => o.sample = number_or_zero(&name, &value()?)?,
                "--mesh" => o.mesh = mesh(&value()?)?,
                "--batch" => o.batch = number(&name, &value()?)?,
                "--microbatches" => o.microbatches = number(&name, &value()?)?,
                "--layers" => o.model.layers = number(&name, &value()?)?,
                "--width" => o.model.width = number(&name, &value()?)?,
                "--heads" => o.model.heads = number(&name, &value()?)?,
                "--hidden" => o.model.hidden = number(&name, &value()?)?,
                "--sequence" => o.model.sequence = number(&name, &value()?)?,
                "--experts" => o.model.experts = number_or_zero(&name, &value()?)?,
                "--f32" => o.model.compute = F32,
                "--remat" => o.model.remat = switch(&name, &value()?)?,
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("there is no option {name}; --help lists them")),
            }
        }
        o.check().map(|()| Some(o))
    }

    /// Returns what the numbers of a run depend on, one setting a line.
    pub fn settings(&self, text: &Text) -> String {
        let Options { steps, batch, microbatches, mesh: [data, model], .. } = self;
        let Model { width, heads, hidden, layers, sequence, experts, compute, remat } = &self.model;
        let bytes = text.train.iter().chain(&text.test);
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |h: u64, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        format!(
            "steps {steps}\nbatch {batch}\nmicrobatches {microbatches}\nmesh {data}x{model}\nlayers {layers}\n\
             width {width}\nheads {heads}\nhidden {hidden}\nsequence {sequence}\nexperts {experts}\n\
             compute {compute:?}\nremat {remat}\ntext {hash:016x}\n"
        )
    }

    fn check(&self) -> std::result::Result<(), String> {
        let (m, [data, model]) = (&self.model, self.mesh);
        let parts = self.microbatches.saturating_mul(data);
        let splits = [
            ("--width", m.width, m.heads, "heads"),
            ("--heads", m.heads, model, "devices of the axis \"model\""),
            ("--hidden", m.hidden, model, "devices of the axis \"model\""),
            ("--experts", m.experts, model, "devices of the axis \"model\""),
            ("--width", m.width, data, "devices of the axis \"data\""),
            ("--batch", self.batch, parts, "parts (the microbatches times the axis \"data\")"),
        ];
        if let Some((name, size, parts, of)) = splits.into_iter().find(|(_, size, parts, _)| size % parts != 0) {
            return Err(format!("cannot split {name} {size} over {parts} {of}; use a multiple of {parts}"));
        }
        if (1..CHOSEN).contains(&m.experts) {
            return Err(format!("--experts {} is too few: each token is sent to {CHOSEN}", m.experts));
        }
        Ok(())
    }
}

fn number_or_zero(name: &str, value: &str) -> std::result::Result<usize, String> {
    value.parse().map_err(|_| format!("{name} needs a whole number, found {value:?}"))
}

fn number(name: &str, value: &str) -> std::result::Result<usize, String> {
    match number_or_zero(name, value)? {
        0 => Err(format!("{name} needs a number that is not 0")),
        n => Ok(n),
    }
}

fn mesh(value: &str) -> std::result::Result<[usize; 2], String> {
    let sizes = |(d, m): (&str, &str)| Some([d.parse().ok()?, m.parse().ok()?]);
    let sizes: Option<[usize; 2]> = value.split_once('x').and_then(sizes);
    let sizes = sizes.filter(|[d, m]| d.checked_mul(*m).is_some_and(|n| (1..=64).contains(&n)));
    sizes.ok_or_else(|| format!("--mesh needs two sizes such as 4x2, of at most 64 devices, found {value:?}"))
}

fn switch(name: &str, value: &str) -> std::result::Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{name} needs `on` or `off`, found {value:?}")),
    }
}
