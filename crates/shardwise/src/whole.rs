//! Runs programs unpartitioned, by the ops' reference evaluation.

use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_engine::*;
use shardwise_ir::{Body, Module, Op, Region, Value};
use shardwise_ops::{EvalError, Opcode, RegionEval, Semantics};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Whole;

struct WholeArray {
    ty: ShardedType,
    value: Literal,
}

impl EngineArray for WholeArray {
    fn sharded_type(&self) -> &ShardedType {
        &self.ty
    }
    fn to_literal(&self) -> Literal {
        self.value.clone()
    }
    fn shard(&self, position: usize) -> Literal {
        match &self.ty.sharding {
            Some(s) => cut(&self.value, &shard_box(&self.ty.ty.shape, s, &s.mesh.coordinates(position))),
            None => self.value.clone(),
        }
    }
    fn as_any(&self) -> &(dyn std::any::Any + Send + Sync) {
        self
    }
}

impl Engine for Whole {
    fn name(&self) -> &'static str {
        "host"
    }
    fn put(&self, value: &Literal, ty: &ShardedType) -> Result<ArrayHandle, Diagnostics> {
        Ok(Arc::new(WholeArray { ty: ty.clone(), value: value.clone() }))
    }
    fn put_shards(
        &self,
        ty: &ShardedType,
        shard: &(dyn Fn(&[usize], &[usize]) -> Literal + Sync),
    ) -> Result<ArrayHandle, Diagnostics> {
        let sharding = ty.sharding.as_ref().expect("shards of a sharded array");
        let mut out = Dense::zeros(&Literal::zeros(ty.ty.dtype, [0]), &ty.ty.shape);
        for p in 0..sharding.mesh.size() {
            let b = shard_box(&ty.ty.shape, sharding, &sharding.mesh.coordinates(p));
            out.paste(&shard(&b.offset, &b.shape), &b.offset);
        }
        self.put(&out.finish(), ty)
    }
    fn compile(&self, module: &Module, _: Limits) -> Result<Arc<dyn Executable>, Diagnostics> {
        let main = module.main().expect("a program has a function");
        let mut signature = Signature::of(main);
        let mesh = module.main_mesh();
        for t in signature.inputs.iter_mut().chain(&mut signature.outputs) {
            t.sharding = match (&t.sharding, mesh) {
                (Some(s), _) => Some(s.canonical()),
                (None, Some(m)) => Some(shardwise_base::Sharding::replicated(m, t.ty.rank())),
                _ => None,
            };
        }
        Ok(Arc::new(WholeProgram { signature, module: module.clone() }))
    }
}

struct WholeProgram {
    signature: Signature,
    module: Module,
}

impl Executable for WholeProgram {
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn execute(&self, args: Vec<Argument>) -> Result<Vec<ArrayHandle>, Diagnostics> {
        let args = args.into_iter().map(|a| match a {
            Argument::Lent(a) | Argument::Donated(a) => a.to_literal(),
        });
        let out = Eval::call(&self.module, self.module.main().expect("main"), args.collect()).map_err(Diagnostics::from)?;
        out.iter().zip(&self.signature.outputs).map(|(l, t)| Whole.put(l, t)).collect()
    }
    fn profile(&self, args: Vec<Argument>) -> Result<(Vec<ArrayHandle>, Vec<InstructionTime>), Diagnostics> {
        let _ = Duration::ZERO;
        Ok((self.execute(args)?, vec![]))
    }
}

struct Eval<'a> {
    module: &'a Module,
    body: &'a Body,
    values: Vec<Option<Literal>>,
}

impl<'a> Eval<'a> {
    fn call(module: &'a Module, f: &'a shardwise_ir::Func, args: Vec<Literal>) -> Result<Vec<Literal>, Diagnostic> {
        let mut e = Eval { module, body: &f.body, values: vec![None; f.body.value_count()] };
        e.region(f.body.entry(), args)
    }
    fn get(&self, v: Value) -> Literal {
        self.values[v.index()].clone().expect("defined before use")
    }
    fn op(&mut self, op: Op) -> Result<(), Diagnostic> {
        let body = self.body;
        let view = self.module.view(body, op);
        let operands: Vec<Literal> = view.operands().iter().map(|&v| self.get(v)).collect();
        let opcode = Opcode::of_view(&view);
        let results = match (opcode.name(), opcode.facts().semantics(&view)) {
            ("stablehlo.while", _) => self.while_loop(view.regions(), operands)?,
            ("stablehlo.case", _) => {
                let n = view.regions().len();
                let i = usize::try_from(operands[0].get_i128(0)).ok().filter(|&i| i < n).unwrap_or(n - 1);
                self.region(view.regions()[i], vec![])?
            }
            ("stablehlo.composite", _) => {
                let f = self.module.func(view.attrs().str("decomposition").expect("a name")).expect("a function");
                Eval::call(self.module, f, operands)?
            }
            (_, Semantics::Identity) => operands,
            _ => opcode.facts().eval(&view, &operands, self)?,
        };
        for (&v, l) in view.results().iter().zip(results) {
            self.values[v.index()] = Some(l);
        }
        Ok(())
    }
    fn while_loop(&mut self, regions: &[Region], mut carry: Vec<Literal>) -> Result<Vec<Literal>, Diagnostic> {
        while self.region(regions[0], carry.clone())?[0].get_i128(0) != 0 {
            carry = self.region(regions[1], carry)?;
        }
        Ok(carry)
    }
}

impl RegionEval for Eval<'_> {
    fn region(&mut self, region: Region, args: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
        let body = self.body;
        for (&v, l) in body[region].args.iter().zip(args) {
            self.values[v.index()] = Some(l);
        }
        let (last, ops) = body[region].ops.split_last().expect("a terminator");
        for &op in ops {
            self.op(op)?;
        }
        Ok(body[*last].operands.iter().map(|&v| self.get(v)).collect())
    }
}
