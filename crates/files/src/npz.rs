//! The format npz of numpy: an archive of arrays, each in a member `NAME.npy`.
//!
//! Element types come from whoever reads a file: numpy has no names for bf16 and f8, so `V2` and `uint16` may hold
//! bf16, and `V1` and `uint8` may hold f8 and smaller floats. Integers of fewer than 8 bits are those of 8 bits in a
//! file. All other types must match.

use crate::{CHUNK, first_invalid, read_as_much};
use shardwise_base::budget::poll;
use shardwise_base::compare::indices;
use shardwise_base::file::NewFile;
use shardwise_base::{DType, Literal};
use shardwise_ir::TensorType;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The largest length of an array's header, in bytes, as the file states it: without the first 10 or 12 bytes, which
/// end with the stated length.
const MAX_HEADER: usize = 1 << 16;

const MALFORMED: &str = "its header is not of the form {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}";
const TOO_LARGE: &str = "the sizes in its header are too large";

// ── reading
/// The reason why a member of an archive is not the array that is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// It cannot be read, for this reason.
    Broken(String),
    /// It has another element type or byte order: `given`, in numpy's notation. `shape` is its shape.
    DType { given: String, shape: Vec<usize> },
    /// It has another shape: `shape`. `given` is its element type in numpy's notation, which is accepted.
    Shape { given: String, shape: Vec<usize> },
    /// Its elements have this many bytes, fewer than its type needs.
    Fewer(u64),
    /// It has more bytes than were read before [`Member::finish`]. If all elements were read, these are more than its
    /// type needs.
    More,
    /// Some elements are not values of the wanted type. The first of them is at the indices `position`, and is this
    /// byte.
    Range { position: Vec<usize>, byte: u8 },
}

impl From<io::Error> for Mismatch {
    fn from(e: io::Error) -> Mismatch {
        Mismatch::Broken(e.to_string())
    }
}

/// An archive that is read.
pub struct Reader(zip::ZipArchive<BufReader<File>>);

impl Reader {
    /// Opens an archive.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is no archive.
    pub fn open(path: &Path) -> Result<Reader, String> {
        let file = File::open(path).map_err(|e| e.to_string())?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err("it is a folder".into());
        }
        zip::ZipArchive::new(BufReader::new(file)).map(Reader).map_err(|e| e.to_string())
    }

    /// Returns the names of the arrays by the index of their members, which are the members' names without one `.npy`
    /// at the end. A name that cannot be read is empty.
    pub fn names(&self) -> Vec<String> {
        let plain = |name: &str| name.strip_suffix(".npy").unwrap_or(name).to_string();
        self.0.file_names().map(|name| name.map_or_else(|_| String::new(), |name| plain(&name))).collect()
    }

    /// Starts to read member `index`, which must be an array of this type.
    ///
    /// # Errors
    /// Returns what is wrong with the member, as far as its header shows it. An array of two or more dimensions in
    /// Fortran order is refused too.
    pub fn member(&mut self, index: usize, ty: &TensorType) -> Result<Member<'_>, Mismatch> {
        let mut member = self.0.by_index(index).map_err(|e| Mismatch::Broken(e.to_string()))?;
        let Header { descr: given, is_fortran, shape } = read_header(&mut member)?;
        if is_fortran && shape.len() > 1 {
            return Err(Mismatch::Broken("it is in Fortran order; save it with `numpy.ascontiguousarray`".into()));
        }
        if !accepts(ty.dtype, &given) {
            return Err(Mismatch::DType { given, shape });
        }
        if shape != ty.shape {
            return Err(Mismatch::Shape { given, shape });
        }
        Ok(Member { bytes: Box::new(member), ty: ty.clone(), bytes_read: 0 })
    }

    /// Reads member `index` whole. Reserves no more memory than an array of this type needs, whatever the file says.
    ///
    /// # Errors
    /// Returns what is wrong with the member.
    pub fn literal(&mut self, index: usize, ty: &TensorType) -> Result<Literal, Mismatch> {
        let mut member = self.member(index, ty)?;
        let mut value = Literal::dense_zeros(ty.dtype, &ty.shape).map_err(|e| Mismatch::Broken(e.to_string()))?;
        member.read(value.bytes_mut())?;
        member.finish()?;
        Ok(value)
    }
}

/// An array of an archive that is being read, from its first element to its last.
pub struct Member<'a> {
    bytes: Box<dyn Read + 'a>,
    ty: TensorType,
    bytes_read: u64,
}

impl Member<'_> {
    /// Reads the next elements.
    ///
    /// # Errors
    /// Fails if fewer bytes are left than `out` has, if they are not elements of the type, or if the file cannot be
    /// read.
    pub fn read(&mut self, out: &mut [u8]) -> Result<(), Mismatch> {
        let count = read_as_much(&mut self.bytes, out)?;
        let start = self.bytes_read;
        self.bytes_read += count as u64;
        if count < out.len() {
            return Err(Mismatch::Fewer(self.bytes_read));
        }
        match first_invalid(self.ty.dtype, out) {
            // Such elements have one byte each.
            Some(i) => Err(Mismatch::Range { position: indices(&self.ty.shape, start as usize + i), byte: out[i] }),
            None => Ok(()),
        }
    }

    /// Reads the end, where the archive compares the checksum.
    ///
    /// # Errors
    /// Fails if the member has more bytes than have been read, if its checksum is wrong, or if the file cannot be read.
    pub fn finish(mut self) -> Result<(), Mismatch> {
        if read_as_much(&mut self.bytes, &mut [0])? > 0 { Err(Mismatch::More) } else { Ok(()) }
    }
}

fn read_header(member: &mut impl Read) -> Result<Header, Mismatch> {
    let (mut start, mut length) = ([0; 8], [0; 4]);
    member.read_exact(&mut start)?;
    match start {
        [magic @ .., _, _] if magic != *b"\x93NUMPY" => {
            return Err(Mismatch::Broken("magic not found for NPY file".into()));
        }
        [.., 1, 0] => member.read_exact(&mut length[..2])?,
        [.., 2 | 3, 0] => member.read_exact(&mut length)?,
        [.., major, minor] => return Err(Mismatch::Broken(format!("unsupported version: ({major}, {minor})"))),
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(Mismatch::Broken(format!("its header has {length} bytes, more than {MAX_HEADER}")));
    }
    let mut text = vec![0; length];
    member.read_exact(&mut text)?;
    Header::parse(&String::from_utf8_lossy(&text)).map_err(|why| Mismatch::Broken(why.into()))
}

/// The contents of an array's header.
struct Header {
    /// The element type in numpy's notation. It has only visible characters of ASCII, and may be no type.
    descr: String,
    is_fortran: bool,
    /// The sizes of the dimensions. The product of those that are not 0 fits `usize`.
    shape: Vec<usize>,
}

impl Header {
    /// Parses the Python dictionary of a header. Of Python's literals only those are accepted that numpy writes for an
    /// array of plain elements, so that no value but the shape's tuple has parts. Fails for any other text.
    fn parse(text: &str) -> Result<Header, &'static str> {
        let (mut descr, mut is_fortran, mut shape) = (None, None, None);
        let mut rest = Rest(text);
        rest.take("{")?;
        loop {
            let key = rest.string()?;
            rest.take(":")?;
            match key {
                "descr" if rest.take("[").is_ok() => return Err("it is a structured array"),
                "descr" => descr = Some(rest.string()?.to_string()),
                "fortran_order" => is_fortran = Some(rest.boolean()?),
                "shape" => shape = Some(rest.shape()?),
                _ => return Err(MALFORMED),
            }
            let comma = rest.take(",");
            if rest.take("}").is_ok() {
                break;
            }
            comma?;
        }
        match (descr, is_fortran, shape, rest.0.trim()) {
            (Some(descr), Some(is_fortran), Some(shape), "") => Ok(Header { descr, is_fortran, shape }),
            _ => Err(MALFORMED),
        }
    }
}

/// The part of a header's text that has not been parsed yet. The functions remove what they return, with the blanks
/// before it, and fail if the text begins with something else.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take(&mut self, token: &str) -> Result<(), &'static str> {
        self.0 = self.0.trim_start().strip_prefix(token).ok_or(MALFORMED)?;
        Ok(())
    }

    fn take_until(&mut self, end: char) -> Result<&'a str, &'static str> {
        let (taken, rest) = self.0.split_once(end).ok_or(MALFORMED)?;
        self.0 = rest;
        Ok(taken)
    }

    fn string(&mut self) -> Result<&'a str, &'static str> {
        let quote = if self.take("'").is_ok() { '\'' } else { self.take("\"").map(|()| '"')? };
        let string = self.take_until(quote)?;
        if string.bytes().all(|b| b.is_ascii_graphic()) { Ok(string) } else { Err(MALFORMED) }
    }

    fn boolean(&mut self) -> Result<bool, &'static str> {
        if self.take("True").is_ok() { Ok(true) } else { self.take("False").map(|()| false) }
    }

    fn shape(&mut self) -> Result<Vec<usize>, &'static str> {
        self.take("(")?;
        let mut sizes: Vec<&str> = self.take_until(')')?.split(',').map(str::trim).collect();
        match sizes[..] {
            [.., ""] => sizes.truncate(sizes.len() - 1),
            // `(3)` is a number.
            [_] => return Err(MALFORMED),
            _ => {}
        }
        let shape = sizes.into_iter().map(size).collect::<Result<Vec<usize>, &str>>()?;
        let mut counted = shape.iter().filter(|&&n| n > 0);
        counted.try_fold(1usize, |product, &n| product.checked_mul(n)).ok_or(TOO_LARGE)?;
        Ok(shape)
    }
}

fn size(digits: &str) -> Result<usize, &'static str> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { digits.parse().map_err(|_| TOO_LARGE) } else { Err(MALFORMED) }
}

/// Returns numpy's type string for an element type, without the byte order. For types that numpy does not have, this is
/// the type of uninterpreted bytes of the same size: `V2` for bf16, and `V1` for f8 and all smaller floats. Integers of
/// fewer than 8 bits have the names of those of 8 bits. The type must not be quantized, which is not checked.
pub fn numpy_name(dtype: DType) -> String {
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

/// Returns true if an array whose type numpy writes as `given` may hold elements of `dtype`. Only bytes and
/// uninterpreted elements may have no byte order (`|`). With the package `ml_dtypes`, numpy writes f8E5M2 as `f1`.
fn accepts(dtype: DType, given: &str) -> bool {
    let (order, given) = given.split_at_checked(1).unwrap_or_default();
    let needs_order = dtype.storage_bytes() > 1 && !given.starts_with('V');
    let expected = numpy_name(dtype);
    let is_other_name = match given {
        "u2" => expected == "V2",
        "u1" => expected == "V1",
        "f1" => dtype == DType::F8E5M2,
        _ => false,
    };
    let is_name = given == expected || is_other_name;
    is_name && (order == "<" || (order == "|" && !needs_order))
}

// ── writing
/// An archive that is written completely or not at all. A path that is no ordinary file (a pipe, `/dev/null`) is
/// written in place.
pub struct Writer(zip::ZipWriter<UntilFailure>);

impl Writer {
    /// Starts an archive at `path`.
    ///
    /// # Errors
    /// Fails as [`NewFile::create`] does.
    pub fn create(path: &Path) -> io::Result<Writer> {
        Ok(Writer(zip::ZipWriter::new(UntilFailure::create(path)?)))
    }

    /// Starts an array of this type. Its elements are then written, row-major, in any number of pieces.
    ///
    /// # Errors
    /// Returns the error of the system, or one for a name that an archive cannot have or that this one has already.
    pub fn start(&mut self, name: &str, dtype: DType, shape: &[usize]) -> io::Result<()> {
        let stored = zip::write::SimpleFileOptions::default();
        let stored = stored.compression_method(zip::CompressionMethod::Stored).large_file(true);
        self.0.start_file(format!("{name}.npy"), stored)?;
        self.0.write_all(&header(dtype, shape))
    }

    /// Writes a whole array. The elements of a splat are not in memory all at once.
    ///
    /// # Errors
    /// Fails as [`Writer::start`] does.
    pub fn literal(&mut self, name: &str, array: &Literal) -> io::Result<()> {
        self.start(name, array.dtype(), array.shape())?;
        let element = array.raw_bytes();
        if !array.is_splat() {
            return self.write_all(element);
        }
        let most = (CHUNK / element.len()).min(array.size());
        let chunk = element.repeat(most);
        let mut left = array.size();
        while left > 0 {
            let count = left.min(most);
            self.write_all(&chunk[..count * element.len()])?;
            left -= count;
        }
        Ok(())
    }

    /// Writes everything to the disk and moves the archive to its path.
    ///
    /// # Errors
    /// Fails if a write to the archive has failed before, or returns the error of the system. An ordinary file at the
    /// path is then unchanged.
    pub fn commit(self) -> io::Result<()> {
        let written = self.0.finish()?;
        if written.has_failed {
            return Err(io::Error::other("a part of the archive could not be written"));
        }
        written.file.commit()
    }
}

/// Writes elements of the array that was started last. Checks for cancellation in between.
impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        poll();
        self.0.write(&bytes[..bytes.len().min(CHUNK)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A file that ignores everything after a failure, so that the failure is reported once: the archive writes its
/// directory when it is dropped. After a failure, a seek reports the largest position to which a seek has led.
struct UntilFailure {
    file: NewFile,
    has_failed: bool,
    /// The largest position to which a seek has led so far.
    end: u64,
}

impl UntilFailure {
    fn create(path: &Path) -> io::Result<UntilFailure> {
        Ok(UntilFailure { file: NewFile::create(path)?, has_failed: false, end: 0 })
    }

    /// Calls `f`, unless a call has failed before: then returns `otherwise`. Fails if `f` does.
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

/// Returns the header of an array in version 1.0 of the `.npy` format: magic, length, and a Python dictionary, padded
/// to a multiple of 64 bytes in all.
pub fn header(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let order = if dtype.storage_bytes() == 1 { '|' } else { '<' };
    let sizes: String = shape.iter().map(|n| format!("{n},")).collect();
    let dict = format!("{{'descr': '{order}{}', 'fortran_order': False, 'shape': ({sizes}), }}", numpy_name(dtype));
    let length = (10 + dict.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{dict:<width$}\n", width = length - 1).into_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_end_in_npy_are_kept() {
        let path = std::env::temp_dir().join(format!("shardwise-npz-names-{}", std::process::id()));
        let names = ["a", "a.npy", "b.npy.npy", ".npy", ""];
        let mut archive = Writer::create(&path).unwrap();
        for (name, value) in names.iter().zip(0i32..) {
            archive.literal(name, &Literal::scalar(value)).unwrap();
        }
        archive.commit().unwrap();
        let mut archive = Reader::open(&path).unwrap();
        assert_eq!(archive.names(), names);
        let ty = TensorType::scalar(DType::I32);
        for value in 0i32..5 {
            assert_eq!(archive.literal(value as usize, &ty), Ok(Literal::scalar(value)));
        }
        std::fs::remove_file(path).unwrap();
    }

    /// Reads a header with this text. Fails as [`read_header`] does.
    fn parsed(text: &str) -> Result<(String, bool, Vec<usize>), Mismatch> {
        let bytes = [b"\x93NUMPY\x02\0", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
        read_header(&mut &bytes[..]).map(|header| (header.descr, header.is_fortran, header.shape))
    }

    fn broken(why: &str) -> Mismatch {
        Mismatch::Broken(why.into())
    }

    #[test]
    fn headers_are_dictionaries_of_three_keys() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
        assert_eq!(parsed(good), Ok(("<f4".into(), false, vec![3, 4])));
        let other_style = " {\"shape\":( 3 ,),'fortran_order' :True,\t'descr':'|V1'}  \n";
        assert_eq!(parsed(other_style), Ok(("|V1".into(), true, vec![3])));
        assert_eq!(parsed(&good.replace("(3, 4)", "()")), Ok(("<f4".into(), false, vec![])));
        assert_eq!(parsed(&good.replace("'<f4'", "[('a', '<f4')]")), Err(broken("it is a structured array")));
        assert_eq!(parsed(""), Err(broken(MALFORMED)));
        let wrong = [
            ("{", ""),
            ("}", "} 1"),
            (",", ""),
            (", }", ", , }"),
            ("'<f4'", "'<f4"),
            ("'<f4'", "'<f4\u{1b}'"),
            ("'<f4'", "('<f4', (2,))"),
            ("False", "0"),
            ("'shape'", "shape"),
            ("'shape'", "'size'"),
            ("'descr'", "'shape'"),
            ("(3, 4)", "[3, 4]"),
            ("(3, 4)", "(3)"),
            ("(3, 4)", "(,)"),
            ("(3, 4)", "(3,,4)"),
            ("(3, 4)", "(-3, 4)"),
            ("(3, 4)", "(3.0, 4)"),
            ("(3, 4)", "(3, 4"),
            ("(3, 4)", "3"),
        ];
        for (from, to) in wrong {
            let text = good.replacen(from, to, 1);
            assert_eq!(parsed(&text), Err(broken(MALFORMED)), "{text}");
        }
    }

    #[test]
    fn headers_that_nest_deeply_are_refused() {
        for depth in [5, 24, 2000] {
            for (open, close) in [("[", "]"), ("(", ",)"), ("{", "}"), ("{1:", "}"), ("{'shape':", "}")] {
                let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                let in_shape = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {nested}}}");
                for text in [nested, in_shape] {
                    assert_eq!(parsed(&text), Err(broken(MALFORMED)), "depth {depth} of {open}");
                }
            }
        }
    }

    #[test]
    fn long_headers_are_read_or_refused() {
        for part in ["1,", "[],", "1+", "'", "\\N{", " ", "{'shape':(),"] {
            let text = part.repeat(MAX_HEADER / part.len());
            assert_eq!(parsed(&text), Err(broken(MALFORMED)), "{part}");
        }
        let shape = |count| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({})}}", "1,".repeat(count));
        assert_eq!(parsed(&shape(30_000)), Ok(("<f4".into(), false, vec![1; 30_000])));
        assert_eq!(parsed(&shape(33_000)), Err(broken("its header has 66053 bytes, more than 65536")));
    }

    #[test]
    fn only_the_versions_of_numpy_are_read() {
        let read = |start: &[u8]| read_header(&mut &[start, &[0; 4]].concat()[..]).err();
        assert_eq!(read(b"\x93NUMPX\x01\0"), Some(broken("magic not found for NPY file")));
        assert_eq!(read(b"\x93NUMPY\x04\0"), Some(broken("unsupported version: (4, 0)")));
        assert_eq!(read(b"\x93NUMPY\x01\x01"), Some(broken("unsupported version: (1, 1)")));
        for version in 1..4 {
            assert_eq!(read(&[b"\x93NUMPY", &[version, 0][..]].concat()), Some(broken(MALFORMED)));
        }
    }

    #[test]
    fn element_types_need_a_byte_order() {
        for (dtype, given) in [(DType::F32, "<f4"), (DType::I1, "|b1"), (DType::I8, "<i1"), (DType::BF16, "|V2")] {
            assert!(accepts(dtype, given), "{given}");
        }
        for given in ["", "f4", "=f4", "|f4", ">f4", "<<f4", "<f8", "é4"] {
            assert!(!accepts(DType::F32, given), "{given}");
        }
        assert!(accepts(DType::BF16, "<u2") && !accepts(DType::BF16, "|u2"));
        assert!(accepts(DType::F8E5M2, "<f1") && !accepts(DType::F8E4M3FN, "<f1"));
    }

    #[test]
    fn sizes_that_cannot_be_counted_are_refused() {
        let read = |shape: &[usize]| read_header(&mut &header(DType::F32, shape)[..]).err();
        let too_large = Mismatch::Broken("the sizes in its header are too large".into());
        assert_eq!(read(&[1 << 32, 1 << 32]), Some(too_large.clone()));
        assert_eq!(read(&[0, 1 << 32, 1 << 32]), Some(too_large));
        assert_eq!((read(&[1 << 20, 0, 1 << 30]), read(&[])), (None, None));
    }

    #[test]
    fn an_archive_that_lacks_a_part_is_not_committed() {
        let path = std::env::temp_dir().join(format!("shardwise-npz-failed-{}", std::process::id()));
        let large = Literal::new([1 << 16], &[1f32; 1 << 16]);
        for n in 1..3 {
            let mut archive = Writer::create(&path).unwrap();
            shardwise_base::file::fail_at(n);
            let written = archive.literal("a", &large);
            shardwise_base::file::fail_at(0);
            assert!(written.is_err() && archive.commit().is_err() && !path.exists(), "failure {n}");
        }
    }
}
