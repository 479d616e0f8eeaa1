//! Parts of the example `t1_train_transformer`: the model, its text, the options, and the record of a run.

pub mod data;
pub mod model;
pub mod options;
pub mod record;
