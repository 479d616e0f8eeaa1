//! Tests of predictions.
