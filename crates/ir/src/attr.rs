//! Attributes: the constant parts of ops, functions and modules.

use crate::Type;
use shardwise_base::{AxisRef, DType, Literal, Mesh, Sharding};
use std::sync::Arc;

/// The largest number of elements of a splat that is read as a list. The text of a longer one would take a few bytes,
/// and its list any amount of memory. Lists of dimensions are shorter, and the ids in a list of devices differ.
const MAX_SPLAT: usize = 1 << 16;

/// A constant part of an op, a function, an argument or a module. An attribute that the text engine does not understand
/// is kept as text ([`Attr::Opaque`]).
#[derive(Clone, PartialEq, Debug)]
pub enum Attr {
    /// An attribute that is either present or absent, such as `use_global_device_ids`.
    Unit,
    Bool(bool),
    /// `1 : i64`. `dtype` is `None` for MLIR's `index`. If it is `ui64`, `value` has the bits of the number, and so is
    /// negative for a large one.
    Int {
        value: i64,
        dtype: Option<DType>,
    },
    /// `1.0e+00 : f64`.
    Float {
        value: f64,
        dtype: DType,
    },
    Str(Arc<str>),
    /// `@name`.
    Symbol(Arc<str>),
    Type(Type),
    Array(Vec<Attr>),
    Dict(Attrs),
    /// `dense<..> : tensor<..>`.
    Dense(Literal),
    /// `array<i64: 1, 8>`, of any integer type but `i1`. Integers of type `ui64` are stored as in [`Attr::Int`].
    Ints {
        values: Vec<i64>,
        dtype: DType,
    },
    /// `array<i1: true, false>`.
    Bools(Vec<bool>),
    /// `#stablehlo<comparison_direction LT>`, or `#stablehlo.result_accuracy_mode<DEFAULT>`.
    Enum {
        dialect: Arc<str>,
        kind: Arc<str>,
        value: Arc<str>,
    },
    /// `#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0]>`: a named record.
    Record {
        name: Arc<str>,
        fields: Attrs,
    },
    /// `#sdy.sharding<..>`.
    Sharding(Sharding),
    /// `#sdy.sharding_per_value<[..]>`.
    Shardings(Vec<Sharding>),
    /// Axes of a mesh, as `#sdy<manual_axes{"x"}>` or `replica_group_mesh_axes`.
    Axes {
        mesh: Arc<Mesh>,
        axes: Vec<AxisRef>,
    },
    /// One list of axes for each dimension, as in `sdy.all_gather [{"x"}, {}]`.
    AxesPerDim {
        mesh: Arc<Mesh>,
        dims: Vec<Vec<AxisRef>>,
    },
    /// Text, on one line and without comments. It was not understood, or there is no variant for it, as for locations
    /// and types of elements and functions.
    Opaque(Arc<str>),
}

impl Attr {
    /// Returns an integer attribute of type `i64`.
    pub fn int(value: i64) -> Attr {
        Attr::Int { value, dtype: Some(DType::I64) }
    }

    pub fn ints(values: impl IntoIterator<Item = i64>) -> Attr {
        Attr::Ints { values: values.into_iter().collect(), dtype: DType::I64 }
    }

    /// Returns an attribute with dimensions or sizes, `array<i64: ..>`.
    pub fn sizes(values: &[usize]) -> Attr {
        Attr::ints(values.iter().map(|&v| v as i64))
    }

    pub fn str(value: &str) -> Attr {
        Attr::Str(value.into())
    }

    /// Returns `#stablehlo<kind value>`.
    pub fn stablehlo_enum(kind: &str, value: &str) -> Attr {
        Attr::Enum { dialect: "stablehlo".into(), kind: kind.into(), value: value.into() }
    }

    /// Returns an attribute with a list of axes of a mesh.
    pub fn axes(mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Attr {
        Attr::Axes { mesh: mesh.clone(), axes: axes.to_vec() }
    }

    /// Returns an attribute with a list of axes of a mesh for each dimension.
    pub fn axes_per_dim(mesh: &Arc<Mesh>, dims: &[Vec<AxisRef>]) -> Attr {
        Attr::AxesPerDim { mesh: mesh.clone(), dims: dims.to_vec() }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Attr::Int { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// Returns the boolean, or true for [`Attr::Unit`], which is a flag that is set. Returns `None` for any other
    /// attribute.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Attr::Bool(b) => Some(*b),
            Attr::Unit => Some(true),
            _ => None,
        }
    }

    /// Returns the text of a string, the name of a symbol without `@`, or the value of an enum, such as `LT`. Returns
    /// `None` for any other attribute.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Attr::Str(s) | Attr::Symbol(s) => Some(s),
            Attr::Enum { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Returns the list of integers that is written as `array<i64: ..>`, `dense<..>` or `[1, 2]`. The elements of
    /// `dense` are in row-major order, and booleans in it are 0 or 1. Integers of type `ui64` wrap if they do not fit
    /// `i64`. Returns `None` for any other attribute, also for `array<i1: ..>`, for a list with an element that is not
    /// an integer, and for a `dense` of one value for more than 65,536 elements.
    pub fn to_ints(&self) -> Option<Vec<i64>> {
        match self {
            Attr::Ints { values, .. } => Some(values.clone()),
            Attr::Dense(list) if list.is_splat() && list.size() > MAX_SPLAT => None,
            Attr::Dense(list) if !list.dtype().is_float() && !list.dtype().is_complex() => Some(list.to_i64s()),
            Attr::Array(items) => items.iter().map(Attr::as_int).collect(),
            _ => None,
        }
    }

    /// Returns a list of dimensions or sizes, or `None` if [`Attr::to_ints`] returns none or an integer is negative.
    pub fn to_sizes(&self) -> Option<Vec<usize>> {
        self.to_ints()?.into_iter().map(|v| usize::try_from(v).ok()).collect()
    }

    pub fn as_dense(&self) -> Option<&Literal> {
        match self {
            Attr::Dense(l) => Some(l),
            _ => None,
        }
    }

    /// Returns the fields of a record or the entries of a dictionary, or `None` for any other attribute.
    pub fn as_record(&self) -> Option<&Attrs> {
        match self {
            Attr::Record { fields, .. } | Attr::Dict(fields) => Some(fields),
            _ => None,
        }
    }

    pub fn as_axes(&self) -> Option<(&Arc<Mesh>, &[AxisRef])> {
        match self {
            Attr::Axes { mesh, axes } => Some((mesh, axes)),
            _ => None,
        }
    }
}

/// A dictionary of attributes, sorted by name as MLIR prints it. Copies share the entries until one of them changes.
#[derive(Clone, Debug, Default)]
pub struct Attrs(Option<Arc<Entries>>);

/// Shared entries are equal without a comparison.
impl PartialEq for Attrs {
    fn eq(&self, other: &Attrs) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            (a, b) => a.is_none() && b.is_none(),
        }
    }
}

type Entries = Vec<(Arc<str>, Attr)>;

/// The longest list of entries in which a name is searched from the start. In longer ones, a binary search finds it.
const MAX_SCANNED: usize = 16;

impl Attrs {
    pub const fn new() -> Attrs {
        Attrs(None)
    }

    fn entries(&self) -> &[(Arc<str>, Attr)] {
        self.0.as_ref().map_or(&[], |entries| entries)
    }

    fn entries_mut(&mut self) -> &mut Entries {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// Returns attributes from a list in any order, in time that is nearly linear in its length.
    ///
    /// # Errors
    /// Returns the position and the name of the first entry whose name an earlier entry has.
    pub fn from_entries(entries: Vec<(Arc<str>, Attr)>) -> Result<Attrs, (usize, Arc<str>)> {
        if entries.is_empty() {
            return Ok(Attrs::new());
        }
        if entries.is_sorted_by(|a, b| a.0 < b.0) {
            return Ok(Attrs(Some(Arc::new(entries))));
        }
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|&a, &b| entries[a].0.cmp(&entries[b].0));
        let repeated = order.windows(2).filter(|w| entries[w[0]].0 == entries[w[1]].0).map(|w| w[1]);
        if let Some(first) = repeated.min() {
            return Err((first, entries[first].0.clone()));
        }
        let mut entries = entries;
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(Attrs(Some(Arc::new(entries))))
    }

    /// Adds the attributes of `other`, in time that is linear in the number of all attributes.
    ///
    /// # Errors
    /// Returns the first name that is in both. `self` has not changed then.
    pub fn add_all(&mut self, other: Attrs) -> Result<(), Arc<str>> {
        if self.is_empty() {
            *self = other;
            return Ok(());
        }
        let (own, new) = (self.entries(), other.entries());
        let mut all = Vec::with_capacity(own.len() + new.len());
        let mut rest = own;
        for entry in new {
            let count = rest.iter().take_while(|(n, _)| *n < entry.0).count();
            all.extend_from_slice(&rest[..count]);
            rest = &rest[count..];
            if rest.first().is_some_and(|(n, _)| *n == entry.0) {
                return Err(entry.0.clone());
            }
            all.push(entry.clone());
        }
        if !new.is_empty() {
            all.extend_from_slice(rest);
            self.0 = Some(Arc::new(all));
        }
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&Attr> {
        let entries = self.entries();
        if entries.len() > MAX_SCANNED {
            let i = entries.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
            return Some(&entries[i].1);
        }
        entries.iter().find(|(n, _)| &**n == name).map(|(_, a)| a)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets `name`, and returns the previous value, or `None` if there was none.
    pub fn set(&mut self, name: impl Into<Arc<str>>, attr: Attr) -> Option<Attr> {
        let name = name.into();
        let entries = self.entries_mut();
        match entries.binary_search_by(|(n, _)| n.cmp(&name)) {
            Ok(i) => Some(std::mem::replace(&mut entries[i].1, attr)),
            Err(i) => {
                entries.insert(i, (name, attr));
                None
            }
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        let i = self.entries().iter().position(|(n, _)| &**n == name)?;
        let removed = self.entries_mut().remove(i).1;
        if self.is_empty() {
            self.0 = None;
        }
        Some(removed)
    }

    /// Returns the attributes with `name` set to `attr`, in place of an earlier value.
    pub fn with(mut self, name: &str, attr: Attr) -> Attrs {
        self.set(name, attr);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    pub fn len(&self) -> usize {
        self.entries().len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attr)> {
        self.entries().iter().map(|(n, a)| (&**n, a))
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_int()
    }

    /// Returns a dimension or size, or `None` if the attribute is absent, negative or not an integer.
    pub fn size(&self, name: &str) -> Option<usize> {
        usize::try_from(self.int(name)?).ok()
    }

    pub fn str(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns a list of dimensions or sizes, or `None` if the attribute is absent or [`Attr::to_sizes`] returns none.
    pub fn sizes(&self, name: &str) -> Option<Vec<usize>> {
        self.get(name)?.to_sizes()
    }

    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.get(name)?.to_ints()
    }

    /// Returns true if a flag is set: a unit attribute, or `true`.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Attr::as_bool).unwrap_or(false)
    }
}

impl<'a> FromIterator<(&'a str, Attr)> for Attrs {
    fn from_iter<T: IntoIterator<Item = (&'a str, Attr)>>(iter: T) -> Attrs {
        iter.into_iter().fold(Attrs::new(), |attrs, (name, attr)| attrs.with(name, attr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(names: &[&str]) -> Vec<(Arc<str>, Attr)> {
        names.iter().enumerate().map(|(i, &n)| (n.into(), Attr::int(i as i64))).collect()
    }

    #[test]
    fn lists_are_sorted_and_hold_each_name_once() {
        let attrs = Attrs::from_entries(entries(&["c", "a", "b"])).unwrap();
        assert_eq!(
            attrs.iter().map(|(n, a)| (n, a.as_int().unwrap())).collect::<Vec<_>>(),
            [("a", 1), ("b", 2), ("c", 0)]
        );
        assert_eq!(Attrs::from_entries(entries(&["c", "a", "b", "a", "c", "a"])), Err((3, "a".into())));
        assert!(Attrs::from_entries(vec![]).unwrap().is_empty());
    }

    #[test]
    fn two_dictionaries_are_merged() {
        let of = |names: &[&str]| Attrs::from_entries(entries(names)).unwrap();
        let mut attrs = of(&["b", "d"]);
        assert_eq!(attrs.add_all(of(&["c", "d"])), Err("d".into()));
        assert_eq!(attrs, of(&["b", "d"]));
        attrs.add_all(of(&["a", "c", "e"])).unwrap();
        assert_eq!(attrs.iter().map(|(n, _)| n).collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
        let mut none = Attrs::new();
        none.add_all(of(&["a"])).unwrap();
        assert_eq!(none, of(&["a"]));
    }

    #[test]
    fn names_are_found_in_long_lists() {
        let names: Vec<String> = (0..1000).rev().map(|i| format!("n{i}")).collect();
        let attrs = Attrs::from_entries(entries(&names.iter().map(|n| &**n).collect::<Vec<_>>())).unwrap();
        assert!(names.iter().enumerate().all(|(i, n)| attrs.int(n) == Some(i as i64)));
        assert_eq!(attrs.get("n1000"), None);
    }
}
