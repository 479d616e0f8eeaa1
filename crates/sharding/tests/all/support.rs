//! Short texts for meshes and shardings, and a chooser for generated cases.

use shardwise_base::{AxisRef, DimSharding, Mesh, Sharding};
use std::sync::Arc;

/// `mesh("a=4 b=2")`.
pub fn mesh(text: &str) -> Arc<Mesh> {
    let axes = text.split(' ').map(|axis| axis.split_once('=').unwrap());
    Arc::new(Mesh::new("mesh", axes.map(|(name, size)| (name, size.parse().unwrap()))).unwrap())
}

/// `a` or `a:(1)2`.
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

/// `a b ? | ? p1 | .` and, behind a `;`, replicated axes: dimensions separated by `|`, `.` for a closed empty one.
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

/// The dimensions of a sharding, without the mesh.
pub fn dims(sharding: Option<&Sharding>) -> String {
    sharding.map_or("-".to_string(), |s| s.to_string().replace("<@mesh, ", "").trim_end_matches('>').replace('"', ""))
}

/// Choices from a seed, the same on every machine.
pub struct Chooser(u64);

impl Chooser {
    pub fn new(seed: u64) -> Chooser {
        Chooser(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `n`.
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

/// Runs `check` on the choices of many seeds; a failure names its seed.
pub fn for_seeds(count: u64, check: impl Fn(&mut Chooser) + std::panic::RefUnwindSafe) {
    for seed in 0..count {
        if let Err(error) = std::panic::catch_unwind(|| check(&mut Chooser::new(seed))) {
            eprintln!("replay with Chooser::new({seed})");
            std::panic::resume_unwind(error);
        }
    }
}
