//! The format safetensors: a header in JSON with the type, shape and byte range of each tensor, then the tensors'
//! bytes.
//!
//! ```text
//! 8 bytes    the length of the header, little-endian
//! the header {"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}, padded with blanks to a multiple of 8 bytes
//! the data   the elements of each tensor, row-major and little-endian, one tensor after the other without gaps
//! ```
//!
//! The crate `safetensors` serialises and validates headers. Data is read and written here, piece by piece.

use crate::read_as_much;
use ::safetensors::Dtype;
use ::safetensors::tensor::{Metadata, TensorInfo};
use serde::{Deserialize, Serialize};
use shardwise_base::{Account, DType, Data, counted};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// The largest length of a header in bytes, as in the reference implementation. An index may not be longer either.
const MAX_HEADER: u64 = 100_000_000;
/// The most bytes of memory that parsing a header or an index takes for each byte of its text. So many are reserved.
///
/// A header's values are buffered, in 32 bytes each. A list `[…]` in a list has room for four of them at least, which
/// are 128 bytes for two bytes of text. The sizes of a shape take less: at most 48 for each byte, while the buffer that
/// has become too small is copied to one twice as large.
const PARSED: usize = 64;
/// The key under which a header has facts about the file, and no tensor.
pub const METADATA: &str = "__metadata__";

/// Returns the format's type for an element type. Returns `None` if it has none, or packs the elements into fewer bits
/// than a byte.
fn format_type(dtype: DType) -> Option<Dtype> {
    Some(match dtype {
        DType::I1 => Dtype::BOOL,
        DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::U64 => Dtype::U64,
        DType::F8E4M3FN => Dtype::F8_E4M3,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::F8E4M3FNUZ => Dtype::F8_E4M3FNUZ,
        DType::F8E5M2FNUZ => Dtype::F8_E5M2FNUZ,
        DType::F8E8M0FNU => Dtype::F8_E8M0,
        DType::BF16 => Dtype::BF16,
        DType::F16 => Dtype::F16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        DType::C64 => Dtype::C64,
        _ => return None,
    })
}

/// Returns true if the format has tensors of this element type, and does not pack their elements into fewer bits than a
/// byte.
pub fn supports(dtype: DType) -> bool {
    format_type(dtype).is_some()
}

/// The name, the element type and the shape of a tensor that is to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<usize>,
}

impl Tensor {
    /// Returns the number of bytes of all elements. Does not check whether the product overflows.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().product::<usize>() as u64 * self.dtype.storage_bytes() as u64
    }
}

/// Returns the start of a file with these tensors, up to the data, and the order in which their data follows: indices
/// of `tensors`. Wide types come first, so that every tensor is aligned to its elements.
///
/// The header states the format `pt`, which some readers require. It means no more than that names and shapes are as in
/// PyTorch.
///
/// ```
/// use shardwise_base::DType;
/// use shardwise_files::safetensors::{Tensor, header};
/// let b = Tensor { name: "b".into(), dtype: DType::I8, shape: vec![2] };
/// let w = Tensor { name: "w".into(), dtype: DType::F32, shape: vec![3] };
/// let (bytes, order) = header(&[b, w]);
/// assert_eq!((bytes.len() % 8, order), (0, vec![1, 0]));
/// ```
///
/// # Panics
/// Panics if an element type is not supported ([`supports`]), or if the tensors have too many elements or bytes to be
/// counted. The names must differ from each other and from [`METADATA`], which is not checked.
pub fn header(tensors: &[Tensor]) -> (Vec<u8>, Vec<usize>) {
    let of_type = |i: usize| format_type(tensors[i].dtype).expect("the caller has checked the types");
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by(|&a, &b| of_type(b).cmp(&of_type(a)).then_with(|| tensors[a].name.cmp(&tensors[b].name)));
    let mut end = 0;
    let infos = order.iter().map(|&i| {
        let start = end;
        end += tensors[i].bytes() as usize;
        let info = TensorInfo { dtype: of_type(i), shape: tensors[i].shape.clone(), data_offsets: (start, end) };
        (tensors[i].name.clone(), info)
    });
    let facts = [("format".to_string(), "pt".to_string())].into_iter().collect();
    let metadata = Metadata::new(Some(facts), infos.collect()).expect("ranges without gaps");
    let mut text = serde_json::to_vec(&metadata).expect("a header is JSON");
    text.resize(text.len().next_multiple_of(8), b' ');
    ([&(text.len() as u64).to_le_bytes(), &text[..]].concat(), order)
}

/// A tensor in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub name: String,
    /// The element type, or the format's name of one that is not supported.
    pub dtype: Result<DType, String>,
    pub shape: Vec<usize>,
    /// The range of the tensor's bytes in the file. In a truncated file, it may end beyond the file's end.
    pub range: Range<u64>,
}

/// A file of tensors whose header has been read.
pub struct Reader {
    file: File,
    entries: Vec<Entry>,
    length: u64,
    bytes_read: u64,
}

impl Reader {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is no ordinary file, if its header is malformed, cut off or longer than
    /// 100,000,000 bytes, or if the file goes on after the last tensor. A file that ends within its tensors is no error
    /// here ([`Reader::is_complete`]).
    pub fn open(path: &Path) -> io::Result<Reader> {
        let (mut file, length) = open(path)?;
        let mut start = [0; 8];
        if read_as_much(&mut file, &mut start)? < start.len() {
            return Err(malformed(format!(
                "it has {length} bytes, fewer than the 8 that state the length of a header"
            )));
        }
        let stated = u64::from_le_bytes(start);
        // A file of the system may state fewer bytes than can be read.
        let limit = MAX_HEADER.min(length.saturating_sub(8));
        if stated > limit {
            return Err(malformed(format!(
                "its header has {stated} bytes, where at most {limit} are allowed in a file of {length} bytes"
            )));
        }
        let entries = read_json(&mut file, stated as usize, |text| entries(text, 8 + stated))?;
        let end = entries.iter().map(|e| e.range.end).max().unwrap_or(8 + stated);
        if end < length {
            let rest = counted((length - end) as usize, "byte");
            return Err(malformed(format!("it has {rest} after its last tensor")));
        }
        Ok(Reader { file, entries, length, bytes_read: 8 + stated })
    }

    /// Returns the tensors, in the order of their data.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns true if the file had all bytes of the tensor when it was opened.
    pub fn is_complete(&self, entry: &Entry) -> bool {
        entry.range.end <= self.length
    }

    /// Returns the number of bytes that the file had when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of bytes that have been read so far, the header included.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Fills `out` with the bytes from this position of the file on.
    ///
    /// # Errors
    /// Returns the error of the system, or one of the kind `UnexpectedEof` if the file ends before `out` is full.
    pub fn read(&mut self, position: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(position))?;
        let count = read_as_much(&mut self.file, out)?;
        self.bytes_read += count as u64;
        if count == out.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let found = std::fs::metadata(path)?;
    match found.is_file() {
        true => Ok((File::open(path)?, found.len())),
        false => Err(malformed("it is no ordinary file".into())),
    }
}

fn malformed(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Parses the next `length` bytes, or as many as the file has. Memory for the text and the result is reserved
/// meanwhile. Fails if the file cannot be read, or if `parse` fails.
fn read_json<T>(file: &mut impl Read, length: usize, parse: impl FnOnce(&[u8]) -> io::Result<T>) -> io::Result<T> {
    let _parsed = Account::current().reserve_or_stop(length.saturating_mul(PARSED));
    let mut text = Data::<u8>::zeroed(length);
    let count = read_as_much(file, &mut text)?;
    parse(&text[..count])
}

fn entries(text: &[u8], data_start: u64) -> io::Result<Vec<Entry>> {
    let metadata: Metadata = serde_json::from_slice(text).map_err(|e| malformed(format!("its header: {e}")))?;
    let entry = |name: String| {
        let info = metadata.info(&name)?;
        let at = |offset: usize| data_start.checked_add(offset as u64);
        let range = at(info.data_offsets.0)?..at(info.data_offsets.1)?;
        let dtype = DType::ALL.iter().copied().find(|&d| format_type(d) == Some(info.dtype));
        let dtype = dtype.ok_or_else(|| info.dtype.to_string());
        Some(Entry { name, dtype, shape: info.shape.clone(), range })
    };
    let all = metadata.offset_keys().into_iter().map(entry).collect::<Option<Vec<Entry>>>();
    all.ok_or_else(|| malformed("its header has offsets that are too large".into()))
}

/// The index of a model in several files: `model.safetensors.index.json`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Index {
    /// Facts about the model. They have the value 0 if a file states none.
    #[serde(default)]
    pub metadata: IndexMetadata,
    /// For each tensor, by its name, the name of the file that has it.
    pub weight_map: BTreeMap<String, String>,
}

/// Facts about a model. Others than these are ignored when an index is read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IndexMetadata {
    /// The number of bytes of all tensors, which is not checked. It is 0 if a file does not state it.
    #[serde(default)]
    pub total_size: u64,
}

impl Index {
    /// Reads an index.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if it has more than 100,000,000 bytes, if it is no index, or if it names a
    /// file outside of its folder. Names of files must not be empty, `.` or `..`, and must not contain `/`, `\`, colons
    /// or NUL.
    pub fn read(file: &mut File) -> io::Result<Index> {
        let length = file.metadata()?.len();
        if length > MAX_HEADER {
            return Err(malformed(format!("it has {length} bytes, more than {MAX_HEADER}")));
        }
        let index: Index = read_json(file, length as usize, |text| {
            serde_json::from_slice(text).map_err(|e| malformed(e.to_string()))
        })?;
        match index.weight_map.values().find(|name| !is_plain(name)) {
            Some(name) => {
                Err(malformed(format!("it names the file {name:?}, which is not the name of a file in its folder")))
            }
            None => Ok(index),
        }
    }

    /// Returns the text of the index, as other tools write it.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("an index is JSON") + "\n"
    }
}

/// Returns true if this may be the name of a file, and is not a path to another place.
fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{Budget, CancelToken};
    use std::path::PathBuf;

    fn saved(name: &str, bytes: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("shardwise-safetensors-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    }

    fn opened(name: &str, bytes: &[u8]) -> String {
        let path = saved(name, bytes);
        let read = Reader::open(&path);
        std::fs::remove_file(path).unwrap();
        match read {
            Ok(reader) => reader.entries().iter().map(|e| format!("{} ", e.name)).collect(),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_may_state_fewer_bytes_than_it_has() {
        let found = Reader::open(Path::new("/proc/version")).err().expect("it is no file of tensors");
        assert!(found.to_string().ends_with("where at most 0 are allowed in a file of 0 bytes"), "{found}");
    }

    #[test]
    fn a_header_is_read_back() {
        let tensor = |name: &str, dtype, shape: &[usize]| Tensor { name: name.into(), dtype, shape: shape.to_vec() };
        let tensors =
            [tensor("b\"\n", DType::I8, &[3]), tensor("a", DType::F32, &[]), tensor("empty", DType::BF16, &[0, 4])];
        let (mut bytes, order) = header(&tensors);
        let start = bytes.len() as u64;
        assert_eq!(order, [1, 2, 0]);
        bytes.extend([0; 7]);
        let path = saved("header", &bytes);
        let reader = Reader::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let ranges = [start..start + 4, start + 4..start + 4, start + 4..start + 7];
        for ((entry, i), range) in reader.entries().iter().zip(order).zip(ranges) {
            let Tensor { name, dtype, shape } = tensors[i].clone();
            assert_eq!(*entry, Entry { name, dtype: Ok(dtype), shape, range });
        }
        assert_eq!((reader.length(), reader.bytes_read()), (start + 7, start));
    }

    #[test]
    fn malformed_files_are_refused() {
        let one = |range: &str| format!(r#"{{"a":{{"dtype":"U8","shape":[2],"data_offsets":{range}}}}}"#);
        let two = |a: &str, b: &str| {
            let tensor = |range: &str| format!(r#"{{"dtype":"U8","shape":[2],"data_offsets":{range}}}"#);
            format!(r#"{{"a":{},"b":{}}}"#, tensor(a), tensor(b))
        };
        assert_eq!(opened("good", &file(&one("[0,2]"), &[1, 2])), "a ");
        let wrong = [
            (vec![], "fewer than the 8 that state the length of a header"),
            (vec![0; 7], "fewer than the 8 that state the length of a header"),
            (u64::MAX.to_le_bytes().to_vec(), "its header has 18446744073709551615 bytes"),
            (9u64.to_le_bytes().to_vec(), "its header has 9 bytes, where at most 0 are allowed in a file of 8 bytes"),
            (file("[]", &[]), "its header"),
            (file(&format!("{{\"a\":{}", "[".repeat(100_000)), &[]), "recursion limit"),
            (file(&one("[0,2]"), &[1, 2, 3]), "it has 1 byte after its last tensor"),
            (file(&one("[0,2]"), &[1, 2, 3, 4]), "it has 2 bytes after its last tensor"),
            (file(&one("[0,3]"), &[1, 2, 3]), "invalid shape, data type, or offset"),
            (file(&one("[2,0]"), &[1, 2]), "invalid offset"),
            (file(&one("[1,3]"), &[1, 2, 3]), "invalid offset for tensor `a`"),
            (file(&two("[0,2]", "[3,5]"), &[0; 5]), "invalid offset for tensor `b`"),
            (file(&two("[0,2]", "[1,3]"), &[0; 3]), "invalid offset for tensor `b`"),
            (file(&two("[0,2]", "[0,2]"), &[0; 2]), "invalid offset"),
            (file(&one("[0,2]").replace("[2]", "[4294967296,4294967296,2]"), &[0; 2]), "overflow"),
            (file(&one("[0,2]").replace("U8", "U9"), &[0; 2]), "unknown variant"),
        ];
        for (i, (bytes, why)) in wrong.into_iter().enumerate() {
            let said = opened("wrong", &bytes);
            assert!(said.contains(why), "{i}: {said}");
        }
    }

    #[test]
    fn the_memory_of_a_header_is_limited() {
        let path = saved("large", &file(&format!("{{{}}}", " ".repeat(1 << 20)), &[]));
        let small = Budget::new(Account::with_limit(64 << 20), None, CancelToken::default());
        let read = small.run(|| Reader::open(&path).map(|_| ()));
        std::fs::remove_file(path).unwrap();
        assert!(matches!(read, Err(shardwise_base::Stop::Memory(_))), "{read:?}");
    }

    #[test]
    fn an_index_names_files_of_its_folder() {
        let read = |file: &str| {
            let text = format!(r#"{{"metadata":{{"total_size":4,"x":1}},"weight_map":{{"a":{file:?}}}}}"#);
            let path = saved("index", text.as_bytes());
            let index = Index::read(&mut File::open(&path).unwrap());
            std::fs::remove_file(path).unwrap();
            index.map_err(|e| e.to_string())
        };
        let index = read("model-00001-of-00002.safetensors").unwrap();
        assert_eq!((index.metadata.total_size, index.weight_map.len()), (4, 1));
        assert_eq!(serde_json::from_str::<Index>(&index.text()).unwrap(), index);
        for outside in ["../a", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "c:a"] {
            assert!(read(outside).unwrap_err().contains("not the name of a file in its folder"), "{outside}");
        }
    }
}
