//! The notations of ops: a closed set of pieces from which most of them are made, and a trait for the others.
//!
//! A form is a list of pieces and a notation for types, as in MLIR's assembly formats. The same list is used for
//! reading and printing, so the two cannot disagree. Attributes that the pieces do not mention are in the attribute
//! dictionary.

use super::attr_print::number_of;
use super::parser::{At, Parsed, Parser, shorten};
use super::print::Printer;
use super::records;
use crate::{Attr, Attrs, OpView, Region, Type, Value};
use shardwise_base::{DType, Loc, Sharding};
use smallvec::SmallVec;

/// The notation of an op.
#[derive(Clone, Copy)]
pub struct Syntax {
    pub form: Form,
    pub results: ResultShardings,
}

/// The notation of everything after an op's name.
#[derive(Clone, Copy)]
pub enum Form {
    /// Only the generic form, in which every op can be written: `"stablehlo.gather"(%a, %b) <{..}> : (..) -> ..`.
    Generic,
    Pieces(&'static [Piece], Types),
    Custom(&'static dyn CustomForm),
}

/// The place of the shardings of an op's results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultShardings {
    /// The shardings of all results are in the attribute `sdy.sharding`.
    Attribute,
    /// The op has one result, whose sharding is this property of the op.
    Property(&'static str),
    /// The shardings of all results are this property of the op, as a list.
    List(&'static str),
}

impl Syntax {
    pub const GENERIC: Syntax = Syntax::new(Form::Generic);

    pub const fn new(form: Form) -> Syntax {
        Syntax { form, results: ResultShardings::Attribute }
    }

    pub const fn pieces(pieces: &'static [Piece], types: Types) -> Syntax {
        Syntax::new(Form::Pieces(pieces, types))
    }

    pub const fn custom(form: &'static dyn CustomForm) -> Syntax {
        Syntax::new(Form::Custom(form))
    }

    pub const fn with_results(self, results: ResultShardings) -> Syntax {
        Syntax { form: self.form, results }
    }
}

/// A part of a form.
#[derive(Clone, Copy)]
pub enum Piece {
    /// Words and punctuation, printed verbatim: `, dims = `.
    Text(&'static str),
    /// The next operand.
    Operand,
    /// All remaining operands, separated by commas. There may be none.
    Operands,
    /// All remaining operands, each followed by a comma.
    OperandsAndComma,
    /// An attribute, without its name.
    Attr(&'static str, Written),
    /// Pieces that start with a text and mention an attribute. They are written if the op has the attribute, and read
    /// if the text follows.
    Optional(&'static [Piece]),
    /// The sharding of the only result.
    Sharding,
    /// The attribute dictionary. Without this piece, it is written before the types.
    Dict,
    /// Attributes with a notation of their own.
    Part(&'static dyn Part),
}

/// The notation of an attribute's value inside a form.
#[derive(Clone, Copy)]
pub enum Written {
    /// `[1, 2]`, for `array<i64: 1, 2>`.
    Ints,
    /// `3`, of this type.
    Int(DType),
    /// `1.5`, of this type.
    Float(DType),
    /// `true`.
    Bool,
    /// `"name"`.
    Str,
    /// `@name`, for a symbol.
    Symbol,
    /// `@name`, for a string.
    StrAsSymbol,
    /// `THREE_FRY`, of an enum of this dialect and kind.
    Enum(&'static str, &'static str),
    /// A word as for `Enum`, where the generic form has the index of the word in this list, as an `i32`.
    NumberedEnum(&'static str, &'static str, &'static [&'static str]),
    /// `[DEFAULT, HIGH]`, for an array of such enums.
    Enums(&'static str, &'static str),
    /// `<a = 1, b = 2>`, for a record of this name.
    Record(&'static str),
    /// `[b, 0, f]x[0, i, o]->[b, 0, f]`, for the record `stablehlo.conv`.
    ConvDimensions,
    /// `<@mesh, {"x", "y"}>`, for axes.
    MeshAxes,
    /// The notation in a dictionary.
    Any,
}

/// The notation of the types of operands and results, after ` : `.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Types {
    /// `(T, U) -> V`
    Functional,
    /// `T`, if all operands and the result have this type, and functional otherwise.
    Same,
    /// `T`, the type of all operands and of the result. There is at least one operand.
    AlwaysSame,
    /// `T`, the type of the result. There are no operands.
    Result,
    /// `T, U`, the types of the operands. There are no results. Without operands, nothing is written, and no colon.
    Operands,
    /// `T`, the type of all operands. There is at least one operand, and there are no results.
    OperandsSame,
    /// Nothing, and no colon. There are no results.
    None,
    /// `T, U`, the types of the operands, which are also those of the results. `()` without a colon if there are no
    /// operands.
    Pairwise,
    /// `P, T`, the type of the predicate, and the type of the two other operands and the result. Functional if the two
    /// other operands and the result do not have the same type.
    Select,
    /// `tuple<T, U>`, the type of the result, which consists of the operands.
    Tuple,
    /// The complex type of the result, whose parts are the operands, and functional otherwise.
    Complex,
    /// `T, U -> V`, or `T, U -> (V, W)` if there is not exactly one result. There is at least one operand.
    Arrow,
}

/// A notation for several attributes together.
pub trait Part: Sync {
    /// Returns the names of the attributes that this notation reads and prints.
    fn attrs(&self) -> &'static [&'static str];
    fn parse(&self, p: &mut Parser<'_>, attrs: &mut Attrs) -> Parsed<()>;
    /// Prints the attributes. Returns `None` if they cannot be written in this notation. The op is then printed in
    /// generic form.
    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()>;
}

/// A form that does not consist of pieces.
pub trait CustomForm: Sync {
    fn parse(&self, p: &mut Parser<'_>) -> Parsed<OpParts>;
    /// Prints everything after the name. Returns `None` if the op cannot be written in this form. It is then printed in
    /// generic form.
    fn print(&self, p: &mut Printer<'_>, op: &OpView<'_>) -> Option<()>;
}

/// An op that has been read, without its name, the names of its results, and a location after it.
#[derive(Default)]
pub struct OpParts {
    pub operands: SmallVec<[Value; 3]>,
    pub attrs: Attrs,
    pub regions: Vec<Region>,
    pub types: Vec<Type>,
    /// The sharding of each result, or `None` if the form does not contain shardings.
    pub shardings: Option<Vec<Option<Sharding>>>,
    /// The location, if the form contains one before its end.
    pub loc: Option<Loc>,
}

/// An operand that has been read, and its position.
pub type OperandAt = (Value, At);

// ── reading

impl<'t> Parser<'t> {
    pub(super) fn pieces(&mut self, pieces: &[Piece], types: Types) -> Parsed<OpParts> {
        let mut parts = OpParts::default();
        let mut operands = vec![];
        let at = self.at();
        let mut dict_done = false;
        for piece in pieces {
            dict_done |= matches!(piece, Piece::Dict);
            self.piece(piece, &mut parts, &mut operands)?;
        }
        if !dict_done {
            self.merge_dict(&mut parts.attrs)?;
        }
        parts.types = self.types(types, at, &operands)?;
        parts.operands = operands.into_iter().map(|(v, _)| v).collect();
        Ok(parts)
    }

    fn piece(&mut self, piece: &Piece, parts: &mut OpParts, operands: &mut Vec<OperandAt>) -> Parsed<()> {
        match *piece {
            Piece::Text(text) => self.expect_all(text),
            Piece::Operand => {
                operands.push(self.operand()?);
                Ok(())
            }
            Piece::Operands => {
                operands.extend(self.operands()?);
                Ok(())
            }
            Piece::OperandsAndComma => {
                while self.is_operand() {
                    operands.push(self.operand()?);
                    self.expect(",")?;
                }
                Ok(())
            }
            Piece::Attr(name, value) => {
                let attr = self.value(value)?;
                parts.attrs.set(name, attr);
                Ok(())
            }
            Piece::Optional(inner) => {
                let Some(Piece::Text(start)) = inner.first() else {
                    return Ok(());
                };
                if !self.is_all(start) {
                    return Ok(());
                }
                inner.iter().try_for_each(|p| self.piece(p, parts, operands))
            }
            Piece::Sharding => {
                parts.shardings = Some(vec![Some(self.sharding()?)]);
                Ok(())
            }
            Piece::Dict => self.merge_dict(&mut parts.attrs),
            Piece::Part(part) => part.parse(self, &mut parts.attrs),
        }
    }

    /// Reads the attribute dictionary, if there is one, into `attrs`. An attribute that `attrs` has already is a
    /// mistake.
    pub fn merge_dict(&mut self, attrs: &mut Attrs) -> Parsed<()> {
        self.merge_dict_with(attrs, |_, _| Ok(None))
    }

    /// Does the same as [`Parser::merge_dict`]. `special` may read a value by the name of its attribute, as in
    /// [`Parser::dict_with`].
    pub(super) fn merge_dict_with(
        &mut self,
        attrs: &mut Attrs,
        special: impl FnMut(&mut Self, &str) -> Parsed<Option<Attr>>,
    ) -> Parsed<()> {
        if !self.is("{") {
            return Ok(());
        }
        let at = self.at();
        let more = self.dict_with(special)?;
        attrs
            .add_all(more)
            .map_err(|name| self.fail(at, "text-attribute", format!("attribute `{}` occurs twice", shorten(&name))))
    }

    fn value(&mut self, kind: Written) -> Parsed<Attr> {
        match kind {
            Written::Ints => self.int_list().map(Attr::ints),
            Written::Int(dtype) => self.int_of(dtype).map(|value| Attr::Int { value, dtype: Some(dtype) }),
            Written::Float(dtype) => self.bare_float(dtype),
            Written::Bool if self.eat("true") => Ok(Attr::Bool(true)),
            Written::Bool if self.eat("false") => Ok(Attr::Bool(false)),
            Written::Bool => Err(self.unexpected("`true` or `false`")),
            Written::Str => self.string("a string").map(Attr::Str),
            Written::Symbol => self.symbol().map(Attr::Symbol),
            Written::StrAsSymbol => self.symbol().map(Attr::Str),
            Written::Enum(dialect, kind) | Written::NumberedEnum(dialect, kind, _) => self.bare_enum(dialect, kind),
            Written::Enums(dialect, kind) => self.list("[", "]", |p| p.bare_enum(dialect, kind)).map(Attr::Array),
            Written::Record(name) => self.record(name, records::fields(name).unwrap_or(&[])),
            Written::ConvDimensions => self.conv_dimensions(),
            Written::MeshAxes => self.short_mesh_axes(),
            Written::Any => self.attr(),
        }
    }

    fn bare_enum(&mut self, dialect: &str, kind: &str) -> Parsed<Attr> {
        let value = self.word("a word in capitals")?.into();
        Ok(Attr::Enum { dialect: dialect.into(), kind: kind.into(), value })
    }

    /// Reads the types in the notation `types`. It is a mistake if they are not those of `operands`. Returns the types
    /// of the results.
    fn types(&mut self, types: Types, at: At, operands: &[OperandAt]) -> Parsed<Vec<Type>> {
        if operands.is_empty() && matches!(types, Types::Operands | Types::Pairwise) {
            if types == Types::Pairwise {
                self.expect_all("()")?;
            }
            return Ok(vec![]);
        }
        if types == Types::None {
            return Ok(vec![]);
        }
        self.expect(":")?;
        if types == Types::Functional || (self.is("(") && types.may_be_functional()) {
            return self.functional_types(at, operands);
        }
        let (of_operands, of_results) = match types {
            Types::Functional | Types::None => unreachable!("handled above"),
            Types::OperandsSame => (vec![self.ty()?; operands.len()], vec![]),
            Types::Same | Types::AlwaysSame => {
                let ty = self.ty()?;
                (vec![ty.clone(); operands.len()], vec![ty])
            }
            Types::Result => (vec![], vec![self.ty()?]),
            Types::Operands => (self.type_list()?, vec![]),
            Types::Pairwise => {
                let list = self.type_list()?;
                (list.clone(), list)
            }
            Types::Select => {
                let predicate = self.ty()?;
                self.expect(",")?;
                let ty = self.ty()?;
                (vec![predicate, ty.clone(), ty.clone()], vec![ty])
            }
            Types::Tuple => {
                let at = self.at();
                let tuple = self.ty()?;
                let Type::Tuple(parts) = &tuple else {
                    return Err(self.fail(at, "text-type", format!("expected a tuple type, found {tuple}")));
                };
                (parts.clone(), vec![tuple])
            }
            Types::Complex => self.complex_types()?,
            Types::Arrow => {
                let list = self.type_list()?;
                self.expect("->")?;
                let results = if self.is("(") { self.list("(", ")", Self::ty)? } else { self.type_list()? };
                (list, results)
            }
        };
        self.check_operands(at, operands, &of_operands)?;
        Ok(of_results)
    }

    fn complex_types(&mut self) -> Parsed<(Vec<Type>, Vec<Type>)> {
        let at = self.at();
        let ty = self.ty()?;
        match ty.as_tensor() {
            Some(t) if t.dtype.is_complex() => {
                let part = Type::tensor(t.dtype.real(), t.shape.clone());
                Ok((vec![part.clone(), part], vec![ty]))
            }
            _ => Err(self.fail(at, "text-type", format!("expected a complex tensor, found {ty}"))),
        }
    }

    /// Reads `(T, U) -> V` after the colon. It is a mistake if the types before the arrow are not those of `operands`.
    /// Returns the types of the results.
    pub fn functional_types(&mut self, at: At, operands: &[OperandAt]) -> Parsed<Vec<Type>> {
        let ty = self.function_type()?;
        self.check_operands(at, operands, &ty.operands)?;
        Ok(ty.results)
    }
}

impl Types {
    fn may_be_functional(self) -> bool {
        matches!(self, Types::Same | Types::Select | Types::Complex)
    }
}

// ── printing

impl Piece {
    /// Returns the names of the attributes that the piece prints. Those of the pieces inside an optional piece are not
    /// included.
    fn attrs(&self) -> &[&'static str] {
        match self {
            Piece::Attr(name, _) => std::slice::from_ref(name),
            Piece::Part(part) => part.attrs(),
            _ => &[],
        }
    }
}

fn prints(pieces: &[Piece], name: &str) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Optional(inner) => prints(inner, name),
        other => other.attrs().contains(&name),
    })
}

impl Printer<'_> {
    pub(super) fn print_pieces(&mut self, op: &OpView<'_>, pieces: &[Piece], types: Types) -> Option<()> {
        if !types.fits(op) || !op.regions().is_empty() {
            return None;
        }
        let mut operands = op.operands().iter().copied();
        if !matches!(pieces.first(), Some(Piece::Text(_))) {
            self.write(" ");
        }
        let mut dict_done = false;
        for piece in pieces {
            if matches!(piece, Piece::Dict) {
                self.trim_space();
                dict_done = true;
                self.dict(|name| !prints(pieces, name));
                if !op.operands().is_empty() {
                    self.write(" ");
                }
                continue;
            }
            self.print_piece(op, piece, &mut operands)?;
        }
        if operands.next().is_some() {
            return None;
        }
        self.trim_space();
        if !dict_done {
            self.dict(|name| !prints(pieces, name));
        }
        self.print_types(op, types);
        Some(())
    }

    fn print_piece(
        &mut self,
        op: &OpView<'_>,
        piece: &Piece,
        operands: &mut impl Iterator<Item = Value>,
    ) -> Option<()> {
        match *piece {
            Piece::Text(text) => self.write(text),
            Piece::Operand => {
                let v = operands.next()?;
                self.operand(v);
            }
            Piece::Operands => self.operands(operands),
            Piece::OperandsAndComma => {
                for v in operands {
                    self.operand(v);
                    self.write(", ");
                }
            }
            Piece::Attr(name, kind) => self.print_value(op.attr(name)?, kind)?,
            Piece::Optional(inner) => {
                let is_there = inner.iter().flat_map(Piece::attrs).any(|name| op.attr(name).is_some());
                if is_there {
                    for piece in inner {
                        self.print_piece(op, piece, operands)?;
                    }
                }
            }
            Piece::Sharding => self.sharding(op.result_sharding(0)?),
            Piece::Dict => {}
            Piece::Part(part) => part.print(self, op)?,
        }
        Some(())
    }

    fn print_value(&mut self, attr: &Attr, kind: Written) -> Option<()> {
        match (kind, attr) {
            (Written::Ints, Attr::Ints { values, dtype: DType::I64 }) => self.ints(values),
            (Written::Int(d), Attr::Int { value, dtype }) if *dtype == Some(d) => {
                self.write(&number_of(*value, *dtype).to_string())
            }
            (Written::Float(d), Attr::Float { value, dtype }) if d == *dtype => self.float(*value, d),
            (Written::Bool, Attr::Bool(b)) => self.write(if *b { "true" } else { "false" }),
            (Written::Str, Attr::Str(_)) | (Written::Any, _) => self.attr(attr),
            (Written::Symbol, Attr::Symbol(name)) | (Written::StrAsSymbol, Attr::Str(name)) => self.symbol(name),
            (Written::Enum(d, k) | Written::NumberedEnum(d, k, _), _) => self.write(enum_value(attr, d, k)?),
            (Written::Enums(d, k), Attr::Array(items)) => {
                let values: Option<Vec<&str>> = items.iter().map(|item| enum_value(item, d, k)).collect();
                self.write(&format!("[{}]", values?.join(", ")));
            }
            (Written::Record(n), Attr::Record { name, fields }) if n == &**name => self.record_body(name, fields),
            (Written::MeshAxes, Attr::Axes { mesh, axes }) => self.short_mesh_axes(mesh, axes),
            (Written::ConvDimensions, Attr::Record { fields, .. }) => self.conv_dimensions(fields)?,
            _ => return None,
        }
        Some(())
    }

    fn print_types(&mut self, op: &OpView<'_>, types: Types) {
        let body = op.body;
        let of_operands = || op.operands().iter().map(|&v| body.ty(v));
        let of_results = || op.results().iter().map(|&v| body.ty(v));
        match types {
            Types::Operands if op.operands().is_empty() => return,
            Types::Pairwise if op.operands().is_empty() => return self.write(" ()"),
            Types::None => return,
            _ => self.write(" : "),
        }
        match types {
            Types::Functional => self.functional_type(op),
            Types::Same if of_operands().any(|t| t != op.result_type(0)) => self.functional_type(op),
            Types::Same | Types::AlwaysSame => {
                let ty = of_results().next().or_else(|| of_operands().next());
                self.types(ty);
            }
            Types::OperandsSame => self.types(of_operands().next()),
            Types::None => {}
            Types::Result | Types::Tuple => self.types(of_results()),
            Types::Operands | Types::Pairwise => self.types(of_operands()),
            Types::Select if op.operand_type(1) != op.result_type(0) || op.operand_type(2) != op.result_type(0) => {
                self.functional_type(op);
            }
            Types::Select => self.types([op.operand_type(0), op.result_type(0)]),
            Types::Complex if !is_complex_of_parts(op) => self.functional_type(op),
            Types::Complex => self.types(of_results()),
            Types::Arrow => {
                self.types(of_operands());
                self.write(" -> ");
                self.result_types(op);
            }
        }
    }
}

/// Converts the attributes of a form that are words in the form itself and numbers in the generic form. Converts words
/// to numbers if `to_numbers` is true, and numbers to words otherwise. Words and numbers that the form does not list
/// are not changed, nor are attributes of the pieces inside an optional piece.
pub(super) fn convert_numbered(form: Form, attrs: &mut Attrs, to_numbers: bool) {
    let Form::Pieces(pieces, _) = form else {
        return;
    };
    for piece in pieces {
        if let Piece::Attr(name, Written::NumberedEnum(dialect, kind, words)) = piece {
            let converted = match attrs.get(name) {
                Some(Attr::Int { value, .. }) if !to_numbers => {
                    let word = usize::try_from(*value).ok().and_then(|i| words.get(i));
                    word.map(|&w| Attr::Enum { dialect: (*dialect).into(), kind: (*kind).into(), value: w.into() })
                }
                Some(Attr::Enum { value, .. }) if to_numbers => {
                    let number = words.iter().position(|w| *w == &**value);
                    number.map(|i| Attr::Int { value: i as i64, dtype: Some(DType::I32) })
                }
                _ => None,
            };
            if let Some(attr) = converted {
                attrs.set(*name, attr);
            }
        }
    }
}

fn enum_value<'a>(attr: &'a Attr, dialect: &str, kind: &str) -> Option<&'a str> {
    match attr {
        Attr::Enum { dialect: d, kind: k, value } if &**d == dialect && &**k == kind => Some(value),
        _ => None,
    }
}

fn is_complex_of_parts(op: &OpView<'_>) -> bool {
    op.result_type(0).as_tensor().is_some_and(|t| {
        let part = Type::tensor(t.dtype.real(), t.shape.clone());
        t.dtype.is_complex() && op.operands().iter().all(|&v| *op.body.ty(v) == part)
    })
}

impl Types {
    fn fits(self, op: &OpView<'_>) -> bool {
        let (operands, results) = (op.operands().len(), op.results().len());
        let same = |ty: &Type| op.operands().iter().all(|&v| op.body.ty(v) == ty);
        match self {
            Types::Functional | Types::Arrow => operands > 0 || self == Types::Functional,
            Types::Same => results == 1,
            Types::AlwaysSame => results == 1 && operands > 0 && same(op.result_type(0)),
            Types::Result => results == 1 && operands == 0,
            Types::Operands | Types::None => results == 0,
            Types::OperandsSame => results == 0 && operands > 0 && same(op.operand_type(0)),
            Types::Pairwise => {
                let types = |list: &[Value]| list.iter().map(|&v| op.body.ty(v)).collect::<Vec<_>>();
                types(op.operands()) == types(op.results())
            }
            Types::Select => results == 1 && operands == 3,
            Types::Tuple => {
                results == 1
                    && matches!(op.result_type(0), Type::Tuple(parts)
                        if parts.iter().eq(op.operands().iter().map(|&v| op.body.ty(v))))
            }
            Types::Complex => results == 1 && operands == 2,
        }
    }
}
