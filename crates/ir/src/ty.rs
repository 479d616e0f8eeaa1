//! Types of values.

use shardwise_base::{DType, MAX_ELEMENTS};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// An array type: `tensor<8x2048xbf16>`. Copies share the data until one of them changes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TensorType(Arc<TensorParts>);

/// The parts of a [`TensorType`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TensorParts {
    pub dtype: DType,
    pub shape: Vec<usize>,
}

impl Deref for TensorType {
    type Target = TensorParts;
    fn deref(&self) -> &TensorParts {
        &self.0
    }
}

impl DerefMut for TensorType {
    fn deref_mut(&mut self) -> &mut TensorParts {
        Arc::make_mut(&mut self.0)
    }
}

impl TensorType {
    pub fn new(dtype: DType, shape: impl Into<Vec<usize>>) -> TensorType {
        TensorType(Arc::new(TensorParts { dtype, shape: shape.into() }))
    }

    pub fn scalar(dtype: DType) -> TensorType {
        TensorType::new(dtype, vec![])
    }

    /// Returns a type of the same shape with elements of another type.
    pub fn with_dtype(mut self, dtype: DType) -> TensorType {
        self.dtype = dtype;
        self
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements. The product of the sizes must not overflow, for which
    /// [`TensorType::checked_bytes`] is a test.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the number of bytes in memory, which is 0 if a dimension has size 0. Returns `None` if, with such
    /// dimensions counted as 1, there are more than [`MAX_ELEMENTS`] elements or the bytes do not fit `isize`.
    pub fn checked_bytes(&self) -> Option<usize> {
        let elements = self.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1)))?;
        if elements > MAX_ELEMENTS {
            return None;
        }
        let bytes = elements.checked_mul(self.dtype.storage_bytes()).filter(|&n| n <= isize::MAX as usize)?;
        Some(if self.shape.contains(&0) { 0 } else { bytes })
    }

    pub fn bytes(&self) -> u64 {
        self.size() as u64 * self.dtype.storage_bytes() as u64
    }

    /// Returns JAX's short form: `bf16[8,2048]`.
    pub fn short(&self) -> String {
        let dims: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        format!("{}[{}]", self.dtype.short(), dims.join(","))
    }
}

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Type {
    Tensor(TensorType),
    /// A token, which orders effects.
    Token,
    Tuple(Vec<Type>),
    /// An op that has been started asynchronously, with the types of its results.
    Future(Vec<Type>),
}

impl Type {
    pub fn tensor(dtype: DType, shape: impl Into<Vec<usize>>) -> Type {
        Type::Tensor(TensorType::new(dtype, shape))
    }

    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the sizes of the dimensions. They are empty if the type is not a tensor.
    pub fn shape(&self) -> &[usize] {
        self.as_tensor().map_or(&[], |t| &t.shape)
    }
}

impl From<TensorType> for Type {
    fn from(t: TensorType) -> Type {
        Type::Tensor(t)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for n in &self.shape {
            write!(f, "{n}x")?;
        }
        write!(f, "{}>", self.dtype)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, types: &[Type]| {
            for (i, t) in types.iter().enumerate() {
                write!(f, "{}{t}", if i > 0 { ", " } else { "" })?;
            }
            f.write_str(">")
        };
        match self {
            Type::Tensor(t) => t.fmt(f),
            Type::Token => f.write_str("!stablehlo.token"),
            Type::Tuple(types) => {
                f.write_str("tuple<")?;
                list(f, types)
            }
            Type::Future(types) => {
                f.write_str("!stablehlo.future<")?;
                list(f, types)
            }
        }
    }
}

impl fmt::Debug for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
