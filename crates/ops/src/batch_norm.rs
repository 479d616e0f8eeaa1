//! `batch_norm_inference`, `batch_norm_training`, `batch_norm_grad`. A feature is all elements with one index along
//! `feature_index`.

use crate::check::{self, Check, counted_tensors};
use crate::eval::{self, Number};
use crate::expansion::ExpandCx;
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, make};
use shardwise_base::{DType, Data, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Builder, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

/// The facts of `batch_norm_inference`, `batch_norm_training` and `batch_norm_grad`.
pub struct BatchNorm;

/// The operands, results and labels of one of the three batch normalizations.
struct Form {
    labels: Labels,
    /// For each operand and each result, true if it has one element for each feature.
    operands: &'static [bool],
    results: &'static [bool],
}

/// The labels of the constraints on the dimension, on the element types, on the shapes of whole operands, and on the
/// shape of each operand that has one element for each feature.
struct Labels {
    dimension: &'static str,
    element: &'static str,
    whole: &'static str,
    feature: &'static [&'static str],
}

const INFERENCE: Form = Form {
    labels: Labels {
        dimension: "batch_norm_inference_c1",
        element: "batch_norm_inference_c2",
        whole: "batch_norm_inference_c7",
        feature: &[
            "",
            "batch_norm_inference_c3",
            "batch_norm_inference_c4",
            "batch_norm_inference_c5",
            "batch_norm_inference_c6",
        ],
    },
    operands: &[false, true, true, true, true],
    results: &[false],
};

const TRAINING: Form = Form {
    labels: Labels {
        dimension: "batch_norm_training_c1",
        element: "batch_norm_training_c2",
        whole: "batch_norm_training_c7",
        feature: &["", "batch_norm_training_c3", "batch_norm_training_c4"],
    },
    operands: &[false, true, true],
    results: &[false, true, true],
};

const GRAD: Form = Form {
    labels: Labels {
        dimension: "batch_norm_grad_c1",
        element: "batch_norm_grad_c2",
        whole: "batch_norm_grad_c3",
        feature: &["", "batch_norm_grad_c5", "batch_norm_grad_c4", "batch_norm_grad_c4", ""],
    },
    operands: &[false, true, true, true, false],
    results: &[false, true, true],
};

fn grad_shape(index: usize, _: &[Type], _: &[Type]) -> Option<&'static str> {
    (index == 0).then_some("batch_norm_grad_c3")
}

fn training_shape(index: usize, _: &[Type], _: &[Type]) -> Option<&'static str> {
    match index {
        1 => Some("batch_norm_training_c5"),
        2 => Some("batch_norm_training_c6"),
        _ => None,
    }
}

fn form(op: &OpView<'_>) -> &'static Form {
    match Opcode::of_view(op) {
        Opcode::BatchNormInference => &INFERENCE,
        Opcode::BatchNormTraining => &TRAINING,
        _ => &GRAD,
    }
}

fn epsilon(op: &OpView<'_>) -> Option<f64> {
    match op.attr("epsilon") {
        Some(Attr::Float { value, .. }) => Some(*value),
        _ => None,
    }
}

impl BatchNorm {
    pub(crate) const BATCH_NORM_INFERENCE: Schema = Schema {
        attributes: &[
            required("epsilon", Some("batch_norm_inference_i6"), AttrKind::Float),
            required("feature_index", Some("batch_norm_inference_i7"), AttrKind::Int(DType::I64)),
        ],
        operands: Operands::Each,
        results: ResultLabels::both("batch_norm_inference_c7"),
        on_quantized: OnQuantized::Computes { which: "batch_norm_inference_i1", alike: "batch_norm_inference_c2" },
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const BATCH_NORM_TRAINING: Schema = Schema {
        attributes: &[
            required("epsilon", Some("batch_norm_training_i4"), AttrKind::Float),
            required("feature_index", Some("batch_norm_training_i5"), AttrKind::Int(DType::I64)),
        ],
        operands: Operands::Each,
        results: ResultLabels::both("batch_norm_training_c7").with_shape_of(training_shape),
        on_quantized: OnQuantized::Computes { which: "batch_norm_training_i1", alike: "batch_norm_training_c2" },
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const BATCH_NORM_GRAD: Schema = Schema {
        attributes: &[
            required("epsilon", Some("batch_norm_grad_i6"), AttrKind::Float),
            required("feature_index", Some("batch_norm_grad_i7"), AttrKind::Int(DType::I64)),
        ],
        operands: Operands::Each,
        results: ResultLabels::of("batch_norm_grad_c4", "batch_norm_grad_c2").with_shape_of(grad_shape),
        on_quantized: OnQuantized::Computes { which: "batch_norm_grad_i1", alike: "batch_norm_grad_c2" },
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for BatchNorm {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        Derivative::expanded(|cx| Ok(Parts::of(cx).expanded()))
    }
    answer!(transpose = none("its parts are transposed"));
    fn batch(&self, _: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::expanded(|cx| Ok(Parts::of(cx).expanded()))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let form = form(op);
        let types = counted_tensors(op, form.operands.len()..=form.operands.len(), 0)?;
        let (x, dim) = (types[0], check::size(op, "feature_index")?);
        let mut check = Check::new(op);
        let in_range = dim < x.rank();
        check.that(form.labels.dimension, in_range, "`feature_index` must be a dimension of the operand").so_far()?;
        let of_features = TensorType::new(x.dtype, vec![x.shape[dim]]);
        for ((t, &is_feature), feature) in types.iter().zip(form.operands).zip(form.labels.feature) {
            check.that(form.labels.element, t.dtype == x.dtype, "all operands must have the same element type");
            if is_feature {
                let rule = "scale, offset, mean and variance must have one dimension, with an element for each feature";
                check.that(feature, t.shape == of_features.shape, rule);
            } else {
                check.that(form.labels.whole, t.shape == x.shape, "the gradient must have the operand's shape");
            }
        }
        check.that(form.labels.element, x.dtype.is_float(), "the operands must have floating-point elements");
        let result = |&is_feature: &bool| if is_feature { of_features.clone() } else { x.clone() }.into();
        check.give(form.results.iter().map(result))
    }

    /// Makes the feature a factor of all tensors. The other dimensions pass through if the op does not sum over them,
    /// and must be whole otherwise.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (form, x) = (form(op), op.operand_shape(0));
        let feature = op.attrs().size("feature_index").expect("verified");
        let rank = |list: &[bool]| list.iter().map(|&f| if f { 1 } else { x.len() }).collect::<Vec<_>>();
        let mut rule = RuleBuilder::new(rank(form.operands), rank(form.results));
        let sums = Opcode::of_view(op) != Opcode::BatchNormInference;
        for (d, &size) in x.iter().enumerate() {
            let place = |list: &[bool]| -> Vec<Option<usize>> {
                list.iter().map(|&f| if f { (d == feature).then_some(0) } else { Some(d) }).collect()
            };
            let must_be_whole = sums && d != feature;
            let spec = if must_be_whole { FactorSpec::need_replication(size) } else { FactorSpec::pass_through(size) };
            rule.add_factor(&place(form.operands), &place(form.results), spec);
        }
        RuleFact::Rule(rule.build())
    }

    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(per_part = Other);

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let values: Vec<Data<f64>> = x.iter().map(read).collect();
        let cx = Features::new(op);
        let results = match Opcode::of_view(op) {
            Opcode::BatchNormInference => {
                vec![cx.normalized(&values[0], &values[3], &values[4], &values[1], &values[2])]
            }
            Opcode::BatchNormTraining => cx.training(&values[0], &values[1], &values[2]),
            _ => cx.grad(&values),
        };
        let literal = |(i, values): (usize, Data<f64>)| write(op.result_tensor(i), &values);
        Ok(results.into_iter().enumerate().map(literal).collect())
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        Cost::streams(op, 10.0)
    }

    answer!(linear = No);

    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::BatchNormInference => {
                r#"func.func @main(%arg0: tensor<4x2xf32>, %arg1: tensor<2xf32>) -> tensor<4x2xf32> {
  %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg1, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"#
            }
            Opcode::BatchNormTraining => {
                r#"func.func @main(%arg0: tensor<4x2xf32>, %arg1: tensor<2xf32>) -> tensor<4x2xf32> {
  %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %output : tensor<4x2xf32>
}"#
            }
            _ => {
                r#"func.func @main(%arg0: tensor<4x2xf32>, %arg1: tensor<2xf32>) -> tensor<4x2xf32> {
  %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg1, %arg1, %arg0) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %grad_operand : tensor<4x2xf32>
}"#
            }
        }
    }
}

/// A builder of a batch normalization as means, variances and products, in `f32` if its elements are narrower.
struct Parts<'a, 'b> {
    b: &'a mut Builder<'b>,
    opcode: Opcode,
    /// The type of the operand, with the elements in which the parts are computed.
    wide: TensorType,
    dtype: DType,
    feature: usize,
    /// The number of elements of one feature.
    size: usize,
    epsilon: f64,
    x: Vec<Value>,
}

impl<'a, 'b> Parts<'a, 'b> {
    fn of(cx: &'a mut ExpandCx<'_, '_, 'b>) -> Parts<'a, 'b> {
        let from = cx.op.operand_tensor(0);
        let is_narrow = from.dtype.bits() < 32;
        let wide = TensorType::new(if is_narrow { DType::F32 } else { from.dtype }, from.shape.to_vec());
        let x = cx.operands.iter().map(|&v| make::convert(cx.b, v, wide.dtype)).collect();
        let features = Features::new(&cx.op);
        let feature = cx.op.attrs().size("feature_index").expect("verified");
        let (size, epsilon, opcode) = (features.size, features.epsilon, Opcode::of_view(&cx.op));
        Parts { b: &mut *cx.b, opcode, wide, dtype: from.dtype, feature, size, epsilon, x }
    }

    fn expanded(mut self) -> Vec<Value> {
        let x = self.x.clone();
        let made = match self.opcode {
            Opcode::BatchNormInference => vec![self.normalized(x[0], x[3], x[4], x[1], x[2])],
            Opcode::BatchNormTraining => {
                let mean = self.mean(x[0]);
                let centered = self.centered(x[0], mean);
                let square = make::multiply(self.b, centered, centered);
                let variance = self.mean(square);
                vec![self.normalized(x[0], mean, variance, x[1], x[2]), mean, variance]
            }
            _ => self.grad(x[0], x[1], x[2], x[3], x[4]),
        };
        made.into_iter().map(|v| make::convert(self.b, v, self.dtype)).collect()
    }

    fn repeated(&mut self, v: Value) -> Value {
        make::broadcast_in_dim(self.b, v, &self.wide.shape, &[self.feature])
    }

    fn sum(&mut self, x: Value) -> Value {
        let others: Vec<usize> = (0..self.wide.rank()).filter(|&d| d != self.feature).collect();
        make::reduce(self.b, ReduceKind::Add, x, &others)
    }

    fn over_size(&mut self, x: Value) -> Value {
        let size = self.number(x, self.size as f64);
        make::divide(self.b, x, size)
    }

    fn number(&mut self, like: Value, value: f64) -> Value {
        let shape = make::type_of(self.b, like).shape.clone();
        let value = make::float(self.b, self.wide.dtype, value);
        make::broadcast_scalar(self.b, value, &shape)
    }

    fn mean(&mut self, x: Value) -> Value {
        let sum = self.sum(x);
        self.over_size(sum)
    }

    fn centered(&mut self, x: Value, mean: Value) -> Value {
        let mean = self.repeated(mean);
        make::subtract(self.b, x, mean)
    }

    fn deviation(&mut self, variance: Value) -> Value {
        let spread = self.spread(variance);
        make::sqrt(self.b, spread)
    }

    fn spread(&mut self, variance: Value) -> Value {
        let epsilon = self.number(variance, self.epsilon);
        make::add(self.b, variance, epsilon)
    }

    fn normalized(&mut self, x: Value, mean: Value, variance: Value, scale: Value, offset: Value) -> Value {
        let (centered, deviation) = (self.centered(x, mean), self.deviation(variance));
        let [scale, deviation, offset] = [scale, deviation, offset].map(|v| self.repeated(v));
        let scaled = make::multiply(self.b, scale, centered);
        let normalized = make::divide(self.b, scaled, deviation);
        make::add(self.b, normalized, offset)
    }

    fn grad(&mut self, x: Value, scale: Value, mean: Value, variance: Value, grad: Value) -> Vec<Value> {
        let (centered, deviation, spread) = (self.centered(x, mean), self.deviation(variance), self.spread(variance));
        let product = make::multiply(self.b, grad, centered);
        let (offset, projected) = (self.sum(grad), self.sum(product));
        let part = make::divide(self.b, projected, spread);
        let [part, of_offset] = [part, offset].map(|v| self.repeated(v));
        let along = make::multiply(self.b, part, centered);
        let size = self.number(grad, self.size as f64);
        let all = make::multiply(self.b, grad, size);
        let rest = make::subtract(self.b, all, of_offset);
        let rest = make::subtract(self.b, rest, along);
        let factor = make::divide(self.b, scale, deviation);
        let factor = self.over_size(factor);
        let factor = self.repeated(factor);
        let of_scale = make::divide(self.b, projected, deviation);
        vec![make::multiply(self.b, factor, rest), of_scale, offset]
    }
}

fn read(x: &Literal) -> Data<f64> {
    Data::from_fn(x.size(), |i| x.get_f64(i))
}

fn write(t: &TensorType, values: &[f64]) -> Literal {
    eval::fill(t.dtype, &t.shape, |i| Number::Double(values[i]))
}

/// The assignment of elements to features.
struct Features {
    count: usize,
    /// The distance between two neighbours along the dimension of features, in elements in row-major order.
    stride: usize,
    /// The number of elements of one feature.
    size: usize,
    epsilon: f64,
}

impl Features {
    fn new(op: &OpView<'_>) -> Features {
        let (shape, dim) = (op.operand_shape(0), op.attrs().size("feature_index").expect("verified"));
        let others = shape.iter().enumerate().filter(|&(d, _)| d != dim);
        Features {
            count: shape[dim],
            stride: shape[dim + 1..].iter().product(),
            size: others.map(|(_, &n)| n).product(),
            epsilon: epsilon(op).expect("verified"),
        }
    }

    fn of(&self, i: usize) -> usize {
        i / self.stride % self.count
    }

    fn sums(&self, len: usize, f: impl Fn(usize) -> f64) -> Data<f64> {
        let mut sums = Data::zeroed(self.count);
        (0..len).for_each(|i| sums[self.of(i)] += f(i));
        sums
    }

    fn normalized(&self, x: &[f64], mean: &[f64], variance: &[f64], scale: &[f64], offset: &[f64]) -> Data<f64> {
        let one = |i: usize| {
            let f = self.of(i);
            scale[f] * (x[i] - mean[f]) / (variance[f] + self.epsilon).sqrt() + offset[f]
        };
        Data::from_fn(x.len(), one)
    }

    fn training(&self, x: &[f64], scale: &[f64], offset: &[f64]) -> Vec<Data<f64>> {
        let n = self.size as f64;
        let mut mean = self.sums(x.len(), |i| x[i]);
        mean.iter_mut().for_each(|sum| *sum /= n);
        let mut variance = self.sums(x.len(), |i| (x[i] - mean[self.of(i)]).powi(2));
        variance.iter_mut().for_each(|sum| *sum /= n);
        vec![self.normalized(x, &mean, &variance, scale, offset), mean, variance]
    }

    /// Computes the gradients of operand, scale and offset, from operand, scale, mean, variance and the result's
    /// gradient.
    fn grad(&self, values: &[Data<f64>]) -> Vec<Data<f64>> {
        let [x, scale, mean, variance, grad] = [0, 1, 2, 3, 4].map(|i| &values[i]);
        let n = self.size as f64;
        let centered = |i: usize| x[i] - mean[self.of(i)];
        let spread = |f: usize| variance[f] + self.epsilon;
        let offset = self.sums(x.len(), |i| grad[i]);
        let projected = self.sums(x.len(), |i| grad[i] * centered(i));
        let of_operand = |i: usize| {
            let f = self.of(i);
            let rest = grad[i] * n - offset[f] - projected[f] * centered(i) / spread(f);
            scale[f] / spread(f).sqrt() / n * rest
        };
        let of_scale = Data::from_fn(self.count, |f| projected[f] / spread(f).sqrt());
        vec![Data::from_fn(x.len(), of_operand), of_scale, offset]
    }
}
