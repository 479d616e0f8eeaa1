//! Indexing: one language for slices, dynamic slices, gathers and updates.
//!
//! An index is applied in three stages. First, a *box* is cut out of the array (ranges, integers, `ds`). Second, index
//! arrays pick elements of the box. Third, dimensions are dropped and added. An update applies the stages in reverse.

use crate::array::Array;
use crate::dtype::Number;
use crate::eager::call_many;
use crate::ops::{AsArray, Checked, Dim, Either, EitherKind, Kinds, Operand, Site, broadcast_shape, site};
use crate::shape::{as_positions, position_dtype};
use crate::{DType, hlo, mistakes};
use shardwise_base as base;
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use shardwise_ops::index::IndexDims;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Adds a dimension of size 1.
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// Stands for all dimensions that the other entries leave.
#[derive(Clone, Copy, Debug)]
pub struct Ellipsis;

/// The result of [`ds`].
#[derive(Clone, Debug)]
pub struct Ds {
    start: Entry,
    size: usize,
}

/// Selects `size` elements from `start`, which may be an array: a dynamic slice.
///
/// A negative `start` counts from the end. With a number, a slice that is out of bounds is a mistake. A start in an
/// array is clamped so that the slice is within bounds, and only a `size` above that of the dimension is out of bounds.
/// A start that is not an integer, or an array that is not a scalar, is a mistake. The function that gets the index
/// reports the mistakes.
pub fn ds(start: impl Operand, size: usize) -> Ds {
    let start = match start.operand() {
        Either(EitherKind::Array(a)) => Entry::Array(a),
        Either(EitherKind::Number(Number::Int(n))) => Entry::Int(n),
        Either(EitherKind::Number(n)) => Entry::Bad(n.to_string()),
    };
    Ds { start, size }
}

/// The result of [`step`].
#[derive(Clone, Debug)]
pub struct Step<R> {
    range: R,
    by: usize,
}

/// Selects every `by`-th element of a range, beginning with its first: `x[::2]` is `x.i(step(.., 2))`. A step of 0, and
/// a step of something that is not a range, are mistakes of the function that gets the index.
pub fn step<R: IndexItem>(range: R, by: usize) -> Step<R> {
    Step { range, by }
}

/// An entry of an index as the program wrote it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Entry {
    Int(i128),
    Range { start: Option<i128>, end: Option<i128>, by: usize },
    Slice { start: Box<Entry>, size: usize },
    Array(Array),
    NewAxis,
    Ellipsis,
    Bad(String),
}

impl Entry {
    /// Returns the array of positions, or the array at which a slice starts. Returns `None` for other entries.
    fn array(&self) -> Option<&Array> {
        match self {
            Entry::Array(a) => Some(a),
            Entry::Slice { start, .. } => start.array(),
            _ => None,
        }
    }
}

/// Types that can be an entry of an index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index",
    label = "expected a number, a range, `ds(start, size)`, an integer `Array`, `NewAxis` or `Ellipsis`"
)]
pub trait IndexItem {
    #[doc(hidden)]
    fn entry(self) -> Entry;
}

/// Types that can be an index: one entry, or a tuple of up to six entries.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index",
    label = "expected a number, a range, `ds(start, size)`, an integer `Array`, `NewAxis`, `Ellipsis`, or a tuple of these"
)]
pub trait Index {
    #[doc(hidden)]
    fn entries(self) -> Vec<Entry>;
}

macro_rules! ints {
    ($($t:ty),*) => { $(
        impl IndexItem for $t {
            fn entry(self) -> Entry { Entry::Int(self as i128) }
        }
        impl IndexItem for Range<$t> {
            fn entry(self) -> Entry { Entry::Range { start: Some(self.start as i128), end: Some(self.end as i128), by: 1 } }
        }
        impl IndexItem for RangeFrom<$t> {
            fn entry(self) -> Entry { Entry::Range { start: Some(self.start as i128), end: None, by: 1 } }
        }
        impl IndexItem for RangeTo<$t> {
            fn entry(self) -> Entry { Entry::Range { start: None, end: Some(self.end as i128), by: 1 } }
        }
        impl IndexItem for RangeInclusive<$t> {
            fn entry(self) -> Entry { inclusive(Some(*self.start() as i128), *self.end() as i128) }
        }
        impl IndexItem for RangeToInclusive<$t> {
            fn entry(self) -> Entry { inclusive(None, self.end as i128) }
        }
    )* };
}
ints!(usize, i32, i64, isize);

/// Returns the range that includes `end`; -1 is the last position.
fn inclusive(start: Option<i128>, end: i128) -> Entry {
    Entry::Range { start, end: (end != -1).then_some(end + 1), by: 1 }
}

macro_rules! entries {
    ($($t:ty: |$x:ident| $entry:expr;)*) => { $(
        impl IndexItem for $t {
            fn entry(self) -> Entry { let $x = self; $entry }
        }
    )* };
}
entries! {
    RangeFull: |_x| Entry::Range { start: None, end: None, by: 1 };
    NewAxis: |_x| Entry::NewAxis;
    Ellipsis: |_x| Entry::Ellipsis;
    Array: |x| Entry::Array(x);
    &Array: |x| Entry::Array(x.clone());
    Ds: |x| Entry::Slice { start: Box::new(x.start), size: x.size };
}
impl<R: IndexItem> IndexItem for Step<R> {
    fn entry(self) -> Entry {
        match self.range.entry() {
            Entry::Range { start, end, by } => Entry::Range { start, end, by: by.saturating_mul(self.by) },
            _ => Entry::Bad("`step` of something that is not a range".into()),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<T: IndexItem> Index for T {
    fn entries(self) -> Vec<Entry> {
        vec![self.entry()]
    }
}
macro_rules! tuple {
    ($($t:ident $i:tt),+) => {
        impl<$($t: IndexItem),+> Index for ($($t,)+) {
            fn entries(self) -> Vec<Entry> { vec![$(self.$i.entry()),+] }
        }
    };
}
tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Start {
    At(usize),
    /// The position in the scalar operand with this number.
    By(usize),
}

/// The use of a dimension of the box.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Fate {
    Keep,
    Drop,
    /// Elements of the dimension are picked by the index array that is the operand with this number.
    Pick(usize),
}

/// An index that has been resolved for one type. Index arrays, also those that are scalars or the starts of slices, are
/// operands, numbered from 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Plan {
    starts: Vec<Start>,
    /// The number of elements of the box along each dimension.
    sizes: Vec<usize>,
    strides: Vec<usize>,
    fates: Vec<Fate>,
    /// The origins of the dimensions of the result, in order: a dimension of the box, a new one, or (once) all picked
    /// dimensions.
    result: Vec<Origin>,
    /// The shape to which index arrays broadcast.
    picked: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Origin {
    Box(usize),
    New,
    Picked,
    /// No dimension: the place of an `Ellipsis`, until the picked dimensions have their place.
    Gap,
}

struct Indexed {
    plan: Plan,
    arrays: Vec<Array>,
}

fn index_mistake<T>(s: &Site<'_>, code: &'static str, message: String, x: &Array) -> Checked<T> {
    s.fail(None, mistakes::with_facts(code, message, x.short_type(), "", &s.loc))
}

fn plan(s: &Site<'_>, x: &Array, entries: Vec<Entry>) -> Checked<Indexed> {
    let rank = x.tensor().rank();
    let used = entries.iter().filter(|e| !matches!(e, Entry::NewAxis | Entry::Ellipsis)).count();
    if used > rank {
        return index_mistake(
            s,
            "index-rank",
            format!("the index has entries for {used} dimensions, and the array has only {rank}"),
            x,
        );
    }
    let entries = fill(s, x, entries, rank - used)?;
    let mut out = Indexed { plan: Plan::default(), arrays: vec![] };
    for entry in entries {
        match entry {
            Entry::NewAxis => out.plan.result.push(Origin::New),
            Entry::Ellipsis => out.plan.result.push(Origin::Gap),
            entry => out.add(s, x, entry)?,
        }
    }
    out.place_picked();
    Ok(out)
}

/// Adds an entry for the whole of each of the `missing` dimensions that have none: after the ellipsis, which stays, or
/// at the end.
///
/// Errors: `index-ellipsis` if there are two ellipses.
fn fill(s: &Site<'_>, x: &Array, entries: Vec<Entry>, missing: usize) -> Checked<Vec<Entry>> {
    let whole = Entry::Range { start: None, end: None, by: 1 };
    let places: Vec<usize> = (0..entries.len()).filter(|&i| matches!(entries[i], Entry::Ellipsis)).collect();
    if places.len() > 1 {
        return index_mistake(s, "index-ellipsis", "the index has more than one `Ellipsis`".into(), x);
    }
    let at = places.first().map_or(entries.len(), |i| i + 1);
    let mut entries = entries;
    entries.splice(at..at, std::iter::repeat_n(whole, missing));
    Ok(entries)
}

impl Indexed {
    fn add(&mut self, s: &Site<'_>, x: &Array, entry: Entry) -> Checked<()> {
        let dim = self.plan.sizes.len();
        let n = x.tensor().shape[dim];
        let out_of = |what: String| {
            index_mistake(
                s,
                "index-bounds",
                format!("{what} is out of bounds of dimension {dim}, which has size {n}"),
                x,
            )
        };
        match entry {
            Entry::Int(i) => match from_end(i, n).filter(|&i| i < n) {
                Some(i) => self.dim(Start::At(i), 1, 1, Fate::Drop),
                None => return out_of(format!("index {i}")),
            },
            Entry::Range { by: 0, .. } => {
                return index_mistake(s, "index-step", "the step of an index cannot be 0".into(), x);
            }
            Entry::Range { start, end, by } => {
                let (start_at, end_at) = (from_end(start.unwrap_or(0), n), from_end(end.unwrap_or(n as i128), n));
                let (Some(from), Some(to)) = (start_at, end_at) else {
                    let word = |i: Option<i128>| i.map_or(String::new(), |i| i.to_string());
                    return out_of(format!("range {}..{}", word(start), word(end)));
                };
                let by = by.min(n.max(1));
                self.dim(Start::At(from), to.saturating_sub(from).div_ceil(by), by, Fate::Keep);
            }
            Entry::Slice { size, .. } if size > n => return out_of(format!("a slice of {size}")),
            Entry::Slice { start, size } => match *start {
                Entry::Int(i) => match from_end(i, n).filter(|i| i + size <= n) {
                    Some(i) => self.dim(Start::At(i), size, 1, Fate::Keep),
                    None => return out_of(format!("the slice of {size} from {i}")),
                },
                Entry::Array(a) => self.scalar(s, x, a, size, Fate::Keep)?,
                _ => {
                    return index_mistake(
                        s,
                        "index-dtype",
                        "the start of a slice must be an integer or an integer scalar".into(),
                        x,
                    );
                }
            },
            Entry::Array(a) if a.tensor().rank() == 0 => self.scalar(s, x, a, 1, Fate::Drop)?,
            Entry::Array(a) => self.pick(s, x, a, n)?,
            Entry::Bad(what) => {
                return index_mistake(s, "index-dtype", format!("an entry of the index is {what}"), x);
            }
            Entry::NewAxis | Entry::Ellipsis => unreachable!("handled before"),
        }
        Ok(())
    }

    fn dim(&mut self, start: Start, size: usize, stride: usize, fate: Fate) {
        let dim = self.plan.sizes.len();
        self.plan.starts.push(start);
        self.plan.sizes.push(size);
        self.plan.strides.push(stride);
        self.plan.fates.push(fate);
        self.plan.result.push(Origin::Box(dim));
    }

    fn operand(&mut self, a: Array) -> usize {
        self.arrays.push(a);
        self.arrays.len()
    }

    /// Adds an entry for `size` elements of a dimension that start at the scalar array `a`.
    ///
    /// Errors: `index-dtype` unless `a` is an integer scalar, and `index-bounds` if the dimension is smaller than
    /// `size`.
    fn scalar(&mut self, s: &Site<'_>, x: &Array, a: Array, size: usize, fate: Fate) -> Checked<()> {
        if a.tensor().rank() != 0 || !a.tensor().dtype.is_integer() {
            return index_mistake(
                s,
                "index-dtype",
                format!("the position is not an integer scalar: {}", a.short_type()),
                x,
            );
        }
        let dim = self.plan.sizes.len();
        if size > x.tensor().shape[dim] {
            return index_mistake(s, "index-bounds", format!("dimension {dim} has no element to select"), x);
        }
        let operand = self.operand(a);
        self.dim(Start::By(operand), size, 1, fate);
        Ok(())
    }

    /// Adds an entry for elements of a dimension of size `n` that are picked by the index array `a`.
    ///
    /// Errors: `index-dtype` unless `a` holds integers, `index-bounds` if `n` is 0 and `a` is not empty, and
    /// `index-broadcast` if `a` cannot be broadcast together with the index arrays before it.
    fn pick(&mut self, s: &Site<'_>, x: &Array, a: Array, n: usize) -> Checked<()> {
        if !a.tensor().dtype.is_integer() {
            let hint = if a.tensor().dtype.is_bool() {
                "; the size of a selection by bools is unknown: use `select`"
            } else {
                ""
            };
            return index_mistake(
                s,
                "index-dtype",
                format!("the index array does not hold integers: {}{hint}", a.short_type()),
                x,
            );
        }
        if n == 0 && a.tensor().size() > 0 {
            let dim = self.plan.sizes.len();
            return index_mistake(s, "index-bounds", format!("dimension {dim} has no elements to pick"), x);
        }
        let Some(picked) = broadcast_shape(&self.plan.picked, &a.tensor().shape) else {
            return index_mistake(s, "index-broadcast", "the index arrays cannot be broadcast together".into(), x);
        };
        self.plan.picked = picked;
        let operand = self.operand(a);
        self.dim(Start::At(0), n, 1, Fate::Pick(operand));
        Ok(())
    }

    /// Removes from the result the dimensions that are dropped or picked, and adds those of the index arrays, if there
    /// are any. As in NumPy, an integer beside index arrays counts as an index array. If the entries of the removed
    /// dimensions are adjacent, the dimensions of the index arrays take their place. Otherwise, they come first. An
    /// `Ellipsis` or a `NewAxis` separates entries, the former even if it stands for no dimension.
    fn place_picked(&mut self) {
        let (fates, result) = (&self.plan.fates, &self.plan.result);
        let is_removed = |p: &Origin| matches!(p, Origin::Box(d) if fates[*d] != Fate::Keep);
        let is_kept = |p: &Origin| !is_removed(p) && *p != Origin::Gap;
        let places: Vec<usize> = (0..result.len()).filter(|&i| is_removed(&result[i])).collect();
        let mut origins: Vec<Origin> = result.iter().copied().filter(is_kept).collect();
        if self.plan.picks() {
            let are_adjacent = places.windows(2).all(|w| w[0] + 1 == w[1]);
            let before = result[..places[0]].iter().filter(|p| is_kept(p)).count();
            origins.insert(if are_adjacent { before } else { 0 }, Origin::Picked);
        }
        self.plan.result = origins;
    }
}

/// Returns the position in a dimension of size `n`, which may be `n`, the end. A negative one counts from the end.
/// Returns `None` if it is out of bounds.
fn from_end(i: i128, n: usize) -> Option<usize> {
    usize::try_from(if i < 0 { i + n as i128 } else { i }).ok().filter(|&i| i <= n)
}

/// Makes negative positions in a dimension of size `n` count from the end. The result may have a wider dtype.
fn wrap_array(i: &Array, n: usize) -> Array {
    let i = &as_positions(i, n);
    if i.tensor().dtype.is_signed() { i.lt(0).select(i + n, i) } else { i.clone() }
}

/// Returns the positions in a dimension of size `n` as `dtype`, which must represent `n`. Negative ones count from the
/// end. Those that are out of bounds stay out of bounds on the same side, though the values may change.
fn positions(i: &Array, n: usize, dtype: base::DType) -> Array {
    let i = wrap_array(i, n);
    let ((low, high), (least, most)) = (i.tensor().dtype.integer_range(), dtype.integer_range());
    if least <= low && high <= most {
        return hlo::convert(&i, dtype);
    }
    let i = i.minimum(n);
    hlo::convert(&if low < 0 { i.maximum(-1) } else { i }, dtype)
}

impl Plan {
    fn is_whole(&self, shape: &[usize]) -> bool {
        self.sizes == shape && self.starts.iter().all(|s| *s == Start::At(0)) && self.strides.iter().all(|&s| s == 1)
    }

    fn is_static(&self) -> bool {
        self.starts.iter().all(|s| matches!(s, Start::At(_)))
    }

    fn start_arrays(&self, x: &[Array]) -> Vec<Array> {
        let shape = &x[0].tensor().shape;
        let dtype = position_dtype(shape.iter().copied().max().unwrap_or(0));
        let start = |(d, s): (usize, &Start)| match *s {
            Start::At(i) => hlo::integer(i, dtype),
            Start::By(k) => positions(&x[k], shape[d], dtype),
        };
        self.starts.iter().enumerate().map(start).collect()
    }

    fn static_starts(&self) -> Vec<usize> {
        let known = |start: &Start| match *start {
            Start::At(i) => i,
            Start::By(_) => unreachable!("the starts are known"),
        };
        self.starts.iter().map(known).collect()
    }

    /// Cuts the box out of the array: the first stage.
    fn cut(&self, x: &[Array]) -> Array {
        if self.is_whole(&x[0].tensor().shape) {
            return x[0].clone();
        }
        if self.is_static() {
            let start = self.static_starts();
            let limit: Vec<usize> =
                (0..start.len())
                    .map(|d| {
                        if self.sizes[d] == 0 { start[d] } else { start[d] + (self.sizes[d] - 1) * self.strides[d] + 1 }
                    })
                    .collect();
            return hlo::slice(&x[0], &start, &limit, &self.strides);
        }
        let (window, strided) = self.split_strides(&x[0].tensor().shape);
        strided.cut(&[hlo::dynamic_slice(&x[0], &window.start_arrays(x), &window.sizes)])
    }

    /// Splits the box into two boxes. The first one has the whole of all strided dimensions. The second one is cut out
    /// of the first one, and has only known starts: a strided dimension comes from a range, whose start is known.
    fn split_strides(&self, shape: &[usize]) -> (Plan, Plan) {
        let is_strided = |d: &usize| self.strides[*d] != 1;
        let dims = 0..shape.len();
        let window = Plan {
            starts: dims.clone().map(|d| if is_strided(&d) { Start::At(0) } else { self.starts[d] }).collect(),
            sizes: dims.clone().map(|d| if is_strided(&d) { shape[d] } else { self.sizes[d] }).collect(),
            strides: vec![1; shape.len()],
            ..self.clone()
        };
        let starts = dims.map(|d| if is_strided(&d) { self.starts[d] } else { Start::At(0) }).collect();
        (window, Plan { starts, ..self.clone() })
    }

    fn undropped(&self) -> Vec<usize> {
        (0..self.sizes.len()).filter(|&d| self.fates[d] != Fate::Drop).collect()
    }

    fn picks(&self) -> bool {
        self.fates.iter().any(|f| matches!(f, Fate::Pick(_)))
    }

    /// Returns the dimension numbers of the gather from the box without its dropped dimensions, the window sizes, and
    /// the shape of the result without new dimensions. `rank_of_indices` is the rank of the broadcast index arrays.
    fn windows(&self, rank_of_indices: usize) -> (IndexDims, Vec<usize>, Vec<usize>) {
        let dims = self.undropped();
        let picked: Vec<usize> = (0..dims.len()).filter(|&i| matches!(self.fates[dims[i]], Fate::Pick(_))).collect();
        let sizes: Vec<usize> =
            (0..dims.len()).map(|i| if picked.contains(&i) { 1 } else { self.sizes[dims[i]] }).collect();
        let (mut shape, mut offset) = (vec![], vec![]);
        for place in self.result.iter().filter(|p| **p != Origin::New) {
            match place {
                Origin::Box(d) => {
                    offset.push(shape.len());
                    shape.push(self.sizes[*d]);
                }
                _ => shape.extend(&self.picked),
            }
        }
        let w = IndexDims {
            window: offset,
            collapsed: picked.clone(),
            index_map: picked,
            index_vector_dim: rank_of_indices,
            ..IndexDims::default()
        };
        (w, sizes, shape)
    }

    /// Returns all index arrays, broadcast and stacked along a new last dimension.
    fn indices(&self, x: &[Array]) -> Array {
        let n = self.sizes.iter().copied().max().unwrap_or(0);
        let is_long = |a: &Array| a.tensor().dtype.bits() > 32 || position_dtype(n).bits() > 32;
        let picks: Vec<(usize, usize)> = (0..self.fates.len())
            .filter_map(|d| if let Fate::Pick(k) = self.fates[d] { Some((d, k)) } else { None })
            .collect();
        let dtype = if picks.iter().any(|&(_, k)| is_long(&x[k])) { base::DType::I64 } else { base::DType::I32 };
        let component = |&(d, k): &(usize, usize)| {
            let a = hlo::broadcast_to(&positions(&x[k], self.sizes[d], dtype), &self.picked);
            let shape: Vec<usize> = self.picked.iter().copied().chain([1]).collect();
            hlo::broadcast_in_dim(&a, &shape, &(0..self.picked.len()).collect::<Vec<_>>())
        };
        let components: Vec<Array> = picks.iter().map(component).collect();
        match &components[..] {
            [one] => one.clone(),
            all => hlo::concatenate(&all.iter().collect::<Vec<_>>(), self.picked.len()),
        }
    }

    fn undropped_shape(&self) -> Vec<usize> {
        self.undropped().iter().map(|&d| self.sizes[d]).collect()
    }

    fn result_shape(&self) -> Vec<usize> {
        let size = |p: &Origin| match p {
            Origin::Box(d) => vec![self.sizes[*d]],
            Origin::New => vec![1],
            Origin::Gap => vec![],
            Origin::Picked => self.picked.clone(),
        };
        self.result.iter().flat_map(size).collect()
    }

    /// Returns true if the index picks from a dimension without elements, so that nothing is picked.
    fn picks_none(&self) -> bool {
        (0..self.sizes.len()).any(|d| self.sizes[d] == 0 && matches!(self.fates[d], Fate::Pick(_)))
    }

    fn get(&self, x: &[Array]) -> Array {
        if self.picks_none() {
            return hlo::zeros(&TensorType::new(x[0].tensor().dtype, self.result_shape()));
        }
        let cut = hlo::reshape(&self.cut(x), &self.undropped_shape());
        let picked = if self.picks() {
            let (windows, sizes, shape) = self.windows(self.picked.len());
            hlo::gather(&cut, &self.indices(x), &windows, &sizes, TensorType::new(cut.tensor().dtype, shape))
        } else {
            cut
        };
        hlo::reshape(&picked, &self.result_shape())
    }

    /// Returns the array `x[0]` with `v` combined into the elements at the index, or with these replaced by `v` if
    /// `combine` is `None`. The other arrays in `x` are the index arrays and the scalars at which the box starts.
    fn put(&self, x: &[Array], v: &Array, combine: Option<Opcode>) -> Array {
        if self.picks_none() {
            return x[0].clone();
        }
        let v = hlo::broadcast_to(v, &self.result_shape());
        let changed = if self.picks() {
            let (windows, _, shape) = self.windows(self.picked.len());
            let cut = hlo::reshape(&self.cut(x), &self.undropped_shape());
            hlo::scatter(&cut, &self.indices(x), &hlo::reshape(&v, &shape), &windows, combine)
        } else {
            let v = hlo::reshape(&v, &self.undropped_shape());
            match combine {
                Some(op) => hlo::binary(op, &hlo::reshape(&self.cut(x), &self.undropped_shape()), &v),
                None => v,
            }
        };
        self.paste(x, &hlo::reshape(&changed, &self.sizes))
    }

    /// Returns the array `x[0]` with the box replaced by `part`: the first stage in reverse.
    fn paste(&self, x: &[Array], part: &Array) -> Array {
        let shape = &x[0].tensor().shape;
        if self.is_whole(shape) {
            return part.clone();
        }
        if self.strides.iter().all(|&s| s == 1) {
            return hlo::dynamic_update_slice(&x[0], part, &self.start_arrays(x));
        }
        if !self.is_static() {
            let (window, strided) = self.split_strides(shape);
            return window.paste(x, &strided.paste(&[window.cut(x)], part));
        }
        // The part is spread out to the array's own shape. Its elements are selected where a mask, which is spread out
        // in the same way, is true.
        let start = self.static_starts();
        let spread = |a: &Array| {
            let low = start.clone();
            let interior: Vec<usize> = self.strides.iter().map(|s| s - 1).collect();
            let length = |d: usize| if self.sizes[d] == 0 { 0 } else { (self.sizes[d] - 1) * self.strides[d] + 1 };
            let high: Vec<usize> = (0..low.len()).map(|d| shape[d] - low[d] - length(d)).collect();
            hlo::pad_spread(a, &hlo::zeros(&TensorType::scalar(a.tensor().dtype)), &low, &high, &interior)
        };
        let ones = hlo::splat(&crate::ops::element(1.0, base::DType::I1), &self.sizes);
        hlo::select(&spread(&ones), &spread(part), &x[0])
    }
}

impl Array {
    /// Returns the part of the array at `index`. NumPy's `x[..4]` is `x.i(..4)`, and `x[:, i]` is `x.i((.., &i))`.
    ///
    /// An entry is one of the following. Negative numbers count from the end. Positions in arrays that are out of
    /// bounds are clamped.
    ///
    /// - An integer, or a scalar integer array, which drops its dimension.
    /// - A range, or `step(range, by)`. A range that ends at or before its start selects no elements.
    /// - `ds(start, size)`.
    /// - An integer array. Arrays broadcast against each other. Their dimensions replace those that they index if these
    ///   are adjacent, and come first otherwise. As in NumPy, integers and scalars beside them count as index arrays
    ///   here: `x.i((0, .., &rows))` of `f32[2, 3, 4]` and `i32[k]` is `f32[k, 3]`.
    /// - `NewAxis` or `Ellipsis`.
    ///
    /// # Errors
    ///
    /// - `index-rank` if there are more entries than dimensions. `NewAxis` and `Ellipsis` do not count.
    /// - `index-bounds` if a constant position, a range or a slice is out of bounds, or an array selects elements from
    ///   a dimension of size 0.
    /// - `index-dtype` if a position is not an integer, and for a `step` of something that is not a range.
    /// - `index-broadcast` if the index arrays do not broadcast against each other.
    /// - `index-ellipsis` if there are two ellipses, and `index-step` for a step of 0.
    /// - `too-large` if the result would have more than 255 dimensions, or 2^59 bytes or more, where a size of 0 counts
    ///   as 1.
    #[track_caller]
    pub fn i(&self, index: impl Index) -> Array {
        let entries = index.entries();
        let positions: Vec<Array> = entries.iter().filter_map(Entry::array).cloned().collect();
        let given: Vec<&Array> = std::iter::once(self).chain(&positions).collect();
        site("i", &given, |s| {
            let Indexed { plan, arrays } = plan(s, self, entries)?;
            let operands: Vec<&Array> = std::iter::once(self).chain(&arrays).collect();
            let out = call_many("i", &plan, &operands, 1, |x| vec![plan.get(x)]);
            Ok(out.into_iter().next().expect("one result"))
        })
    }

    /// Selects the elements at `index` for an update: `x.at(i).set(v)`. Updates at positions of an index array that are
    /// out of bounds are dropped. A scalar array or an array as the start of `ds` is clamped, as in [`Array::i`].
    pub fn at(&self, index: impl Index) -> At {
        At { array: self.clone(), index: index.entries() }
    }

    /// Takes the elements at the positions `indices` along `dim`, one for each index. In other dimensions, the indices
    /// are broadcast to the sizes of `self`. Negative positions count from the end, and positions out of bounds are
    /// clamped.
    ///
    /// # Shapes
    ///
    /// `f32[b, n], i32[b, k] -> f32[b, k]` for `dim` 1.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `take-along` if the shapes do not fit.
    /// - `index-bounds` if elements are taken from a dimension of size 0.
    /// - `dtype-kind` unless the indices are integers.
    /// - `too-large` if the result, or the indices broadcast to its shape, would have 2^59 bytes or more, where a size
    ///   of 0 counts as 1.
    #[track_caller]
    pub fn take_along(&self, indices: impl AsArray, dim: impl Dim) -> Array {
        let indices = indices.as_array();
        site("take_along", &[self, indices], |s| {
            let dim = s.dim(self, dim)?;
            s.kind(indices, base::DType::is_integer, "indices that are integers", "")?;
            let (x, i) = (self.tensor(), indices.tensor());
            let mut shape = x.shape.clone();
            if i.rank() == x.rank() {
                shape[dim] = i.shape[dim];
            }
            if i.rank() != x.rank() || broadcast_shape(&i.shape, &shape).as_ref() != Some(&shape) {
                let facts = format!("{} by {}", self.short_type(), indices.short_type());
                let message = "`take_along`: the indices do not fit the array".to_string();
                let help = format!(
                    "give the indices as many dimensions as the array, and in all but dimension {dim} its sizes or 1"
                );
                return s.fail(None, mistakes::with_facts("take-along", message, facts, &help, &s.loc));
            }
            if x.shape[dim] == 0 && !shape.contains(&0) {
                let what = format!("dimension {dim} has no elements to take");
                return index_mistake(s, "index-bounds", what, self);
            }
            let out =
                call_many("take_along", dim, &[self, indices], 1, |x| vec![take_along(&x[0], &x[1], dim, &shape)]);
            Ok(out.into_iter().next().expect("one result"))
        })
    }
}

fn take_along(x: &Array, indices: &Array, dim: usize, shape: &[usize]) -> Array {
    let rank = shape.len();
    if shape.contains(&0) {
        return hlo::zeros(&TensorType::new(x.tensor().dtype, shape));
    }
    let others: Vec<usize> = (0..rank).filter(|&d| d != dim).collect();
    let indices = hlo::broadcast_to(&wrap_array(indices, x.tensor().shape[dim]), shape);
    let with_vector: Vec<usize> = shape.iter().copied().chain([1]).collect();
    let indices = hlo::reshape(&indices, &with_vector);
    let windows = IndexDims {
        window: vec![],
        collapsed: vec![dim],
        operand_batching: others.clone(),
        indices_batching: others,
        index_map: vec![dim],
        index_vector_dim: rank,
    };
    hlo::gather(x, &indices, &windows, &vec![1; rank], TensorType::new(x.tensor().dtype, shape))
}

/// Selected elements of an array. Every method returns the whole array with these elements changed.
#[must_use = "nothing is written until `.set`, `.add`, …; the result is a new array"]
#[derive(Debug)]
pub struct At {
    array: Array,
    index: Vec<Entry>,
}

macro_rules! updates {
    ($($(#[$doc:meta])* $f:ident $name:literal $combine:expr;)*) => {
        /// Updates of the selected elements, to which `v` is broadcast. If an index selects an
        /// element twice, `set` writes one of the values, and the other methods combine all of them.
        ///
        /// # Errors
        ///
        /// The errors of [`Array::i`], and `broadcast`, `dtype-mixed` and `number-dtype` if `v` does not fit.
        /// `dtype-kind` for all methods but `set` if the dtype can only be stored.
        #[expect(clippy::should_implement_trait, reason = "NumPy's and JAX's names; a place is no number")]
        impl At { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $f(self, v: impl Operand) -> Array { self.update($name, v.operand(), $combine) }
        )* }
    };
}
updates! {
    /// Returns the array with the selected elements replaced by `v`.
    set "at.set" None;
    /// Returns the array with `v` added to the selected elements.
    add "at.add" Some(Opcode::Add);
    /// Returns the array with the selected elements multiplied by `v`.
    mul "at.mul" Some(Opcode::Multiply);
    /// Returns the array with each selected element replaced by the larger of itself and `v`.
    max "at.max" Some(Opcode::Maximum);
    /// Returns the array with each selected element replaced by the smaller of itself and `v`.
    min "at.min" Some(Opcode::Minimum);
}

impl At {
    #[track_caller]
    fn update(self, name: &'static str, v: Either, combine: Option<Opcode>) -> Array {
        let x = &self.array;
        let others: Vec<Array> = self.index.iter().filter_map(Entry::array).chain(v.array()).cloned().collect();
        let given: Vec<&Array> = std::iter::once(x).chain(&others).collect();
        site(name, &given, |s| {
            if combine.is_some() {
                s.has(x, Kinds::Any)?;
            }
            let v = s.beside(v, x)?;
            let Indexed { plan, arrays } = plan(s, x, self.index)?;
            let shape = plan.result_shape();
            if broadcast_shape(&shape, &v.tensor().shape).as_ref() != Some(&shape) {
                let place = TensorType::new(x.tensor().dtype, shape).short();
                return s.fail(Some(x.tensor().clone()), mistakes::broadcast_to(name, &v.short_type(), &place, &s.loc));
            }
            if v.tensor().dtype != x.tensor().dtype {
                let to = DType::of(x.tensor().dtype);
                let d = mistakes::dtypes(name, &x.short_type(), &v.short_type(), to, &s.loc);
                return s.fail(Some(x.tensor().clone()), d);
            }
            let operands: Vec<&Array> = std::iter::once(x).chain(&arrays).chain([&v]).collect();
            let out = call_many(name, &plan, &operands, 1, |x| {
                let (v, x) = x.split_last().expect("the value is last");
                vec![plan.put(x, v, combine)]
            });
            Ok(out.into_iter().next().expect("one result"))
        })
    }
}
