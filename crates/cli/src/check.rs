//! `--check`: compares the results of the partitioned program with those of the unpartitioned program.
//!
//! Both programs do the same arithmetic, so their results must be equal bit for bit, unless sums of floats are taken in
//! a different order. How far rounding may then move an element is measured: the reference runs again several times,
//! with every term of such a sum moved up or down by a few units in the last place ([`noise`]). An element may differ
//! by some [`roundings`] of itself and of the distance that it moved, and by at most the [`largest_share`] of the
//! largest element. An element that is the small difference of large terms moves far. A small element beside a huge one
//! does not. If all elements are such differences ([`is_noise`]), the largest one sets no limit.

use crate::CheckWith;
use crate::noise::{self, DIRECTIONS, Direction, places};
use crate::placed::Placed;
use shardwise_base::compare::{self, Mismatch, Tolerance, compare_one};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, Loc, Sharding};
use shardwise_engine::layout::{self, Disagreement};
use shardwise_engine::{ArrayHandle, Engine};
use shardwise_host::HostEngine;
use shardwise_ir::Module;
use shardwise_spmd::Options;

/// Compares the results with those of the unpartitioned program, and prints how close they are. The reference runs in
/// the interpreter if `with` requires it or if the program has manual regions, and otherwise on one device. Returns an
/// error if the results differ by more than rounding explains, or if the reference cannot run.
pub fn check(module: &Module, inputs: &[Literal], results: &[Literal], with: CheckWith) -> Result<(), Diagnostics> {
    // The interpreter supports only Shardy's notation and a single mesh.
    let module = &shardwise_spmd::run_until("meshes", module, &mut Options::default())?;
    let is_single = matches!(with, CheckWith::Single) && !has_manual_regions(module);
    let name = if is_single { "one device" } else { "the interpreter" };
    let reference = |module: &Module| match is_single {
        true => on_one_device(module, inputs),
        false => shardwise_interp::run(module, inputs),
    };
    let mut again = |direction| reference(&noise::with_noise(module, direction));
    let comparison = compare_results(results, &reference(module)?, noise::longest_sum(module), &mut again)?;
    let mut found = Diagnostics::default();
    for (i, compared) in comparison.into_iter().enumerate() {
        match compared {
            Ok(how) => say!("out{i} against {name}: {how}"),
            Err(why) => found.push(differs(name, &why)),
        }
    }
    found.or(())
}

/// The function that runs the reference with the terms of its sums moved.
type Again<'a> = dyn FnMut(Direction) -> Result<Vec<Literal>, Diagnostics> + 'a;

/// Returns how close each result is, or how it differs. If the number of results is wrong, that is the one difference
/// in the list. `terms` is at least the number of terms of the longest sum of floats, or 0 if there is none. `again`
/// runs the reference with moved terms, and is called only if elements differ. Fails if `again` fails.
fn compare_results(
    results: &[Literal],
    expected: &[Literal],
    terms: usize,
    again: &mut Again<'_>,
) -> Result<Vec<Result<String, Mismatch>>, Diagnostics> {
    if results.len() != expected.len() {
        return Ok(vec![Err(Mismatch::Count { got: results.len(), want: expected.len() })]);
    }
    let mut moved: Option<Vec<Vec<Literal>>> = None;
    let mut out = vec![];
    for (i, (got, want)) in results.iter().zip(expected).enumerate() {
        let exact = compare_one(i, got, want, Tolerance::Exact);
        let is_sum = terms > 0 && (want.dtype().is_float() || want.dtype().is_complex());
        if exact.is_ok() || !is_sum || got.shape() != want.shape() || got.dtype() != want.dtype() {
            out.push(exact.map(|()| nearness(got, want)));
            continue;
        }
        if moved.is_none() {
            moved = Some(DIRECTIONS.into_iter().map(&mut *again).collect::<Result<_, _>>()?);
        }
        let moved: Vec<&Literal> = moved.iter().flatten().filter_map(|results| results.get(i)).collect();
        let bounds = bounds(want, terms, &moved);
        out.push(compare_one(i, got, want, Tolerance::Bounds(&bounds)).map(|()| nearness(got, want)));
    }
    Ok(out)
}

/// Describes how close two arrays of the same type are.
pub fn nearness(got: &Literal, want: &Literal) -> String {
    if got == want {
        return "equal, bit for bit".into();
    }
    if compare_one(0, got, want, Tolerance::Exact).is_ok() {
        return "equal, except for the bits of NaNs".into();
    }
    let apart = (0..want.size()).map(|i| compare::gap(got, want, i)).fold(0.0, f64::max);
    let share = apart / compare::largest(want).max(f64::MIN_POSITIVE);
    format!("largest difference {apart:.3e} ({share:.3e} of the largest element)")
}

/// Returns for each element of `want` the largest distance from it that rounding explains, if no sum has more than
/// `terms` terms. `moved` holds the results of further runs, in which the operands of all sums and products in the
/// program were moved by [`places`] units in the last place.
fn bounds(want: &Literal, terms: usize, moved: &[&Literal]) -> Vec<f64> {
    let moves = |i: usize| moved.iter().map(|m| compare::gap(m, want, i)).fold(0.0, f64::max);
    let most = match is_noise(want, moves) {
        true => f64::INFINITY,
        false => largest_share(want.dtype()) * compare::largest(want),
    };
    let places = places(want.dtype());
    let bound = |i: usize| {
        let own = places * compare::epsilon(want.dtype()) * compare::magnitude(want, i);
        let rounded = (roundings(want.dtype(), terms) / places * (own + moves(i))).min(most);
        // A product that becomes subnormal is rounded by more than its last place.
        rounded.max(roundings(want.dtype(), terms) * smallest(want.dtype()))
    };
    (0..want.size()).map(bound).collect()
}

/// Returns true if every element moved by a sixteenth of itself or more, so that it is little else than the rounding of
/// terms that cancel out, as in the sum of the deviations from a mean. `moves` is the distance by which an element
/// moved.
fn is_noise(want: &Literal, moves: impl Fn(usize) -> f64) -> bool {
    (0..want.size()).all(|i| 16.0 * moves(i) >= compare::magnitude(want, i))
}

/// Returns by how many units in the last place of itself and of its terms an element may differ. The roundings of a sum
/// are nearly random, and add up to about the square root of their number. Sums of narrow floats are rounded once on
/// each device, and once at the end.
fn roundings(dtype: DType, terms: usize) -> f64 {
    match dtype.real() {
        DType::F64 | DType::F32 => 4.0 + (terms as f64).sqrt(),
        small if small.bits() <= 8 => 2.0,
        _ => 4.0,
    }
}

/// Returns the distance between the subnormal numbers of a type, or 0 for types of 16 bits. For a type without a zero,
/// returns its least number.
fn smallest(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F64 => f64::from_bits(1),
        DType::F32 => f32::from_bits(1).into(),
        // The code of the least positive number.
        small => small.small_float(if small.has_zero() { 1 } else { 0 }).unwrap_or(0.0),
    }
}

fn largest_share(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F64 => 1e-10,
        DType::F32 => 1e-4,
        DType::F16 => 4e-3,
        small if small.bits() <= 8 => 2.5 * compare::epsilon(small),
        _ => 2e-2,
    }
}

/// Returns an error if devices that should hold equal parts of an array do not. `what` is the word for one of the
/// arrays in the message: `argument` or `result`.
pub fn replicas(what: &str, arrays: &[ArrayHandle]) -> Result<(), Diagnostics> {
    let mut found = Diagnostics::default();
    for (i, array) in arrays.iter().enumerate() {
        let ty = array.sharded_type();
        let Some(sharding) = &ty.sharding else { continue };
        if let Err(Disagreement { first, second }) = layout::assemble(|p| array.shard(p), sharding, &ty.ty.shape) {
            found.push(unequal_replicas(what, i, sharding, first, second));
        }
    }
    found.or(())
}

fn has_manual_regions(module: &Module) -> bool {
    let is_manual = |name: &str| name == "sdy.manual_computation";
    module.funcs.iter().any(|f| f.body.walk().into_iter().any(|op| is_manual(module.view(&f.body, op).name())))
}

fn on_one_device(module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    let single = shardwise_spmd::unsharded(module);
    let partitioned = shardwise_spmd::partition(&single, &mut Options::default())?;
    let engine = HostEngine::default();
    let program = engine.compile(&partitioned.module)?;
    Placed::new(&engine, program, inputs)?.run()
}

fn unequal_replicas(what: &str, index: usize, sharding: &Sharding, first: usize, second: usize) -> Diagnostic {
    let device = |position| sharding.mesh.device(position);
    let message = format!(
        "devices {} and {} should hold equal parts of {what} {index}, and do not",
        device(first),
        device(second)
    );
    Diagnostic::error("check-replicas", &Loc::UNKNOWN, message)
        .facts(format!("its layout is {sharding}, by which the shards of the two devices are equal"))
        .help("this is a bug in the engine, which please report with the program, unless a warning `claim-unproved` is about this value")
}

fn differs(name: &str, why: &Mismatch) -> Diagnostic {
    Diagnostic::error("check-differs", &Loc::UNKNOWN, format!("the results differ from those of {name}: {why}"))
        .help("run with --dump DIR to see each stage, and with --engine interp to tell the engine from the partitioner")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::Mesh;
    use shardwise_engine::{EngineArray, ShardedType};
    use shardwise_ir::TensorType;
    use std::sync::Arc;

    /// A vector of four that is split over `x`, with independent parts on each device of the 2x2 mesh.
    struct Parts {
        ty: ShardedType,
        parts: [[f32; 2]; 4],
    }

    impl EngineArray for Parts {
        fn sharded_type(&self) -> &ShardedType {
            &self.ty
        }

        fn to_literal(&self) -> Literal {
            unreachable!("not asked for")
        }

        fn shard(&self, position: usize) -> Literal {
            Literal::new(vec![2], &self.parts[position])
        }

        fn as_any(&self) -> &(dyn std::any::Any + Send + Sync) {
            self
        }
    }

    fn array(parts: [[f32; 2]; 4]) -> ArrayHandle {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 2), ("y", 2)]).unwrap());
        let sharding = Sharding::closed(&mesh, vec![vec![mesh.all_axes().next().unwrap()]]);
        Arc::new(Parts { ty: ShardedType { ty: TensorType::new(DType::F32, [4]), sharding: Some(sharding) }, parts })
    }

    #[test]
    fn replicas_must_be_equal() {
        assert!(replicas("argument", &[array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]])]).is_ok());
        let found = replicas("argument", &[array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 5.0]])]).unwrap_err();
        assert!(
            found.to_string().contains("devices 2 and 3 should hold equal parts of argument 0, and do not"),
            "{found}"
        );
    }

    fn compared(got: &[Literal], want: &[Literal], terms: usize) -> Vec<Result<String, String>> {
        let found = compare_results(got, want, terms, &mut |_| Ok(want.to_vec())).unwrap();
        found.into_iter().map(|r| r.map_err(|why| why.to_string())).collect()
    }

    #[test]
    fn only_equal_bits_are_called_so() {
        let x = |elements: [f32; 2]| [Literal::new([2], &elements)];
        let said = |got, want, terms| compared(&x(got), &x(want), terms).remove(0);
        let next = f32::from_bits(1f32.to_bits() + 1);
        assert_eq!(said([1.0, 2.0], [1.0, 2.0], 9).unwrap(), "equal, bit for bit");
        let nans = [f32::NAN, f32::from_bits(0x7fc0_0001)];
        assert_eq!(said([nans[0], 2.0], [nans[1], 2.0], 0).unwrap(), "equal, except for the bits of NaNs");
        assert!(said([next, 2.0], [1.0, 2.0], 0).is_err(), "no sum: the same arithmetic");
        assert!(said([0.0, 2.0], [-0.0, 2.0], 0).is_err());
        assert!(said([next, 2.0], [1.0, 2.0], 9).unwrap().starts_with("largest difference 1.192e-7"));
        assert!(said([f32::NAN, 2.0], [1.0, 2.0], 9).is_err());
        assert!(said([1.0, f32::INFINITY], [1.0, 2.0], 9).is_err());
    }

    #[test]
    fn an_element_beside_a_huge_one_is_seen() {
        let x = |elements: [f32; 3]| [Literal::new([3], &elements)];
        assert!(compared(&x([1e9, 1.0, 2.001]), &x([1e9, 1.0, 2.0]), 64).remove(0).is_err());
        assert!(compared(&x([1e9 + 64.0, 1.0, 2.0]), &x([1e9, 1.0, 2.0]), 64).remove(0).is_ok());
    }

    #[test]
    fn the_small_difference_of_large_terms_may_be_off_as_far_as_they_round() {
        let x = |elements: [f32; 2]| [Literal::new([2], &elements)];
        let want = x([0.1, 1000.0]);
        let mut again = |_| Ok(x([0.1001, 1000.0]).to_vec());
        let mut said = |got: [f32; 2]| compare_results(&x(got), &want, 64, &mut again).unwrap().remove(0);
        assert!(said([0.1002, 1000.0]).is_ok());
        assert!(said([0.12, 1000.0]).is_err());
        assert!(said([0.1, 1000.01]).is_err());
    }

    #[test]
    fn results_that_are_only_rounding_may_differ_as_far_as_their_terms_round() {
        let x = |elements: [f32; 2]| [Literal::new([2], &elements)];
        let said = |moved: [f32; 2], got: [f32; 2]| {
            compare_results(&x(got), &x([1e-7, 2e-7]), 64, &mut |_| Ok(x(moved).to_vec())).unwrap().remove(0)
        };
        assert!(said([3e-7, 1e-7], [2e-7, 1e-7]).is_ok());
        assert!(said([3e-7, 1e-7], [1e-5, 1e-7]).is_err(), "further than the terms round");
        assert!(said([3e-7, 2e-7], [2e-7, 2e-7]).is_err(), "the second element is no noise, and sets a limit");
    }

    #[test]
    fn subnormal_products_may_be_rounded_to_other_neighbours() {
        let x = |bits: [u32; 2]| [Literal::new([2], &bits.map(f32::from_bits))];
        let said = |got, terms| compared(&x([got, 1]), &x([1, 1]), terms).remove(0);
        assert!(said(0x8000_0000, 16).is_ok());
        assert!(said(100, 16).is_err());
        assert!(said(0x8000_0000, 0).is_err(), "no sum: the same arithmetic");
    }

    /// Tests 16 terms of type `f8E5M2` on two devices whose sums are 4.5 and 14. 4.5 is rounded to 4, and the sum of 4
    /// and 14 to 16, while the whole sum is 18.5, which is rounded to 20.
    #[test]
    fn partial_sums_of_8_bit_floats_are_rounded() {
        let x = |element: f64| {
            let code = DType::F8E5M2.small_float_code(element).unwrap();
            [Literal::from_bytes(DType::F8E5M2, &[1], &[code]).unwrap()]
        };
        let said = |got, want, terms| compared(&x(got), &x(want), terms).remove(0);
        assert!(said(16.0, 20.0, 16).is_ok());
        assert!(said(16.0, 20.0, 0).is_err(), "no sum: the same arithmetic");
        assert!(said(8.0, 20.0, 16).is_err());
        assert!(said(-20.0, 20.0, 16).is_err());
        assert!(said(f64::NAN, 20.0, 16).is_err());
    }

    #[test]
    fn types_and_numbers_of_results_are_compared() {
        let x = Literal::new([2], &[1.0f32, 2.0]);
        let y = Literal::from_bytes(DType::I32, &[2], x.raw_bytes()).unwrap();
        let said = |got: &[Literal]| compared(got, &[x.clone(), x.clone()], 9);
        assert_eq!(said(std::slice::from_ref(&x)), [Err("1 results, expected 2".to_string())]);
        assert_eq!(said(&[x.clone(), y])[1], Err("result 1 is i32[2], expected f32[2]".to_string()));
        assert_eq!(
            said(&[x.clone(), x.reshaped([1, 2])])[1],
            Err("result 1 is f32[1, 2], expected f32[2]".to_string())
        );
        let integers = |last: i64| [Literal::new([2], &[1, (1i64 << 53) + last])];
        assert!(compared(&integers(1), &integers(0), 9).remove(0).is_err());
    }
}
