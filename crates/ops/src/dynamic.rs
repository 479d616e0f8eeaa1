//! `dynamic_*` and `real_dynamic_slice`: ops whose sizes are operands. They run if the types of their results contain
//! all sizes, which are checked when they run. Each is then computed as its static form, such as `pad` for
//! `dynamic_pad`.

use crate::check::{self, Check, counted_tensors};
use crate::expansion::ExpandCx;
use crate::facts::*;
use crate::index::{GATHER_DIMENSIONS, IndexDims};
use crate::schema::*;
use crate::shapes::{BroadcastInDim, Reshape, known_operand};
use crate::window::{CONV_DIMENSIONS, ConvDims, Convolution};
use crate::{OPS, Opcode, build, quantized};
use shardwise_base::{Diagnostic, Diagnostics, Literal, Note, NoteKind};
use shardwise_ir::{Attr, Attrs, Body, Builder, Module, OpView, Type, Value};

/// The facts of the ops whose sizes are operands, such as `dynamic_pad`.
pub struct Dynamic;

/// The static form of an op.
struct Form {
    to: Opcode,
    /// The number of operands that the static form has too. They come first.
    kept: usize,
    /// The meanings of the operands after the first `kept`.
    sizes: &'static [Size],
    /// The labels of the constraints on the size operands and on the result.
    labels: (&'static str, &'static str),
}

#[derive(Clone, Copy)]
enum Size {
    /// The shape of the result, which is also in its type.
    ResultShape,
    /// An attribute of the static form, as a list.
    Ints(&'static str),
    /// An attribute of the static form, as rows of two.
    Pairs(&'static str),
}

fn form(opcode: Opcode) -> Form {
    use Size::{Ints, Pairs, ResultShape};
    let form = |to, kept, sizes, labels| Form { to, kept, sizes, labels };
    match opcode {
        Opcode::DynamicBroadcastInDim => form(
            Opcode::BroadcastInDim,
            1,
            &[ResultShape],
            ("dynamic_broadcast_in_dim_i2", "dynamic_broadcast_in_dim_c7"),
        ),
        Opcode::DynamicIota => form(Opcode::Iota, 0, &[ResultShape], ("dynamic_iota_i1", "dynamic_iota_c2")),
        Opcode::DynamicReshape => {
            form(Opcode::Reshape, 1, &[ResultShape], ("dynamic_reshape_i2", "dynamic_reshape_c4"))
        }
        Opcode::DynamicGather => {
            form(Opcode::Gather, 2, &[Ints("slice_sizes")], ("dynamic_gather_i3", "dynamic_gather_c14"))
        }
        Opcode::DynamicConv => {
            form(Opcode::Convolution, 2, &[Pairs("padding")], ("dynamic_conv_i3", "dynamic_conv_c25"))
        }
        Opcode::DynamicPad => form(
            Opcode::Pad,
            2,
            &[Ints("edge_padding_low"), Ints("edge_padding_high"), Ints("interior_padding")],
            ("dynamic_pad_i3", "dynamic_pad_c4"),
        ),
        _ => form(
            Opcode::Slice,
            1,
            &[Ints("start_indices"), Ints("limit_indices"), Ints("strides")],
            ("real_dynamic_slice_i2", "real_dynamic_slice_c4"),
        ),
    }
}

/// Attributes that only the dynamic form has.
const OWN: &[&str] = &["known_expanding_dimensions", "known_nonexpanding_dimensions"];

/// Returns the elements of an operand of sizes. A number beyond `i64` becomes the largest `i64`.
fn amounts(sizes: &Literal) -> Vec<i64> {
    (0..sizes.size()).map(|i| sizes.get_i128(i).try_into().unwrap_or(i64::MAX)).collect()
}

impl Form {
    /// Returns the attributes of the static form. `sizes` are the values of the operands of sizes, in order. If it is
    /// empty, the attributes that these determine are left out.
    fn attrs(&self, op: &OpView<'_>, sizes: &[Literal]) -> Attrs {
        let mut attrs: Attrs =
            op.attrs().iter().filter(|(name, _)| !OWN.contains(name)).map(|(n, a)| (n, a.clone())).collect();
        for (size, value) in self.sizes.iter().zip(sizes) {
            let value = value.to_dense();
            match size {
                Size::ResultShape => {}
                Size::Ints(name) => {
                    attrs.set(*name, Attr::ints(amounts(&value)));
                }
                Size::Pairs(name) => {
                    attrs.set(*name, Attr::Dense(Literal::new(value.shape(), &amounts(&value))));
                }
            }
        }
        attrs
    }
}

impl Dynamic {
    /// Checks that the static form, with the sizes in the result's type, is valid. Fails with the errors of the static
    /// form.
    fn as_static(&self, op: &OpView<'_>, form: &Form) -> Result<(), Diagnostics> {
        let module = Module::new("static", &OPS);
        let mut body = Body::new();
        let mut b = Builder::new(&mut body);
        b.loc = op.loc().clone();
        let args: Vec<Value> = op.operands()[..form.kept].iter().map(|&v| b.arg(op.body.ty(v).clone())).collect();
        let declared = [op.result_type(0).clone()];
        let mut attrs = form.attrs(op, &[]);
        if form.to == Opcode::Gather {
            attrs.set("slice_sizes", slice_sizes(op));
        }
        if form.to == Opcode::Convolution
            && let Some(padding) = padding(op)
        {
            attrs.set("padding", padding);
        }
        build::build_as(&module, &mut b, form.to, args, attrs, [], declared).map(|_| ())
    }
}

fn check_known_dims(op: &OpView<'_>, check: &mut Check<'_, '_>, rank: usize) {
    let [expanding, other] = [OWN[0], OWN[1]].map(|name| op.ints(name));
    let mut all = [&expanding[..], &other].concat();
    all.sort_unstable();
    let are_dims = |list: &[i64]| list.iter().all(|d| usize::try_from(*d).is_ok_and(|d| d < rank));
    check
        .that(
            "dynamic_broadcast_in_dim_c8",
            all.is_sorted_by(|a, b| a < b),
            "the known expanding and nonexpanding dimensions must all be different",
        )
        .that(
            "dynamic_broadcast_in_dim_c9",
            are_dims(&expanding),
            "known expanding dimensions must be dimensions of the operand",
        )
        .that(
            "dynamic_broadcast_in_dim_c10",
            are_dims(&other),
            "known nonexpanding dimensions must be dimensions of the operand",
        );
}

/// The labels of `dynamic_conv` that differ from those of `convolution` only in the name of the op.
const DYNAMIC_CONV: &[&str] = &[
    "dynamic_conv_i1",
    "dynamic_conv_i8",
    "dynamic_conv_c1",
    "dynamic_conv_c2",
    "dynamic_conv_c3",
    "dynamic_conv_c5",
    "dynamic_conv_c6",
    "dynamic_conv_c7",
    "dynamic_conv_c8",
    "dynamic_conv_c9",
    "dynamic_conv_c10",
    "dynamic_conv_c11",
    "dynamic_conv_c12",
    "dynamic_conv_c13",
    "dynamic_conv_c14",
    "dynamic_conv_c15",
    "dynamic_conv_c16",
    "dynamic_conv_c17",
    "dynamic_conv_c18",
    "dynamic_conv_c19",
    "dynamic_conv_c20",
    "dynamic_conv_c21",
    "dynamic_conv_c22",
    "dynamic_conv_c23",
    "dynamic_conv_c24",
    "dynamic_conv_c25",
    "dynamic_conv_c27",
    "dynamic_conv_c28",
    "dynamic_conv_c29",
    "dynamic_conv_c30",
    "dynamic_conv_c31",
    "dynamic_conv_c32",
    "dynamic_conv_c33",
    "dynamic_conv_c34",
];

/// Returns sizes of slices with which a gather's result has its declared shape, or any sizes if the dimension numbers
/// are broken.
fn slice_sizes(op: &OpView<'_>) -> Attr {
    let (operand, result) = (op.operand_shape(0), op.result_shape(0));
    let mut sizes: Vec<usize> = operand.iter().map(|&n| n.min(1)).collect();
    if let Some(dims) = IndexDims::of_gather(op) {
        let kept = dims.window_operand_dims(operand.len());
        for (&d, w) in kept.iter().zip(&dims.window).filter(|_| kept.len() == dims.window.len()) {
            sizes[d] = result.get(*w).copied().unwrap_or(sizes[d]);
        }
    }
    Attr::sizes(&sizes)
}

/// Returns a padding with which a convolution has as many windows as the result's shape, or `None` if the dimension
/// numbers are broken.
fn padding(op: &OpView<'_>) -> Option<Attr> {
    let dims = ConvDims::of(op)?;
    let size = |shape: &[usize], dim: Option<&usize>| dim.and_then(|&d| shape.get(d)).map_or(1, |&n| n as i64);
    let step = |name: &str, i: usize| op.sizes(name).get(i).map_or(1, |&n| n as i64);
    let spread = |n: i64, by: i64| if n == 0 { 0 } else { (n - 1).saturating_mul(by).saturating_add(1) };
    let high = |i: usize| {
        let input = spread(size(op.operand_shape(0), dims.input_spatial.get(i)), step("lhs_dilation", i));
        let window = spread(size(op.operand_shape(1), dims.kernel_spatial.get(i)), step("rhs_dilation", i));
        let places = size(op.result_shape(0), dims.output_spatial.get(i));
        let steps = (places - 1).saturating_mul(step("window_strides", i));
        let padded = if places == 0 { 0 } else { window.saturating_add(steps).max(1) };
        padded.saturating_sub(input)
    };
    let count = op.operand_shape(0).len().saturating_sub(2);
    let rows: Vec<i64> = (0..count).flat_map(|i| [0, high(i)]).collect();
    Some(Attr::Dense(Literal::new([count, 2], &rows)))
}

/// Makes the errors of a static form those of the dynamic op: with its labels, its name and its types.
fn relabelled(op: &OpView<'_>, form: &Form, found: Diagnostics) -> Diagnostics {
    let named = |text: String| text.replace(&format!("`{}`", form.to.name()), &format!("`{}`", op.name()));
    let shown = check::signature_with(op, &op.operands()[..form.kept]);
    let with_types = |note: Note| match note.kind {
        NoteKind::Facts if note.text == shown => Note { text: check::signature(op), ..note },
        _ => Note { text: named(note.text), ..note },
    };
    let relabel = |d: Diagnostic| {
        let notes = d.notes.into_iter().map(with_types).collect();
        Diagnostic { code: label(d.code), message: named(d.message), notes, ..d }
    };
    Diagnostics(found.0.into_iter().map(relabel).collect())
}

fn label(code: &'static str) -> &'static str {
    match code {
        "broadcast_in_dim_c1" => "dynamic_broadcast_in_dim_c1",
        "broadcast_in_dim_c2" => "dynamic_broadcast_in_dim_c2",
        "broadcast_in_dim_c3" => "dynamic_broadcast_in_dim_c3",
        "broadcast_in_dim_c4" => "dynamic_broadcast_in_dim_c4",
        "broadcast_in_dim_c5" => "dynamic_broadcast_in_dim_c5",
        "reshape_c1" => "dynamic_reshape_c1",
        "reshape_c2" => "dynamic_reshape_c2",
        "pad_c3" => "dynamic_pad_c3",
        "pad_c4" => "dynamic_pad_c4",
        "iota_c1" => "dynamic_iota_c1",
        "gather_i2" => "dynamic_gather_i2",
        "gather_i3" => "dynamic_gather_i4",
        "gather_c1" => "dynamic_gather_c1",
        "gather_c2" => "dynamic_gather_c2",
        "gather_c3" => "dynamic_gather_c3",
        "gather_c4" => "dynamic_gather_c4",
        "gather_c5" => "dynamic_gather_c5",
        "gather_c6" | "gather_c7" => "dynamic_gather_c6",
        "gather_c8" => "dynamic_gather_c7",
        "gather_c9" => "dynamic_gather_c8",
        "gather_c18" => "dynamic_gather_c9",
        "gather_c19" => "dynamic_gather_c10",
        "gather_c21" => "dynamic_gather_c12",
        "gather_c22" => "dynamic_gather_c13",
        "gather_c23" => "dynamic_gather_c14",
        other => {
            let number = other.strip_prefix("convolution");
            let same = DYNAMIC_CONV.iter().find(|l| number.is_some() && l.strip_prefix("dynamic_conv") == number);
            same.copied().unwrap_or(other)
        }
    }
}

impl Dynamic {
    pub(crate) const DYNAMIC_BROADCAST_IN_DIM: Schema = Schema {
        attributes: &[
            required("broadcast_dimensions", Some("dynamic_broadcast_in_dim_i3"), AttrKind::Ints),
            optional(
                "known_expanding_dimensions",
                Some("dynamic_broadcast_in_dim_i4"),
                AttrKind::Ints,
                "nothing is known",
            ),
            optional(
                "known_nonexpanding_dimensions",
                Some("dynamic_broadcast_in_dim_i5"),
                AttrKind::Ints,
                "nothing is known",
            ),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::MovesAxis(&QuantizedMove {
            operand: "dynamic_broadcast_in_dim_i1",
            alike: "dynamic_broadcast_in_dim_c1",
            axis: "dynamic_broadcast_in_dim_c6",
            ..BroadcastInDim::QUANTIZED
        }),
        syntax: Syntax::pieces(
            &[
                Piece::Operand,
                COMMA,
                Piece::Operand,
                Piece::Text(", dims = "),
                Piece::Attr("broadcast_dimensions", Written::Ints),
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const DYNAMIC_CONV: Schema = Schema {
        attributes: &[
            optional("window_strides", Some("dynamic_conv_i4"), AttrKind::Ints, "ones"),
            optional("lhs_dilation", Some("dynamic_conv_i5"), AttrKind::Ints, "ones"),
            optional("rhs_dilation", Some("dynamic_conv_i6"), AttrKind::Ints, "ones"),
            optional("window_reversal", Some("dynamic_conv_i7"), AttrKind::Flags, "`false` for each dimension"),
            required("dimension_numbers", Some("dynamic_conv_i8"), CONV_DIMENSIONS),
            optional("feature_group_count", Some("dynamic_conv_i17"), AttrKind::Int(DType::I64), "1"),
            optional("batch_group_count", Some("dynamic_conv_i18"), AttrKind::Int(DType::I64), "1"),
            optional("precision_config", Some("dynamic_conv_i19"), PRECISIONS, "every entry is `DEFAULT`"),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Multiplies(&Convolution::QUANTIZED),
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const DYNAMIC_GATHER: Schema = Schema {
        attributes: &[
            required("dimension_numbers", Some("dynamic_gather_i4"), GATHER_DIMENSIONS),
            optional("indices_are_sorted", Some("dynamic_gather_i8"), AttrKind::Flag, "`false`"),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Moves("dynamic_gather_i1"),
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const DYNAMIC_IOTA: Schema = Schema {
        attributes: &[required("iota_dimension", Some("dynamic_iota_i2"), AttrKind::Int(DType::I64))],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Computes { which: "dynamic_iota_i1", alike: "dynamic_iota_c1" },
        syntax: Syntax::pieces(
            &[Piece::Operand, Piece::Text(", dim = "), Piece::Attr("iota_dimension", Written::Int(DType::I64))],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const DYNAMIC_PAD: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Moves("dynamic_pad_i1"),
        syntax: Syntax::pieces(OPERANDS, Types::Functional),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const DYNAMIC_RESHAPE: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::MovesAxis(&QuantizedMove {
            operand: "dynamic_reshape_i1",
            alike: "dynamic_reshape_c1",
            axis: "dynamic_reshape_c3",
            ..Reshape::QUANTIZED
        }),
        syntax: Syntax::pieces(OPERANDS, Types::Functional),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const REAL_DYNAMIC_SLICE: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Moves("real_dynamic_slice_i1"),
        syntax: Syntax::pieces(OPERANDS, Types::Functional),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

fn with_known_sizes(cx: &mut ExpandCx<'_, '_, '_>) -> Result<Vec<Value>, &'static str> {
    let form = form(Opcode::of_view(&cx.op));
    let count = cx.op.operands().len();
    let sizes: Option<Vec<Literal>> =
        (form.kept..count).map(|i| known_operand(&cx.op, i).map(Literal::to_dense)).collect();
    let sizes = sizes.ok_or("its sizes are operands, and not constants")?;
    let (args, attrs) = (cx.operands[..form.kept].to_vec(), form.attrs(&cx.op, &sizes));
    let declared = [cx.op.result_type(0).clone()];
    let made = build::build_as(cx.op.module, cx.b, form.to, args, attrs, [], declared);
    let made = made.map_err(|_| "its sizes do not lead to the type of its result")?;
    Ok(cx.b.body[made].results.to_vec())
}

impl Facts for Dynamic {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        Derivative::expanded(with_known_sizes)
    }
    answer!(transpose = none("the op with known sizes is transposed"));
    fn batch(&self, _: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::expanded(with_known_sizes)
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let opcode = Opcode::of_view(op);
        let form = form(opcode);
        let count = form.kept + form.sizes.len();
        let (types, to) = (counted_tensors(op, count..=count, 0)?, check::declared(op)?);
        let mut check = Check::new(op);
        for (t, size) in types[form.kept..].iter().zip(form.sizes) {
            let rank = if matches!(size, Size::Pairs(_)) { 2 } else { 1 };
            let fits = t.dtype.is_integer() && t.rank() == rank;
            let rule = format!("an operand of sizes must be a tensor of integers of rank {rank}");
            check.that(form.labels.0, fits, &rule);
            if matches!(size, Size::ResultShape) {
                check.that(
                    form.labels.1,
                    t.shape == [to.rank()],
                    "there must be a size for each dimension of the result",
                );
            }
        }
        if opcode == Opcode::DynamicPad {
            let [x, value] = [types[0], types[1]];
            check.that(
                "dynamic_pad_c1",
                x.dtype == value.dtype && x.dtype == to.dtype,
                "the operand, the padding value and the result must have the same element type",
            );
            let each = types[form.kept..].iter().all(|t| t.shape == [x.rank()]);
            check.that("dynamic_pad_c2", each, "low, high and interior padding must have a number for each dimension");
            check.that("dynamic_pad_i2", value.rank() == 0, "the padding value must be a scalar");
            check.that("dynamic_pad_c4", to.rank() == x.rank(), "the result must have the operand's rank");
        }
        let rank = types.first().map_or(0, |t| t.rank());
        if opcode == Opcode::RealDynamicSlice {
            let each = types[form.kept..].iter().all(|t| t.shape == [rank]);
            check.that(
                "real_dynamic_slice_c1",
                types[0].dtype == to.dtype,
                "operand and result must have the same element type",
            );
            check.that("real_dynamic_slice_c2", each, "there must be a start, a limit and a stride for each dimension");
            check.that("real_dynamic_slice_c4", to.rank() == rank, "the result must have the operand's rank");
        }
        if opcode == Opcode::DynamicGather {
            let each = types[2].shape == [rank];
            check.that("dynamic_gather_c11", each, "there must be one slice size for each dimension of the operand");
        }
        if opcode == Opcode::DynamicConv {
            let each = types[2].shape == [rank.saturating_sub(2), 2];
            check.that("dynamic_conv_c4", each, "there must be two paddings for each spatial dimension");
            check.that("dynamic_conv_c26", to.rank() == rank, "the result must have the operands' rank");
        }
        check_known_dims(op, &mut check, rank);
        check.so_far()?;
        if !matches!(opcode, Opcode::DynamicPad | Opcode::RealDynamicSlice) {
            self.as_static(op, &form).map_err(|found| relabelled(op, &form, found))?;
        }
        check.give([to.clone().into()])
    }

    answer!(usual);
    answer!(per_part = Other);
    answer!(rule = none("its sizes are known only when it runs"));

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let form = form(Opcode::of_view(op));
        let (kept, sizes) = x.split_at(form.kept);
        for (size, value) in form.sizes.iter().zip(sizes) {
            let asked = amounts(value);
            let is_result = || asked.iter().copied().eq(op.result_shape(0).iter().map(|&n| n as i64));
            if matches!(size, Size::ResultShape) && !is_result() {
                return Err(other_shape(op, &asked));
            }
        }
        let module = Module::new("static", &OPS);
        let mut body = Body::new();
        let mut builder = Builder::new(&mut body);
        let args: Vec<Value> = kept.iter().map(|x| builder.arg(Type::tensor(x.dtype(), x.shape()))).collect();
        let declared = [quantized::stored(op.result_type(0))];
        let made = build::build_as(&module, &mut builder, form.to, args, form.attrs(op, sizes), [], declared);
        let made = made.map_err(|found| unfit(op, relabelled(op, &form, found)))?;
        crate::evaluate(&module.view(&body, made), kept, regions)
    }

    answer!(cost = streams(1.0));
    answer!(linear = No);

    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::DynamicBroadcastInDim => {
                "func.func @main(%arg0: tensor<2xf32>) -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %c, dims = [1] : (tensor<2xf32>, tensor<2xi32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}"
            }
            Opcode::DynamicIota => {
                "func.func @main() -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %0 = stablehlo.dynamic_iota %c, dim = 1 : (tensor<2xi32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}"
            }
            Opcode::DynamicReshape => {
                "func.func @main(%arg0: tensor<6xf32>) -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %arg0, %c : (tensor<6xf32>, tensor<2xi32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}"
            }
            Opcode::DynamicGather => {
                r#"func.func @main(%arg0: tensor<6x4xf32>, %arg1: tensor<3xi32>) -> tensor<3x4xf32> {
  %c = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
  %0 = "stablehlo.dynamic_gather"(%arg0, %arg1, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<6x4xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}"#
            }
            Opcode::DynamicConv => {
                r#"func.func @main(%arg0: tensor<1x4x1xf32>, %arg1: tensor<3x1x1xf32>) -> tensor<1x4x1xf32> {
  %c = stablehlo.constant dense<1> : tensor<1x2xi32>
  %0 = "stablehlo.dynamic_conv"(%arg0, %arg1, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x4x1xf32>, tensor<3x1x1xf32>, tensor<1x2xi32>) -> tensor<1x4x1xf32>
  return %0 : tensor<1x4x1xf32>
}"#
            }
            Opcode::DynamicPad => {
                "func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<f32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<1> : tensor<1xi32>
  %0 = stablehlo.dynamic_pad %arg0, %arg1, %c, %c, %c : (tensor<2xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}"
            }
            _ => {
                "func.func @main(%arg0: tensor<6xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<1> : tensor<1xi32>
  %c_0 = stablehlo.constant dense<3> : tensor<1xi32>
  %0 = stablehlo.real_dynamic_slice %arg0, %c, %c_0, %c : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"
            }
        }
    }
}

pub(crate) fn other_shape(op: &OpView<'_>, asked: &[i64]) -> Diagnostic {
    let message = format!("an operand of `{}` states a shape that differs from its result's", op.name());
    Diagnostic::error("dynamic-shape", op.loc(), message)
        .facts(format!("asked for: {asked:?}"))
        .expected(format!("{:?}", op.result_shape(0)))
}

fn unfit(op: &OpView<'_>, found: Diagnostics) -> Diagnostic {
    let message = format!("`{}` cannot have this result with the sizes that its operands have", op.name());
    let first = found.iter().map(|d| d.code).find(|code| code.starts_with("dynamic_"));
    let d = Diagnostic::error(first.unwrap_or("dynamic-shape"), op.loc(), message);
    found.iter().fold(d, |d, inner| d.note(inner.message.clone()))
}
