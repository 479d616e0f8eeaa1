//! Prints the program of one device as HLO text that is short enough to read.

use shardwise_base::gspmd::HloSharding;
use shardwise_base::{AxisRef, DType, Literal, Mesh};
use shardwise_ir::{Attr, Func, Module, Op, OpView, Region, Type, Value};
use shardwise_ops::collective::{AxisIndexOp, CollectiveKind, CollectiveView, Groups};
use shardwise_ops::dot::DotDims;
use shardwise_ops::{Opcode, ReduceKind, constant_value};
use std::fmt::Write;

/// Returns the main function as HLO text for people to read. It is not meant for XLA's parser: collectives may name
/// axes of the mesh, and the elements of a constant are left out if they differ. Without a main function, the text is
/// only the line of the module.
pub fn print(module: &Module) -> String {
    let devices = module.main_mesh().map_or(1, |mesh| mesh.size());
    let mut out = format!("HloModule {}, num_partitions={devices}\n", module.name);
    if let Some(func) = module.main() {
        let mut printer = Printer {
            module,
            func,
            names: vec![String::new(); func.body.value_count()],
            count: 0,
            done: String::new(),
        };
        let entry = printer.computation(func.body.entry(), &format!("ENTRY {}", func.name));
        out += &printer.done;
        out += &entry;
    }
    out
}

struct Printer<'a> {
    module: &'a Module,
    func: &'a Func,
    /// The name of each value that has been printed, and an empty string for others.
    names: Vec<String>,
    count: usize,
    /// The computations of regions, which are printed before the computations that call them.
    done: String,
}

impl Printer<'_> {
    fn computation(&mut self, region: Region, head: &str) -> String {
        let body = &self.func.body;
        let mut text = String::new();
        for (i, &arg) in body[region].args.iter().enumerate() {
            let name = self.define(arg, "param");
            let layout = body.sharding(arg).map_or(String::new(), |s| format!(", sharding={}", HloSharding::from(s)));
            writeln!(text, "  {name} = {} parameter({i}){layout}", ty(body.ty(arg))).expect("writing to a string");
        }
        let (&last, ops) = body[region].ops.split_last().expect("a region ends in a terminator");
        let results = body[last].operands.to_vec();
        let root = (results.len() == 1).then(|| body.def_op(results[0])).flatten();
        for &op in ops {
            let mark = if root == Some(op) && body[op].results.len() == 1 { "ROOT " } else { "" };
            let line = self.op(op);
            writeln!(text, "  {mark}{line}").expect("writing to a string");
        }
        if root.is_none_or(|op| body[op].results.len() != 1 || !ops.contains(&op)) {
            let types: Vec<String> = results.iter().map(|&v| ty(body.ty(v))).collect();
            writeln!(text, "  ROOT %tuple = ({}) tuple({})", types.join(", "), self.list(&results))
                .expect("writing to a string");
        }
        format!("\n{head} {{\n{text}}}\n")
    }

    fn define(&mut self, v: Value, stem: &str) -> String {
        let name = format!("%{stem}.{}", self.count);
        self.count += 1;
        self.names[v.index()].clone_from(&name);
        name
    }

    fn list(&self, values: &[Value]) -> String {
        let names: Vec<&str> = values.iter().map(|v| &*self.names[v.index()]).collect();
        names.join(", ")
    }

    fn op(&mut self, op: Op) -> String {
        let view = self.module.view(&self.func.body, op);
        let kind = kind(&view);
        let regions = self.regions(&view);
        let operands = match constant(&view) {
            Some(value) => value,
            None => self.list(view.operands()),
        };
        let types: Vec<String> = view.results().iter().map(|&v| ty(view.body.ty(v))).collect();
        let (name, types) = match view.results() {
            [one] => (self.define(*one, &kind), types.concat()),
            many => (self.define_tuple(many, &kind), format!("({})", types.join(", "))),
        };
        let attrs = attributes(&view);
        let tail: Vec<String> = attrs.into_iter().chain(regions).collect();
        let comma = if tail.is_empty() { "" } else { ", " };
        format!("{name} = {types} {kind}({operands}){comma}{}", tail.join(", "))
    }

    fn define_tuple(&mut self, results: &[Value], stem: &str) -> String {
        let name = format!("%{stem}.{}", self.count);
        self.count += 1;
        for (i, v) in results.iter().enumerate() {
            self.names[v.index()] = format!("{name}#{i}");
        }
        name
    }

    /// Returns an attribute for each region of the op: `to_apply=add` if the region is a reducer that HLO text names by
    /// its op, else for example `body=%body.3`, the name of a computation. Prints that computation to `done`.
    fn regions(&mut self, view: &OpView<'_>) -> Vec<String> {
        let labels: &[&str] = match Opcode::of_view(view) {
            Opcode::While => &["condition", "body"],
            Opcode::Case | Opcode::If => &["branch"],
            _ => &["to_apply"],
        };
        let mut attrs = vec![];
        for (i, &region) in view.regions().iter().enumerate() {
            let label = labels[i.min(labels.len() - 1)];
            let name = match reducer(view, region) {
                Some(kind) => reducer_name(kind).to_string(),
                None => self.region(region, label),
            };
            attrs.push(format!("{label}={name}"));
        }
        attrs
    }

    fn region(&mut self, region: Region, label: &str) -> String {
        let name = format!("%{label}.{}", self.count);
        self.count += 1;
        let text = self.computation(region, &name);
        self.done += &text;
        name
    }
}

/// Returns the name of an op in the text, such as `all-reduce` for `stablehlo.all_reduce`.
fn kind(view: &OpView<'_>) -> String {
    match view.name() {
        "stablehlo.dot_general" => "dot".into(),
        "stablehlo.broadcast_in_dim" => "broadcast".into(),
        "stablehlo.optimization_barrier" => "opt-barrier".into(),
        "stablehlo.case" | "stablehlo.if" => "conditional".into(),
        name => crate::reason::short(name).replace('_', "-"),
    }
}

/// Returns a type as HLO writes it: `bf16[2,8192]{1,0}`. Other types than tensors are written as in the IR.
fn ty(ty: &Type) -> String {
    match ty.as_tensor() {
        Some(t) => {
            let minor_to_major: Vec<String> = (0..t.rank()).rev().map(|d| d.to_string()).collect();
            let name = if t.dtype == DType::I1 { "pred" } else { hlo_dtype(t.dtype) };
            let dims: Vec<String> = t.shape.iter().map(ToString::to_string).collect();
            format!("{name}[{}]{{{}}}", dims.join(","), minor_to_major.join(","))
        }
        None => ty.to_string(),
    }
}

/// Returns HLO's name of an element type other than `i1`, such as `s32` for `i32`.
fn hlo_dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::I2 => "s2",
        DType::I4 => "s4",
        DType::I8 => "s8",
        DType::I16 => "s16",
        DType::I32 => "s32",
        DType::I64 => "s64",
        other => other.short(),
    }
}

fn constant(view: &OpView<'_>) -> Option<String> {
    let value = constant_value(view).filter(|_| Opcode::of_view(view) == Opcode::Constant)?;
    Some(element(value).unwrap_or_else(|| "{...}".into()))
}

/// Returns the text of the one element that all elements of a literal are equal to, such as `(1, -2)` for a complex
/// number. Returns `None` if they differ or there are none.
fn element(value: &Literal) -> Option<String> {
    let is_one = value.size() > 0 && value.is_uniform();
    is_one.then(|| match value.dtype() {
        dtype if dtype.is_bool() => (value.get_i128(0) != 0).to_string(),
        dtype if dtype.is_integer() => value.get_i128(0).to_string(),
        dtype if dtype.is_complex() => format!("({}, {})", value.get_f64(0), value.imaginary_f64(0)),
        _ => value.get_f64(0).to_string(),
    })
}

fn reducer(view: &OpView<'_>, region: Region) -> Option<ReduceKind> {
    shardwise_ops::reducer::reduce_kind(view.module, view.body, region)
}

fn reducer_name(kind: ReduceKind) -> &'static str {
    crate::reason::short(kind.op_name())
}

fn attributes(view: &OpView<'_>) -> Vec<String> {
    if let Some(collective) = CollectiveView::of(view) {
        return collective_attributes(&collective);
    }
    if let Some(dims) = DotDims::of(view) {
        return dot_attributes(&dims);
    }
    let named = [
        ("dimensions", "dimensions"),
        ("broadcast_dimensions", "dimensions"),
        ("permutation", "dimensions"),
        ("iota_dimension", "iota_dimension"),
        ("dimension", "dimensions"),
        ("slice_sizes", "dynamic_slice_sizes"),
        ("comparison_direction", "direction"),
        ("call_target_name", "custom_call_target"),
    ];
    let show = |(from, to): &(&str, &str)| Some(format!("{to}={}", attribute(view.attr(from)?)?));
    let mut attrs: Vec<String> = named.iter().filter_map(show).collect();
    attrs.extend(slice_bounds(view));
    attrs.extend(axis_list(view));
    attrs
}

fn attribute(attr: &Attr) -> Option<String> {
    match attr {
        Attr::Str(s) => Some(format!("\"{s}\"")),
        Attr::Enum { value, .. } => Some(value.to_string()),
        _ => attr.to_ints().or_else(|| Some(vec![attr.as_int()?])).map(|list| braces(&list)),
    }
}

fn braces(list: &[impl ToString]) -> String {
    let items: Vec<String> = list.iter().map(ToString::to_string).collect();
    format!("{{{}}}", items.join(","))
}

/// Returns the bounds of a slice: `slice={[0:2], [1:9:2]}`, or `None` for other ops.
fn slice_bounds(view: &OpView<'_>) -> Option<String> {
    if Opcode::of_view(view) != Opcode::Slice {
        return None;
    }
    let [start, limit, stride] = ["start_indices", "limit_indices", "strides"].map(|name| view.sizes(name));
    let bound = |d: usize| match stride[d] {
        1 => format!("[{}:{}]", start[d], limit[d]),
        by => format!("[{}:{}:{by}]", start[d], limit[d]),
    };
    let bounds: Vec<String> = (0..start.len()).map(bound).collect();
    Some(format!("slice={{{}}}", bounds.join(", ")))
}

fn axis_list(view: &OpView<'_>) -> Option<String> {
    let (mesh, list) = AxisIndexOp::axes(view)?;
    Some(format!("axes={}", axes(mesh, list)))
}

fn axes(mesh: &Mesh, list: &[AxisRef]) -> String {
    let names: Vec<String> = list.iter().map(|a| a.display(mesh).to_string().replace('"', "")).collect();
    braces(&names)
}

fn dot_attributes(dims: &DotDims) -> Vec<String> {
    let lists = [
        ("lhs_batch_dims", &dims.lhs_batch),
        ("lhs_contracting_dims", &dims.lhs_contract),
        ("rhs_batch_dims", &dims.rhs_batch),
        ("rhs_contracting_dims", &dims.rhs_contract),
    ];
    lists.iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| format!("{name}={}", braces(list))).collect()
}

fn collective_attributes(collective: &CollectiveView) -> Vec<String> {
    let groups = match &collective.groups {
        Groups::Axes { mesh, axes: list } => format!("axes={}", axes(mesh, list)),
        Groups::Dense(groups) => {
            format!("replica_groups={}", braces(&groups.iter().map(|g| braces(g)).collect::<Vec<_>>()))
        }
        Groups::All => "replica_groups={}".into(),
    };
    let dims = match &collective.kind {
        CollectiveKind::AllGather { dim } => Some(format!("dimensions={{{dim}}}")),
        CollectiveKind::ReduceScatter { dim, .. } => Some(format!("dimensions={{{dim}}}")),
        CollectiveKind::AllToAll { split_dim, concat_dim } => {
            Some(format!("split_dimension={split_dim}, concat_dimension={concat_dim}"))
        }
        CollectiveKind::CollectivePermute { permutation } => {
            let pairs: Vec<String> = permutation.to_pairs().iter().map(|(s, t)| format!("{{{s},{t}}}")).collect();
            Some(format!("source_target_pairs={}", braces(&pairs)))
        }
        CollectiveKind::AllReduce { .. }
        | CollectiveKind::CollectiveBroadcast
        | CollectiveKind::CollectiveReduce { .. }
        | CollectiveKind::RaggedAllToAll => None,
    };
    std::iter::once(groups).chain(dims).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{Complex32, Complex64};

    #[test]
    fn the_one_element_of_a_constant_is_printed_exactly() {
        let shown = |value: Literal| element(&value).unwrap_or("-".to_string());
        assert_eq!(shown(Literal::new([2], &[Complex32::new(1.5, -2.0); 2])), "(1.5, -2)");
        assert_eq!(shown(Literal::scalar(Complex64::new(0.0, 1.0))), "(0, 1)");
        assert_eq!(shown(Literal::scalar(i64::MAX)), "9223372036854775807");
        assert_eq!(shown(Literal::scalar(i64::MIN)), "-9223372036854775808");
        assert_eq!(shown(Literal::scalar(u64::MAX)), "18446744073709551615");
        assert_eq!(shown(Literal::scalar(-0.5f32)), "-0.5");
        assert_eq!(shown(Literal::scalar(shardwise_base::Bool8::from(true))), "true");
        assert_eq!(shown(Literal::new([2], &[1i32, 2])), "-");
        assert_eq!(shown(Literal::new([0], &[0i32; 0])), "-");
    }
}
