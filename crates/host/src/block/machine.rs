//! The interpreter of block programs.
//!
//! The accumulator is one block: eight vectors, which the compiler keeps in registers through the `match`. An
//! instruction combines it with memory (an operand or a temporary of [`TEMP`] bytes) or with an immediate. The address
//! of block `b` is `base + b * step`, so nothing is updated between blocks.
#![expect(unsafe_code, reason = "the machine follows addresses")]

use super::fold::Fold;
use super::functions::{self, Binary as _, Unary as _};
use super::lanes::Lanes;
use crate::elem::Elem;
use crate::simd::{AtLevel, Level, Portable, Vector, Word, prefetch, run_words};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use shardwise_mathfn::with_functions;

/// The number of bytes of a temporary, which holds the largest block.
pub(crate) const TEMP: usize = 512;
/// The distance in bytes at which memory is prefetched, unless an instruction has a distance of its own.
pub(crate) const AHEAD: usize = 4096;
/// The number of bytes of the partial results of a reduction.
pub(crate) const PARTIALS: usize = 256;

/// One instruction, of 24 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Ins {
    pub op: Op,
    /// Depending on `op`, the offset of a second temporary in bytes, a number of lanes or of cache lines, a distance in
    /// bytes, the number of an operand, or 0 if there is nothing to state.
    pub extra: u32,
    /// The number of bytes from one block to the next, or 0 if all blocks have the same `base`. For [`Op::Iota`], the
    /// difference between the first number of a block and that of the next one. Within a block, the numbers grow by 1.
    pub step: isize,
    /// An address, or the bits of an immediate. For [`Op::Iota`], the first number.
    pub base: *mut u8,
}

const _: () = assert!(size_of::<Ins>() == 24);

/// Elements at a stride, which `Gather` copies to a temporary and `Scatter` from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided {
    /// The address of the element of the row's first lane.
    pub row: *mut u8,
    /// The number of bytes from element to element in a run.
    pub stride: isize,
    /// The number of elements of a run.
    pub run: usize,
    /// The number of bytes from run to run.
    pub run_stride: isize,
    /// The number of bytes of an element.
    pub size: usize,
    /// The first lane of the first block.
    pub lane: usize,
    /// The number of lanes that a block copies, which is less for a partial block.
    pub lanes: usize,
    pub temp: *mut u8,
}

/// A function that runs a program. Its arguments are the code, the number of blocks, the start of the temporaries, and
/// the number 8.
pub(crate) type Run = unsafe fn(&[Ins], usize, *mut u8, usize);

/// A function that folds words by a reduction.
pub(crate) type FoldBy = unsafe fn(Op, &Fold);

/// The interpreter of block programs for one level of vector instructions, and for lanes of 32 or of 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub run: Run,
    pub fold: FoldBy,
    /// The number of lanes of a block.
    pub lanes: usize,
}

macro_rules! machine {
    (
        load { $($load:ident = $load_fn:ident $load_size:literal,)* }
        store { $($store:ident = $store_fn:ident $store_size:literal,)* }
        unary { $($unary:ident = $unary_fn:ident,)* }
        heavy { $($heavy:ident = $heavy_fn:ident,)* }
        binary { $($binary:ident $binary_imm:ident = $binary_fn:ident,)* }
        heavy_binary { $($heavy2:ident = $heavy2_fn:ident,)* }
        vector_binary { $($vector2:ident $by_vector:ident = $vector2_fn:ident,)* }
        reduce { $($reduce:ident = $reduce_fn:ident,)* }
        unary_functions { $($_op:ident $function:ident $function_fn:ident $_f32:ident $_f64:ident $how:ident,)* }
        binary_functions { $($_op2:ident $function2:ident $function2_fn:ident $_f32_2:ident $_f64_2:ident $how2:ident,)* }
    ) => {
        /// The operation of an instruction. Most change the accumulator, and the others access memory.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub(crate) enum Op {
            $($load,)* $($store,)* $($unary,)* $($heavy,)* $($binary, $binary_imm,)* $($heavy2,)* $($vector2,)* $($reduce,)*
            $($function,)* $($function2,)*
            /// Loads a whole word for each lane.
            Load,
            /// Stores a whole word for each lane.
            Store,
            /// Stores as `Store` does, but bypasses the caches. The address must be a multiple of a vector's size.
            StoreStreaming,
            /// Loads as `Load` does, and prefetches the memory `extra` bytes ahead.
            LoadAhead,
            /// Prefetches `extra` cache lines, which start [`AHEAD`] bytes after the address.
            Prefetch,
            LoadImm,
            /// `memory - accumulator`, of floats.
            FRsub,
            /// `immediate - accumulator`, of floats.
            FRsubImm,
            /// `memory - accumulator`, of integers.
            IRsub,
            /// `immediate - accumulator`, of integers.
            IRsubImm,
            /// `memory / accumulator`, of floats.
            FRdiv,
            /// `immediate / accumulator`, of floats.
            FRdivImm,
            /// `accumulator ? memory : second temporary`.
            Select,
            /// Integers that count up from `base`, by 1 for each lane and `step` for each block.
            Iota,
            /// Keeps the first `extra` lanes of the block and sets the others to the immediate.
            Keep,
            /// Copies strided elements to a temporary. `base` is the address of a [`Strided`].
            Gather,
            /// Copies the elements of a temporary to strided places. `base` is the address of a [`Strided`].
            Scatter,
        }

        impl Op {
            /// Returns the form of a binary operation whose second operand is an immediate, or `None` if the operation
            /// has no such form or already has an immediate.
            pub(crate) fn immediate(self) -> Option<Op> {
                match self {
                    $(Op::$binary => Some(Op::$binary_imm),)*
                    Op::FRsub => Some(Op::FRsubImm),
                    Op::IRsub => Some(Op::IRsubImm),
                    Op::FRdiv => Some(Op::FRdivImm),
                    _ => None,
                }
            }

            /// Returns true if estimates of the time count the operation as several additions.
            pub(crate) fn is_long(self) -> bool {
                matches!(self, $(Op::$function |)* $(Op::$function2 |)* Op::FDiv | Op::Gather | Op::Scatter)
            }

            /// Returns the result of a unary operation on `a`, or of a binary operation on `a` and `b`, for tests.
            /// Returns `None` for other operations. The immediate form of a binary operation takes `b` as its
            /// immediate.
            #[cfg(test)]
            pub(crate) fn evaluate<W: Word>(self, a: W, b: W) -> Option<W> {
                match self {
                    $(Op::$unary => Some(a.$unary_fn()),)*
                    $(Op::$heavy => Some(a.$heavy_fn()),)*
                    $(Op::$function => Some(a.$function_fn()),)*
                    $(Op::$binary | Op::$binary_imm => Some(a.$binary_fn(b)),)*
                    $(Op::$heavy2 => Some(a.$heavy2_fn(b)),)*
                    $(Op::$vector2 => Some(a.$vector2_fn(b)),)*
                    $(Op::$function2 => Some(a.$function2_fn(b)),)*
                    Op::FRsub | Op::FRsubImm => Some(b.fsub(a)),
                    Op::IRsub | Op::IRsubImm => Some(b.isub(a)),
                    Op::FRdiv | Op::FRdivImm => Some(b.fdiv(a)),
                    _ => None,
                }
            }

            /// Computes a unary or binary operation on lanes. Panics for any other operation.
            #[inline(always)]
            pub(crate) fn on_lanes<V: Vector>(self, lanes: &mut Lanes<'_, V::Word>) {
                match self {
                    $(Op::$unary => lanes.unary(|a| a.$unary_fn()),)*
                    $(Op::$binary | Op::$binary_imm => lanes.binary(|a, b| a.$binary_fn(b)),)*
                    $(Op::$heavy => lanes.unary(|a| a.$heavy_fn()),)*
                    $(Op::$function => on_lanes!($how unary, function, lanes, V, $function),)*
                    $(Op::$heavy2 => lanes.binary(|a, b| a.$heavy2_fn(b)),)*
                    $(Op::$vector2 => lanes.binary_function::<V, functions::$by_vector>(),)*
                    $(Op::$function2 => on_lanes!($how2 binary, binary_function, lanes, V, $function2),)*
                    Op::FRsub | Op::FRsubImm => lanes.binary(|a, b| b.fsub(a)),
                    Op::IRsub | Op::IRsubImm => lanes.binary(|a, b| b.isub(a)),
                    Op::FRdiv | Op::FRdivImm => lanes.binary(|a, b| b.fdiv(a)),
                    _ => unreachable!("{self:?} is no function of lanes"),
                }
            }

            /// Folds a row of words into one by this reduction, in the order that `shardwise_mathfn::order` states for
            /// a row with `N` partial results. `identity` changes no element. Panics if this is no reduction.
            #[inline(always)]
            pub(crate) fn fold_row<W: Word, const N: usize>(self, identity: W, row: &[W]) -> W {
                let mut partials = [identity; N];
                // The partial results after these stay the identity.
                let live = row.len().next_power_of_two().min(N);
                match self {
                    $(Op::$reduce => {
                        for elements in row.chunks(N) {
                            partials.iter_mut().zip(elements).for_each(|(a, b)| *a = a.$reduce_fn(*b));
                        }
                        fold_halves(&mut partials[..live], |a, b| a.$reduce_fn(b))
                    })*
                    _ => unreachable!("{self:?} is no reduction"),
                }
            }

            /// Combines each word by this reduction with the word at the same place in `others`. Panics if this is no
            /// reduction.
            #[inline(always)]
            pub(crate) fn combine_each<W: Word>(self, words: &mut [W], others: &[W]) {
                match self {
                    $(Op::$reduce => words.iter_mut().zip(others).for_each(|(a, b)| *a = a.$reduce_fn(*b)),)*
                    _ => unreachable!("{self:?} is no reduction"),
                }
            }

            /// Combines two words by this reduction. Panics if this is no reduction.
            #[inline(always)]
            pub(crate) fn combine<W: Word>(self, a: W, b: W) -> W {
                match self {
                    $(Op::$reduce => a.$reduce_fn(b),)*
                    _ => unreachable!("{self:?} is no reduction"),
                }
            }

            /// Folds the upper half of the partial results into the lower until one is left, and returns it. Their
            /// number must be a power of two. Panics if this is no reduction.
            pub(crate) fn fold<W: Word>(self, partials: &mut [W]) -> W {
                match self {
                    $(Op::$reduce => fold_halves(partials, |a, b| a.$reduce_fn(b)),)*
                    _ => unreachable!("{self:?} is no reduction"),
                }
            }

            /// Folds words by this reduction. Panics if this is no reduction.
            ///
            /// # Safety
            /// The conditions of [`Fold::run`] must hold.
            #[inline(always)]
            pub(crate) unsafe fn fold_words<V: Vector>(self, words: &Fold) {
                match self {
                    // SAFETY: as the caller says.
                    $(Op::$reduce => unsafe { words.run::<V>(|a, b| a.$reduce_fn(b), |a, b| a.$reduce_fn(b)) },)*
                    _ => unreachable!("{self:?} is no reduction"),
                }
            }

            #[cfg(test)]
            pub(crate) const TESTED: &[Op] = &[
                $(Op::$unary,)* $(Op::$heavy,)* $(Op::$binary, Op::$binary_imm,)* $(Op::$heavy2,)* $(Op::$vector2,)*
                $(Op::$function,)* $(Op::$function2,)*
                Op::FRsub, Op::FRsubImm, Op::IRsub, Op::IRsubImm, Op::FRdiv, Op::FRdivImm,
            ];
        }

        /// Runs all instructions of `code` for each of `blocks` blocks, one block after the other. The temporaries
        /// start at `temps`, and `eight` is 8.
        ///
        /// # Safety
        /// The addresses of the code must be readable, or writable, for `blocks` blocks. So must the elements and the
        /// temporary of each [`Strided`], and the second temporary of each [`Op::Select`]. The address of an
        /// [`Op::StoreStreaming`] must be a multiple of the size of a vector of `V` in each block. The machine must have
        /// the instructions of `V`.
        #[inline(always)]
        unsafe fn run<V: Block>(code: &[Ins], blocks: usize, temps: *mut u8, eight: usize) {
            let mut a = [V::splat(V::Word::from_bits64(0)); 8];
            for block in 0..blocks {
                for ins in code {
                    let p = ins.base.wrapping_offset(ins.step.wrapping_mul(block as isize));
                    let imm = || V::splat(V::Word::from_bits64(ins.base.addr() as u64));
                    // SAFETY: all accesses in this table are of one block at `p`, as the caller allows.
                    unsafe {
                        match ins.op {
                            Op::Load => eight!(V, eight, i, a[i] = V::load(word_at::<V>(p, i))),
                            Op::LoadAhead => eight!(V, eight, i, {
                                let p = word_at::<V>(p, i);
                                a[i] = V::load(p);
                                prefetch(p.wrapping_add(ins.extra as usize));
                            }),
                            Op::Prefetch => (0..ins.extra as usize).for_each(|l| prefetch(p.wrapping_add(AHEAD + 64 * l))),
                            Op::LoadImm => eight!(V, eight, i, a[i] = imm()),
                            $(Op::$load => eight!(V, eight, i, a[i] = V::$load_fn(p.add(i * V::LANES * $load_size))),)*
                            Op::Store => eight!(V, eight, i, a[i].store(word_at::<V>(p, i))),
                            Op::StoreStreaming => eight!(V, eight, i, a[i].store_streaming(word_at::<V>(p, i))),
                            $(Op::$store => eight!(V, eight, i, a[i].$store_fn(p.add(i * V::LANES * $store_size))),)*
                            $(Op::$unary => eight!(V, eight, i, a[i] = a[i].$unary_fn()),)*
                            $(Op::$binary => eight!(V, eight, i, a[i] = a[i].$binary_fn(V::load(word_at::<V>(p, i)))),)*
                            $(Op::$binary_imm => {
                                let s = imm();
                                eight!(V, eight, i, a[i] = a[i].$binary_fn(s))
                            })*
                            $(Op::$reduce => fold!(V, a, p, eight, $reduce_fn),)*
                            Op::FRsub => eight!(V, eight, i, a[i] = V::load(word_at::<V>(p, i)).fsub(a[i])),
                            Op::FRsubImm => eight!(V, eight, i, a[i] = imm().fsub(a[i])),
                            Op::IRsub => eight!(V, eight, i, a[i] = V::load(word_at::<V>(p, i)).isub(a[i])),
                            Op::IRsubImm => eight!(V, eight, i, a[i] = imm().isub(a[i])),
                            Op::FRdiv => eight!(V, eight, i, a[i] = V::load(word_at::<V>(p, i)).fdiv(a[i])),
                            Op::FRdivImm => eight!(V, eight, i, a[i] = imm().fdiv(a[i])),
                            Op::Select => {
                                let b = temps.add(ins.extra as usize);
                                eight!(V, eight, i, a[i] = a[i].choose(V::load(word_at::<V>(p, i)), V::load(word_at::<V>(b, i))))
                            }
                            _ => {
                                let mut b = a;
                                V::run_long(ins, p, block, &mut b, eight);
                                a = b;
                            }
                        }
                    }
                }
            }
        }

        /// Runs an instruction that `run` does not run in line, for block number `block` with the accumulator `a`: an
        /// operation that takes many instructions, such as an exponential or an integer division, or `Iota`, `Keep`,
        /// `Gather` or `Scatter`. Panics for any other instruction. It is a separate function so that it takes no
        /// registers from the other instructions.
        ///
        /// # Safety
        /// As for `run`, for one block at `p`.
        #[inline(always)]
        unsafe fn run_long<V: Vector>(ins: &Ins, p: *mut u8, block: usize, a: &mut [V; 8], eight: usize) {
            let imm = V::splat(V::Word::from_bits64(ins.base.addr() as u64));
            // SAFETY: as in `run`.
            unsafe {
                match ins.op {
                    $(Op::$heavy => each_vector!(a, eight, _i, x, x.$heavy_fn()),)*
                    $(Op::$function => each_vector!(a, eight, _i, x, x.$function_fn()),)*
                    $(Op::$heavy2 => each_vector!(a, eight, i, x, x.$heavy2_fn(V::load(word_at::<V>(p, i)))),)*
                    $(Op::$vector2 => each_vector!(a, eight, i, x, x.$vector2_fn(V::load(word_at::<V>(p, i)))),)*
                    $(Op::$function2 => each_vector!(a, eight, i, x, x.$function2_fn(V::load(word_at::<V>(p, i)))),)*
                    Op::Iota => {
                        let start = V::splat(V::Word::from_bits64(p.addr() as u64));
                        each_vector!(a, eight, i, _x, start.iadd(ramp::<V>(i)));
                    }
                    Op::Keep => {
                        let count = V::splat(V::Word::from_bits64(ins.extra.into()));
                        each_vector!(a, eight, i, x, ramp::<V>(i).ult(count).choose(x, imm));
                    }
                    Op::Gather => exchange::<false>(&*ins.base.cast::<Strided>(), block),
                    Op::Scatter => exchange::<true>(&*ins.base.cast::<Strided>(), block),
                    _ => unreachable!("{:?} is run in line", ins.op),
                }
            }
        }
    };
}

/// Computes a function on lanes: in vectors if it has a formula over them, and otherwise word by word.
macro_rules! on_lanes {
    (formula $_by_word:ident, $by_vector:ident, $lanes:ident, $v:ident, $function:ident) => {
        $lanes.$by_vector::<$v, functions::$function>()
    };
    (scalar unary, $_by_vector:ident, $lanes:ident, $_v:ident, $function:ident) => {
        $lanes.unary(|a| functions::$function::one(a))
    };
    (scalar binary, $_by_vector:ident, $lanes:ident, $_v:ident, $function:ident) => {
        $lanes.binary(|a, b| functions::$function::one(a, b))
    };
}

/// Replaces each of the first `$eight` vectors of `$a` by `$e`, an expression of its index `$i` and its value `$x`.
/// `$eight` is not a constant, so that the code is not unrolled. This is a macro, because a function that is passed to
/// another one is not always compiled in line, and then lacks the level's instructions.
macro_rules! each_vector {
    ($a:ident, $eight:ident, $i:ident, $x:ident, $e:expr) => {
        for ($i, v) in $a.iter_mut().enumerate().take($eight) {
            let $x = *v;
            *v = $e;
        }
    };
}

/// Runs `$e` for each of the eight vectors, unrolled if they are registers and in a loop otherwise.
macro_rules! eight {
    ($v:ident, $eight:ident, $i:ident, $e:expr) => {{
        if $v::IN_REGISTERS {
            eight!(@ $i, $e, 0 1 2 3 4 5 6 7)
        } else {
            for $i in 0..$eight.min(8) {
                $e
            }
        }
    }};
    (@ $i:ident, $e:expr, $($n:literal)*) => {{
        $({
            const N: usize = $n;
            eight!(@one $i, N, $e);
        })*
    }};
    (@one $i:ident, $n:ident, $e:expr) => {{
        let $i = $n;
        $e
    }};
}

/// Folds the block into the partial results at `$p`, which has [`PARTIALS`] bytes, in the order of
/// `shardwise_mathfn::order`.
///
/// This is a macro and no function with the operation as an argument, because a call that is not inlined lacks the
/// level's instructions.
macro_rules! fold {
    ($v:ident, $a:ident, $p:ident, $eight:ident, $f:ident) => {{
        let count = PARTIALS / ($v::LANES * $v::Word::SIZE);
        eight!($v, $eight, i, {
            if i < count {
                let q = word_at::<$v>($p, i);
                let mut sum = $v::load(q).$f($a[i]);
                if count == 4 {
                    sum = sum.$f($a[(i + 4) % 8]);
                }
                sum.store(q);
            }
        });
    }};
}

with_functions! { machine!
    load {
        LoadBf16 = load_bf16 2, LoadF16 = load_f16 2, LoadI8 = load_i8 1, LoadU8 = load_u8 1, LoadI16 = load_i16 2,
        LoadU16 = load_u16 2, LoadBool = load_bool 1, LoadF32 = load_f32 4, LoadI32 = load_i32 4, LoadU32 = load_u32 4,
    }
    store {
        StoreBf16 = store_bf16 2, StoreF16 = store_f16 2, StoreLow8 = store_low8 1, StoreLow16 = store_low16 2,
        StoreLow32 = store_low32 4, StoreF32 = store_f32 4, StoreBool = store_bool 1,
    }
    unary {
        Not = not, Sqr = sqr, Sqrt = sqrt, Rsqrt = rsqrt, Floor = floor, Ceil = ceil, RoundEven = round_even, FSign = fsign,
        IsFinite = is_finite, SAbs = sabs,
        FloatFromSigned = float_from_signed, SignedFromFloat = signed_from_float,
        TruthFromInt = truth_from_int, TruthFromFloat = truth_from_float,
        RoundBf16 = round_bf16, RoundF16 = round_f16, RoundF32 = round_f32,
        WrapI8 = wrap_i8, WrapU8 = wrap_u8, WrapI16 = wrap_i16, WrapU16 = wrap_u16, WrapI32 = wrap_i32, WrapU32 = wrap_u32,
    }
    heavy {
        RoundAway = round_away, SSign = ssign, Popcount = popcount, LeadingZeros = leading_zeros,
        FloatFromUnsigned = float_from_unsigned, UnsignedFromFloat = unsigned_from_float, F32FromSigned = f32_from_signed, F32FromUnsigned = f32_from_unsigned,
    }
    binary {
        FAdd FAddImm = fadd, FSub FSubImm = fsub, FMul FMulImm = fmul, FDiv FDivImm = fdiv, FMax FMaxImm = fmax,
        FMin FMinImm = fmin, FEq FEqImm = feq, FNe FNeImm = fne, FLt FLtImm = flt, FLe FLeImm = fle, FGt FGtImm = fgt,
        FGe FGeImm = fge,
        IAdd IAddImm = iadd, ISub ISubImm = isub, IMul IMulImm = imul, SMax SMaxImm = smax, SMin SMinImm = smin,
        UMax UMaxImm = umax, UMin UMinImm = umin, And AndImm = and, Or OrImm = or, Xor XorImm = xor, Shl ShlImm = shl,
        Shr ShrImm = shr, Sar SarImm = sar, IEq IEqImm = ieq, INe INeImm = ine, SLt SLtImm = slt, SLe SLeImm = sle,
        SGt SGtImm = sgt, SGe SGeImm = sge, ULt ULtImm = ult, ULe ULeImm = ule, UGt UGtImm = ugt, UGe UGeImm = uge,
    }
    heavy_binary {
        SDiv = sdiv, UDiv = udiv, SRem = srem, URem = urem,
    }
    vector_binary {
        FRem Rem = frem,
    }
    reduce {
        SumF = fadd, ProdF = fmul, MaxF = fmax, MinF = fmin, SumI = iadd, ProdI = imul, MaxS = smax, MinS = smin,
        MaxU = umax, MinU = umin, AllBits = and, AnyBits = or,
    }
}

#[inline(always)]
fn fold_halves<W: Copy>(partials: &mut [W], f: impl Fn(W, W) -> W) -> W {
    let mut live = partials.len();
    while live > 1 {
        live /= 2;
        let (low, high) = partials.split_at_mut(live);
        low.iter_mut().zip(high).for_each(|(a, b)| *a = f(*a, *b));
    }
    partials[0]
}

#[inline(always)]
fn word_at<V: Vector>(p: *mut u8, i: usize) -> *mut u8 {
    p.wrapping_add(i * V::LANES * V::Word::SIZE)
}

/// Returns words that count up from `i * LANES`.
#[inline(always)]
fn ramp<V: Vector>(i: usize) -> V {
    let first = V::splat(V::Word::from_bits64((i * V::LANES) as u64));
    V::from_fn(|lane| V::Word::from_bits64(lane as u64)).iadd(first)
}

/// Copies the elements of block number `block` to the temporary of `s`, in which they are contiguous, or from it if
/// `BACK`.
///
/// # Safety
/// The elements must be readable and the temporary writable, or the other way round if `BACK` is true.
#[inline(never)]
unsafe fn exchange<const BACK: bool>(s: &Strided, block: usize) {
    if s.run < SHORT_RUN {
        // SAFETY: as the caller says.
        return unsafe { s.exchange_elements::<BACK>(block) };
    }
    let size = s.size as isize;
    s.each_run(block, |element, copy, count| {
        let (from, to) = if BACK { ((copy, size), (element, s.stride)) } else { ((element, s.stride), (copy, size)) };
        // SAFETY: as the caller says; the temporary holds a block.
        unsafe { copy_strided(from.0, from.1, to.0, to.1, s.size, count) }
    });
}

/// Runs of fewer elements are copied element by element.
const SHORT_RUN: usize = 16;

impl Strided {
    /// Returns the run of the first lane of block number `block`, and the position of the lane in this run.
    #[inline]
    fn first(&self, block: usize) -> (usize, usize) {
        let lane = self.lane + block * self.lanes;
        (lane / self.run, lane % self.run)
    }

    /// Copies elements as [`exchange`] does, one by one.
    ///
    /// # Safety
    /// The conditions of [`exchange`] must hold.
    #[inline]
    unsafe fn exchange_elements<const BACK: bool>(&self, block: usize) {
        let (mut run, mut at) = self.first(block);
        let start = |run: usize| self.row.wrapping_offset(run as isize * self.run_stride);
        let mut element = start(run).wrapping_offset(at as isize * self.stride);
        macro_rules! exchange {
            ($type:ty) => {
                for i in 0..self.lanes {
                    let (element_at, copy) = (element.cast::<$type>(), self.temp.cast::<$type>().wrapping_add(i));
                    let (from, to) = if BACK { (copy, element_at) } else { (element_at, copy) };
                    // SAFETY: as the caller says.
                    unsafe { to.write_unaligned(from.read_unaligned()) };
                    at += 1;
                    element = element.wrapping_offset(self.stride);
                    if at == self.run {
                        (run, at) = (run + 1, 0);
                        element = start(run);
                    }
                }
            };
        }
        match self.size {
            1 => exchange!(u8),
            2 => exchange!(u16),
            4 => exchange!(u32),
            _ => exchange!(u64),
        }
    }

    /// Calls `copy` for each part of block number `block` that is in one run, with the address of its first element,
    /// that of the element's copy in the temporary, and the number of elements.
    #[inline]
    fn each_run(&self, block: usize, copy: impl Fn(*mut u8, *mut u8, usize)) {
        let ((mut run, mut first), mut done) = (self.first(block), 0);
        while done < self.lanes {
            let count = (self.run - first).min(self.lanes - done);
            let element = self.row.wrapping_offset(run as isize * self.run_stride + first as isize * self.stride);
            copy(element, self.temp.wrapping_add(done * self.size), count);
            (run, first, done) = (run + 1, 0, done + count);
        }
    }
}

/// Copies `count` elements of `size` bytes, which is 1, 2, 4 or 8. The strides are in bytes.
///
/// # Safety
/// `count` elements must be readable at the strides from `from`, and writable at those from `to`.
unsafe fn copy_strided(from: *const u8, from_stride: isize, to: *mut u8, to_stride: isize, size: usize, count: usize) {
    macro_rules! copy {
        ($type:ty) => {
            for i in 0..count as isize {
                let (from, to) = (from.wrapping_offset(i * from_stride), to.wrapping_offset(i * to_stride));
                // SAFETY: as the caller says.
                unsafe { to.cast::<$type>().write_unaligned(from.cast::<$type>().read_unaligned()) }
            }
        };
    }
    match size {
        _ if from_stride == size as isize && to_stride == from_stride => {
            // SAFETY: as the caller says; elements and temporaries are apart.
            unsafe { std::ptr::copy_nonoverlapping(from, to, count * size) }
        }
        // All lanes of the row have the same element.
        4 if from_stride == 0 && to_stride == 4 && to.cast::<u32>().is_aligned() => {
            // SAFETY: as the caller says.
            unsafe { std::slice::from_raw_parts_mut(to.cast::<u32>(), count).fill(from.cast::<u32>().read_unaligned()) }
        }
        1 => copy!(u8),
        2 => copy!(u16),
        4 => copy!(u32),
        _ => copy!(u64),
    }
}

/// A vector with an out-of-line function for the long instructions.
trait Block: Vector {
    /// Runs one long instruction, as the function `run_long` does.
    ///
    /// # Safety
    /// As for the function `run_long`.
    unsafe fn run_long(ins: &Ins, p: *mut u8, block: usize, a: &mut [Self; 8], eight: usize);
}

/// A long instruction on arrays, with the arguments of the function `run_long`.
struct Long<'a, W> {
    ins: &'a Ins,
    p: *mut u8,
    block: usize,
    a: &'a mut [Portable<W>; 8],
    eight: usize,
}

impl<W: Word> AtLevel for Long<'_, W> {
    #[inline(always)]
    fn run<V: Vector<Word = u32>>(self) {
        // SAFETY: `Block::run_long` has been called for it.
        unsafe { run_long(self.ins, self.p, self.block, self.a, self.eight) }
    }
}

impl<W: Word> Block for Portable<W> {
    #[inline(never)]
    unsafe fn run_long(ins: &Ins, p: *mut u8, block: usize, a: &mut [Self; 8], eight: usize) {
        run_words(Long { ins, p, block, a, eight });
    }
}

macro_rules! levels {
    ($(
        $narrow:ident $wide:ident $fold:ident $fold_wide:ident $long:ident: $vector:ident, $features:literal;
    )*) => {$(
        /// Runs a program of 32-bit lanes, as `run` does.
        ///
        /// # Safety
        /// As for `run`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $narrow(code: &[Ins], blocks: usize, temps: *mut u8, eight: usize) {
            // SAFETY: as the caller says.
            unsafe { run::<$vector>(code, blocks, temps, eight) }
        }

        /// Runs a program of 64-bit lanes, as `run` does.
        ///
        /// # Safety
        /// As for `run`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $wide(code: &[Ins], blocks: usize, temps: *mut u8, eight: usize) {
            // SAFETY: as the caller says.
            unsafe { run::<Portable<u64>>(code, blocks, temps, eight) }
        }

        /// Folds words of 32 bits.
        ///
        /// # Safety
        /// The conditions of [`Fold::run`] must hold.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $fold(op: Op, words: &Fold) {
            // SAFETY: as the caller says.
            unsafe { op.fold_words::<$vector>(words) }
        }

        /// Folds words of 64 bits.
        ///
        /// # Safety
        /// The conditions of [`Fold::run`] must hold.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $fold_wide(op: Op, words: &Fold) {
            // SAFETY: as the caller says.
            unsafe { op.fold_words::<Portable<u64>>(words) }
        }

        /// Runs one long instruction, as `run_long` does.
        ///
        /// # Safety
        /// As for `run_long`.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        #[inline(never)]
        unsafe fn $long(ins: &Ins, p: *mut u8, block: usize, a: &mut [$vector; 8], eight: usize) {
            // SAFETY: as the caller says.
            unsafe { run_long(ins, p, block, a, eight) }
        }

        #[cfg(target_arch = "x86_64")]
        impl Block for $vector {
            #[inline(always)]
            unsafe fn run_long(ins: &Ins, p: *mut u8, block: usize, a: &mut [Self; 8], eight: usize) {
                // SAFETY: as the caller says.
                unsafe { $long(ins, p, block, a, eight) }
            }
        }
    )*};
}

levels! {
    run_avx512_narrow run_avx512_wide fold_avx512_narrow fold_avx512_wide run_avx512_long:
        Avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    run_avx2_narrow run_avx2_wide fold_avx2_narrow fold_avx2_wide run_avx2_long:
        Avx2, "avx2,fma,f16c";
}

/// Folds words by a reduction, without vector instructions of a level.
///
/// # Safety
/// The conditions of [`Fold::run`] must hold.
unsafe fn fold_portable<W: Word>(op: Op, words: &Fold) {
    // SAFETY: as the caller says.
    unsafe { op.fold_words::<Portable<W>>(words) }
}

impl Op {
    /// Returns the operation that combines two words as this reduction does. Panics if this is no reduction.
    pub(crate) fn combination(self) -> Op {
        match self {
            Op::SumF => Op::FAdd,
            Op::ProdF => Op::FMul,
            Op::MaxF => Op::FMax,
            Op::MinF => Op::FMin,
            Op::SumI => Op::IAdd,
            Op::ProdI => Op::IMul,
            Op::MaxS => Op::SMax,
            Op::MinS => Op::SMin,
            Op::MaxU => Op::UMax,
            Op::MinU => Op::UMin,
            Op::AllBits => Op::And,
            Op::AnyBits => Op::Or,
            _ => unreachable!("{self:?} is no reduction"),
        }
    }
}

impl Machine {
    /// Returns the interpreter of `level`, or of the machine's best level if that is lower. Its lanes have 32 bits or,
    /// if `wide`, 64 bits.
    pub(crate) fn new(level: Level, wide: bool) -> Machine {
        match (level.min(Level::strongest()), wide) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, false) => Machine { run: run_avx512_narrow, fold: fold_avx512_narrow, lanes: 128 },
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, true) => Machine { run: run_avx512_wide, fold: fold_avx512_wide, lanes: 64 },
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, false) => Machine { run: run_avx2_narrow, fold: fold_avx2_narrow, lanes: 64 },
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, true) => Machine { run: run_avx2_wide, fold: fold_avx2_wide, lanes: 64 },
            (_, false) => Machine { run: run::<Portable<u32>>, fold: fold_portable::<u32>, lanes: 64 },
            (_, true) => Machine { run: run::<Portable<u64>>, fold: fold_portable::<u64>, lanes: 64 },
        }
    }
}

/// Returns the instruction that loads elements as words of 32 bits or, if `wide`, of 64 bits. The elements must be real
/// and fit into a word.
pub(super) fn load_op(elem: Elem, wide: bool) -> Op {
    match elem {
        Elem::Bool => Op::LoadBool,
        Elem::I8 => Op::LoadI8,
        Elem::U8 => Op::LoadU8,
        Elem::I16 => Op::LoadI16,
        Elem::U16 => Op::LoadU16,
        Elem::F16 => Op::LoadF16,
        Elem::BF16 => Op::LoadBf16,
        Elem::I32 if wide => Op::LoadI32,
        Elem::U32 if wide => Op::LoadU32,
        Elem::F32 if wide => Op::LoadF32,
        _ => Op::Load,
    }
}

/// Returns the instruction that stores words of 32 bits or, if `wide`, of 64 bits as elements. The elements must be
/// real and fit into a word.
pub(super) fn store_op(elem: Elem, wide: bool) -> Op {
    match elem {
        Elem::Bool => Op::StoreBool,
        Elem::I8 | Elem::U8 => Op::StoreLow8,
        Elem::I16 | Elem::U16 => Op::StoreLow16,
        Elem::F16 => Op::StoreF16,
        Elem::BF16 => Op::StoreBf16,
        Elem::I32 | Elem::U32 if wide => Op::StoreLow32,
        Elem::F32 if wide => Op::StoreF32,
        _ => Op::Store,
    }
}

/// Returns an element, given by its bytes, as a word. The element must be real and fit into a word.
///
/// # Panics
/// Panics if there are not as many bytes as the element has.
pub(crate) fn word<W: Word>(elem: Elem, bytes: &[u8]) -> W {
    let mut word = [W::from_bits64(0)];
    words(elem, bytes, &mut word);
    word[0]
}

/// Sets words to elements, which are given by their bytes. They must be real and fit into words.
///
/// # Panics
/// Panics if there are not as many elements as words.
pub(crate) fn words<W: Word>(elem: Elem, bytes: &[u8], to: &mut [W]) {
    assert_eq!(bytes.len(), to.len() * elem.size(), "the bytes of the elements");
    // SAFETY: there are as many bytes as the elements have.
    unsafe { read_words(elem, bytes.as_ptr(), to) }
}

/// Writes words as elements to their bytes. The elements must be real and fit into words.
///
/// # Panics
/// Panics if there are not as many elements as words.
pub(crate) fn put_words<W: Word>(elem: Elem, bytes: &mut [u8], words: &[W]) {
    assert_eq!(bytes.len(), words.len() * elem.size(), "the bytes of the elements");
    // SAFETY: there are as many bytes as the elements have.
    unsafe { write_words(elem, bytes.as_mut_ptr(), words) }
}

/// Reads elements that follow each other as words. They must be real and fit into words.
///
/// # Safety
/// The elements must be readable.
#[inline(always)]
pub(super) unsafe fn read_words<W: Word>(elem: Elem, p: *const u8, to: &mut [W]) {
    macro_rules! each {
        ($load:ident) => {
            // SAFETY: as the caller says.
            to.iter_mut().enumerate().for_each(|(i, to)| *to = unsafe { W::$load(p.wrapping_add(i * elem.size())) })
        };
    }
    match load_op(elem, W::SIZE == 8) {
        Op::LoadBool => each!(load_bool),
        Op::LoadI8 => each!(load_i8),
        Op::LoadU8 => each!(load_u8),
        Op::LoadI16 => each!(load_i16),
        Op::LoadU16 => each!(load_u16),
        Op::LoadF16 => each!(load_f16),
        Op::LoadBf16 => each!(load_bf16),
        Op::LoadI32 => each!(load_i32),
        Op::LoadU32 => each!(load_u32),
        Op::LoadF32 => each!(load_f32),
        _ => each!(load),
    }
}

/// Writes words as elements that follow each other, which must be real and fit into words.
///
/// # Safety
/// The elements must be writable.
#[inline(always)]
pub(super) unsafe fn write_words<W: Word>(elem: Elem, p: *mut u8, words: &[W]) {
    macro_rules! each {
        ($store:ident) => {
            // SAFETY: as the caller says.
            words.iter().enumerate().for_each(|(i, word)| unsafe { word.$store(p.wrapping_add(i * elem.size())) })
        };
    }
    match store_op(elem, W::SIZE == 8) {
        Op::StoreBool => each!(store_bool),
        Op::StoreLow8 => each!(store_low8),
        Op::StoreLow16 => each!(store_low16),
        Op::StoreF16 => each!(store_f16),
        Op::StoreBf16 => each!(store_bf16),
        Op::StoreLow32 => each!(store_low32),
        Op::StoreF32 => each!(store_f32),
        _ => each!(store),
    }
}
