//! Copies of elements in another layout: what some ops compute, and what other kernels need of an operand first.

use super::buffers::{targets, written};
use super::context::PlanCx;
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::{Move, fill};
use crate::operand::Source;
use crate::plan::{Input, Kernel, KernelCx, Points, StepKind};
use crate::pool::Workers;
use shardwise_ir::{OpView, TensorType, Value};

/// The kernel of a step that fills its output with one element, if there is a filler, and then copies elements of its
/// inputs to the output by any number of moves.
pub struct Moves {
    /// For each move, the number of the input, the byte of it from which elements are read, the byte of the output from
    /// which they are written, and the move itself.
    pub moves: Vec<(usize, usize, usize, Move)>,
    /// The element that fills the output first, if there is one.
    pub filler: Option<Filler>,
    pub output_bytes: usize,
}

/// The element that fills an output.
pub enum Filler {
    Zeros,
    /// The single element of the input with this number.
    Input(usize),
}

impl Moves {
    /// Returns the kernel that copies its one input to another layout. The input is read from byte 0 on.
    pub fn layout(elements: Move, output_bytes: usize) -> Moves {
        Moves::whole(elements, 0, output_bytes)
    }

    /// Returns the kernel whose output consists of some elements of the one input. The input is read from byte `from`
    /// on.
    pub fn whole(elements: Move, from: usize, output_bytes: usize) -> Moves {
        Moves { moves: vec![(0, from, 0, elements)], filler: None, output_bytes }
    }

    /// Returns the kernel that copies some elements of the one input, with zeros around them. The input is read from
    /// byte `from` on, and the output is written from byte `to` on.
    pub fn among_zeros(elements: Move, [from, to]: [usize; 2], output_bytes: usize) -> Moves {
        Moves { moves: vec![(0, from, to, elements)], filler: Some(Filler::Zeros), output_bytes }
    }

    /// Returns the kernel that copies some elements of the first input, with the single element of the second around
    /// them. The first is read from byte `from` on, and the output is written from byte `to` on.
    pub fn among(elements: Move, [from, to]: [usize; 2], output_bytes: usize) -> Moves {
        Moves { moves: vec![(0, from, to, elements)], filler: Some(Filler::Input(1)), output_bytes }
    }

    fn fill(&self, cx: &KernelCx<'_>, outputs: &mut [Buffer]) {
        for (&i, output) in cx.instances.iter().zip(outputs) {
            let element = match self.filler {
                None => return,
                Some(Filler::Zeros) => &[0][..],
                Some(Filler::Input(index)) => cx.input(index, i).bytes(),
            };
            fill(Workers::global(), written(output), element);
        }
    }
}

/// Adds a step before the one that is being built. It runs `kernel` on the values `from` and writes an array of type
/// `ty`. Returns the input from which the instances of `points` read this array. If `from` is a single value, the step
/// has the instances of this value, else those of `points`.
pub fn prepared<'m>(
    plan: &mut PlanCx<'m>,
    view: &OpView<'m>,
    from: &[Value],
    kernel: Moves,
    ty: TensorType,
    points: &Points,
) -> Input {
    let own = match from {
        [from] => plan.points(*from),
        _ => points.clone(),
    };
    let slot = plan.temporary(ty, own.clone(), view.loc().clone());
    let inputs = from.iter().map(|&v| plan.input(v, &own)).collect();
    let mut step = plan.step_with(view, StepKind::Kernel(Box::new(kernel)), inputs, vec![slot], own.clone());
    step.name = format!("{} (layout of an operand)", view.name());
    plan.before(step);
    Input::new(slot, points.map_to(&own))
}

impl Kernel for Moves {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        self.fill(cx, &mut outputs);
        for (index, from, to, elements) in &self.moves {
            let source = |&i: &usize| Source::at(cx.input(*index, i).bytes(), *from);
            let sources: Vec<Source> = cx.instances.iter().map(source).collect();
            elements.run(Workers::global(), &sources, &mut targets(&mut outputs, *to));
        }
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, 0)
    }
}
