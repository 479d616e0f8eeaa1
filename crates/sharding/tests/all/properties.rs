//! Properties of every rule and every sharding.

use crate::support::{Chooser, Estimate, for_seeds, mesh};
use shardwise_base::{AxisIndex, AxisRef, Mesh, Sharding};
use shardwise_sharding::{
    AssignInput, AxisList, Context, DimFactors, Direction, Exchanged, Factor, FactorKind, FactorSpec, IfMissing,
    KnownChoices, LeastPrice, Mapping, Prefix, Price, Prices, Projection, Rule, Strategy, TensorFactors, assign,
    propagate, runner_up,
};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const MESHES: [&str; 4] = ["a=4 b=2", "a=2 b=3 c=2", "a=8 b=4", "a=12"];

fn gen_rule(c: &mut Chooser) -> Rule {
    let kinds = [FactorKind::PassThrough, FactorKind::PassThrough, FactorKind::Reduction, FactorKind::NeedReplication];
    let count = 1 + c.below(5);
    let factors: Vec<_> = (0..count).map(|_| FactorSpec::new(c.pick(&[2, 3, 4, 6, 8, 16]), c.pick(&kinds))).collect();
    let operands = (0..1 + c.below(2)).map(|_| gen_mapping(c, count)).collect();
    Rule { factors, operands, results: vec![gen_mapping(c, count)], is_custom: false }
}

fn gen_mapping(c: &mut Chooser, count: usize) -> Mapping {
    let mut mapping = Mapping::default();
    let start = c.below(count);
    for i in 0..count {
        let factor = Factor::new((start + i) % count);
        match mapping.dims.last_mut() {
            _ if c.percent(30) => {}
            Some(dim) if c.percent(40) => dim.push(factor),
            _ => mapping.dims.push(DimFactors::from_elem(factor, 1)),
        }
    }
    mapping
}

/// Returns some axes of the mesh in any order, perhaps cut into sub-axes.
fn gen_axes(c: &mut Chooser, mesh: &Mesh) -> Vec<AxisRef> {
    let mut pool = vec![];
    for i in 0..mesh.axes.len() {
        let (axis, size) = (AxisIndex::new(i), mesh.axes[i].size);
        if c.percent(40) && size > 3 {
            pool.extend([AxisRef::sub(mesh, axis, 1, 2), AxisRef::sub(mesh, axis, 2, size / 2)]);
        } else {
            pool.push(AxisRef::full(axis));
        }
    }
    let mut taken = vec![];
    while !pool.is_empty() && c.percent(75) {
        taken.push(pool.swap_remove(c.below(pool.len())));
    }
    taken
}

fn gen_sharding(c: &mut Chooser, mesh: &Arc<Mesh>, mapping: &Mapping) -> Option<Sharding> {
    let mut sharding = Sharding::open(mesh, mapping.rank());
    for axis in gen_axes(c, mesh) {
        match c.below(mapping.rank() + 1) {
            0 => sharding.replicated.push(axis),
            d => AxisRef::push_or_merge(&mut sharding.dims[d - 1].axes, axis, mesh),
        }
    }
    sharding.dims.iter_mut().for_each(|d| d.is_open = c.percent(60));
    AxisRef::sort_and_merge(&mut sharding.replicated, mesh);
    c.percent(80).then_some(sharding)
}

struct Case {
    mesh: Arc<Mesh>,
    rule: Rule,
    shardings: Vec<Option<Sharding>>,
}

fn gen_case(c: &mut Chooser) -> Case {
    let mesh = mesh(c.pick(&MESHES));
    let rule = gen_rule(c);
    let shardings = rule.mappings().map(|m| gen_sharding(c, &mesh, m)).collect();
    Case { mesh, rule, shardings }
}

fn input<'a>(
    rule: &'a Rule,
    mesh: &'a Arc<Mesh>,
    shardings: &'a [Option<&'a Sharding>],
    free: &'a [AxisRef],
    known: Option<&'a KnownChoices>,
) -> AssignInput<'a> {
    AssignInput { rule, mesh, shardings, work: 1000, summed: &[], free, is_coarse: false, known }
}

fn assert_no_axis_twice<'a>(lists: impl IntoIterator<Item = &'a [AxisRef]>) {
    let axes: Vec<AxisRef> = lists.into_iter().flatten().copied().collect();
    for (i, a) in axes.iter().enumerate() {
        assert_eq!(a.prefix_without_overlaps(&axes[..i]), Some(*a), "{axes:?}");
    }
}

#[test]
fn projection_and_back_is_the_identity() {
    for_seeds(2000, |c| {
        let Case { mesh, rule, shardings } = gen_case(c);
        for (mapping, sharding) in rule.mappings().zip(&shardings) {
            let Some(sharding) = sharding else { continue };
            let tensor = TensorFactors::new(mapping, &rule, &mesh, Some(sharding), IfMissing::Open);
            assert_eq!(tensor.to_sharding(mapping, &rule, &mesh), *sharding);
        }
    });
}

#[test]
fn propagation_only_adds_to_open_factors() {
    for_seeds(2000, |c| {
        let Case { mesh, rule, shardings } = gen_case(c);
        let before = Projection::new(&rule, &mesh, shardings.iter().map(Option::as_ref), IfMissing::Open);
        let strategy = c.pick(&[Strategy::Basic, Strategy::Aggressive]);
        let cx = Context { rule: &rule, mesh: &mesh, is_elementwise: c.percent(30), is_conservative: c.percent(20) };
        let mut after = before.clone();
        let updated = propagate(&mut after, strategy, cx, |_| Direction::Both);
        for (i, (old, new)) in before.tensors.iter().zip(&after.tensors).enumerate() {
            assert_eq!(updated[i], old != new);
            for ((_, old), (_, new)) in old.iter().zip(new.iter()) {
                match Prefix::of(&old.axes, &new.axes) {
                    Prefix::Equal => {}
                    Prefix::Strict => assert!(!old.is_closed && old.overflow.is_empty()),
                    Prefix::Not => panic!("an axis is lost"),
                }
            }
            assert_no_axis_twice(new.iter().map(|(_, s)| &s.axes[..]).chain([&new.replicated[..]]));
        }
    });
}

#[test]
fn an_assignment_is_one_that_every_tensor_can_take() {
    for_seeds(2000, |c| {
        let Case { mesh, rule, shardings } = gen_case(c);
        let views: Vec<_> = shardings.iter().map(Option::as_ref).collect();
        let free: Vec<AxisRef> = mesh.all_axes().collect();
        let input = input(&rule, &mesh, &views, &free, None);
        let chosen = assign(
            input,
            &Estimate { rule: &rule, shardings: &views, element_bytes: 1, moves: false, is_product: false },
        );
        assert_no_axis_twice(chosen.axes.iter().map(|a| &a[..]));
        for (i, mapping) in rule.mappings().enumerate() {
            let sharding = chosen.sharding(&rule, &mesh, i);
            let back = TensorFactors::new(mapping, &rule, &mesh, Some(&sharding), IfMissing::Open);
            let expected: Vec<AxisList> = mapping.factors().map(|f| chosen.axes[f.index()].clone()).collect();
            let found: Vec<AxisList> = back.iter().map(|(_, s)| s.axes.clone()).collect();
            assert_eq!(found, expected, "the dimensions of tensor {i} say the same as its factors");
        }
        let whole = rule.all_factors().filter(|&f| rule.kind(f) == FactorKind::NeedReplication);
        assert!(whole.into_iter().all(|f| chosen.axes[f.index()].is_empty()));
    });
}

/// Prices, and how often one was asked for.
struct Counted<'a>(Estimate<'a>, Cell<usize>);

impl Prices for Counted<'_> {
    fn price(&self, index: usize, layout: &[Cow<'_, [AxisRef]>], partial: &[AxisRef]) -> Price {
        self.1.set(self.1.get() + 1);
        self.0.price(index, layout, partial)
    }

    fn least(&self, index: usize) -> LeastPrice {
        self.0.least(index)
    }

    fn is_summed(&self, index: usize) -> bool {
        self.0.is_summed(index)
    }

    fn exchanged(&self, factor: Factor, axes: &[AxisRef]) -> Option<Exchanged> {
        self.0.exchanged(factor, axes)
    }

    fn is_product(&self) -> bool {
        self.0.is_product()
    }
}

/// The choices that are known of a product do not change what is chosen for it, whichever layouts they were listed for.
#[test]
fn known_choices_are_those_that_are_listed_anew() {
    let rules = [
        "([i, k], [k, j])->([i, j]) {i=64, j=32, k=16} reduction={k}",
        "([l, i, k], [l, k, j])->([l, i, j]) {i=16, j=64, k=32, l=8} reduction={k}",
        "([i, kl], [k, l, j])->([i, j]) {i=24, j=48, k=4, l=16} reduction={k, l}",
        "([i, k], [k, j])->([i, j]) {i=6, j=10, k=12} reduction={k}",
    ];
    // The number of cases in which choices are priced, and of those in which the same question is known.
    let [priced_cases, repeated_cases] = [const { AtomicUsize::new(0) }; 2];
    for_seeds(200, |c| {
        let mesh = mesh(c.pick(&["a=4 b=2", "a=2 b=3", "a=2 b=2 c=2", "a=16", "a=4 b=4"]));
        let rule: Rule = c.pick(&rules).parse().unwrap();
        let free: Vec<AxisRef> = if c.percent(70) { mesh.all_axes().collect() } else { vec![] };
        let known = KnownChoices::default();
        for _ in 0..20 {
            let shardings: Vec<_> = rule.mappings().map(|m| gen_sharding(c, &mesh, m).map(|s| s.canonical())).collect();
            let views: Vec<_> = shardings.iter().map(Option::as_ref).collect();
            let input = |known| input(&rule, &mesh, &views, &free, known);
            let estimate =
                Estimate { rule: &rule, shardings: &views, element_bytes: 4, moves: false, is_product: true };
            let prices = Counted(estimate, Cell::new(0));
            let found = assign(input(Some(&known)), &prices);
            assert_eq!(found, assign(input(None), &prices), "{rule} {shardings:?}");
            let priced = prices.1.replace(0);
            assert_eq!(found, assign(input(Some(&known)), &prices));
            priced_cases.fetch_add(usize::from(priced > 0), Relaxed);
            repeated_cases.fetch_add(usize::from(priced > 0 && prices.1.get() == 0), Relaxed);
            assert_ne!(Some(found.axes), runner_up(input(None), &prices).map(|other| other.axes));
        }
    });
    let [all, repeated] = [priced_cases, repeated_cases].map(AtomicUsize::into_inner);
    assert!(all > 1000 && repeated > all / 2, "{repeated} of {all}");
}
