//! Explains the communication of a program, and finds the change of one layout that saves most of it.
//!
//! [`explain`] partitions a program. For each collective it reports the source line, the op that needed it, the reason,
//! the bytes and a lower bound for them, and with a topology the predicted time and how much of it is not hidden behind
//! compute. Then it looks for the cheapest [`Remedy`]: another layout of one argument, one result or one constraint, or
//! one new constraint. Candidates are *tried*: the changed program is partitioned, and its bytes, memory, flops and
//! time are compared. So what a remedy says is what the changed program does.
//!
//! Times are those of the scheduled program, so that they are what a simulation of the program shows.
//!
//! [`compare`] reports what differs between two programs.
//!
//! # Examples
//!
//! ```
//! use shardwise_explain::{Options, explain};
//!
//! // The rows of `a` are multiplied with the columns of `b`, but `a` is split along the columns.
//! let text = r#"sdy.mesh @mesh = <["x"=4]>
//! func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<64x64xf32>)
//!     -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
//!   %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
//!       : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
//!   return %0 : tensor<64x64xf32>
//! }"#;
//! let module = shardwise_ir::text::parse("product.mlir", text, &shardwise_ops::OPS).unwrap();
//! let explanation = explain(&module, &Options::default()).unwrap();
//! let best = explanation.best().unwrap();
//! assert_eq!((best.after.bytes_received, best.replicates_work()), (0, false));
//! assert!(explanation.to_string().contains(r#"[{"x"}, {}]"#));
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

mod candidates;
mod difference;
mod figures;
mod group;
mod near;
mod place;
mod remedy;
mod search;
mod show;
mod times;

pub use candidates::layouts;
pub use difference::{Comparison, Delta, DeltaKind, compare};
pub use figures::{Figures, Key, Traffic};
pub use group::Group;
pub use place::{Change, Place, Spec, rust_spec, specs};
pub use remedy::Remedy;
pub use times::Time;

use figures::Version;
use place::Required;
use shardwise_base::{Diagnostics, Mesh, counted};
use shardwise_ir::Module;
use shardwise_sim::{Overlap, Topology};
use std::fmt;
use times::Times;

/// The notation of layouts in texts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Notation {
    /// Shardy's: `#sdy.sharding<@mesh, [{"x"}, {}]>`.
    #[default]
    Shardy,
    /// The macro of Rust programs: `P!("x", None)`.
    Rust,
}

/// Options of [`explain`] and [`compare`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The machine on which times are predicted. Without it, remedies are compared by bytes.
    pub topology: Option<Topology>,
    /// Which collectives run beside other ops in predictions. Unless this is [`Overlap::Off`], the program is scheduled
    /// accordingly, as [`shardwise_schedule::schedule`] does it.
    pub overlap: Overlap,
    /// The largest number of changes to try. The default depends on the size of the program.
    pub trials: Option<usize>,
    /// The notation of layouts in the text of the result.
    pub notation: Notation,
}

/// The communication of a program, with its reasons and remedies. Formats as a text whose lines have at most 100
/// columns, unless a word is longer. The alternate form `{:#}` has the colours of a terminal.
#[derive(Clone)]
pub struct Explanation {
    /// The program to which the change of a [`Remedy`] applies ([`Change::apply`]). It is the given one without any
    /// change, as [`shardwise_spmd::prepare`] returns it: with its layouts over one mesh and in Shardy's notation, and
    /// with some ops rewritten, such as those on quantized values.
    pub program: Module,
    /// The totals of the program without any change.
    pub figures: Figures,
    /// The sum of the lower bounds for the program's moves, in bytes
    /// ([`shardwise_spmd::Communication::bytes_least`]).
    pub bytes_least: u64,
    /// A number of bytes that some device has to receive in each program with the same specs
    /// ([`shardwise_spmd::Communication::bytes_forced`]), or `None` if no bound is known.
    pub bytes_forced: Option<u64>,
    /// The collectives of the program, in the order of the program.
    pub groups: Vec<Group>,
    /// The changes that are best for a group or for the whole program, with more work of the devices or without, each
    /// once.
    pub remedies: Vec<Remedy>,
    /// The number of changes that were tried, those included that the partitioner refused.
    pub tried: usize,
    /// The number of specs of arguments, results and constraints, without those of values that Shardy's collectives in
    /// the given program read, whose layouts these require. 0 if no device receives data, because no change is searched
    /// for then.
    pub spec_count: usize,
    /// True if all layouts over whole axes ([`layouts`]) were tried at each of the specs that
    /// [`Explanation::spec_count`] counts. False if no device receives data.
    pub is_complete: bool,
    /// Facts that a reader must know beside the remedies, one sentence each.
    pub notes: Vec<String>,
    /// The topology on which times are predicted, or `None` if none are.
    pub topology: Option<Topology>,
    notation: Notation,
    best: Option<usize>,
    with_more_work: Option<usize>,
}

impl Explanation {
    /// Returns the change that costs least for the whole program, among those with which it communicates less, takes
    /// less time if times are predicted, and no device computes over 1 % more. Returns `None` if no such change was
    /// tried.
    pub fn best(&self) -> Option<&Remedy> {
        self.best.map(|i| &self.remedies[i])
    }

    /// Returns the change that costs least of all with which the program communicates less, and takes less time if
    /// times are predicted. Returns `None` if devices do not compute over 1 % more with it, if it does not save more
    /// than [`Explanation::best`], or if there is no such change.
    pub fn best_with_more_work(&self) -> Option<&Remedy> {
        self.with_more_work.map(|i| &self.remedies[i])
    }

    /// Returns the best change for one of [`Explanation::groups`], or `None` if no change that was tried removes or
    /// shrinks it and also saves bytes in the whole program, and time if times are predicted.
    pub fn remedy_of(&self, group: &Group) -> Option<&Remedy> {
        group.remedy.map(|i| &self.remedies[i])
    }
}

/// Formats the totals and the remedies.
impl fmt::Debug for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Explanation");
        out.field("figures", &self.figures).field("remedies", &self.remedies).finish_non_exhaustive()
    }
}

/// Prints the collectives with their reasons, and the remedies.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show::explanation(f, self)
    }
}

/// Explains the communication of a program, and tries changes of one spec that save some of it.
///
/// # Errors
/// Fails if the program cannot be partitioned, which includes one that has been partitioned before
/// (`partitioned-twice`), or if it does not fit the topology (`topology-mesh`).
pub fn explain(module: &Module, options: &Options) -> Result<Explanation, Diagnostics> {
    let program = shardwise_spmd::prepare(module, &mut Default::default())?;
    let now = Version::of(&program, options)?;
    let communication = &now.partitioned.communication;
    let times = times(&now, options)?;
    let mut groups = group::groups(communication, times.as_ref());
    let mut found = match now.outcome.figures.bytes_received {
        0 => search::Found::default(),
        _ => search::search(&program, &Required::of(&program, module), &now, &groups, options),
    };
    let remedies = remedy::choose(&mut found, &program, &now, &mut groups, options);
    Ok(Explanation {
        figures: now.outcome.figures,
        bytes_least: communication.bytes_least(),
        bytes_forced: communication.bytes_forced(),
        notes: notes(module, &program, &found),
        groups,
        remedies: remedies.all,
        best: remedies.best,
        with_more_work: remedies.with_more_work,
        tried: found.tried,
        spec_count: found.spec_count,
        is_complete: found.is_complete,
        topology: options.topology.clone(),
        notation: options.notation,
        program,
    })
}

/// Returns the predicted times of the collectives, or `None` without a topology. Fails if the program does not fit it.
fn times(now: &Version, options: &Options) -> Result<Option<Times>, Diagnostics> {
    let (Some(timeline), Some(topology)) = (&now.timeline, &options.topology) else { return Ok(None) };
    Ok(Some(match options.overlap {
        Overlap::Off => Times::of(timeline),
        _ => Times::of_scheduled(timeline, &figures::in_order(&now.partitioned.module, topology)?),
    }))
}

/// Returns the notes on the search for changes of `program`, which is `source` after [`shardwise_spmd::prepare`].
fn notes(source: &Module, program: &Module, found: &search::Found) -> Vec<String> {
    let mut notes = vec![];
    let refused = found.tried - found.trials.len();
    if refused > 0 {
        notes.push(format!("{refused} of the changes could not be partitioned"));
    }
    if found.left > 0 {
        notes.push(match found.left {
            1 => "1 further change was not tried".into(),
            left => format!("{left} further changes were not tried"),
        });
    }
    if found.required_count > 0 {
        let values = counted(found.required_count, "value");
        notes.push(format!(
            "the layouts of {values} were kept, because collectives such as `sdy.all_gather` in the program require \
             them"
        ));
    }
    let is_declared = |mesh: &Mesh| source.meshes.iter().any(|m| m.name == mesh.name && m.same_devices(mesh));
    let undeclared = program.main_mesh().filter(|mesh| found.tried > 0 && !is_declared(mesh));
    notes.extend(undeclared.map(|mesh| undeclared_mesh(mesh)));
    let has_explicit = program.main_mesh().is_some_and(|mesh| mesh.explicit_axes().next().is_some());
    if has_explicit && found.tried > 0 {
        let text = "the mesh has Explicit axes: all other layouts were kept as the program states them, and a changed \
                    layout may be ambiguous for the types of the source";
        notes.push(text.into());
    }
    notes
}

fn undeclared_mesh(mesh: &Mesh) -> String {
    let axes: Vec<String> = mesh.axes.iter().map(|axis| format!("{:?}={}", axis.name, axis.size)).collect();
    let (name, axes) = (&mesh.name, axes.join(", "));
    format!("layouts are written over the mesh @{name} with the axes {axes}, which the program does not declare")
}
