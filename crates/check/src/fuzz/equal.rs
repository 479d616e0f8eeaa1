//! When the results of two runs count as equal.

use shardwise_base::compare::{Tolerance, compare, epsilon};
use shardwise_base::{DType, Literal};
use shardwise_ir::{Body, Module, Value};
use shardwise_ops::calls;
use std::collections::{BTreeSet, HashSet};

/// Describes the first difference between two lists of results, or returns `None` if they are equal up to the bits of
/// NaNs. Zeros of different signs differ.
pub(super) fn difference(got: &[Literal], want: &[Literal]) -> Option<String> {
    compare(got, want, |_| Tolerance::Exact).err().map(|why| why.to_string())
}

/// Describes the first difference that rounding does not explain, or returns `None` if there is none. Floats and the
/// parts of complex numbers may differ by a fraction of the largest element, or of 1 if that is larger. Integers and
/// booleans must be equal.
///
/// `through[i]` has the element types of the values on which result `i` depends. A result is only as precise as the
/// coarsest of them. Results that depend on a float of at most 8 bits are not compared.
pub(super) fn difference_beyond_rounding(
    got: &[Literal],
    want: &[Literal],
    through: &[BTreeSet<DType>],
) -> Option<String> {
    if got.len() != want.len() {
        return difference(got, want);
    }
    let no_types = BTreeSet::new();
    let types = |i: usize| through.get(i).unwrap_or(&no_types);
    let is_precise = |i: &usize| !types(*i).iter().any(|&dtype| has_few_numbers(dtype));
    let precise: Vec<usize> = (0..want.len()).filter(is_precise).collect();
    let kept = |list: &[Literal]| -> Vec<Literal> { precise.iter().map(|&i| list[i].clone()).collect() };
    let rounding = |k: usize| {
        let i = precise[k];
        Tolerance::OfLargestOrOne(units(want[i].dtype(), types(i)))
    };
    compare(&kept(got), &kept(want), rounding).err().map(|why| why.to_string())
}

/// Returns true for floats of at most 8 bits. Their sums in different orders are rounded, and saturate, so differently
/// that they cannot be compared.
fn has_few_numbers(dtype: DType) -> bool {
    dtype.is_float() && dtype.bits() <= 8
}

/// Returns how many units in the last place of the largest element rounding may explain, for a result of type `dtype`
/// that depends on values of the types `through`.
fn units(dtype: DType, through: &BTreeSet<DType>) -> u64 {
    let rounded = through.iter().copied().filter(|t| t.is_float() || t.is_complex());
    let most = rounded.map(|t| (places(t) as f64 * epsilon(t) / epsilon(dtype)).ceil() as u64).max();
    most.unwrap_or(0).max(places(dtype))
}

fn places(dtype: DType) -> u64 {
    match dtype.real() {
        DType::F64 => 1 << 25,
        DType::F32 => 1 << 13,
        DType::F16 => 1 << 5,
        DType::BF16 => 6,
        _ => 1 << 6,
    }
}

/// Returns the element types of the values on which each result of the main function depends, or an empty list if there
/// is no main function. If a result depends on an op with regions or on a call, all values that are made in these
/// regions or in the called functions count.
pub(super) fn types_behind(module: &Module) -> Vec<BTreeSet<DType>> {
    let Some(main) = module.main() else { return vec![] };
    main.body.results().iter().map(|&v| Behind::of(module, &main.body, v)).collect()
}

/// A search, from a result back to its operands, for the values on which the result depends.
struct Behind<'a> {
    body: &'a Body,
    types: BTreeSet<DType>,
    seen: HashSet<Value>,
    rest: Vec<Value>,
}

impl Behind<'_> {
    fn of(module: &Module, body: &Body, result: Value) -> BTreeSet<DType> {
        let mut behind = Behind { body, types: BTreeSet::new(), seen: HashSet::new(), rest: vec![] };
        behind.add(&[result]);
        while let Some(v) = behind.rest.pop() {
            let Some(op) = body.def_op(v) else { continue };
            let view = module.view(body, op);
            behind.add(view.operands());
            behind.add(&view.captured());
            let mut inside = vec![];
            view.regions().iter().for_each(|&region| body.walk_region(region, &mut inside));
            behind.types.extend(inside.iter().flat_map(|&op| &body[op].results).filter_map(|&v| dtype(body, v)));
            inside.push(op);
            let callees = inside.into_iter().filter_map(|op| calls::callee(&module.view(body, op)));
            for id in calls::callees_first(module, callees.collect()) {
                let callee = &module[id].body;
                behind.types.extend((0..callee.value_count()).filter_map(|i| dtype(callee, Value::new(i))));
            }
        }
        behind.types
    }

    fn add(&mut self, values: &[Value]) {
        for &v in values {
            self.types.extend(dtype(self.body, v));
            if self.seen.insert(v) {
                self.rest.push(v);
            }
        }
    }
}

fn dtype(body: &Body, v: Value) -> Option<DType> {
    body.ty(v).as_tensor().map(|t| t.dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_relative_to_the_largest_element() {
        let x = |values: &[f32]| [Literal::new([values.len()], values)];
        let difference = |a: &[Literal], b: &[Literal]| difference_beyond_rounding(a, b, &[]);
        assert_eq!(difference(&x(&[100.0, 0.05]), &x(&[100.0, 0.0])), None);
        assert!(difference(&x(&[100.0, 0.2]), &x(&[100.0, 0.0])).is_some());
        assert!(difference(&x(&[f32::NAN]), &x(&[0.0])).is_some());
        assert!(difference(&[Literal::new([1], &[1])], &[Literal::new([1], &[2])]).is_some());
        assert!(difference(&x(&[1.0]), &[]).is_some() && difference(&[], &x(&[1.0])).is_some());
    }

    #[test]
    fn a_missing_result_that_is_not_compared_is_a_difference() {
        let x = Literal::scalar(1f32);
        let through = [DType::F32, DType::F8E5M2].map(|dtype| BTreeSet::from([dtype]));
        let (one, two) = ([x.clone()], [x.clone(), x]);
        assert!(difference_beyond_rounding(&one, &two, &through).is_some());
        assert!(difference_beyond_rounding(&two, &one, &through).is_some());
        assert_eq!(difference_beyond_rounding(&two, &two, &through), None);
    }

    #[test]
    fn rounding_is_that_of_the_coarsest_type_on_the_way() {
        let x = |value: f64| [Literal::scalar(value)];
        let differ = |a, b, dtype| difference_beyond_rounding(&x(a), &x(b), &[BTreeSet::from([dtype])]).is_some();
        assert!(differ(1.0, 1.01, DType::F64) && differ(1.0, 1.01, DType::F32) && differ(1.0, 1.5, DType::BF16));
        assert!(!differ(1.0, 1.01, DType::BF16) && !differ(1.0, 4.0, DType::F4E2M1FN));
        let integers = |n: i32| [Literal::scalar(n)];
        assert!(difference_beyond_rounding(&integers(1), &integers(2), &[BTreeSet::from([DType::BF16])]).is_some());
    }

    #[test]
    fn types_are_collected_from_operands_regions_and_callees() {
        let text = "func.func @main(%a: tensor<f16>, %b: tensor<f64>, %p: tensor<i1>) -> (tensor<f32>, tensor<f64>) {
  %0 = call @f(%a) : (tensor<f16>) -> tensor<f32>
  %1 = \"stablehlo.if\"(%p) ({
    %2 = stablehlo.convert %0 : (tensor<f32>) -> tensor<i8>
    %3 = stablehlo.convert %2 : (tensor<i8>) -> tensor<f32>
    %4 = call @g(%3) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }, {
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %1, %b : tensor<f32>, tensor<f64>
}
func.func private @f(%a: tensor<f16>) -> tensor<f32> {
  %0 = stablehlo.convert %a : (tensor<f16>) -> tensor<bf16>
  %1 = stablehlo.convert %0 : (tensor<bf16>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @g(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.convert %a : (tensor<f32>) -> tensor<f8E5M2>
  %1 = stablehlo.convert %0 : (tensor<f8E5M2>) -> tensor<f32>
  return %1 : tensor<f32>
}";
        let module = shardwise_ir::text::parse("test", text, &shardwise_ops::OPS).unwrap();
        let first = BTreeSet::from([DType::F16, DType::BF16, DType::F32, DType::F8E5M2, DType::I8, DType::I1]);
        assert_eq!(types_behind(&module), [first, BTreeSet::from([DType::F64])]);
    }

    #[test]
    fn only_nans_may_differ_in_bits() {
        let x = |values: &[f32]| [Literal::new([values.len()], values)];
        let other_nan = f32::from_bits(f32::NAN.to_bits() | 1);
        assert_eq!(difference(&x(&[1.0, f32::NAN]), &x(&[1.0, other_nan])), None);
        assert!(difference(&x(&[0.0]), &x(&[-0.0])).is_some());
        assert!(difference(&x(&[1.0]), &x(&[f32::NAN])).is_some());
        assert!(difference(&x(&[1.0]), &x(&[1.0, 1.0])).is_some());
        assert!(difference(&x(&[1.0]), &[Literal::new([1], &[1.0f64])]).is_some());
        assert!(difference(&x(&[1.0]), &[]).is_some());
        assert!(difference(&[Literal::new([1], &[1i64 << 60])], &[Literal::new([1], &[(1i64 << 60) + 1])]).is_some());
    }
}
