//! Debugging: pictures of layouts, prints from inside programs, and checks for numbers that are not finite.
//!
//! ```
//! use shardwise::debug;
//! use shardwise::prelude::*;
//!
//! # fn main() -> Result<()> {
//! let double = |x: &Array| {
//!     debug::print!("x = {}", x);
//!     x * 2
//! };
//! let (y, lines) = debug::captured(|| jit(double)(&arange(0..3, I32)));
//! assert_eq!(lines, ["x = [0 1 2]"]);
//! assert_eq!(y?.to_vec::<i32>()?, [0, 2, 4]);
//! # Ok(())
//! # }
//! ```

mod checks;
mod inspect;
mod print;

pub use crate::__debug_print as print;
pub use inspect::inspect;
#[doc(hidden)]
pub use print::Printing;
pub use print::{PrintArg, PrintSink, captured, set_print_sink, with_print_sink};
pub use shardwise_view::{Block, Picture, Style};

pub use checks::{Checks, check_infs, check_nans, with_checks};

pub(crate) use checks::checks;
pub(crate) use inspect::waiting;

use crate::{Array, Mesh, context, control, mistakes, runtime, trace};
use shardwise_base::{self as base, AxisRef};
use std::panic::Location;

/// Returns a picture of the layout of an array: which devices hold which elements.
///
/// The picture formats as text, in colour on a terminal, and [`Picture::save`] writes it as SVG or PNG. If the mesh has
/// a topology of as many devices ([`Mesh::with_topology`]), a drawing of the chips says over which links each axis
/// communicates.
///
/// # Panics
///
/// Panics outside of a trace, and ends the trace inside, with the mistakes that the array carries, or with `no-layout`
/// for a traced array whose layout is not known: in Auto mode, it is chosen when the program is compiled. Use
/// [`inspect`] there. A `float0` array has a picture.
///
/// # Examples
///
/// ```
/// use shardwise::debug::{self, Style};
/// use shardwise::prelude::*;
///
/// # fn main() -> Result<()> {
/// set_mesh(Mesh::auto([("X", 2), ("Y", 2)])?);
/// let x = arange(0..8, F32).shard(P!("X"));
/// let expected = r#"
/// f32[8@X] on mesh "X"=2, "Y"=2: 4 devices
///   dim 0: size 8, 2 shards of 4 over "X"
///   each block is on 2 devices
///
///            0:4                      4:8
/// +------------------------+------------------------+
/// |                        |                        |
/// |          0,1           |          2,3           |
/// |                        |                        |
/// +------------------------+------------------------+
/// "#;
/// assert_eq!(debug::visualize(&x).to_text(&Style::PLAIN), expected.trim_start());
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn visualize(x: &Array) -> Picture {
    let at = context::caller(Location::caller());
    if let Some(wrong) = x.mistakes().filter(|_| !x.is_float0()) {
        if trace::is_tracing() {
            control::give_up_with(wrong);
        }
        panic!("the array has no layout\n{}", wrong.error());
    }
    let ty = x.sharded();
    if x.traced().is_some() && ty.sharding.is_none() {
        control::give_up(mistakes::no_layout(&x.short_type(), &context::loc(at)), at);
    }
    let picture = picture_of(&ty.ty.shape, ty.sharding.as_ref());
    picture.with_title(x.short_type())
}

/// Returns a picture of the devices of a mesh as text: the coordinates of the device of each chip, and over which links
/// each axis communicates. Without a topology of a known machine with as many devices, it lists the axes and the
/// devices only.
///
/// # Examples
///
/// ```
/// use shardwise::debug::{self, Style};
/// use shardwise::prelude::*;
///
/// # fn main() -> Result<()> {
/// let mesh = Mesh::auto([("X", 4), ("Y", 2)])?.with_topology(&Topology::tpu_v5e([2, 4]));
/// let text = debug::visualize_mesh(&mesh, &Style::PLAIN);
/// assert!(text.contains(r#""X"=4: along y, neighbours 1 link apart, a line"#), "{text}");
/// # Ok(())
/// # }
/// ```
pub fn visualize_mesh(mesh: &Mesh, style: &Style) -> String {
    match runtime::chips(&mesh.0) {
        Some(chips) => chips.to_text(&mesh.0, style),
        None => Picture::new(&[], Some(&base::Sharding::replicated(&mesh.0, 0))).with_title("a scalar").to_text(style),
    }
}

pub(crate) fn picture_of(shape: &[usize], sharding: Option<&base::Sharding>) -> Picture {
    on_chips(Picture::new(shape, sharding), sharding)
}

pub(crate) fn picture_per_device(shape: &[usize], sharding: &base::Sharding, axes: &[AxisRef]) -> Picture {
    on_chips(Picture::per_device(shape, sharding, axes), Some(sharding))
}

fn on_chips(picture: Picture, sharding: Option<&base::Sharding>) -> Picture {
    match sharding.and_then(|s| runtime::chips(&s.mesh)) {
        Some(chips) => picture.on_chips(chips),
        None => picture,
    }
}
