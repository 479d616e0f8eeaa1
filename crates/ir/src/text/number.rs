//! Reads and writes numbers in MLIR's notation.
//!
//! A decimal float is read as `f64` and then rounded to its type, as in MLIR. A float is printed with six digits after
//! the point and an exponent, `1.000000e-01`, if that reads back as the same number. Otherwise, the shortest decimal
//! that does is printed. NaNs, infinities and numbers without such a decimal are printed as bits: `0x7FC00000`.

use shardwise_base::{DType, bf16, bf16_nearest, f16, f16_nearest};
use std::fmt::Write;

#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar<'t> {
    Bool(bool),
    Int { is_negative: bool, text: &'t str },
    Float { is_negative: bool, text: &'t str },
}

/// Returns the value of an integer's text, decimal or hexadecimal with `0x`, negated if `is_negative` is true. Returns
/// `None` if the text is not such a number, or is 2^127 or more.
pub(super) fn integer(is_negative: bool, text: &str) -> Option<i128> {
    let magnitude = match text.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    Some(if is_negative { -magnitude } else { magnitude })
}

/// Returns the bytes of a number as an element of type `dtype`, which is not complex, or the reason why it is not a
/// number of this type. A number with a point is rounded to the float type. An integer of a float type must be
/// hexadecimal, and is the bits of the float.
pub(super) fn encode(scalar: Scalar<'_>, dtype: DType) -> Result<Vec<u8>, String> {
    match scalar {
        Scalar::Bool(b) if dtype.is_bool() => Ok(vec![u8::from(b)]),
        Scalar::Bool(_) => Err(format!("a boolean is not {dtype}")),
        Scalar::Int { is_negative, text } if dtype.is_float() => encode_bits(is_negative, text, dtype),
        Scalar::Int { is_negative, text } => {
            let value = integer(is_negative, text).filter(|&v| fits(v, dtype));
            value.map(|v| encode_integer(v, dtype)).ok_or_else(|| format!("the number does not fit {dtype}"))
        }
        Scalar::Float { .. } if !dtype.is_float() => Err(format!("a number with a point is not {dtype}")),
        Scalar::Float { is_negative, text } => {
            let x: f64 = text.parse().map_err(|_| "this is not a number".to_string())?;
            Ok(encode_float(if is_negative { -x } else { x }, dtype))
        }
    }
}

/// Returns true if an integer fits the bits of the type. A type that is not unsigned accepts the integers of the signed
/// and of the unsigned type with as many bits.
fn fits(value: i128, dtype: DType) -> bool {
    let bits = dtype.bits() as u32;
    let high = 1i128 << bits;
    let low = if matches!(dtype.kind(), shardwise_base::DTypeKind::Unsigned) { 0 } else { -(1i128 << (bits - 1)) };
    value >= low && value < high
}

fn encode_integer(value: i128, dtype: DType) -> Vec<u8> {
    if dtype.is_bool() {
        return vec![u8::from(value != 0)];
    }
    let bytes = value.to_le_bytes()[..dtype.storage_bytes()].to_vec();
    if dtype.bits() < 8 { vec![narrow(bytes[0], dtype)] } else { bytes }
}

/// Returns the low bits of `byte` as an integer of type `dtype`, which has fewer than 8 bits, in one byte. It is
/// sign-extended if the type is signed. The other bits of `byte` are ignored.
pub(super) fn narrow(byte: u8, dtype: DType) -> u8 {
    let unused = 8 - dtype.bits() as u32;
    let top = byte << unused;
    if dtype.is_signed() { ((top as i8) >> unused) as u8 } else { top >> unused }
}

/// Returns the bytes of a float whose bits are written as an integer: `0x7FC00000`. Returns the reason for a message if
/// the integer is not hexadecimal, has a sign, or has more bits than the type.
fn encode_bits(is_negative: bool, text: &str, dtype: DType) -> Result<Vec<u8>, String> {
    if is_negative && text.starts_with("0x") {
        return Err(format!("the bits of a number of type {dtype} have no sign"));
    }
    if !text.starts_with("0x") {
        return Err(format!("an integer is not {dtype}: write {}{text}.0", if is_negative { "-" } else { "" }));
    }
    let bits = integer(false, text).filter(|&v| v < 1i128 << dtype.bits());
    bits.map(|v| v.to_le_bytes()[..dtype.storage_bytes()].to_vec())
        .ok_or_else(|| format!("the number has more bits than {dtype}"))
}

pub(super) fn encode_float(x: f64, dtype: DType) -> Vec<u8> {
    match dtype {
        DType::F64 => x.to_le_bytes().to_vec(),
        DType::F32 => (x as f32).to_le_bytes().to_vec(),
        DType::F16 => f16_nearest(x).to_le_bytes().to_vec(),
        DType::BF16 => bf16_nearest(x).to_le_bytes().to_vec(),
        small => vec![small.small_float_code(x).expect("a float type")],
    }
}

fn decode_float(bytes: &[u8], dtype: DType) -> f64 {
    let two = || [bytes[0], bytes[1]];
    match dtype {
        DType::F64 => f64::from_le_bytes(bytes.try_into().expect("eight bytes")),
        DType::F32 => f64::from(f32::from_le_bytes(bytes.try_into().expect("four bytes"))),
        DType::F16 => f16::from_le_bytes(two()).to_f64(),
        DType::BF16 => bf16::from_le_bytes(two()).to_f64(),
        small => small.small_float(bytes[0]).expect("a float type"),
    }
}

/// Returns the value of a float attribute, such as `1.0 : f32` or the bits `0x7F800000 : f32`, or the reason why it is
/// not of type `dtype`. The low bits of a NaN are the bits of the attribute, from which [`write_float`] restores them.
pub(super) fn float_attr(scalar: Scalar<'_>, dtype: DType) -> Result<f64, String> {
    let bytes = encode(scalar, dtype)?;
    let x = decode_float(&bytes, dtype);
    if !x.is_nan() || dtype == DType::F64 {
        return Ok(x);
    }
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(&bytes);
    Ok(f64::from_bits(f64::NAN.to_bits() | u64::from_le_bytes(bits)))
}

pub(super) fn write_element(out: &mut String, dtype: DType, bytes: &[u8]) {
    if dtype.is_complex() {
        let (re, im) = bytes.split_at(bytes.len() / 2);
        out.push('(');
        write_element(out, dtype.real(), re);
        out.push_str(", ");
        write_element(out, dtype.real(), im);
        out.push(')');
    } else if dtype.is_float() {
        write_float_bytes(out, dtype, bytes);
    } else if dtype.is_bool() {
        out.push_str(if bytes[0] != 0 { "true" } else { "false" });
    } else {
        write!(out, "{}", decode_integer(bytes, dtype)).expect("writing to a string");
    }
}

fn decode_integer(bytes: &[u8], dtype: DType) -> i128 {
    let fill = if dtype.is_signed() && bytes[bytes.len() - 1] >= 0x80 { 0xff } else { 0 };
    let mut wide = [fill; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide)
}

/// Writes the value of a float attribute, without its type. A NaN whose low bits are those of a NaN of this type is
/// written as these bits.
pub(super) fn write_float(out: &mut String, x: f64, dtype: DType) {
    let low = &x.to_le_bytes()[..dtype.storage_bytes()];
    if x.is_nan() && decode_float(low, dtype).is_nan() {
        return write_float_bytes(out, dtype, low);
    }
    write_float_bytes(out, dtype, &encode_float(x, dtype));
}

fn write_float_bytes(out: &mut String, dtype: DType, bytes: &[u8]) {
    let x = decode_float(bytes, dtype);
    let comes_back = |text: &String| text.parse::<f64>().is_ok_and(|y| encode_float(y, dtype) == bytes);
    if x.is_finite() {
        let short = [scientific(&format!("{x:.6e}")), shortest(x, dtype)].into_iter().find(comes_back);
        if let Some(text) = short {
            return out.push_str(&text);
        }
    }
    out.push_str("0x");
    for byte in bytes.iter().rev() {
        write!(out, "{byte:02X}").expect("writing to a string");
    }
}

/// Returns the shortest decimal that reads back as `x`, which is taken as an `f64` if that is the type, and as an `f32`
/// otherwise. Very small and very large numbers have an exponent.
fn shortest(x: f64, dtype: DType) -> String {
    let text = if dtype == DType::F64 { format!("{x:e}") } else { format!("{:e}", x as f32) };
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        return scientific(&text);
    }
    let plain = if dtype == DType::F64 { format!("{x}") } else { format!("{}", x as f32) };
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// Converts Rust's `1e-5` to MLIR's `1.0e-05`.
fn scientific(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').expect("scientific form");
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}{point}e{sign}{digits:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(dtype: DType, bytes: &[u8]) -> String {
        let mut out = String::new();
        write_element(&mut out, dtype, bytes);
        out
    }

    #[test]
    fn floats_print_in_mlirs_form() {
        let f32s = |x: f32| printed(DType::F32, &x.to_le_bytes());
        assert_eq!(f32s(1.0), "1.000000e+00");
        assert_eq!(f32s(-0.0), "-0.000000e+00");
        assert_eq!(f32s(0.1), "1.000000e-01");
        assert_eq!(f32s(std::f32::consts::PI), "3.1415927");
        assert_eq!(f32s(f32::MIN_POSITIVE), "1.1754944e-38");
        assert_eq!(f32s(f32::INFINITY), "0x7F800000");
        assert_eq!(f32s(f32::NAN), "0x7FC00000");
        assert_eq!(printed(DType::F64, &1e300f64.to_le_bytes()), "1.000000e+300");
        assert_eq!(printed(DType::BF16, &bf16::from_f32(3.2).to_le_bytes()), "3.203125e+00");
        assert_eq!(printed(DType::F8E4M3FN, &[0x7e]), "4.480000e+02");
        assert_eq!(printed(DType::F8E8M0FNU, &[0]), "5.877472e-39");
        assert_eq!(printed(DType::I4, &[0xf8]), "-8");
        assert_eq!(printed(DType::U64, &u64::MAX.to_le_bytes()), "18446744073709551615");
    }

    #[test]
    fn nans_of_attributes_keep_their_bits() {
        let back = |text: &str, dtype: DType| {
            let x = float_attr(Scalar::Int { is_negative: false, text }, dtype).unwrap();
            let mut out = String::new();
            write_float(&mut out, x, dtype);
            assert_eq!(out, text, "{dtype}");
        };
        for text in ["0x7F800001", "0xFFC12345", "0x7FC00000", "0x7F800000"] {
            back(text, DType::F32);
        }
        back("0x7FF0000000000001", DType::F64);
        back("0x7C01", DType::F16);
        back("0xFF81", DType::BF16);
        back("0xFD", DType::F8E5M2);
        back("0xFF", DType::F8E4M3FN);
        back("0xFF", DType::F8E8M0FNU);
        let mut out = String::new();
        write_float(&mut out, f64::NAN, DType::F32);
        assert_eq!(out, "0x7FC00000");
    }

    #[test]
    fn every_small_float_and_many_floats_come_back() {
        let back = |dtype: DType, bytes: &[u8]| {
            let text = printed(dtype, bytes);
            let (is_negative, text) = text.strip_prefix('-').map_or((false, &*text), |t| (true, t));
            let scalar = if text.starts_with("0x") {
                Scalar::Int { is_negative, text }
            } else {
                Scalar::Float { is_negative, text }
            };
            assert_eq!(encode(scalar, dtype).as_deref(), Ok(bytes), "{dtype} {text}");
        };
        for dtype in DType::ALL.iter().copied().filter(|d| d.is_float() && d.bits() <= 8) {
            for code in 0..=((1u32 << dtype.bits()) - 1) as u8 {
                back(dtype, &[code]);
            }
        }
        let mut bits = 0x9E37_79B9_7F4A_7C15u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            back(DType::F64, &bits.to_le_bytes());
            back(DType::F32, &bits.to_le_bytes()[4..]);
            back(DType::F16, &bits.to_le_bytes()[6..]);
            back(DType::BF16, &bits.to_le_bytes()[6..]);
        }
    }
}
