"""Functions and models whose derivatives and batches by our transforms of text are compared with JAX's."""
