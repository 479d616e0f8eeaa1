//! Vectors of words in machine code, and how they are loaded and stored.
#![forbid(unsafe_code)]

use crate::elem::Elem;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Endianness, InstBuilder, MemFlagsData, Signature, Type, Value, types,
};
use cranelift_frontend::FunctionBuilder;

/// The width of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    pub is_wide: bool,
}

impl Width {
    /// Returns the number of lanes of a vector.
    pub fn lanes(self) -> usize {
        if self.is_wide { 2 } else { 4 }
    }

    pub fn bytes(self) -> usize {
        if self.is_wide { 8 } else { 4 }
    }

    pub fn bits(self) -> u64 {
        8 * self.bytes() as u64
    }

    pub fn int(self) -> Type {
        if self.is_wide { types::I64 } else { types::I32 }
    }

    pub fn float(self) -> Type {
        if self.is_wide { types::F64 } else { types::F32 }
    }

    pub fn ints(self) -> Type {
        if self.is_wide { types::I64X2 } else { types::I32X4 }
    }

    pub fn floats(self) -> Type {
        if self.is_wide { types::F64X2 } else { types::F32X4 }
    }

    /// Returns the number of the first element and the number of elements of each vector of `len` elements.
    pub fn pieces(self, len: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..len).step_by(self.lanes()).map(move |first| (first, self.lanes().min(len - first)))
    }
}

/// The number of bytes of a vector.
pub(crate) const VECTOR_BYTES: usize = 16;

/// A function of machine code while it is built. Vectors have the types of integers.
pub(crate) struct Vectors<'f> {
    pub b: FunctionBuilder<'f>,
}

/// A loop while it is built.
pub(crate) struct Loop {
    head: Block,
    after: Block,
    /// The number of turns that are left, with the current one.
    left: Value,
    /// The values that are passed from turn to turn, in the current turn.
    pub passed: Vec<Value>,
}

impl Vectors<'_> {
    /// Starts a loop of `turns` turns, which must be at least one, and passes values to the first one.
    pub fn start_loop(&mut self, turns: Value, passed: &[Value]) -> Loop {
        let (head, after) = (self.b.create_block(), self.b.create_block());
        let left = self.b.append_block_param(head, types::I64);
        let param = |&value: &Value| {
            let ty = self.b.func.dfg.value_type(value);
            self.b.append_block_param(head, ty)
        };
        let params = passed.iter().map(param).collect();
        self.b.ins().jump(head, &arguments(turns, passed));
        self.b.switch_to_block(head);
        Loop { head, after, left, passed: params }
    }

    /// Ends a loop, and passes values to its next turn. What follows comes after the loop.
    pub fn end_loop(&mut self, turns: &Loop, passed: &[Value]) {
        let left = self.b.ins().iadd_imm_s(turns.left, -1);
        self.b.ins().brif(left, turns.head, &arguments(left, passed), turns.after, &[]);
        self.b.switch_to_block(turns.after);
    }

    /// Returns the address that is `bytes` bytes later.
    pub fn later(&mut self, address: Value, bytes: isize) -> Value {
        if bytes == 0 { address } else { self.b.ins().iadd_imm_s(address, bytes as i64) }
    }

    /// Returns a vector whose first lanes are the words that `f` returns for them.
    pub fn by_lane(&mut self, width: Width, lanes: usize, mut f: impl FnMut(&mut Self, usize) -> Value) -> Value {
        let first = f(self, 0);
        let mut vector = self.b.ins().scalar_to_vector(width.ints(), first);
        for lane in 1..lanes {
            let word = f(self, lane);
            vector = self.b.ins().insertlane(vector, word, lane as u8);
        }
        vector
    }

    /// Adds a call of the function at a constant address, which has no effects, and returns its result. The function
    /// may ignore the last arguments.
    pub fn call_formula(&mut self, address: usize, arguments: &[Value], result: Type) -> Value {
        let mut signature = Signature::new(self.b.func.signature.call_conv);
        let param = |&value: &Value| AbiParam::new(self.b.func.dfg.value_type(value));
        signature.params.extend(arguments.iter().map(param));
        signature.returns.push(AbiParam::new(result));
        let signature = self.b.import_signature(signature);
        let address = self.b.ins().iconst(types::I64, address as i64);
        let call = self.b.ins().call_indirect(signature, address, arguments);
        self.b.inst_results(call)[0]
    }

    /// Returns a vector with these words as its first lanes, and 0 in the others.
    pub fn vector(&mut self, width: Width, words: &[u64]) -> Value {
        let mut bytes: Vec<u8> = vec![];
        words.iter().for_each(|word| bytes.extend(&word.to_le_bytes()[..width.bytes()]));
        bytes.resize(16, 0);
        let constant = self.b.func.dfg.constants.insert(bytes.into());
        self.b.ins().vconst(width.ints(), constant)
    }

    /// Returns a vector whose lanes are all one word.
    pub fn all(&mut self, width: Width, bits: u64) -> Value {
        self.vector(width, &vec![bits; width.lanes()])
    }

    /// Returns the bits of a vector as another type.
    pub fn cast(&mut self, ty: Type, vector: Value) -> Value {
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        match self.b.func.dfg.value_type(vector) == ty {
            true => vector,
            false => self.b.ins().bitcast(ty, flags, vector),
        }
    }

    /// Returns an address and an offset that lead to the byte `offset` bytes after `base`. The offsets of the bytes of
    /// a vector there fit into instructions, too.
    pub fn near(&mut self, base: Value, offset: usize) -> (Value, i32) {
        match i32::try_from(offset) {
            Ok(near) if near <= i32::MAX - VECTOR_BYTES as i32 => (base, near),
            _ => {
                let by = self.b.ins().iconst(types::I64, offset as i64);
                (self.b.ins().iadd(base, by), 0)
            }
        }
    }

    /// Returns words in memory, from `offset` bytes after `base` on, as the first lanes of a vector.
    pub fn load_at(&mut self, width: Width, base: Value, offset: usize, lanes: usize) -> Value {
        let (base, offset) = self.near(base, offset);
        let float = match lanes * width.bytes() {
            16 => return self.b.ins().load(width.ints(), flags(), base, offset),
            4 => types::F32,
            _ => types::F64,
        };
        let first = self.b.ins().load(float, flags(), base, offset);
        let vector = self.b.ins().scalar_to_vector(vector_of(float), first);
        if lanes == 3 {
            let third = self.b.ins().load(types::F32, flags(), base, offset + 8);
            let vector = self.cast(types::F32X4, vector);
            let vector = self.b.ins().insertlane(vector, third, 2);
            return self.cast(width.ints(), vector);
        }
        self.cast(width.ints(), vector)
    }

    /// Stores the first lanes of a vector to memory, from `offset` bytes after `base` on.
    pub fn store_at(&mut self, width: Width, base: Value, offset: usize, lanes: usize, vector: Value) {
        let (base, offset) = self.near(base, offset);
        let float = match lanes * width.bytes() {
            16 => {
                self.b.ins().store(flags(), vector, base, offset);
                return;
            }
            4 => types::F32,
            _ => types::F64,
        };
        let whole = self.cast(vector_of(float), vector);
        let first = self.b.ins().extractlane(whole, 0);
        self.b.ins().store(flags(), first, base, offset);
        if lanes == 3 {
            let whole = self.cast(types::F32X4, vector);
            let third = self.b.ins().extractlane(whole, 2);
            self.b.ins().store(flags(), third, base, offset + 8);
        }
    }

    /// Returns a vector whose first lanes are lanes of another one.
    pub fn permuted(&mut self, width: Width, vector: Value, lanes: &[usize]) -> Value {
        let bytes = (0..width.lanes()).flat_map(|lane| {
            let from = lanes.get(lane).copied().unwrap_or(lane);
            (0..width.bytes()).map(move |byte| (from * width.bytes() + byte) as u8)
        });
        let mask = self.b.func.dfg.immediates.push(bytes.collect::<Vec<u8>>().into());
        let vector = self.cast(types::I8X16, vector);
        let vector = self.b.ins().shuffle(vector, vector, mask);
        self.cast(width.ints(), vector)
    }

    /// Returns a vector with the first lanes of another one. The others are the identity.
    pub fn filled(&mut self, width: Width, vector: Value, lanes: usize, identity: u64) -> Value {
        let mask = self.vector(width, &vec![u64::MAX; lanes]);
        let identity = self.all(width, identity);
        self.b.ins().bitselect(mask, vector, identity)
    }

    /// Returns a real element in memory as a word, except one of type `f16`.
    pub fn load_element(&mut self, width: Width, elem: Elem, address: Value, offset: usize) -> Value {
        let (address, offset) = self.near(address, offset);
        if elem == Elem::F32 && width.is_wide {
            let float = self.b.ins().load(types::F32, flags(), address, offset);
            let float = self.b.ins().fpromote(types::F64, float);
            return self.b.ins().bitcast(types::I64, MemFlagsData::new(), float);
        }
        let element = self.b.ins().load(integer(elem), flags(), address, offset);
        match elem {
            _ if elem.size() == width.bytes() => element,
            Elem::Bool => self.b.ins().bmask(width.int(), element),
            Elem::BF16 => {
                let word = self.b.ins().uextend(width.int(), element);
                self.b.ins().ishl_imm_u(word, 16)
            }
            elem if elem.is_signed() => self.b.ins().sextend(width.int(), element),
            _ => self.b.ins().uextend(width.int(), element),
        }
    }

    /// Stores a word as a real element, except one of type `f16`. A float must be one of the element's type already.
    pub fn store_element(&mut self, width: Width, elem: Elem, address: Value, offset: usize, mut word: Value) {
        let (address, offset) = self.near(address, offset);
        if elem == Elem::F32 && width.is_wide {
            let float = self.b.ins().bitcast(types::F64, MemFlagsData::new(), word);
            let float = self.b.ins().fdemote(types::F32, float);
            self.b.ins().store(flags(), float, address, offset);
            return;
        }
        word = match elem {
            Elem::Bool => self.b.ins().band_imm_s(word, 1),
            Elem::BF16 => self.b.ins().ushr_imm_u(word, 16),
            _ => word,
        };
        if elem.size() < width.bytes() {
            word = self.b.ins().ireduce(integer(elem), word);
        }
        self.b.ins().store(flags(), word, address, offset);
    }

    /// Returns four elements of 8 or 16 bits that follow each other in memory as a vector of words of 32 bits. They are
    /// integers, truth values or `bf16`.
    pub fn load_narrow(&mut self, elem: Elem, address: Value) -> Value {
        let is_byte = elem.size() == 1;
        let (bits, vector, lanes) = match is_byte {
            true => (types::I32, types::I32X4, types::I8X16),
            false => (types::I64, types::I64X2, types::I16X8),
        };
        let bits = self.b.ins().load(bits, flags(), address, 0);
        let elements = self.b.ins().scalar_to_vector(vector, bits);
        let mut elements = self.cast(lanes, elements);
        for _ in 0..if is_byte { 2 } else { 1 } {
            elements = match elem.is_signed() {
                true => self.b.ins().swiden_low(elements),
                false => self.b.ins().uwiden_low(elements),
            };
        }
        let zero = self.all(Width { is_wide: false }, 0);
        match elem {
            Elem::Bool => self.b.ins().icmp(IntCC::NotEqual, elements, zero),
            Elem::BF16 => {
                let by = self.b.ins().iconst(types::I32, 16);
                self.b.ins().ishl(elements, by)
            }
            _ => elements,
        }
    }

    /// Stores four words of 32 bits as elements of 8 or 16 bits that follow each other in memory. They are integers,
    /// truth values or `bf16`.
    pub fn store_narrow(&mut self, elem: Elem, address: Value, words: Value) {
        let size = elem.size();
        // The bytes of each word that are stored.
        let first = if elem == Elem::BF16 { 2 } else { 0 };
        let bytes = (0..VECTOR_BYTES).map(|i| ((i / size * 4 + first + i % size) % 16) as u8);
        let mask = self.b.func.dfg.immediates.push(bytes.collect::<Vec<u8>>().into());
        let bytes = self.cast(types::I8X16, words);
        let bytes = self.b.ins().shuffle(bytes, bytes, mask);
        let elements = self.cast(if size == 1 { types::I32X4 } else { types::I64X2 }, bytes);
        let mut elements = self.b.ins().extractlane(elements, 0);
        if elem == Elem::Bool {
            elements = self.b.ins().band_imm_s(elements, 0x0101_0101);
        }
        self.b.ins().store(flags(), elements, address, 0);
    }
}

/// Returns the flags of an access to memory that the program may access, at any alignment.
pub(crate) fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

fn vector_of(float: Type) -> Type {
    if float == types::F64 { types::F64X2 } else { types::F32X4 }
}

/// Returns the type of the bits of an element of an integer or truth type.
fn integer(elem: Elem) -> types::Type {
    match elem.size() {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

fn arguments(left: Value, passed: &[Value]) -> Vec<BlockArg> {
    [left].iter().chain(passed).map(|&value| BlockArg::Value(value)).collect()
}
