//! JAX's `ragged_all_to_all`: each device sends rows to others, and the numbers of rows differ.

use super::Maker;
use super::manual::axis_set;
use super::scope::{Grade, Live, Scope};
use shardwise_base::{DType, Literal};
use shardwise_ir::TensorType;

impl Maker {
    /// Writes a custom call in which every device sends at most two rows of `x` to each member of its group. The number
    /// of rows depends only on the receiver. The rows from member `i` become block `i` of the receiver's rows. The rows
    /// that are left keep the values of another operand.
    pub(super) fn ragged(&mut self, inner: &mut Scope, x: &Live, axes: &[usize]) {
        let (rows, members) = (x.ty.shape[0] as i64, self.axes_size(axes));
        let dtype = *self.choose.of(&[DType::I32, DType::I64]);
        let counts: Vec<i64> = (0..members).map(|_| self.choose.between(0, rows.min(2))).collect();
        let offsets: Vec<i64> = counts.iter().map(|n| self.choose.between(0, rows - n)).collect();
        let mut ty = x.ty.clone();
        ty.shape[0] = members * counts.iter().copied().max().unwrap_or(0) as usize + self.choose.below(3);
        let output = self.of_type(inner, &ty);
        let [sent, from] = [counts, offsets].map(|list| self.constant(inner, &vector(dtype, &list), Grade::Wild));
        let list = sent.ty.clone();
        let position = self.position(inner, dtype, axes);
        let everywhere = self.everywhere(inner, &position, "[]", &list);
        let to = format!("stablehlo.multiply {everywhere}, {} : {list}", sent.name);
        let to = self.plain(inner, &to, list.clone(), Grade::Wild).name;
        let one = TensorType::new(dtype, [1]);
        let own = format!(
            "stablehlo.dynamic_slice {}, {}, sizes = [1] : ({list}, {}) -> {one}",
            sent.name, position.name, position.ty
        );
        let own = self.plain(inner, &own, one, Grade::Wild);
        let received = self.everywhere(inner, &own, "[0]", &list);
        let op = format!(
            "stablehlo.custom_call @ragged_all_to_all({}, {}, {}, {}, {to}, {received}) {{api_version = 4 : i32, \
             backend_config = {{channel_id = 1 : i64, {}}}}} : ({}, {ty}, {list}, {list}, {list}, {list}) -> {ty}",
            x.name,
            output.name,
            from.name,
            sent.name,
            self.groups_attr(axes),
            x.ty
        );
        self.plain(inner, &op, ty.clone(), x.grade.join(output.grade));
    }

    fn position(&mut self, inner: &mut Scope, dtype: DType, axes: &[usize]) -> Live {
        let (scalar, to) = (TensorType::new(DType::I32, []), TensorType::new(dtype, []));
        let op = format!("shardwise.axis_index <@mesh, {}> : {scalar}", axis_set(&self.axis_names(axes)));
        let position = self.plain(inner, &op, scalar.clone(), Grade::Wild);
        let op = format!("stablehlo.convert {} : ({scalar}) -> {to}", position.name);
        self.plain(inner, &op, to, Grade::Wild)
    }

    fn everywhere(&mut self, inner: &mut Scope, x: &Live, dims: &str, to: &TensorType) -> String {
        let op = format!("stablehlo.broadcast_in_dim {}, dims = {dims} : ({}) -> {to}", x.name, x.ty);
        self.plain(inner, &op, to.clone(), Grade::Wild).name
    }
}

fn vector(dtype: DType, values: &[i64]) -> Literal {
    match dtype {
        DType::I32 => Literal::new([values.len()], &values.iter().map(|&v| v as i32).collect::<Vec<_>>()),
        _ => Literal::new([values.len()], values),
    }
}
