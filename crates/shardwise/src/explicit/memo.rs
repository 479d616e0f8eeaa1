//! Answers that were given before: a program of many layers asks the same of each.
//!
//! What an op's facts may read is compared: attributes, types, layouts, constant operands, what its regions do. An operand
//! that has no layout and is no constant of one element could be anything, and is never remembered.

use shardwise_base::Sharding;
use shardwise_ir::{Attrs, OpCode, OpView, Region, Type};
use shardwise_ops::Opcode;
use shardwise_sharding::explicit::Verdict;
use std::collections::HashMap;

/// Answers by op.
#[derive(Default)]
pub(super) struct Memo(HashMap<OpCode, Vec<Known>>);

/// As many are kept of one op; a program with more kinds of one pays for them.
const MOST: usize = 16;

struct Known {
    attrs: Attrs,
    operands: Vec<Operand>,
    results: Vec<Type>,
    regions: Vec<OpCode>,
    answer: Answered,
}

/// Ways for all results, and why.
pub(super) type Answered = (Vec<Vec<Sharding>>, Verdict);

struct Operand {
    ty: Type,
    is: What,
}

enum What {
    Laid(Sharding),
    /// The attributes of a constant of one element.
    Constant(Attrs),
}

impl Memo {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn get(&self, view: &OpView<'_>, layouts: &[Option<&Sharding>]) -> Option<&Answered> {
        let known = self.0.get(&view.data().code)?;
        known.iter().find(|k| k.is_of(view, layouts)).map(|k| &k.answer)
    }

    pub fn add(&mut self, view: &OpView<'_>, layouts: &[Option<&Sharding>], answer: &Answered) {
        let operands: Option<Vec<Operand>> =
            layouts.iter().enumerate().map(|(i, l)| Operand::of(view, i, *l)).collect();
        let Some(operands) = operands else { return };
        let known = self.0.entry(view.data().code).or_default();
        if known.len() == MOST {
            known.remove(0);
        }
        known.push(Known {
            attrs: view.attrs().clone(),
            operands,
            results: view.results().iter().map(|&v| view.body.ty(v).clone()).collect(),
            regions: codes(view),
            answer: answer.clone(),
        });
    }
}

impl Known {
    fn is_of(&self, view: &OpView<'_>, layouts: &[Option<&Sharding>]) -> bool {
        let types = self.results.iter().zip(view.results()).all(|(ty, &v)| ty == view.body.ty(v));
        types
            && self.results.len() == view.results().len()
            && self.operands.len() == layouts.len()
            && self.operands.iter().zip(layouts).enumerate().all(|(i, (o, l))| o.is_operand(view, i, *l))
            && self.attrs == *view.attrs()
            && (view.data().regions.is_empty() && self.regions.is_empty() || self.regions == codes(view))
    }
}

impl Operand {
    fn of(view: &OpView<'_>, i: usize, layout: Option<&Sharding>) -> Option<Operand> {
        let is = match layout {
            Some(s) => What::Laid(s.clone()),
            None => What::Constant(constant(view, i)?.clone()),
        };
        Some(Operand { ty: view.operand_type(i).clone(), is })
    }

    fn is_operand(&self, view: &OpView<'_>, i: usize, layout: Option<&Sharding>) -> bool {
        let is_same = match &self.is {
            What::Laid(s) => layout == Some(s),
            What::Constant(attrs) => layout.is_none() && constant(view, i) == Some(attrs),
        };
        is_same && self.ty == *view.operand_type(i)
    }
}

fn constant<'a>(view: &OpView<'a>, i: usize) -> Option<&'a Attrs> {
    let is_one = view.operand_type(i).as_tensor().is_some_and(|t| t.rank() == 0);
    let def = view.body.def_op(view.operand(i)).filter(|_| is_one)?;
    let def = view.body.op(def);
    (def.code == OpCode::from(Opcode::Constant)).then_some(&def.attrs)
}

/// The ops of its regions, in order.
fn codes(view: &OpView<'_>) -> Vec<OpCode> {
    fn collect(view: &OpView<'_>, region: Region, out: &mut Vec<OpCode>) {
        for &op in &view.body.region(region).ops {
            out.push(view.body.op(op).code);
            view.body.op(op).regions.iter().for_each(|&r| collect(view, r, out));
        }
    }
    let mut out = vec![];
    view.data().regions.iter().for_each(|&r| collect(view, r, &mut out));
    out
}
