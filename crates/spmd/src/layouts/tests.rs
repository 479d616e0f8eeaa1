//! Notes of the search for layouts.

use super::*;
use crate::plan::MAX_WORK;
use crate::{Options, run_until};
use expect_test::expect;
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
    let mut prices = Prices::new(&module, func, mesh, &sites, &mut decisions);
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
