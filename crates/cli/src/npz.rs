//! Arrays in `.npz` files, as numpy writes them.
//!
//! Element types come from the program: numpy has no name for bf16 or f8, so that `V2` and `uint16` may hold bf16, `V1`
//! and `uint8` f8. Everything else must match.

use npyz::{NpyHeader, Order};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, Loc, did_you_mean};
use shardwise_ir::TensorType;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read, Write};
use std::path::Path;

/// One array of a file: numpy's type string, shape, bytes row-major and little-endian.
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Reads `arg0`, `arg1`, … of these types. All mismatches are reported at once.
pub fn read_args(path: &Path, types: &[TensorType]) -> Result<Vec<Literal>, Diagnostics> {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    let entries = read_file(path).map_err(|e| Diagnostics::from(unreadable(&loc, &e)))?;
    let mut found = Diagnostics::default();
    let mut args = vec![];
    for (i, ty) in types.iter().enumerate() {
        let name = format!("arg{i}");
        match entries.get(&name) {
            None => found.push(missing(&loc, &name, ty, &entries)),
            Some(entry) => match literal(entry, ty) {
                Ok(value) => args.push(value),
                Err(why) => found.push(mismatch(&loc, &name, entry, ty, why)),
            },
        }
    }
    for name in entries.keys().filter(|n| !(0..types.len()).any(|i| **n == format!("arg{i}"))) {
        found.push(unknown(&loc, name, types.len()));
    }
    found.or(args)
}

/// Writes `out0`, `out1`, ….
pub fn write_results(path: &Path, results: &[Literal]) -> Result<(), Diagnostics> {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    write_file(path, "out", results).map_err(|e| unwritable(&loc, &e).into())
}

fn read_file(path: &Path) -> Result<BTreeMap<String, Entry>, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(|e| e.to_string())?;
    let mut entries = BTreeMap::new();
    for i in 0..archive.len() {
        let mut member = archive.by_index(i).map_err(|e| e.to_string())?;
        let name = member.name().map_err(|e| e.to_string())?.trim_end_matches(".npy").to_string();
        let mut bytes = vec![];
        member.read_to_end(&mut bytes).map_err(|e| format!("`{name}`: {e}"))?;
        entries.insert(name.clone(), read_entry(bytes).map_err(|e| format!("`{name}`: {e}"))?);
    }
    Ok(entries)
}

fn read_entry(file: Vec<u8>) -> Result<Entry, String> {
    let mut cursor = Cursor::new(&file);
    let header = NpyHeader::from_reader(&mut cursor).map_err(|e| e.to_string())?;
    let npyz::DType::Plain(dtype) = header.dtype() else { return Err("it is a structured array".into()) };
    let shape = header.shape().iter().map(|&n| n as usize).collect::<Vec<_>>();
    if header.order() == Order::Fortran && shape.len() > 1 {
        return Err("it is in Fortran order; save it with `numpy.ascontiguousarray`".into());
    }
    let at = usize::try_from(cursor.position()).expect("within the file");
    Ok(Entry { dtype: dtype.to_string(), shape, bytes: file[at..].to_vec() })
}

/// Why an entry does not fit a type.
enum Mismatch {
    DType,
    Shape,
    Length,
}

fn literal(entry: &Entry, ty: &TensorType) -> Result<Literal, Mismatch> {
    if !accepts(ty.dtype, &entry.dtype) {
        return Err(Mismatch::DType);
    }
    if entry.shape != ty.shape {
        return Err(Mismatch::Shape);
    }
    Literal::from_bytes(ty.dtype, &ty.shape, &entry.bytes).map_err(|_| Mismatch::Length)
}

/// Numpy's type string for an element type, without the byte order.
fn numpy_name(dtype: DType) -> String {
    use DType::*;
    let name = match dtype {
        I1 => "b1",
        I2 | I4 | I8 => "i1",
        I16 => "i2",
        I32 => "i4",
        I64 => "i8",
        U2 | U4 | U8 => "u1",
        U16 => "u2",
        U32 => "u4",
        U64 => "u8",
        F16 => "f2",
        F32 => "f4",
        F64 => "f8",
        C64 => "c8",
        C128 => "c16",
        BF16 => "V2",
        _ => "V1",
    };
    name.into()
}

/// Whether numpy's `given` may hold elements of `dtype`.
fn accepts(dtype: DType, given: &str) -> bool {
    let given = given.trim_start_matches(['<', '|', '=']);
    let expected = numpy_name(dtype);
    given == expected || (expected == "V2" && given == "u2") || (expected == "V1" && given == "u1")
}

fn write_file(path: &Path, prefix: &str, arrays: &[Literal]) -> Result<(), String> {
    let file = File::create(path).map_err(|e| e.to_string())?;
    let mut archive = zip::ZipWriter::new(BufWriter::new(file));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    for (i, array) in arrays.iter().enumerate() {
        archive.start_file(format!("{prefix}{i}.npy"), stored).map_err(|e| e.to_string())?;
        archive.write_all(&npy_header(array)).map_err(|e| e.to_string())?;
        archive.write_all(array.to_dense().raw_bytes()).map_err(|e| e.to_string())?;
    }
    archive.finish().map_err(|e| e.to_string())?.flush().map_err(|e| e.to_string())
}

/// Version 1.0 of the `.npy` format: magic, length, a Python dictionary padded to 64 bytes.
fn npy_header(array: &Literal) -> Vec<u8> {
    let name = numpy_name(array.dtype());
    let order = if array.dtype().storage_bytes() == 1 { '|' } else { '<' };
    let sizes: String = array.shape().iter().map(|n| format!("{n},")).collect();
    let dict = format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (10 + dict.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{dict:<width$}\n", width = length - 1).into_bytes());
    header
}

fn unreadable(loc: &Loc, why: &str) -> Diagnostic {
    Diagnostic::error("npz-unreadable", loc, format!("cannot read the inputs: {why}"))
        .help("write them with `numpy.savez(path, arg0=…, arg1=…)`")
}

fn unwritable(loc: &Loc, why: &str) -> Diagnostic {
    Diagnostic::error("npz-unwritable", loc, format!("cannot write the outputs: {why}"))
        .help("look at the folder's permissions and the free space")
}

fn missing(loc: &Loc, name: &str, ty: &TensorType, entries: &BTreeMap<String, Entry>) -> Diagnostic {
    let names: Vec<&str> = entries.keys().map(String::as_str).collect();
    let d = Diagnostic::error("npz-missing", loc, format!("the inputs have no `{name}`")).facts(format!(
        "{name}: {}; the file holds {}",
        ty.short(),
        names.join(", ")
    ));
    match did_you_mean(name, names) {
        Some(near) => d.help(format!("did you mean `{near}`? inputs are named arg0, arg1, … in order")),
        None => d.help("inputs are named arg0, arg1, … in order"),
    }
}

fn unknown(loc: &Loc, name: &str, count: usize) -> Diagnostic {
    let d = Diagnostic::error("npz-unknown", loc, format!("the program has no input `{name}`"));
    match count {
        0 => d.help("the program takes no inputs"),
        1 => d.help("the program takes one input, arg0"),
        n => d.help(format!("the program takes {n} inputs, arg0 to arg{}", n - 1)),
    }
}

fn mismatch(loc: &Loc, name: &str, entry: &Entry, ty: &TensorType, why: Mismatch) -> Diagnostic {
    let (code, what) = match why {
        Mismatch::DType => ("npz-dtype", "has another element type than the program takes"),
        Mismatch::Shape => ("npz-shape", "has another shape than the program takes"),
        Mismatch::Length => ("npz-truncated", "has fewer bytes than its shape needs"),
    };
    Diagnostic::error(code, loc, format!("input `{name}` {what}"))
        .facts(format!("{name}: {} of shape {:?}", entry.dtype, entry.shape))
        .expected(format!("{} ({}) of shape {:?}", numpy_name(ty.dtype), ty.dtype, ty.shape))
        .help(format!("convert it before saving, as with `.astype(…)`; the program's type is {}", ty.short()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::bf16;

    fn temp(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("shardwise-npz-{}-{name}", std::process::id()))
    }

    fn saved(name: &str, arrays: &[Literal]) -> std::path::PathBuf {
        let path = temp(name);
        write_file(&path, "arg", arrays).unwrap();
        path
    }

    #[test]
    fn arrays_come_back() {
        let arrays = [
            Literal::new(vec![2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]),
            Literal::new(vec![2], &[bf16::from_f32(1.5), bf16::from_f32(-2.0)]),
            Literal::scalar(7i64),
            Literal::zeros(DType::I1, vec![0, 4]),
        ];
        let types: Vec<TensorType> = arrays.iter().map(|a| TensorType::new(a.dtype(), a.shape())).collect();
        let path = saved("round.npz", &arrays);
        assert_eq!(read_args(&path, &types).unwrap(), arrays);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn every_mismatch_is_named() {
        let path = saved("bad.npz", &[Literal::new(vec![2], &[1f32, 2.0]), Literal::scalar(1i32)]);
        let types = [
            TensorType::new(DType::F64, vec![2]),
            TensorType::new(DType::I32, vec![3]),
            TensorType::scalar(DType::F32),
        ];
        let found = read_args(&path, &types).unwrap_err();
        let codes: Vec<&str> = found.iter().map(|d| d.code).collect();
        assert_eq!(codes, ["npz-dtype", "npz-shape", "npz-missing"]);
        std::fs::remove_file(path).unwrap();
    }
}
