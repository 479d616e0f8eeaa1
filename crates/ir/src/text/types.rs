//! Reads types: `tensor<8x2048xbf16>`, `tuple<..>`, `!stablehlo.token`, `(T, U) -> V`. They are printed by `Display`.

use super::lexer::TokenKind;
use super::mistakes;
use super::number::{Scalar, float_attr, integer};
use super::parser::{At, Parsed, Parser, shorten};
use crate::verify::too_many_dimensions;
use crate::{MAX_RANK, TensorType, Type};
use shardwise_base::{DType, Quantized, storage_range};
use std::borrow::Cow;

/// The type of a function: `(operands) -> results`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionType {
    pub operands: Vec<Type>,
    pub results: Vec<Type>,
}

impl<'t> Parser<'t> {
    pub fn ty(&mut self) -> Parsed<Type> {
        self.nested(Self::ty_inner)
    }

    fn ty_inner(&mut self) -> Parsed<Type> {
        let at = self.at();
        let name = self.tok_text();
        match self.tok.kind {
            TokenKind::Word if name == "tensor" => {
                self.bump();
                self.tensor(at).map(Type::Tensor)
            }
            TokenKind::Word if name == "tuple" => {
                self.bump();
                self.list("<", ">", Self::ty).map(Type::Tuple)
            }
            TokenKind::Bang => {
                self.bump();
                self.bang_type(name, at)
            }
            TokenKind::Word => {
                self.report(at, |loc| mistakes::unknown_type(loc, name));
                Err(super::Failed)
            }
            _ => Err(self.unexpected("a type")),
        }
    }

    fn bang_type(&mut self, name: &'t str, at: At) -> Parsed<Type> {
        match name {
            "!stablehlo.token" => Ok(Type::Token),
            "!stablehlo.future" => self.list("<", ">", Self::ty).map(Type::Future),
            _ if self.aliases.is_defined(name) => self.type_alias(name, at),
            _ => {
                self.report(at, |loc| mistakes::unknown_type(loc, &shorten(name)));
                Err(super::Failed)
            }
        }
    }

    /// Reads a tensor type after `tensor`. Dimensions are read by character, because `0x4xf32` is not a hexadecimal
    /// number here.
    fn tensor(&mut self, at: At) -> Parsed<TensorType> {
        self.expect("<")?;
        let mut shape = vec![];
        let bytes = self.text.as_bytes();
        loop {
            let start = self.tok.start;
            let mut end = start;
            while bytes.get(end).is_some_and(u8::is_ascii_digit) {
                end += 1;
            }
            if matches!(bytes.get(start), Some(b'?' | b'*')) {
                let subject = self.subject();
                self.report(At(start), |loc| mistakes::dynamic_size(loc, &subject));
                return Err(super::Failed);
            }
            if end == start {
                break;
            }
            shape.push(self.size_at(start, end)?);
            if bytes.get(end) != Some(&b'x') {
                self.jump(end);
                return Err(self.unexpected("`x` directly after the size, and then the next size or the element type"));
            }
            self.jump(end + 1);
        }
        let dtype = self.dtype()?;
        self.end_of_tensor(at, TensorType::new(dtype, shape))
    }

    fn size_at(&mut self, start: usize, end: usize) -> Parsed<usize> {
        match self.text[start..end].parse::<usize>() {
            Ok(n) if i64::try_from(n).is_ok() => Ok(n),
            _ => {
                self.report(At(start), |loc| mistakes::too_large(loc, "the size"));
                Err(super::Failed)
            }
        }
    }

    fn end_of_tensor(&mut self, at: At, ty: TensorType) -> Parsed<TensorType> {
        if self.is(",") {
            let at = self.at();
            self.report(at, |loc| mistakes::unsupported(loc, "tensor encodings", "use plain tensor types"));
            return Err(super::Failed);
        }
        self.expect(">")?;
        if ty.rank() > MAX_RANK {
            self.report(at, |loc| too_many_dimensions(loc, ty.rank()));
            return Err(super::Failed);
        }
        if let Some(Err((label, rule))) = ty.dtype.quantized().map(|q| q.check_shape(&ty.shape)) {
            return Err(self.fail(at, label, format!("{ty}: {rule}")));
        }
        if ty.checked_bytes().is_none() {
            self.report(at, |loc| mistakes::too_large(loc, "the tensor"));
            return Err(super::Failed);
        }
        Ok(ty)
    }

    /// Reads `f32`, `complex<f64>`, or `!quant.uniform<i8:f32, 2.0>`.
    pub(super) fn dtype(&mut self) -> Parsed<DType> {
        let at = self.at();
        let name = self.tok_text();
        if !matches!(self.tok.kind, TokenKind::Word | TokenKind::Bang) {
            return Err(self.unexpected("an element type"));
        }
        if self.is_kind(TokenKind::Bang) && self.aliases.is_defined(name) {
            self.bump();
            return self.element_alias(name, at);
        }
        self.bump();
        if name == "!quant.uniform" {
            return self.quantized(at);
        }
        let full = match name {
            "complex" => {
                self.expect("<")?;
                let part = self.nested(Self::dtype)?;
                self.expect(">")?;
                Cow::Owned(format!("complex<{part}>"))
            }
            _ => Cow::Borrowed(name),
        };
        DType::parse(&full).ok_or_else(|| {
            self.report(at, |loc| mistakes::unknown_type(loc, &shorten(&full)));
            super::Failed
        })
    }

    /// Reads the rest of a type after `!quant.uniform`: `<i8<-8:7>:f32:1, {0.1:-3, 0.5}>`.
    fn quantized(&mut self, at: At) -> Parsed<DType> {
        self.expect("<")?;
        let storage = self.storage()?;
        let mut range = storage_range(storage);
        if self.eat("<") {
            range.0 = self.storage_integer()?;
            self.expect(":")?;
            range.1 = self.storage_integer()?;
            self.expect(">")?;
        }
        self.expect(":")?;
        let expressed_at = self.at();
        let expressed = self.dtype()?;
        if !expressed.is_float() {
            let message = format!("quantized elements represent floats, not {expressed}");
            return Err(self.fail(expressed_at, "quantized_type_c4", message));
        }
        let axis = if self.eat(":") { Some(self.axis()?) } else { None };
        self.expect(",")?;
        let parameters = if axis.is_some() {
            self.list("{", "}", Self::scale_and_zero_point)?
        } else {
            vec![self.scale_and_zero_point()?]
        };
        self.expect(">")?;
        let (scales, zero_points) = parameters.into_iter().unzip();
        let ty = Quantized { storage, range, expressed, axis, scales, zero_points };
        ty.intern().map_err(|(label, rule)| self.fail(at, label, rule))
    }

    /// Reads the type of the integers of a quantized type, which has 2, 4, 8, 16 or 32 bits: `i8`, `u8`, or the
    /// specification's names `si8`, `ui8`. Fails for any other type.
    fn storage(&mut self) -> Parsed<DType> {
        let at = self.at();
        let name = self.word("the type of the integers, such as `i8` or `u8`")?;
        let plain = match name.as_bytes() {
            [b'u', b'0'..=b'9', ..] => format!("ui{}", &name[1..]),
            [b's', ..] => name[1..].to_string(),
            _ => name.to_string(),
        };
        DType::parse(&plain).filter(|d| d.is_integer() && d.bits() <= 32).ok_or_else(|| {
            let message = format!("quantized elements are integers of 2, 4, 8, 16 or 32 bits, not {name}");
            self.fail(at, "quantized_type_c1", message)
        })
    }

    fn storage_integer(&mut self) -> Parsed<i64> {
        let at = self.at();
        let number = match self.scalar()? {
            Scalar::Int { is_negative, text } => integer(is_negative, text).and_then(|n| i64::try_from(n).ok()),
            _ => None,
        };
        number.ok_or_else(|| self.fail(at, "text-literal", "expected an integer that fits 64 bits".to_string()))
    }

    fn axis(&mut self) -> Parsed<usize> {
        let at = self.at();
        if self.is("{") {
            let way_out = "quantize by one dimension, as in `!quant.uniform<i8:f32:0, {0.5, 0.25}>`";
            self.report(at, |loc| mistakes::unsupported(loc, "scales for blocks of several dimensions", way_out));
            return Err(super::Failed);
        }
        let axis = self.storage_integer()?;
        let message = || "the quantized dimension must not be negative".to_string();
        usize::try_from(axis).map_err(|_| self.fail(at, "quantized_type_c11", message()))
    }

    /// Reads `0.1:-30`. Without a zero point, it is 0.
    fn scale_and_zero_point(&mut self) -> Parsed<(f64, i64)> {
        let at = self.at();
        let scalar = self.scalar()?;
        let scale = match scalar {
            Scalar::Float { .. } => float_attr(scalar, DType::F64),
            _ => Err("a scale must be a number with a point".to_string()),
        };
        let scale = scale.map_err(|message| self.fail(at, "text-literal", message))?;
        Ok((scale, if self.eat(":") { self.storage_integer()? } else { 0 }))
    }

    /// Reads `(T, U) -> V` or `(T) -> (U, V)`, or the name of an alias of such a type.
    pub fn function_type(&mut self) -> Parsed<FunctionType> {
        let (name, at) = (self.tok_text(), self.at());
        if self.is_kind(TokenKind::Bang) && self.aliases.is_defined(name) {
            self.bump();
            return self.function_type_alias(name, at);
        }
        let operands = self.list("(", ")", Self::ty)?;
        self.expect("->")?;
        let results = if self.is("(") { self.list("(", ")", Self::ty)? } else { vec![self.ty()?] };
        Ok(FunctionType { operands, results })
    }

    /// Reads `T, U, V`: at least one type.
    pub fn type_list(&mut self) -> Parsed<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.eat(",") {
            types.push(self.ty()?);
        }
        Ok(types)
    }
}

/// Returns true for the names of MLIR's builtin types of integers and floats that no tensor here can have: `i128`,
/// `si32`, `tf32`. Returns false for `index`.
pub(super) fn is_other_builtin(name: &str) -> bool {
    let bits = |prefix: &str| name.strip_prefix(prefix).is_some_and(|n| n.parse::<u32>().is_ok());
    let is_builtin = ["i", "si", "ui"].into_iter().any(bits) || matches!(name, "tf32" | "f80" | "f128");
    is_builtin && DType::parse(name).is_none()
}

pub(super) fn write_function_type(out: &mut String, operands: &[Type], results: &[Type]) {
    out.push('(');
    write_types(out, operands);
    out.push_str(") -> ");
    write_results(out, results.iter());
}

pub(super) fn write_types<'a>(out: &mut String, types: impl IntoIterator<Item = &'a Type>) {
    for (i, ty) in types.into_iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        out.push_str(&ty.to_string());
    }
}

pub(super) fn write_results<'a>(out: &mut String, types: impl ExactSizeIterator<Item = &'a Type>) {
    let is_list = types.len() != 1;
    out.push_str(if is_list { "(" } else { "" });
    write_types(out, types);
    out.push_str(if is_list { ")" } else { "" });
}
