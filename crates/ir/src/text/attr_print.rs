//! Prints attributes.

use super::attr::{DOTTED_ENUM, write_dense_attr};
use super::lexer::{escape, is_plain_word};
use super::{number, records, sharding};
use crate::{Attr, Attrs};
use shardwise_base::DType;
use std::fmt::Write;

pub(super) fn write_attr(out: &mut String, attr: &Attr) {
    match attr {
        Attr::Unit => out.push_str("unit"),
        Attr::Bool(b) => write!(out, "{b}").expect("writing to a string"),
        Attr::Int { value, dtype } => write_int(out, *value, *dtype),
        Attr::Float { value, dtype } => {
            number::write_float(out, *value, *dtype);
            write!(out, " : {dtype}").expect("writing to a string");
        }
        Attr::Str(s) => out.push_str(&escape(s)),
        Attr::Symbol(s) => write_symbol(out, s),
        Attr::Type(ty) => write!(out, "{ty}").expect("writing to a string"),
        Attr::Array(items) => write_array(out, items),
        Attr::Dict(fields) => write_dict(out, fields.iter()),
        Attr::Dense(literal) => write_dense_attr(out, literal),
        Attr::Ints { values, dtype } => write_int_array(out, values, *dtype),
        Attr::Bools(values) => write_bool_array(out, values),
        Attr::Enum { dialect, kind, value } if **kind == DOTTED_ENUM[1..] => {
            write!(out, "#{dialect}{DOTTED_ENUM}<{value}>").expect("writing to a string");
        }
        Attr::Enum { dialect, kind, value } => {
            write!(out, "#{dialect}<{kind} {value}>").expect("writing to a string");
        }
        Attr::Record { name, fields } => records::write_record(out, name, fields),
        Attr::Sharding(s) => {
            out.push_str("#sdy.sharding");
            sharding::write_sharding(out, s);
        }
        Attr::Shardings(list) => {
            out.push_str("#sdy.sharding_per_value<");
            sharding::write_shardings(out, list.iter());
            out.push('>');
        }
        Attr::Axes { mesh, axes } => sharding::write_mesh_axes(out, mesh, axes),
        Attr::AxesPerDim { mesh, dims } => {
            out.push_str("#sdy<list_of_axis_ref_lists");
            sharding::write_axes_per_dim(out, mesh, dims);
            out.push('>');
        }
        Attr::Opaque(text) => out.push_str(text),
    }
}

fn write_int(out: &mut String, value: i64, dtype: Option<DType>) {
    let number = number_of(value, dtype);
    match dtype {
        Some(dtype) => write!(out, "{number} : {dtype}"),
        None => write!(out, "{number} : index"),
    }
    .expect("writing to a string");
}

/// Returns the number that an integer attribute with this `value` and `dtype` holds. In an attribute of type `u64`,
/// `value` has the bits of the number, so that it may be negative. Otherwise it is the number.
pub(super) fn number_of(value: i64, dtype: Option<DType>) -> i128 {
    if dtype == Some(DType::U64) { i128::from(value as u64) } else { i128::from(value) }
}

fn write_array(out: &mut String, items: &[Attr]) {
    if sharding::write_all_to_all_params(out, items) {
        return;
    }
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_attr(out, item);
    }
    out.push(']');
}

fn write_int_array(out: &mut String, values: &[i64], dtype: DType) {
    write!(out, "array<{dtype}").expect("writing to a string");
    for (i, v) in values.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { ": " });
        write!(out, "{}", number_of(*v, Some(dtype))).expect("writing to a string");
    }
    out.push('>');
}

fn write_bool_array(out: &mut String, values: &[bool]) {
    out.push_str("array<i1");
    for (i, v) in values.iter().enumerate() {
        write!(out, "{}{v}", if i > 0 { ", " } else { ": " }).expect("writing to a string");
    }
    out.push('>');
}

pub(super) fn write_symbol(out: &mut String, name: &str) {
    out.push('@');
    if is_plain_word(name) { out.push_str(name) } else { out.push_str(&escape(name)) }
}

pub(super) fn write_dict<'a>(out: &mut String, fields: impl Iterator<Item = (&'a str, &'a Attr)>) {
    out.push('{');
    for (i, (name, value)) in fields.enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_entry(out, name, value);
    }
    out.push('}');
}

fn write_entry(out: &mut String, name: &str, value: &Attr) {
    if is_plain_word(name) {
        out.push_str(name)
    } else {
        out.push_str(&escape(name))
    }
    if *value == Attr::Unit {
        return;
    }
    out.push_str(" = ");
    write_attr(out, value);
}

/// Returns true if an op's attribute of this name is in the property dictionary of the generic form: a name without a
/// dialect.
pub(super) fn is_property(name: &str) -> bool {
    !name.contains('.')
}

pub(super) fn filtered<'a>(
    attrs: &'a Attrs,
    keep: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (&'a str, &'a Attr)> {
    attrs.iter().filter(move |(name, _)| keep(name))
}
