//! Kernels of users: the meanings of `stablehlo.custom_call`s, registered from Rust.
//!
//! A kernel has a shape function and a function of arrays, and may have a sharding rule. Every device runs it on its
//! own shards, which are split as the rule allows. Without a rule all operands are whole.
//! ```
//! use shardwise_ops::user::{Kernel, register};
//! # use shardwise_base::Literal;
//! let double = Kernel::new(
//!     |operands, _| Ok(vec![operands[0].clone()]),
//!     |call| {
//!         let values: Vec<f32> = call.operands[0].to_dense().as_slice::<f32>().iter().map(|x| 2.0 * x).collect();
//!         Ok(vec![Literal::new(call.operands[0].shape(), &values)])
//!     },
//! );
//! register("doc.double", double.with_rule("([i, j])->([i, j])")).unwrap();
//! ```
//! The rule may also be an attribute of the op, `sdy.sharding_rule = #sdy.op_sharding_rule<..>`, which then has
//! precedence.

use crate::batch::{BatchCx, Batched};
use crate::facts::ReduceKind;
use crate::{Opcode, check::Check, facts::EvalError, make};
use shardwise_base::{Diagnostic, Diagnostics, Literal, Loc};
use shardwise_ir::{Attr, Attrs, Builder, OpView, TensorType, Type, Value};
use shardwise_sharding::{Factor, FactorKind, Mapping, Rule};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

type Infer = dyn Fn(&[TensorType], &Attrs) -> Result<Vec<TensorType>, String> + Send + Sync;
type Run = dyn Fn(&Call<'_>) -> Result<Vec<Literal>, String> + Send + Sync;

/// The arguments of a kernel: the shards of one device, or whole arrays if the program is run without being
/// partitioned.
pub struct Call<'a> {
    pub operands: &'a [Literal],
    /// The types of the results that must be returned.
    pub results: &'a [TensorType],
    pub attrs: &'a Attrs,
}

/// The meaning of a custom call.
pub struct Kernel {
    infer: Box<Infer>,
    run: Box<Run>,
    /// The kernel's own rule as text, with or without sizes. A rule that is written on the op has precedence.
    rule: Option<String>,
    reduce: Option<ReduceKind>,
    /// The name of the kernel that computes a batch, of which all operands and results have a new leading dimension, if
    /// one was named.
    batched: Option<String>,
}

impl Kernel {
    /// Builds a kernel. `infer` returns the types of the results, or a message if the operands are wrong. It is called
    /// for whole arrays and for the shards of a device. `run` computes the results.
    pub fn new(
        infer: impl Fn(&[TensorType], &Attrs) -> Result<Vec<TensorType>, String> + Send + Sync + 'static,
        run: impl Fn(&Call<'_>) -> Result<Vec<Literal>, String> + Send + Sync + 'static,
    ) -> Kernel {
        Kernel { infer: Box::new(infer), run: Box::new(run), rule: None, reduce: None, batched: None }
    }

    /// Sets the sharding rule, in Shardy's notation: `([i, k], [k, j])->([i, j]) reduction={k}`.
    ///
    /// The rule states the sizes of all factors or of none. It may state none only if each dimension is one factor.
    pub fn with_rule(self, rule: &str) -> Kernel {
        Kernel { rule: Some(rule.into()), ..self }
    }

    /// Sets the reduction that combines partial results, if the rule has reduction factors. The default is a sum.
    pub fn combining(self, kind: ReduceKind) -> Kernel {
        Kernel { reduce: Some(kind), ..self }
    }

    /// Names the kernel that computes a batch of calls (`vmap`): all of its operands and results have a new leading
    /// dimension.
    ///
    /// This is only needed for calls that have a sharding rule of their own, and if no factor of the kernel's sharding
    /// rule passes through and is a whole dimension of all results and of all operands that have a batch. Along such a
    /// factor, the kernel computes on parts of its operands, and so the operands of a whole batch are one call.
    pub fn batched_by(self, target: &str) -> Kernel {
        Kernel { batched: Some(target.into()), ..self }
    }
}

/// Returns the types of the results of a call of the kernel `target` on operands of these types.
///
/// # Errors
/// `kernel-unknown` if no kernel of this name is registered, and `kernel-refused` if the kernel refuses the operands,
/// both at `loc`.
pub fn result_types(
    target: &str,
    operands: &[TensorType],
    attrs: &Attrs,
    loc: &Loc,
) -> Result<Vec<TensorType>, Diagnostic> {
    let kernel = find(target).ok_or_else(|| unregistered(target, loc))?;
    (kernel.infer)(operands, attrs)
        .map_err(|why| Diagnostic::error("kernel-refused", loc, format!("kernel `{target}`: {why}")))
}

static KERNELS: RwLock<BTreeMap<String, Arc<Kernel>>> = RwLock::new(BTreeMap::new());

/// Registers the kernel for custom calls of `target` in this process.
///
/// # Errors
/// `kernel-twice` if there is already one of this name, `kernel-rule` if its rule cannot be read, or if a reduction
/// factor is a factor of a result.
pub fn register(target: &str, kernel: Kernel) -> Result<(), Diagnostic> {
    if let Some(text) = &kernel.rule {
        // Only the form is checked here: the sizes are those of the operands.
        let probe = with_sizes(text, |_| Some(2));
        let rule = probe.parse::<Rule>().map_err(|e| bad_rule(target, text, &e.to_string()))?;
        if let Some(factor) = kept_reduction(&rule) {
            return Err(reduced_result(target, text, &factor.to_string()));
        }
    }
    let mut kernels = KERNELS.write().unwrap_or_else(PoisonError::into_inner);
    if kernels.contains_key(target) {
        return Err(twice(target));
    }
    kernels.insert(target.into(), Arc::new(kernel));
    Ok(())
}

pub(crate) fn find(target: &str) -> Option<Arc<Kernel>> {
    KERNELS.read().unwrap_or_else(PoisonError::into_inner).get(target).cloned()
}

impl Kernel {
    pub(crate) fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let operands: Vec<TensorType> = crate::check::all_tensors(op)?.into_iter().cloned().collect();
        let types = (self.infer)(&operands, op.attrs()).map_err(|why| refused(op, &why))?;
        Check::new(op).give(types.into_iter().map(Type::Tensor))
    }

    /// Returns the kernel's own rule, with the sizes of the op's types where the text has none. Returns `None` if the
    /// kernel has no rule, or if its text cannot be read with these sizes. The rule may still not fit the types.
    pub(crate) fn rule(&self, op: &OpView<'_>) -> Option<Rule> {
        let text = self.rule.as_ref()?;
        let shapes = |values: &[Value]| values.iter().map(|&v| op.body.ty(v).shape().to_vec()).collect::<Vec<_>>();
        let shapes = [shapes(op.operands()), shapes(op.results())].concat();
        with_sizes(text, |(tensor, dim)| shapes.get(tensor)?.get(dim).copied()).parse().ok()
    }

    /// Returns how a batch of calls is computed: by the kernel that is named for it, or else by one call on operands
    /// whose batch is merged with a dimension along which the kernel computes on parts. If no kernel is named, there is
    /// no batch if the kernel has no rule with such a dimension that fits the call, or if the call has a rule of its
    /// own.
    ///
    /// ```text
    /// ([i, j], [j])->([i, j])     f32[8,4,2], f32[2] with a batch of 8     one call on f32[32,2], f32[2]
    /// ```
    pub(crate) fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'static> {
        if let Some(target) = self.batched.clone() {
            let attrs = op.attrs().clone().with("call_target_name", Attr::str(&target));
            return Batched::Leading(attrs);
        }
        let has_written = op.attrs().contains("sdy.sharding_rule");
        let rule = self.rule(op).filter(|rule| !has_written && fits(rule, op)).map(with_whole_factors);
        let Some(places) = rule.and_then(|rule| merged_dims(&rule, mapped)) else {
            return Batched::None(
                "the kernel has no sharding rule with a factor that passes through all results and all operands with \
                 a batch, each in a dimension of its own, or the call has a rule in its place",
            );
        };
        Batched::by("its batch is merged with another dimension", move |cx| {
            let count = cx.op.operands().len();
            let merge = |cx: &mut BatchCx<'_, '_, '_>, i: usize| match places[i] {
                Some(dim) => {
                    let x = cx.with_leading(i);
                    merged(cx.b, x, dim)
                }
                None => cx.operands[i],
            };
            let operands: Vec<Value> = (0..count).map(|i| merge(cx, i)).collect();
            let types: Vec<Type> = cx
                .op
                .results()
                .iter()
                .zip(&places[count..])
                .map(|(&v, dim)| {
                    let mut ty = cx.op.body.ty(v).as_tensor().expect("kernels return tensors").clone();
                    ty.shape[dim.expect("all results have the factor")] *= cx.size;
                    ty.into()
                })
                .collect();
            let call = cx.b.op(Opcode::CustomCall, operands, cx.op.attrs().clone(), types);
            let made = cx.b.body[call].results.to_vec();
            let (op, size) = (cx.op, cx.size);
            let apart = |(i, v): (usize, Value)| {
                let dim = places[count + i].expect("checked above");
                split(cx.b, v, dim, [size, op.result_shape(i)[dim]])
            };
            Ok(made.into_iter().enumerate().map(apart).collect())
        })
    }

    pub(crate) fn combine(&self) -> ReduceKind {
        self.reduce.unwrap_or(ReduceKind::Add)
    }

    pub(crate) fn run(&self, op: &OpView<'_>, operands: &[Literal]) -> Result<Vec<Literal>, EvalError> {
        let results: Vec<TensorType> = (0..op.results().len()).map(|i| op.result_tensor(i).clone()).collect();
        let call = Call { operands, results: &results, attrs: op.attrs() };
        let values = (self.run)(&call).map_err(|why| refused(op, &why))?;
        let given: Vec<TensorType> = values.iter().map(|v| TensorType::new(v.dtype(), v.shape())).collect();
        if given == results { Ok(values) } else { Err(other_results(op, &given, &results)) }
    }
}

/// Returns for each operand and result the dimension with which a batch is merged: that of a factor which passes
/// through, and which all results and all mapped operands have as a whole dimension, once. Other operands may also
/// lack the factor, and then have no dimension. Returns `None` if there is no such factor.
fn merged_dims(rule: &Rule, mapped: &[bool]) -> Option<Vec<Option<usize>>> {
    let places = |factor: Factor| {
        let place = |(i, mapping): (usize, &Mapping)| {
            let is_optional = mapped.get(i).is_some_and(|m| !m);
            let mut dims = (0..mapping.rank()).filter(|&d| mapping.dims[d].contains(&factor));
            match (dims.next(), dims.next()) {
                (None, _) if is_optional => Some(None),
                (Some(d), None) if mapping.dims[d].len() == 1 => Some(Some(d)),
                _ => None,
            }
        };
        rule.mappings().enumerate().map(place).collect::<Option<Vec<_>>>()
    };
    rule.all_factors().filter(|f| rule.is_pass_through(*f)).find_map(places)
}

/// Merges the leading dimension into dimension `dim` of the others: `[b, m, n] -> [m, b * n]` for dimension 1.
fn merged(b: &mut Builder<'_>, x: Value, dim: usize) -> Value {
    let shape = b.body.ty(x).shape().to_vec();
    let order: Vec<usize> = (1..=dim).chain([0]).chain(dim + 1..shape.len()).collect();
    let x = if dim == 0 { x } else { make::transpose(b, x, &order) };
    let mut to = shape[1..].to_vec();
    to[dim] *= shape[0];
    make::reshape(b, x, &to)
}

/// Takes a leading dimension out of dimension `dim`, where [`merged`] has put it. `sizes` are those of the leading
/// dimension and of what is left of `dim`.
fn split(b: &mut Builder<'_>, x: Value, dim: usize, sizes: [usize; 2]) -> Value {
    let mut shape = b.body.ty(x).shape().to_vec();
    shape.splice(dim..=dim, sizes);
    let x = make::reshape(b, x, &shape);
    let order: Vec<usize> = [dim].into_iter().chain((0..shape.len()).filter(|&d| d != dim)).collect();
    if dim == 0 { x } else { make::transpose(b, x, &order) }
}

/// Returns the rule that is an attribute of the op, if its text can be read, it fits the op's types, and no result has
/// a reduction factor. Returns `None` otherwise.
pub(crate) fn written_rule(op: &OpView<'_>) -> Option<Rule> {
    let Attr::Opaque(text) = op.attr("sdy.sharding_rule")? else { return None };
    let rule: Rule = text.trim().strip_prefix("#sdy.op_sharding_rule<")?.strip_suffix('>')?.parse().ok()?;
    (fits(&rule, op) && kept_reduction(&rule).is_none()).then_some(rule)
}

/// Returns the first reduction factor that a result has, or `None` if no result has one. A valid rule has none: partial
/// results are combined element by element, so each of them has all dimensions of the result.
fn kept_reduction(rule: &Rule) -> Option<Factor> {
    let is_kept = |f: &Factor| rule.kind(*f) == FactorKind::Reduction && rule.results.iter().any(|m| m.contains(*f));
    rule.all_factors().find(is_kept)
}

/// Returns the rule with these pass-through factors marked as needing replication:
///
/// - Factors that only some of the results have. If one were split, each device would compute the other results from
///   its own part.
/// - Factors of results that no operand has. A kernel that gets no part of an operand cannot know which part of its
///   results to compute.
///
/// `([i, j])->([i, j], [j])` becomes `([i, j])->([i, j], [j]) need_replication={i}`.
pub(crate) fn with_whole_factors(mut rule: Rule) -> Rule {
    for factor in rule.all_factors() {
        let count = rule.results.iter().filter(|m| m.contains(factor)).count();
        let is_new = !rule.operands.iter().any(|m| m.contains(factor));
        if rule.is_pass_through(factor) && 0 < count && (is_new || count < rule.results.len()) {
            rule.factors[factor.index()].kind = FactorKind::NeedReplication;
        }
    }
    rule
}

pub(crate) fn fits(rule: &Rule, op: &OpView<'_>) -> bool {
    let shapes = |values: &[Value]| values.iter().map(|&v| op.body.ty(v).shape()).collect::<Vec<_>>();
    rule.misfit(&shapes(op.operands()), &shapes(op.results())).is_none()
}

/// Returns the text of a rule with sizes such as ` {i=8, j=4}` after the mappings, if it has none. The size of a factor
/// is that of the first dimension with its name.
fn with_sizes(text: &str, size: impl Fn((usize, usize)) -> Option<usize>) -> String {
    let end = text.rfind(')').map_or(text.len(), |i| i + 1);
    let (mappings, rest) = text.split_at(end);
    if rest.trim_start().starts_with('{') {
        return text.into();
    }
    let mut sizes: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for (tensor, list) in mappings.split('[').skip(1).enumerate() {
        let dims = list.split(']').next().unwrap_or("").split(',').map(str::trim).filter(|d| !d.is_empty());
        for (dim, symbol) in dims.enumerate() {
            if let Some(n) = size((tensor, dim)) {
                sizes.entry((order(symbol), symbol)).or_insert(n);
            }
        }
    }
    let sizes: Vec<String> = sizes.iter().map(|((_, symbol), n)| format!("{symbol}={n}")).collect();
    format!("{mappings} {{{}}}{rest}", sizes.join(", "))
}

/// Returns a number by which symbols are sorted: `i` to `z`, then `z_1`, `z_2`, ….
fn order(symbol: &str) -> usize {
    match symbol.strip_prefix("z_") {
        Some(n) => n.parse().unwrap_or(0usize).saturating_add(26),
        None => symbol.bytes().next().map_or(0, |b| usize::from(b.saturating_sub(b'i'))),
    }
}

fn bad_rule(target: &str, text: &str, why: &str) -> Diagnostic {
    Diagnostic::error("kernel-rule", &Loc::UNKNOWN, format!("the sharding rule of kernel `{target}` cannot be read"))
        .facts(format!("{text}: {why}"))
        .help("write it as ([i, k], [k, j])->([i, j]) reduction={k}, with factors from i on")
}

fn reduced_result(target: &str, text: &str, factor: &str) -> Diagnostic {
    let message = format!("the sharding rule of kernel `{target}` reduces the factor {factor}, which a result has");
    Diagnostic::error("kernel-rule", &Loc::UNKNOWN, message)
        .facts(text.to_string())
        .help("leave the factor out of `reduction`, or out of the results")
}

fn twice(target: &str) -> Diagnostic {
    Diagnostic::error("kernel-twice", &Loc::UNKNOWN, format!("a kernel `{target}` is already registered"))
        .help("register each kernel once, before the first program that uses it")
}

fn unregistered(target: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("kernel-unknown", loc, format!("no kernel `{target}` is registered"))
        .help("register it with `kernel::register` before the first program that calls it")
}

fn refused(op: &OpView<'_>, why: &str) -> Diagnostic {
    let target = op.attrs().str("call_target_name").unwrap_or("");
    Diagnostic::error("kernel-refused", op.loc(), format!("kernel `{target}`: {why}"))
}

fn other_results(op: &OpView<'_>, given: &[TensorType], expected: &[TensorType]) -> Diagnostic {
    let target = op.attrs().str("call_target_name").unwrap_or("");
    Diagnostic::error(
        "kernel-results",
        op.loc(),
        format!("kernel `{target}` returned results whose number or types differ from the op's"),
    )
    .facts(format!("{given:?}"))
    .expected(format!("{expected:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::DType;
    use shardwise_ir::Body;

    #[test]
    fn sizes_are_filled_in() {
        let size = |(tensor, dim): (usize, usize)| Some(10 * tensor + dim + 1);
        assert_eq!(
            with_sizes("([i, k], [k, j])->([i, j]) reduction={k}", size),
            "([i, k], [k, j])->([i, j]) {i=1, j=12, k=2} reduction={k}"
        );
        let whole = "([ij])->([i, j]) {i=2, j=3}";
        assert_eq!(with_sizes(whole, size), whole);
    }

    #[test]
    fn a_batch_of_size_0_keeps_the_other_dimensions() {
        let mut body = Body::new();
        let mut b = Builder::new(&mut body);
        for (dim, shape) in [(0, [0, 4, 3]), (1, [0, 3, 4])] {
            let x = b.arg(Type::tensor(DType::F32, if dim == 0 { [0, 3] } else { [3, 0] }));
            let made = split(&mut b, x, dim, [0, 4]);
            assert_eq!(b.body.ty(made).shape(), shape);
        }
    }

    #[test]
    fn factors_of_some_results_stay_whole() {
        let whole = |text: &str| with_whole_factors(text.parse().unwrap()).to_string();
        let one = "([i, j])->([i]) {i=8, j=4} reduction={j}";
        assert_eq!(whole(one), one);
        let two = "([i, j])->([i, j], [j]) {i=8, j=4}";
        assert_eq!(whole(two), format!("{two} need_replication={{i}}"));
        let new = "([i])->([i, j]) {i=8, j=4}";
        assert_eq!(whole(new), format!("{new} need_replication={{j}}"));
    }

    #[test]
    fn a_kernel_is_registered_once_and_its_rule_read() {
        let kernel = || Kernel::new(|x, _| Ok(x.to_vec()), |call| Ok(call.operands.to_vec()));
        assert_eq!(register("test.bad", kernel().with_rule("([i)->")).unwrap_err().code, "kernel-rule");
        assert_eq!(
            register("test.bad", kernel().with_rule("([i])->([i]) reduction={i}")).unwrap_err().code,
            "kernel-rule"
        );
        let far = "([z_18446744073709551615])->([z_18446744073709551615])";
        assert_eq!(register("test.bad", kernel().with_rule(far)).unwrap_err().code, "kernel-rule");
        register("test.once", kernel().with_rule("([i])->([i])")).unwrap();
        assert_eq!(register("test.once", kernel()).unwrap_err().code, "kernel-twice");
    }
}
