//! The facts of ops against each other and against known answers.

mod answers;
mod cancelled;
mod complete;
mod fuzz;
mod harness;
mod labels;
mod mistakes;
mod mistakes_in_text;
mod quantized;
mod rules;
mod schema;
mod shards;
mod table;
mod text;
mod text_mistakes;
