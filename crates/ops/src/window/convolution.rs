//! `convolution`: sums of products of windows and a kernel.
//!
//! Products are added over kernel positions, row-major, then over input features, starting from zero. Sums of floats
//! are computed in `f64` if an operand or the result is of type f64, and in `f32` otherwise. Sums of complex numbers are
//! computed in `complex<f64>`. The complete sums are rounded to the type of the result. Sums of integers wrap. Padding
//! and holes are zeros, so an infinite element of the kernel makes NaN there.

use super::{
    WindowDim, WindowLabels, before_paddings, padded_by_windows, places, read_window, verified_window, with_window,
};
use crate::batch::{BatchCx, leading_type};
use crate::check::{self, Check, bad_attribute, counted_tensors};
use crate::derivative::CotangentCx;
use crate::dot::{linear_product, zero_of};
use crate::eval::{self, Number};
use crate::facts::*;
use crate::schema::*;
use crate::shapes::known_operand;
use crate::{Opcode, index, make};
use shardwise_base::budget::Meter;
use shardwise_base::{Complex64, DType, DTypeKind, Data, Diagnostic, Diagnostics, Literal, Sharding};
use shardwise_ir::{Attr, Attrs, Builder, OpView, Type, Value};
use shardwise_sharding::{FactorKind, FactorSpec, Rule, RuleBuilder};

pub(crate) const CONV_DIMENSIONS: AttrKind = AttrKind::Record(
    "stablehlo.conv",
    "`stablehlo.conv {input_batch_dimension, input_feature_dimension, kernel_input_feature_dimension, \
     kernel_output_feature_dimension, output_batch_dimension, output_feature_dimension: integer; \
     input_spatial_dimensions?, kernel_spatial_dimensions?, output_spatial_dimensions?: integers}`",
);

pub struct Convolution;

const NAMES: [&str; 4] = ["sizes of the kernel's spatial dimensions", "window_strides", "lhs_dilation", "rhs_dilation"];

const LABELS: WindowLabels = WindowLabels {
    sizes: ["convolution_c17", "convolution_c17"],
    strides: ["convolution_c2", "convolution_c3"],
    base_dilations: ["convolution_c5", "convolution_c6"],
    dilations: ["convolution_c7", "convolution_c8"],
    padding: "convolution_c4",
};

/// The roles of the dimensions of a convolution's input, kernel and output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvDims {
    pub input_batch: usize,
    pub input_feature: usize,
    pub input_spatial: Vec<usize>,
    pub kernel_input_feature: usize,
    pub kernel_output_feature: usize,
    pub kernel_spatial: Vec<usize>,
    pub output_batch: usize,
    pub output_feature: usize,
    pub output_spatial: Vec<usize>,
}

impl ConvDims {
    pub fn of(op: &OpView<'_>) -> Option<ConvDims> {
        let fields = op.attr("dimension_numbers")?.as_record()?;
        let list = |name: &str| fields.get(name).map_or(Some(vec![]), Attr::to_sizes);
        Some(ConvDims {
            input_batch: fields.size("input_batch_dimension")?,
            input_feature: fields.size("input_feature_dimension")?,
            input_spatial: list("input_spatial_dimensions")?,
            kernel_input_feature: fields.size("kernel_input_feature_dimension")?,
            kernel_output_feature: fields.size("kernel_output_feature_dimension")?,
            kernel_spatial: list("kernel_spatial_dimensions")?,
            output_batch: fields.size("output_batch_dimension")?,
            output_feature: fields.size("output_feature_dimension")?,
            output_spatial: list("output_spatial_dimensions")?,
        })
    }

    /// Returns how the kernel moves along each spatial dimension.
    pub fn window(&self, op: &OpView<'_>) -> Vec<WindowDim> {
        verified_window(op, NAMES, Some(kernel_sizes(op, self)), self.kernel_spatial.len())
    }

    /// Returns, for each spatial dimension, true if the kernel is reversed along it. All are false if the attribute is
    /// absent or broken.
    pub fn reversed(&self, op: &OpView<'_>) -> Vec<bool> {
        op.attr("window_reversal").and_then(flags).unwrap_or_else(|| vec![false; self.kernel_spatial.len()])
    }

    fn input(&self) -> Vec<usize> {
        [&[self.input_batch][..], &self.input_spatial, &[self.input_feature]].concat()
    }

    fn kernel(&self) -> Vec<usize> {
        [&self.kernel_spatial[..], &[self.kernel_input_feature, self.kernel_output_feature]].concat()
    }

    fn output(&self) -> Vec<usize> {
        [&[self.output_batch][..], &self.output_spatial, &[self.output_feature]].concat()
    }
}

/// Returns `feature_group_count` or `batch_group_count`, or 1 if it is absent or not an integer. Returns 0 if it is
/// negative, which [`Facts::infer`] refuses as it refuses 0.
pub fn group_count(op: &OpView<'_>, name: &str) -> usize {
    op.attrs().int(name).map_or(1, |count| usize::try_from(count).unwrap_or(0))
}

/// Returns the flags in `array<i1: ..>`, or those that a list of integers ([`Attr::to_ints`]) stands for, which are
/// true where the integer is not 0. Returns `None` for other attributes.
fn flags(attr: &Attr) -> Option<Vec<bool>> {
    match attr {
        Attr::Bools(flags) => Some(flags.clone()),
        _ => Some(attr.to_ints()?.into_iter().map(|flag| flag != 0).collect()),
    }
}

fn pick(shape: &[usize], dims: &[usize]) -> Vec<usize> {
    dims.iter().map(|&d| shape[d]).collect()
}

fn result_rank(_: usize, given: &[Type], expected: &[Type]) -> Option<&'static str> {
    (given[0].shape().len() != expected[0].shape().len()).then_some("convolution_c26")
}

impl Convolution {
    pub(crate) const QUANTIZED: QuantizedProduct = QuantizedProduct {
        lhs: "convolution_i1",
        which: "convolution_c28",
        zero_points: None,
        axis: "convolution_c29",
        fits_axis: |op, dim| ConvDims::of(op).is_none_or(|dims| dims.kernel_output_feature == dim),
        storage: "convolution_c31",
        expressed: "convolution_c32",
        per_tensor: "convolution_c33",
        result_axis: Some(ResultAxis {
            label: "convolution_c30",
            fits: |op, dim| ConvDims::of(op).is_none_or(|dims| dims.output_feature == dim),
            rule: "the result must be quantized along its feature dimension, or as a whole",
        }),
        hybrid: "convolution_c34",
    };

    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            optional("window_strides", Some("convolution_i3"), AttrKind::Ints, "ones"),
            optional("padding", Some("convolution_i4"), AttrKind::Pairs, "zeros"),
            optional("lhs_dilation", Some("convolution_i5"), AttrKind::Ints, "ones"),
            optional("rhs_dilation", Some("convolution_i6"), AttrKind::Ints, "ones"),
            optional("window_reversal", Some("convolution_i7"), AttrKind::Flags, "`false` for each dimension"),
            required("dimension_numbers", Some("convolution_i8"), CONV_DIMENSIONS),
            optional("feature_group_count", Some("convolution_i17"), AttrKind::Int(DType::I64), "1"),
            optional("batch_group_count", Some("convolution_i18"), AttrKind::Int(DType::I64), "1"),
            optional("precision_config", Some("convolution_i19"), PRECISIONS, "every entry is `DEFAULT`"),
        ],
        operands: Operands::Each,
        results: ResultLabels::of("convolution_c25", "convolution_c27").with_shape_of(result_rank),
        on_quantized: OnQuantized::Multiplies(&Self::QUANTIZED),
        syntax: Syntax::pieces(
            &[
                Piece::Text("("),
                Piece::Operands,
                Piece::Text(") dim_numbers = "),
                Piece::Attr("dimension_numbers", Written::ConvDimensions),
                Piece::Text(", window = "),
                WINDOW,
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl ConvDims {
    fn to_attr(&self) -> Attr {
        let one = |n: usize| Attr::int(n as i64);
        let fields = [
            ("input_batch_dimension", one(self.input_batch)),
            ("input_feature_dimension", one(self.input_feature)),
            ("input_spatial_dimensions", Attr::sizes(&self.input_spatial)),
            ("kernel_input_feature_dimension", one(self.kernel_input_feature)),
            ("kernel_output_feature_dimension", one(self.kernel_output_feature)),
            ("kernel_spatial_dimensions", Attr::sizes(&self.kernel_spatial)),
            ("output_batch_dimension", one(self.output_batch)),
            ("output_feature_dimension", one(self.output_feature)),
            ("output_spatial_dimensions", Attr::sizes(&self.output_spatial)),
        ];
        // Empty lists are left out, as in text.
        let is_empty = |attr: &Attr| attr.to_ints().is_some_and(|list| list.is_empty());
        let fields = fields.into_iter().filter(|(_, attr)| !is_empty(attr)).collect();
        Attr::Record { name: "stablehlo.conv".into(), fields }
    }

    fn convolution(&self, cx: &mut Built<'_, '_, '_>, x: Value, kernel: Value) -> Value {
        let (x_shape, kernel_shape) = (cx.b.body.ty(x).shape().to_vec(), cx.b.body.ty(kernel).shape().to_vec());
        let mut shape = vec![0; x_shape.len()];
        shape[self.output_batch] = x_shape[self.input_batch] / cx.batch_groups;
        shape[self.output_feature] = kernel_shape[self.kernel_output_feature];
        for (d, window) in cx.window.iter().enumerate() {
            let places = window.count(x_shape[self.input_spatial[d]]).expect("the sizes are small");
            shape[self.output_spatial[d]] = places;
        }
        let sizes = |f: fn(&WindowDim) -> usize| Attr::sizes(&cx.window.iter().map(f).collect::<Vec<_>>());
        let padding: Vec<i64> = cx.window.iter().flat_map(|w| [w.low, w.high]).collect();
        let attrs = (cx.like.attrs().clone())
            .with("window_strides", sizes(|w| w.stride))
            .with("padding", Attr::Dense(Literal::new(vec![cx.window.len(), 2], &padding)))
            .with("lhs_dilation", sizes(|w| w.base_dilation))
            .with("rhs_dilation", sizes(|w| w.dilation))
            .with("window_reversal", Attr::Bools(cx.reversed.clone()))
            .with("dimension_numbers", self.to_attr())
            .with("feature_group_count", Attr::int(cx.feature_groups as i64))
            .with("batch_group_count", Attr::int(cx.batch_groups as i64));
        cx.b.value(Opcode::Convolution, [x, kernel], attrs, Type::tensor(cx.dtype, shape))
    }

    /// Builds the cotangent of the input: the cotangent of the result, spread by the strides, under the reversed
    /// kernel. Returns `None` for zero, if the padding is so large that only padding is under the kernel.
    fn input_cotangent(&self, cx: &mut CotangentCx<'_, '_, '_>) -> Option<Value> {
        let op = cx.op;
        let (from, to) = (op.operand_shape(0), op.result_shape(0));
        let transposed =
            |(d, w): (usize, WindowDim)| w.transposed(from[self.input_spatial[d]], to[self.output_spatial[d]]);
        let window = self.window(&op).into_iter().enumerate().map(transposed).collect::<Option<_>>()?;
        let [features, batches] = ["feature_group_count", "batch_group_count"].map(|name| group_count(&op, name));
        let groups = features.max(batches);
        let (ct, kernel) = (cx.cotangent(), cx.known(1));
        let [ct, mut kernel] = in_wider_type(cx.b, [ct, kernel]);
        if groups > 1 {
            kernel = moved(cx.b, kernel, self.kernel_output_feature, self.kernel_input_feature, groups);
        }
        let dims = ConvDims {
            input_batch: self.output_batch,
            input_feature: self.output_feature,
            input_spatial: self.output_spatial.clone(),
            kernel_input_feature: self.kernel_output_feature,
            kernel_output_feature: self.kernel_input_feature,
            kernel_spatial: self.kernel_spatial.clone(),
            output_batch: self.input_batch,
            output_feature: self.input_feature,
            output_spatial: self.input_spatial.clone(),
        };
        let mut built = Built {
            like: &op,
            window,
            reversed: self.reversed(&op).into_iter().map(|r| !r).collect(),
            feature_groups: groups,
            batch_groups: 1,
            dtype: op.operand_tensor(0).dtype,
            b: &mut *cx.b,
        };
        let made = dims.convolution(&mut built, ct, kernel);
        let is_grouped = batches > 1;
        Some(if is_grouped { moved(cx.b, made, self.input_feature, self.input_batch, batches) } else { made })
    }

    /// Builds the cotangent of the kernel: the input under the cotangent of the result, with batches summed in the
    /// place of features. Returns `None` for zero, if the padding is so large that only padding is under the kernel.
    fn kernel_cotangent(&self, cx: &mut CotangentCx<'_, '_, '_>) -> Option<Value> {
        let op = cx.op;
        let (from, to) = (op.operand_shape(0), op.result_shape(0));
        let by_elements =
            |(d, w): (usize, WindowDim)| w.by_all_elements(from[self.input_spatial[d]], to[self.output_spatial[d]]);
        let window = self.window(&op).into_iter().enumerate().map(by_elements).collect::<Option<_>>()?;
        let [features, batches] = ["feature_group_count", "batch_group_count"].map(|name| group_count(&op, name));
        let (ct, x) = (cx.cotangent(), cx.known(0));
        let [ct, x] = in_wider_type(cx.b, [ct, x]);
        let dims = ConvDims {
            input_batch: self.input_feature,
            input_feature: self.input_batch,
            input_spatial: self.input_spatial.clone(),
            kernel_input_feature: self.output_batch,
            kernel_output_feature: self.output_feature,
            kernel_spatial: self.output_spatial.clone(),
            output_batch: self.kernel_input_feature,
            output_feature: self.kernel_output_feature,
            output_spatial: self.kernel_spatial.clone(),
        };
        let reversed = self.reversed(&op);
        let mut built = Built {
            like: &op,
            window,
            reversed: vec![false; reversed.len()],
            feature_groups: batches,
            batch_groups: features,
            dtype: op.operand_tensor(1).dtype,
            b: &mut *cx.b,
        };
        let made = dims.convolution(&mut built, x, ct);
        let flipped: Vec<usize> =
            (0..reversed.len()).filter(|&d| reversed[d]).map(|d| self.kernel_spatial[d]).collect();
        Some(if flipped.is_empty() { made } else { make::reverse(cx.b, made, &flipped) })
    }

    /// Builds a batch of convolutions. The new dimension becomes a part of the batch dimension, of the features of the
    /// result, or of the groups of features. If the batch dimension is divided into groups, the new dimension becomes a
    /// part of each group, or multiplies the number of groups.
    fn batch(&self, cx: &mut BatchCx<'_, '_, '_>) -> Value {
        let op = cx.op;
        let [groups, batch_groups] = ["feature_group_count", "batch_group_count"].map(|name| group_count(&op, name));
        let (mut built_groups, mut built_batch_groups, mut outer) = (groups, batch_groups, 1);
        let (x, kernel, place) = match (cx.mapped[0], cx.mapped[1]) {
            (true, false) => {
                let x = merged_in_groups(cx.b, cx.operands[0], self.input_batch, batch_groups);
                (x, cx.operands[1], self.output_batch)
            }
            (false, true) if groups == 1 => {
                outer = batch_groups;
                let kernel = merged_in_groups(cx.b, cx.operands[1], self.kernel_output_feature, batch_groups);
                (cx.operands[0], kernel, self.output_feature)
            }
            _ if batch_groups > 1 => {
                built_batch_groups = batch_groups * cx.size;
                let (x, kernel) = (cx.with_leading(0), cx.with_leading(1));
                let x = merged(cx.b, x, self.input_batch);
                (x, merged(cx.b, kernel, self.kernel_output_feature), self.output_feature)
            }
            _ => {
                built_groups = groups * cx.size;
                let (x, kernel) = (cx.with_leading(0), cx.with_leading(1));
                let x = merged(cx.b, x, self.input_feature);
                (x, merged(cx.b, kernel, self.kernel_output_feature), self.output_feature)
            }
        };
        let mut built = Built {
            like: &op,
            window: self.window(&op),
            reversed: self.reversed(&op),
            feature_groups: built_groups,
            batch_groups: built_batch_groups,
            dtype: op.result_tensor(0).dtype,
            b: &mut *cx.b,
        };
        let made = self.convolution(&mut built, x, kernel);
        let mut shape = op.result_shape(0).to_vec();
        shape[place] /= outer;
        shape.splice(place..place, [outer, cx.size]);
        let made = make::reshape(cx.b, made, &shape);
        let made = make::move_to_front(cx.b, made, place + 1);
        make::reshape(cx.b, made, &[&[cx.size], op.result_shape(0)].concat())
    }
}

/// The attributes of a convolution that is built in place of another one, and where it is built.
struct Built<'a, 's, 'b> {
    like: &'a OpView<'s>,
    window: Vec<WindowDim>,
    reversed: Vec<bool>,
    feature_groups: usize,
    batch_groups: usize,
    dtype: DType,
    b: &'a mut Builder<'b>,
}

/// Converts two arrays to the wider of their element types: the operands of a convolution must have one type, and the
/// cotangent of its result may have another one.
fn in_wider_type(b: &mut Builder<'_>, x: [Value; 2]) -> [Value; 2] {
    let [first, second] = x.map(|v| make::type_of(b, v).dtype);
    let wider = if first.bits() < second.bits() { second } else { first };
    x.map(|v| make::convert(b, v, wider))
}

/// Builds the result of a batch of size 0. It is not the result of a convolution, which cannot have 0 groups.
fn empty_batch(cx: &mut BatchCx<'_, '_, '_>) -> Value {
    let to = cx.op.result_tensor(0);
    let empty = Literal::zeros(to.dtype, with_first(0, &to.shape));
    cx.b.value(Opcode::Constant, [], make::constant_attrs(empty), leading_type(cx.op.result_type(0), 0))
}

/// Moves the groups, which are the major part of dimension `from`, to the major part of dimension `to`.
fn moved(b: &mut Builder<'_>, x: Value, from: usize, to: usize, groups: usize) -> Value {
    let mut shape = make::type_of(b, x).shape.clone();
    shape[from] /= groups;
    let mut split = shape.clone();
    split.insert(from, groups);
    let x = make::reshape(b, x, &split);
    let x = make::move_to_front(b, x, from);
    merged(b, x, to)
}

/// Makes the leading dimension the major part of each of the groups of dimension `to` of the others.
fn merged_in_groups(b: &mut Builder<'_>, x: Value, to: usize, groups: usize) -> Value {
    let shape = make::type_of(b, x).shape[1..].to_vec();
    let count = make::type_of(b, x).shape[0];
    let mut split = shape.clone();
    split[to] /= groups;
    split.insert(to, groups);
    let x = make::reshape(b, x, &[&[count], &split[..]].concat());
    let x = merged(b, x, to + 1);
    let mut whole = shape;
    whole[to] *= count;
    make::reshape(b, x, &whole)
}

/// Makes the leading dimension the major part of dimension `to` of the others.
fn merged(b: &mut Builder<'_>, x: Value, to: usize) -> Value {
    let shape = make::type_of(b, x).shape.clone();
    let order: Vec<usize> = (1..=to).chain([0]).chain(to + 1..shape.len()).collect();
    let x = if to == 0 { x } else { make::transpose(b, x, &order) };
    let mut result = shape[1..].to_vec();
    result[to] *= shape[0];
    make::reshape(b, x, &result)
}

impl Facts for Convolution {
    answer!(derivative = linear);
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            let op = cx.op;
            // There are no products, so the cotangents are zero. They are not those of a convolution, whose kernel may
            // not be empty.
            if [op.operand_tensor(0), op.operand_tensor(1), op.result_tensor(0)].iter().any(|t| t.size() == 0) {
                return vec![None, None];
            }
            let dims = ConvDims::of(&op).expect("verified");
            let input = if cx.is_linear(0) { dims.input_cotangent(cx) } else { None };
            let kernel = if cx.is_linear(1) { dims.kernel_cotangent(cx) } else { None };
            vec![input.map(Cotangent::Whole), kernel.map(Cotangent::Whole)]
        })
    }
    fn batch(&self, _: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::by("it has one batch dimension and one dimension of features", |cx| {
            if cx.size == 0 {
                return Ok(vec![empty_batch(cx)]);
            }
            let dims = ConvDims::of(&cx.op).expect("verified");
            Ok(vec![dims.batch(cx)])
        })
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 2..=2, 0)?;
        let (lhs, rhs) = (types[0], types[1]);
        let dims = ConvDims::of(op);
        let dims = dims.ok_or_else(|| bad_attribute(op, "dimension_numbers", "dimension numbers"))?;
        let n = lhs.rank();
        let mut check = Check::new(op);
        check.that("convolution_c1", n == rhs.rank() && n >= 2, "both operands must have the same rank, at least 2");
        check.that("convolution_c27", lhs.dtype == rhs.dtype, "both operands must have the same element type");
        check.that("convolution_c27", check::yields_product(op, lhs.dtype), check::PRODUCT_RULE);
        check.so_far()?;
        let spatial = n - 2;
        check
            .that(
                "convolution_c12",
                dims.input_spatial.len() == spatial,
                "`input_spatial_dimensions` must list all dimensions of the input but two",
            )
            .that(
                "convolution_c17",
                dims.kernel_spatial.len() == spatial,
                "`kernel_spatial_dimensions` must list all dimensions of the kernel but two",
            )
            .that(
                "convolution_c19",
                dims.output_spatial.len() == spatial,
                "`output_spatial_dimensions` must list all dimensions of the output but two",
            )
            .that("convolution_c24", check::precision_fits(op), check::PRECISION_RULE);
        let all = |list: Vec<usize>| check::is_unique(&list) && check::are_dims(&list, n);
        check.that(
            "convolution_c13",
            all(dims.input()),
            "`dimension_numbers` must name each dimension of the input once",
        );
        check.that(
            "convolution_c18",
            all(dims.kernel()),
            "`dimension_numbers` must name each dimension of the kernel once",
        );
        check
            .that(
                "convolution_c20",
                all(dims.output()),
                "`dimension_numbers` must name each dimension of the output once",
            )
            .so_far()?;
        check_groups(op, &mut check, &dims);
        let window = read_window(op, &mut check, NAMES, Some(kernel_sizes(op, &dims)), n - 2, &LABELS);
        let reversal = op.attr("window_reversal").is_none_or(|a| flags(a).is_some_and(|f| f.len() == n - 2));
        check
            .that("convolution_c9", reversal, "`window_reversal` must have one flag for each spatial dimension")
            .so_far()?;
        let spatial = places(&window, &pick(&lhs.shape, &dims.input_spatial));
        check
            .that(
                "convolution_c25",
                spatial.is_some(),
                "the number of windows, and the sizes of the input and of a window with holes, must fit 64 bits",
            )
            .so_far()?;
        let mut shape = vec![0; n];
        shape[dims.output_batch] = lhs.shape[dims.input_batch] / group_count(op, "batch_group_count");
        shape[dims.output_feature] = rhs.shape[dims.kernel_output_feature];
        for (&d, size) in dims.output_spatial.iter().zip(spatial.unwrap_or_default()) {
            shape[d] = size;
        }
        check.give_tensor(check::declared_dtype(op, lhs.dtype), shape)
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let is_read = |dim: usize| self.movement(op, Blocks::OfOperand { operand: 1, dim }).is_some();
        RuleFact::Rule(rule(op, |dim, size| match is_read(dim) {
            true => FactorSpec::reduction(size),
            false => FactorSpec::need_replication(size),
        }))
    }

    fn propagation_rule(&self, op: &OpView<'_>, is_conservative: bool) -> RuleFact {
        if !is_conservative {
            return self.rule(op);
        }
        let rule = rule(op, |_, size| FactorSpec::need_replication(size));
        let moves = |kind| matches!(kind, FactorKind::Permutation | FactorKind::NeedReplication);
        RuleFact::Rule(rule.without(|f| moves(rule.kind(f))))
    }

    answer!(usual but enlarged, movement, read_through, propagation_rule, eval_copies);

    fn enlarged(&self, op: &OpView<'_>, types: &Enlarged<'_>) -> Attrs {
        let dims = ConvDims::of(op).expect("verified");
        let ([x, kernel, ..], [out, ..]) = (types.operands, types.results) else { unreachable!("verified") };
        let mut attrs = op.attrs().clone();
        let features = (x.shape()[dims.input_feature], kernel.shape()[dims.kernel_input_feature]);
        let batches = (x.shape()[dims.input_batch], out.shape()[dims.output_batch]);
        for (name, (all, each)) in [("feature_group_count", features), ("batch_group_count", batches)] {
            if group_count(op, name) > 1 && each > 0 {
                attrs.set(name, Attr::int((all / each) as i64));
            }
        }
        attrs
    }

    answer!(index_bounds = none);

    /// Returns the op with its windows over the operand of a `pad` that adds zeros. Returns `None` if the input is no
    /// such `pad`, or if [`before_paddings`] finds no windows.
    fn read_through(&self, op: &OpView<'_>) -> Option<ReadThrough> {
        let dims = ConvDims::of(op)?;
        let is_zero =
            |_, pad: &OpView<'_>| known_operand(pad, 1).is_some_and(|x| *x == Literal::zeros(x.dtype(), vec![]));
        let (input, window) = before_paddings(op, &dims.window(op), &dims.input_spatial, 1, is_zero)?;
        let operands = vec![input[0], op.operand(1)];
        Some(ReadThrough { code: op.data().code, operands, attrs: with_window(op, &window, NAMES[2]) })
    }

    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let dims = ConvDims::of(op)?;
        let window = dims.window(op);
        let (i, read) = match blocks {
            Blocks::OfResults(dim) => {
                let i = dims.output_spatial.iter().position(|&d| d == dim)?;
                (i, window[i].read(0, dims.input_spatial[i], Fill::Zero)?)
            }
            Blocks::OfOperand { operand: 1, dim } => {
                let i = dims.kernel_spatial.iter().position(|&d| d == dim)?;
                let places = op.result_shape(0)[dims.output_spatial[i]];
                let read = window[i].by_elements(places).read(0, dims.input_spatial[i], Fill::Zero)?;
                (i, if dims.reversed(op)[i] { read.backwards(window[i].size)? } else { read })
            }
            Blocks::OfOperand { .. } => return None,
        };
        Some(Movement::new(dims.output_spatial[i], vec![read], of_windows))
    }

    answer!(eval_copies = true);
    answer!(pure);
    answer!(class = Other);

    fn combine(&self, _: &OpView<'_>) -> Combine {
        Combine::With(ReduceKind::Add)
    }

    fn neutral(&self, op: &OpView<'_>, index: usize) -> Option<Literal> {
        zero_of(op, index)
    }

    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let dims = ConvDims::of(&cx.op).expect("verified");
        let mut attrs = cx.op.attrs().clone();
        // A device has some of the groups: a dimension of the input is split by groups first, then within the groups.
        let parts = |s: &Option<Sharding>, dim: usize| s.as_ref().map_or(1, |s| s.shard_counts()[dim]);
        let (x, kernel, out) = (&cx.operand_shardings[0], &cx.operand_shardings[1], &cx.result_shardings[0]);
        let features = parts(x, dims.input_feature) / parts(kernel, dims.kernel_input_feature);
        let batches = parts(x, dims.input_batch) / parts(out, dims.output_batch);
        for (name, parts) in [("feature_group_count", features), ("batch_group_count", batches)] {
            let groups = group_count(&cx.op, name);
            if groups > 1 && parts > 1 {
                attrs.set(name, Attr::int((groups / parts) as i64));
            }
        }
        Ok(cx.same_op_with(attrs))
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![convolve(op, &x[0].to_dense(), &x[1].to_dense())])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let dims = ConvDims::of(op).expect("verified");
        let kernel = op.operand_shape(1);
        let products: usize = kernel.iter().product::<usize>() / kernel[dims.kernel_output_feature].max(1);
        Cost::streams(op, 2.0 * products as f64)
    }

    fn linear(&self, op: &OpView<'_>) -> Linear {
        linear_product(op)
    }

    answer!(explicit = by_rule);
    answer!(
        example = "func.func @main(%arg0: tensor<6x4x4x6xf32>, %arg1: tensor<3x3x6x6xf32>) -> tensor<6x4x4x6xf32> {
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<6x4x4x6xf32>, tensor<3x3x6x6xf32>) -> tensor<6x4x4x6xf32>
  return %0 : tensor<6x4x4x6xf32>
}"
    );
}

fn of_windows(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    let dims = ConvDims::of(&cx.op).expect("verified");
    let place = |dim: usize| dims.output_spatial.iter().position(|&d| d == dim).expect("a spatial dimension");
    let attrs = padded_by_windows(cx, &dims.window(&cx.op), place);
    cx.same_op_with(attrs)
}

fn kernel_sizes(op: &OpView<'_>, dims: &ConvDims) -> Vec<usize> {
    pick(op.operand_shape(1), &dims.kernel_spatial)
}

fn check_groups(op: &OpView<'_>, check: &mut Check<'_, '_>, dims: &ConvDims) {
    let (lhs, rhs) = (op.operand_shape(0), op.operand_shape(1));
    let (feature, batch) = (group_count(op, "feature_group_count"), group_count(op, "batch_group_count"));
    check.that("convolution_c21", feature > 0, "`feature_group_count` must be positive");
    check.that("convolution_c22", batch > 0, "`batch_group_count` must be positive");
    check.that("convolution_c23", feature.min(batch) <= 1, "one of the group counts must be 1");
    if feature == 0 || batch == 0 {
        return;
    }
    let output = rhs[dims.kernel_output_feature];
    let input = lhs[dims.input_feature];
    check.that(
        "convolution_c10",
        lhs[dims.input_batch].is_multiple_of(batch),
        "the size of the input's batch dimension must be a multiple of `batch_group_count`",
    );
    check.that(
        "convolution_c11",
        input.is_multiple_of(feature),
        "the number of input features must be a multiple of `feature_group_count`",
    );
    let same = rhs[dims.kernel_input_feature] == input / feature;
    check.that("convolution_c14", same, "the kernel must have as many input features as one group of the input");
    check.that(
        "convolution_c15",
        output.is_multiple_of(batch),
        "the number of the kernel's output features must be a multiple of `batch_group_count`",
    );
    check.that(
        "convolution_c16",
        output.is_multiple_of(feature),
        "the number of the kernel's output features must be a multiple of `feature_group_count`",
    );
}

/// Returns the rule, with the factors in the order of Shardy's registry. `window(dim, size)` makes the factor of a
/// spatial dimension of the kernel.
fn rule(op: &OpView<'_>, window: impl Fn(usize, usize) -> FactorSpec) -> Rule {
    let d = ConvDims::of(op).expect("verified");
    let (lhs, rhs, out) = (op.operand_shape(0), op.operand_shape(1), op.result_shape(0));
    let (features, batches) = (group_count(op, "feature_group_count"), group_count(op, "batch_group_count"));
    let mut rule = RuleBuilder::new([lhs.len(), rhs.len()], [out.len()]);
    let mut add = |l: Option<usize>, r: Option<usize>, o: Option<usize>, spec| {
        rule.add_factor(&[l, r], &[o], spec);
    };
    let (kernel_out, out_feature) = (Some(d.kernel_output_feature), Some(d.output_feature));
    if batches > 1 {
        add(Some(d.input_batch), kernel_out, out_feature, FactorSpec::pass_through(batches));
    }
    let batch = FactorSpec::pass_through(out[d.output_batch]);
    add(Some(d.input_batch), None, Some(d.output_batch), batch);
    for ((&l, &r), &o) in d.input_spatial.iter().zip(&d.kernel_spatial).zip(&d.output_spatial) {
        let mut rest = lhs[l];
        let mut spatial = |size: usize, is_window: bool| {
            let size = size.min(rest);
            if size > 1 && is_window {
                add(Some(l), Some(r), None, window(r, size));
            } else if size > 1 {
                add(Some(l), None, Some(o), FactorSpec::permutation(size));
            }
            rest /= size.max(1);
        };
        let window_first = out[o] < rhs[r];
        let sizes = if window_first { [(rhs[r], true), (out[o], false)] } else { [(out[o], false), (rhs[r], true)] };
        sizes.into_iter().for_each(|(size, is_window)| spatial(size, is_window));
    }
    if features > 1 {
        add(Some(d.input_feature), kernel_out, out_feature, FactorSpec::pass_through(features));
    }
    let contracted = FactorSpec::reduction(rhs[d.kernel_input_feature]);
    add(Some(d.input_feature), Some(d.kernel_input_feature), None, contracted);
    let per_group = out[d.output_feature] / (batches * features);
    if per_group > 1 {
        add(None, kernel_out, out_feature, FactorSpec::pass_through(per_group));
    }
    rule.build()
}

/// An element type in which sums of products are computed.
trait Sum: Copy {
    fn zero() -> Self;
    fn add_product(self, a: Self, b: Self) -> Self;
    fn number(self) -> Number;
}

macro_rules! sums {
    ($($t:ty: $zero:expr, $add:expr, $number:expr;)*) => {$(
        impl Sum for $t {
            fn zero() -> $t {
                $zero
            }
            fn add_product(self, a: $t, b: $t) -> $t {
                $add(self, a, b)
            }
            fn number(self) -> Number {
                $number(self)
            }
        }
    )*};
}
sums! {
    f32: 0.0, |s, a, b| s + a * b, Number::Single;
    f64: 0.0, |s, a, b| s + a * b, Number::Double;
    i64: 0, |s: i64, a: i64, b| s.wrapping_add(a.wrapping_mul(b)), Number::Signed;
    u64: 0, |s: u64, a: u64, b| s.wrapping_add(a.wrapping_mul(b)), Number::Unsigned;
    bool: false, |s, a, b| s | (a & b), Number::Bool;
    Complex64: Complex64::new(0.0, 0.0), |s, a, b| s + a * b, Number::Complex;
}

/// Evaluates the convolution on numbers of the kind that its result has: operands of another kind are converted to it.
fn convolve(op: &OpView<'_>, lhs: &Literal, rhs: &Literal) -> Literal {
    let to = op.result_tensor(0).dtype;
    let sums_in = match to.kind() {
        DTypeKind::Float if [lhs.dtype(), rhs.dtype(), to].contains(&DType::F64) => DType::F64,
        DTypeKind::Float => DType::F32,
        DTypeKind::Signed => DType::I64,
        DTypeKind::Unsigned => DType::U64,
        DTypeKind::Complex => DType::C128,
        DTypeKind::Bool | DTypeKind::Quantized => to,
    };
    let is_read_alike = |x: &Literal| x.dtype().kind() == to.kind() && sums_in != DType::F64;
    let [lhs, rhs] = [lhs, rhs].map(|x| if is_read_alike(x) { x.clone() } else { eval::convert(x, sums_in) });
    let (lhs, rhs) = (&lhs, &rhs);
    let (x, y) = (eval::read_numbers(lhs), eval::read_numbers(rhs));
    let all = |n: &Literal| 0..n.size();
    macro_rules! as_type {
        ($t:ty, $variant:ident) => {{
            let read = |n: Number| if let Number::$variant(v) = n { v } else { unreachable!("of one kind") };
            let x: Vec<$t> = all(lhs).map(|i| read(x(i))).collect();
            let y: Vec<$t> = all(rhs).map(|i| read(y(i))).collect();
            Conv::new(op).run(&x, &y)
        }};
    }
    match to.kind() {
        DTypeKind::Bool => as_type!(bool, Bool),
        DTypeKind::Signed => as_type!(i64, Signed),
        DTypeKind::Unsigned => as_type!(u64, Unsigned),
        DTypeKind::Complex => as_type!(Complex64, Complex),
        DTypeKind::Float if sums_in == DType::F64 => as_type!(f64, Double),
        DTypeKind::Float => as_type!(f32, Single),
        DTypeKind::Quantized => unreachable!("quantized values are computed as floats"),
    }
}

/// The offsets of a kernel position in the input and in the kernel. There is no offset in the input where the window
/// has padding or a hole.
type Tap = (Option<isize>, isize);

struct Conv<'a> {
    op: &'a OpView<'a>,
    dims: ConvDims,
    window: Vec<WindowDim>,
    reversed: Vec<bool>,
    spatial: Vec<usize>,
    strides: [Vec<isize>; 2],
}

impl<'a> Conv<'a> {
    fn new(op: &'a OpView<'a>) -> Conv<'a> {
        let dims = ConvDims::of(op).expect("verified");
        Conv {
            op,
            window: dims.window(op),
            reversed: dims.reversed(op),
            spatial: pick(op.operand_shape(0), &dims.input_spatial),
            strides: [eval::row_major(op.operand_shape(0)), eval::row_major(op.operand_shape(1))],
            dims,
        }
    }

    /// Returns the taps of all kernel positions, row-major, for the window at `place`.
    fn taps(&self, place: &[usize]) -> Vec<Tap> {
        let sizes: Vec<usize> = self.window.iter().map(|w| w.size).collect();
        let mut taps = vec![];
        index::for_each_index(&sizes, |k| {
            let mut at = (Some(0), 0);
            for d in 0..k.len() {
                let from = if self.reversed[d] { sizes[d] - 1 - k[d] } else { k[d] };
                let element = self.window[d].element(place[d], from, self.spatial[d]);
                let along = element.map(|i| i as isize * self.strides[0][self.dims.input_spatial[d]]);
                at.0 = at.0.zip(along).map(|(at, along)| at + along);
                at.1 += k[d] as isize * self.strides[1][self.dims.kernel_spatial[d]];
            }
            taps.push(at);
        });
        taps
    }

    fn run<T: Sum>(&self, x: &[T], y: &[T]) -> Literal {
        let (t, dims) = (self.op.result_tensor(0), &self.dims);
        let out_strides = eval::row_major(&t.shape);
        let mut sums = Data::from_fn(t.size(), |_| T::zero());
        // There are no products: the places and the windows need no walk, however many there are.
        if sums.is_empty() || y.is_empty() {
            return eval::fill(t.dtype, &t.shape, |i| sums[i].number());
        }
        let mut meter = Meter::default();
        index::for_each_index(&pick(&t.shape, &dims.output_spatial), |place| {
            let taps = self.taps(place);
            let base: isize = place.iter().zip(&dims.output_spatial).map(|(&i, &d)| i as isize * out_strides[d]).sum();
            for b in 0..t.shape[dims.output_batch] {
                for f in 0..t.shape[dims.output_feature] {
                    let at =
                        b as isize * out_strides[dims.output_batch] + f as isize * out_strides[dims.output_feature];
                    sums[(base + at) as usize] = self.sum(x, y, &taps, b, f, &mut meter);
                }
            }
        });
        eval::fill(t.dtype, &t.shape, |i| sums[i].number())
    }

    fn sum<T: Sum>(&self, x: &[T], y: &[T], taps: &[Tap], b: usize, f: usize, meter: &mut Meter) -> T {
        let (dims, lhs, rhs) = (&self.dims, self.op.operand_shape(0), self.op.operand_shape(1));
        let (features, batches) =
            (group_count(self.op, "feature_group_count"), group_count(self.op, "batch_group_count"));
        let group = |groups: usize| f / (rhs[dims.kernel_output_feature] / groups);
        let batch = b + group(batches) * (lhs[dims.input_batch] / batches);
        let per_group = rhs[dims.kernel_input_feature];
        let first = group(features) * per_group;
        let (sx, sy) = (self.strides[0][dims.input_feature], self.strides[1][dims.kernel_input_feature]);
        let x0 = batch as isize * self.strides[0][dims.input_batch] + first as isize * sx;
        let y0 = f as isize * self.strides[1][dims.kernel_output_feature];
        let mut sum = T::zero();
        for &(tx, ty) in taps {
            meter.add(per_group as u64);
            for c in 0..per_group as isize {
                let element = tx.map_or(T::zero(), |tx| x[(x0 + tx + c * sx) as usize]);
                sum = sum.add_product(element, y[(y0 + ty + c * sy) as usize]);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lists_are_left_out_as_in_text() {
        let dims = ConvDims {
            input_batch: 0,
            input_feature: 1,
            input_spatial: vec![],
            kernel_input_feature: 0,
            kernel_output_feature: 1,
            kernel_spatial: vec![],
            output_batch: 0,
            output_feature: 1,
            output_spatial: vec![],
        };
        let attr = dims.to_attr();
        let names: Vec<&str> = attr.as_record().unwrap().iter().map(|(name, _)| name).collect();
        assert!(names.len() == 6 && names.iter().all(|name| !name.contains("spatial")), "{names:?}");
    }
}
