//! How long an instruction takes on a host, by the rates that were measured.

use super::Subject;
use super::groups::{Kind, is_multiplication, kind};
use crate::op::Product;
use crate::rates::{
    BATCHED, INSTANCE, LAUNCH, PRODUCT, Rates, SMALL_ELEMENT, SMALL_MOVED, SMALL_OP, SMALL_PRODUCT, SMALL_PROGRAM,
};
use crate::uncertainty::Class;
use shardwise_base::DType;
use shardwise_ir::{OpView, Region, Type, Value};
use shardwise_ops::Opcode;
use shardwise_ops::collective::CollectiveView;
use shardwise_ops::control::{taken_branch, trip_count};
use shardwise_ops::index::IndexDims;
use shardwise_ops::window::{WindowDim, reduced_window};
use shardwise_sharding::FactorKind;
use std::collections::BTreeMap;

/// An instruction that takes less time than this on one worker is not shared. Source: the host engine's pool.
const SHARED_S: f64 = 60e-6;

/// The number of elements that a worker computes in a second, for an op that was not measured.
const ASSUMED_ELEMENTS: f64 = 5e8;

pub(super) struct Costs<'a> {
    rates: &'a Rates,
    speedup: f64,
}

/// The time of an instruction for all instances together, and its work for one instance.
pub(super) struct Cost {
    pub(super) seconds: f64,
    pub(super) class: Class,
    pub(super) instances: usize,
    pub(super) flops: u64,
    pub(super) bytes: u64,
}

/// The work of ops of a small program, for one instance.
#[derive(Clone, Copy)]
pub(super) struct Small {
    pub(super) seconds: f64,
    pub(super) flops: f64,
    /// False if there is a loop of an unknown number of turns, or a conditional of which any branch may be taken.
    pub(super) is_known: bool,
}

impl Small {
    const NONE: Small = Small { seconds: 0.0, flops: 0.0, is_known: true };

    fn then(self, next: Small) -> Small {
        Small {
            seconds: self.seconds + next.seconds,
            flops: self.flops + next.flops,
            is_known: self.is_known && next.is_known,
        }
    }
}

struct Sizes {
    instances: f64,
    /// The bytes that are read and written, of all instances.
    moved: f64,
}

/// The measured curve that tells how long an instruction takes whose last op is neither elementwise, a product nor a
/// collective.
struct Curve {
    /// The words of the curve's name between those of the op and the element type, one curve after the other: the first
    /// that was measured is taken.
    variants: Vec<String>,
    /// The work of the instruction, of all instances.
    work: f64,
}

/// Returns the constant that the time of an instruction determines, or `None` if it determines none, as for control
/// flow.
pub(super) fn subject(views: &[OpView<'_>], instances: &dyn Fn(Value) -> usize) -> Option<Subject> {
    let root = views.last()?;
    let moved = bytes_of(views, instances);
    let named = |name: String, amount: f64| Some(Subject { name, amount });
    if CollectiveView::of(root).is_some() {
        let written = written(root, instances);
        return named(format!("collective.{}.{written:.0}", root.name()), written);
    }
    if let Some(product) = Product::of(root) {
        let (dtype, flops) = (product.dtype.name(), product.flops());
        let family = if product.batch > 1.0 { BATCHED } else { PRODUCT };
        return match is_matrix_product(&product) {
            true => named(format!("{family}.{dtype}.{:.0}x{:.0}x{:.0}", product.m, product.k, product.n), flops),
            false => named(format!("{}.{flops:.0}", flops_curve(root, &product)), flops),
        };
    }
    let dtype = element_type(root)?.name();
    match kind(root) {
        Kind::Elementwise => named(format!("stream.{moved:.0}"), moved),
        Kind::Engine | Kind::Free => None,
        _ => {
            let Curve { variants, work } = Curve::of(root, moved, instances);
            named(format!("op.{}.{}.{dtype}.{work:.0}", root.name(), variants[0]), work)
        }
    }
}

/// Returns the name of the curve of a product that is no product of matrices.
fn flops_curve(view: &OpView<'_>, product: &Product) -> String {
    // With fewer results from the same elements, most kernels compute one result at a time.
    const NARROW: f64 = 4.0;
    let narrow = if product.n < NARROW { ".narrow" } else { "" };
    format!("flops.{}{narrow}.{}", view.name(), product.dtype.name())
}

/// Returns false for convolutions whose windows overlap, in which several elements of a matrix are one of the operand.
fn is_matrix_product(product: &Product) -> bool {
    product.density > 0.99
}

impl<'a> Costs<'a> {
    pub(super) fn new(rates: &'a Rates) -> Costs<'a> {
        Costs { rates, speedup: rates.or_zero("speedup").max(1.0) }
    }

    pub(super) fn turn(&self) -> f64 {
        self.rates.or_zero("turn_s")
    }

    fn instruction(&self) -> f64 {
        self.rates.or_zero("instruction_s")
    }

    /// Returns the time that an instruction that computes or moves elements takes beside its work and its instances.
    pub(super) fn computing(&self) -> f64 {
        self.instruction() + self.rates.or_zero(LAUNCH)
    }

    pub(super) fn has_small_programs(&self) -> bool {
        self.rates.get(SMALL_OP).is_some()
    }

    /// Returns the time that an instance of a small program takes whose ops have this work.
    pub(super) fn small_instance(&self, work: Small) -> f64 {
        self.rates.or_zero(SMALL_PROGRAM) + work.seconds
    }

    /// Returns the work of the ops of a small program. Of the branches of a conditional, the one that is taken counts,
    /// or else the one that takes longest. A loop of an unknown number of turns counts once.
    pub(super) fn small(&self, views: &[OpView<'_>]) -> Small {
        views.iter().map(|view| self.small_op(view)).fold(Small::NONE, Small::then)
    }

    fn small_op(&self, view: &OpView<'_>) -> Small {
        let block = |region: &Region| {
            let (_, ops) = view.body.region(*region).ops.split_last().expect("a region ends in a terminator");
            self.small(&ops.iter().map(|&op| view.at(op)).collect::<Vec<_>>())
        };
        let [op, element] = [SMALL_OP, SMALL_ELEMENT].map(|name| self.rates.or_zero(name));
        // Most products compute eight results at a time.
        let [moved_element, multiply_add] = [(SMALL_MOVED, element), (SMALL_PRODUCT, element / 8.0)]
            .map(|(name, other)| self.rates.get(name).unwrap_or(other));
        let own = |seconds: f64, flops: f64| Small { seconds, flops, is_known: true };
        match (kind(view), Opcode::of_view(view)) {
            (Kind::Free, _) => Small::NONE,
            (_, Opcode::While) => {
                let trips = trip_count(view);
                let turn = view.regions().iter().map(block).fold(own(op, 0.0), Small::then);
                let count = trips.unwrap_or(1) as f64;
                let is_known = turn.is_known && trips.is_some();
                Small { seconds: turn.seconds * count, flops: turn.flops * count, is_known }
            }
            (_, Opcode::Case | Opcode::If) => {
                if let Some(taken) = taken_branch(view) {
                    return own(op, 0.0).then(block(&taken));
                }
                let longest = view.regions().iter().map(block).max_by(|a, b| a.seconds.total_cmp(&b.seconds));
                Small { is_known: false, ..own(op, 0.0).then(longest.unwrap_or(Small::NONE)) }
            }
            (kind, _) => {
                let flops = Opcode::of_view(view).facts().cost(view).flops;
                let work = match (kind, Product::of(view)) {
                    (_, Some(product)) => multiply_add * product.flops() / 2.0,
                    (Kind::Elementwise, _) => {
                        element.max(self.element_rate(view).map_or(0.0, |rate| 1.0 / rate)) * elements(view)
                    }
                    (Kind::View | Kind::Other, _) => moved_element * moved(view),
                    _ => element * elements(view),
                };
                own(op + work, flops)
            }
        }
    }

    /// Returns the typical error of a class of instructions. If it was not measured, returns 1 for [`Class::Unknown`]
    /// and `None` for the others.
    pub(super) fn error(&self, class: Class) -> Option<f64> {
        self.rates.get(&format!("error.{}", class.name())).or((class == Class::Unknown).then_some(1.0))
    }

    pub(super) fn of(&self, views: &[OpView<'_>], instances: &dyn Fn(Value) -> usize) -> Cost {
        let root = views.last().expect("a group has an op");
        let count = root.results().first().map_or(1, |&v| instances(v));
        let bytes = bytes_of(views, &|_| 1);
        let sizes = Sizes { instances: count as f64, moved: bytes_of(views, instances) };
        let (seconds, class) = self.seconds(views, &sizes, instances);
        let flops: f64 = views.iter().map(|view| Opcode::of_view(view).facts().cost(view).flops).sum();
        // The rates of collectives are those of all devices together.
        let beside = match class {
            Class::Collective => self.instruction(),
            _ => self.computing() + self.rates.or_zero(INSTANCE) * count as f64,
        };
        let seconds = beside + seconds;
        Cost { seconds, class, instances: count, flops: flops.round() as u64, bytes: bytes as u64 }
    }

    /// Returns the time of an instruction's work, without the time that every instruction takes, and its class.
    fn seconds(&self, views: &[OpView<'_>], sizes: &Sizes, instances: &dyn Fn(Value) -> usize) -> (f64, Class) {
        let root = views.last().expect("a group has an op");
        if CollectiveView::of(root).is_some() {
            return self.collective(root, sizes, instances);
        }
        if let Some(product) = Product::of(root).filter(|_| !is_multiplication(root)) {
            return (self.product(root, product, sizes, instances), Class::Product);
        }
        match kind(root) {
            Kind::Elementwise => (self.elementwise(views, sizes), Class::Element),
            Kind::Reduce => match self.worked(root, sizes, instances) {
                // Only the ops in front of the reduction count beside it.
                Some(seconds) => (self.elementwise(&views[..views.len() - 1], sizes).max(seconds), Class::Element),
                None => (self.elementwise(views, sizes), Class::Element),
            },
            _ => match self.worked(root, sizes, instances) {
                Some(seconds) => (seconds, Class::Op),
                None => self.unknown(sizes),
            },
        }
    }

    fn unknown(&self, sizes: &Sizes) -> (f64, Class) {
        (sizes.moved / self.stream(sizes.moved), Class::Unknown)
    }

    fn collective(&self, view: &OpView<'_>, sizes: &Sizes, instances: &dyn Fn(Value) -> usize) -> (f64, Class) {
        let written = written(view, instances);
        match self.rates.at(&format!("collective.{}", view.name()), written) {
            Some(rate) => (written / rate, Class::Collective),
            None => self.unknown(sizes),
        }
    }

    fn stream(&self, bytes: f64) -> f64 {
        self.rates.at("stream", bytes).unwrap_or(1e9)
    }

    /// Returns the time of a product. Instances that share the right operand are one product with more rows.
    fn product(&self, view: &OpView<'_>, product: Product, sizes: &Sizes, instances: &dyn Fn(Value) -> usize) -> f64 {
        let [lhs, rhs] = [0, 1].map(|i| instances(view.operands()[i]) as f64);
        let shared = if rhs < sizes.instances { (sizes.instances / rhs).max(1.0) } else { 1.0 };
        let rows = if lhs >= sizes.instances { product.m * shared } else { product.m };
        let flops = product.flops() * sizes.instances;
        if !is_matrix_product(&product)
            && let Some(rate) = self.rates.at(&flops_curve(view, &product), flops)
        {
            return flops / rate;
        }
        let shape = [rows, product.k, product.n];
        let is_batch = product.batch > 1.0;
        if let Some(rate) = self.rates.product(BATCHED, product.dtype, shape).filter(|_| is_batch) {
            return self.shared(flops / rate);
        }
        let known = self.rates.product(PRODUCT, product.dtype, shape);
        let rate = known.or_else(|| self.rates.product(PRODUCT, DType::F32, shape)).unwrap_or(1e9);
        let (seconds, count) = (flops / rate, product.batch * sizes.instances / shared);
        // One that takes long was measured with all workers. Many that take little time are shared among them.
        if seconds / count < SHARED_S / self.speedup { self.shared(seconds) } else { seconds }
    }

    /// Returns the time of work that takes the time `alone` on one worker and is shared among all if it is long.
    fn shared(&self, alone: f64) -> f64 {
        match alone < SHARED_S {
            true => alone,
            false => alone / self.speedup + self.rates.or_zero("barrier_s"),
        }
    }

    fn elementwise(&self, views: &[OpView<'_>], sizes: &Sizes) -> f64 {
        let alone: f64 = views.iter().map(|view| self.element_seconds(view) * elements(view)).sum();
        let data = sizes.moved / self.stream(sizes.moved);
        data.max(self.shared(alone * sizes.instances))
    }

    /// Returns the time that one worker takes for an element of an op. It is that of [`ASSUMED_ELEMENTS`] if it was not
    /// measured, and 0 for an op without operands: it only writes its elements, which counts as the data of the group.
    fn element_seconds(&self, view: &OpView<'_>) -> f64 {
        if view.operands().is_empty() {
            return 0.0;
        }
        1.0 / self.element_rate(view).unwrap_or(ASSUMED_ELEMENTS)
    }

    /// Returns the number of elements of an op that one worker computes in a second, as it was measured for the element
    /// type or a similar one. Returns `None` if it was not measured.
    fn element_rate(&self, view: &OpView<'_>) -> Option<f64> {
        let name = if is_multiplication(view) { Opcode::Multiply.name() } else { view.name() };
        let rate = |dtype: DType| self.rates.get(&format!("element.{name}.{}", dtype.name()));
        let dtype = element_type(view)?;
        rate(dtype).or_else(|| rate(similar(dtype))).filter(|rate| *rate > 0.0)
    }

    /// Returns the time of an instruction's work by the rate that was measured of its op, for elements of its type, or
    /// else of a similar one, or else of f32. Returns `None` if there is none.
    fn worked(&self, view: &OpView<'_>, sizes: &Sizes, instances: &dyn Fn(Value) -> usize) -> Option<f64> {
        let Curve { variants, work } = Curve::of(view, sizes.moved, instances);
        let (dtype, name) = (element_type(view).unwrap_or(DType::F32), view.name());
        let of_type = |dtype: DType| {
            let named = variants.iter().map(move |variant| format!("op.{name}.{variant}.{}", dtype.name()));
            named.chain([format!("op.{name}.{}", dtype.name())])
        };
        let mut curves = [dtype, similar(dtype), DType::F32].into_iter().flat_map(of_type);
        curves.find_map(|curve| self.rates.at(&curve, work)).map(|rate| work / rate)
    }
}

impl Curve {
    /// Returns the curve of an op that reads and writes `moved` bytes in all instances.
    fn of(view: &OpView<'_>, moved: f64, instances: &dyn Fn(Value) -> usize) -> Curve {
        let flops = Opcode::of_view(view).facts().cost(view).flops;
        let is_running = is_running(view);
        let case = match (IndexDims::of_gather(view).or_else(|| IndexDims::of_scatter(view)), view.results().len()) {
            (Some(dims), _) if dims.window.is_empty() => "single.",
            _ if is_running => "running.",
            (_, 2..) => "several.",
            _ => "",
        };
        let is_by_flops = (kind(view) == Kind::Other || is_windowed(view)) && flops > 0.0 && !is_running;
        // Curves of flops and of bytes have different names.
        let unit = if is_by_flops { "flops." } else { "" };
        let last = if keeps_last(view) { ["kept", "moved"] } else { ["moved", "kept"] };
        let cases = if case.is_empty() { vec![""] } else { vec![case, ""] };
        let count = view.results().first().map_or(1, |&v| instances(v)) as f64;
        let variants = cases.iter().flat_map(|case| last.map(|last| format!("{unit}{case}{last}"))).collect();
        Curve { variants, work: if is_by_flops { flops * count } else { moved } }
    }
}

/// Returns true for a reduction whose result has as many dimensions as its operand: one of windows.
fn is_windowed(view: &OpView<'_>) -> bool {
    let rank = |ty: &Type| ty.as_tensor().map(|tensor| tensor.rank());
    kind(view) == Kind::Reduce && rank(view.operand_type(0)) == rank(view.result_type(0))
}

/// Returns true for sums and the like of all elements up to each one, or from each one on, along one dimension.
fn is_running(view: &OpView<'_>) -> bool {
    if Opcode::of_view(view) != Opcode::ReduceWindow {
        return false;
    }
    let window = reduced_window(view);
    let mut along = window.iter().zip(view.operand_shape(0)).filter(|(window, _)| window.size > 1);
    let is_whole = |(window, n): (&WindowDim, &usize)| {
        let rest = window.size as i64 - 1;
        window.size == *n
            && window.stride == 1
            && [window.low, window.high] != [0, 0]
            && (window.low == rest || window.high == rest)
    };
    along.next().is_some_and(is_whole) && along.next().is_none()
}

fn element_type(view: &OpView<'_>) -> Option<DType> {
    let first = view.operands().iter().chain(view.results()).next()?;
    view.body.ty(*first).as_tensor().map(|tensor| tensor.dtype)
}

/// Returns the type whose measured rates are used for `dtype` if there are none for `dtype` itself.
fn similar(dtype: DType) -> DType {
    match dtype.bits() {
        ..=32 if dtype.is_integer() => DType::I32,
        ..=16 => DType::BF16,
        17..=32 => DType::F32,
        _ => DType::F64,
    }
}

fn elements(view: &OpView<'_>) -> f64 {
    let all = view.operands().iter().chain(view.results()).filter_map(|&v| view.body.ty(v).as_tensor());
    match kind(view) {
        Kind::Reduce => all.map(|tensor| tensor.size() as f64).fold(0.0, f64::max),
        _ => view.results().iter().filter_map(|&v| view.body.ty(v).as_tensor()).map(|t| t.size() as f64).sum(),
    }
}

/// Returns the number of elements that an op of a small program moves. An array in which a slice is updated stays where
/// it is.
fn moved(view: &OpView<'_>) -> f64 {
    let bytes = Opcode::of_view(view).facts().cost(view).bytes_written;
    let each = view.results().first().and_then(|&v| view.body.ty(v).as_tensor()).map_or(1, |t| t.dtype.storage_bytes());
    elements(view).min(bytes as f64 / each as f64)
}

fn bytes(view: &OpView<'_>, v: Value) -> f64 {
    view.body.ty(v).as_tensor().map_or(0.0, |tensor| tensor.bytes() as f64)
}

/// Returns the bytes that ops read from outside of the group, and those of the last op's results, each as often as it
/// has instances. A value that is read through ops that change where elements are counts with the elements that are
/// read.
fn bytes_of(views: &[OpView<'_>], instances: &dyn Fn(Value) -> usize) -> f64 {
    let root = views.last().expect("a group has an op");
    let is_inside = |v: Value| views.iter().any(|view| view.results().contains(&v));
    let mut read: BTreeMap<Value, f64> = BTreeMap::new();
    for view in views {
        let cost = Opcode::of_view(view).facts().cost(view);
        for &v in view.operands().iter().filter(|&&v| !is_inside(v)) {
            let most = if cost.flops == 0.0 { cost.bytes_read as f64 } else { f64::INFINITY };
            let own = bytes(view, v).min(most) * instances(v) as f64;
            let known = read.entry(source(view, v)).or_default();
            *known = known.max(own);
        }
    }
    read.values().sum::<f64>() + written(root, instances)
}

fn written(view: &OpView<'_>, instances: &dyn Fn(Value) -> usize) -> f64 {
    view.results().iter().map(|&v| bytes(view, v) * instances(v) as f64).sum()
}

/// Returns the value from which a value is read: through ops that only change where elements are.
fn source(view: &OpView<'_>, v: Value) -> Value {
    let mut v = v;
    while let Some(def) = view.body.def_op(v) {
        let def = view.at(def);
        if kind(&def) != Kind::View {
            break;
        }
        v = def.operands()[0];
    }
    v
}

/// Returns true if the last dimension stays the last one and the op does the same for all positions along it, or if no
/// sharding rule tells that.
fn keeps_last(view: &OpView<'_>) -> bool {
    let facts = Opcode::of_view(view).facts();
    let Some(rule) = facts.rule(view).rule().cloned() else { return true };
    let last = |mapping: Option<&shardwise_sharding::Mapping>| mapping.and_then(|m| m.factors().last());
    let (from, to) = (last(rule.operands.first()), last(rule.results.first()));
    from == to && from.is_none_or(|factor| rule.kind(factor) == FactorKind::PassThrough)
}
