//! Operations on the lanes of vectors.
#![forbid(unsafe_code)]

use super::formulas::{Formula, formula};
use super::vectors::{Vectors, Width};
use crate::block::machine::Op;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};

/// Returns true if machine code computes a unary or binary operation on words of this width, and not the interpreter.
pub(crate) fn is_native(op: Op, width: Width) -> bool {
    match op {
        Op::RoundAway | Op::RoundF16 => false,
        Op::RoundBf16 | Op::F32FromSigned | Op::F32FromUnsigned => !width.is_wide,
        _ => true,
    }
}

/// Returns true if machine code computes an operation lane by lane for which the interpreter has vectors.
pub(crate) fn is_slow(op: Op, width: Width, second: Second) -> bool {
    use Op::*;
    match op {
        Shl | Shr | Sar => matches!(second, Second::Any),
        SMax | SMin | UMax | UMin | SLe | SGe | ULt | ULe | UGt | UGe => width.is_wide,
        FloatFromSigned | FloatFromUnsigned | SignedFromFloat | UnsignedFromFloat | RoundF32 => width.is_wide,
        _ => false,
    }
}

/// The vectors on which an operation works.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub a: Value,
    /// The second operand of a binary operation, and any vector for unary ones.
    pub b: Value,
    pub second: Second,
    /// The number of lanes that count.
    pub lanes: usize,
}

/// The facts that are known of the second operand of an operation.
#[derive(Clone, Copy)]
pub(crate) enum Second {
    /// All lanes have these bits.
    Constant(u64),
    /// All lanes are one word.
    Same,
    Any,
}

impl Vectors<'_> {
    /// Returns the result of an operation for which [`is_native`] is true.
    pub fn apply(&mut self, op: Op, width: Width, of: Operands) -> Value {
        use Op::*;
        if let Some(formula) = formula(op, width.is_wide) {
            return self.formula(width, formula, of);
        }
        let (a, b) = (of.a, of.b);
        match op {
            FAdd | FAddImm | FSub | FSubImm | FRsub | FRsubImm | FMul | FMulImm | FDiv | FDivImm | FRdiv | FRdivImm
            | Sqr => self.arithmetic(op, width, a, b),
            FMax | FMaxImm => self.extreme(width, a, b, true),
            FMin | FMinImm => self.extreme(width, a, b, false),
            FEq | FEqImm => self.compare_floats(width, FloatCC::Equal, a, b),
            FNe | FNeImm => self.compare_floats(width, FloatCC::NotEqual, a, b),
            FLt | FLtImm => self.compare_floats(width, FloatCC::LessThan, a, b),
            FLe | FLeImm => self.compare_floats(width, FloatCC::LessThanOrEqual, a, b),
            FGt | FGtImm => self.compare_floats(width, FloatCC::LessThan, b, a),
            FGe | FGeImm => self.compare_floats(width, FloatCC::LessThanOrEqual, b, a),
            IAdd | IAddImm => self.b.ins().iadd(a, b),
            ISub | ISubImm => self.b.ins().isub(a, b),
            IRsub | IRsubImm => self.b.ins().isub(b, a),
            IMul | IMulImm => self.b.ins().imul(a, b),
            And | AndImm => self.b.ins().band(a, b),
            Or | OrImm => self.b.ins().bor(a, b),
            Xor | XorImm => self.b.ins().bxor(a, b),
            Not => self.b.ins().bnot(a),
            SMax | SMaxImm | SMin | SMinImm | UMax | UMaxImm | UMin | UMinImm => self.limit(op, width, of),
            Shl | ShlImm | Shr | ShrImm | Sar | SarImm => self.shift(op, width, of),
            IEq | IEqImm => self.compare(width, IntCC::Equal, of),
            INe | INeImm => self.compare(width, IntCC::NotEqual, of),
            SLt | SLtImm => self.compare(width, IntCC::SignedLessThan, of),
            SLe | SLeImm => self.compare(width, IntCC::SignedLessThanOrEqual, of),
            SGt | SGtImm => self.compare(width, IntCC::SignedGreaterThan, of),
            SGe | SGeImm => self.compare(width, IntCC::SignedGreaterThanOrEqual, of),
            ULt | ULtImm => self.compare(width, IntCC::UnsignedLessThan, of),
            ULe | ULeImm => self.compare(width, IntCC::UnsignedLessThanOrEqual, of),
            UGt | UGtImm => self.compare(width, IntCC::UnsignedGreaterThan, of),
            UGe | UGeImm => self.compare(width, IntCC::UnsignedGreaterThanOrEqual, of),
            SDiv | UDiv | SRem | URem => self.each_lane(width, of, |own, a, b| own.divide(op, width, a, b)),
            _ => self.unary(op, width, of),
        }
    }

    /// Folds the upper half of partial results into the lower until one is left, in the first lane of the result. They
    /// are the first `live` lanes of the vectors, which is a power of two. The other lanes are the identity, and so are
    /// those of vectors that are missing.
    pub fn folded(&mut self, width: Width, op: Op, mut partials: Vec<Value>, mut live: usize) -> Value {
        let all = width.lanes();
        while live > all {
            live /= 2;
            let high = partials.split_off((live / all).min(partials.len()));
            for (a, b) in partials.iter_mut().zip(high) {
                *a = self.apply(op, width, Operands { a: *a, b, second: Second::Any, lanes: all });
            }
        }
        let mut result = partials[0];
        while live > 1 {
            live /= 2;
            let upper: Vec<usize> = (live..2 * live).collect();
            let b = self.permuted(width, result, &upper);
            result = self.apply(op, width, Operands { a: result, b, second: Second::Any, lanes: live });
        }
        result
    }

    /// Adds calls of a function: one call if it takes vectors, and otherwise one for each lane. A single word of 64
    /// bits takes less time alone.
    fn formula(&mut self, width: Width, formula: Formula, of: Operands) -> Value {
        if let Some(address) = formula.vector.filter(|_| of.lanes > 1 || !width.is_wide) {
            let [a, b] = [of.a, of.b].map(|vector| self.cast(width.floats(), vector));
            let result = self.call_formula(address, &[a, b], width.floats());
            return self.cast(width.ints(), result);
        }
        self.each_lane(width, of, |own, a, b| own.call_formula(formula.word, &[a, b], width.int()))
    }

    fn arithmetic(&mut self, op: Op, width: Width, a: Value, b: Value) -> Value {
        use Op::*;
        let (a, b) = (self.cast(width.floats(), a), self.cast(width.floats(), b));
        let ins = self.b.ins();
        let result = match op {
            FAdd | FAddImm => ins.fadd(a, b),
            FSub | FSubImm => ins.fsub(a, b),
            FRsub | FRsubImm => ins.fsub(b, a),
            FMul | FMulImm => ins.fmul(a, b),
            FDiv | FDivImm => ins.fdiv(a, b),
            FRdiv | FRdivImm => ins.fdiv(b, a),
            _ => ins.fmul(a, a),
        };
        self.cast(width.ints(), result)
    }

    fn unary(&mut self, op: Op, width: Width, of: Operands) -> Value {
        use Op::*;
        let a = of.a;
        match op {
            Sqrt | Rsqrt | Floor | Ceil | RoundEven => self.rounded(op, width, a),
            FSign => self.float_sign(width, a),
            IsFinite => {
                let magnitude = self.magnitude(width, a);
                let infinity = self.all_floats(width, f64::INFINITY);
                self.b.ins().icmp(IntCC::SignedLessThan, magnitude, infinity)
            }
            SAbs => self.b.ins().iabs(a),
            SSign => {
                let zero = self.all(width, 0);
                let is_negative = self.b.ins().icmp(IntCC::SignedLessThan, a, zero);
                let is_positive = self.b.ins().icmp(IntCC::SignedGreaterThan, a, zero);
                self.b.ins().isub(is_negative, is_positive)
            }
            Popcount => self.each_lane(width, of, |own, a, _| own.b.ins().popcnt(a)),
            LeadingZeros => self.each_lane(width, of, |own, a, _| own.b.ins().clz(a)),
            TruthFromInt => {
                let zero = self.all(width, 0);
                self.b.ins().icmp(IntCC::NotEqual, a, zero)
            }
            TruthFromFloat => {
                let zero = self.all(width, 0);
                self.compare_floats(width, FloatCC::NotEqual, a, zero)
            }
            RoundBf16 => self.round_bf16(width, a),
            WrapI8 => self.wrap(width, a, 8, true),
            WrapU8 => self.wrap(width, a, 8, false),
            WrapI16 => self.wrap(width, a, 16, true),
            WrapU16 => self.wrap(width, a, 16, false),
            WrapI32 => self.wrap(width, a, 32, true),
            WrapU32 => self.wrap(width, a, 32, false),
            RoundF32 if !width.is_wide => a,
            _ => self.converted(op, width, of),
        }
    }

    fn rounded(&mut self, op: Op, width: Width, a: Value) -> Value {
        let a = self.cast(width.floats(), a);
        let result = match op {
            Op::Sqrt => self.b.ins().sqrt(a),
            Op::Floor => self.b.ins().floor(a),
            Op::Ceil => self.b.ins().ceil(a),
            Op::RoundEven => self.b.ins().nearest(a),
            _ => {
                let one = self.all_floats(width, 1.0);
                let (one, root) = (self.cast(width.floats(), one), self.b.ins().sqrt(a));
                self.b.ins().fdiv(one, root)
            }
        };
        self.cast(width.ints(), result)
    }

    /// Converts between integers and floats, or rounds words of 64 bits to `f32`.
    fn converted(&mut self, op: Op, width: Width, of: Operands) -> Value {
        use Op::*;
        if width.is_wide {
            return self.each_lane(width, of, |own, a, _| own.converted_word(op, a));
        }
        let (ints, floats) = (width.ints(), width.floats());
        let result = match op {
            FloatFromSigned | F32FromSigned => self.b.ins().fcvt_from_sint(floats, of.a),
            FloatFromUnsigned | F32FromUnsigned => self.b.ins().fcvt_from_uint(floats, of.a),
            SignedFromFloat => {
                let a = self.cast(floats, of.a);
                self.b.ins().fcvt_to_sint_sat(ints, a)
            }
            UnsignedFromFloat => {
                let a = self.cast(floats, of.a);
                self.b.ins().fcvt_to_uint_sat(ints, a)
            }
            _ => unreachable!("{op:?} is no conversion"),
        };
        self.cast(ints, result)
    }

    /// Converts a word of 64 bits, given and returned as an integer.
    fn converted_word(&mut self, op: Op, a: Value) -> Value {
        use cranelift_codegen::ir::types::{F32, F64, I64};
        let result = match op {
            Op::FloatFromSigned => self.b.ins().fcvt_from_sint(F64, a),
            Op::FloatFromUnsigned => self.b.ins().fcvt_from_uint(F64, a),
            Op::SignedFromFloat => {
                let a = self.b.ins().bitcast(F64, MemFlagsData::new(), a);
                return self.b.ins().fcvt_to_sint_sat(I64, a);
            }
            Op::UnsignedFromFloat => {
                let a = self.b.ins().bitcast(F64, MemFlagsData::new(), a);
                return self.b.ins().fcvt_to_uint_sat(I64, a);
            }
            Op::RoundF32 => {
                let a = self.b.ins().bitcast(F64, MemFlagsData::new(), a);
                let narrow = self.b.ins().fdemote(F32, a);
                self.b.ins().fpromote(F64, narrow)
            }
            _ => unreachable!("{op:?} is no conversion"),
        };
        self.b.ins().bitcast(I64, MemFlagsData::new(), result)
    }

    /// Returns a vector whose first `of.lanes` lanes are the results of `f` for these lanes of both operands.
    fn each_lane(&mut self, width: Width, of: Operands, f: impl Fn(&mut Self, Value, Value) -> Value) -> Value {
        self.by_lane(width, of.lanes, |own, lane| {
            let [a, b] = [of.a, of.b].map(|vector| own.b.ins().extractlane(vector, lane as u8));
            f(own, a, b)
        })
    }

    /// Returns a mask with all bits of each lane for which a comparison is true.
    fn compare_floats(&mut self, width: Width, condition: FloatCC, a: Value, b: Value) -> Value {
        let (a, b) = (self.cast(width.floats(), a), self.cast(width.floats(), b));
        let mask = self.b.ins().fcmp(condition, a, b);
        self.cast(width.ints(), mask)
    }

    fn compare(&mut self, width: Width, condition: IntCC, of: Operands) -> Value {
        use IntCC::*;
        let has_vectors = matches!(condition, Equal | NotEqual | SignedLessThan | SignedGreaterThan) || !width.is_wide;
        if has_vectors {
            return self.b.ins().icmp(condition, of.a, of.b);
        }
        self.each_lane(width, of, |own, a, b| {
            let is_true = own.b.ins().icmp(condition, a, b);
            own.b.ins().bmask(width.int(), is_true)
        })
    }

    /// Returns the larger or the smaller integer of each lane.
    fn limit(&mut self, op: Op, width: Width, of: Operands) -> Value {
        let one = |own: &mut Self, a: Value, b: Value| match op {
            Op::SMax | Op::SMaxImm => own.b.ins().smax(a, b),
            Op::SMin | Op::SMinImm => own.b.ins().smin(a, b),
            Op::UMax | Op::UMaxImm => own.b.ins().umax(a, b),
            _ => own.b.ins().umin(a, b),
        };
        if width.is_wide { self.each_lane(width, of, one) } else { one(self, of.a, of.b) }
    }

    /// Returns the larger float of each lane if `largest`, and otherwise the smaller one, or NaN if one of the two is
    /// NaN. The zero 0 is larger than -0.
    fn extreme(&mut self, width: Width, a: Value, b: Value, largest: bool) -> Value {
        let (smaller, larger) = if largest { (b, a) } else { (a, b) };
        let wins = self.compare_floats(width, FloatCC::LessThan, smaller, larger);
        let result = self.b.ins().bitselect(wins, a, b);
        // Of two equal numbers, only those of zeros may have different bits.
        let is_equal = self.compare_floats(width, FloatCC::Equal, a, b);
        let both = if largest { self.b.ins().band(a, b) } else { self.b.ins().bor(a, b) };
        let result = self.b.ins().bitselect(is_equal, both, result);
        let has_nan = self.compare_floats(width, FloatCC::Unordered, a, b);
        let nan = self.all_floats(width, f64::NAN);
        self.b.ins().bitselect(has_nan, nan, result)
    }

    fn shift(&mut self, op: Op, width: Width, of: Operands) -> Value {
        use Op::*;
        let bits = width.bits();
        let is_arithmetic = matches!(op, Sar | SarImm);
        let shifted = |own: &mut Self, by: Value| match op {
            Shl | ShlImm => own.b.ins().ishl(of.a, by),
            Shr | ShrImm => own.b.ins().ushr(of.a, by),
            _ => own.b.ins().sshr(of.a, by),
        };
        match of.second {
            Second::Constant(by) if by >= bits && !is_arithmetic => return self.all(width, 0),
            Second::Constant(by) => {
                let by = self.b.ins().iconst(width.int(), by.min(bits - 1) as i64);
                return shifted(self, by);
            }
            Second::Same => {
                let by = self.b.ins().extractlane(of.b, 0);
                let last = self.b.ins().iconst(width.int(), bits as i64 - 1);
                let limited = self.b.ins().umin(by, last);
                let result = shifted(self, limited);
                if is_arithmetic {
                    return result;
                }
                let limited = self.b.ins().splat(width.ints(), limited);
                let is_outside = self.b.ins().icmp(IntCC::NotEqual, limited, of.b);
                return self.b.ins().band_not(result, is_outside);
            }
            Second::Any => {}
        }
        self.each_lane(width, of, |own, a, by| {
            let most = own.b.ins().iconst(width.int(), bits as i64 - 1);
            if is_arithmetic {
                let by = own.b.ins().umin(by, most);
                return own.b.ins().sshr(a, by);
            }
            let shifted = match op {
                Shl | ShlImm => own.b.ins().ishl(a, by),
                _ => own.b.ins().ushr(a, by),
            };
            let (is_inside, zero) =
                (own.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, by, most), own.b.ins().iconst(width.int(), 0));
            own.b.ins().select(is_inside, shifted, zero)
        })
    }

    /// Divides integers by words that may be 0, as [`crate::simd::Word`] says.
    fn divide(&mut self, op: Op, width: Width, a: Value, b: Value) -> Value {
        let [zero, one, ones] = [0, 1, -1].map(|bits| self.b.ins().iconst(width.int(), bits));
        let is_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
        let is_minus_one = self.b.ins().icmp(IntCC::Equal, b, ones);
        let is_signed = matches!(op, Op::SDiv | Op::SRem);
        // The processor traps for these divisors.
        let is_special = if is_signed { self.b.ins().bor(is_zero, is_minus_one) } else { is_zero };
        let divisor = self.b.ins().select(is_special, one, b);
        match op {
            Op::SDiv => {
                let quotient = self.b.ins().sdiv(a, divisor);
                let negated = self.b.ins().ineg(a);
                let quotient = self.b.ins().select(is_minus_one, negated, quotient);
                self.b.ins().select(is_zero, ones, quotient)
            }
            Op::UDiv => {
                let quotient = self.b.ins().udiv(a, divisor);
                self.b.ins().select(is_zero, ones, quotient)
            }
            Op::SRem => {
                let remainder = self.b.ins().srem(a, divisor);
                self.b.ins().select(is_zero, a, remainder)
            }
            _ => {
                let remainder = self.b.ins().urem(a, divisor);
                self.b.ins().select(is_zero, a, remainder)
            }
        }
    }

    /// Returns a vector whose lanes are all one float.
    fn all_floats(&mut self, width: Width, x: f64) -> Value {
        self.all(width, if width.is_wide { x.to_bits() } else { (x as f32).to_bits().into() })
    }

    /// Returns the bits of floats without their sign.
    fn magnitude(&mut self, width: Width, a: Value) -> Value {
        let mask = self.all(width, if width.is_wide { i64::MAX as u64 } else { i32::MAX as u64 });
        self.b.ins().band(a, mask)
    }

    /// Returns ±1 for floats other than 0 and NaN, which stay as they are.
    fn float_sign(&mut self, width: Width, a: Value) -> Value {
        let one = self.all_floats(width, 1.0);
        let sign = self.all(width, 1 << (width.bits() - 1));
        let (sign, zero) = (self.b.ins().band(a, sign), self.all(width, 0));
        let one = self.b.ins().bor(sign, one);
        let (is_zero, is_nan) =
            (self.compare_floats(width, FloatCC::Equal, a, zero), self.compare_floats(width, FloatCC::Unordered, a, a));
        let stays = self.b.ins().bor(is_zero, is_nan);
        self.b.ins().bitselect(stays, a, one)
    }

    /// Rounds floats of 32 bits to the nearest `bf16`, as [`crate::simd::Word::round_bf16`] does.
    fn round_bf16(&mut self, width: Width, a: Value) -> Value {
        let by = self.b.ins().iconst(width.int(), 16);
        let [one, half, high, quiet] = [1, 0x7fff, 0xffff_0000, 0x0040_0000].map(|bits| self.all(width, bits));
        let last = self.b.ins().ushr(a, by);
        let last = self.b.ins().band(last, one);
        let rounded = self.b.ins().iadd(a, half);
        let rounded = self.b.ins().iadd(rounded, last);
        let nan = self.b.ins().bor(a, quiet);
        let is_nan = self.compare_floats(width, FloatCC::Unordered, a, a);
        let result = self.b.ins().bitselect(is_nan, nan, rounded);
        self.b.ins().band(result, high)
    }

    /// Wraps integers to their low bits.
    fn wrap(&mut self, width: Width, a: Value, bits: u64, is_signed: bool) -> Value {
        if bits >= width.bits() {
            return a;
        }
        if !is_signed {
            let mask = self.all(width, (1 << bits) - 1);
            return self.b.ins().band(a, mask);
        }
        let by = self.b.ins().iconst(width.int(), (width.bits() - bits) as i64);
        let high = self.b.ins().ishl(a, by);
        self.b.ins().sshr(high, by)
    }
}
