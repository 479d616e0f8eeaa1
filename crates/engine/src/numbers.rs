//! Checks for numbers that are not finite.

use shardwise_base::{DType, DTypeKind, Diagnostic, Literal, Loc, Mesh, listed};
use shardwise_ir::{PaddedDim, TensorType};

/// The numbers that end a run when an op makes them: if a result of the op has one, and none of its operands has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NumberChecks {
    /// True if a NaN ends a run.
    pub nans: bool,
    /// True if an infinity ends a run.
    pub infs: bool,
}

/// The numbers in one part of an op's result that a check refuses.
#[derive(Clone, Debug)]
pub struct Found {
    /// The positions in the mesh of the devices that hold the part.
    pub devices: Vec<usize>,
    /// The number of elements of the part that a check refuses.
    pub count: usize,
    /// The number of all elements of the part.
    pub size: usize,
}

impl NumberChecks {
    /// Returns true if anything is checked.
    pub fn any(self) -> bool {
        self.nans || self.infs
    }

    /// Returns the number of elements of an array of this element type, with these bytes, that a check refuses. It is 0
    /// for integers and bools.
    pub fn count(self, dtype: DType, bytes: &[u8]) -> usize {
        let refuses = |x: f64| self.nans && x.is_nan() || self.infs && x.is_infinite();
        match dtype {
            DType::F32 => each(bytes).filter(|&b| refuses(f64::from(f32::from_le_bytes(b)))).count(),
            DType::F64 => each(bytes).filter(|&b| refuses(f64::from_le_bytes(b))).count(),
            _ => self.count_others(dtype, bytes, refuses),
        }
    }

    /// Returns the number of elements that a check refuses, as [`NumberChecks::count`] does, and the number of all, in
    /// the part of an array that the device at a position of the mesh has. `ty` is the type of the part with padding.
    /// Elements in the padding do not count, if it is recorded and there is a mesh.
    pub fn count_in_part(
        self,
        ty: &TensorType,
        bytes: &[u8],
        padding: Option<&[PaddedDim]>,
        mesh: Option<&Mesh>,
        position: usize,
    ) -> (usize, usize) {
        let mut part = ty.shape.to_vec();
        if let (Some(padding), Some(mesh)) = (padding, mesh) {
            let coordinates = mesh.coordinates(position);
            padding.iter().for_each(|p| part[p.dim] = p.unpadded(part[p.dim], mesh, &coordinates));
        }
        let size = part.iter().product();
        if part == ty.shape[..] {
            return (self.count(ty.dtype, bytes), size);
        }
        (self.count_in_box(ty.dtype, &ty.shape, &part, bytes), size)
    }

    /// Returns the number of elements that a check refuses among the first `part[d]` elements along each dimension `d`
    /// of an array of this shape.
    fn count_in_box(self, dtype: DType, shape: &[usize], part: &[usize], bytes: &[u8]) -> usize {
        match (shape, part) {
            ([whole, inner @ ..], [first, inner_part @ ..]) if *whole > 0 => {
                let stride = bytes.len() / whole;
                let blocks = bytes[..stride * first].chunks_exact(stride.max(1));
                match inner == inner_part {
                    true => self.count(dtype, &bytes[..stride * first]),
                    false => blocks.map(|block| self.count_in_box(dtype, inner, inner_part, block)).sum(),
                }
            }
            _ => self.count(dtype, bytes),
        }
    }

    fn count_others(self, dtype: DType, bytes: &[u8], refuses: impl Fn(f64) -> bool) -> usize {
        if !matches!(dtype.kind(), DTypeKind::Float | DTypeKind::Complex) {
            return 0;
        }
        let size = bytes.len() / dtype.storage_bytes();
        let Ok(x) = Literal::from_bytes(dtype, &[size], bytes) else { return 0 };
        let is_complex = dtype.kind() == DTypeKind::Complex;
        (0..size).filter(|&i| refuses(x.get_f64(i)) || is_complex && refuses(x.imaginary_f64(i))).count()
    }

    /// Returns the error for the op `name` at `loc`, which made numbers that these checks refuse in a result of type
    /// `ty`, in the parts `found`. With a mesh, it lists the numbers of the devices that hold these parts, or the first
    /// 16 numbers if there are more.
    pub fn error(self, name: &str, loc: &Loc, ty: &str, found: &[Found], mesh: Option<&Mesh>) -> Diagnostic {
        let (what, check) = match (self.nans, self.infs) {
            (true, false) => ("NaN", "`--check-nans`, or `debug::check_nans` in Rust"),
            (false, _) => ("infinite", "`--check-infs`, or `debug::check_infs` in Rust"),
            (true, true) => (
                "NaN or infinite",
                "`--check-nans` and `--check-infs`, or `debug::check_nans` and `debug::check_infs` in Rust",
            ),
        };
        let (count, size) = (found.iter().map(|f| f.count).sum::<usize>(), found.iter().map(|f| f.size).sum::<usize>());
        let message = format!("`{name}` makes numbers that are {what}, and its operands have none");
        let mut d = Diagnostic::error("not-finite", loc, message).facts(format!("{count} of {size} elements of {ty}"));
        if !loc.scope().is_empty() {
            d = d.facts(format!("in the scope {}", loc.scope()));
        }
        if let Some(mesh) = mesh {
            let mut devices: Vec<usize> = found.iter().flat_map(|f| &f.devices).map(|&p| mesh.device(p)).collect();
            devices.sort_unstable();
            d = d.facts(format!("on devices {}", listed(&devices, MAX_SHOWN))).mesh(mesh);
        }
        d.help(format!("look at the operands, in Rust with `debug::print!`, or switch the check off: {check}"))
    }
}

/// The largest number of devices that a message lists.
const MAX_SHOWN: usize = 16;

fn each<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    bytes.chunks_exact(N).map(|chunk| chunk.try_into().expect("N bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{AxisRef, Complex32, bf16};

    fn count(checks: NumberChecks, x: &Literal) -> usize {
        checks.count(x.dtype(), x.to_dense().raw_bytes())
    }

    #[test]
    fn padding_does_not_count() {
        let mesh = Mesh::new("mesh", [("x", 2), ("y", 2)]).unwrap();
        let axes = |name| mesh.axis(name).map(AxisRef::full).into_iter().collect();
        let padded = |dim, size, name| PaddedDim { dim, size, axes: axes(name), holds: None };
        // A whole array of 3 x 5 elements, in parts of 2 x 3, of which the NaNs are in the second row and third column.
        let padding = [padded(0, 3, "x"), padded(1, 5, "y")];
        let x = Literal::new([2, 3], &[1.0, 2.0, f32::NAN, f32::NAN, f32::NAN, f32::NAN]);
        let checks = NumberChecks { nans: true, infs: false };
        let count = |position, padding| {
            let ty = TensorType::new(DType::F32, vec![2, 3]);
            checks.count_in_part(&ty, x.to_dense().raw_bytes(), padding, Some(&mesh), position)
        };
        assert_eq!([0, 1, 2, 3].map(|p| count(p, Some(&padding[..]))), [(4, 6), (2, 4), (1, 3), (0, 2)]);
        assert_eq!(count(3, None), (4, 6));
    }

    #[test]
    fn numbers_of_all_types_are_counted() {
        let (nans, infs) = (NumberChecks { nans: true, infs: false }, NumberChecks { nans: false, infs: true });
        let both = NumberChecks { nans: true, infs: true };
        let x = [1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN];
        let wide = x.map(f64::from);
        let half = x.map(bf16::from_f32);
        for x in [Literal::new([5], &x), Literal::new([5], &wide), Literal::new([5], &half)] {
            assert_eq!([nans, infs, both, NumberChecks::default()].map(|c| count(c, &x)), [2, 2, 4, 0]);
        }
        let z = Literal::new([2], &[Complex32::new(0.0, f32::NAN), Complex32::new(f32::INFINITY, 0.0)]);
        assert_eq!([nans, infs, both].map(|c| count(c, &z)), [1, 1, 2]);
        assert_eq!(count(both, &Literal::new([2], &[-1i32, 0x7fc0_0000])), 0);
    }
}
