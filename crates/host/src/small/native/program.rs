//! The functions of a small program: a main one, which has the jumps, and for a long program also parts of its long
//! blocks.
#![forbid(unsafe_code)]

use super::builder::Builder;
use crate::native::{Assembler, Functions};
use crate::small::words::Place;
use crate::small::{Array, Code, Input, Ins};
use cranelift_codegen::ir::{self, Block, BlockCall, InstBuilder, JumpTableData, types};
use std::collections::BTreeSet;
use std::ops::Range;

/// The machine code of a program.
pub struct Compiled {
    /// The functions, of which the main one is the last.
    pub functions: Functions,
    /// A list for the addresses of the other functions. The main one has the address of the list.
    pub _parts: Box<[usize]>,
    /// The number of the first instruction of each block, ascending.
    pub starts: Vec<u32>,
}

/// The largest number of instructions of a part. A program with no more has no parts. Larger functions take long to
/// compile.
const MOST: usize = 512;

/// Returns the machine code of a program, or `None` if none can be made, as [`Assembler`] says.
pub fn compiled(code: &Code) -> Option<Compiled> {
    let mut assembler = Assembler::new()?;
    let constant = constants(code);
    let starts = starts(code);
    let parts = parts(code, &starts);
    for part in &parts {
        function(&mut assembler, code, &constant, |builder| {
            part.clone().for_each(|at| builder.instruction(at, &code.instructions[at as usize]));
            builder.exit();
        })?;
    }
    let mut addresses = vec![0; parts.len()].into_boxed_slice();
    let list = addresses.as_ptr().addr();
    function(&mut assembler, code, &constant, |builder| main(builder, &starts, &parts, list))?;
    let functions = assembler.finish()?;
    addresses.iter_mut().enumerate().for_each(|(number, part)| *part = functions.address(number).addr());
    Some(Compiled { functions, _parts: addresses, starts })
}

/// Adds a function of the type [`super::frame::Function`]. Returns `None` as [`Assembler::function`] does.
fn function(
    assembler: &mut Assembler,
    code: &Code,
    constant: &[Vec<bool>; 2],
    body: impl FnOnce(&mut Builder<'_, '_>),
) -> Option<()> {
    assembler.function([&[types::I64, types::I32], &[types::I32]], |b| {
        let mut builder = Builder::new(b, code, constant);
        body(&mut builder);
        builder.finish()
    })
}

/// Returns, for each width, true for each word that no instruction and no input sets.
fn constants(code: &Code) -> [Vec<bool>; 2] {
    let mut constant = code.words.counts().map(|count| vec![true; count]);
    let mut set = |is_wide: bool, words: Range<usize>| constant[usize::from(is_wide)][words].fill(false);
    for input in &code.inputs {
        if let Input::Words(Array { place, len, .. }) = input {
            set(place.is_wide(), place.at as usize..place.at as usize + len);
        }
    }
    code.instructions.iter().flat_map(|ins| code.written(ins)).for_each(|(is_wide, words)| set(is_wide, words));
    constant
}

/// Returns the number of the first instruction of each block, ascending. A block at the end may have no instructions.
/// Its number is then that of all instructions.
fn starts(code: &Code) -> Vec<u32> {
    let mut starts = BTreeSet::from([0]);
    for (at, ins) in (1..).zip(&code.instructions) {
        let targets: &[u32] = match ins {
            Ins::Jump { to } | Ins::Unless { to, .. } => &[*to],
            Ins::Branch { targets, .. } => targets,
            _ => continue,
        };
        starts.insert(at);
        starts.extend(targets);
    }
    starts.into_iter().collect()
}

/// Returns true if an instruction ends its block.
fn is_jump(ins: &Ins) -> bool {
    matches!(ins, Ins::Jump { .. } | Ins::Unless { .. } | Ins::Branch { .. })
}

/// Returns the instructions that are functions of their own, ascending: those of long blocks, if the program is long.
fn parts(code: &Code, starts: &[u32]) -> Vec<Range<u32>> {
    if code.instructions.len() <= MOST {
        return vec![];
    }
    let mut parts = vec![];
    for (block, &start) in starts.iter().enumerate() {
        let mut end = starts.get(block + 1).map_or(code.next(), |end| *end);
        while end > start && is_jump(&code.instructions[end as usize - 1]) {
            end -= 1;
        }
        if end - start >= 16 {
            parts.extend((start..end).step_by(MOST).map(|at| at..end.min(at + MOST as u32)));
        }
    }
    parts
}

/// Adds the body of the main function. `addresses` is the address of the list with the addresses of the parts.
fn main(builder: &mut Builder<'_, '_>, starts: &[u32], parts: &[Range<u32>], addresses: usize) {
    let blocks: Vec<Block> = starts.iter().map(|_| builder.v.b.create_block()).collect();
    let after = builder.v.b.create_block();
    let block_of = |at: u32| starts.binary_search(&at).map_or(after, |block| blocks[block]);
    let first = builder.argument();
    jump_to_one_of(builder, first, &blocks);
    for (block, &start) in starts.iter().enumerate() {
        if start >= builder.code.next() {
            builder.start(blocks[block]);
            builder.exit();
            continue;
        }
        let end = starts.get(block + 1).map_or(builder.code.next(), |end| *end);
        builder.start(blocks[block]);
        let mut at = start;
        while at < end {
            let part = parts.binary_search_by_key(&at, |part| part.start);
            if let Ok(part) = part {
                builder.call_part(addresses + part * size_of::<usize>());
                builder.start_anew();
                at = parts[part].end;
                continue;
            }
            let ins = &builder.code.instructions[at as usize];
            if !is_jump(ins) {
                builder.instruction(at, ins);
            } else {
                jump(builder, at, ins, block_of);
            }
            at += 1;
        }
        if !is_jump(&builder.code.instructions[end as usize - 1]) {
            builder.v.b.ins().jump(block_of(end), &[]);
        }
    }
    builder.start(after);
    builder.exit();
}

/// Adds a jump, which is instruction number `at`.
fn jump(builder: &mut Builder<'_, '_>, at: u32, ins: &Ins, block_of: impl Fn(u32) -> Block) {
    match *ins {
        Ins::Jump { to } => {
            if to < at {
                builder.pay(at - to);
            }
            builder.v.b.ins().jump(block_of(to), &[]);
        }
        Ins::Unless { predicate, to } => {
            let place = Place { elem: crate::elem::Elem::Bool, at: predicate, step: 0 };
            let is_true = builder.index(place);
            builder.v.b.ins().brif(is_true, block_of(at + 1), &[], block_of(to), &[]);
        }
        Ins::Branch { index, is_if, ref targets } => {
            let index = builder.index(index);
            let targets: Vec<Block> = targets.iter().map(|&to| block_of(to)).collect();
            if is_if {
                builder.v.b.ins().brif(index, targets[0], &[], targets[1], &[]);
                return;
            }
            let last = builder.v.b.ins().iconst(types::I64, targets.len() as i64 - 1);
            // A negative index is a large unsigned number.
            let index = builder.v.b.ins().umin(index, last);
            let index = builder.v.b.ins().ireduce(types::I32, index);
            jump_to_one_of(builder, index, &targets);
        }
        _ => unreachable!("{ins:?} is no jump"),
    }
}

/// Adds a jump to the block with this number in the list, or to the last one if there is no such block.
fn jump_to_one_of(builder: &mut Builder<'_, '_>, index: ir::Value, blocks: &[Block]) {
    let pool = &mut builder.v.b.func.dfg.value_lists;
    let mut calls: Vec<BlockCall> = blocks.iter().map(|&block| BlockCall::new(block, [], pool)).collect();
    let last = calls.pop().expect("at least one block");
    let table = builder.v.b.create_jump_table(JumpTableData::new(last, &calls));
    builder.v.b.ins().br_table(index, table);
}
