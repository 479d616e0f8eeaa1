//! `sort`, which sorts the slices of several arrays along one dimension by a comparator, and `chlo.top_k`.
//!
//! Sorting is stable whatever the attribute says, so that all engines agree. A comparator may compare a key of one
//! element with the same key of another: JAX's comparators of floats first map -0 to 0 and all NaNs to one. Such a
//! comparator is recognised, and its keys are computed once for each element.

use crate::Opcode;
use crate::check::{self, Check, MANY, counted_tensors, types_of};
use crate::control::top_k_rule;
use crate::derivative::TangentCx;
use crate::eval::{self, Layout, Number, read_numbers};
use crate::facts::*;
use crate::make;
use crate::schema::*;
use crate::shapes::constant_value;
use shardwise_base::budget::Meter;
use shardwise_base::{DType, Data, Diagnostic, Diagnostics, Literal, LiteralWriter};
use shardwise_ir::{Attr, Attrs, Op, OpData, OpView, Region, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

pub struct Sort;
pub struct TopK;

/// Returns the dimension that is sorted, which is the last one if the attribute is absent. A negative attribute counts
/// from the end. Returns `None` if it is out of range or no integer.
pub fn dimension(op: &OpView<'_>) -> Option<usize> {
    let rank = op.operand_shape(0).len();
    let dim = op.attr("dimension").map_or(Some(-1), Attr::as_int)?;
    let dim = if dim < 0 { dim + rank as i64 } else { dim };
    usize::try_from(dim).ok().filter(|&d| d < rank)
}

impl Sort {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            optional("dimension", Some("sort_i2"), AttrKind::Int(DType::I64), "-1, the last"),
            optional("is_stable", Some("sort_i3"), AttrKind::Flag, "`false`"),
        ],
        operands: Operands::List,
        results: ResultLabels::both("sort_c2"),
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Builds the attributes of a stable sort along `dim`.
    pub fn stable_attrs(dim: usize) -> Attrs {
        Attrs::new().with("dimension", Attr::int(dim as i64)).with("is_stable", Attr::Bool(true))
    }
}

/// Builds, for each position of the sorted arrays, the position along `dim` from which its element comes. Sorts the
/// operands once more, together with an array of the positions.
fn positions(cx: &mut TangentCx<'_, '_, '_>, dim: usize) -> Value {
    let shape = cx.op.operand_shape(0).to_vec();
    let positions = make::iota(cx.b, TensorType::new(DType::I32, shape), dim);
    let operands = [cx.operands, &[positions]].concat();
    let types: Vec<Type> = operands.iter().map(|&v| cx.b.body.ty(v).clone()).collect();
    let scalar = |ty: &Type| Type::tensor(ty.as_tensor().expect("a tensor").dtype, vec![]);
    let scalars: Vec<Type> = types.iter().flat_map(|ty| [scalar(ty), scalar(ty)]).collect();
    let (region, cloner) = (cx.op.regions()[0], &mut *cx.cloner);
    let comparator = cx.b.region(&scalars, |b, args| {
        cx.op.body[region].args.iter().zip(args).for_each(|(&from, &to)| cloner.set(from, to));
        cloner.ops(region, b);
    });
    let sort = cx.b.op_with_regions(Opcode::Sort, operands, Sort::stable_attrs(dim), [comparator], types);
    cx.b.body[sort].results[cx.operands.len()]
}

impl Facts for Sort {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        let dim = dimension(op).expect("verified");
        Derivative::by(move |cx| {
            let positions = positions(cx, dim);
            let tangents = cx.tangents.iter();
            tangents.map(|t| t.map(|t| make::take_along(cx.b, t, positions, dim))).collect()
        })
    }
    answer!(transpose = none("it is not linear"));
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        let dim = dimension(op).expect("verified") as i64 + 1;
        Batched::Leading(op.attrs().clone().with("dimension", Attr::int(dim)))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 1..=MANY, 1)?;
        let region = op.regions()[0];
        let scalars = types.iter().flat_map(|t| [Type::tensor(t.dtype, vec![]), Type::tensor(t.dtype, vec![])]);
        let takes = types_of(op, &op.body[region].args) == scalars.collect::<Vec<_>>();
        let gives = types_of(op, op.body.region_results(region)) == [Type::tensor(DType::I1, vec![])];
        let same = types.iter().all(|t| t.shape == types[0].shape);
        Check::new(op)
            .that("sort_c3", same, "all inputs must have the same shape")
            .that("sort_c4", dimension(op).is_some(), "`dimension` must be a dimension of the inputs")
            .that(
                "sort_c5",
                takes && gives,
                "the comparator must take two scalars of each input's element type, and return a tensor<i1>",
            )
            .give(types_of(op, op.operands()))
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let shape = op.operand_shape(0);
        let sorted = dimension(op).expect("verified");
        let is_alone = shape.iter().enumerate().all(|(d, &n)| d == sorted || n == 1);
        let count = op.operands().len();
        let mut rule = RuleBuilder::new(vec![shape.len(); count], vec![shape.len(); count]);
        rule.add_pointwise_with(shape, |dim, size| {
            if dim == sorted {
                FactorSpec::need_replication(size).blocked_if(is_alone)
            } else {
                FactorSpec::pass_through(size)
            }
        });
        RuleFact::Rule(rule.build())
    }

    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(per_part = Other);

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let dim = dimension(op).expect("verified");
        let x: Vec<Literal> = x.iter().map(Literal::to_dense).collect();
        let order = match Keys::of(op, &x, regions)? {
            Some(keys) => order_by(x[0].shape(), dim, &mut |a, b| Ok(comes_first(&keys, a, b)))?,
            None => order_by(x[0].shape(), dim, &mut |a, b| is_less(regions, op.regions()[0], &x, a, b))?,
        };
        Ok(x.iter().map(|x| pick(x, x.shape(), &order)).collect())
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let n = op.operand_shape(0).get(dimension(op).unwrap_or(0)).copied().unwrap_or(1);
        Cost::streams(op, f64::from(usize::BITS - n.leading_zeros()))
    }

    answer!(linear = No);
    answer!(
        example = r#"func.func @main(%arg0: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %1 = stablehlo.compare LT, %arg1, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<6x5xf32>) -> tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}"#
    );
}

fn is_less(regions: &mut dyn RegionEval, region: Region, x: &[Literal], a: usize, b: usize) -> Result<bool, EvalError> {
    let args = x.iter().flat_map(|x| [x.element(a), x.element(b)]).collect();
    Ok(regions.region(region, args)?[0].element_bytes(0)[0] != 0)
}

/// Returns, for each position of the array sorted along `dim`, the position in the input from which its element comes.
/// Positions are row-major. The order is stable. Fails if `is_less` does.
pub(crate) fn order_by(
    shape: &[usize],
    dim: usize,
    is_less: &mut dyn FnMut(usize, usize) -> Result<bool, EvalError>,
) -> Result<Data<usize>, EvalError> {
    // The other dimensions of an array without elements may be of any size.
    if shape.contains(&0) {
        return Ok(Data::from_fn(0, |i| i));
    }
    let step: usize = shape[dim + 1..].iter().product();
    let n = shape[dim];
    let mut order = Data::from_fn(shape.iter().product(), |i| i);
    for outer in 0..shape[..dim].iter().product() {
        for inner in 0..step {
            let base = outer * n * step + inner;
            let mut line = Data::from_fn(n, |i| base + i * step);
            merge_sort(&mut line, &mut *is_less)?;
            for (i, &from) in line.iter().enumerate() {
                order[base + i * step] = from;
            }
        }
    }
    Ok(order)
}

/// Sorts a line stably. The comparator may be any function, even one that is no order.
///
/// # Errors
/// The first error that the comparator returns. The line is then sorted in part.
pub fn merge_sort<T: Copy, E>(line: &mut [T], mut is_less: impl FnMut(T, T) -> Result<bool, E>) -> Result<(), E> {
    let mut merged = Data::collect(line.len(), line.iter().copied());
    let (mut width, mut meter) = (1, Meter::default());
    while width < line.len() {
        for (run, out) in line.chunks(2 * width).zip(merged.chunks_mut(2 * width)) {
            let (left, right) = run.split_at(width.min(run.len()));
            merge(left, right, out, &mut is_less)?;
            meter.add(run.len() as u64);
        }
        line.copy_from_slice(&merged);
        width *= 2;
    }
    Ok(())
}

fn merge<'a, T: Copy, E>(
    mut left: &'a [T],
    mut right: &'a [T],
    out: &mut [T],
    is_less: &mut impl FnMut(T, T) -> Result<bool, E>,
) -> Result<(), E> {
    for place in out {
        let from = match (left.first(), right.first()) {
            (Some(&a), Some(&b)) if !is_less(b, a)? => &mut left,
            (Some(_), None) => &mut left,
            _ => &mut right,
        };
        let (first, rest) = from.split_first().expect("both runs together are as long as `out`");
        (*place, *from) = (*first, rest);
    }
    Ok(())
}

pub(crate) fn pick(x: &Literal, shape: &[usize], from: &[usize]) -> Literal {
    let mut out = LiteralWriter::new(x.dtype(), shape);
    from.iter().for_each(|&i| out.push(x.element_bytes(i)));
    out.finish()
}

/// The keys of all elements, for a comparator such as `key(a) < key(b)`.
pub(crate) struct Keys {
    keys: Data<Number>,
    /// Returns true for the orderings that the comparator accepts. It accepts no unordered pair.
    accepts: fn(Ordering) -> bool,
    is_total: bool,
}

impl Keys {
    pub(crate) fn new(keys: Data<Number>, direction: Direction) -> Keys {
        Keys { keys, accepts: direction.accepts(), is_total: false }
    }

    /// Computes the keys that the comparator compares one after the other, or returns `None` if
    /// [`KeyPattern::lexicographic`] does not recognise it. Fails if an op of the comparator does.
    fn of(op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Option<Vec<Keys>>, EvalError> {
        let Some(patterns) = KeyPattern::lexicographic(op) else { return Ok(None) };
        patterns.iter().map(|pattern| Keys::by(pattern, op, x, regions)).collect::<Result<_, _>>().map(Some)
    }

    fn by(
        pattern: &KeyPattern,
        op: &OpView<'_>,
        x: &[Literal],
        regions: &mut dyn RegionEval,
    ) -> Result<Keys, EvalError> {
        let (steps, input) = (pattern.steps(op), &x[pattern.input]);
        let mut keys = Data::from_fn(input.size(), |_| Number::Bool(false));
        for (i, place) in keys.iter_mut().enumerate() {
            let key = pattern.key(op, &steps, &input.element(i), regions)?.to_dense();
            *place = read_keys(&key, pattern.is_total)(0);
        }
        Ok(Keys { keys, accepts: pattern.direction.accepts(), is_total: pattern.is_total })
    }

    pub(crate) fn is_less(&self, a: usize, b: usize) -> bool {
        self.order(a, b).is_some_and(self.accepts)
    }

    /// Returns how the keys of two elements are ordered, or `None` if they are not.
    fn order(&self, a: usize, b: usize) -> Option<Ordering> {
        match (self.keys[a], self.keys[b]) {
            (Number::Bool(a), Number::Bool(b)) => Some(a.cmp(&b)),
            (Number::Signed(a), Number::Signed(b)) => Some(a.cmp(&b)),
            (Number::Unsigned(a), Number::Unsigned(b)) => Some(a.cmp(&b)),
            (Number::Single(a), Number::Single(b)) if self.is_total => Some(a.total_cmp(&b)),
            (Number::Single(a), Number::Single(b)) => a.partial_cmp(&b),
            (Number::Double(a), Number::Double(b)) if self.is_total => Some(a.total_cmp(&b)),
            (Number::Double(a), Number::Double(b)) => a.partial_cmp(&b),
            _ => None,
        }
    }
}

/// Returns a function that returns the key of an element of `x` at a row-major index. In the total order, floats of 16
/// bits are ordered by their bits, because wider floats do not keep all bits of NaN.
fn read_keys(x: &Literal, is_total: bool) -> Box<dyn Fn(usize) -> Number + '_> {
    if !is_total || !matches!(x.dtype(), DType::F16 | DType::BF16) {
        return read_numbers(x);
    }
    let bytes = x.raw_bytes();
    Box::new(move |i| {
        let bits = i16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
        // Negative numbers are ordered by their magnitude, the largest first.
        Number::Signed(i64::from(if bits < 0 { bits ^ i16::MAX } else { bits }))
    })
}

/// Returns true if a comparator that compares these keys one after the other is true for the elements at `a` and `b`.
fn comes_first(keys: &[Keys], a: usize, b: usize) -> bool {
    for key in keys {
        let order = key.order(a, b);
        if order.is_some_and(key.accepts) {
            return true;
        }
        // The next key decides if the comparator finds the two equal.
        if order != Some(Ordering::Equal) {
            return false;
        }
    }
    false
}

/// The comparison of the keys of the first and the second position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Direction {
    fn parse(name: &str) -> Option<Direction> {
        match name {
            "LT" => Some(Direction::Less),
            "LE" => Some(Direction::LessOrEqual),
            "GT" => Some(Direction::Greater),
            "GE" => Some(Direction::GreaterOrEqual),
            _ => None,
        }
    }

    fn accepts(self) -> fn(Ordering) -> bool {
        match self {
            Direction::Less => Ordering::is_lt,
            Direction::LessOrEqual => Ordering::is_le,
            Direction::Greater => Ordering::is_gt,
            Direction::GreaterOrEqual => Ordering::is_ge,
        }
    }
}

/// The place in the comparator where keys are computed, and the way in which they are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyPattern {
    /// The input whose elements are the keys' only argument.
    pub input: usize,
    /// The comparator's argument that takes this input's element at the first of the two compared positions.
    pub argument: Value,
    /// The key of that argument.
    pub key: Value,
    pub direction: Direction,
    /// True if floats are compared in their total order.
    pub is_total: bool,
}

impl KeyPattern {
    /// Recognises a comparator that compares one key and, if that is equal, the next one: `or(a < b, and(a = b, ..))`.
    /// Returns the keys in this order, or `None` for other comparators.
    pub fn lexicographic(op: &OpView<'_>) -> Option<Vec<KeyPattern>> {
        let mut keys = vec![];
        let mut result = op.body.region_results(op.regions()[0])[0];
        loop {
            let last = op.at(op.body.def_op(result)?);
            if last.name() != "stablehlo.or" {
                keys.push(KeyPattern::compared(op, result)?);
                return Some(keys);
            }
            keys.push(KeyPattern::compared(op, last.operand(0))?);
            let less = op.at(op.body.def_op(last.operand(0))?);
            let tied = op.at(op.body.def_op(last.operand(1))?);
            let equal = op.at(op.body.def_op(tied.operands().first().copied()?)?);
            let is_tie = tied.name() == "stablehlo.and"
                && equal.name() == "stablehlo.compare"
                && equal.attrs().str("comparison_direction") == Some("EQ")
                && equal.attrs().str("compare_type") == less.attrs().str("compare_type")
                && equal.operands() == less.operands();
            result = if is_tie { tied.operand(1) } else { return None };
        }
    }

    /// Recognises a comparison such as `key(a) < key(b)`, with `<`, `<=`, `>` or `>=`, whose key is no complex number
    /// and is computed from one input. Returns `None` for other comparisons.
    fn compared(op: &OpView<'_>, result: Value) -> Option<KeyPattern> {
        let compare = op.at(op.body.def_op(result)?);
        if compare.name() != "stablehlo.compare" || compare.operand_tensor(0).dtype.is_complex() {
            return None;
        }
        let direction = Direction::parse(compare.attrs().str("comparison_direction")?)?;
        let args = &op.body[op.regions()[0]].args;
        let input = (0..args.len() / 2)
            .find(|&k| same_function(op, compare.operand(0), compare.operand(1), args[2 * k], args[2 * k + 1]))?;
        Some(KeyPattern {
            input,
            argument: args[2 * input],
            key: compare.operand(0),
            direction,
            is_total: compare.attrs().str("compare_type") == Some("TOTALORDER"),
        })
    }

    fn steps(&self, op: &OpView<'_>) -> Vec<Op> {
        let mut open = HashSet::from([self.key]);
        let mut steps = vec![];
        for &inner in op.body[op.regions()[0]].ops.iter().rev() {
            let data = &op.body[inner];
            if data.results.iter().any(|v| open.contains(v)) {
                open.extend(data.operands.iter().copied());
                steps.push(inner);
            }
        }
        steps.reverse();
        steps
    }

    fn key(
        &self,
        op: &OpView<'_>,
        steps: &[Op],
        element: &Literal,
        regions: &mut dyn RegionEval,
    ) -> Result<Literal, EvalError> {
        let mut known = HashMap::from([(self.argument, element.clone())]);
        let get = |known: &HashMap<Value, Literal>, v: Value| {
            known.get(&v).or_else(|| constant(op, v)).expect("known").clone()
        };
        for &step in steps {
            let inner = op.at(step);
            let x: Vec<Literal> = inner.operands().iter().map(|&v| get(&known, v)).collect();
            known.insert(inner.result(0), crate::evaluate(&inner, &x, regions)?.swap_remove(0));
        }
        Ok(get(&known, self.key))
    }
}

fn constant<'v>(op: &OpView<'v>, v: Value) -> Option<&'v Literal> {
    constant_value(&op.at(op.body.def_op(v)?))
}

/// Returns true if `x` is computed from `a` and constants exactly as `y` is from `b`, by ops that can be run one by
/// one. The constants may be outside of the region. Returns false as well if a value on the way to `x` corresponds to
/// several on the way to `y`.
fn same_function(op: &OpView<'_>, x: Value, y: Value, a: Value, b: Value) -> bool {
    let ops: HashSet<Op> = op.body[op.regions()[0]].ops.iter().copied().collect();
    let (mut pairs, mut open) = (HashMap::from([(a, b)]), vec![(x, y)]);
    while let Some((x, y)) = open.pop() {
        match pairs.insert(x, y) {
            Some(known) if known == y => continue,
            Some(_) => return false,
            None => {}
        }
        if constant(op, x).is_some_and(|literal| constant(op, y) == Some(literal)) {
            continue;
        }
        let (Some(f), Some(g)) = (op.body.def_op(x), op.body.def_op(y)) else { return false };
        if y == b || !ops.contains(&f) || !ops.contains(&g) || !is_same_step(op, f, g) {
            return false;
        }
        let operands = op.body[f].operands.iter().zip(&op.body[g].operands);
        open.extend(operands.map(|(&x, &y)| (x, y)));
    }
    true
}

/// Returns true if two ops compute their only results from their operands in the same way, and can be run one by one.
fn is_same_step(op: &OpView<'_>, f: Op, g: Op) -> bool {
    let (f_data, g_data) = (&op.body[f], &op.body[g]);
    let types = |data: &OpData| data.results.iter().map(|&v| op.body.ty(v).clone()).collect::<Vec<Type>>();
    let view = op.at(f);
    f_data.code == g_data.code
        && f_data.attrs == g_data.attrs
        && f_data.regions.is_empty()
        && Opcode::of_view(&view).facts().semantics(&view) == Semantics::Pure
        && f_data.results.len() == 1
        && types(f_data) == types(g_data)
        && f_data.operands.len() == g_data.operands.len()
}

impl TopK {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("k", None, AttrKind::Int(DType::I64)),
            optional("is_stable", None, AttrKind::Flag, "`false`"),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Refuses,
        syntax: Syntax::pieces(
            &[
                Piece::Text("("),
                Piece::Operand,
                Piece::Text(", k = "),
                Piece::Attr("k", Written::Int(DType::I64)),
                Piece::Optional(&[Piece::Text(", is_stable = "), Piece::Attr("is_stable", Written::Bool)]),
                Piece::Text(")"),
            ],
            Types::Arrow,
        ),
        names: Names::Results(&["values", "indices"]),
        role: Role::Plain,
    };

    /// Returns how many elements are kept. Returns `None` if the attribute is missing or broken.
    pub fn k(op: &OpView<'_>) -> Option<usize> {
        op.attrs().size("k")
    }

    /// Builds the attributes of a `top_k` of `k` elements.
    pub fn attrs(k: usize) -> Attrs {
        Attrs::new().with("k", Attr::int(k as i64))
    }
}

impl Facts for TopK {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        let last = op.operand_shape(0).len() - 1;
        Derivative::by(move |cx| {
            let tangent = cx.tangents[0].map(|t| make::take_along(cx.b, t, cx.results[1], last));
            vec![tangent, None]
        })
    }
    answer!(transpose = none("it is not linear"));
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let t = counted_tensors(op, 1..=1, 0)?[0];
        let k = check::size(op, "k")?;
        let last = t.shape.last().copied();
        let mut check = Check::new(op);
        check.that("top_k_i1", last.is_some(), "the operand must have at least one dimension");
        check.that("top_k_c1", last.is_none_or(|n| k <= n), "`k` must not exceed the size of the last dimension");
        check.that("top_k_i2", !t.dtype.is_complex(), "the operand's elements must not be complex");
        check.so_far()?;
        let mut shape = t.shape.to_vec();
        shape[t.rank() - 1] = k;
        check.give([Type::tensor(t.dtype, shape.clone()), Type::tensor(DType::I32, shape)])
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        RuleFact::Rule(top_k_rule(op))
    }

    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(per_part = Other);

    /// Returns the `k` largest elements along the last dimension, the largest first, and their positions. Floats are
    /// compared in their total order. Of equal elements, the first comes first.
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let x = x[0].to_dense();
        let (dim, k) = (x.rank() - 1, op.attrs().size("k").expect("verified"));
        let keys = Data::from_fn(x.size(), read_keys(&x, true));
        let keys = Keys { keys, accepts: Ordering::is_gt, is_total: true };
        let order = order_by(x.shape(), dim, &mut |a, b| Ok(keys.is_less(a, b)))?;
        let sorted = pick(&x, x.shape(), &order);
        let n = x.shape()[dim];
        let indices = Literal::from_fn(x.shape(), |i| (order[i] % n.max(1)) as i32);
        let first = |x: &Literal| eval::gather(x, &Layout::whole(x.shape()), &with_last(x.shape(), k));
        Ok(vec![first(&sorted), first(&indices)])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        Cost::streams(op, 0.0).with_flops(op.operand_tensor(0).size() as f64)
    }

    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<6x5xf32>) -> tensor<6x2xf32> {
  %0:2 = chlo.top_k(%arg0, k = 2) : tensor<6x5xf32> -> (tensor<6x2xf32>, tensor<6x2xi32>)
  return %0#0 : tensor<6x2xf32>
}"
    );
}

fn with_last(shape: &[usize], k: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape.pop();
    shape.push(k);
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculus_test::{check_batch, check_derivative, varied};
    use crate::shard_test::{module_of, run_split};
    use shardwise_ir::{Attrs, Builder, Module};

    fn compare(b: &mut Builder<'_>, direction: &str, kind: &str, x: Value, y: Value) -> Value {
        let attrs = Attrs::new()
            .with("comparison_direction", Attr::stablehlo_enum("comparison_direction", direction))
            .with("compare_type", Attr::stablehlo_enum("comparison_type", kind));
        b.value(Opcode::Compare, [x, y], attrs, Type::tensor(DType::I1, vec![]))
    }

    fn sort(x: &[Literal], dim: i64, less: impl Fn(&mut Builder<'_>, &[Value]) -> Value) -> Module {
        module_of(x, |module, b, args| {
            let scalars: Vec<Type> = x.iter().flat_map(|x| vec![Type::tensor(x.dtype(), vec![]); 2]).collect();
            let region = b.region(&scalars, |b, args| {
                let result = less(b, args);
                b.op(Opcode::RegionReturn, [result], Attrs::new(), []);
            });
            let attrs = Attrs::new().with("dimension", Attr::int(dim));
            crate::build(module, b, Opcode::Sort, args.iter().copied(), attrs, [region]).unwrap()
        })
    }

    #[test]
    fn sorts_several_together_and_keeps_equals_in_order() {
        let keys = Literal::new([2, 4], &[3i32, 1, 3, 2, 0, 0, 5, 4]);
        let values = Literal::new([2, 4], &[0i64, 1, 2, 3, 4, 5, 6, 7]);
        let x = [keys, values];
        let module = sort(&x, -1, |b, args| compare(b, "LT", "SIGNED", args[0], args[1]));
        let sorted = run_split(&module, &x);
        assert_eq!(sorted[0], Literal::new([2, 4], &[1i32, 2, 3, 3, 0, 0, 4, 5]));
        assert_eq!(sorted[1], Literal::new([2, 4], &[1i64, 3, 0, 2, 4, 5, 7, 6]));
    }

    #[test]
    fn sorts_along_the_first_dimension() {
        let x = [Literal::new([3, 2], &[1i32, 6, 2, 5, 3, 4])];
        let module = sort(&x, 0, |b, args| compare(b, "GT", "SIGNED", args[0], args[1]));
        assert_eq!(run_split(&module, &x), [Literal::new([3, 2], &[3i32, 6, 2, 5, 1, 4])]);
    }

    /// Builds JAX's order of floats: -0 is equal to 0, and NaNs are last.
    fn jax_less(b: &mut Builder<'_>, args: &[Value]) -> Value {
        let keys = [args[0], args[1]].map(|x| {
            let zero = make::constant(b, Literal::scalar(0f32));
            let is_zero = compare(b, "EQ", "FLOAT", x, zero);
            let x = make::select(b, is_zero, zero, x);
            let is_nan = compare(b, "NE", "FLOAT", x, x);
            let nan = make::constant(b, Literal::scalar(f32::NAN));
            make::select(b, is_nan, nan, x)
        });
        compare(b, "LT", "TOTALORDER", keys[0], keys[1])
    }

    #[test]
    fn comparators_of_keys_are_recognised() {
        let x = [Literal::new([6], &[0f32, f32::NAN, -0.0, -1.0, f32::INFINITY, -f32::NAN])];
        let module = sort(&x, 0, jax_less);
        let body = &module.funcs[0].body;
        assert!(KeyPattern::lexicographic(&module.view(body, body[body.entry()].ops[0])).is_some());
        let sorted = run_split(&module, &x);
        let sorted = sorted[0].as_slice::<f32>();
        assert_eq!(sorted[..4], [-1.0, 0.0, -0.0, f32::INFINITY]);
        assert!(
            sorted[1].is_sign_positive() && sorted[2].is_sign_negative() && sorted[4].is_nan() && sorted[5].is_nan()
        );
    }

    #[test]
    fn any_comparator_sorts() {
        let x = [Literal::new([4], &[1i32, 0, 1, 0]), Literal::new([4], &[3i32, 2, 1, 0])];
        let module = sort(&x, 0, |b, a| {
            let (less, same) = (compare(b, "LT", "SIGNED", a[0], a[1]), compare(b, "EQ", "SIGNED", a[0], a[1]));
            let second = compare(b, "LT", "SIGNED", a[2], a[3]);
            let tie = make::and(b, same, second);
            make::or(b, less, tie)
        });
        let expected = [Literal::new([4], &[0i32, 0, 1, 1]), Literal::new([4], &[0i32, 2, 1, 3])];
        assert_eq!(run_split(&module, &x), expected);
    }

    fn top_k(x: &[Literal], k: i64) -> Module {
        module_of(x, |module, b, args| {
            let attrs = Attrs::new().with("k", Attr::int(k));
            crate::build(module, b, Opcode::TopK, args.iter().copied(), attrs, []).unwrap()
        })
    }

    #[test]
    fn a_dimension_that_is_wholly_taken_is_ordered_as_a_whole() {
        let x = [Literal::new([2, 4], &[3f32, 9.0, 3.0, 9.0, -1.0, -2.0, 4.0, 0.0])];
        let module = top_k(&x, 4);
        assert_eq!(run_split(&module, &x), crate::shard_test::run(&module, &x));
    }

    #[test]
    fn sorts_are_differentiated_and_batched() {
        for dim in [0, 1, -1] {
            let x = [varied(&[4, 3], 1), varied(&[4, 3], 2)];
            let module = sort(&x, dim, |b, args| compare(b, "GT", "FLOAT", args[0], args[1]));
            check_derivative(&module, &x, &[0, 1]);
            check_derivative(&module, &x, &[1]);
            check_batch(&module, &[varied(&[2, 4, 3], 3), varied(&[2, 4, 3], 4)], &[true, true]);
            check_batch(&module, &[varied(&[2, 4, 3], 3), x[1].clone()], &[true, false]);
        }
    }

    #[test]
    fn top_k_is_differentiated_and_batched() {
        let x = [varied(&[3, 5], 1)];
        let module = top_k(&x, 2);
        check_derivative(&module, &x, &[0]);
        check_batch(&module, &[varied(&[2, 3, 5], 3)], &[true]);
    }

    #[test]
    fn arrays_without_elements_are_differentiated() {
        for shape in [[3, 0], [0, 3]] {
            let x = [varied(&shape, 1), varied(&shape, 2)];
            let module = sort(&x, 1, |b, args| compare(b, "GT", "FLOAT", args[0], args[1]));
            check_derivative(&module, &x, &[0, 1]);
            let x = [varied(&shape, 1)];
            check_derivative(&top_k(&x, 0), &x, &[0]);
        }
    }

    #[test]
    fn top_k_takes_the_first_of_equals() {
        let x = [Literal::new([2, 4], &[3f32, 9.0, 3.0, 9.0, -1.0, -2.0, f32::NAN, 0.0])];
        let module = top_k(&x, 2);
        // Bits are compared below, so the input has no NaN.
        let top = crate::shard_test::run(&module, &x);
        assert_eq!(top[1], Literal::new([2, 2], &[1i32, 3, 2, 3]));
        assert_eq!(top[0].get::<f32>(0), 9.0);
        assert_eq!(run_split(&module, &x), top);
    }
}
