//! The arguments and results of a program in `.npz` files, numpy's format.

use shardwise_base::file::NewFile;
use shardwise_base::{DTypeKind, Diagnostic, Diagnostics, Literal, Loc, did_you_mean};
use shardwise_files::npz::{Mismatch, Reader, Writer, numpy_name};
use shardwise_ir::TensorType;
use std::io::{self, Seek};
use std::path::Path;

/// Reads `arg0`, `arg1`, … of these types. Fails if the file cannot be read, if an array is missing, is damaged, has
/// another type or an element that is not of its type, and if the file has members that the program does not take. All
/// mismatches are reported at once.
///
/// The sizes in the file are not trusted: the function reads as much as the program's types need, and reserves no more
/// memory than that. Stops the command if there is not enough memory.
pub fn read_args(path: &Path, types: &[TensorType]) -> Result<Vec<Literal>, Diagnostics> {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    let mut archive = Reader::open(path).map_err(|e| Diagnostics::from(unreadable(&loc, &e)))?;
    let names = archive.names();
    let mut found = Diagnostics::default();
    let mut args = vec![];
    for (i, ty) in types.iter().enumerate() {
        let name = format!("arg{i}");
        match names.iter().rposition(|n| *n == name) {
            None => found.push(missing(&loc, &name, ty, &names)),
            Some(member) => match archive.literal(member, ty) {
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

/// Returns an error if the results could not be written: if there can be no such file, or if it is one in which no
/// earlier place can be written again, such as a pipe or a terminal. Called before they are computed.
pub fn check_writable(path: &Path) -> Result<(), Diagnostics> {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    // A named pipe is not opened here, since its reader would take its end for that of the results.
    if std::fs::metadata(path).is_ok_and(|found| is_pipe(&found)) {
        return Err(no_file(&loc).into());
    }
    let mut file = NewFile::create(path).map_err(|e| unwritable(&loc, &e.to_string()))?;
    Ok(file.stream_position().map(drop).map_err(|_| no_file(&loc))?)
}

#[cfg(unix)]
fn is_pipe(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_fifo() || found.file_type().is_socket()
}

#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}

/// Writes `out0`, `out1`, …. If this fails, an older file at `path` is not changed, unless it is a device or a pipe.
pub fn write_results(path: &Path, results: &[Literal]) -> Result<(), Diagnostics> {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    write_file(path, "out", results).map_err(|e| unwritable(&loc, &e.to_string()).into())
}

fn write_file(path: &Path, prefix: &str, arrays: &[Literal]) -> io::Result<()> {
    let mut archive = Writer::create(path)?;
    for (i, array) in arrays.iter().enumerate() {
        archive.literal(&format!("{prefix}{i}"), array)?;
    }
    archive.commit()
}

fn unreadable(loc: &Loc, why: &str) -> Diagnostic {
    Diagnostic::error("npz-unreadable", loc, format!("cannot read the inputs: {why}"))
        .help("write the inputs with `numpy.savez(path, arg0=…, arg1=…)`")
}

fn unwritable(loc: &Loc, why: &str) -> Diagnostic {
    Diagnostic::error("npz-unwritable", loc, format!("cannot write the outputs: {why}"))
        .help("check the permissions of the folder and the free space")
}

fn no_file(loc: &Loc) -> Diagnostic {
    let message = "cannot write the outputs into a pipe or terminal: an archive is not written from start to end";
    Diagnostic::error("npz-unwritable", loc, message)
        .help("name a file, `--outputs results.npz`, which other programs can read when the command has ended")
}

fn missing(loc: &Loc, name: &str, ty: &TensorType, names: &[String]) -> Diagnostic {
    let held = if names.is_empty() { "no arrays".to_string() } else { names.join(", ") };
    let d = Diagnostic::error("npz-missing", loc, format!("the inputs have no `{name}`"))
        .facts(format!("{name}: {}; the file holds {held}", ty.short()));
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
    let value = if ty.dtype.kind() == DTypeKind::Signed { (byte as i8).to_string() } else { byte.to_string() };
    let message = format!("element {position:?} of input `{name}` is {value}, which is not a value of {}", ty.dtype);
    let help = match ty.dtype.kind() {
        DTypeKind::Bool => "save booleans as 0 and 1: `.astype(bool)`".to_string(),
        _ => format!("elements of {} have {} bits, in one byte each", ty.dtype, ty.dtype.bits()),
    };
    Diagnostic::error("npz-range", loc, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{Account, Budget, CancelToken, DType, Stop, bf16, file};
    use shardwise_files::npz::header;
    use std::fs::File;
    use std::io::Write;

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
        let found = said(&saved("empty.npz", &[]), TensorType::scalar(DType::F32));
        assert!(found.contains("arg0: f32[]; the file holds no arrays"), "{found}");
    }

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

    fn member(array: &Literal, bytes: &[u8]) -> Vec<u8> {
        [header(array.dtype(), array.shape()), bytes.to_vec()].concat()
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
        let header = header(DType::F32, &[1 << 30]);
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
