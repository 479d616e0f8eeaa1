//! Pictures of layouts: which devices hold which elements of an array, and how the devices are interconnected.
//!
//! A [`Picture`] is text for a terminal or a file, an SVG or a PNG. Each block of elements shows the devices that hold
//! it, as ranges: `0-3,8` are the devices 0, 1, 2, 3 and 8. Summands of an unreduced array are joined by `+`. All
//! forms leave out what does not fit, and say so.
//!
//! ```
//! use shardwise_base::{AxisIndex, AxisRef, Mesh, Sharding};
//! use shardwise_view::{Picture, Style};
//! use std::sync::Arc;
//!
//! let mesh = Arc::new(Mesh::new("mesh", [("X", 2), ("Y", 2)]).unwrap());
//! let x = AxisRef::full(AxisIndex::new(0));
//! let layout = Sharding::closed(&mesh, vec![vec![], vec![x]]);
//! let picture = Picture::new(&[4, 6], Some(&layout));
//! let expected = r#"
//! [4,6] on mesh "X"=2, "Y"=2: 4 devices
//!   dim 0: size 4, whole
//!   dim 1: size 6, 2 shards of 3 over "X"
//!   each block is on 2 devices
//!
//!                0:3                      3:6
//!     +------------------------+------------------------+
//!     |                        |                        |
//! 0:4 |          0,1           |          2,3           |
//!     |                        |                        |
//!     +------------------------+------------------------+
//! "#;
//! assert_eq!(picture.to_text(&Style::PLAIN), expected.trim_start());
//! ```

mod blocks;
mod canvas;
mod chips;
mod font;
mod grid;
mod label;
mod png;
mod text;

#[cfg(test)]
mod tests;

use canvas::Canvas;
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, DimSharding, Loc, Sharding, file};
use std::fmt;
use std::path::Path;

pub use blocks::Block;
pub use chips::Chips;
pub use text::Style;

/// A drawing of the layout of an array.
///
/// It formats as [`Picture::to_text`] does, without the last line break, in the style of the standard output
/// ([`Style::of_stdout`]).
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    title: String,
    shape: Vec<usize>,
    sharding: Option<Sharding>,
    chips: Option<Chips>,
    /// The axes of the first dimensions, along which per-device code has an array for each coordinate.
    stack: Vec<AxisRef>,
}

impl Picture {
    /// Returns a picture of an array of this shape. An array without a sharding is on one device.
    ///
    /// # Panics
    /// Panics if the sharding has another number of dimensions than the shape.
    pub fn new(shape: &[usize], sharding: Option<&Sharding>) -> Picture {
        assert!(sharding.is_none_or(|s| s.rank() == shape.len()), "a layout has a dimension for each of the array");
        let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
        let title = format!("[{}]", sizes.join(","));
        Picture {
            title,
            shape: shape.to_vec(),
            sharding: sharding.map(Sharding::canonical),
            chips: None,
            stack: vec![],
        }
    }

    /// Returns a picture of an array of per-device code, which has this shape. There is one array for each coordinate
    /// along `axes`, over which it varies. The sharding is that of each of them over other axes.
    ///
    /// # Panics
    /// Panics as [`Picture::new`] does.
    pub fn per_device(shape: &[usize], sharding: &Sharding, axes: &[AxisRef]) -> Picture {
        let title = Picture::new(shape, Some(sharding)).title;
        let mesh = &sharding.mesh;
        let shape: Vec<usize> = axes.iter().map(|a| a.size(mesh)).chain(shape.iter().copied()).collect();
        let first = axes.iter().map(|&a| DimSharding::closed(vec![a]));
        let dims = first.chain(sharding.dims.iter().cloned()).collect();
        let picture = Picture::new(&shape, Some(&sharding.clone().with_dims(dims)));
        Picture { title, stack: axes.to_vec(), ..picture }
    }

    /// Returns the picture with another title: `x: f32[4,8]`. The default is the shape, in per-device code that on one
    /// device.
    pub fn with_title(self, title: impl Into<String>) -> Picture {
        Picture { title: title.into(), ..self }
    }

    /// Returns the picture with a drawing of the chips below that of the array, which says over which links each axis
    /// of the mesh communicates. It is left out if the array has no sharding, and so no mesh.
    pub fn on_chips(self, chips: Chips) -> Picture {
        Picture { chips: Some(chips), ..self }
    }

    /// Returns the title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the shape of the array. A picture of per-device code has a first dimension for each axis over which the
    /// array varies.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the layout of an array of the shape [`Picture::shape`], without priorities, open dimensions and
    /// replicated or reduced axes. Returns `None` if the array is on one device without a mesh.
    pub fn sharding(&self) -> Option<&Sharding> {
        self.sharding.as_ref()
    }

    /// Returns the picture as SVG, with a fixed palette that is readable on light and dark pages.
    pub fn to_svg(&self) -> String {
        self.canvas().to_svg()
    }

    /// Returns the picture as PNG, and its width and height in pixels.
    pub fn to_png(&self) -> (Vec<u8>, usize, usize) {
        let canvas = self.canvas();
        let (width, height) = canvas.size();
        (canvas.to_png(), width, height)
    }

    fn canvas(&self) -> Canvas {
        canvas::draw(self)
    }

    /// Writes the picture to a file, whose extension is `.svg`, `.png` or `.txt`, in upper or lower case. The file is
    /// written completely, or not changed.
    ///
    /// # Errors
    /// `picture-format` for another extension, and `picture-unwritable` if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Diagnostics> {
        let path = path.as_ref();
        let contents = match path.extension().map(|e| e.to_ascii_lowercase()) {
            Some(e) if e == "svg" => self.to_svg().into_bytes(),
            Some(e) if e == "png" => self.to_png().0,
            Some(e) if e == "txt" => self.to_text(&Style::PLAIN).into_bytes(),
            _ => return Err(unknown_format(path).into()),
        };
        file::write(path, contents).map_err(|e| unwritable(path, &e).into())
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text(&Style::of_stdout()).trim_end_matches('\n'))
    }
}

fn unknown_format(path: &Path) -> Diagnostic {
    let message = format!("the extension of `{}` is not that of a format for pictures", path.display());
    Diagnostic::error("picture-format", &Loc::UNKNOWN, message)
        .expected("a name that ends with one of .svg, .png, .txt")
        .help("use .svg for documents and browsers")
}

fn unwritable(path: &Path, why: &std::io::Error) -> Diagnostic {
    Diagnostic::error("picture-unwritable", &Loc::UNKNOWN, format!("cannot write `{}`: {why}", path.display()))
        .note("what was there before is unchanged")
        .help("check the folder, its permissions and the free space")
}
