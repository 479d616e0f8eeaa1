//! The chapter's matmul on eight TPU v5e.

use crate::programs::{predicted, published, scheduled, shown, topology};
use shardwise_schedule::{Options, schedule};
use shardwise_sim::{Machine, Overlap, Topology};
use std::sync::Arc;

#[test]
fn auto_makes_the_chapters_collective_matmul() {
    let topology = topology("v5e:2x4");
    let by_hand = predicted(&published("collective_matmul"), &topology, Overlap::Auto).end();
    let out = scheduled(&published("blocking"), &topology, Overlap::Auto);
    assert!(out.after as f64 <= 1.03 * by_hand as f64, "{} and by hand {by_hand}", out.after);
}

#[test]
fn the_order_of_a_program_written_by_hand_is_kept() {
    let topology = topology("v5e:2x4");
    let module = published("collective_matmul");
    let out = scheduled(&module, &topology, Overlap::Auto);
    // The written order takes the time that the simulator promises for a compiler's order.
    assert_eq!(out.after, predicted(&module, &topology, Overlap::Auto).end());
    assert!(out.before > out.after);
    let starts = out.module.main().unwrap().body.walk().into_iter();
    let body = &out.module.main().unwrap().body;
    assert_eq!(starts.filter(|&op| out.module.view(body, op).name() == "stablehlo.async_start").count(), 3);
}

#[test]
fn off_changes_nothing() {
    let module = published("blocking");
    let out = scheduled(&module, &topology("v5e:2x4"), Overlap::Off);
    assert_eq!((out.decisions.len(), out.before), (0, out.after));
    assert_eq!(shown(&out.module), shown(&module));
}

#[test]
fn a_program_for_a_host_is_left_as_it_is() {
    let text = "host mine \"My machine\"\nworkers 2 | by hand\nmemory_bytes 1e9 | by hand\n\
                instruction_s 1e-6 | by hand\nspeedup 1.9 | by hand\nstream.4096 1e10 | by hand\n";
    let machine = Machine::parse(text, "own.txt").unwrap().remove(0);
    let topology = Topology::new(Arc::new(machine), &[8], 1).unwrap();
    let module = published("blocking");
    for overlap in [Overlap::Auto, Overlap::Force] {
        let out = scheduled(&module, &topology, overlap);
        assert_eq!((shown(&out.module), out.after), (shown(&module), out.before));
        let notes = out.timeline(&topology).unwrap().notes;
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("change not made: all collectives (") && notes[0].contains("a host runs one"));
    }
}

#[test]
fn a_mesh_that_does_not_fit_is_an_error() {
    let found = schedule(&published("blocking"), &topology("v5e:2x2"), Overlap::Auto, &Default::default());
    assert!(found.unwrap_err().to_string().contains("topology-mesh"));
}

#[test]
fn new_permutes_have_the_reason_of_the_gather() {
    let out = scheduled(&published("blocking"), &topology("v5e:2x4"), Overlap::Auto);
    let body = &out.module.main().unwrap().body;
    let views = body.walk().into_iter().map(|op| out.module.view(body, op));
    let permutes: Vec<_> = views.filter(|view| view.name() == "stablehlo.collective_permute").collect();
    assert_eq!(permutes.len(), 3);
    for view in permutes {
        let reason = view.data().reason.as_ref().expect("a reason");
        assert!(reason.text.contains("operand 0 is argument 0"), "{}", reason.text);
        assert!(reason.text.ends_with("it is sent in pieces while `dot_general` runs"), "{}", reason.text);
    }
}

/// Checks that the peak of memory does not grow if the options leave it no room, and that nothing is changed if a
/// change has to gain the whole time of its collectives.
#[test]
fn memory_is_bounded() {
    let tight = Options { memory_growth: 0.0, memory_share: 0.0, ..Options::default() };
    let topology = topology("v5e:2x4");
    let module = published("blocking");
    let out = schedule(&module, &topology, Overlap::Auto, &tight).unwrap();
    assert!(out.peak_after <= out.peak_before, "{} {}", out.peak_after, out.peak_before);
    let none = Options { threshold: 1.0, ..Options::default() };
    let out = schedule(&module, &topology, Overlap::Auto, &none).unwrap();
    assert!(out.decisions.iter().all(|decision| !decision.is_taken));
    assert!(out.decisions[0].why.contains("less than the least gain of 89.7 us"), "{}", out.decisions[0].why);
}
