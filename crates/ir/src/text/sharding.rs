//! Reads and writes shardings, meshes and lists of axes: `<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"z"}>`.

use super::attr_print::write_symbol;
use super::lexer::{TokenKind, escape};
use super::mistakes;
use super::parser::{At, Failed, Parsed, Parser};
use crate::{Attr, Attrs, Type};
use shardwise_base::{AxisRef, DimSharding, Mesh, Sharding};
use std::fmt::Write;
use std::sync::Arc;

/// An axis in text, which has not been looked up in its mesh.
#[derive(Clone, Debug)]
pub struct RawAxis {
    name: Arc<str>,
    /// `:(pre_size)size`.
    part: Option<(usize, usize)>,
    at: At,
}

/// Attributes of `sdy` ops that contain axes but no mesh.
const AXES_WITHOUT_MESH: &[&str] = &["manual_axes", "axis_ref_list", "list_of_axis_ref_lists", "all_to_all_param_list"];

// ── axes

impl<'t> Parser<'t> {
    /// Reads `"x"` or `"x":(1)2`.
    fn raw_axis(&mut self) -> Parsed<RawAxis> {
        let at = self.at();
        let name = self.string("an axis such as \"x\"")?;
        let mut part = None;
        if self.eat(":") {
            self.expect("(")?;
            let pre_size = self.size()?;
            self.expect(")")?;
            part = Some((pre_size, self.size()?));
        }
        Ok(RawAxis { name, part, at })
    }

    pub(super) fn size(&mut self) -> Parsed<usize> {
        let at = self.at();
        let value = self.int()?;
        usize::try_from(value).map_err(|_| {
            self.fail(at, "text-syntax", "a size, a count or a device id must not be negative".to_string())
        })
    }

    /// Reads `{"x", "y"}`.
    pub fn raw_axes(&mut self) -> Parsed<Vec<RawAxis>> {
        self.list("{", "}", Self::raw_axis)
    }

    /// Reads `[{"x"}, {}]`.
    pub fn raw_axes_per_dim(&mut self) -> Parsed<Vec<Vec<RawAxis>>> {
        self.list("[", "]", Self::raw_axes)
    }

    /// Returns the axes of `mesh` that were written. Axes and sub-axes that the mesh does not have are reported and
    /// left out, and so are sub-axes of size 1 and sub-axes that are the whole axis.
    pub fn resolve_axes(&mut self, raw: &[RawAxis], mesh: &Mesh) -> Vec<AxisRef> {
        raw.iter().filter_map(|axis| self.resolve_axis(axis, mesh)).collect()
    }

    fn resolve_axis(&mut self, raw: &RawAxis, mesh: &Mesh) -> Option<AxisRef> {
        let Some(axis) = mesh.axis(&raw.name) else {
            self.report(raw.at, |loc| mistakes::unknown_axis(loc, &raw.name, mesh));
            return None;
        };
        let Some((pre_size, size)) = raw.part else {
            return Some(AxisRef::full(axis));
        };
        let whole = mesh.axis_size(axis);
        if size < 2 || size == whole || !is_part(pre_size, size, whole) {
            self.report(raw.at, |loc| mistakes::sub_axis(loc, &raw.name, pre_size, size, mesh));
            return None;
        }
        Some(AxisRef::sub(mesh, axis, pre_size, size))
    }

    /// Reports each of `axes` that overlaps an axis used before it in the sharding, or splits an axis differently. Adds
    /// all of `axes` to `used`. `raw` is the text of `axes`.
    fn check_disjoint(&mut self, used: &mut Vec<AxisRef>, axes: &[AxisRef], raw: &[RawAxis], mesh: &Mesh) {
        for &axis in axes {
            let conflicts = |a: &&AxisRef| a.overlaps(axis) || !a.can_coexist(axis);
            if let Some(&first) = used.iter().find(conflicts) {
                let name = mesh.axis_name(axis.axis);
                let at = raw.iter().rfind(|r| &*r.name == name).map_or(self.at(), |r| r.at);
                let (axis, first) = (axis.display(mesh).to_string(), first.display(mesh).to_string());
                self.report(at, |loc| mistakes::axis_twice(loc, &axis, &first, mesh));
            }
            used.push(axis);
        }
    }

    /// Reports `axes`, whose text is `raw`, if they are not written as `expected`: merged where two neighbours are one
    /// part of an axis, and in the order of the mesh if the list has no order of its own.
    fn check_list(&mut self, axes: &[AxisRef], raw: &[RawAxis], expected: &[AxisRef], mesh: &Mesh) {
        if let Some(first) = raw.first().filter(|_| axes != expected) {
            let mut text = String::new();
            write_axes(&mut text, mesh, expected);
            self.report(first.at, |loc| mistakes::axis_list(loc, &text, mesh));
        }
    }
}

/// Returns true if an axis of size `whole` has the part `(pre_size)size`, which may be all of it.
pub(super) fn is_part(pre_size: usize, size: usize, whole: usize) -> bool {
    pre_size.checked_mul(size).is_some_and(|n| n > 0 && whole.is_multiple_of(n))
}

// ── shardings

struct RawDim {
    axes: Vec<RawAxis>,
    is_open: bool,
    priority: Option<u32>,
}

impl<'t> Parser<'t> {
    /// Reads `<@mesh, [..], replicated={..}, unreduced={..}>`, with or without `#sdy.sharding` before it.
    pub fn sharding(&mut self) -> Parsed<Sharding> {
        if self.is_kind(TokenKind::Hash) && self.tok_text() == "#sdy.sharding" {
            self.bump();
        }
        self.expect("<")?;
        let mesh = self.mesh_or_name()?;
        self.expect(",")?;
        let raw_dims = self.list("[", "]", Self::raw_dim)?;
        let mut used = vec![];
        let mut dims = vec![];
        for raw in raw_dims {
            let axes = self.resolve_axes(&raw.axes, &mesh);
            self.check_disjoint(&mut used, &axes, &raw.axes, &mesh);
            self.check_list(&axes, &raw.axes, &AxisRef::merged(&axes, &mesh), &mesh);
            dims.push(DimSharding { axes, is_open: raw.is_open, priority: raw.priority });
        }
        let mut sharding = Sharding::new(&mesh, dims);
        let mut words = vec![];
        while self.eat(",") {
            let at = self.at();
            let word = self.sharding_extra(&mut sharding, &mut used)?;
            if words.contains(&word) {
                return Err(self.fail(at, "text-syntax", format!("`{word}` occurs twice in one sharding")));
            }
            words.push(word);
        }
        self.expect(">")?;
        Ok(sharding)
    }

    /// Reads `replicated={..}`, `unreduced={..}` or `unreduced=sum{..}`, stores the axes in `sharding`, and returns the
    /// word. Replicated axes must be in the order of the mesh. Unreduced axes may be in any order, such as that in
    /// which they split the dimension that was summed.
    fn sharding_extra(&mut self, sharding: &mut Sharding, used: &mut Vec<AxisRef>) -> Parsed<&'static str> {
        let is_replicated = self.eat("replicated");
        if !is_replicated && !self.eat("unreduced") {
            return Err(self.unexpected("`replicated` or `unreduced`"));
        }
        self.expect("=")?;
        if !is_replicated && !self.eat("sum") && (self.is("max") || self.is("min")) {
            let at = self.at();
            let way_out = "reduce the value before it leaves its op, or use a sum";
            self.report(at, |loc| mistakes::unsupported(loc, "unreduced maxima and minima", way_out));
            self.bump();
        }
        let raw = self.raw_axes()?;
        let mesh = sharding.mesh.clone();
        let axes = self.resolve_axes(&raw, &mesh);
        self.check_disjoint(used, &axes, &raw, &mesh);
        if is_replicated {
            let mut sorted = axes.clone();
            AxisRef::sort_and_merge(&mut sorted, &mesh);
            self.check_list(&axes, &raw, &sorted, &mesh);
        }
        *(if is_replicated { &mut sharding.replicated } else { &mut sharding.unreduced }) = axes;
        Ok(if is_replicated { "replicated" } else { "unreduced" })
    }

    /// Reads `{"x", ?}p1`.
    fn raw_dim(&mut self) -> Parsed<RawDim> {
        let mut is_open = false;
        let mut axes = vec![];
        self.expect("{")?;
        while !self.eat("}") {
            if (!axes.is_empty() || is_open) && !self.eat(",") {
                return Err(self.unexpected("`,` or `}`"));
            }
            if is_open {
                return Err(self.unexpected("`}` after `?`"));
            }
            is_open = self.eat("?");
            if !is_open {
                axes.push(self.raw_axis()?);
            }
        }
        let at = self.at();
        let priority = self.priority()?;
        if priority.is_some() && axes.is_empty() && !is_open {
            return Err(self.fail(
                at,
                "sharding-priority",
                "a closed dimension without axes cannot have a priority".to_string(),
            ));
        }
        Ok(RawDim { axes, is_open, priority })
    }

    fn priority(&mut self) -> Parsed<Option<u32>> {
        if !self.is_kind(TokenKind::Word) || !self.tok_text().starts_with('p') {
            return Ok(None);
        }
        let priority = self.tok_text()[1..].parse().map_err(|_| self.unexpected("a priority, as `p1`"))?;
        self.bump();
        Ok(Some(priority))
    }

    /// Reads `[<..>, <..>]`.
    pub fn sharding_list(&mut self) -> Parsed<Vec<Sharding>> {
        self.list("[", "]", Self::sharding)
    }

    /// Reports shardings whose number or ranks do not fit the types, and never fails. `what` is the word for a value in
    /// messages.
    pub fn check_shardings(&mut self, at: At, what: &str, list: &[Sharding], types: &[Type]) -> Parsed<()> {
        if list.len() != types.len() {
            let (given, expected) = (list.len(), types.len());
            self.report(at, |loc| mistakes::sharding_count(loc, given, expected, what));
        }
        for (i, (sharding, ty)) in list.iter().zip(types).enumerate() {
            self.check_rank(at, &format!("{what} {i}"), sharding, ty);
        }
        Ok(())
    }

    /// Reports a sharding whose rank is not that of its value, which is 0 if `ty` is not a tensor. A sharding on a mesh
    /// that names one device ([`Mesh::is_maximal`]) may have no dimensions for any type. Messages call the value
    /// `what`.
    pub(super) fn check_rank(&mut self, at: At, what: &str, sharding: &Sharding, ty: &Type) {
        let rank = match ty {
            Type::Tensor(t) => t.rank(),
            _ => 0,
        };
        // A sharding on a single device need not mention the dimensions.
        if sharding.rank() != rank && !(sharding.mesh.is_maximal() && sharding.rank() == 0) {
            self.report(at, |loc| mistakes::sharding_rank(loc, what, sharding.rank(), ty));
        }
    }
}

// ── meshes

impl<'t> Parser<'t> {
    fn mesh_or_name(&mut self) -> Parsed<Arc<Mesh>> {
        if self.eat("mesh") {
            return self.mesh_body("".into()).map(Arc::new);
        }
        self.mesh_by_name()
    }

    fn mesh_by_name(&mut self) -> Parsed<Arc<Mesh>> {
        let at = self.at();
        let name = self.symbol()?;
        if let Some(mesh) = self.meshes.get(&name) {
            return Ok(mesh.clone());
        }
        let known: Vec<Arc<str>> = self.meshes.list().iter().map(|m| m.name.clone()).collect();
        let known: Vec<&str> = known.iter().map(|n| &**n).collect();
        self.report(at, |loc| mistakes::unknown_mesh(loc, &name, &known));
        Err(Failed)
    }

    /// Reads `<["x"=4, "y"=2], device_ids=[..]>`.
    pub(super) fn mesh_body(&mut self, name: Arc<str>) -> Parsed<Mesh> {
        let at = self.at();
        if self.is_kind(TokenKind::Hash) && self.tok_text() == "#sdy.mesh" {
            self.bump();
        }
        self.expect("<")?;
        let axes = self.list("[", "]", |p| {
            let name = p.string("an axis, as \"x\"=2")?;
            p.expect("=")?;
            Ok((name, p.size()?))
        })?;
        let mut ids = None;
        if self.eat(",") {
            self.expect_all("device_ids=")?;
            ids = Some(self.list("[", "]", Self::size)?);
        }
        self.expect(">")?;
        self.checked_mesh(at, name, &axes, ids)
    }

    fn checked_mesh(
        &mut self,
        at: At,
        name: Arc<str>,
        axes: &[(Arc<str>, usize)],
        ids: Option<Vec<usize>>,
    ) -> Parsed<Mesh> {
        let mesh = Mesh::new(name, axes.iter().map(|(n, s)| (&**n, *s)));
        let mesh = match ids {
            Some(ids) => mesh.and_then(|m| m.with_device_ids(ids)),
            None => mesh,
        };
        mesh.map_err(|e| {
            self.report(at, |loc| e.diagnostic(loc));
            Failed
        })
    }

    /// Reads `<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>`.
    pub(super) fn mesh_axes(&mut self) -> Parsed<Attr> {
        self.expect_all("<mesh =")?;
        let mesh = if self.is_kind(TokenKind::Hash) && self.tok_text() == "#stablehlo.mesh" {
            self.bump();
            Arc::new(self.stablehlo_mesh()?)
        } else {
            self.mesh_by_name()?
        };
        self.expect_all(", axes =")?;
        let raw = self.list("[", "]", Self::axis_ref_record)?;
        self.expect(">")?;
        Ok(self.axes_attr(&raw, &mesh))
    }

    pub(super) fn short_mesh_axes(&mut self) -> Parsed<Attr> {
        self.expect("<")?;
        let mesh = self.mesh_or_name()?;
        self.expect(",")?;
        let raw = self.raw_axes()?;
        self.expect(">")?;
        Ok(self.axes_attr(&raw, &mesh))
    }

    /// Reads `<axes = [#stablehlo.mesh_axis<name = "x", size = 2>], device_ids = dense<..>>`.
    fn stablehlo_mesh(&mut self) -> Parsed<Mesh> {
        let at = self.at();
        self.expect_all("<axes =")?;
        let axes = self.list("[", "]", |p| {
            p.hash_name("#stablehlo.mesh_axis")?;
            p.expect_all("<name =")?;
            let name = p.string("an axis' name")?;
            p.expect_all(", size =")?;
            let size = p.size()?;
            p.expect(">")?;
            Ok((name, size))
        })?;
        let mut ids = None;
        if self.eat(",") {
            self.expect_all("device_ids =")?;
            let at = self.at();
            let sizes = self.attr()?.to_sizes();
            ids = Some(sizes.ok_or_else(|| {
                self.fail(at, "mesh", "device ids must be integers that are not negative".to_string())
            })?);
        }
        self.expect(">")?;
        self.checked_mesh(at, "".into(), &axes, ids)
    }

    fn hash_name(&mut self, name: &str) -> Parsed<()> {
        if !self.is_kind(TokenKind::Hash) || self.tok_text() != name {
            return Err(self.unexpected(&format!("`{name}`")));
        }
        self.bump();
        Ok(())
    }

    /// Reads `#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>`, where the second field may be absent.
    fn axis_ref_record(&mut self) -> Parsed<RawAxis> {
        let at = self.at();
        self.hash_name("#stablehlo.axis_ref")?;
        self.expect_all("<name =")?;
        let name = self.string("an axis' name")?;
        let mut part = None;
        if self.eat(",") {
            self.expect_all("sub_axis_info = (")?;
            let pre_size = self.size()?;
            self.expect(")")?;
            part = Some((pre_size, self.size()?));
        }
        self.expect(">")?;
        Ok(RawAxis { name, part, at })
    }
}

// ── axes whose mesh the op knows

impl<'t> Parser<'t> {
    /// Returns true if the next attribute is `#sdy<manual_axes{..}>` or another one with axes but no mesh.
    pub(super) fn is_axes_without_mesh(&self) -> bool {
        if !self.is_kind(TokenKind::Hash) || self.tok_text() != "#sdy" {
            return false;
        }
        let open = super::lexer::token(self.text, self.tok.end);
        let word = super::lexer::token(self.text, open.end);
        AXES_WITHOUT_MESH.contains(&&self.text[word.start..word.end])
    }

    /// Reads an attribute that [`Self::is_axes_without_mesh`] found, when the mesh is known.
    pub(super) fn axes_of_mesh(&mut self, mesh: &Arc<Mesh>) -> Parsed<Attr> {
        self.hash_name("#sdy")?;
        self.expect("<")?;
        let attr = match self.word("a list of axes")? {
            "list_of_axis_ref_lists" => {
                let raw = self.raw_axes_per_dim()?;
                self.axes_per_dim_attr(&raw, mesh)
            }
            "all_to_all_param_list" => {
                let raw = self.raw_all_to_all_params()?;
                self.all_to_all_params_attr(&raw, mesh)
            }
            _ => {
                let raw = self.raw_axes()?;
                self.axes_attr(&raw, mesh)
            }
        };
        self.expect(">")?;
        Ok(attr)
    }

    pub fn axes_attr(&mut self, raw: &[RawAxis], mesh: &Arc<Mesh>) -> Attr {
        Attr::Axes { mesh: mesh.clone(), axes: self.resolve_axes(raw, mesh) }
    }

    pub fn axes_per_dim_attr(&mut self, raw: &[Vec<RawAxis>], mesh: &Arc<Mesh>) -> Attr {
        let dims = raw.iter().map(|axes| self.resolve_axes(axes, mesh)).collect();
        Attr::AxesPerDim { mesh: mesh.clone(), dims }
    }

    /// Reads `[{"x"}: 0->2, ..]`.
    pub fn raw_all_to_all_params(&mut self) -> Parsed<Vec<(Vec<RawAxis>, i64, i64)>> {
        self.list("[", "]", |p| {
            let axes = p.raw_axes()?;
            p.expect(":")?;
            let source = p.int()?;
            p.expect("->")?;
            Ok((axes, source, p.int()?))
        })
    }

    pub fn all_to_all_params_attr(&mut self, raw: &[(Vec<RawAxis>, i64, i64)], mesh: &Arc<Mesh>) -> Attr {
        let items = raw.iter().map(|(axes, source, target)| {
            let fields = Attrs::new()
                .with("axes", self.axes_attr(axes, mesh))
                .with("src_dim", Attr::int(*source))
                .with("tgt_dim", Attr::int(*target));
            Attr::Record { name: "sdy.all_to_all_param".into(), fields }
        });
        Attr::Array(items.collect())
    }
}

// ── printing

fn write_axis(out: &mut String, mesh: &Mesh, axis: AxisRef) {
    out.push_str(&escape(mesh.axis_name(axis.axis)));
    if let Some(sub) = axis.sub {
        write!(out, ":{sub}").expect("writing to a string");
    }
}

/// Writes axes as in `"x", "y":(1)2`, where `(1)2` is the part of size 2 after a part of size 1.
fn write_axis_list(out: &mut String, mesh: &Mesh, axes: &[AxisRef]) {
    for (i, &axis) in axes.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_axis(out, mesh, axis);
    }
}

pub(super) fn write_axes(out: &mut String, mesh: &Mesh, axes: &[AxisRef]) {
    out.push('{');
    write_axis_list(out, mesh, axes);
    out.push('}');
}

pub(super) fn write_axes_per_dim(out: &mut String, mesh: &Mesh, dims: &[Vec<AxisRef>]) {
    out.push('[');
    for (i, axes) in dims.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_axes(out, mesh, axes);
    }
    out.push(']');
}

pub(super) fn write_named_axes(out: &mut String, name: &str, mesh: &Mesh, axes: &[AxisRef]) {
    write!(out, "#sdy<{name}").expect("writing to a string");
    write_axes(out, mesh, axes);
    out.push('>');
}

/// Writes `<["x"=4, "y"=2], device_ids=[1, 0]>`.
pub(super) fn write_mesh_body(out: &mut String, mesh: &Mesh) {
    out.push_str("<[");
    for (i, axis) in mesh.axes.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(out, "{comma}{}={}", escape(&axis.name), axis.size).expect("writing to a string");
    }
    out.push(']');
    if let Some(ids) = &mesh.device_ids {
        out.push_str(", device_ids=[");
        for (i, id) in ids.iter().enumerate() {
            write!(out, "{}{id}", if i > 0 { ", " } else { "" }).expect("writing to a string");
        }
        out.push(']');
    }
    out.push('>');
}

fn write_mesh_or_name(out: &mut String, mesh: &Mesh) {
    if mesh.name.is_empty() {
        out.push_str("mesh");
        write_mesh_body(out, mesh);
    } else {
        write_symbol(out, &mesh.name);
    }
}

pub(super) fn write_short_mesh_axes(out: &mut String, mesh: &Mesh, axes: &[AxisRef]) {
    out.push('<');
    write_mesh_or_name(out, mesh);
    out.push_str(", ");
    write_axes(out, mesh, axes);
    out.push('>');
}

/// Writes `<@mesh, [{"x"}, {?}p1], replicated={"y"}, unreduced={"z"}>`. What is absent is left out. A mesh without a
/// name is written out. Reduced axes are not written.
pub(super) fn write_sharding(out: &mut String, sharding: &Sharding) {
    let mesh = &sharding.mesh;
    out.push('<');
    write_mesh_or_name(out, mesh);
    out.push_str(", [");
    for (i, dim) in sharding.dims.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_dim(out, mesh, dim);
    }
    out.push(']');
    for (word, axes) in [("replicated", &sharding.replicated), ("unreduced", &sharding.unreduced)] {
        if !axes.is_empty() {
            write!(out, ", {word}=").expect("writing to a string");
            write_axes(out, mesh, axes);
        }
    }
    out.push('>');
}

fn write_dim(out: &mut String, mesh: &Mesh, dim: &DimSharding) {
    out.push('{');
    write_axis_list(out, mesh, &dim.axes);
    if dim.is_open {
        out.push_str(if dim.axes.is_empty() { "?" } else { ", ?" });
    }
    out.push('}');
    if let Some(p) = dim.priority {
        write!(out, "p{p}").expect("writing to a string");
    }
}

pub(super) fn write_shardings<'a>(out: &mut String, list: impl Iterator<Item = &'a Sharding>) {
    out.push('[');
    for (i, sharding) in list.enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        write_sharding(out, sharding);
    }
    out.push(']');
}

/// Writes `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [..]>`. A mesh without a name is written out.
pub(super) fn write_mesh_axes(out: &mut String, mesh: &Mesh, axes: &[AxisRef]) {
    out.push_str("#stablehlo.replica_group_mesh_axes<mesh = ");
    if mesh.name.is_empty() {
        write_stablehlo_mesh(out, mesh)
    } else {
        write_symbol(out, &mesh.name)
    }
    out.push_str(", axes = [");
    for (i, axis) in axes.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(out, "{comma}#stablehlo.axis_ref<name = {}", escape(mesh.axis_name(axis.axis)))
            .expect("writing to a string");
        if let Some(sub) = axis.sub {
            write!(out, ", sub_axis_info = {sub}").expect("writing to a string");
        }
        out.push('>');
    }
    out.push_str("]>");
}

fn write_stablehlo_mesh(out: &mut String, mesh: &Mesh) {
    out.push_str("#stablehlo.mesh<axes = [");
    for (i, axis) in mesh.axes.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(out, "{comma}#stablehlo.mesh_axis<name = {}, size = {}>", escape(&axis.name), axis.size)
            .expect("writing to a string");
    }
    out.push(']');
    if let Some(ids) = &mesh.device_ids {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        write!(out, ", device_ids = dense<[{}]> : tensor<{}xi64>", ids.join(", "), ids.len())
            .expect("writing to a string");
    }
    out.push('>');
}

/// Writes `#sdy<all_to_all_param_list[{"x"}: 0->2]>`. Returns false, and writes nothing, if there are no items or one
/// is something else.
pub(super) fn write_all_to_all_params(out: &mut String, items: &[Attr]) -> bool {
    let mut body = String::new();
    if items.is_empty() || !write_all_to_all_list(&mut body, items) {
        return false;
    }
    write!(out, "#sdy<all_to_all_param_list{body}>").expect("writing to a string");
    true
}

/// Writes `[{"x"}: 0->2, ..]`. Returns false if an item is something else, and has then written the items before it.
pub(super) fn write_all_to_all_list(out: &mut String, items: &[Attr]) -> bool {
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        let Attr::Record { name, fields } = item else {
            return false;
        };
        let axes = fields.get("axes").and_then(Attr::as_axes);
        let (Some((mesh, axes)), true) = (axes, &**name == "sdy.all_to_all_param") else {
            return false;
        };
        out.push_str(if i > 0 { ", " } else { "" });
        write_axes(out, mesh, axes);
        let dim = |name: &str| fields.int(name).unwrap_or(0);
        write!(out, ": {}->{}", dim("src_dim"), dim("tgt_dim")).expect("writing to a string");
    }
    out.push(']');
    true
}
