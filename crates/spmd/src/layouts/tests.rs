//! Notes, bounds and prices of the search for layouts.

use super::folded::Folded;
use super::sites::Group;
use super::*;
use crate::plan::MAX_WORK;
use crate::{Options, partition, run_until};
use expect_test::expect;
use shardwise_base::Sharding;
use shardwise_ir::text;

/// Two chains of products whose layouts the search changes.
const CHAIN: &str = include_str!("../../tests/filetests/reshard/layouts_chain.mlir");

/// A windowed attention in five dimensions over four axes, with uneven blocks.
const ATTENTION: &str = include_str!("windowed_attention.mlir");

fn chain() -> Module {
    let source = CHAIN.split("// ----").next().unwrap();
    let module = text::parse("chain.mlir", source, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"));
    run_until("join", &module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn chosen(effort: (usize, usize)) -> Chosen {
    let module = chain();
    let (mesh, func) = (module.main_mesh().unwrap(), module.main().unwrap());
    choose(&module, func, mesh, &mut Decisions::new(mesh), false, effort)
}

#[test]
fn a_search_says_that_its_budget_ended() {
    let note = chosen((0, 0)).note.expect("nothing was looked at");
    expect![[r#"
        note[layouts-budget]: the search for the layouts of `main` ended with its budget: of 3 places where data moves, 3 were not fully looked at
          --> chain.mlir:4:1
           = note: the best layouts found so far stand: the results are correct, but more data may move than has to"#]].assert_eq(&note.to_string());
}

#[test]
fn a_search_that_looked_at_everything_has_no_note() {
    let chosen = chosen(MAX_EFFORT);
    assert!(chosen.func.is_some() && chosen.note.is_none());
}

#[test]
fn what_was_found_before_the_budget_ended_stands() {
    let ended =
        (1..200).map(|effort| chosen((effort * 20, 0))).find(|c| c.func.is_some()).expect("the search finds some");
    let note = ended.note.expect("the least effort that finds something is not enough for everything");
    expect![[r#"
        note[layouts-budget]: the search for the layouts of `main` ended with its budget: of 2 places where data moves, 2 were not fully looked at
          --> chain.mlir:4:1
           = note: the best layouts found so far stand: the results are correct, but more data may move than has to"#]].assert_eq(&note.to_string());
}

#[test]
fn the_work_of_planning_uneven_reshards_is_bounded() {
    let module = text::parse("attention.mlir", ATTENTION, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"));
    let module = run_until("join", &module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let (mesh, func) = (module.main_mesh().unwrap(), module.main().unwrap());
    let mut decisions = Decisions::new(mesh);
    let chosen = choose(&module, func, mesh, &mut decisions, false, MAX_EFFORT);
    let work = decisions.prices.work();
    assert!(work < 2 * MAX_WORK, "{work}");
    assert!(chosen.note.is_some(), "the work of planning counts as effort");
}

/// A change of a layout that is refused, or taken back, leaves all prices as they were.
#[test]
fn refused_changes_change_nothing() {
    let module = chain();
    let (mesh, func) = (module.main_mesh().unwrap(), module.main().unwrap());
    let mut decisions = Decisions::new(mesh);
    let sites = Sites::of(&module, func, mesh, &mut decisions.kinds).expect("the chain can be searched");
    let mut prices = Prices::new(&module, &func.body, mesh, &sites, &mut decisions);
    let state = |p: &Prices<'_>| (p.total(), p.all_received(), p.work(), p.all_current().clone());
    let (before, layouts) = (state(&prices), prices.all_current().clone());
    let mut counts = [0, 0];
    for group in sites.groups.keys() {
        for &layout in layouts.iter() {
            if prices.layout(layout).rank() != prices.shape(group).len() {
                continue;
            }
            for most in [0, before.0 - 1, before.0, before.0 * 2] {
                let changed = prices.set_within(group, layout, most);
                counts[usize::from(changed.is_some())] += 1;
                if let Some(own) = changed {
                    assert!(prices.total() <= most);
                    prices.set(group, own);
                }
                assert!(state(&prices) == before, "{group:?} {layout:?} {most}");
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 10), "{counts:?}");
}

/// Returns a chain of `count` equal layers.
fn layers(count: usize) -> Module {
    let mut text = r#"sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func public @main(%r0: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
    %v: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<512x1024xf32> {
"#
    .to_string();
    for i in 0..count {
        let next = i + 1;
        text += &format!(
            "  %h{i} = stablehlo.dot_general %r{i}, %w, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  %t{i} = stablehlo.tanh %h{i} : tensor<512x4096xf32>
  %o{i} = stablehlo.dot_general %t{i}, %v, contracting_dims = [1] x [0] : (tensor<512x4096xf32>, tensor<4096x1024xf32>) -> tensor<512x1024xf32>
  %r{next} = stablehlo.add %o{i}, %r{i} : tensor<512x1024xf32>
"
        );
    }
    text += &format!("  return %r{count} : tensor<512x1024xf32>\n}}\n");
    text::parse("layers.mlir", &text, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"))
}

/// A function with many equal layers is searched as one with few: ten times as many layers, of which each would receive
/// as much as one of the few, receive less than twice as much in all.
#[test]
fn equal_layers_change_together() {
    let received = |count| {
        let found = partition(&layers(count), &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
        assert!(!found.warnings.iter().any(|w| w.code == "layouts-budget"), "the search of {count} layers is cut");
        found.communication.bytes_received()
    };
    let (few, many) = (received(20), received(200));
    assert!(many < 2 * few, "{many} {few}");
}

/// A folded function has the price of the function, and changes of both cost the same.
#[test]
fn a_folded_function_has_the_price_of_the_function() {
    let module = run_until("join", &layers(50), &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let (mesh, func) = (module.main_mesh().unwrap(), module.main().unwrap());
    let mut decisions = Decisions::new(mesh);
    let sites = Sites::of(&module, func, mesh, &mut decisions.kinds).expect("the layers can be searched");
    let mut prices = Prices::new(&module, &func.body, mesh, &sites, &mut decisions);
    let folded = Folded::of(&prices).expect("the layers are equal");
    assert!(folded.sites.sites.len() < 50, "{} sites", folded.sites.sites.len());
    let before = prices.total();
    let mut inner = prices.of_sites(&folded.sites);
    assert_eq!(inner.total(), before);
    let layout = |inner: &Prices<'_>, group| Sharding::replicated(mesh, inner.shape(group).len());
    let count = |group: &Group| folded.unfolded(&[(*group, layout(&inner, *group))]).len();
    let free = folded.sites.groups.keys().filter(|&g| !folded.sites.groups[g].is_fixed);
    let group = free.max_by_key(count).expect("some are free");
    let layout = layout(&inner, group);
    let first = inner.all_current().clone();
    inner.set_shardings([(group, layout)]);
    let (total, changes) = (inner.total(), folded.unfolded(&inner.shardings_since(&first)));
    assert!(total != before && changes.len() > 40, "{total} {}", changes.len());
    prices.set_shardings(changes);
    // Divisions of work are rounded at each site.
    assert!(prices.total().abs_diff(total) <= 50, "{} {total}", prices.total());
}
