//! The table of elementwise functions that have a formula of their own.

/// Expands to `$with! { $given unary_functions { .. } binary_functions { .. } }`, with a row for each function.
///
/// A row has the op code, the name in block programs and in the machine's code, the method of words and vectors, and
/// the formulas in `shardwise_mathfn` for `f32` and `f64`. All other mentions of the function are made from the row,
/// but for the levels of vector instructions that compute it faster.
macro_rules! with_functions {
    ($with:ident! $($given:tt)*) => {
        $with! {
            $($given)*
            unary_functions {
                Cbrt Cbrt cbrt cbrt_f32 cbrt_f64,
                ChloErf Erf erf erf_f32 erf_f64,
                ChloErfInv ErfInv erf_inv erf_inv_f32 erf_inv_f64,
                Cosine Cos cos cos_f32 cos_f64,
                Exponential Exp exp exp_f32 exp_f64,
                ExponentialMinusOne Expm1 expm1 expm1_f32 expm1_f64,
                Log Log log log_f32 log_f64,
                LogPlusOne Log1p log1p log1p_f32 log1p_f64,
                Logistic Logistic logistic logistic_f32 logistic_f64,
                Sine Sin sin sin_f32 sin_f64,
                Tan Tan tan tan_f32 tan_f64,
                Tanh Tanh tanh tanh_f32 tanh_f64,
            }
            binary_functions {
                Atan2 Atan2 atan2 atan2_f32 atan2_f64,
                Power Pow pow pow_f32 pow_f64,
            }
        }
    };
}

pub(crate) use with_functions;
