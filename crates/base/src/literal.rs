//! Values of arrays: dense row-major arrays of elements, or one element repeated.

use crate::budget::{Meter, OPERATIONS_PER_STEP};
use crate::{DType, Data, bf16, f16};
use num_complex::{Complex32, Complex64};
use std::fmt;
use std::sync::Arc;

/// A Rust type that holds one element of a [`DType`].
pub trait Element: bytemuck::Pod + PartialEq + fmt::Debug + Send + Sync {
    const DTYPE: DType;
}

/// An element of type `i1` in memory: one byte, 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(transparent)]
pub struct Bool8(pub u8);

impl From<bool> for Bool8 {
    fn from(b: bool) -> Bool8 {
        Bool8(u8::from(b))
    }
}

impl From<Bool8> for bool {
    fn from(b: Bool8) -> bool {
        b.0 != 0
    }
}

impl fmt::Debug for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 != 0)
    }
}

macro_rules! elements {
    ($($t:ty => $dtype:ident),*) => { $(impl Element for $t { const DTYPE: DType = DType::$dtype; })* };
}
elements!(Bool8 => I1, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64, Complex32 => C64, Complex64 => C128);

/// The reason why a literal cannot be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LiteralError {
    /// The shape has more than [`MAX_ELEMENTS`] elements.
    TooLarge,
    /// The shape needs `expected` bytes, and `found` bytes were given.
    Length { expected: usize, found: usize },
}

impl fmt::Display for LiteralError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiteralError::TooLarge => write!(f, "the value has more than {MAX_ELEMENTS} elements"),
            LiteralError::Length { expected, found } => {
                write!(f, "expected {expected} bytes, found {found}")
            }
        }
    }
}

impl std::error::Error for LiteralError {}

/// A constant array, which is cheap to clone. Its bytes are little-endian, 8-aligned and row-major.
///
/// A splat stores one element, whatever its shape. A literal of a quantized type holds the integers and has their type.
/// Functions that store elements stop the computation ([`Stop`](crate::Stop)) if the memory is refused, as [`Data`]
/// does.
#[derive(Clone)]
pub struct Literal {
    dtype: DType,
    shape: Vec<usize>,
    words: Arc<Data<u64>>,
    is_splat: bool,
}

/// The largest number of elements of an array. The bytes of so many elements of any type can be counted in an `isize`.
pub const MAX_ELEMENTS: usize = isize::MAX as usize / 16;

fn checked_count(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= MAX_ELEMENTS)
}

fn byte_count(dtype: DType, shape: &[usize]) -> Result<usize, LiteralError> {
    checked_count(shape).and_then(|n| n.checked_mul(dtype.storage_bytes())).ok_or(LiteralError::TooLarge)
}

impl Literal {
    /// Returns a literal of Rust elements, row-major.
    ///
    /// # Panics
    /// Panics if the number of elements is not that of the shape.
    pub fn new<T: Element>(shape: impl Into<Vec<usize>>, data: &[T]) -> Literal {
        let shape = shape.into();
        Literal::from_bytes(T::DTYPE, &shape, bytemuck::cast_slice(data)).expect("as many elements as the shape has")
    }

    /// Returns a literal of rank 0.
    pub fn scalar<T: Element>(value: T) -> Literal {
        Literal::new(vec![], &[value])
    }

    /// Returns a literal whose elements all have the bytes `element`. The shape may have at most [`MAX_ELEMENTS`]
    /// elements, which is not checked.
    ///
    /// # Panics
    /// Panics if the size of `element` is not that of an element of `dtype`.
    pub fn splat(dtype: DType, shape: impl Into<Vec<usize>>, element: &[u8]) -> Literal {
        assert_eq!(element.len(), dtype.storage_bytes(), "one element");
        Literal { dtype: dtype.storage(), shape: shape.into(), words: words_of(element), is_splat: true }
    }

    /// Returns a splat whose bytes are all zero, which is 0 or false, but 2^-127 in `f8E8M0FNU`. The shape may have at
    /// most [`MAX_ELEMENTS`] elements, which is not checked.
    pub fn zeros(dtype: DType, shape: impl Into<Vec<usize>>) -> Literal {
        Literal::splat(dtype, shape, &vec![0; dtype.storage_bytes()])
    }

    /// Returns a literal whose elements are all stored and whose bytes are all zero.
    ///
    /// # Errors
    /// Returns [`LiteralError::TooLarge`] if the shape has more than [`MAX_ELEMENTS`] elements.
    pub fn dense_zeros(dtype: DType, shape: &[usize]) -> Result<Literal, LiteralError> {
        let bytes = byte_count(dtype, shape)?;
        Ok(Literal {
            dtype: dtype.storage(),
            shape: shape.to_vec(),
            words: Arc::new(Data::zeroed(bytes.div_ceil(8))),
            is_splat: false,
        })
    }

    /// Returns the literal whose element `i`, row-major, is `element(i)`. Takes a step of the budget
    /// ([`take_steps`](crate::budget::take_steps)) for each 2^16 elements.
    ///
    /// # Panics
    /// Panics if the shape has more than [`MAX_ELEMENTS`] elements.
    pub fn from_fn<T: Element>(shape: impl Into<Vec<usize>>, mut element: impl FnMut(usize) -> T) -> Literal {
        let mut out = Literal::dense_zeros(T::DTYPE, &shape.into()).expect("the caller has checked the shape");
        let (mut index, mut meter) = (0, Meter::default());
        for part in out.as_mut_slice::<T>().chunks_mut(OPERATIONS_PER_STEP as usize) {
            for place in &mut *part {
                *place = element(index);
                index += 1;
            }
            meter.add(part.len() as u64);
        }
        out
    }

    /// Returns the literal with these little-endian bytes of all elements, row-major.
    ///
    /// # Errors
    /// Fails if the shape has more than [`MAX_ELEMENTS`] elements, or if the number of bytes is not that of the shape.
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Literal, LiteralError> {
        let expected = byte_count(dtype, shape)?;
        if bytes.len() != expected {
            return Err(LiteralError::Length { expected, found: bytes.len() });
        }
        Ok(Literal { dtype: dtype.storage(), shape: shape.to_vec(), words: words_of(bytes), is_splat: false })
    }

    /// Returns the element type. For a literal of a quantized type, this is its storage type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the size of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements.
    ///
    /// # Panics
    /// Panics if this is a splat of more than [`MAX_ELEMENTS`] elements.
    pub fn size(&self) -> usize {
        checked_count(&self.shape).expect("checked when made")
    }

    /// Returns true if only one element is stored, which all positions have.
    pub fn is_splat(&self) -> bool {
        self.is_splat
    }

    /// Returns the stored bytes: of one element for a splat, even if its shape has no elements, else of all elements.
    pub fn raw_bytes(&self) -> &[u8] {
        let count = if self.is_splat { 1 } else { self.size() };
        &bytemuck::cast_slice(&self.words)[..count * self.dtype.storage_bytes()]
    }

    /// Returns the bytes of element `index`, row-major.
    ///
    /// # Panics
    /// Panics if there is no such element. A splat accepts every index.
    pub fn element_bytes(&self, index: usize) -> &[u8] {
        let n = self.dtype.storage_bytes();
        let at = if self.is_splat { 0 } else { index.saturating_mul(n) };
        &self.raw_bytes()[at..][..n]
    }

    /// Returns element `index`, row-major, as a scalar.
    ///
    /// # Panics
    /// Panics if there is no such element. A splat accepts every index.
    pub fn element(&self, index: usize) -> Literal {
        Literal { shape: vec![], is_splat: false, words: words_of(self.element_bytes(index)), ..*self }
    }

    /// Returns the same value with every element stored.
    ///
    /// # Panics
    /// Panics if this is a splat of more than [`MAX_ELEMENTS`] elements.
    pub fn to_dense(&self) -> Literal {
        if !self.is_splat {
            return self.clone();
        }
        let mut dense = Literal::dense_zeros(self.dtype, &self.shape).expect("the shape was checked when made");
        let element = self.raw_bytes();
        if element.iter().any(|&b| b != 0) {
            dense.bytes_mut().chunks_exact_mut(element.len()).for_each(|out| out.copy_from_slice(element));
        }
        dense
    }

    /// Returns the elements. A splat has to be converted by [`Literal::to_dense`] first.
    ///
    /// # Panics
    /// Panics if this is a splat or has another element type.
    pub fn as_slice<T: Element>(&self) -> &[T] {
        assert_eq!(T::DTYPE, self.dtype, "element type");
        assert!(!self.is_splat, "a splat has no slice: call to_dense first");
        bytemuck::cast_slice(self.raw_bytes())
    }

    /// Returns the elements for writing. Copies them if they are shared or a splat.
    ///
    /// # Panics
    /// Panics if this has another element type, or is a splat of more than [`MAX_ELEMENTS`] elements.
    pub fn as_mut_slice<T: Element>(&mut self) -> &mut [T] {
        assert_eq!(T::DTYPE, self.dtype, "element type");
        bytemuck::cast_slice_mut(self.bytes_mut())
    }

    /// Returns the bytes of all elements for writing. Copies them if they are shared or a splat.
    ///
    /// # Panics
    /// Panics if this is a splat of more than [`MAX_ELEMENTS`] elements.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.is_splat {
            *self = self.to_dense();
        }
        let bytes = self.size() * self.dtype.storage_bytes();
        let words: &mut Data<u64> = Arc::make_mut(&mut self.words);
        &mut bytemuck::cast_slice_mut(words)[..bytes]
    }

    /// Returns element `index`, row-major.
    ///
    /// # Panics
    /// Panics if this has another element type, or if there is no such element. A splat accepts every index.
    pub fn get<T: Element>(&self, index: usize) -> T {
        assert_eq!(T::DTYPE, self.dtype, "element type");
        bytemuck::pod_read_unaligned(self.element_bytes(index))
    }

    /// Returns the same elements in another shape of the same size.
    ///
    /// # Panics
    /// Panics if the sizes differ, or if this is a splat of more than [`MAX_ELEMENTS`] elements.
    pub fn reshaped(&self, shape: impl Into<Vec<usize>>) -> Literal {
        let shape = shape.into();
        assert_eq!(checked_count(&shape), Some(self.size()), "reshape keeps the number of elements");
        Literal { shape, ..self.clone() }
    }

    /// Returns element `index` as `f64`: the nearest number for integers and booleans, the real part for complex types.
    ///
    /// # Panics
    /// Panics if there is no such element. A splat accepts every index.
    pub fn get_f64(&self, index: usize) -> f64 {
        let b = self.element_bytes(index);
        macro_rules! read {
            ($t:ty) => {
                bytemuck::pod_read_unaligned::<$t>(b)
            };
        }
        match self.dtype {
            DType::F64 => read!(f64),
            DType::F32 => f64::from(read!(f32)),
            DType::BF16 => read!(bf16).to_f64(),
            DType::F16 => read!(f16).to_f64(),
            DType::C64 => f64::from(read!(Complex32).re),
            DType::C128 => read!(Complex64).re,
            small => small.small_float(b[0]).unwrap_or_else(|| self.get_i128(index) as f64),
        }
    }

    /// Returns the imaginary part of element `index`, which is 0 for real types, whatever `index` is.
    ///
    /// # Panics
    /// Panics if a complex type has no such element. A splat accepts every index.
    pub fn imaginary_f64(&self, index: usize) -> f64 {
        match self.dtype {
            DType::C64 => f64::from(self.get::<Complex32>(index).im),
            DType::C128 => self.get::<Complex64>(index).im,
            _ => 0.0,
        }
    }

    /// Returns element `index` of an integer or boolean type.
    ///
    /// # Panics
    /// Panics if this has another element type, or if there is no such element. A splat accepts every index.
    pub fn get_i128(&self, index: usize) -> i128 {
        let b = self.element_bytes(index);
        macro_rules! read {
            ($t:ty) => {
                i128::from(bytemuck::pod_read_unaligned::<$t>(b))
            };
        }
        match self.dtype {
            DType::I2 | DType::I4 | DType::I8 => read!(i8),
            DType::I1 | DType::U2 | DType::U4 | DType::U8 => read!(u8),
            DType::I16 => read!(i16),
            DType::U16 => read!(u16),
            DType::I32 => read!(i32),
            DType::U32 => read!(u32),
            DType::I64 => read!(i64),
            DType::U64 => read!(u64),
            other => panic!("{other} is not an integer type"),
        }
    }

    /// Returns the elements of an integer or boolean literal. Numbers beyond `i64` wrap.
    ///
    /// # Panics
    /// Panics if this has elements of another type, or is a splat of more than [`MAX_ELEMENTS`] elements.
    pub fn to_i64s(&self) -> Vec<i64> {
        (0..self.size()).map(|i| self.get_i128(i) as i64).collect()
    }

    /// Returns true if both share the same storage, shape and element type. This is a cheap sufficient test of
    /// equality.
    pub fn same_storage(&self, other: &Literal) -> bool {
        Arc::ptr_eq(&self.words, &other.words) && self.shape == other.shape && self.dtype == other.dtype
    }

    /// Returns true if all elements have the same bytes, also if there are no elements.
    pub fn is_uniform(&self) -> bool {
        self.is_splat || (1..self.size()).all(|i| self.element_bytes(i) == self.element_bytes(0))
    }
}

fn words_of(bytes: &[u8]) -> Arc<Data<u64>> {
    let mut words = Data::zeroed(bytes.len().div_ceil(8));
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    Arc::new(words)
}

/// A literal that is written element by element, row-major. Takes a step of the budget
/// ([`take_steps`](crate::budget::take_steps)) for each 2^16 elements.
///
/// ```
/// use shardwise_base::{DType, Literal, LiteralWriter};
/// let mut writer = LiteralWriter::new(DType::I16, &[2]);
/// writer.push(&7i16.to_le_bytes());
/// writer.push(&8i16.to_le_bytes());
/// assert_eq!(writer.finish(), Literal::new([2], &[7i16, 8]));
/// ```
pub struct LiteralWriter {
    literal: Literal,
    /// The position of the element that is written next.
    at: usize,
    meter: Meter,
}

impl LiteralWriter {
    /// Starts a literal.
    ///
    /// # Panics
    /// Panics if the shape has more than [`MAX_ELEMENTS`] elements.
    pub fn new(dtype: DType, shape: &[usize]) -> LiteralWriter {
        let literal = Literal::dense_zeros(dtype, shape).expect("the caller has checked the shape");
        LiteralWriter { literal, at: 0, meter: Meter::default() }
    }

    /// Writes the next element.
    ///
    /// # Panics
    /// Panics if the size of `element` differs from that of the elements, or if all elements are written already.
    pub fn push(&mut self, element: &[u8]) {
        let width = self.literal.dtype.storage_bytes();
        self.literal.bytes_mut()[self.at * width..][..width].copy_from_slice(element);
        self.at += 1;
        self.meter.add(1);
    }

    /// Returns the literal.
    ///
    /// # Panics
    /// Panics if elements are missing.
    pub fn finish(self) -> Literal {
        assert_eq!(self.at, self.literal.size(), "every element is written");
        self.literal
    }
}

/// Compares bit by bit: literals are equal if their shapes, types and bytes are, whether or not they are splats.
impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && match (self.is_splat, other.is_splat) {
                _ if self.size() == 0 => true,
                (a, b) if a == b => self.raw_bytes() == other.raw_bytes(),
                _ => (0..self.size()).all(|i| self.element_bytes(i) == other.element_bytes(i)),
            }
    }
}

impl Eq for Literal {}

impl std::hash::Hash for Literal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.dtype, &self.shape).hash(state);
        if self.size() > 0 {
            self.element_bytes(0).hash(state);
        }
    }
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape)?;
        if self.size() <= 16 {
            let elements: Vec<f64> = (0..self.size()).map(|i| self.get_f64(i)).collect();
            write!(f, "{elements:?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "out of range for slice")]
    fn an_index_whose_position_is_no_number_is_outside() {
        Literal::new([1], &[1f64]).get::<f64>(1 << 61);
    }
}
