//! Why a compiled program communicates, and which change of one layout would save most of it.

use crate::error::SourceLocation;
use crate::topology::{Overlap, at_caller};
use crate::{Error, Result, Topology, limits};
use shardwise_explain::{self as explain, Notation, Options, Place};
use shardwise_ir::Module;
use shardwise_sim as sim;
use std::fmt;
use std::panic::Location;

/// The communication of a program, with its reasons and with the changes of one layout that would save some of it.
/// Formats as a text for people to read.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # fn main() -> Result<()> {
/// set_mesh(Mesh::auto([("X", 2), ("Y", 4)])?);
/// let a = zeros([64, 64], F32).shard(P!("X", "Y"));
/// let w = zeros([64, 128], F32).shard(P!(None, "Y"));
/// let product = jit(|a: &Array, w: &Array| a.matmul(w)).out_shardings(P!("X", "Y"));
/// let explanation = product.lower((&a, &w))?.compile()?.explain()?;
/// // `a` is gathered along "Y", unless it is passed with another layout.
/// let best = explanation.best().unwrap();
/// assert_eq!(best.change_to, r#"P!("X", None)"#);
/// assert_eq!(best.bytes_saved, explanation.bytes_received());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Explanation(explain::Explanation);

/// A change of one layout with which the program communicates less. The partitioner was run with it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remedy {
    /// The place of the layout: ``argument `arg0.w` ``, `argument 0` for one without a name, `result 0`, `` `.shard` ``
    /// or ``a new `.shard` ``.
    pub place: String,
    /// The line of a `.shard`, the line after which a new one is added, the place of an argument, or the line that made
    /// a result; `None` if it is not known.
    pub source: Option<SourceLocation>,
    /// The layout to write there: `P!("X", None)`. It is `no layout` where the program should state none.
    pub change_to: String,
    /// The bytes that the program no longer receives, counted as by [`Explanation::bytes_received`].
    pub bytes_saved: u64,
    /// The bytes of memory that a device needs in addition. They are negative if it needs less.
    pub memory_price: i64,
    /// True if each device computes over 1 % more than before.
    pub replicates_work: bool,
}

impl Explanation {
    /// Returns the bytes that the program receives, counted for each collective on the device that receives the most. A
    /// collective in a loop with a known number of steps counts once for each step, and in another loop once.
    pub fn bytes_received(&self) -> u64 {
        self.0.figures.bytes_received
    }

    /// Returns the change that costs the least for the whole program, among those with which it communicates less,
    /// takes less time if times are predicted, and each device computes at most 1 % more. Returns `None` if no such
    /// change was tried.
    pub fn best(&self) -> Option<Remedy> {
        self.0.best().map(Remedy::of)
    }

    /// Returns the changes that are best for the program or for one of its collectives, each once.
    pub fn remedies(&self) -> impl Iterator<Item = Remedy> + '_ {
        self.0.remedies.iter().map(Remedy::of)
    }
}

impl Remedy {
    fn of(remedy: &explain::Remedy) -> Remedy {
        let name = remedy.loc.scope();
        let place = match remedy.change.place {
            Place::Argument(i) if name.is_empty() => format!("argument {i}"),
            Place::Argument(_) => format!("argument `{name}`"),
            Place::Result(i) => format!("result {i}"),
            Place::Constraint(..) => "`.shard`".into(),
            Place::After(..) => "a new `.shard`".into(),
        };
        Remedy {
            place,
            source: SourceLocation::of(&remedy.loc),
            change_to: remedy.change.layout.as_ref().map_or("no layout".into(), explain::rust_spec),
            bytes_saved: remedy.bytes_saved(),
            memory_price: remedy.memory_price(),
            replicates_work: remedy.replicates_work(),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Explains a program before partitioning, on `topology` or else on the one that its mesh states, if there is one.
/// Fails if the program cannot be partitioned, if there is no such topology or the program does not fit it, or if a
/// limit is reached.
pub(crate) fn of_module(
    module: &Module,
    topology: Option<&Topology>,
    overlap: Overlap,
    at: &'static Location<'static>,
) -> Result<Explanation> {
    limits::run(at, || {
        let of_mesh =
            || module.main_mesh().and_then(|mesh| sim::Topology::of_mesh(mesh)).transpose().map_err(Error::from);
        let topology = topology.map_or_else(of_mesh, |topology| topology.checked(at).map(Some))?;
        let options = Options { topology, overlap, notation: Notation::Rust, ..Options::default() };
        explain::explain(module, &options).map(Explanation).map_err(|found| at_caller(found, at))
    })
}
