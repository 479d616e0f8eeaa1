//! Integration tests of the partitioner.

mod cancelled;
mod chapter;
mod corpus;
mod filetests;
mod generate;
mod passes;
mod prices;
mod propagate;
mod quantized;
mod random_programs;
mod reshards;

mod uniformity;
mod written_layouts;
