//! Quantized element types: integers that represent floats, `float = (integer - zero_point) * scale`.
//!
//! Only values of programs have these types. In memory, a quantized array is an array of its storage type
//! ([`DType::storage`]). The types are interned for the life of the process, as in MLIR, so that a [`DType`] is small
//! and cheap to copy.

use crate::{DType, bf16_nearest, f16_nearest};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{LazyLock, PoisonError, RwLock};

/// The parameters of a quantized element type.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantized {
    /// The type of the integers in memory, which has 32 bits at most.
    pub storage: DType,
    /// The range of the integers, inclusive.
    pub range: (i64, i64),
    /// The type of the floats that the integers represent.
    pub expressed: DType,
    /// The dimension whose slices have a scale and a zero point each; `None` if there is one of each for the whole
    /// tensor.
    pub axis: Option<usize>,
    pub scales: Vec<f64>,
    /// The zero points, one for each scale.
    pub zero_points: Vec<i64>,
}

/// The number of an interned [`Quantized`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct QuantizedId(u32);

/// The label of the constraint of StableHLO's spec that a quantized type breaks, and what it requires. The label is
/// `quantized-types-full` if the types of the process take too much memory.
pub type BrokenConstraint = (&'static str, String);

#[derive(Default)]
struct Table {
    types: Vec<(&'static Quantized, &'static str)>,
    by_name: HashMap<&'static str, QuantizedId>,
    /// The number of bytes of the types and their names.
    bytes: usize,
}

/// The limit on the bytes of all types of a process. They are never freed, and a text may have any number of them.
const MAX_BYTES: usize = 256 << 20;

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

impl QuantizedId {
    fn entry(self) -> (&'static Quantized, &'static str) {
        TABLE.read().unwrap_or_else(PoisonError::into_inner).types[self.0 as usize]
    }

    /// Returns the parameters of the type.
    pub fn get(self) -> &'static Quantized {
        self.entry().0
    }

    /// Returns the name in MLIR's syntax: `!quant.uniform<i8:f32, 2.0:15>`. Scales have their shortest decimal form,
    /// where MLIR writes `2.000000e+00`. Types are equal if their names are.
    pub fn name(self) -> &'static str {
        self.entry().1
    }
}

impl Table {
    fn intern(&mut self, ty: Quantized, name: String, max_bytes: usize) -> Result<DType, BrokenConstraint> {
        if let Some(&id) = self.by_name.get(&*name) {
            return Ok(DType::Quantized(id));
        }
        let bytes =
            size_of::<Quantized>() + size_of_val(&ty.scales[..]) + size_of_val(&ty.zero_points[..]) + name.len();
        if self.bytes + bytes > max_bytes {
            let rule = format!("the quantized types of all programs of a process may take {max_bytes} bytes");
            return Err(("quantized-types-full", rule));
        }
        self.bytes += bytes;
        let id = QuantizedId(self.types.len() as u32);
        let name: &'static str = Box::leak(name.into_boxed_str());
        self.types.push((Box::leak(Box::new(ty)), name));
        self.by_name.insert(name, id);
        Ok(DType::Quantized(id))
    }
}

/// Returns the smallest and the largest integer of a storage type, which must be an integer type of at most 32 bits.
pub fn storage_range(storage: DType) -> (i64, i64) {
    let (least, greatest) = storage.integer_range();
    (least as i64, greatest as i64)
}

/// Returns the smallest positive number of `f16`, `bf16`, `f32` or `f64`. For all other types, returns that of `f64`.
fn smallest(expressed: DType) -> f64 {
    match expressed {
        DType::F16 => 2f64.powi(-24),
        DType::BF16 => 2f64.powi(-133),
        DType::F32 => f32::from_bits(1).into(),
        _ => f64::from_bits(1),
    }
}

impl Quantized {
    /// Returns the interned element type.
    ///
    /// # Errors
    /// Fails if a constraint of the spec does not hold, or if the types of the process take too much memory.
    pub fn intern(self) -> Result<DType, BrokenConstraint> {
        self.check()?;
        let name = self.name();
        TABLE.write().unwrap_or_else(PoisonError::into_inner).intern(self, name, MAX_BYTES)
    }

    /// Checks the constraints of the spec. C1, C2 and C8 hold of all numbers that C3 and C7 accept. C9 and C11 hold by
    /// construction. Fails with the label and the text of the first constraint that does not hold, in the order C3, C5,
    /// C6, C4, C7, C10.
    fn check(&self) -> Result<(), BrokenConstraint> {
        let broken = |label, rule: String| Err((label, rule));
        let (low, high) = self.range;
        let (least, greatest) = storage_range(self.storage);
        if !(least <= low && low < high && high <= greatest) {
            let rule = format!(
                "the storage range must have a minimum below its maximum, and be within {}'s, {least}:{greatest}",
                self.storage
            );
            return broken("quantized_type_c3", rule);
        }
        if self.scales.iter().any(|&s| s <= 0.0 || s.is_nan()) {
            return broken("quantized_type_c5", "scales must be greater than zero".into());
        }
        let smallest = smallest(self.expressed);
        if self.scales.iter().any(|&s| s.is_infinite() || s < smallest) {
            let rule =
                format!("scales must be finite, and at least the smallest positive number of type {}", self.expressed);
            return broken("quantized_type_c6", rule);
        }
        let is_number = |s: f64| s > 0.0 && s.is_finite();
        if self.scales.iter().any(|&s| !is_number(rounded(s, self.expressed))) {
            return broken(
                "quantized_type_c4",
                format!("scales must round to positive, finite numbers of type {}", self.expressed),
            );
        }
        if self.zero_points.iter().any(|&z| z < low || z > high) {
            return broken("quantized_type_c7", format!("zero points must be in the storage range, {low}:{high}"));
        }
        if self.axis.is_none() && self.scales.len() != 1 {
            return broken("quantized_type_c10", "a type without a quantized dimension must have one scale".into());
        }
        Ok(())
    }

    /// Checks the constraints of the spec on tensors of this element type. A type with one scale for the whole tensor
    /// accepts every shape.
    ///
    /// # Errors
    /// Returns the first constraint that does not hold.
    pub fn check_shape(&self, shape: &[usize]) -> Result<(), BrokenConstraint> {
        let Some(axis) = self.axis else { return Ok(()) };
        let Some(&size) = shape.get(axis) else {
            return Err((
                "quantized_type_c12",
                format!("the quantized dimension {axis} must be one of the tensor's {}", shape.len()),
            ));
        };
        if size != self.scales.len() {
            let rule = format!("there must be a scale for each of the {size} slices of dimension {axis}");
            return Err(("quantized_type_c13", rule));
        }
        Ok(())
    }

    fn name(&self) -> String {
        let sign = if self.storage.is_signed() { 'i' } else { 'u' };
        let mut out = format!("!quant.uniform<{sign}{}", self.storage.bits());
        if self.range != storage_range(self.storage) {
            write!(out, "<{}:{}>", self.range.0, self.range.1).expect("writing to a string");
        }
        write!(out, ":{}", self.expressed).expect("writing to a string");
        if let Some(axis) = self.axis {
            write!(out, ":{axis}").expect("writing to a string");
        }
        let parameters: Vec<String> = self.scales.iter().zip(&self.zero_points).map(parameter).collect();
        let list = parameters.join(", ");
        out + &if self.axis.is_some() { format!(", {{{list}}}>") } else { format!(", {list}>") }
    }
}

/// Returns the text of a scale and its zero point: `0.1:-30`, or `2.0` if the zero point is 0.
fn parameter((&scale, &zero_point): (&f64, &i64)) -> String {
    // MLIR writes a point before the exponent.
    let text = match format!("{scale:?}") {
        text if text.contains('.') => text,
        text => text.replace('e', ".0e"),
    };
    if zero_point == 0 { text } else { format!("{text}:{zero_point}") }
}

/// Returns `x` converted to the float type `to`, or NaN if `to` is no float type. For types of eight bits and less, the
/// conversion is that of [`DType::small_float_code`].
fn rounded(x: f64, to: DType) -> f64 {
    match to {
        DType::F64 => x,
        DType::F32 => f64::from(x as f32),
        DType::F16 => f16_nearest(x).to_f64(),
        DType::BF16 => bf16_nearest(x).to_f64(),
        small => small.small_float_code(x).and_then(|code| small.small_float(code)).unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_tensor(storage: DType, range: (i64, i64), scale: f64, zero_point: i64) -> Quantized {
        let (scales, zero_points) = (vec![scale], vec![zero_point]);
        Quantized { storage, range, expressed: DType::F32, axis: None, scales, zero_points }
    }

    #[test]
    fn equal_types_are_one() {
        let of = |scale| per_tensor(DType::I8, (-128, 127), scale, 15).intern().unwrap();
        assert_eq!(of(2.0), of(2.0));
        assert_ne!(of(2.0), of(2.5));
        assert_eq!(of(2.0).name(), "!quant.uniform<i8:f32, 2.0:15>");
        assert_eq!((of(2.0).storage(), of(2.0).storage_bytes()), (DType::I8, 1));
        let narrow = per_tensor(DType::U8, (1, 255), 1e-7, 1).intern().unwrap();
        assert_eq!(narrow.name(), "!quant.uniform<u8<1:255>:f32, 1.0e-7:1>");
    }

    #[test]
    fn a_table_holds_so_many_bytes() {
        let mut table = Table::default();
        let mut add = |zero_point: i64| {
            let ty = per_tensor(DType::I8, (-128, 127), 2.0, zero_point);
            let name = ty.name();
            table.intern(ty, name, 1000)
        };
        let added = (0..100).take_while(|&z| add(z).is_ok()).count();
        assert!((1..20).contains(&added), "{added} types in 1000 bytes");
        assert!(add(0).is_ok(), "what is there stays");
        assert_eq!(add(99).unwrap_err().0, "quantized-types-full");
    }

    #[test]
    fn constraints_of_the_spec() {
        let label = |q: Quantized| q.intern().unwrap_err().0;
        assert_eq!(label(per_tensor(DType::I8, (-129, 127), 1.0, 0)), "quantized_type_c3");
        assert_eq!(label(per_tensor(DType::I8, (0, 0), 1.0, 0)), "quantized_type_c3");
        assert_eq!(label(per_tensor(DType::I8, (-128, 127), 1e300, 0)), "quantized_type_c4");
        assert_eq!(label(per_tensor(DType::I8, (-128, 127), 0.0, 0)), "quantized_type_c5");
        assert_eq!(label(per_tensor(DType::I8, (-128, 127), f64::INFINITY, 0)), "quantized_type_c6");
        assert_eq!(label(per_tensor(DType::I8, (-128, 127), 1e-46, 0)), "quantized_type_c6");
        assert_eq!(label(per_tensor(DType::I8, (-8, 7), 1.0, 8)), "quantized_type_c7");
        let two = Quantized { scales: vec![1.0; 2], zero_points: vec![0; 2], ..per_tensor(DType::I4, (-8, 7), 1.0, 0) };
        assert_eq!(label(two.clone()), "quantized_type_c10");
        let by_axis = Quantized { axis: Some(1), ..two };
        assert_eq!(by_axis.check_shape(&[2]).unwrap_err().0, "quantized_type_c12");
        assert_eq!(by_axis.check_shape(&[2, 3]).unwrap_err().0, "quantized_type_c13");
        assert_eq!(by_axis.check_shape(&[3, 2]), Ok(()));
    }
}
