//! Counts what a program moves and multiplies as XLA compiled it.
//!
//! `plain` counts the collectives as they are. The strict count treats an all-reduce of which only the device's own
//! shard is read as the reduce-scatter that XLA makes of it on accelerators, and permutes count on the devices that
//! receive.

use super::hlo::{Computation, Hlo, Instruction, Shape};
use super::tally::{Tally, products};
use anyhow::{Context, Result};
use shardwise_ops::window::WindowDim;
use std::collections::BTreeSet;

/// Returns what the entry computation of a module moves and multiplies, with the computations that it calls. Fails if a
/// collective other than a permute or a broadcast has no groups, if a dot or convolution lacks an operand, or if
/// [`convolution_flops`] does.
pub fn tally(hlo: &Hlo) -> Result<Tally> {
    of_computation(hlo, hlo.entry)
}

fn of_computation(hlo: &Hlo, index: usize) -> Result<Tally> {
    let mut tally = Tally::default();
    for (i, at) in hlo.computations[index].instructions.iter().enumerate() {
        match at.opcode.as_str() {
            "while" => {
                let (body, test) = (called(hlo, at, "body")?, called(hlo, at, "condition")?);
                tally.add(&body, at.trip_count());
                tally.add(&test, at.trip_count());
            }
            "conditional" => {
                let names = ["branch_computations", "true_computation", "false_computation"];
                let branches = names.iter().flat_map(|name| hlo.named(at, name));
                tally.add(&Tally::dearest(branches.map(|c| of_computation(hlo, c)).collect::<Result<_>>()?), Some(1));
            }
            "call" => tally.add(&called(hlo, at, "to_apply")?, Some(1)),
            "fusion" | "async-start" => tally.add(&called(hlo, at, "calls")?, Some(1)),
            _ => add_instruction(hlo, (index, i), &mut tally).with_context(|| format!("in a {}", at.opcode))?,
        }
    }
    Ok(tally)
}

fn called(hlo: &Hlo, at: &Instruction, attribute: &str) -> Result<Tally> {
    let mut sum = Tally::default();
    for computation in hlo.named(at, attribute) {
        sum.add(&of_computation(hlo, computation)?, Some(1));
    }
    Ok(sum)
}

/// An instruction, by its computation and its position there.
type Place = (usize, usize);

fn add_instruction(hlo: &Hlo, place: Place, tally: &mut Tally) -> Result<()> {
    let computation = &hlo.computations[place.0];
    let at = &computation.instructions[place.1];
    let group = || at.group_size(hlo.devices).context("no replica groups").map(|n| n as u64);
    let taken = || -> u64 { operand_shapes(computation, at).map(Shape::bytes).sum() };
    match at.opcode.trim_end_matches("-start") {
        "all-gather" => {
            let received = taken() * (group()? - 1);
            tally.receive(received, received);
        }
        "reduce-scatter" | "all-to-all" | "ragged-all-to-all" => {
            let received = of_others(taken(), group()?);
            tally.receive(received, received);
        }
        "all-reduce" => {
            let n = group()?;
            let strict = all_reduce(hlo, place, n);
            tally.receive(2 * of_others(taken(), n), strict);
        }
        "collective-permute" => tally.permute(taken(), &at.pairs()),
        "collective-broadcast" => tally.receive(taken(), taken()),
        "dot" => tally.flops += dot_flops(computation, at)?,
        "convolution" => tally.flops += convolution_flops(computation, at)?,
        _ => {}
    }
    Ok(())
}

fn operand_shapes<'h>(computation: &'h Computation, at: &'h Instruction) -> impl Iterator<Item = &'h Shape> {
    (0..at.operands.len()).filter_map(|i| computation.operand(at, i)).flat_map(|x| &x.shapes)
}

/// Returns the part of `bytes` that a member of a group of `n` receives from the others.
fn of_others(bytes: u64, n: u64) -> u64 {
    bytes - bytes / n.max(1)
}

/// Returns the strict count of an all-reduce: each of its arrays of which only a shard is read is scattered.
fn all_reduce(hlo: &Hlo, place: Place, n: u64) -> u64 {
    let at = &hlo.computations[place.0].instructions[place.1];
    let cost = |(i, shape): (usize, &Shape)| {
        let element = (at.shapes.len() > 1).then_some(i);
        scattered(shape.bytes(), n, shape.elements(), most_read(hlo, place, element))
    };
    at.shapes.iter().enumerate().map(cost).sum()
}

/// Returns what a sum over `n` devices costs if `read` of its elements are read on each device, or all if `read` is
/// `None` or 0: a reduce-scatter, and an all-reduce of the shards if they are on several devices.
///
/// 800 bytes, 8 devices: 1400 if all is read, 700 for an eighth, and 600 + 2 * 100 for a quarter, of which two devices
/// each read the same.
fn scattered(bytes: u64, n: u64, elements: u64, read: Option<u64>) -> u64 {
    let shards = read.filter(|&read| read > 0).map_or(1, |read| (elements / read).clamp(1, n));
    let shard = bytes / shards;
    (bytes - shard) + 2 * of_others(shard, n / shards)
}

/// Returns the most elements of a value that one of its users reads, if each of them only takes a dynamic slice of it.
/// Ops that only move or convert the elements are followed to their users. Returns `None` otherwise, and if nothing
/// reads the value. `element` is the element of the tuple, if the value is one.
fn most_read(hlo: &Hlo, place: Place, element: Option<usize>) -> Option<u64> {
    let mut reads = BTreeSet::new();
    follow(hlo, place, element, &mut vec![], &mut reads)?;
    reads.last().copied()
}

/// Adds to `reads` the numbers of elements of the dynamic slices of a value. `callers` are the fusions and calls that
/// contain it, outermost first. Returns `None` if something else reads it, or if it is the result of a computation that
/// none of `callers` calls.
fn follow(
    hlo: &Hlo,
    place: Place,
    element: Option<usize>,
    callers: &mut Vec<Place>,
    reads: &mut BTreeSet<u64>,
) -> Option<()> {
    let computation = &hlo.computations[place.0];
    if computation.root == place.1 {
        let caller = callers.pop()?;
        follow(hlo, caller, element, callers, reads)?;
        callers.push(caller);
    }
    for (user, operand) in computation.users(place.1) {
        let at = &computation.instructions[user];
        match at.opcode.as_str() {
            "get-tuple-element" if element.is_none_or(|i| at.attribute("index") != Some(&i.to_string())) => {}
            "get-tuple-element" => follow(hlo, (place.0, user), None, callers, reads)?,
            _ if element.is_some() => return None,
            "dynamic-slice" if operand == 0 => _ = reads.insert(at.shapes.first()?.elements()),
            "bitcast" | "reshape" | "copy" | "transpose" | "convert" => {
                follow(hlo, (place.0, user), None, callers, reads)?;
            }
            "fusion" | "call" => {
                let attribute = if at.opcode == "call" { "to_apply" } else { "calls" };
                let inner = *hlo.named(at, attribute).first()?;
                let parameter = parameter(&hlo.computations[inner], operand)?;
                callers.push((place.0, user));
                follow(hlo, (inner, parameter), None, callers, reads)?;
                callers.pop();
            }
            _ => return None,
        }
    }
    Some(())
}

fn parameter(computation: &Computation, index: usize) -> Option<usize> {
    let is_it = |at: &Instruction| at.opcode == "parameter" && at.argument == index.to_string();
    computation.instructions.iter().position(is_it)
}

fn dot_flops(computation: &Computation, at: &Instruction) -> Result<u64> {
    let lhs = computation.operand(at, 0).and_then(|x| x.shapes.first()).context("a dot without operands")?;
    let contracted: u64 = at.numbers("lhs_contracting_dims").iter().map(|&d| lhs.dims[d] as u64).product();
    Ok(2 * contracted * at.shapes.iter().map(Shape::elements).sum::<u64>())
}

/// Returns the operations of a convolution: two for each product with an element of the input. Products with padding do
/// not count. Strides and dilations that `window` does not state are 1, and padding that it does not state is 0.
///
/// # Errors
/// Fails if an operand, the result or `dim_labels` is missing, or if `dim_labels` is malformed.
fn convolution_flops(computation: &Computation, at: &Instruction) -> Result<u64> {
    let shape = |i: usize| computation.operand(at, i).and_then(|x| x.shapes.first()).context("a missing operand");
    let labels = at.attribute("dim_labels").context("no dim_labels")?;
    let (inputs, results) = labels.split_once("->").context("no result in dim_labels")?;
    let (input, kernel) = inputs.split_once('_').context("no kernel in dim_labels")?;
    let size = |labels: &str, of: &Shape, label: char| labels.find(label).map_or(1, |d| of.dims[d]);
    let (x, w, out) = (shape(0)?, shape(1)?, at.shapes.first().context("no result")?);
    let window = window(at.attribute("window").unwrap_or(""), kernel, w);
    let spatial = |(d, window): (usize, &WindowDim)| {
        let label = char::from_digit(d as u32, 10).expect("few dimensions");
        products(window, size(input, x, label))
    };
    let along: u64 = window.iter().enumerate().map(spatial).product();
    let channels = size(kernel, w, 'i') * size(results, out, 'f') * size(results, out, 'b');
    Ok(2 * along * channels as u64)
}

/// Reads a window: `{size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=1x2 rhs_dilate=2x1}`. Its sizes are taken from the
/// kernel, whose dimensions `labels` names, as in `01io`.
fn window(text: &str, labels: &str, kernel: &Shape) -> Vec<WindowDim> {
    let field = |name: &str, d: usize| {
        let fields = text.trim_matches(['{', '}']).split(' ');
        let value = fields.filter_map(|f| f.split_once('=')).find(|(key, _)| *key == name)?.1;
        value.split('x').nth(d).map(str::to_string)
    };
    let number = |name: &str, d: usize| field(name, d).and_then(|n| n.parse().ok()).unwrap_or(1);
    let dims = labels.chars().filter(char::is_ascii_digit).count();
    let dim = |d: usize| {
        let label = char::from_digit(d as u32, 10).expect("few dimensions");
        let pad = field("pad", d).unwrap_or("0_0".into());
        let (low, high) = pad.split_once('_').unwrap_or(("0", "0"));
        WindowDim {
            size: labels.find(label).map_or(1, |at| kernel.dims[at]),
            stride: number("stride", d),
            low: low.parse().unwrap_or(0),
            high: high.parse().unwrap_or(0),
            base_dilation: number("lhs_dilate", d),
            dilation: number("rhs_dilate", d),
        }
    };
    (0..dims).map(dim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts a module of eight devices whose entry has these lines, besides the parameter `%p` of 800 bytes. `others`
    /// are the other computations.
    fn counted(others: &str, lines: &str) -> Tally {
        let text = format!(
            "HloModule m, num_partitions=8\n\n{others}\nENTRY %main (p: f32[200]) -> f32[200] {{\n  %p = f32[200]{{0}} \
             parameter(0)\n{lines}\n}}\n"
        );
        tally(&Hlo::parse(&text).unwrap()).unwrap()
    }

    fn bytes(others: &str, lines: &str) -> (u64, u64) {
        let tally = counted(others, lines);
        (tally.plain, tally.worst())
    }

    #[test]
    fn each_collective_has_its_price() {
        let of = |line: &str| bytes("", line);
        assert_eq!(of("ROOT %a = f32[800]{0} all-gather(%p), replica_groups=[2,4]<=[8], dimensions={0}"), (2400, 2400));
        assert_eq!(of("ROOT %a = f32[200]{0} all-reduce(%p), replica_groups=[2,4]<=[8], to_apply=%f"), (1200, 1200));
        assert_eq!(of("ROOT %a = f32[25]{0} reduce-scatter(%p), replica_groups={}, dimensions={0}"), (700, 700));
        assert_eq!(of("ROOT %a = f32[200]{0} all-to-all(%p), replica_groups=[4,2]<=[8], dimensions={0}"), (400, 400));
        assert_eq!(
            of("ROOT %a = (f32[200]{0}, f32[200]{0}) all-to-all(%p, %p), replica_groups=[4,2]<=[8]"),
            (800, 800)
        );
    }

    #[test]
    fn permutes_cost_what_the_worst_device_receives() {
        let both = "%a = f32[200]{0} collective-permute(%p), source_target_pairs={{0,1},{1,2}}\n\
                    ROOT %b = f32[200]{0} collective-permute(%p), source_target_pairs={{2,3},{4,4}}";
        assert_eq!(bytes("", both), (1600, 800));
        let idle = "ROOT %a = f32[200]{0} collective-permute(%p), source_target_pairs={{0,0},{1,1}}";
        assert_eq!(bytes("", idle), (0, 0));
    }

    const SUM: &str = "%a = f32[200]{0} all-reduce(%p), replica_groups=[1,8]<=[8], to_apply=%f\n";

    #[test]
    fn a_sum_of_which_the_own_shard_is_read_is_scattered() {
        let sliced = |size: usize| {
            bytes("", &format!("{SUM}ROOT %d = f32[{size}]{{0}} dynamic-slice(%a, %i), dynamic_slice_sizes={{{size}}}"))
        };
        assert_eq!(sliced(25), (1400, 700));
        assert_eq!(sliced(50), (1400, 600 + 200));
        assert_eq!(sliced(200), (1400, 1400));
        let also_read =
            "%d = f32[25]{0} dynamic-slice(%a, %i), dynamic_slice_sizes={25}\nROOT %n = f32[200]{0} negate(%a)";
        assert_eq!(bytes("", &format!("{SUM}{also_read}")), (1400, 1400));
    }

    #[test]
    fn a_slice_inside_a_fusion_counts() {
        let fused = "%g (q: s32[], r: f32[200]) -> f32[25] {\n  %q = s32[] parameter(0)\n  %r = f32[200]{0} parameter(1)\n  \
                     %t = f32[200]{0} bitcast(%r)\n  ROOT %s = f32[25]{0} dynamic-slice(%t, %q), dynamic_slice_sizes={25}\n}\n";
        let line = "ROOT %d = f32[25]{0} fusion(%i, %a), kind=kLoop, calls=%g";
        assert_eq!(bytes(fused, &format!("{SUM}{line}")), (1400, 700));
        let whole = fused.replace("dynamic-slice(%t, %q)", "slice(%t)");
        assert_eq!(bytes(&whole, &format!("{SUM}{line}")), (1400, 1400));
    }

    #[test]
    fn arrays_of_one_all_reduce_are_judged_apart() {
        let lines = "%a = (f32[200]{0}, f32[200]{0}) all-reduce(%p, %p), replica_groups=[1,8]<=[8], to_apply=%f\n\
                     %x = f32[200]{0} get-tuple-element(%a), index=0\n\
                     %y = f32[200]{0} get-tuple-element(%a), index=1\n\
                     %d = f32[25]{0} dynamic-slice(%x, %i), dynamic_slice_sizes={25}\n\
                     ROOT %t = (f32[25]{0}, f32[200]{0}) tuple(%d, %y)";
        assert_eq!(bytes("", lines), (2800, 700 + 1400));
    }

    const BODY: &str = "%body (q: f32[200]) -> f32[200] {\n  %q = f32[200]{0} parameter(0)\n  \
        ROOT %g = f32[200]{0} all-to-all(%q), replica_groups=[4,2]<=[8], dimensions={0}\n}\n\
        %cond (c: f32[200]) -> pred[] {\n  ROOT %c = pred[] constant(true)\n}\n";

    #[test]
    fn loops_count_as_often_as_they_run() {
        let known = "ROOT %w = f32[200]{0} while(%p), condition=%cond, body=%body, \
                     backend_config={\"known_trip_count\":{\"n\":\"5\"}}";
        assert_eq!((bytes(BODY, known), counted(BODY, known).is_guess), ((2000, 2000), false));
        let unknown = "ROOT %w = f32[200]{0} while(%p), condition=%cond, body=%body";
        assert_eq!((bytes(BODY, unknown), counted(BODY, unknown).is_guess), ((400, 400), true));
        let branches = "ROOT %w = f32[200]{0} conditional(%i, %p, %p), branch_computations={%cond, %body}";
        assert_eq!(bytes(BODY, branches), (400, 400));
    }

    #[test]
    fn products_are_counted() {
        let dot = "%l = f32[4,8,5]{2,1,0} parameter(1)\n%r = f32[4,8,3]{2,1,0} parameter(2)\n\
                   ROOT %d = f32[4,5,3]{2,1,0} dot(%l, %r), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}";
        assert_eq!(counted("", dot).flops, 2 * 4 * 5 * 3 * 8);
        let conv = "%x = f32[2,6,7,3]{3,2,1,0} parameter(1)\n%w = f32[3,1,3,5]{3,2,1,0} parameter(2)\n\
                    ROOT %c = f32[2,6,7,5]{3,2,1,0} convolution(%x, %w), window={size=3x1 pad=1_1x0_0}, \
                    dim_labels=b01f_01io->b01f";
        assert_eq!(counted("", conv).flops, 2 * 2 * 3 * 5 * (3 * 6 - 2) * 7);
    }
}
