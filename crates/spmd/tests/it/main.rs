//! Integration tests of the partitioner.

mod cancelled;
mod chapter;
mod corpus;
mod explanations;
mod filetests;
mod generate;
mod loops;
mod many_devices;
mod padding;
mod passes;
mod prices;
mod propagate;
mod quantized;
mod random_programs;
mod reducers;
mod reshards;
mod sums;

mod uniformity;
mod written_layouts;
