//! Reads and writes `dense<..>`: a splat, nested lists, or the bytes as a hexadecimal string.

use super::lexer::{TokenKind, poll_at};
use super::mistakes;
use super::number::{self, Scalar};
use super::parser::{At, Failed, Parsed, Parser};
use crate::TensorType;
use shardwise_base::{Account, DType, Data, Literal, LiteralError, Reservation, counted};

/// Arrays with more elements than this are printed as bytes, as MLIR does, unless all elements are equal or have fewer
/// than 8 bits.
const MAX_LISTED: usize = 100;

impl<'t> Parser<'t> {
    /// Reads `dense<..> : tensor<..>`. The elements are read after the type, which comes last.
    pub fn dense(&mut self) -> Parsed<Literal> {
        self.typed_dense().map(|(literal, _)| literal)
    }

    /// Reads `dense<..> : tensor<..>`, and returns the literal and the written type. Quantized elements are written as
    /// integers, which the literal holds.
    pub fn typed_dense(&mut self) -> Parsed<(Literal, TensorType)> {
        self.expect("dense")?;
        self.expect("<")?;
        let elements = self.at();
        self.skip_elements()?;
        let span = self.at().0 - elements.0;
        self.expect(":")?;
        let at = self.at();
        let Some(ty) = self.ty()?.as_tensor().cloned() else {
            return Err(self.fail(at, "text-literal", "the type of `dense` must be a tensor".to_string()));
        };
        let stored = ty.clone().with_dtype(ty.dtype.storage());
        let literal = self.elsewhere(elements, |p| p.elements(&stored, span))?;
        Ok((literal, ty))
    }

    pub(super) fn skip_elements(&mut self) -> Parsed<()> {
        while !self.eat(">") {
            match self.tok.kind {
                TokenKind::End | TokenKind::Error => {
                    return Err(self.unexpected("an element, or `>` after the elements"));
                }
                _ => self.bump(),
            }
        }
        Ok(())
    }

    /// Reads the elements of an array of type `ty` up to the `>` after them, which is not read. They take about `span`
    /// bytes of text.
    fn elements(&mut self, ty: &TensorType, span: usize) -> Parsed<Literal> {
        let at = self.at();
        let literal = if self.is_kind(TokenKind::Str) {
            self.hex_elements(ty)?
        } else if self.is("[") {
            let (mut bytes, _held) = room(ty, span);
            self.element_list(ty, 0, &mut bytes)?;
            self.literal_of_bytes(at, ty, &bytes)?
        } else if self.is(">") {
            self.literal_of_bytes(at, ty, &[])?
        } else {
            let mut bytes = vec![];
            self.element(ty.dtype, &mut bytes)?;
            Literal::splat(ty.dtype, ty.shape.clone(), &bytes)
        };
        if self.is(">") { Ok(literal) } else { Err(self.unexpected("`>` after the elements")) }
    }

    fn literal_of_bytes(&mut self, at: At, ty: &TensorType, bytes: &[u8]) -> Parsed<Literal> {
        Literal::from_bytes(ty.dtype, &ty.shape, bytes).map_err(|e| match e {
            LiteralError::Length { expected, found } => {
                let n = ty.dtype.storage_bytes();
                let given = counted(found / n, "element");
                self.fail(at, "text-literal", format!("{given} given for {ty}, which needs {}", expected / n))
            }
            LiteralError::TooLarge => {
                self.report(at, |loc| mistakes::too_large(loc, "the value"));
                Failed
            }
        })
    }

    /// Reads `[[1, 2], [3, 4]]` from dimension `dim` on, and appends the bytes of the elements to `out`.
    fn element_list(&mut self, ty: &TensorType, dim: usize, out: &mut Vec<u8>) -> Parsed<()> {
        let Some(&size) = ty.shape.get(dim) else {
            return self.element(ty.dtype, out);
        };
        if !self.is("[") {
            return Err(self.unexpected(&format!("`[`, which begins a list for dimension {dim} of {ty}")));
        }
        let at = self.at();
        let items = self.nested(|p| p.list("[", "]", |p| p.element_list(ty, dim + 1, out)))?;
        if items.len() == size {
            return Ok(());
        }
        Err(self.fail(
            at,
            "text-literal",
            format!("a list has {}, and dimension {dim} of {ty} has size {size}", counted(items.len(), "element")),
        ))
    }

    fn element(&mut self, dtype: DType, out: &mut Vec<u8>) -> Parsed<()> {
        if dtype.is_complex() {
            if !self.eat("(") {
                return Err(self.unexpected("a complex number such as (1.0, 2.0)"));
            }
            self.element(dtype.real(), out)?;
            self.expect(",")?;
            self.element(dtype.real(), out)?;
            return self.expect(")");
        }
        let at = self.at();
        let scalar = self.scalar()?;
        match number::encode(scalar, dtype) {
            Ok(bytes) => {
                out.extend_from_slice(&bytes);
                Ok(())
            }
            Err(message) => {
                self.report(at, |loc| mistakes::literal(loc, message));
                Err(Failed)
            }
        }
    }

    /// Reads `true`, `-3`, `0x7F`, or `1.5e+00`.
    pub(super) fn scalar(&mut self) -> Parsed<Scalar<'t>> {
        let at = self.at();
        let is_negative = self.eat("-");
        let text = self.tok_text();
        if let Some(exponent) = self.exponent_after_integer() {
            let sign = if is_negative { "-" } else { "" };
            self.report(at, |loc| mistakes::exponent_without_point(loc, &format!("{sign}{text}"), exponent));
            return Err(Failed);
        }
        let scalar = match self.tok.kind {
            TokenKind::Word if !is_negative && text == "true" => Scalar::Bool(true),
            TokenKind::Word if !is_negative && text == "false" => Scalar::Bool(false),
            TokenKind::Int => Scalar::Int { is_negative, text },
            TokenKind::Float => Scalar::Float { is_negative, text },
            TokenKind::Word if ["inf", "infinity", "nan"].iter().any(|w| text.eq_ignore_ascii_case(w)) => {
                let expected = "a number; infinities and NaNs are written as their bits, such as 0x7F800000 for f32";
                return Err(self.unexpected(expected));
            }
            _ => return Err(self.unexpected("a number")),
        };
        self.bump();
        Ok(scalar)
    }

    /// Returns the exponent that directly follows the current token, if that is an integer: `e-5` of `1e-5`.
    fn exponent_after_integer(&self) -> Option<&'t str> {
        if !self.is_kind(TokenKind::Int) {
            return None;
        }
        let rest = &self.text[self.tok.end..];
        let digits = rest.strip_prefix(['e', 'E'])?;
        let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        (after.len() < digits.len()).then(|| &rest[..rest.len() - after.len()])
    }

    /// Reads `"0x0000803F"`: the bytes of all elements, or of one element for a splat. Booleans may also have a bit
    /// each. A single byte for two to eight booleans is always read as their bits.
    fn hex_elements(&mut self, ty: &TensorType) -> Parsed<Literal> {
        let at = self.at();
        let quoted = self.tok_text();
        let _held = Account::current().reserve_or_stop(quoted.len() / 2);
        let Some(mut bytes) = decode_hex(&quoted[1..quoted.len() - 1]) else {
            return Err(self.unexpected("hexadecimal bytes such as \"0x0000803F\""));
        };
        self.bump();
        let count = ty.shape.iter().product::<usize>();
        if ty.dtype.is_bool() && bytes.len() != count && bytes.len() == count.div_ceil(8) {
            return self.literal_of_bytes(at, ty, &unpack_bools(&bytes, count));
        }
        if ty.dtype.bits() < 8 && !ty.dtype.is_bool() {
            bytes.iter_mut().for_each(|b| *b = number::narrow(*b, ty.dtype));
        }
        if ty.dtype.is_bool() && bytes.iter().any(|&b| b > 1) {
            bytes.iter_mut().for_each(|b| *b &= 1);
        }
        if bytes.len() == ty.dtype.storage_bytes() && count != 1 {
            return Ok(Literal::splat(ty.dtype, ty.shape.clone(), &bytes));
        }
        let expected = count.saturating_mul(ty.dtype.storage_bytes());
        if bytes.len() != expected {
            let message =
                format!("the hexadecimal string has {}, and {ty} needs {expected}", counted(bytes.len(), "byte"));
            return Err(self.fail(at, "text-literal", message));
        }
        self.literal_of_bytes(at, ty, &bytes)
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |b: u8| char::from(b).to_digit(16);
    let byte = |(i, pair): (usize, &[u8])| {
        poll_at(i);
        Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)
    };
    digits.chunks_exact(2).enumerate().map(byte).collect()
}

/// Unpacks eight booleans from each byte. The first one is in the lowest bit.
fn unpack_bools(bytes: &[u8], count: usize) -> Data<u8> {
    Data::from_fn(count, |i| bytes[i / 8] >> (i % 8) & 1)
}

/// Reserves memory for the elements of an array that are written in `span` bytes of text. Each element takes at least
/// two bytes of the text. Returns an empty vector with room for the elements, and its reservation. Stops the
/// computation if the memory is refused.
fn room(ty: &TensorType, span: usize) -> (Vec<u8>, Reservation) {
    let most = (span / 2 + 1).saturating_mul(ty.dtype.storage_bytes());
    let len = ty.checked_bytes().map_or(most, |bytes| bytes.min(most));
    let held = Account::current().reserve_or_stop(len);
    (Vec::with_capacity(len), held)
}

/// Writes `dense<..>`, without the type.
pub(super) fn write_dense(out: &mut String, literal: &Literal) {
    out.push_str("dense<");
    let dtype = literal.dtype();
    let size = literal.size();
    if size > 0 && literal.is_uniform() && (literal.is_splat() || size > 1) {
        number::write_element(out, dtype, literal.element_bytes(0));
    } else if size > MAX_LISTED && dtype.bits() >= 8 {
        write_hex(out, literal.raw_bytes());
    } else if size > 0 {
        write_list(out, literal, 0, 0, size);
    }
    out.push('>');
}

/// Writes the `count` elements from `first` on: all of dimension `dim` for fixed indices of the dimensions before it.
fn write_list(out: &mut String, literal: &Literal, dim: usize, first: usize, count: usize) {
    let Some(&size) = literal.shape().get(dim) else {
        return number::write_element(out, literal.dtype(), literal.element_bytes(first));
    };
    out.push('[');
    for i in 0..size {
        out.push_str(if i > 0 { ", " } else { "" });
        write_list(out, literal, dim + 1, first + i * (count / size), count / size);
    }
    out.push(']');
}

fn write_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(2 * bytes.len() + 4);
    out.push_str("\"0x");
    for (i, b) in bytes.iter().enumerate() {
        poll_at(i);
        out.push(char::from(DIGITS[usize::from(b >> 4)]));
        out.push(char::from(DIGITS[usize::from(b & 15)]));
    }
    out.push('"');
}
