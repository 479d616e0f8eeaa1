//! Every op of the table, split along every factor of its rule, evenly and unevenly: the partitioned example gives what
//! the whole one gives, on both engines.
//!
//! What an op's example has no factor for is not in the table that the test prints on failure; sizes 0 and factors that
//! meet others are drawn by the generated programs.

use shardwise_base::{AxisIndex, AxisRef, Complex32, DType, Literal, Mesh, Sharding, bf16, f16};
use shardwise_engine::{Argument, Engine, Limits};
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Module, OpView, Type, text, verify};
use shardwise_ops::{OPS, Opcode, RuleFact, Semantics};
use shardwise_sharding::{Factor, FactorKind, Mapping};
use shardwise_spmd::{Options, partition};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a factor meets the axis that splits it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fit {
    Even,
    Uneven,
    /// A factor of size 1: one device has it all.
    One,
}

/// Axis sizes for a factor of this size.
fn fits(size: usize) -> Vec<(Fit, usize)> {
    match size {
        0 => vec![],
        1 => vec![(Fit::One, 2)],
        n => {
            let even = (2..=n).find(|d| n.is_multiple_of(*d)).map(|d| (Fit::Even, d));
            let uneven = (2..).find(|d| !n.is_multiple_of(*d)).map(|d| (Fit::Uneven, d));
            even.into_iter().chain(uneven).collect()
        }
    }
}

fn sample(ty: &Type, seed: usize) -> Option<Literal> {
    let t = ty.as_tensor()?;
    // Small integers, so that every sum of them is exact.
    let values: Vec<i32> = (0..t.size()).map(|i| ((i * 7 + seed * 3 + i * i) % 5) as i32 - 1).collect();
    macro_rules! of {
        ($f:expr) => {
            Literal::new(t.shape.clone(), &values.iter().map(|&v| $f(v)).collect::<Vec<_>>())
        };
    }
    Some(match t.dtype {
        DType::F32 => of!(|v| v as f32),
        DType::F64 => of!(f64::from),
        DType::BF16 => of!(|v| bf16::from_f32(v as f32)),
        DType::F16 => of!(|v| f16::from_f32(v as f32)),
        DType::I32 => of!(|v| v),
        DType::I64 => of!(i64::from),
        DType::U32 => of!(|v: i32| v.unsigned_abs()),
        DType::U64 => of!(|v: i32| u64::from(v.unsigned_abs())),
        DType::I1 => of!(|v| shardwise_base::Bool8::from(v > 0)),
        DType::C64 => of!(|v| Complex32::new(v as f32, 1.0)),
        _ => return None,
    })
}

/// The only op of an example that matters, if it is pure and has a rule.
struct Subject {
    opcode: Opcode,
    module: Module,
    inputs: Vec<Literal>,
}

impl Subject {
    fn new(opcode: Opcode) -> Option<Subject> {
        let module = text::parse(opcode.name(), opcode.facts().example(opcode), &OPS).ok()?;
        let func = module.main()?;
        let types: Vec<&Type> = func.body.args().iter().map(|&v| func.body.ty(v)).collect();
        let inputs = types.iter().enumerate().map(|(i, ty)| sample(ty, i)).collect::<Option<_>>()?;
        let subject = Subject { opcode, module, inputs };
        let is_pure = opcode.facts().semantics(&subject.view()?) == Semantics::Pure;
        (is_pure && subject.module.meshes.is_empty()).then_some(subject)
    }

    fn view(&self) -> Option<OpView<'_>> {
        let body = &self.module.main()?.body;
        body.walk().into_iter().map(|op| self.module.view(body, op)).find(|v| Opcode::of_view(v) == self.opcode)
    }

    /// The program with what holds `factor` split over an axis of this size.
    fn split(&self, mappings: (&[Mapping], &[Mapping]), factor: Factor, size: usize) -> Module {
        let mesh = Arc::new(Mesh::new("mesh", [("x", size)]).expect("a mesh"));
        let x = AxisRef::full(AxisIndex::new(0));
        let sharding = |m: &Mapping| {
            let dims = m.dims.iter().map(|d| if d.first() == Some(&factor) { vec![x] } else { vec![] });
            Sharding::closed(&mesh, dims.collect())
        };
        let view = self.view().expect("found before");
        let pairs: Vec<_> = view.operands().iter().copied().zip(mappings.0.iter().map(sharding)).collect();
        let results: Vec<_> = view.results().iter().copied().zip(mappings.1.iter().map(sharding)).collect();
        let mut module = self.module.clone();
        let index = module.funcs.iter().position(|f| &*f.name == "main").expect("a main");
        for (v, sharding) in pairs.into_iter().chain(results) {
            module.funcs[index].body.value_mut(v).sharding = Some(sharding);
        }
        module.meshes.push(mesh);
        module
    }

    /// The results, and how many collectives it took.
    fn run(&self, engine: &dyn Engine, module: &Module) -> Result<(Vec<Literal>, usize), shardwise_base::Diagnostics> {
        let local = partition(module, &mut Options { verify: true, ..Options::default() })?;
        let program = engine.compile(&local.module, Limits::default())?;
        let types = &program.signature().inputs;
        let args = self.inputs.iter().zip(types).map(|(x, ty)| Ok(Argument::Lent(engine.put(x, ty)?)));
        let args = args.collect::<Result<Vec<_>, shardwise_base::Diagnostics>>()?;
        let results = program.execute(args)?.iter().map(|r| r.to_literal()).collect();
        Ok((results, local.communication.rows.len()))
    }
}

/// The collectives of each cell.
type Table = BTreeMap<(&'static str, &'static str, Fit), usize>;

fn kind_name(kind: FactorKind) -> &'static str {
    match kind {
        FactorKind::PassThrough => "pass-through",
        FactorKind::Reduction => "reduction",
        FactorKind::NeedReplication => "need_replication",
        FactorKind::Permutation => "permutation",
    }
}

fn check(subject: &Subject, table: &mut Table) {
    let view = subject.view().expect("found before");
    let RuleFact::Rule(rule) = subject.opcode.facts().rule(&view) else { return };
    let want = shardwise_interp::run(&subject.module, &subject.inputs, Limits::default());
    let want = want.unwrap_or_else(|e| panic!("{e}"));
    for factor in rule.all_factors() {
        for (fit, size) in fits(rule.size(factor)) {
            let module = subject.split((&rule.operands, &rule.results), factor, size);
            for engine in [&InterpEngine as &dyn Engine, &HostEngine::default()] {
                let place =
                    format!("{} {rule} split along {factor} by {size}, {}", subject.opcode.name(), engine.name());
                let found = verify(&module);
                assert!(!found.has_errors(), "{place}: {found}");
                let (got, collectives) = subject.run(engine, &module).unwrap_or_else(|e| panic!("{place}: {e}"));
                assert_eq!(got, want, "{place}");
                *table.entry((subject.opcode.name(), kind_name(rule.kind(factor)), fit)).or_default() += collectives;
            }
        }
    }
}

#[test]
fn every_op_splits_along_every_factor() {
    let mut table = Table::new();
    let subjects: Vec<Subject> = Opcode::ALL.iter().filter_map(|&op| Subject::new(op)).collect();
    subjects.iter().for_each(|subject| check(subject, &mut table));
    let kinds = ["pass-through", "reduction", "need_replication", "permutation"];
    for kind in kinds {
        for fit in [Fit::Even, Fit::Uneven] {
            assert!(table.keys().any(|k| k.1 == kind && k.2 == fit), "nothing is split: {kind}, {fit:?}\n{table:?}");
        }
    }
    let communicating = table.values().filter(|&&n| n > 0).count();
    assert!(communicating >= 50, "only {communicating} cells need a collective:\n{table:?}");
    assert!(table.len() >= 200, "only {} cells are filled:\n{table:?}", table.len());
}
