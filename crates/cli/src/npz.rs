//! Reads and writes arrays in `.npz` files, numpy's format.
//!
//! Element types come from the program: numpy has no names for bf16 and f8, so `V2` and `uint16` may hold bf16, and
//! `V1` and `uint8` may hold f8. All other types must match.

use npyz::{NpyHeader, Order};
use shardwise_base::budget::poll;
use shardwise_base::compare::indices;
use shardwise_base::file::NewFile;
use shardwise_base::{DType, Diagnostic, Diagnostics, Kind, Literal, Loc, did_you_mean};
use shardwise_ir::TensorType;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The number of bytes that are read or written between two checks for cancellation.
const CHUNK: usize = 1 << 20;
/// The largest length of an array's header.
const MAX_HEADER: usize = 1 << 16;

type Archive = zip::ZipArchive<BufReader<File>>;

/// Reads `arg0`, `arg1`, … of these types. All mismatches are reported at once. Members of the file that the program
/// does not take are errors as well.
///
/// The sizes in the file are not trusted: the function reads as much as the program's types need, and reserves no more
/// memory than that.
pub fn read_args(path: &Path, types: &[TensorType]) -> Result<Vec<Literal>, Diagnostics> {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    let mut archive = open(path).map_err(|e| Diagnostics::from(unreadable(&loc, &e)))?;
    let names: Vec<String> = archive.file_names().flatten().map(|n| n.trim_end_matches(".npy").to_string()).collect();
    let mut found = Diagnostics::default();
    let mut args = vec![];
    for (i, ty) in types.iter().enumerate() {
        let name = format!("arg{i}");
        match names.iter().rposition(|n| *n == name) {
            None => found.push(missing(&loc, &name, ty, &names)),
            Some(member) => match read_member(&mut archive, member, ty) {
                Ok(value) => args.push(value),
                Err(why) => found.push(mismatch(&loc, &name, ty, why)),
            },
        }
    }
    for name in names.iter().filter(|n| !(0..types.len()).any(|i| **n == format!("arg{i}"))) {
        found.push(unknown(&loc, name, types.len()));
    }
    found.or(args)
}

fn open(path: &Path) -> Result<Archive, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let is_folder = file.metadata().is_ok_and(|m| m.is_dir());
    if is_folder { Err("it is a folder".into()) } else { Archive::new(BufReader::new(file)).map_err(|e| e.to_string()) }
}

/// The reason why a member of the archive is not the array that the program takes.
enum Mismatch {
    /// It cannot be read, for this reason.
    Broken(String),
    DType {
        given: String,
        shape: Vec<usize>,
    },
    Shape {
        given: String,
        shape: Vec<usize>,
    },
    /// It has this many bytes, fewer than its type needs.
    Fewer(usize),
    More,
    /// An element is not a value of its type.
    Range {
        position: Vec<usize>,
        byte: u8,
    },
}

impl From<io::Error> for Mismatch {
    fn from(e: io::Error) -> Mismatch {
        Mismatch::Broken(e.to_string())
    }
}

fn read_member(archive: &mut Archive, index: usize, ty: &TensorType) -> Result<Literal, Mismatch> {
    let mut member = archive.by_index(index).map_err(|e| Mismatch::Broken(e.to_string()))?;
    let header = read_header(&mut member)?;
    let npyz::DType::Plain(dtype) = header.dtype() else {
        return Err(Mismatch::Broken("it is a structured array".into()));
    };
    let (given, shape) = (dtype.to_string(), header.shape().iter().map(|&n| n as usize).collect::<Vec<_>>());
    if header.order() == Order::Fortran && shape.len() > 1 {
        return Err(Mismatch::Broken("it is in Fortran order; save it with `numpy.ascontiguousarray`".into()));
    }
    if !accepts(ty.dtype, &given) {
        return Err(Mismatch::DType { given, shape });
    }
    if shape != ty.shape {
        return Err(Mismatch::Shape { given, shape });
    }
    let value = read_elements(&mut member, ty)?;
    in_range(&value, ty.dtype).map_or(Ok(value), Err)
}

/// Reads the header of an array. Fails if it is malformed, or longer than [`MAX_HEADER`].
fn read_header(member: &mut impl Read) -> Result<NpyHeader, Mismatch> {
    let mut start = vec![0; 10];
    member.read_exact(&mut start)?;
    let mut length = usize::from(u16::from_le_bytes([start[8], start[9]]));
    if start[6] > 1 {
        let mut high = [0; 2];
        member.read_exact(&mut high)?;
        start.extend(high);
        length |= usize::from(u16::from_le_bytes(high)) << 16;
    }
    if length > MAX_HEADER {
        return Err(Mismatch::Broken(format!("its header has {length} bytes")));
    }
    Ok(NpyHeader::from_reader(Cursor::new(start).chain(member.take(length as u64)))?)
}

/// Reads the elements of an array to its end, where the archive compares the checksum. Fails if there are fewer or more
/// bytes than the type needs.
fn read_elements(member: &mut impl Read, ty: &TensorType) -> Result<Literal, Mismatch> {
    let mut value = Literal::dense_zeros(ty.dtype, &ty.shape).map_err(|e| Mismatch::Broken(e.to_string()))?;
    let mut read = 0;
    for chunk in value.bytes_mut().chunks_mut(CHUNK) {
        poll();
        let n = read_as_much(member, chunk)?;
        read += n;
        if n < chunk.len() {
            return Err(Mismatch::Fewer(read));
        }
    }
    if read_as_much(member, &mut [0])? > 0 { Err(Mismatch::More) } else { Ok(value) }
}

/// Fills `out` with as many bytes as the reader has, and returns their number. Fails if the reader does, but continues
/// after an interruption.
fn read_as_much(reader: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < out.len() {
        match reader.read(&mut out[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Returns a [`Mismatch::Range`] for the first byte that is not a value of the type, or `None` if there is none. Types
/// of less than eight bits do not use all bits. For all other types, returns `None`.
fn in_range(x: &Literal, dtype: DType) -> Option<Mismatch> {
    let bits = if dtype.kind() == Kind::Bool { 1 } else { dtype.bits() };
    if bits >= 8 {
        return None;
    }
    let is_valid = |byte: u8| match dtype.kind() {
        Kind::Signed => i32::from(byte as i8) >= -(1 << (bits - 1)) && i32::from(byte as i8) < 1 << (bits - 1),
        _ => byte >> bits == 0,
    };
    let wrong = x.raw_bytes().chunks(CHUNK).zip(0..).find_map(|(chunk, n)| {
        poll();
        chunk.iter().position(|&b| !is_valid(b)).map(|i| (n * CHUNK + i, chunk[i]))
    });
    wrong.map(|(i, byte)| Mismatch::Range { position: indices(x.shape(), i), byte })
}

/// Returns an error if the results could not be written. Called before they are computed.
pub fn check_writable(path: &Path) -> Result<(), Diagnostics> {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    NewFile::create(path).map(drop).map_err(|e| unwritable(&loc, &e.to_string()).into())
}

/// Writes `out0`, `out1`, …. If this fails, an ordinary file is not changed.
pub fn write_results(path: &Path, results: &[Literal]) -> Result<(), Diagnostics> {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    write_file(path, "out", results).map_err(|e| unwritable(&loc, &e.to_string()).into())
}

/// Returns numpy's type string for an element type, without the byte order. Integers of less than a byte have the type
/// of a byte. Types that numpy lacks are raw bytes: `V2` for bf16, `V1` for the others.
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

/// Returns true if numpy's type `given` may hold elements of `dtype`: if it is the type's own name, or `u2` for bf16 or
/// `u1` for f8. Types in big-endian order are not accepted.
fn accepts(dtype: DType, given: &str) -> bool {
    let given = given.trim_start_matches(['<', '|', '=']);
    let expected = numpy_name(dtype);
    given == expected || (expected == "V2" && given == "u2") || (expected == "V1" && given == "u1")
}

fn write_file(path: &Path, prefix: &str, arrays: &[Literal]) -> io::Result<()> {
    let mut archive = zip::ZipWriter::new(UntilFailure::create(path)?);
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored).large_file(true);
    for (i, array) in arrays.iter().enumerate() {
        archive.start_file(format!("{prefix}{i}.npy"), stored)?;
        archive.write_all(&npy_header(array))?;
        write_elements(&mut archive, array)?;
    }
    archive.finish()?.file.commit()
}

/// Writes the elements. Those of a splat are not in memory all at once. Fails if writing does.
fn write_elements(out: &mut impl Write, array: &Literal) -> io::Result<()> {
    let element = array.raw_bytes();
    if !array.is_splat() {
        return element.chunks(CHUNK).try_for_each(|chunk| {
            poll();
            out.write_all(chunk)
        });
    }
    let most = (CHUNK / element.len()).min(array.size());
    let chunk = element.repeat(most);
    let mut left = array.size();
    while left > 0 {
        poll();
        let count = left.min(most);
        out.write_all(&chunk[..count * element.len()])?;
        left -= count;
    }
    Ok(())
}

/// A file that ignores everything after a failure, so that the failure is reported once. The archive writes its
/// directory when it is dropped. It then finds itself at the end of the file, whatever position it seeks.
struct UntilFailure {
    file: NewFile,
    has_failed: bool,
    /// The largest position so far.
    end: u64,
}

impl UntilFailure {
    fn create(path: &Path) -> io::Result<UntilFailure> {
        Ok(UntilFailure { file: NewFile::create(path)?, has_failed: false, end: 0 })
    }

    /// Returns `otherwise` after a failure, and otherwise the result of `f`.
    fn unless_failed<T>(&mut self, otherwise: T, f: impl FnOnce(&mut NewFile) -> io::Result<T>) -> io::Result<T> {
        if self.has_failed {
            return Ok(otherwise);
        }
        f(&mut self.file).inspect_err(|_| self.has_failed = true)
    }
}

impl Write for UntilFailure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_failed(bytes.len(), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_failed((), |file| file.flush())
    }
}

impl Seek for UntilFailure {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.unless_failed(self.end, |file| file.seek(to))?;
        self.end = self.end.max(position);
        Ok(position)
    }
}

/// Returns the header in version 1.0 of the `.npy` format: magic, length, and a Python dictionary, padded to a multiple
/// of 64 bytes in all.
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
        .help("write the inputs with `numpy.savez(path, arg0=…, arg1=…)`")
}

fn unwritable(loc: &Loc, why: &str) -> Diagnostic {
    Diagnostic::error("npz-unwritable", loc, format!("cannot write the outputs: {why}"))
        .help("check the permissions of the folder and the free space")
}

fn missing(loc: &Loc, name: &str, ty: &TensorType, names: &[String]) -> Diagnostic {
    let d = Diagnostic::error("npz-missing", loc, format!("the inputs have no `{name}`")).facts(format!(
        "{name}: {}; the file holds {}",
        ty.short(),
        names.join(", ")
    ));
    match did_you_mean(name, names.iter().map(String::as_str)) {
        Some(near) => d.help(format!("did you mean `{near}`? the inputs are named arg0, arg1, … in order")),
        None => d.help("the inputs are named arg0, arg1, … in order"),
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

fn mismatch(loc: &Loc, name: &str, ty: &TensorType, why: Mismatch) -> Diagnostic {
    let of_type = |code, what, method, given: String, shape: Vec<usize>| {
        Diagnostic::error(code, loc, format!("the {what} of input `{name}` differs from the program's"))
            .facts(format!("{name}: {given} of shape {shape:?}"))
            .expected(format!("{} ({}) of shape {:?}", numpy_name(ty.dtype), ty.dtype, ty.shape))
            .help(format!(
                "convert the array before saving it, for example with `.{method}(…)`; the program's type is {}",
                ty.short()
            ))
    };
    let of_length = |what: String| {
        Diagnostic::error("npz-length", loc, format!("input `{name}` has {what} bytes than its shape says"))
            .expected(format!("{} bytes, for {}", ty.bytes(), ty.short()))
            .help("the file is damaged: write it again")
    };
    match why {
        Mismatch::DType { given, shape } => of_type("npz-dtype", "element type", "astype", given, shape),
        Mismatch::Shape { given, shape } => of_type("npz-shape", "shape", "reshape", given, shape),
        Mismatch::Fewer(found) => of_length("fewer".into()).facts(format!("{found} bytes")),
        Mismatch::More => of_length("more".into()),
        Mismatch::Broken(why) => unreadable(loc, &format!("`{name}`: {why}")),
        Mismatch::Range { position, byte } => not_an_element(loc, name, ty, &position, byte),
    }
}

fn not_an_element(loc: &Loc, name: &str, ty: &TensorType, position: &[usize], byte: u8) -> Diagnostic {
    let value = if ty.dtype.kind() == Kind::Signed { (byte as i8).to_string() } else { byte.to_string() };
    let message = format!("element {position:?} of input `{name}` is {value}, which is not a value of {}", ty.dtype);
    let help = match ty.dtype.kind() {
        Kind::Bool => "save booleans as 0 and 1: `.astype(bool)`".to_string(),
        _ => format!("elements of {} have {} bits, in one byte each", ty.dtype, ty.dtype.bits()),
    };
    Diagnostic::error("npz-range", loc, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{Account, Budget, CancelToken, Stop, bf16, file};

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

    /// Writes an archive of `arg0.npy`, `arg1.npy`, … with these bytes.
    fn archive(name: &str, members: &[Vec<u8>], method: zip::CompressionMethod) -> std::path::PathBuf {
        let path = temp(name);
        let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        for (i, member) in members.iter().enumerate() {
            archive.start_file(format!("arg{i}.npy"), options).unwrap();
            archive.write_all(member).unwrap();
        }
        archive.finish().unwrap();
        path
    }

    /// Returns the header for an array, followed by other bytes.
    fn member(array: &Literal, bytes: &[u8]) -> Vec<u8> {
        [npy_header(array), bytes.to_vec()].concat()
    }

    fn said(path: &Path, ty: TensorType) -> String {
        let found = read_args(path, &[ty]).unwrap_err().to_string();
        std::fs::remove_file(path).unwrap();
        found
    }

    #[test]
    fn elements_that_a_type_does_not_have_are_refused() {
        let of = |dtype: DType, bytes: [u8; 4]| {
            let array = Literal::from_bytes(dtype, &[2, 2], &bytes).unwrap();
            let path = archive("range.npz", &[member(&array, &bytes)], zip::CompressionMethod::Stored);
            let read = read_args(&path, &[TensorType::new(dtype, vec![2, 2])]);
            std::fs::remove_file(path).unwrap();
            read.map_err(|e| e.to_string())
        };
        for (dtype, least, most) in [(DType::I1, 0, 1), (DType::I2, -2, 1), (DType::I4, -8, 7), (DType::U2, 0, 3)] {
            assert!(of(dtype, [least as u8, most as u8, 0, 1]).is_ok(), "{dtype}");
            for beyond in [least - 1, most + 1] {
                let found = of(dtype, [0, 1, beyond as u8, 0]).unwrap_err();
                assert!(found.contains("npz-range") && found.contains("element [1, 0]"), "{dtype}: {found}");
            }
        }
        assert!(of(DType::U4, [15, 0, 0, 0]).is_ok() && of(DType::U4, [16, 0, 0, 0]).is_err());
        assert!(of(DType::F4E2M1FN, [15, 0, 0, 0]).is_ok() && of(DType::F4E2M1FN, [16, 0, 0, 0]).is_err());
        assert!(of(DType::I8, [128, 255, 0, 0]).is_ok());
    }

    #[test]
    fn too_few_and_too_many_bytes_are_told_apart() {
        let array = Literal::new([2], &[1f32, 2.0]);
        let ty = || TensorType::new(DType::F32, vec![2]);
        let stored = |bytes: &[u8]| archive("length.npz", &[member(&array, bytes)], zip::CompressionMethod::Stored);
        assert!(said(&stored(&[0; 7]), ty()).contains("has fewer bytes than its shape says"));
        assert!(said(&stored(&[0; 9]), ty()).contains("has more bytes than its shape says"));
    }

    #[test]
    fn no_more_memory_is_reserved_than_the_program_needs() {
        let array = Literal::new([2], &[1f32, 2.0]);
        let bomb = member(&array, &vec![0; 50 << 20]);
        let path = archive("bomb.npz", &[bomb], zip::CompressionMethod::Deflated);
        assert!(std::fs::metadata(&path).unwrap().len() < 100_000);
        let account = Account::with_limit(1 << 20);
        let budget = Budget::new(account.clone(), None, CancelToken::default());
        let read = budget.run(|| read_args(&path, &[TensorType::new(DType::F32, vec![2])])).unwrap();
        assert!(read.unwrap_err().to_string().contains("has more bytes") && account.peak() < 1000);
        let large = TensorType::new(DType::F32, vec![1 << 30]);
        let header = npy_header(&Literal::zeros(DType::F32, [1 << 30]));
        let path = archive("large.npz", &[header], zip::CompressionMethod::Stored);
        assert!(matches!(budget.run(|| read_args(&path, &[large])), Err(Stop::Memory(e)) if e.requested == 4 << 30));
        std::fs::remove_file(path).unwrap();
        std::fs::remove_file(temp("bomb.npz")).unwrap();
    }

    #[test]
    fn a_long_header_is_refused() {
        let mut header = b"\x93NUMPY\x02\x00".to_vec();
        header.extend(u32::MAX.to_le_bytes());
        let path = archive("header.npz", &[header], zip::CompressionMethod::Stored);
        assert!(said(&path, TensorType::scalar(DType::F32)).contains("its header has 4294967295 bytes"));
    }

    #[test]
    fn failing_writes_leave_the_old_results() {
        let path = saved("whole.npz", &[Literal::scalar(1f32)]);
        let types = [TensorType::scalar(DType::F32)];
        let new = [Literal::new([1000], &[2f32; 1000]), Literal::splat(DType::F32, [1 << 19], &1f32.to_le_bytes())];
        for n in 1.. {
            file::fail_at(n);
            let written = write_file(&path, "arg", &new);
            file::fail_at(0);
            if written.is_ok() {
                break;
            }
            assert_eq!(read_args(&path, &types).unwrap(), [Literal::scalar(1f32)]);
        }
        let types: Vec<TensorType> = new.iter().map(|a| TensorType::new(a.dtype(), a.shape())).collect();
        assert_eq!(read_args(&path, &types).unwrap(), new);
        std::fs::remove_file(path).unwrap();
    }
}
