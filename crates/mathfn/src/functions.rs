//! The table of elementwise functions that have kernels of their own, with the formulas that are calls of `libm`.

/// Defines the functions that have a formula here, and `with_functions!` with the rows of all.
///
/// A row has the op code, the name in block programs and in the machine's code, the method of words and vectors, and
/// the names of the functions on `f32` and `f64`.
macro_rules! functions {
    ($d:tt
        unary_from_libm { $($(#[$doc:meta])* $op:ident $name:ident $method:ident $f32:ident $f64:ident = $libm:ident;)* }
        binary_from_libm { $($(#[$doc2:meta])* $op2:ident $name2:ident $method2:ident $f32_2:ident $f64_2:ident = $libm2:ident;)* }
        unary { $($op3:ident $name3:ident $method3:ident $f32_3:ident $f64_3:ident;)* }) => {
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
        /// functions of this crate on `f32` and `f64`, and `formula` if there is a formula over lanes for `f32`, else
        /// `libm`. An engine makes all other mentions of the function from the
        /// row, but for the levels of vector instructions that compute it faster.
        #[macro_export]
        macro_rules! with_functions {
            ($d with:ident! $d($d given:tt)*) => {
                $d with! {
                    $d($d given)*
                    unary_functions {
                        $($op $name $method $f32 $f64 libm,)*
                        $($op3 $name3 $method3 $f32_3 $f64_3 formula,)*
                    }
                    binary_functions { $($op2 $name2 $method2 $f32_2 $f64_2 libm,)* }
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
    }
    binary_from_libm {
        /// Returns the angle, from -π to π, of the point with the ordinate `x` and the abscissa `y`.
        Atan2 Atan2 atan2 atan2_f32 atan2_f64 = atan2;
        /// Returns `x^y`, as C defines it.
        Power Pow pow pow_f32 pow_f64 = pow;
    }
    unary {
        ChloErf Erf erf erf_f32 erf_f64;
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
}
