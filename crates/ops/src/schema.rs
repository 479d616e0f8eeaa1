//! The description of each op that the text and the verifier read: its attributes, the specification's labels for its
//! operands and results, what it does with quantized values, and how it is written.
//!
//! Each op has one [`Schema`], which is beside its facts and is named by its row of the table. Every member is
//! required, so that a forgotten one does not compile. An op without attributes or labels has members that say so.
//!
//! ```text
//! impl Transpose {
//!     pub(crate) const SCHEMA: Schema = Schema {
//!         attributes: &[required("permutation", Some("transpose_i2"), AttrKind::Ints)],
//!         results: ResultLabels::of("transpose_c3", "transpose_c1"),
//!         ...
//!     };
//! }
//! ```

// The names that schemas are written with.
pub(crate) use crate::syntax::*;
pub(crate) use shardwise_base::{DType, Quantized};
pub(crate) use shardwise_ir::text::{Piece, Syntax, Types, Written};

use crate::Opcode;
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::{Attr, OpView, Type, ValueNames};

/// The description of an op that the text and the verifier read.
pub struct Schema {
    /// The op's attributes, in the specification's order. An op may have others, such as those of other dialects.
    pub attributes: &'static [AttrSpec],
    /// The numbering of the operands in the specification.
    pub operands: Operands,
    /// The labels of the constraints on the types of the results.
    pub results: ResultLabels,
    /// The treatment of quantized values.
    pub on_quantized: OnQuantized,
    /// The forms in which the op is written.
    pub syntax: Syntax,
    /// The names of the op's values in text.
    pub names: Names,
    /// The op's place in the region around it.
    pub role: Role,
}

impl Schema {
    /// Returns the labels in the schema: first those of results, then of quantized values, then of attributes. The
    /// labels of single results ([`ResultLabels`]) are left out. A label may occur more than once, and may be the
    /// library's own.
    pub fn labels(&self) -> Vec<&'static str> {
        let of_attributes = self.attributes.iter().filter_map(|spec| spec.label);
        let of_results = [self.results.shape, self.results.element].into_iter();
        of_results.chain(self.on_quantized.labels()).chain(of_attributes).collect()
    }
}

/// An attribute of an op.
///
/// An attribute that the text leaves out is absent, with two exceptions in the ops' own forms. Where the strides of a
/// slice are left out, readers set them to 1. Readers also set the numbers of a scan's operands and results, which are
/// never written there. A field of a record that is an empty list means the same as an absent field. Readers leave it
/// out, except in `stablehlo.output_operand_alias`.
pub struct AttrSpec {
    pub name: &'static str,
    /// The label of the attribute among the specification's inputs of the op: `transpose_i2`. The library's own ops
    /// have such labels too. `None` if the specification does not number the attribute.
    pub label: Option<&'static str>,
    pub kind: AttrKind,
    pub presence: Presence,
}

impl AttrSpec {
    /// Returns the code of errors about the attribute.
    pub fn code(&self) -> &'static str {
        self.label.unwrap_or("op-attribute")
    }
}

/// The meaning of an attribute's absence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    Required,
    /// The attribute may be absent. This text says what its absence means, as a value or in words.
    Optional(&'static str),
}

pub(crate) const NONE: &[AttrSpec] = &[];

pub(crate) const fn required(name: &'static str, label: Option<&'static str>, kind: AttrKind) -> AttrSpec {
    AttrSpec { name, label, kind, presence: Presence::Required }
}

/// Describes an attribute that may be absent, which means the same as `absent`.
pub(crate) const fn optional(
    name: &'static str,
    label: Option<&'static str>,
    kind: AttrKind,
    absent: &'static str,
) -> AttrSpec {
    AttrSpec { name, label, kind, presence: Presence::Optional(absent) }
}

/// The values that an attribute may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttrKind {
    /// An integer, which text writes with this type.
    Int(DType),
    /// A list of 64-bit integers.
    Ints,
    /// Rows of two integers.
    Pairs,
    Flag,
    Flags,
    Word,
    /// Entries of any kind.
    List,
    /// A word of an enumeration.
    Enum(&'static Enumeration),
    /// A word of an enumeration, or a list of them.
    Enums(&'static Enumeration),
    /// A record of this name, with this description.
    Record(&'static str, &'static str),
    /// The name of a function.
    Symbol,
    Float,
    Dense,
    Dict,
    Unit,
    /// Axes of a mesh.
    Axes,
    /// Axes of a mesh for each dimension.
    AxesPerDim,
    Shardings,
    /// For each value, the order of its dimensions in memory.
    Layouts,
    /// A value with this description, which the op's own check reads. That check must not ignore values of other kinds.
    Own(&'static str),
}

/// The words of an attribute that is written as `#dialect<kind word>`.
#[derive(PartialEq, Eq, Debug)]
pub struct Enumeration {
    pub dialect: &'static str,
    pub kind: &'static str,
    pub words: &'static [&'static str],
}

impl Enumeration {
    pub(crate) const fn stablehlo(kind: &'static str, words: &'static [&'static str]) -> Enumeration {
        Enumeration { dialect: "stablehlo", kind, words }
    }

    fn contains(&self, attr: &Attr) -> bool {
        match attr {
            Attr::Enum { dialect, kind, value } => {
                (&**dialect, &**kind) == (self.dialect, self.kind) && self.words.contains(&&**value)
            }
            _ => false,
        }
    }
}

impl AttrKind {
    /// Returns true if the attribute is of this kind, as far as it can be told without the op. The type of a number,
    /// the integer type of a list that is not an `array<..>`, the shape of `Pairs` and the fields of a record are not
    /// checked. An empty list of integers fits [`AttrKind::Flags`]. Any attribute fits [`AttrKind::Own`].
    pub fn fits(self, attr: &Attr) -> bool {
        match self {
            AttrKind::Int(_) => attr.as_int().is_some(),
            AttrKind::Ints | AttrKind::Pairs => match attr {
                Attr::Ints { dtype, .. } => *dtype == DType::I64,
                _ => attr.to_ints().is_some(),
            },
            AttrKind::Flag => attr.as_bool().is_some(),
            AttrKind::Flags => match attr {
                Attr::Bools(_) => true,
                Attr::Dense(x) => x.dtype() == DType::I1,
                _ => attr.to_ints().is_some_and(|list| list.is_empty()),
            },
            AttrKind::Word => matches!(attr, Attr::Str(_)),
            AttrKind::List => matches!(attr, Attr::Array(_)),
            AttrKind::Enum(words) => words.contains(attr),
            AttrKind::Enums(words) => match attr {
                Attr::Array(items) => items.iter().all(|item| words.contains(item)),
                _ => words.contains(attr),
            },
            AttrKind::Record(name, _) => matches!(attr, Attr::Record { name: found, .. } if **found == *name),
            AttrKind::Symbol => matches!(attr, Attr::Symbol(_)),
            AttrKind::Float => matches!(attr, Attr::Float { .. }),
            AttrKind::Dense => attr.as_dense().is_some(),
            AttrKind::Dict => matches!(attr, Attr::Dict(_)),
            AttrKind::Unit => matches!(attr, Attr::Unit),
            AttrKind::Axes => matches!(attr, Attr::Axes { .. }),
            AttrKind::AxesPerDim => matches!(attr, Attr::AxesPerDim { .. }),
            AttrKind::Shardings => matches!(attr, Attr::Shardings(_)),
            AttrKind::Layouts => {
                // JAX writes tensors of `index`, which are kept as text.
                let is_of_index = |item: &Attr| matches!(item, Attr::Opaque(text) if text.ends_with("xindex>"));
                let is_layout = |item: &Attr| item.to_ints().is_some() || is_of_index(item);
                matches!(attr, Attr::Array(items) if items.iter().all(is_layout))
            }
            AttrKind::Own(_) => true,
        }
    }

    /// Describes the kind to a user.
    pub fn in_words(self) -> String {
        let words = match self {
            AttrKind::Int(_) => "an integer",
            AttrKind::Ints => "a list of 64-bit integers",
            AttrKind::Pairs => "rows of two integers",
            AttrKind::Flag => "`true` or `false`",
            AttrKind::Flags => "a list of `true` and `false`",
            AttrKind::Word => "a string",
            AttrKind::List => "a list",
            AttrKind::Enum(Enumeration { dialect, kind, words }) => {
                return format!("`#{dialect}<{kind} ..>`, which must be {}", one_of(words));
            }
            AttrKind::Enums(Enumeration { dialect, kind, words }) => {
                return format!("`#{dialect}<{kind} ..>`, which must be {}, or a list of them", one_of(words));
            }
            AttrKind::Record(_, words) => words,
            AttrKind::Symbol => "the name of a function",
            AttrKind::Float => "a float",
            AttrKind::Dense => "a dense array",
            AttrKind::Dict => "a dictionary",
            AttrKind::Unit => "a unit",
            AttrKind::Axes => "axes of a mesh",
            AttrKind::AxesPerDim => "axes of a mesh for each dimension",
            AttrKind::Shardings => "shardings",
            AttrKind::Layouts => "a list of layouts",
            AttrKind::Own(words) => words,
        };
        words.to_string()
    }
}

/// Returns the words in the form "`A`, `B` or `C`".
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

pub(crate) const PRECISIONS: AttrKind = AttrKind::Enums(&Enumeration::stablehlo("precision", PRECISION_WORDS));

pub(crate) const CHLO_PRECISIONS: AttrKind =
    AttrKind::Enums(&Enumeration { dialect: "chlo", kind: "precision", words: PRECISION_WORDS });

const PRECISION_WORDS: &[&str] = &["DEFAULT", "HIGH", "HIGHEST"];

pub(crate) const CHANNEL_HANDLE: AttrKind =
    AttrKind::Record("stablehlo.channel_handle", "`stablehlo.channel_handle {handle, type: integer}`");

/// The numbering of an op's operands in the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operands {
    /// Each operand is an input: `select_i1`, `select_i2`, ….
    Each,
    /// The first input is a list of operands, which share its label.
    List,
}

/// The labels of the constraints on the types of an op's results.
#[derive(Clone, Copy)]
pub struct ResultLabels {
    shape: &'static str,
    element: &'static str,
    /// Returns the label of the shape of the first wrong result, if that result has a label of its own.
    shape_of: fn(usize, &[Type], &[Type]) -> Option<&'static str>,
}

impl ResultLabels {
    /// Labels for an op for which the specification has no label for the types of the results.
    pub(crate) const NONE: ResultLabels = ResultLabels::both("op-result-types");

    pub(crate) const fn of(shape: &'static str, element: &'static str) -> ResultLabels {
        ResultLabels { shape, element, shape_of: |_, _, _| None }
    }

    pub(crate) const fn both(label: &'static str) -> ResultLabels {
        ResultLabels::of(label, label)
    }

    pub(crate) const fn with_shape_of(
        self,
        shape_of: fn(usize, &[Type], &[Type]) -> Option<&'static str>,
    ) -> ResultLabels {
        ResultLabels { shape_of, ..self }
    }

    pub(crate) fn broken(&self, given: &[Type], expected: &[Type]) -> &'static str {
        if given.len() != expected.len() {
            return self.shape;
        }
        match given.iter().zip(expected).position(|(a, b)| a.shape() != b.shape()) {
            None => self.element,
            Some(i) => (self.shape_of)(i, given, expected).unwrap_or(self.shape),
        }
    }
}

/// The treatment of quantized values by an op.
#[derive(Clone, Copy)]
pub enum OnQuantized {
    /// The op converts to or from quantized values.
    Converts,
    /// The op computes with the floats that quantized values represent. If one value is quantized, all values with
    /// float or quantized elements must be quantized per tensor, by types that differ in scales and zero points only.
    /// The labels are of the constraints on which values may be quantized, and on how equal their types must be.
    Computes { which: &'static str, alike: &'static str },
    /// The op adds the floats that its two operands represent, which may be quantized along dimensions.
    Adds(&'static QuantizedSum),
    /// The op multiplies the floats that its two operands represent, of which the second may be quantized along a
    /// dimension.
    Multiplies(&'static QuantizedProduct),
    /// The op moves the integers of values that are quantized per tensor. The label is of the constraint on the
    /// operand.
    Moves(&'static str),
    /// The op moves the integers of quantized values, which may be quantized along a dimension.
    MovesAxis(&'static QuantizedMove),
    /// The op accepts quantized values as any others, because it does not itself compute with the floats that they
    /// represent.
    Any,
    /// The op accepts quantized values as any others, but its operands must be quantized as a whole, not along a
    /// dimension.
    PerTensor,
    /// The op accepts no quantized values.
    Refuses,
}

impl OnQuantized {
    /// Returns true if the op on quantized values is computed as the ops that it decomposes into, rather than on their
    /// integers.
    pub(crate) fn is_computed(self) -> bool {
        match self {
            OnQuantized::Converts
            | OnQuantized::Computes { .. }
            | OnQuantized::Adds(_)
            | OnQuantized::Multiplies(_) => true,
            OnQuantized::Moves(_)
            | OnQuantized::MovesAxis(_)
            | OnQuantized::Any
            | OnQuantized::PerTensor
            | OnQuantized::Refuses => false,
        }
    }

    fn labels(self) -> Vec<&'static str> {
        match self {
            OnQuantized::Computes { which, alike } => vec![which, alike],
            OnQuantized::Adds(QuantizedSum { operand, which, storage, expressed, per_axis, axes: [lhs, rhs] }) => {
                vec![operand, which, storage, expressed, per_axis, lhs, rhs]
            }
            OnQuantized::Multiplies(product) => product.labels(),
            OnQuantized::Moves(label) => vec![label],
            OnQuantized::MovesAxis(QuantizedMove { operand, alike, axis, .. }) => vec![operand, alike, axis],
            OnQuantized::Converts | OnQuantized::Any | OnQuantized::PerTensor | OnQuantized::Refuses => vec![],
        }
    }
}

/// The labels of the constraints on quantized values of an op that adds its two operands.
pub struct QuantizedSum {
    /// The label of the operands' elements.
    pub operand: &'static str,
    /// The label of: operands and result must all be quantized.
    pub which: &'static str,
    /// The label of: all must have the same storage type.
    pub storage: &'static str,
    /// The label of: all must represent floats of the same type.
    pub expressed: &'static str,
    /// The label of: the result must be quantized along a dimension exactly if an operand is.
    pub per_axis: &'static str,
    /// The labels of: the result must be quantized along the dimension of the first operand, and of the second, if
    /// these are quantized along one.
    pub axes: [&'static str; 2],
}

/// The constraints on quantized values of an op that multiplies its two operands and adds the products.
pub struct QuantizedProduct {
    /// The label for a first operand that is quantized along a dimension.
    pub lhs: &'static str,
    /// The label of: the second operand must be quantized, and the result exactly if the first operand is.
    pub which: &'static str,
    /// The label of: the zero points of the second operand must be 0. `None` if they may be any.
    pub zero_points: Option<&'static str>,
    /// The label for a second operand that is quantized along a dimension that is not allowed.
    pub axis: &'static str,
    /// Returns true if the second operand may be quantized along this dimension.
    pub fits_axis: fn(&OpView<'_>, usize) -> bool,
    /// The label of: both operands must have the same storage type.
    pub storage: &'static str,
    /// The label of: operands and result must represent floats of the same type.
    pub expressed: &'static str,
    /// The label of: the result must not be quantized along a dimension if the second operand is not.
    pub per_tensor: &'static str,
    /// The constraint on the dimension along which the result is quantized. `None` if it may be any.
    pub result_axis: Option<ResultAxis>,
    /// The label of: if only the second operand is quantized, it must represent floats of the others' type.
    pub hybrid: &'static str,
}

/// A constraint on the dimension along which a result is quantized.
pub struct ResultAxis {
    pub label: &'static str,
    /// Returns true if the result may be quantized along this dimension.
    pub fits: fn(&OpView<'_>, usize) -> bool,
    /// The constraint in words.
    pub rule: &'static str,
}

impl QuantizedProduct {
    fn labels(&self) -> Vec<&'static str> {
        let required = [self.lhs, self.which, self.axis, self.storage, self.expressed, self.per_tensor, self.hybrid];
        let result_axis = self.result_axis.as_ref().map(|axis| axis.label);
        required.into_iter().chain(self.zero_points).chain(result_axis).collect()
    }
}

/// The constraints on an op that moves values that are quantized along a dimension.
pub struct QuantizedMove {
    /// The label of the operand's elements.
    pub operand: &'static str,
    /// The label of: operand and result are both quantized along a dimension, and alike except for that dimension.
    /// Their scales and zero points are equal too, unless the op has a function `scales`.
    pub alike: &'static str,
    /// The label of: the result is quantized along the dimension that the operand's quantized dimension becomes, with
    /// scales and zero points that fit ([`QuantizedMove::scales`]).
    pub axis: &'static str,
    /// Returns true if the first dimension, which is the operand's, becomes the second, which is the result's.
    pub becomes: fn(&OpView<'_>, usize, usize) -> bool,
    /// Returns true if the first type, which is the operand's, and the second, which is the result's, have scales and
    /// zero points that fit. Types that do not fit break the constraint `axis`. `None` if they must be equal.
    pub scales: Option<fn(&OpView<'_>, &Quantized, &Quantized) -> bool>,
}

/// The names of an op's values in text, without `%`.
#[derive(Clone, Copy)]
pub enum Names {
    /// Each value has a number in its name, such as `0` for a result and `arg0` for an argument.
    Numbered,
    /// A name for each result. The results are numbered if there are more or fewer names.
    Results(&'static [&'static str]),
    /// The name of every argument of the op's regions. A number is added if it is taken.
    RegionArgs(&'static str),
    /// The names of the results, which depend on their types.
    By(fn(&OpView<'_>) -> &'static [&'static str]),
}

impl Names {
    pub(crate) fn of(self, op: &OpView<'_>) -> ValueNames {
        match self {
            Names::Numbered => ValueNames::default(),
            Names::Results(results) => ValueNames { results, args: None },
            Names::RegionArgs(args) => ValueNames { results: &[], args: Some(args) },
            Names::By(results) => ValueNames { results: results(op), args: None },
        }
    }
}

/// The place of an op in the region around it, and of its own regions in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The op may be anywhere in a region, and its regions may use values from around it.
    Plain,
    /// The op ends a region.
    Terminator,
    /// The op may be anywhere in a region, and its regions may not use values from around it.
    Isolated,
}

impl Opcode {
    /// Returns the description of the attribute with this name, or `None` if the op's schema has no such attribute.
    pub fn attribute(self, name: &str) -> Option<&'static AttrSpec> {
        self.schema().attributes.iter().find(|spec| spec.name == name)
    }

    /// Returns the label of an operand, without the dialect. If the op's first input is a list of operands, all
    /// operands have its label. Otherwise, operands after the fifth have the fifth label.
    pub(crate) fn operand_label(self, index: usize) -> &'static str {
        let labels = self.operand_labels();
        let label = match self.schema().operands {
            Operands::List => labels[0],
            Operands::Each => labels[index.min(labels.len() - 1)],
        };
        label.split_once('.').map_or(label, |(_, label)| label)
    }
}

pub(crate) fn wrong_attributes(op: &OpView<'_>) -> Diagnostics {
    let mut found = Diagnostics::default();
    for spec in Opcode::of_view(op).schema().attributes {
        match op.attr(spec.name) {
            None if spec.presence == Presence::Required => found.push(missing(op, spec)),
            Some(attr) if !spec.kind.fits(attr) => {
                found.push(wrong_kind(op, spec.code(), spec.name, &spec.kind.in_words()));
            }
            _ => {}
        }
    }
    found
}

fn missing(op: &OpView<'_>, spec: &AttrSpec) -> Diagnostic {
    let message = format!("`{}` lacks the attribute `{}`", op.name(), spec.name);
    Diagnostic::error(spec.code(), op.loc(), message).expected(spec.kind.in_words())
}

pub(crate) fn wrong_kind(op: &OpView<'_>, label: &'static str, name: &str, expected: &str) -> Diagnostic {
    let message = format!("attribute `{name}` of `{}` is not of the right kind", op.name());
    Diagnostic::error(label, op.loc(), message).expected(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_may_be_tensors_of_index() {
        let text = |text: &str| Attr::Array(vec![Attr::Opaque(text.into())]);
        assert!(AttrKind::Layouts.fits(&text("dense<[0, 1]> : tensor<2xindex>")));
        assert!(AttrKind::Layouts.fits(&text("dense<> : tensor<0xindex>")));
        assert!(AttrKind::Layouts.fits(&Attr::Array(vec![Attr::ints([1, 0])])));
        assert!(!AttrKind::Layouts.fits(&text("#stablehlo.token")));
        assert!(!AttrKind::Layouts.fits(&Attr::ints([1, 0])));
    }
}
