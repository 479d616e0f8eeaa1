//! Types, read: `tensor<8x2048xbf16>`, `tuple<..>`, `!stablehlo.token`, `(T, U) -> V`. They print by `Display`.

use super::lexer::Kind;
use super::mistakes;
use super::parser::{At, Parsed, Parser, shorten};
use crate::{TensorType, Type};
use shardwise_base::DType;

/// `(operands) -> results`.
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
            Kind::Word if name == "tensor" => {
                self.bump();
                self.tensor(at).map(Type::Tensor)
            }
            Kind::Word if name == "tuple" => {
                self.bump();
                self.list("<", ">", Self::ty).map(Type::Tuple)
            }
            Kind::Bang => {
                self.bump();
                self.bang_type(name, at)
            }
            Kind::Word => {
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

    /// After `tensor`. Dimensions are read by character: `0x4xf32` is no hexadecimal number here.
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
                let way_out = "export the program with fixed sizes";
                self.report(At(start), |loc| mistakes::unsupported(loc, "dynamic sizes", way_out));
                return Err(super::Failed);
            }
            if end == start {
                break;
            }
            shape.push(self.size_at(start, end)?);
            if bytes.get(end) != Some(&b'x') {
                self.jump(end);
                return Err(self.unexpected("`x` and the next size or the element type"));
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
        if ty.checked_bytes().is_none() {
            self.report(at, |loc| mistakes::too_large(loc, "the tensor"));
            return Err(super::Failed);
        }
        Ok(ty)
    }

    /// `f32`, `complex<f64>`.
    pub(super) fn dtype(&mut self) -> Parsed<DType> {
        let at = self.at();
        let name = self.tok_text();
        if !matches!(self.tok.kind, Kind::Word | Kind::Bang) {
            return Err(self.unexpected("an element type"));
        }
        self.bump();
        let found = if name == "complex" {
            self.expect("<")?;
            let part = self.word("`f32` or `f64`")?;
            self.expect(">")?;
            DType::parse(&format!("complex<{part}>"))
        } else {
            DType::parse(name)
        };
        found.ok_or_else(|| {
            self.report(at, |loc| mistakes::unknown_type(loc, &shorten(name)));
            super::Failed
        })
    }

    /// `(T, U) -> V` or `(T) -> (U, V)`.
    pub fn function_type(&mut self) -> Parsed<FunctionType> {
        let operands = self.list("(", ")", Self::ty)?;
        self.expect("->")?;
        let results = if self.is("(") { self.list("(", ")", Self::ty)? } else { vec![self.ty()?] };
        Ok(FunctionType { operands, results })
    }

    /// `T, U, V`: at least one.
    pub fn type_list(&mut self) -> Parsed<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.eat(",") {
            types.push(self.ty()?);
        }
        Ok(types)
    }
}

/// `T, U`.
pub(super) fn write_types<'a>(out: &mut String, types: impl IntoIterator<Item = &'a Type>) {
    for (i, ty) in types.into_iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        out.push_str(&ty.to_string());
    }
}

/// `T`, or `(T, U)` if there is not exactly one.
pub(super) fn write_results<'a>(out: &mut String, types: impl ExactSizeIterator<Item = &'a Type>) {
    let is_list = types.len() != 1;
    out.push_str(if is_list { "(" } else { "" });
    write_types(out, types);
    out.push_str(if is_list { ")" } else { "" });
}
