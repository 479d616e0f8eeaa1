//! Tests of calls of LAPACK through their facts.

use super::*;
