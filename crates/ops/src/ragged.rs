//! `chlo.ragged_dot`: a dot whose left operand is divided into groups along one dimension.
//!
//! | the ragged dimension is | shapes |
//! |---|---|
//! | free | `[b, m, k], [g, b, k, n], [g] -> [b, m, n]`: rows of group `g` are multiplied with matrix `g` |
//! | contracting | `[b, m, k], [b, k, n], [g] -> [g, b, m, n]`: a sum for each group |
//! | batching | `[b, m, k], [b, k, n], [g] -> [b, m, n]` |
//!
//! Unless the ragged dimension is batching, the sizes of groups may differ for each batch, `[b, g]`. Free and batching
//! positions after the last group have zeros as results, and contracted elements after it are left out of the sums.

use crate::batch::BatchCx;
use crate::check::{self, Check};
use crate::derivative::CotangentCx;
use crate::dot::{self, DotDims, linear_product, zero_of};
use crate::eval::{self, Layout};
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, index, make};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, LiteralWriter};
use shardwise_ir::{Attr, Attrs, Builder, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub(crate) const RAGGED_DIMENSION_NUMBERS: AttrKind = AttrKind::Record(
    "chlo.ragged_dot",
    "`chlo.ragged_dot`, with the fields of `stablehlo.dot` and `lhs_ragged_dimensions`, \
     `rhs_group_dimensions`",
);

pub struct RaggedDot;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Free,
    Contracting,
    Batching,
}

struct Dims {
    /// The batching and contracting dimensions. Those of the right operand are counted with its group dimension.
    dot: DotDims,
    ragged: usize,
    /// The group dimension of the right operand, if the ragged dimension is free.
    group: Option<usize>,
    mode: Mode,
}

impl Dims {
    /// Reads the dimension numbers. Returns `None` if the attribute is missing or broken, does not have exactly one
    /// ragged dimension, or has several group dimensions.
    fn of(op: &OpView<'_>) -> Option<Dims> {
        let fields = op.attr("ragged_dot_dimension_numbers").and_then(Attr::as_record)?;
        let list = |name: &str| match fields.contains(name) {
            true => fields.sizes(name),
            false => Some(vec![]),
        };
        let [ragged] = list("lhs_ragged_dimensions")?[..] else { return None };
        let group = match list("rhs_group_dimensions")?[..] {
            [] => None,
            [d] => Some(d),
            _ => return None,
        };
        let dot = DotDims {
            lhs_batch: list("lhs_batching_dimensions")?,
            rhs_batch: list("rhs_batching_dimensions")?,
            lhs_contract: list("lhs_contracting_dimensions")?,
            rhs_contract: list("rhs_contracting_dimensions")?,
        };
        let mode = match ragged {
            d if dot.lhs_batch.contains(&d) => Mode::Batching,
            d if dot.lhs_contract.contains(&d) => Mode::Contracting,
            _ => Mode::Free,
        };
        Some(Dims { dot, ragged, group, mode })
    }

    /// Returns the dimension numbers of the dot of the left operand with one group's part of the right one.
    fn of_group(&self) -> DotDims {
        let Some(group) = self.group else { return self.dot.clone() };
        let without = |dims: &[usize]| dims.iter().map(|&d| d - usize::from(d > group)).collect();
        DotDims {
            rhs_batch: without(&self.dot.rhs_batch),
            rhs_contract: without(&self.dot.rhs_contract),
            ..self.dot.clone()
        }
    }

    fn rhs_shape(&self, rhs: &[usize]) -> Vec<usize> {
        (0..rhs.len()).filter(|&d| Some(d) != self.group).map(|d| rhs[d]).collect()
    }

    fn result_shape(&self, lhs: &[usize], rhs: &[usize], group_count: usize) -> Vec<usize> {
        let shape = self.of_group().result_shape(lhs, &self.rhs_shape(rhs));
        match self.mode {
            Mode::Contracting => [vec![group_count], shape].concat(),
            _ => shape,
        }
    }
}

/// The dimensions of an operand or of the result, each with a name.
type Named = Vec<Name>;

/// A dimension of a ragged dot. Numbers count the dimensions of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Batch(usize),
    Contract(usize),
    /// A free dimension of the left operand.
    Left(usize),
    /// A free dimension of the right operand.
    Right(usize),
    Group,
}

impl Dims {
    fn names(&self, lhs_rank: usize, rhs_rank: usize) -> ([Named; 3], Name) {
        let place = |list: &[usize], d: usize| list.iter().position(|&x| x == d);
        let named =
            |rank: usize, batch: &[usize], contract: &[usize], group: Option<usize>, free: fn(usize) -> Name| {
                let mut count = 0;
                let name = |d: usize| match (place(batch, d), place(contract, d)) {
                    (Some(i), _) => Name::Batch(i),
                    (_, Some(i)) => Name::Contract(i),
                    _ if group == Some(d) => Name::Group,
                    _ => {
                        count += 1;
                        free(count - 1)
                    }
                };
                (0..rank).map(name).collect::<Named>()
            };
        let dot = &self.dot;
        let left = named(lhs_rank, &dot.lhs_batch, &dot.lhs_contract, None, Name::Left);
        let right = named(rhs_rank, &dot.rhs_batch, &dot.rhs_contract, self.group, Name::Right);
        let group = (self.mode == Mode::Contracting).then_some(Name::Group);
        let batches = (0..dot.lhs_batch.len()).map(Name::Batch);
        let frees = left.iter().chain(&right).copied().filter(|n| matches!(n, Name::Left(_) | Name::Right(_)));
        let result = group.into_iter().chain(batches).chain(frees).collect();
        let ragged = left[self.ragged];
        ([left, right, result], ragged)
    }

    /// Builds the cotangent of the left operand: a ragged dot of the result's cotangent and the right operand, of which
    /// the right operand is first if the ragged dimension is contracting.
    fn left_cotangent(&self, cx: &mut CotangentCx<'_, '_, '_>) -> Value {
        let ([left, right, result], ragged) = self.names(cx.operand_tensor(0).rank(), cx.operand_tensor(1).rank());
        let (ct, y) = (cx.cotangent(), cx.known(1));
        match self.mode {
            Mode::Contracting => ragged_product(cx, [(y, &right), (ct, &result)], ragged, &left, 0),
            Mode::Free | Mode::Batching => ragged_product(cx, [(ct, &result), (y, &right)], ragged, &left, 0),
        }
    }

    fn right_cotangent(&self, cx: &mut CotangentCx<'_, '_, '_>) -> Value {
        let ([left, right, result], ragged) = self.names(cx.operand_tensor(0).rank(), cx.operand_tensor(1).rank());
        let (ct, x) = (cx.cotangent(), cx.known(0));
        ragged_product(cx, [(x, &left), (ct, &result)], ragged, &right, 1)
    }

    /// Builds a batch of ragged dots. The new dimension is the first batching dimension.
    fn batch(&self, cx: &mut BatchCx<'_, '_, '_>) -> Value {
        let op = cx.op;
        let sizes = match (cx.mapped[2], op.operand_shape(2).len() - 1, self.dot.lhs_batch.len()) {
            (false, 0, _) => cx.operands[2],
            (true, 0, batches) if batches > 0 => {
                let to: Vec<usize> = self.dot.lhs_batch.iter().map(|&d| op.operand_shape(0)[d]).collect();
                let count = op.operand_shape(2)[0];
                let shape = [&[cx.size], &to[..], &[count]].concat();
                make::broadcast_in_dim(cx.b, cx.operands[2], &shape, &[0, shape.len() - 1])
            }
            _ => cx.with_leading(2),
        };
        let batched = Dims {
            dot: DotDims {
                lhs_batch: with_first(0, &further(&self.dot.lhs_batch)),
                rhs_batch: with_first(0, &further(&self.dot.rhs_batch)),
                lhs_contract: further(&self.dot.lhs_contract),
                rhs_contract: further(&self.dot.rhs_contract),
            },
            ragged: self.ragged + 1,
            group: self.group.map(|d| d + 1),
            mode: self.mode,
        };
        let operands = [cx.with_leading(0), cx.with_leading(1), sizes];
        let made = batched.build(cx.b, operands, op.result_tensor(0).dtype, op.attrs());
        if self.mode == Mode::Contracting { make::move_to_front(cx.b, made, 1) } else { made }
    }

    fn build(&self, b: &mut Builder<'_>, operands: [Value; 3], dtype: DType, like: &Attrs) -> Value {
        let [x, y, sizes] = operands.map(|v| make::type_of(b, v).shape.clone());
        let shape = self.result_shape(&x, &y, sizes[sizes.len() - 1]);
        let group: Vec<usize> = self.group.into_iter().collect();
        let attrs = RaggedDot::attrs(&self.dot, self.ragged, &group);
        let dims = attrs.get("ragged_dot_dimension_numbers").expect("written just now").clone();
        let attrs = like.clone().with("ragged_dot_dimension_numbers", dims);
        let op = b.op(Opcode::RaggedDot, operands, attrs, [Type::tensor(dtype, shape)]);
        b.body[op].results[0]
    }
}

/// Builds the ragged dot of two arrays with named dimensions, and returns it with the dimensions `to`, in the element
/// type of operand `like`. Batching dimensions in both arrays are batches, and other dimensions in both arrays are
/// contracted. The first array has the ragged dimension.
fn ragged_product(
    cx: &mut CotangentCx<'_, '_, '_>,
    [(x, of_x), (y, of_y)]: [(Value, &Named); 2],
    ragged: Name,
    to: &Named,
    like: usize,
) -> Value {
    let shared: Vec<Name> = of_x.iter().copied().filter(|n| of_y.contains(n)).collect();
    let mut batches: Vec<Name> = shared.iter().copied().filter(|n| matches!(n, Name::Batch(_))).collect();
    batches.sort_unstable_by_key(|n| match n {
        Name::Batch(i) => *i,
        _ => 0,
    });
    let contracted: Vec<Name> = shared.iter().copied().filter(|n| !batches.contains(n)).collect();
    let places = |of: &Named, names: &[Name]| -> Vec<usize> {
        names.iter().map(|n| of.iter().position(|m| m == n).expect("the array has the dimension")).collect()
    };
    let dot = DotDims {
        lhs_batch: places(of_x, &batches),
        rhs_batch: places(of_y, &batches),
        lhs_contract: places(of_x, &contracted),
        rhs_contract: places(of_y, &contracted),
    };
    let mode = match ragged {
        Name::Batch(_) => Mode::Batching,
        name if contracted.contains(&name) => Mode::Contracting,
        _ => Mode::Free,
    };
    let group = of_y.iter().position(|n| *n == Name::Group).filter(|_| mode == Mode::Free);
    let dims = Dims { dot, ragged: places(of_x, &[ragged])[0], group, mode };
    let dtype = cx.operand_tensor(like).dtype;
    let sizes = cx.known(2);
    let made = dims.build(cx.b, [x, y, sizes], dtype, cx.op.attrs());
    let is_free = |of: &Named, n: &Name| of.contains(n) && !shared.contains(n) && *n != Name::Group;
    let first = (mode == Mode::Contracting).then_some(Name::Group);
    let frees = of_x.iter().filter(|n| is_free(of_x, n)).chain(of_y.iter().filter(|n| is_free(of_y, n)));
    let has: Named = first.into_iter().chain(batches.iter().copied()).chain(frees.copied()).collect();
    make::transpose(cx.b, made, &places(&has, to))
}

/// A dot of rows in groups, each with its own matrix: `[m, k], [g, k, n], [g] -> [m, n]`.
///
/// The operands may have their dimensions in any order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowGroups {
    pub lhs_contract: usize,
    pub rhs_contract: usize,
    pub rhs_group: usize,
}

impl RowGroups {
    /// Reads the row groups. Returns `None` for a `ragged_dot` with batches, with other numbers of dimensions, without
    /// a contracting dimension, or whose ragged dimension is not free, and if its dimension numbers are missing or
    /// broken.
    pub fn of(op: &OpView<'_>) -> Option<RowGroups> {
        let dims = Dims::of(op)?;
        let (&[l], &[r]) = (&dims.dot.lhs_contract[..], &dims.dot.rhs_contract[..]) else { return None };
        let ranks = [0, 1, 2].map(|i| op.operand_shape(i).len());
        let fits = dims.mode == Mode::Free && dims.dot.lhs_batch.is_empty() && ranks == [2, 3, 1];
        fits.then_some(RowGroups { lhs_contract: l, rhs_contract: r, rhs_group: dims.group? })
    }
}

impl RaggedDot {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("ragged_dot_dimension_numbers", None, RAGGED_DIMENSION_NUMBERS),
            optional("precision_config", None, CHLO_PRECISIONS, "every entry is `DEFAULT`"),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Refuses,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Builds the attributes of `[m, k], [g, k, n], [g] -> [m, n]`.
    pub fn row_group_attrs() -> Attrs {
        let dot = DotDims { lhs_contract: vec![1], rhs_contract: vec![1], ..DotDims::default() };
        RaggedDot::attrs(&dot, 0, &[0])
    }

    fn attrs(dot: &DotDims, ragged: usize, groups: &[usize]) -> Attrs {
        let dims: [(&str, &[usize]); 6] = [
            ("lhs_batching_dimensions", &dot.lhs_batch),
            ("rhs_batching_dimensions", &dot.rhs_batch),
            ("lhs_contracting_dimensions", &dot.lhs_contract),
            ("rhs_contracting_dimensions", &dot.rhs_contract),
            ("lhs_ragged_dimensions", &[ragged]),
            ("rhs_group_dimensions", groups),
        ];
        // Empty lists are left out, as in text.
        let listed = dims.into_iter().filter(|(_, list)| !list.is_empty());
        let fields = listed.map(|(name, list)| (name, Attr::sizes(list))).collect();
        let dims = Attr::Record { name: "chlo.ragged_dot".into(), fields };
        Attrs::new().with("ragged_dot_dimension_numbers", dims)
    }
}

impl Facts for RaggedDot {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        Derivative::by(|cx| {
            let [x, y, sizes] = [0, 1, 2].map(|i| cx.operands[i]);
            let left = cx.tangents[0].map(|t| cx.same_op(&[t, y, sizes])[0]);
            let right = cx.tangents[1].map(|t| cx.same_op(&[x, t, sizes])[0]);
            vec![cx.sum([left, right])]
        })
    }
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            let dims = Dims::of(&cx.op).expect("verified");
            let left = cx.is_linear(0).then(|| dims.left_cotangent(cx).into());
            let right = cx.is_linear(1).then(|| dims.right_cotangent(cx).into());
            vec![left, right, None]
        })
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        if mapped[2] && Dims::of(op).expect("verified").mode == Mode::Batching {
            return Batched::None(
                "its ragged dimension is batching, and the sizes of its groups differ along the batch",
            );
        }
        Batched::by("its sizes are given once or for each batch", |cx| {
            let dims = Dims::of(&cx.op).expect("verified");
            Ok(vec![dims.batch(cx)])
        })
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x, y, sizes] = check::tensors(op)?;
        let dims = Dims::of(op).ok_or_else(|| {
            check::bad_attribute(
                op,
                "ragged_dot_dimension_numbers",
                "lists of dimensions, with one ragged dimension and at most one group dimension",
            )
        })?;
        let mut check = Check::new(op);
        let lhs = [&dims.dot.lhs_batch[..], &dims.dot.lhs_contract].concat();
        let group: Vec<usize> = dims.group.into_iter().collect();
        let rhs = [&dims.dot.rhs_batch[..], &dims.dot.rhs_contract, &group].concat();
        let known = check::are_dims(&lhs, x.rank()) && check::are_dims(&rhs, y.rank()) && dims.ragged < x.rank();
        check.that("ragged_dot_c1", known, "the attributes must name dimensions that the operands have");
        let unique = check::is_unique(&lhs) && check::is_unique(&rhs);
        check.that(
            "ragged_dot_c2",
            unique,
            "the batching, contracting and group dimensions of an operand must all be different",
        );
        let pairs = dims.dot.lhs_batch.len() == dims.dot.rhs_batch.len()
            && dims.dot.lhs_contract.len() == dims.dot.rhs_contract.len();
        check.that(
            "ragged_dot_c3",
            pairs,
            "both operands must have the same numbers of batching and of contracting dimensions",
        );
        let grouped = dims.group.is_some() == (dims.mode == Mode::Free);
        check.that("ragged_dot_c4", grouped, "`rhs_group_dimensions` must name a dimension if the ragged one is neither batching nor contracting, and none otherwise");
        check.that(
            "ragged_dot_c5",
            sizes.dtype.is_integer() && sizes.rank() > 0,
            "the group sizes must be integers, and not a scalar",
        );
        check.so_far()?;
        let lhs = lhs.iter().map(|&d| x.shape[d]);
        let same = lhs.eq(rhs.iter().take(rhs.len() - group.len()).map(|&d| y.shape[d]));
        check.that("ragged_dot_c6", same, "batching and contracting dimensions must have equal sizes");
        let count = sizes.shape[sizes.rank() - 1];
        let batches: Vec<usize> = dims.dot.lhs_batch.iter().map(|&d| x.shape[d]).collect();
        let per_batch = dims.mode != Mode::Batching && sizes.shape[..sizes.rank() - 1] == batches[..];
        check.that("ragged_dot_c7", sizes.rank() == 1 || per_batch, "the group sizes must be a vector, or have the batching dimensions in front; they must be a vector if the ragged dimension is batching");
        let fits = dims.group.is_none_or(|d| y.shape[d] == count);
        let rule = "the right operand's group dimension must have the size of the last dimension of the group sizes";
        check.that("ragged_dot_c8", fits, rule);
        check.that("ragged_dot_c9", check::may_multiply(x.dtype, y.dtype), check::MULTIPLY_RULE);
        check.that("ragged_dot_c9", check::yields_product(op, x.dtype), check::PRODUCT_RULE);
        check.so_far()?;
        check.give_tensor(check::declared_dtype(op, x.dtype), dims.result_shape(&x.shape, &y.shape, count))
    }

    /// Makes the ragged dimension and that of groups whole, because every device must know the positions of all groups.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let [x, y, sizes, z] = [op.operand_shape(0), op.operand_shape(1), op.operand_shape(2), op.result_shape(0)];
        let dims = Dims::of(op).expect("verified");
        let mut rule = RuleBuilder::new([x.len(), y.len(), sizes.len()], [z.len()]);
        let first = usize::from(dims.mode == Mode::Contracting);
        let mut result = first..z.len();
        let spec = |d: usize, size| match d == dims.ragged {
            true => FactorSpec::need_replication(size),
            false => FactorSpec::pass_through(size),
        };
        for (i, (&l, &r)) in dims.dot.lhs_batch.iter().zip(&dims.dot.rhs_batch).enumerate() {
            let of_sizes = (sizes.len() > 1).then_some(i);
            rule.add_factor(&[Some(l), Some(r), of_sizes], &[result.next()], spec(l, x[l]));
        }
        for l in dims.dot.lhs_free(x.len()) {
            rule.add_factor(&[Some(l), None, None], &[result.next()], spec(l, x[l]));
        }
        for r in dims.dot.rhs_free(y.len()).into_iter().filter(|&r| Some(r) != dims.group) {
            rule.add_factor(&[None, Some(r), None], &[result.next()], FactorSpec::pass_through(y[r]));
        }
        for (&l, &r) in dims.dot.lhs_contract.iter().zip(&dims.dot.rhs_contract) {
            let whole = FactorSpec::need_replication(x[l]);
            let spec = if l == dims.ragged { whole } else { FactorSpec::reduction(x[l]) };
            rule.add_factor(&[Some(l), Some(r), None], &[None], spec);
        }
        let groups = FactorSpec::need_replication(sizes[sizes.len() - 1]);
        let of_result = (dims.mode == Mode::Contracting).then_some(0);
        rule.add_factor(&[None, dims.group, Some(sizes.len() - 1)], &[of_result], groups);
        RuleFact::Rule(rule.build())
    }

    fn combine(&self, _: &OpView<'_>) -> Combine {
        Combine::With(ReduceKind::Add)
    }

    fn neutral(&self, op: &OpView<'_>, index: usize) -> Option<Literal> {
        if index < 2 { zero_of(op, index) } else { None }
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let groups =
            Groups { dims: Dims::of(op).expect("verified"), sizes: x[2].to_dense(), result: op.result_tensor(0) };
        Ok(vec![groups.dot(&x[0].to_dense(), &x[1].to_dense())])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let dims = Dims::of(op).expect("verified");
        let contracted: usize = dims.dot.lhs_contract.iter().map(|&d| op.operand_shape(0)[d]).product();
        Cost::streams(op, 2.0 * contracted as f64)
    }

    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(pure);
    answer!(class = Other);
    answer!(localize = same_op);
    fn linear(&self, op: &OpView<'_>) -> Linear {
        if linear_product(op) == Linear::Each { Linear::EachOf(0b11) } else { Linear::No }
    }
    fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
        ExplicitPolicy::AskSums("a contracted dimension that is sharded alike on both sides leaves a sum to be taken")
    }

    answer!(
        example = r#"func.func @main(%arg0: tensor<6x3xf32>, %arg1: tensor<2x3x4xf32>, %arg2: tensor<2xi32>) -> tensor<6x4xf32> {
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x3xf32>, tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}"#
    );
}

/// The evaluation of one op.
struct Groups<'a> {
    dims: Dims,
    sizes: Literal,
    result: &'a TensorType,
}

impl Groups<'_> {
    fn count(&self) -> usize {
        self.sizes.shape()[self.sizes.rank() - 1]
    }

    /// Returns the group of position `at` along the ragged dimension, in the batch with this row-major number, or
    /// `None` if the position is after the last group.
    fn group_at(&self, batch: usize, at: usize) -> Option<usize> {
        let row = if self.sizes.rank() > 1 { batch * self.count() } else { 0 };
        let mut end = 0;
        (0..self.count()).find(|g| {
            end += self.sizes.get_i128(row + g).max(0);
            (at as i128) < end
        })
    }

    fn dot(&self, x: &Literal, y: &Literal) -> Literal {
        let dims = self.dims.of_group();
        if self.dims.mode == Mode::Batching {
            let all = dot::dot(x, y, &dims, self.result);
            let place = self.dims.dot.lhs_batch.iter().position(|&d| d == self.dims.ragged).expect("the mode says so");
            return self.kept(&[all], |index| self.group_at(0, index[place]).map(|_| 0));
        }
        if self.dims.mode == Mode::Free {
            let parts: Vec<Literal> =
                (0..self.count()).map(|g| dot::dot(x, &self.part(y, g), &dims, self.result)).collect();
            let free = self.dims.dot.lhs_free(x.rank());
            let batch_count = self.dims.dot.lhs_batch.len();
            let place = batch_count + free.iter().position(|&d| d == self.dims.ragged).expect("the mode says so");
            return self.kept(&parts, |index| self.group_at(self.batch(index), index[place]));
        }
        let t = TensorType::new(self.result.dtype, self.result.shape[1..].to_vec());
        let right = self.dims.dot.lhs_contract.iter().position(|&d| d == self.dims.ragged).expect("the mode says so");
        let sums = (0..self.count()).map(|g| {
            // Both sides are masked with zeros, because zero times infinity is not zero.
            let x = self.masked(x, &self.dims.dot.lhs_batch, self.dims.ragged, g);
            let y = self.masked(y, &self.dims.dot.rhs_batch, self.dims.dot.rhs_contract[right], g);
            dot::dot(&x, &y, &dims, &t).to_dense()
        });
        let mut out = LiteralWriter::new(self.result.dtype, &self.result.shape);
        for sum in sums {
            (0..sum.size()).for_each(|i| out.push(sum.element_bytes(i)));
        }
        out.finish()
    }

    fn batch(&self, index: &[usize]) -> usize {
        (0..self.dims.dot.lhs_batch.len()).fold(0, |n, d| n * self.result.shape[d] + index[d])
    }

    fn part(&self, y: &Literal, group: usize) -> Literal {
        let dim = self.dims.group.expect("the mode says so");
        let (mut start, mut shape) = (vec![0; y.rank()], y.shape().to_vec());
        start[dim] = group;
        shape[dim] = 1;
        let part = eval::gather(y, &Layout::block(y.shape(), &start, &vec![1; y.rank()]), &shape);
        part.reshaped(self.dims.rhs_shape(y.shape()))
    }

    fn kept(&self, parts: &[Literal], pick: impl Fn(&[usize]) -> Option<usize>) -> Literal {
        let zero = vec![0u8; self.result.dtype.storage_bytes()];
        let mut out = LiteralWriter::new(self.result.dtype, &self.result.shape);
        let mut i = 0;
        index::for_each_index(&self.result.shape, |index| {
            out.push(pick(index).map_or(&zero[..], |p| parts[p].element_bytes(i)));
            i += 1;
        });
        out.finish()
    }

    /// Returns the operand with zeros outside one group along `dim`. Its batching dimensions are `batch`.
    fn masked(&self, x: &Literal, batch: &[usize], dim: usize, group: usize) -> Literal {
        let zero = vec![0u8; x.dtype().storage_bytes()];
        let mut out = LiteralWriter::new(x.dtype(), x.shape());
        let mut i = 0;
        index::for_each_index(x.shape(), |index| {
            let number = batch.iter().fold(0, |n, &d| n * x.shape()[d] + index[d]);
            let is_kept = self.group_at(number, index[dim]) == Some(group);
            out.push(if is_kept { x.element_bytes(i) } else { &zero });
            i += 1;
        });
        out.finish()
    }
}
