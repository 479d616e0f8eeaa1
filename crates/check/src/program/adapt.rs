//! Makes values of a wanted type from existing ones.

use super::Maker;
use super::scope::{Grade, Live, Scope, Typed};
use crate::single::Fill;
use shardwise_base::{DType, DTypeKind, Literal};
use shardwise_ir::TensorType;

/// The bounds, both included, of the elements of arguments, and of other values that must be small.
const SMALL: (i64, i64) = (-4, 4);

impl Maker {
    /// Returns a value of the type whose elements are as `fill` requires. For booleans and for types whose small
    /// integers are not exact, bounds of `fill` on elements are not kept.
    pub(super) fn provide(&mut self, scope: &mut Scope, ty: &TensorType, fill: &Fill) -> Live {
        if let Fill::Exact(_) | Fill::Gram | Fill::Solvable = fill {
            let literal = fill.literal(&mut self.choose, ty);
            return self.constant(scope, &literal, Grade::Wild);
        }
        let value = self.of_type(scope, ty);
        match range(fill) {
            Some((low, high)) => self.within(scope, value, low, high),
            None => value,
        }
    }

    /// Returns a value of the type: an existing one, a new argument, a constant, or one made from another value.
    pub(super) fn of_type(&mut self, scope: &mut Scope, ty: &TensorType) -> Live {
        let same: Vec<Live> = scope.live.iter().filter(|l| l.ty == *ty).cloned().collect();
        if !same.is_empty() && !self.choose.one_in(4) {
            return self.choose.of(&same).clone();
        }
        if scope.place.is_main && self.choose.one_in(4) && self.arguments.len() < 12 {
            return self.argument(scope, ty.clone());
        }
        if scope.live.is_empty() || self.choose.one_in(6) {
            let literal = Fill::Small.literal(&mut self.choose, ty);
            let grade = if is_exact(ty.dtype) { Grade::Integers(SMALL.0, SMALL.1) } else { Grade::Wild };
            return self.constant(scope, &literal, grade);
        }
        let from = self.choose.of(&scope.live).clone();
        let value = self.with_dtype(scope, from, ty.dtype);
        self.with_shape(scope, value, &ty.shape)
    }

    pub(super) fn argument(&mut self, scope: &mut Scope, ty: TensorType) -> Live {
        let name = format!("%arg{}", self.arguments.len());
        self.note_type(&ty);
        self.arguments.push(Typed { name: name.clone(), ty: ty.clone() });
        let grade = if is_exact(ty.dtype) { Grade::Integers(SMALL.0, SMALL.1) } else { Grade::Wild };
        scope.push(&name, ty, grade)
    }

    pub(super) fn constant(&mut self, scope: &mut Scope, literal: &Literal, grade: Grade) -> Live {
        let ty = TensorType::new(literal.dtype(), literal.shape());
        let op = if self.choose.one_in(4) { "sdy.constant" } else { "stablehlo.constant" };
        self.plain(scope, &format!("{op} {} : {ty}", dense(literal)), ty, grade)
    }

    /// Writes a scalar constant, and returns its name.
    pub(super) fn number(&mut self, scope: &mut Scope, dtype: DType, value: i64) -> String {
        let literal = Fill::Exact(vec![value]).literal(&mut self.choose, &TensorType::new(dtype, []));
        self.constant(scope, &literal, Grade::Integers(value, value)).name
    }

    /// Writes a line that assigns `op`, which makes one value of type `ty`, to a new name. Returns the value.
    pub(super) fn plain(&mut self, scope: &mut Scope, op: &str, ty: TensorType, grade: Grade) -> Live {
        let name = self.name();
        scope.line(format!("{name} = {op}"));
        self.note_type(&ty);
        scope.push(&name, ty, grade)
    }

    /// Returns a value of the same type whose elements are integers from `low` to `high`, and also from -100 to 100 and
    /// in the type's range: `value` itself if its elements are known to be, and otherwise a clamp of it. Floats that
    /// are not known to be integers become 0 or 1 before they are clamped, and complex numbers become their real parts
    /// in both parts. Returns booleans, and values of types whose small integers are not exact, as they are.
    pub(super) fn within(&mut self, scope: &mut Scope, value: Live, low: i64, high: i64) -> Live {
        let dtype = value.ty.dtype;
        if dtype.is_bool() || !is_exact(dtype) || dtype.is_complex() && value.grade.is_within(low, high) {
            return value;
        }
        if dtype.is_complex() {
            let real = self.with_dtype(scope, value, dtype.real());
            let real = self.within(scope, real, low, high);
            return self.with_dtype(scope, real, dtype);
        }
        let (low, high) = (low.max(least(dtype)), high.min(greatest(dtype)));
        if value.grade.is_within(low, high) {
            return value;
        }
        let value = self.tame(scope, value);
        let ends = [low, high].map(|n| self.number(scope, dtype, n));
        let (scalar, ty) = (TensorType::new(dtype, []), value.ty.clone());
        let op =
            format!("stablehlo.clamp {}, {}, {} : ({scalar}, {ty}, {scalar}) -> {ty}", ends[0], value.name, ends[1]);
        self.plain(scope, &op, ty, Grade::Integers(low, high))
    }

    /// Returns the value unchanged, unless it has floats that are not known to be integers. Then returns 1 where its
    /// elements are greater than 0, and 0 elsewhere.
    fn tame(&mut self, scope: &mut Scope, value: Live) -> Live {
        if value.grade != Grade::Wild || !value.ty.dtype.is_float() {
            return value;
        }
        let ty = value.ty.clone();
        let zero = self.constant(scope, &Literal::zeros(ty.dtype, ty.shape.clone()), Grade::Integers(0, 0)).name;
        let flags = TensorType::new(DType::I1, ty.shape.clone());
        let op = format!("stablehlo.compare GT, {}, {zero} : ({ty}, {ty}) -> {flags}", value.name);
        let flag = self.plain(scope, &op, flags.clone(), Grade::Wild).name;
        self.plain(scope, &format!("stablehlo.convert {flag} : ({flags}) -> {ty}"), ty, Grade::Integers(0, 1))
    }

    fn with_dtype(&mut self, scope: &mut Scope, value: Live, to: DType) -> Live {
        let from = value.ty.dtype;
        if from == to {
            return value;
        }
        if from.is_complex() {
            let ty = TensorType::new(from.real(), value.ty.shape.clone());
            let real =
                self.plain(scope, &format!("stablehlo.real {} : ({}) -> {ty}", value.name, value.ty), ty, value.grade);
            return self.with_dtype(scope, real, to);
        }
        if to.is_complex() {
            let part = self.with_dtype(scope, value, to.real());
            let ty = TensorType::new(to, part.ty.shape.clone());
            return self.plain(scope, &format!("stablehlo.complex {0}, {0} : {ty}", part.name), ty, part.grade);
        }
        let ends = (SMALL.0.max(least(to)), SMALL.1.min(greatest(to)));
        // The conversion of a float that is out of the integer's range is not defined.
        let is_cut = from.is_float() && !to.is_float();
        let is_kept = from.is_integer() && to.is_float();
        let value = match (is_cut, is_kept) {
            (true, _) if !is_exact(from) => {
                let wide = self.with_dtype(scope, value, DType::F32);
                self.within(scope, wide, ends.0, ends.1)
            }
            (true, _) | (_, true) => self.within(scope, value, ends.0, ends.1),
            _ => value,
        };
        let ty = TensorType::new(to, value.ty.shape.clone());
        let grade = match value.grade {
            Grade::Integers(a, b) if is_exact(to) && least(to) <= a && b <= greatest(to) => value.grade,
            _ if from.is_bool() && is_exact(to) => Grade::Integers(0, 1),
            _ => Grade::Wild,
        };
        let op = format!("stablehlo.convert {} : ({}) -> {ty}", value.name, value.ty);
        self.plain(scope, &op, ty, grade)
    }

    /// Returns a reshape of the value to this shape, or the value itself if it has this shape. If the numbers of
    /// elements differ, elements are first removed from the end or added there. A scalar may be broadcast instead.
    pub(super) fn with_shape(&mut self, scope: &mut Scope, value: Live, shape: &[usize]) -> Live {
        if value.ty.shape == shape {
            return value;
        }
        let size = shape.iter().product::<usize>();
        let to = TensorType::new(value.ty.dtype, shape);
        if value.ty.rank() == 0 && self.choose.one_in(2) {
            let op = format!("stablehlo.broadcast_in_dim {}, dims = [] : ({}) -> {to}", value.name, value.ty);
            return self.plain(scope, &op, to, value.grade);
        }
        let value = if value.ty.size() == size { value } else { self.with_size(scope, value, size) };
        if value.ty.shape == shape {
            return value;
        }
        let op = format!("stablehlo.reshape {} : ({}) -> {to}", value.name, value.ty);
        self.plain(scope, &op, to, value.grade)
    }

    /// Returns a vector of `size` elements: the value's first elements, or all of them and then zeros or ones.
    fn with_size(&mut self, scope: &mut Scope, value: Live, size: usize) -> Live {
        let from = value.ty.size();
        let flat = self.with_shape(scope, value, &[from]);
        let to = TensorType::new(flat.ty.dtype, [size]);
        if size < from {
            let op = format!("stablehlo.slice {} [0:{size}] : ({}) -> {to}", flat.name, flat.ty);
            return self.plain(scope, &op, to, flat.grade);
        }
        let fill = i64::from(self.choose.one_in(2));
        let number = self.number(scope, to.dtype, fill);
        let scalar = TensorType::new(to.dtype, []);
        let op = format!(
            "stablehlo.pad {}, {number}, low = [0], high = [{}], interior = [0] : ({}, {scalar}) -> {to}",
            flat.name,
            size - from,
            flat.ty
        );
        self.plain(scope, &op, to, flat.grade.join(Grade::Integers(0, 1)))
    }
}

/// Returns true for booleans, integers, complex numbers and floats of more than 8 bits. Small integers of these types,
/// and sums of some dozens of them, are exact or wrap around.
pub(super) fn is_exact(dtype: DType) -> bool {
    dtype.is_computed() || dtype.is_integer()
}

fn range(fill: &Fill) -> Option<(i64, i64)> {
    match *fill {
        Fill::Small => Some(SMALL),
        Fill::NonZero => Some((1, 4)),
        Fill::Between(low, high) | Fill::Ints(low, high) => Some((low, high)),
        _ => None,
    }
}

fn least(dtype: DType) -> i64 {
    match dtype.kind() {
        DTypeKind::Bool | DTypeKind::Unsigned => 0,
        DTypeKind::Signed if dtype.bits() < 8 => -(1 << (dtype.bits() - 1)),
        _ => -100,
    }
}

fn greatest(dtype: DType) -> i64 {
    match dtype.kind() {
        DTypeKind::Bool => 1,
        DTypeKind::Unsigned if dtype.bits() < 8 => (1 << dtype.bits()) - 1,
        DTypeKind::Signed if dtype.bits() < 8 => (1 << (dtype.bits() - 1)) - 1,
        _ => 100,
    }
}

/// Formats a literal: `dense<[[1, 2], [3, 4]]>`, `dense<5>` for equal elements, or `dense<>` for no elements.
/// Infinities and NaNs become 1.
pub(super) fn dense(literal: &Literal) -> String {
    let size = literal.size();
    if size > 0 && (literal.rank() == 0 || literal.is_uniform()) {
        return format!("dense<{}>", element(literal, 0));
    }
    if size == 0 {
        return "dense<>".into();
    }
    format!("dense<{}>", nested(literal, literal.shape(), 0))
}

fn nested(literal: &Literal, shape: &[usize], at: usize) -> String {
    let Some((&n, rest)) = shape.split_first() else { return element(literal, at) };
    let stride = rest.iter().product::<usize>();
    let parts: Vec<String> = (0..n).map(|i| nested(literal, rest, at + i * stride)).collect();
    format!("[{}]", parts.join(", "))
}

fn element(literal: &Literal, i: usize) -> String {
    let dtype = literal.dtype();
    let float = |x: f64| if x.is_finite() { format!("{x:.17e}") } else { "1.0".into() };
    match dtype.kind() {
        DTypeKind::Bool => (literal.get_f64(i) != 0.0).to_string(),
        DTypeKind::Complex => format!("({}, {})", float(literal.get_f64(i)), float(literal.imaginary_f64(i))),
        DTypeKind::Float => float(literal.get_f64(i)),
        _ => literal.get_i128(i).to_string(),
    }
}
