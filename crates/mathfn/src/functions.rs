//! The table of elementwise functions that have kernels of their own, with those that are calls of `libm`.

/// Defines the functions that are calls of `libm`, and `with_functions!` with the rows of all.
///
/// A row has the op code, the name in block programs and in the machine's code, the method of words and vectors, and
/// the names of the functions on `f32` and `f64`.
macro_rules! functions {
    ($d:tt
        unary_from_libm { $($(#[$doc:meta])* $op:ident $name:ident $method:ident $f32:ident $f64:ident = $libm:ident;)* }
        binary_from_libm { $($(#[$doc2:meta])* $op2:ident $name2:ident $method2:ident $f32_2:ident $f64_2:ident = $libm2:ident;)* }
        unary { $($op3:ident $name3:ident $method3:ident $f32_3:ident $f64_3:ident;)* }
        unary_formulas { $($op4:ident $name4:ident $method4:ident $f32_4:ident $f64_4:ident;)* }
        binary { $($op5:ident $name5:ident $method5:ident $f32_5:ident $f64_5:ident;)* }
        binary_formulas { $($op6:ident $name6:ident $method6:ident $f32_6:ident $f64_6:ident;)* }) => {
        $(
            $(#[$doc])*
            pub fn $f32(x: f32) -> f32 {
                libm::$libm(f64::from(x)) as f32
            }
            $(#[$doc])*
            pub fn $f64(x: f64) -> f64 {
                libm::$libm(x)
            }
        )*
        $(
            $(#[$doc2])*
            pub fn $f32_2(x: f32, y: f32) -> f32 {
                libm::$libm2(f64::from(x), f64::from(y)) as f32
            }
            $(#[$doc2])*
            pub fn $f64_2(x: f64, y: f64) -> f64 {
                libm::$libm2(x, y)
            }
        )*

        /// Expands to `$with! { $given unary_functions { .. } binary_functions { .. } }`, with a row for each function:
        /// the op code, the name in block programs and in the machine's code, the method of words and vectors, the
        /// functions of this crate on `f32` and `f64`, and `formula` if the function on `f32` is made to compute all
        /// lanes of a vector together, else `scalar`. An engine makes all other mentions of the function from the row,
        /// but for the levels of vector instructions that compute it faster.
        #[macro_export]
        macro_rules! with_functions {
            ($d with:ident! $d($d given:tt)*) => {
                $d with! {
                    $d($d given)*
                    unary_functions {
                        $($op $name $method $f32 $f64 scalar,)*
                        $($op3 $name3 $method3 $f32_3 $f64_3 scalar,)*
                        $($op4 $name4 $method4 $f32_4 $f64_4 formula,)*
                    }
                    binary_functions {
                        $($op2 $name2 $method2 $f32_2 $f64_2 scalar,)*
                        $($op5 $name5 $method5 $f32_5 $f64_5 scalar,)*
                        $($op6 $name6 $method6 $f32_6 $f64_6 formula,)*
                    }
                }
            };
        }
    };
}

functions! { $
    unary_from_libm {
        /// Returns the cube root.
        Cbrt Cbrt cbrt cbrt_f32 cbrt_f64 = cbrt;
        /// Returns the tangent; NaN at infinities.
        Tan Tan tan tan_f32 tan_f64 = tan;
        /// Returns the hyperbolic sine.
        ChloSinh Sinh sinh sinh_f32 sinh_f64 = sinh;
        /// Returns the hyperbolic cosine.
        ChloCosh Cosh cosh cosh_f32 cosh_f64 = cosh;
        /// Returns the inverse of the sine; NaN below -1 and above 1.
        ChloAsin Asin asin asin_f32 asin_f64 = asin;
        /// Returns the inverse of the cosine; NaN below -1 and above 1.
        ChloAcos Acos acos acos_f32 acos_f64 = acos;
        /// Returns the inverse of the tangent.
        ChloAtan Atan atan atan_f32 atan_f64 = atan;
        /// Returns the inverse of the hyperbolic sine.
        ChloAsinh Asinh asinh asinh_f32 asinh_f64 = asinh;
        /// Returns the inverse of the hyperbolic tangent; -∞ at -1, ∞ at 1, and NaN beyond them.
        ChloAtanh Atanh atanh atanh_f32 atanh_f64 = atanh;
    }
    binary_from_libm {
        /// Returns the angle, from -π to π, of the point with the ordinate `x` and the abscissa `y`.
        Atan2 Atan2 atan2 atan2_f32 atan2_f64 = atan2;
    }
    unary {
        ChloAcosh Acosh acosh acosh_f32 acosh_f64;
        ChloBesselI1e BesselI1e bessel_i1e bessel_i1e_f32 bessel_i1e_f64;
        ChloDigamma Digamma digamma digamma_f32 digamma_f64;
        ChloLgamma Lgamma lgamma lgamma_f32 lgamma_f64;
    }
    unary_formulas {
        ChloErf Erf erf erf_f32 erf_f64;
        ChloErfc Erfc erfc erfc_f32 erfc_f64;
        ChloErfInv ErfInv erf_inv erf_inv_f32 erf_inv_f64;
        Cosine Cos cos cos_f32 cos_f64;
        Exponential Exp exp exp_f32 exp_f64;
        ExponentialMinusOne Expm1 expm1 expm1_f32 expm1_f64;
        Log Log log log_f32 log_f64;
        LogPlusOne Log1p log1p log1p_f32 log1p_f64;
        Logistic Logistic logistic logistic_f32 logistic_f64;
        Sine Sin sin sin_f32 sin_f64;
        Tanh Tanh tanh tanh_f32 tanh_f64;
    }
    binary {
        ChloPolygamma Polygamma polygamma polygamma_f32 polygamma_f64;
        ChloZeta Zeta zeta zeta_f32 zeta_f64;
    }
    binary_formulas {
        Power Pow pow pow_f32 pow_f64;
    }
}
