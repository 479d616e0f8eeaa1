//! Estimates the memory of a program before it is planned: the bytes of the values that one device holds at each op.
//!
//! A value is held from the op that makes it to the last op that uses it. The values that a loop carries count once, as
//! the results of the loop, because the arguments of its regions share their memory. Values that a turn computes count
//! in addition, while the turn runs. The estimate knows nothing of values that share memory otherwise, so it compares
//! two versions of one program, and is no prediction.

use crate::plan::local_bytes;
use shardwise_base::EntityVec;
use shardwise_ir::{Body, Module, Op, Region, Value, ValueDef};
use std::cmp::Reverse;

/// The positions of a body's ops and of the last uses of its values.
pub(crate) struct Lives {
    /// The region that contains each op, or `None` for an op in no region.
    home: EntityVec<Op, Option<Region>>,
    position: EntityVec<Op, usize>,
    /// The position, in the region that defines the value, of the last op that uses the value or has an op in its
    /// regions that does. `None` if no op does.
    last_use: EntityVec<Value, Option<usize>>,
}

impl Lives {
    pub fn compute(body: &Body) -> Lives {
        let mut lives = Lives {
            home: EntityVec::filled(body.op_count(), None),
            position: EntityVec::filled(body.op_count(), 0),
            last_use: EntityVec::filled(body.value_count(), None),
        };
        for region in (0..body.region_count()).map(Region::new) {
            for (i, &op) in body[region].ops.iter().enumerate() {
                lives.home[op] = Some(region);
                lives.position[op] = i;
            }
        }
        for op in body.walk() {
            for &v in &body[op].operands {
                let used_at = lives.position_in(body, op, lives.region_of(body, v));
                lives.last_use[v] = lives.last_use[v].max(used_at);
            }
        }
        lives
    }

    /// Returns the region whose argument the value is, or that directly contains the op that makes it. Returns `None`
    /// if this op is in no region.
    pub fn region_of(&self, body: &Body, v: Value) -> Option<Region> {
        match body[v].def {
            ValueDef::Argument { region, .. } => Some(region),
            ValueDef::Result { op, .. } => self.home[op],
        }
    }

    /// Returns the position in `region` of the op, or of the op of `region` that contains it at any depth. Returns
    /// `None` if the op is not inside `region`.
    fn position_in(&self, body: &Body, op: Op, region: Option<Region>) -> Option<usize> {
        let mut op = op;
        while self.home[op] != region {
            op = body[self.home[op]?].parent?;
        }
        Some(self.position[op])
    }

    /// Returns the first and the last position in its region at which a value is held: those of its op and of its last
    /// use. An argument is held from position 0. A value that is not used is held at the first position only.
    pub fn span(&self, body: &Body, v: Value) -> (usize, usize) {
        let first = body.def_op(v).map_or(0, |op| self.position[op]);
        (first, self.last_use[v].unwrap_or(first).max(first))
    }

    /// Returns the bytes on one device that the results of the region's ops take at each of its ops. The arguments of
    /// the region and the values inside its ops' regions are not counted.
    pub fn own(&self, body: &Body, region: Region) -> Vec<u64> {
        let ops = &body[region].ops;
        let mut change = vec![0i128; ops.len() + 1];
        for &v in ops.iter().flat_map(|&op| &body[op].results) {
            let (first, last) = self.span(body, v);
            let size = i128::from(bytes(body, v));
            change[first] += size;
            change[last + 1] -= size;
        }
        let mut held = 0;
        let at = |change: i128| {
            held += change;
            held as u64
        };
        change[..ops.len()].iter().copied().map(at).collect()
    }

    /// Returns the bytes on one device that are held at each op of the region: the results of the region's ops
    /// ([`own`](Lives::own)), and the largest [`peak`](Lives::peak) of the regions of the op.
    pub fn profile(&self, body: &Body, region: Region) -> Vec<u64> {
        let inside = |op: &Op| body[*op].regions.iter().map(|&r| self.peak(body, r)).max().unwrap_or(0);
        let own = self.own(body, region);
        body[region].ops.iter().zip(own).map(|(op, own)| own.saturating_add(inside(op))).collect()
    }

    /// Returns the largest number of bytes in the region's [`profile`](Lives::profile), or 0 if the region has no ops.
    pub fn peak(&self, body: &Body, region: Region) -> u64 {
        self.profile(body, region).into_iter().max().unwrap_or(0)
    }

    /// Returns the values that are held at the first op of the region with the largest number of bytes in the
    /// [`profile`](Lives::profile): results of the region's ops, and of those in the region of this op that takes most.
    /// There are none if the region has no ops.
    pub fn held_at_peak(&self, body: &Body, region: Region) -> Vec<Value> {
        let (profile, ops) = (self.profile(body, region), &body[region].ops);
        let Some(at) = (0..ops.len()).max_by_key(|&at| (profile[at], Reverse(at))) else { return vec![] };
        let is_held = |v: &Value| {
            let (first, last) = self.span(body, *v);
            (first..=last).contains(&at)
        };
        let results = ops.iter().flat_map(|&op| &body[op].results).copied();
        let mut held: Vec<Value> = results.filter(is_held).collect();
        if let Some(&inner) = body[ops[at]].regions.iter().max_by_key(|&&r| self.peak(body, r)) {
            held.extend(self.held_at_peak(body, inner));
        }
        held
    }
}

/// Estimates the largest number of bytes that a device holds while it runs a localized module: those of the arguments,
/// and of the values between the op that makes them and their last use. Values that share memory or are never in memory
/// are counted, so this compares two versions of one program, and is no prediction. Returns 0 without a main function.
pub fn peak_bytes(module: &Module) -> u64 {
    let Some(func) = module.main() else { return 0 };
    let local = |v: &Value| func.body.ty(*v).as_tensor().map_or(0, |ty| ty.bytes());
    let arguments = func.body.args().iter().map(local).fold(0, u64::saturating_add);
    arguments.saturating_add(Lives::compute(&func.body).peak(&func.body, func.body.entry()))
}

pub(crate) fn bytes(body: &Body, v: Value) -> u64 {
    let Some(ty) = body.ty(v).as_tensor() else { return 0 };
    match body.sharding(v).filter(|s| s.rank() == ty.rank() && !s.mesh.is_maximal()) {
        Some(sharding) => local_bytes(sharding, &ty.shape, ty.dtype),
        None => ty.bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::text::parse;
    use shardwise_ops::OPS;

    /// A program with a loop. Its arrays have 16 bytes on each device where they are split, and at most 32 where they
    /// are whole.
    const LOOP: &str = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
  %0:2 = stablehlo.while(%i = %zero, %x = %b) : tensor<i32>, tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>}
  cond {
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = sdy.all_gather [{"x"}] %a out_sharding=<@mesh, [{}]> : tensor<8xf32>
    %2 = stablehlo.slice %1 [0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xf32>) -> tensor<2xf32>
    %3 = stablehlo.concatenate %2, %2, %2, %2, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<8xf32>
    %4 = sdy.all_slice [{"x"}] %3 out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
    stablehlo.return %i, %4 : tensor<i32>, tensor<8xf32>
  }
  return %0#1 : tensor<8xf32>
}"#;

    #[test]
    fn values_are_held_from_their_op_to_their_last_use() {
        let module = parse("test.mlir", LOOP, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let body = &module.main().expect("there is one").body;
        let lives = Lives::compute(body);
        // The constant; the constant and `b`; these and the results of the loop; the result that is returned.
        assert_eq!(lives.own(body, body.entry()), [4, 20, 40, 16]);
        let turn = *body[body[body.entry()].ops[2]].regions.last().expect("a loop has a body");
        assert_eq!(lives.own(body, turn), [32, 40, 40, 48, 16]);
        assert_eq!(lives.profile(body, body.entry()), [4, 20, 40 + 48, 16]);
        assert_eq!(lives.peak(body, body.entry()), 88);
        // The loop takes most: the constant and `b`, its results, and `%3` and `%4` in a turn.
        let held: Vec<u64> = lives.held_at_peak(body, body.entry()).iter().map(|&v| bytes(body, v)).collect();
        assert_eq!(held, [4, 16, 4, 16, 32, 16]);
    }
}
