//! The matrix unit of processors with AMX-TILE, AMX-BF16 and AMX-INT8, on Linux.
//!
//! Stable Rust has no intrinsics for it, so its instructions are assembly. The tile registers of a thread are
//! configured before a block and released after it, so that they need not be saved between blocks. A function that uses
//! them has all its instructions in one piece of assembly, since the compiler knows nothing of what registers hold.
#![expect(unsafe_code, reason = "assembly")]

use super::emulated::Emulated;
use super::loops::{
    COLUMNS, Descent, MatrixUnit, REGISTER, ROWS, SIDE, TilePairs, TileQuads, multiply, of_types, pack_rows, tile_of,
};
use crate::elem::Elem;
use crate::matmul::tile::{Adjacent, Block, Element, Lines, Tile, Words, pack_adjacent, pack_lines};
use crate::simd::{Avx512, Level};
use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _xgetbv};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Returns true if kernels may use the unit: `SHARDWISE_LEVEL` names no level, the processor has the unit, the
/// operating system saves its registers and lets this process use them, and two products have the right results. This
/// is tested once, and what the operating system then permits holds for the whole process and cannot be taken back.
pub(super) fn is_usable() -> bool {
    static USABLE: OnceLock<bool> = OnceLock::new();
    *USABLE.get_or_init(|| {
        let is_there = Level::allows_matrix_units() && has_instructions() && is_permitted();
        // SAFETY: it is there, and the process may use it.
        is_there && unsafe { multiplies() }
    })
}

/// Returns true if the processor has the instructions, and those of the vectors that the inner loops use beside them,
/// and the operating system saves the registers.
fn has_instructions() -> bool {
    const BF16_TILE_INT8: u32 = 1 << 22 | 1 << 24 | 1 << 25;
    const CONFIGURATION_AND_TILES: u64 = 1 << 17 | 1 << 18;

    #[target_feature(enable = "xsave")]
    fn saved() -> u64 {
        // SAFETY: the processor has the function's feature, and register 0 exists.
        unsafe { _xgetbv(0) }
    }

    is_x86_feature_detected!("avx512bf16")
        && is_x86_feature_detected!("xsave")
        && __cpuid_count(7, 0).edx & BF16_TILE_INT8 == BF16_TILE_INT8
        // SAFETY: the processor has the feature.
        && unsafe { saved() } & CONFIGURATION_AND_TILES == CONFIGURATION_AND_TILES
}

/// Asks the operating system for the tile registers, and returns true if the process may use them.
#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the arguments are numbers.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}

/// Returns true if the sums of one tile of each kind of word are those of the emulation.
///
/// # Safety
/// The conditions of [`MatrixUnit::prepare`] must hold.
unsafe fn multiplies() -> bool {
    // SAFETY: as the caller says; the emulation needs nothing.
    let (floats, integers) = unsafe { (sums::<Amx<TilePairs<Avx512>>>(), sums::<Amx<TileQuads<Avx512>>>()) };
    // SAFETY: as above.
    let emulated = unsafe { (sums::<Emulated<TilePairs<Avx512>>>(), sums::<Emulated<TileQuads<Avx512>>>()) };
    (floats, integers) == emulated
}

/// Returns the sums of a tile that the unit computes of panels of small numbers.
///
/// # Safety
/// The conditions of [`MatrixUnit::prepare`] must hold.
unsafe fn sums<U: MatrixUnit>() -> Vec<u32> {
    // Halves are `bf16` from 1 to 2 or from -1 to -2, and bytes are integers.
    let panel = |factor: u32| (0..4 * REGISTER as u32).map(move |i| i.wrapping_mul(factor) & 0x80ff_80ff | 0x3f80_3f80);
    let [left, right] = [0x2357_1113, 0x1931_8f65].map(|factor| panel(factor).collect::<Vec<u32>>());
    let mut sums = vec![0; ROWS * COLUMNS];
    for is_first in [true, false] {
        let (left, right, sums) = (left.as_ptr(), right.as_ptr(), sums.as_mut_ptr());
        // SAFETY: panels have two registers of 32 lines, and as the caller says.
        unsafe { U::prepare().go_down(&Descent { left, right, sums, heights: 2, depths: 2, is_first }) };
    }
    sums
}

/// Returns the inner loops for these types, or `None` if the unit has none.
pub(super) fn tile(elem: Elem, out: Elem) -> Option<Tile> {
    of_types!(elem, out, compiled, Avx512)
}

/// Returns the inner loops with functions that are compiled with the instructions of AVX-512.
fn compiled<A: Multiplied, E: Element, R: Element>() -> Tile {
    macro_rules! compiled {
        ($($name:ident: $function:path, $argument:ty $(, $to:ident)?;)*) => {$(
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
            unsafe fn $name<A: Multiplied, E: Element, R: Element>(argument: $argument $(, $to: *mut u32)?) {
                // SAFETY: as the caller says.
                unsafe { $function(argument $(, $to)?) }
            }
        )*};
    }
    compiled! {
        rows: pack_rows::<A, E>, &Lines<'_>, to;
        lines: pack_lines::<A, E>, &Lines<'_>, to;
        adjacent: pack_adjacent::<A, E>, &Adjacent, to;
        block: multiply::<Amx<A>, R>, &Block<'_>;
    }
    tile_of::<Amx<A>>(rows::<A, E, R>, lines::<A, E, R>, adjacent::<A, E, R>, block::<A, E, R>)
}

/// The configuration of the registers: eight tiles of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static CONFIGURATION: Configuration = {
    let (mut row_bytes, mut rows) = ([0; 16], [0; 16]);
    let mut register = 0;
    while register < 8 {
        (row_bytes[register], rows[register]) = (4 * SIDE as u16, SIDE as u8);
        register += 1;
    }
    Configuration { palette: 1, start_row: 0, reserved: [0; 14], row_bytes, rows }
};

/// The unit, whose registers this thread has configured.
struct Amx<A>(PhantomData<A>);

impl<A: Multiplied> MatrixUnit for Amx<A> {
    type Words = A;

    #[inline(always)]
    unsafe fn prepare() -> Amx<A> {
        // SAFETY: the configuration is valid, and as the caller says.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const CONFIGURATION,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, readonly));
        }
        Amx(PhantomData)
    }

    #[inline(always)]
    unsafe fn go_down(&self, descent: &Descent) {
        // SAFETY: as the caller says; `self` has configured the registers.
        unsafe { if descent.heights == 2 { A::two(descent) } else { A::one(descent) } }
    }
}

impl<A> Drop for Amx<A> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the registers were configured, and nothing that they hold is needed.
        unsafe {
            asm!("tilerelease",
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, nomem));
        }
    }
}

/// Words with an instruction that multiplies tiles of them.
trait Multiplied: Words {
    /// Adds the products of a left panel of two registers of rows and a right panel to their sums, which start from
    /// zero if [`Descent::is_first`].
    ///
    /// # Safety
    /// Panels and sums must be valid as `descent` states, and the registers must be configured.
    unsafe fn two(descent: &Descent);
    /// Adds the products of a left panel of one register of rows and a right panel to their sums, as
    /// [`Multiplied::two`] does.
    ///
    /// # Safety
    /// As for [`Multiplied::two`].
    unsafe fn one(descent: &Descent);
}

/// Goes down the panels of a descent: sums are loaded or set to zero, and stored after all steps. Each step takes
/// `$left` bytes of the left panel.
macro_rules! go_down {
    ($descent:ident, $left:literal; $($load:literal)* ; $($zero:literal)* ; $($step:expr),* ; $($store:literal)*) => {
        asm!(
            "test {is_first:e}, {is_first:e}",
            "jnz 2f",
            $($load,)*
            "jmp 3f",
            "2:",
            $($zero,)*
            "3:",
            $($step,)*
            concat!("add {left}, ", $left),
            "add {right}, 2048",
            "dec {depths}",
            "jnz 3b",
            $($store,)*
            left = inout(reg) $descent.left => _,
            right = inout(reg) $descent.right => _,
            depths = inout(reg) $descent.depths => _,
            sums = in(reg) $descent.sums,
            is_first = in(reg) u32::from($descent.is_first),
            narrow = in(reg) 64usize,
            wide = in(reg) 128usize,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

/// Implements [`Multiplied`] by an instruction. Registers 0 to 3 have the sums, row by row, 4 and 5 have tiles of rows,
/// and 6 and 7 tiles of columns. Rows of sums and steps of columns have 128 bytes, of which one register has 64.
macro_rules! multiplied {
    ($words:ident: $multiply:literal) => {
        impl Multiplied for $words<Avx512> {
            #[inline(always)]
            unsafe fn two(descent: &Descent) {
                // SAFETY: as the caller says.
                unsafe {
                    go_down! { descent, 2048;
                        "tileloadd tmm0, [{sums} + {wide}*1]"
                        "tileloadd tmm1, [{sums} + {wide}*1 + 64]"
                        "tileloadd tmm2, [{sums} + {wide}*1 + 2048]"
                        "tileloadd tmm3, [{sums} + {wide}*1 + 2112]";
                        "tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3";
                        "tileloadd tmm4, [{left} + {narrow}*1]",
                        "tileloadd tmm6, [{right} + {wide}*1]",
                        concat!($multiply, " tmm0, tmm4, tmm6"),
                        "tileloadd tmm7, [{right} + {wide}*1 + 64]",
                        concat!($multiply, " tmm1, tmm4, tmm7"),
                        "tileloadd tmm5, [{left} + {narrow}*1 + 1024]",
                        concat!($multiply, " tmm2, tmm5, tmm6"),
                        concat!($multiply, " tmm3, tmm5, tmm7");
                        "tilestored [{sums} + {wide}*1], tmm0"
                        "tilestored [{sums} + {wide}*1 + 64], tmm1"
                        "tilestored [{sums} + {wide}*1 + 2048], tmm2"
                        "tilestored [{sums} + {wide}*1 + 2112], tmm3"
                    }
                }
            }

            #[inline(always)]
            unsafe fn one(descent: &Descent) {
                // SAFETY: as the caller says.
                unsafe {
                    go_down! { descent, 1024;
                        "tileloadd tmm0, [{sums} + {wide}*1]"
                        "tileloadd tmm1, [{sums} + {wide}*1 + 64]";
                        "tilezero tmm0" "tilezero tmm1";
                        "tileloadd tmm4, [{left} + {narrow}*1]",
                        "tileloadd tmm6, [{right} + {wide}*1]",
                        concat!($multiply, " tmm0, tmm4, tmm6"),
                        "tileloadd tmm7, [{right} + {wide}*1 + 64]",
                        concat!($multiply, " tmm1, tmm4, tmm7");
                        "tilestored [{sums} + {wide}*1], tmm0"
                        "tilestored [{sums} + {wide}*1 + 64], tmm1"
                    }
                }
            }
        }
    };
}

multiplied!(TilePairs: "tdpbf16ps");
multiplied!(TileQuads: "tdpbssd");

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the unit on machines that have it, and elsewhere that the sums compared are not trivial.
    #[test]
    fn the_unit_computes_what_the_emulation_does() {
        // SAFETY: the emulation needs nothing.
        let floats = unsafe { sums::<Emulated<TilePairs<Avx512>>>() };
        assert!(floats.iter().all(|&bits| f32::from_bits(bits).is_finite()));
        assert!(floats.iter().collect::<std::collections::HashSet<_>>().len() > 500, "{floats:?}");
        // SAFETY: the unit is there, and the process may use it.
        assert!(!has_instructions() || !is_permitted() || unsafe { multiplies() });
    }
}
