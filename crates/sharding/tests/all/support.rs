//! Short texts for meshes and shardings, and a chooser for generated cases.

use shardwise_base::{AxisRef, DimSharding, Mesh, Sharding};
use shardwise_sharding::cost::CollectiveCost;
use shardwise_sharding::{Exchanged, Factor, FactorKind, LeastPrice, Prefix, Price, Prices, Rule};
use std::borrow::Cow;
use std::sync::Arc;

/// Parses a mesh, as in `a=4 b=2`. Panics if the text has another form.
pub fn mesh(text: &str) -> Arc<Mesh> {
    let axes = text.split(' ').map(|axis| axis.split_once('=').unwrap());
    Arc::new(Mesh::new("mesh", axes.map(|(name, size)| (name, size.parse().unwrap()))).unwrap())
}

/// Parses an axis `a` or a sub-axis `a:(1)2`. Panics if the text has another form or the mesh has no such axis.
pub fn axis(mesh: &Mesh, text: &str) -> AxisRef {
    let (name, sub) = text.split_once(":(").map_or((text, None), |(name, sub)| (name, Some(sub)));
    let axis = mesh.axis(name).unwrap_or_else(|| panic!("no axis {name}"));
    match sub.map(|s| s.split_once(')').unwrap()) {
        None => AxisRef::full(axis),
        Some((pre, size)) => AxisRef::sub(mesh, axis, pre.parse().unwrap(), size.parse().unwrap()),
    }
}

pub fn axes(mesh: &Mesh, text: &str) -> Vec<AxisRef> {
    text.split_whitespace().map(|a| axis(mesh, a)).collect()
}

/// Parses a sharding, as in `a b ? | ? p1 | . ; c`: the dimensions separated by `|`, where `?` stands for an open one
/// and `.` for a closed one without axes, and the replicated axes behind `;`. Panics as [`axis`] does.
pub fn sharding(mesh: &Arc<Mesh>, text: &str) -> Sharding {
    let (dims, replicated) = text.split_once(';').unwrap_or((text, ""));
    let mut sharding = Sharding::new(mesh, dims.split('|').map(|d| dim(mesh, d)).collect());
    sharding.replicated = axes(mesh, replicated);
    sharding
}

fn dim(mesh: &Mesh, text: &str) -> DimSharding {
    let mut dim = DimSharding::closed(vec![]);
    for token in text.split_whitespace() {
        match token {
            "." => {}
            "?" => dim.is_open = true,
            t if t.starts_with('p') && t[1..].parse::<u32>().is_ok() => dim.priority = t[1..].parse().ok(),
            t => dim.axes.push(axis(mesh, t)),
        }
    }
    dim
}

/// Prints a sharding without its mesh, or `-` for `None`.
pub fn dims(sharding: Option<&Sharding>) -> String {
    sharding.map_or("-".to_string(), |s| s.to_string().replace("<@mesh, ", "").trim_end_matches('>').replace('"', ""))
}

/// Prices of an op's tensors that depend on bytes alone. Nothing is charged for starting a collective.
pub struct Estimate<'a> {
    pub rule: &'a Rule,
    pub shardings: &'a [Option<&'a Sharding>],
    pub element_bytes: u64,
    /// True if elements move along permutation factors for nothing. Otherwise these cannot be split.
    pub moves: bool,
    /// True if no device may compute more than it must.
    pub is_product: bool,
}

impl Prices for Estimate<'_> {
    fn price(&self, index: usize, layout: &[Cow<'_, [AxisRef]>], partial: &[AxisRef]) -> Price {
        let (own, mapping) =
            (self.shardings[index].expect("only tensors with a sharding are asked for"), self.rule.mapping(index));
        let layout = &Sharding::closed(&own.mesh, layout.iter().map(|axes| axes.to_vec()).collect());
        let sizes = mapping.dims.iter().map(|d| d.iter().map(|&f| self.rule.size(f)).product());
        let (shape, mesh): (Vec<usize>, _) = (sizes.collect(), &own.mesh);
        let local = |s: &Sharding| self.element_bytes * s.local_shape(&shape).iter().product::<usize>() as u64;
        let (from, to) = if index < self.rule.operands.len() { (own, layout) } else { (layout, own) };
        // A device keeps what its shard before and its shard after have in common, if one of them contains the other.
        let is_nested =
            |a: &[AxisRef], b: &[AxisRef]| Prefix::of(a, b) != Prefix::Not || Prefix::of(b, a) != Prefix::Not;
        let both = from.dims.iter().zip(&to.dims).zip(&shape);
        let kept = both.map(|((a, b), n)| match is_nested(&a.axes, &b.axes) {
            true => n.div_ceil(a.shard_count(mesh).max(b.shard_count(mesh))) as u64,
            false => 0,
        });
        let kept = self.element_bytes * kept.product::<u64>();
        let is_split = |a: &AxisRef| own.split_axes().any(|b| b.contains(*a));
        let sum = |&a: &AxisRef| {
            if is_split(&a) { CollectiveCost::ReduceScatter } else { CollectiveCost::AllReduce }
                .fraction_received(a.size(mesh))
        };
        let summed: f64 = partial.iter().map(sum).sum();
        Price { bytes: local(to) - kept + (local(layout) as f64 * summed).round() as u64, extra: 0 }
    }

    fn least(&self, _: usize) -> LeastPrice {
        LeastPrice { element_bytes: self.element_bytes, start: 0, runs: 1 }
    }

    fn is_summed(&self, _: usize) -> bool {
        true
    }

    fn exchanged(&self, factor: Factor, _: &[AxisRef]) -> Option<Exchanged> {
        (self.moves || self.rule.kind(factor) != FactorKind::Permutation).then(Exchanged::default)
    }

    fn is_product(&self) -> bool {
        self.is_product
    }
}

/// Makes choices that depend only on a seed.
pub struct Chooser(u64);

impl Chooser {
    pub fn new(seed: u64) -> Chooser {
        Chooser(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `n`. Panics if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % n as u64) as usize
    }

    pub fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// Runs `check` once for each seed below `count`, with a chooser of that seed. If it panics, prints the seed and panics
/// as well.
pub fn for_seeds(count: u64, check: impl Fn(&mut Chooser) + std::panic::RefUnwindSafe) {
    for seed in 0..count {
        if let Err(error) = std::panic::catch_unwind(|| check(&mut Chooser::new(seed))) {
            eprintln!("replay with Chooser::new({seed})");
            std::panic::resume_unwind(error);
        }
    }
}
