//! Facts of values and ops that are attributes in text: `sdy.sharding`, and our own `shardwise.*`, which MLIR keeps.
//! They are removed from the dictionary when an op is read, and added again when it is printed.
//!
//! | attribute | on | holds |
//! |---|---|---|
//! | `sdy.sharding` | ops, arguments, results of functions | the shardings of the values |
//! | `shardwise.no_sharding` | ops | the results without a sharding, if others have one |
//! | `shardwise.varying` | ops, arguments | the axes over which each value varies: `"{X,Y}"`, `"{*}"`, `"?"` |
//! | `shardwise.manual` | ops, arguments | the recorded states along manual axes: `"{V:(X,Y), U:Z}"`, `"?"` |
//! | `shardwise.padding` | ops, arguments | the padded dimensions: `[{dim = 0, holds = dense<0> : tensor<i32>, size = 5}]`, `[{axes = "x", dim = 0, size = 5}]`, `"?"` |
//! | `shardwise.arg_shardings`, `.arg_varying`, … | ops | the same for regions' arguments, a list for each region |
//! | `shardwise.reason` | ops | the reason for the op |

use super::form::{ResultShardings, Syntax};
use super::lexer::is_plain_word;
use super::locs;
use super::parser::{At, Parsed, Parser};
use super::print::PrintOptions;
use super::sharding::is_part;
use crate::module::main_mesh;
use crate::{Attr, Attrs, Body, ManualAxes, Module, Op, OpData, PaddedDim, TensorType, Type, Value, ValueData};
use shardwise_base::{
    Alternative, AxisIndex, AxisRef, AxisSet, DType, LayoutChange, Mesh, Reason, ReasonCause, Reshard, Sharding,
    Varying,
};
use std::sync::Arc;

const SHARDING: &str = "sdy.sharding";
pub(super) const NO_SHARDING: &str = "shardwise.no_sharding";
const ARG_SHARDINGS: &str = "shardwise.arg_shardings";
const REASON: &str = "shardwise.reason";
const ALL: [&str; 10] = [
    SHARDING,
    NO_SHARDING,
    VARYING.name,
    MANUAL.name,
    PADDING.name,
    ARG_SHARDINGS,
    VARYING.of_args,
    MANUAL.of_args,
    PADDING.of_args,
    REASON,
];

/// A fact of a value, with its form as an attribute. In the list for an op, `"?"` stands for a value that does not have
/// the fact.
pub(super) struct ValueFact {
    name: &'static str,
    /// The name of the attribute for the arguments of regions.
    of_args: &'static str,
    /// Returns true if the attribute, which is the fact of one value, may name axes. They are axes of the main mesh.
    has_axes: fn(&Attr) -> bool,
    /// Stores the fact in the data of the value. Returns `None` if the attribute is malformed, or does not fit the mesh
    /// or the value's type.
    read: fn(&Attr, Option<&Mesh>, &mut ValueData) -> Option<()>,
    show: fn(&ValueData, Option<&Mesh>) -> Option<Attr>,
}

const VARYING: ValueFact = ValueFact {
    name: "shardwise.varying",
    of_args: "shardwise.arg_varying",
    has_axes: names_axes,
    read: |attr, mesh, data| {
        data.varying = Some(parse_varying(attr.as_str()?, mesh)?);
        Some(())
    },
    show: |data, mesh| data.varying.as_ref().map(|v| Attr::Str(varying_text(v, mesh).into())),
};
const MANUAL: ValueFact = ValueFact {
    name: "shardwise.manual",
    of_args: "shardwise.arg_manual",
    has_axes: names_axes,
    read: |attr, mesh, data| {
        data.manual = Some(Arc::new(parse_manual(attr.as_str()?, mesh)?));
        Some(())
    },
    show: |data, mesh| data.manual.as_ref().map(|m| Attr::Str(manual_text(m, mesh).into())),
};
const PADDING: ValueFact = ValueFact {
    name: "shardwise.padding",
    of_args: "shardwise.arg_padding",
    has_axes: |attr| {
        let Attr::Array(dims) = attr else { return false };
        dims.iter().any(|dim| dim.as_record().is_some_and(|fields| fields.contains("axes")))
    },
    read: |attr, mesh, data| {
        data.padding = Some(Arc::new(read_padding(attr, data.ty.as_tensor()?, mesh)?));
        Some(())
    },
    show: |data, mesh| data.padding.as_ref().map(|p| padding_attr(p, mesh)),
};
const VALUE_FACTS: [&ValueFact; 3] = [&VARYING, &MANUAL, &PADDING];

/// The attributes of an op that hold facts, after they were removed from its dictionary.
pub(super) struct Taken(Attrs);

impl Taken {
    pub fn from(attrs: &mut Attrs) -> Taken {
        let mut taken = Attrs::new();
        for name in ALL {
            if let Some(attr) = attrs.remove(name) {
                taken.set(name, attr);
            }
        }
        Taken(taken)
    }
}

// ── reading

impl<'t> Parser<'t> {
    /// Stores the facts from an op's dictionary in the op, its results and the arguments of its regions. If the op has
    /// no results, `sdy.sharding` is put back into its attributes.
    pub(super) fn apply_facts(&mut self, op: Op, taken: &Taken, at: At) -> Parsed<()> {
        let Taken(taken) = taken;
        if let Some(attr) = taken.get(SHARDING) {
            self.apply_result_shardings(op, attr, taken.ints(NO_SHARDING).as_deref().unwrap_or(&[]), at)?;
        }
        let results = self.body[op].results.to_vec();
        let regions = self.body[op].regions.to_vec();
        for fact in VALUE_FACTS {
            if let Some(attr) = taken.get(fact.name) {
                self.apply_value_fact(fact, fact.name, &results, attr, at)?;
            }
            if let Some(attr) = taken.get(fact.of_args) {
                let lists = self.fact_items(attr, regions.len(), fact.of_args, at)?;
                for (&region, list) in regions.iter().zip(&lists) {
                    self.apply_value_fact(fact, fact.of_args, &self.body[region].args.clone(), list, at)?;
                }
            }
        }
        if let Some(attr) = taken.get(ARG_SHARDINGS) {
            let lists = self.fact_items(attr, regions.len(), ARG_SHARDINGS, at)?;
            for (&region, list) in regions.iter().zip(&lists) {
                self.apply_shardings(&self.body[region].args.clone(), list, at)?;
            }
        }
        if let Some(attr) = taken.get(REASON) {
            let reason = self.reason(attr).ok_or_else(|| self.bad_fact(at, REASON))?;
            self.body.op_mut(op).reason = Some(Arc::new(reason));
        }
        Ok(())
    }

    pub(super) fn bad_fact(&mut self, at: At, name: &str) -> super::Failed {
        let message = format!(
            "attribute `{name}` is malformed, has a wrong number of entries, or does not fit what it describes"
        );
        self.fail(at, "text-attribute", message)
    }

    fn bad_sharding(&mut self, at: At, expected: &str) -> super::Failed {
        self.fail(at, "text-attribute", format!("attribute `{SHARDING}` must be {expected}"))
    }

    fn fact_items(&mut self, attr: &Attr, count: usize, name: &str, at: At) -> Parsed<Vec<Attr>> {
        match attr {
            Attr::Array(items) if items.len() == count => Ok(items.clone()),
            _ => Err(self.bad_fact(at, name)),
        }
    }

    fn apply_result_shardings(&mut self, op: Op, attr: &Attr, without: &[i64], at: At) -> Parsed<()> {
        let list = match attr {
            Attr::Shardings(list) => list.clone(),
            Attr::Sharding(s) => vec![s.clone()],
            _ => {
                let form = r#"the shardings of the results, such as `#sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>`"#;
                return Err(self.bad_sharding(at, form));
            }
        };
        if self.body[op].results.is_empty() {
            // On an op without results (a call on one device), the attribute is kept.
            self.body.op_mut(op).attrs.set(SHARDING, attr.clone());
            return Ok(());
        }
        let list = list.into_iter().enumerate().map(|(i, s)| (!without.contains(&(i as i64))).then_some(s)).collect();
        self.set_result_shardings(op, list, at)
    }

    /// Sets the sharding of each result of `op`. Reports a sharding whose rank does not fit, and sets it. Reports a
    /// list whose length differs from the number of results, and then sets no sharding. Never fails.
    pub(super) fn set_result_shardings(&mut self, op: Op, list: Vec<Option<Sharding>>, at: At) -> Parsed<()> {
        let results = self.body[op].results.to_vec();
        if list.len() != results.len() {
            let (given, expected) = (list.len(), results.len());
            self.report(at, |loc| super::mistakes::sharding_count(loc, given, expected, "result"));
            return Ok(());
        }
        for (i, (v, sharding)) in results.into_iter().zip(list).enumerate() {
            if let Some(s) = &sharding {
                let ty = self.body.ty(v).clone();
                self.check_rank(at, &format!("result {i}"), s, &ty);
            }
            self.body.value_mut(v).sharding = sharding;
        }
        Ok(())
    }

    fn apply_shardings(&mut self, values: &[Value], attr: &Attr, at: At) -> Parsed<()> {
        let items = self.fact_items(attr, values.len(), ARG_SHARDINGS, at)?;
        for (i, (&v, item)) in values.iter().zip(items).enumerate() {
            if let Attr::Sharding(s) = &item {
                let ty = self.body.ty(v).clone();
                self.check_rank(at, &format!("argument {i}"), s, &ty);
            }
            self.body.value_mut(v).sharding = match item {
                Attr::Sharding(s) => Some(s),
                Attr::Unit => None,
                _ => return Err(self.bad_fact(at, ARG_SHARDINGS)),
            };
        }
        Ok(())
    }

    /// Stores a fact in values, from a list with an item for each. Stores nothing for an item `"?"`. Messages call the
    /// attribute with the list `name`.
    fn apply_value_fact(&mut self, fact: &ValueFact, name: &str, values: &[Value], attr: &Attr, at: At) -> Parsed<()> {
        let items = self.fact_items(attr, values.len(), name, at)?;
        let mesh = self.main_mesh();
        let has_axes = items.iter().any(fact.has_axes);
        if self.facts_at.is_none() && has_axes && mesh.as_ref().is_some_and(|m| !m.axes.is_empty()) {
            self.facts_at = Some(at);
        }
        for (&v, item) in values.iter().zip(items) {
            let known = match item.as_str() {
                Some("?") => Some(()),
                _ => (fact.read)(&item, mesh.as_deref(), self.body.value_mut(v)),
            };
            known.ok_or_else(|| self.bad_fact(at, name))?;
        }
        Ok(())
    }

    /// Reports the first facts of values whose axes were read as those of a mesh, if that mesh is not the main mesh of
    /// `module`, which has been read completely. This happens if the main mesh was not known yet.
    pub(super) fn check_mesh_of_facts(&mut self, module: &Module) {
        let (Some(at), Some(read)) = (self.facts_at, self.main_mesh()) else { return };
        if let Some(main) = module.main_mesh().filter(|main| **main != read) {
            self.report(at, |loc| super::mistakes::mesh_of_facts(loc, &read, main));
        }
    }

    /// Returns the mesh to which varying and manual axes belong, or `None` if no mesh has been read.
    pub(super) fn main_mesh(&self) -> Option<Arc<Mesh>> {
        main_mesh(self.meshes.list()).cloned()
    }

    fn reason(&mut self, attr: &Attr) -> Option<Reason> {
        let fields = attr.as_record()?;
        let text = |name: &str| -> Option<Arc<str>> {
            match fields.get(name) {
                Some(Attr::Str(s)) => Some(s.clone()),
                Some(_) => None,
                None => Some("".into()),
            }
        };
        let alternative = match fields.get("alternative") {
            Some(a) => {
                let fields = a.as_record()?;
                let bytes = fields.int("bytes_received")?;
                Some(Alternative { what: fields.str("what")?.into(), bytes_received: bytes as u64 })
            }
            None => None,
        };
        let consumer_loc = match fields.get("consumer_loc") {
            Some(Attr::Opaque(text)) => self.loc_from(text).ok()?,
            Some(_) => return None,
            None => shardwise_base::Loc::UNKNOWN,
        };
        let changes = match fields.get("changes") {
            Some(Attr::Array(items)) => items.iter().map(|a| layout_change(a.as_record()?)).collect::<Option<_>>()?,
            Some(_) => return None,
            None => vec![],
        };
        let step = if fields.get("step").is_some() { fields.size("step")? } else { 0 };
        Some(Reason {
            cause: cause(fields)?,
            consumer: text("consumer")?,
            consumer_loc,
            factor: text("factor")?,
            won: text("won")?,
            lost: text("lost")?,
            alternative,
            bytes_received: fields.int("bytes_received")? as u64,
            reshard: reshard(fields.get("reshard"))?,
            step,
            forced: reshard(fields.get("forced"))?,
            changes,
            text: text("text")?,
        })
    }

    /// Moves the facts of the function's argument `v` from its attributes to the value. Messages about the rank of its
    /// sharding call it `name`.
    pub(super) fn apply_arg_facts(&mut self, v: Value, name: &str, attrs: &mut Attrs, at: At) -> Parsed<()> {
        if let Some(attr) = attrs.remove(SHARDING) {
            let sharding = self.one_sharding(attr, at)?;
            let ty = self.body.ty(v).clone();
            self.check_rank(at, name, &sharding, &ty);
            self.body.value_mut(v).sharding = Some(sharding);
        }
        for fact in VALUE_FACTS {
            if let Some(attr) = attrs.remove(fact.name) {
                self.apply_value_fact(fact, fact.name, &[v], &Attr::Array(vec![attr]), at)?;
            }
        }
        Ok(())
    }

    pub(super) fn take_result_sharding(&mut self, attrs: &mut Attrs, at: At) -> Parsed<Option<Sharding>> {
        attrs.remove(SHARDING).map(|attr| self.one_sharding(attr, at)).transpose()
    }

    fn one_sharding(&mut self, attr: Attr, at: At) -> Parsed<Sharding> {
        match attr {
            Attr::Sharding(s) => Ok(s),
            _ => Err(self.bad_sharding(at, r#"a sharding, such as `#sdy.sharding<@mesh, [{"x"}, {}]>`"#)),
        }
    }
}

fn cause(fields: &Attrs) -> Option<ReasonCause> {
    Some(match fields.str("cause")? {
        "operand" => ReasonCause::Operand { index: fields.size("index")? },
        "reduction" => ReasonCause::Reduction,
        "result" => ReasonCause::Result,
        "program" => ReasonCause::Program,
        "strategy" => ReasonCause::Strategy,
        _ => return None,
    })
}

/// Reads a reshard. Returns `Some(None)` if `attr` is absent. Returns `None` if it is not the attribute of a reshard,
/// or if its shardings have another rank than its type or are on meshes with different devices.
fn reshard(attr: Option<&Attr>) -> Option<Option<Arc<Reshard>>> {
    let Some(attr) = attr else { return Some(None) };
    let fields = attr.as_record()?;
    let (Some(Attr::Sharding(from)), Some(Attr::Sharding(to)), Some(Attr::Type(Type::Tensor(ty)))) =
        (fields.get("from"), fields.get("to"), fields.get("type"))
    else {
        return None;
    };
    let fits = from.rank() == ty.rank() && to.rank() == ty.rank() && from.mesh.same_devices(&to.mesh);
    let (from, to) = (from.clone(), to.clone());
    fits.then(|| Some(Arc::new(Reshard { from, to, shape: ty.shape.clone(), dtype: ty.dtype })))
}

fn layout_change(fields: &Attrs) -> Option<LayoutChange> {
    let number = |name: &str| fields.int(name).map(|n| n as u64);
    Some(LayoutChange {
        tensor: fields.str("tensor")?.into(),
        propagated: fields.str("propagated")?.into(),
        chosen: fields.str("chosen")?.into(),
        value_count: number("value_count")?,
        bytes_propagated: number("bytes_propagated")?,
        bytes_chosen: number("bytes_chosen")?,
    })
}

/// Parses `{*}`, `{}`, or axes such as `{X,Y:(1)2,#1}`, each in a form that [`parse_axis`] reads. Returns `None` for
/// any other text, and for axes if `mesh` is `None`.
fn parse_varying(text: &str, mesh: Option<&Mesh>) -> Option<Varying> {
    match text {
        "{}" => return Some(Varying::Nowhere),
        "{*}" => return Some(Varying::Everywhere),
        _ => {}
    }
    let (inner, mesh) = (text.strip_prefix('{')?.strip_suffix('}')?, mesh?);
    Some(Varying::over(mesh, parse_axes(inner, mesh)?))
}

/// Parses `{V:X, U:(Y,Z:(1)2)}`, with axes in the forms that [`parse_axis`] reads. `V` is for varying, `U` for
/// unreduced and `R` for reduced axes. The parentheses of a list may be absent. Returns `None` for any other text, also
/// for `{}`, if there are two lists for one state, if two of the lists share a part of an axis, and if `mesh` is
/// `None`.
fn parse_manual(text: &str, mesh: Option<&Mesh>) -> Option<ManualAxes> {
    let mesh = mesh?;
    let mut manual = ManualAxes::default();
    let mut states = vec![];
    for part in text.strip_prefix('{')?.strip_suffix('}')?.split(", ") {
        let (state, list) = part.split_once(':')?;
        if states.contains(&state) {
            return None;
        }
        states.push(state);
        let inner = list.strip_prefix('(').and_then(|l| l.strip_suffix(')'));
        let axes = AxisSet::new(mesh, parse_axes(inner.unwrap_or(list), mesh)?);
        match state {
            "V" => manual.varying = axes,
            "U" => manual.unreduced = axes,
            "R" => manual.reduced = axes,
            _ => return None,
        }
    }
    let ManualAxes { varying, unreduced, reduced } = &manual;
    let pairs = [(varying, unreduced), (varying, reduced), (unreduced, reduced)];
    pairs.iter().all(|(a, b)| a.and(b, mesh).is_empty()).then_some(manual)
}

/// Returns true if varying or manual axes in their form as text may name an axis: for a text other than `?` and `{}`,
/// so also for `{*}`.
fn names_axes(attr: &Attr) -> bool {
    !matches!(attr.as_str(), None | Some("?" | "{}"))
}

/// Reads the padded dimensions of a tensor. Returns `None` if `attr` is malformed, or if the dimensions are not in
/// ascending order or do not fit the tensor. Without a mesh, also returns `None` if a dimension has axes.
fn read_padding(attr: &Attr, ty: &TensorType, mesh: Option<&Mesh>) -> Option<Vec<PaddedDim>> {
    let Attr::Array(items) = attr else { return None };
    let dims: Vec<PaddedDim> =
        items.iter().map(|item| read_padded_dim(item.as_record()?, ty, mesh)).collect::<Option<_>>()?;
    dims.is_sorted_by(|a, b| a.dim < b.dim).then_some(dims)
}

fn read_padded_dim(fields: &Attrs, ty: &TensorType, mesh: Option<&Mesh>) -> Option<PaddedDim> {
    let (dim, size) = (fields.size("dim")?, fields.size("size")?);
    let holds = match fields.get("holds") {
        None => None,
        Some(Attr::Dense(element)) if element.dtype() == ty.dtype && element.rank() == 0 => Some(element.clone()),
        Some(_) => return None,
    };
    let axes = match (fields.get("axes"), mesh) {
        (None, _) => vec![],
        (Some(Attr::Str(list)), Some(mesh)) => parse_axes(list, mesh).filter(|axes| AxisRef::are_disjoint(axes))?,
        (Some(_), _) => return None,
    };
    let blocks = mesh.map_or(1, |mesh| AxisRef::total_size(mesh, &axes));
    ty.shape.get(dim).filter(|&&block| block.checked_mul(blocks).is_some_and(|padded| size < padded))?;
    Some(PaddedDim { dim, size, axes, holds })
}

fn parse_axes(list: &str, mesh: &Mesh) -> Option<Vec<AxisRef>> {
    list.split(',').map(|part| parse_axis(part, mesh)).collect()
}

/// Parses an axis by its name or by its position from 0, `X` or `#1`, or a part of it, `X:(1)2` or `#1:(1)2`. Returns
/// `None` for another text, and for an axis or a part of an axis that `mesh` does not have.
fn parse_axis(text: &str, mesh: &Mesh) -> Option<AxisRef> {
    let (name, part) = text.split_once(':').map_or((text, None), |(n, p)| (n, Some(p)));
    let axis = match name.strip_prefix('#') {
        Some(index) => AxisIndex::new(index.parse().ok().filter(|&i| i < mesh.axes.len())?),
        None => mesh.axis(name)?,
    };
    let Some(part) = part else { return Some(AxisRef::full(axis)) };
    let (pre_size, size) = part.strip_prefix('(')?.split_once(')')?;
    let (pre_size, size) = (pre_size.parse().ok()?, size.parse().ok()?);
    let divides = is_part(pre_size, size, mesh.axis_size(axis));
    divides.then(|| AxisRef::sub(mesh, axis, pre_size, size))
}

// ── printing

/// Returns the attributes of an op, with the facts of the op and its values that `show` selects. The shardings of the
/// results are among them if `syntax` keeps these in an attribute, whatever `show` selects.
pub(super) fn with_facts(module: &Module, body: &Body, data: &OpData, syntax: Syntax, show: &PrintOptions) -> Attrs {
    let mut attrs = data.attrs.clone();
    if syntax.results == ResultShardings::Attribute {
        add_result_shardings(&mut attrs, body, &data.results);
    }
    if !show.facts {
        return attrs;
    }
    let mesh = module.main_mesh().map(|m| &**m);
    let args = || data.regions.iter().flat_map(|&r| &body[r].args);
    for fact in shown_facts(show) {
        let shown = |v: &Value| (fact.show)(&body[*v], mesh);
        let list =
            |values: &[Value]| Attr::Array(values.iter().map(|v| shown(v).unwrap_or_else(|| Attr::str("?"))).collect());
        if data.results.iter().any(|v| shown(v).is_some()) {
            attrs.set(fact.name, list(&data.results));
        }
        if args().any(|v| shown(v).is_some()) {
            attrs.set(fact.of_args, Attr::Array(data.regions.iter().map(|&r| list(&body[r].args)).collect()));
        }
    }
    if args().any(|&v| body[v].sharding.is_some()) {
        let list = |values: &[Value]| {
            Attr::Array(values.iter().map(|&v| body.sharding(v).cloned().map_or(Attr::Unit, Attr::Sharding)).collect())
        };
        attrs.set(ARG_SHARDINGS, Attr::Array(data.regions.iter().map(|&r| list(&body[r].args)).collect()));
    }
    if let Some(reason) = &data.reason {
        attrs.set(REASON, reason_attr(reason));
    }
    attrs
}

/// Returns `attrs`, the attributes of a function's argument, with its sharding and those of its other facts that `show`
/// selects.
pub(super) fn with_arg_facts(module: &Module, body: &Body, v: Value, attrs: &Attrs, show: &PrintOptions) -> Attrs {
    let mut attrs = with_sharding(attrs, body.sharding(v));
    let mesh = module.main_mesh().map(|m| &**m);
    for fact in shown_facts(show).filter(|_| show.facts) {
        if let Some(attr) = (fact.show)(&body[v], mesh) {
            attrs.set(fact.name, attr);
        }
    }
    attrs
}

fn shown_facts(show: &PrintOptions) -> impl Iterator<Item = &'static ValueFact> {
    let varying = show.varying.then_some(&VARYING);
    varying.into_iter().chain([&MANUAL, &PADDING])
}

pub(super) fn with_sharding(attrs: &Attrs, sharding: Option<&Sharding>) -> Attrs {
    match sharding {
        Some(s) => attrs.clone().with(SHARDING, Attr::Sharding(s.clone())),
        None => attrs.clone(),
    }
}

fn add_result_shardings(attrs: &mut Attrs, body: &Body, results: &[Value]) {
    let Some(some) = results.iter().find_map(|&v| body.sharding(v)) else {
        return;
    };
    // Shardy needs a sharding for each result: an open one where there is none.
    let list = results.iter().map(|&v| body.sharding(v).cloned().unwrap_or_else(|| open_sharding(some, body, v)));
    attrs.set(SHARDING, Attr::Shardings(list.collect()));
    let without: Vec<i64> = (0..).zip(results).filter(|(_, v)| body.sharding(**v).is_none()).map(|(i, _)| i).collect();
    if !without.is_empty() {
        attrs.set(NO_SHARDING, Attr::Ints { values: without, dtype: DType::I64 });
    }
}

pub(super) fn open_sharding(like: &Sharding, body: &Body, v: Value) -> Sharding {
    Sharding::open(&like.mesh, body.ty(v).shape().len())
}

fn varying_text(varying: &Varying, mesh: Option<&Mesh>) -> String {
    match varying {
        Varying::Nowhere => "{}".to_string(),
        Varying::Everywhere => "{*}".to_string(),
        Varying::Over(axes) => format!("{{{}}}", axes_text(axes, mesh)),
    }
}

fn manual_text(manual: &ManualAxes, mesh: Option<&Mesh>) -> String {
    let states = [("V", &manual.varying), ("U", &manual.unreduced), ("R", &manual.reduced)];
    let shown = states.into_iter().filter(|(_, axes)| !axes.is_empty()).map(|(state, axes)| match axes.axes() {
        [one] => format!("{state}:{}", axis_text(*one, mesh)),
        many => format!("{state}:({})", axes_text(many, mesh)),
    });
    format!("{{{}}}", shown.collect::<Vec<_>>().join(", "))
}

fn padding_attr(padding: &[PaddedDim], mesh: Option<&Mesh>) -> Attr {
    let shown = |p: &PaddedDim| {
        let mut fields = Attrs::new().with("dim", Attr::int(p.dim as i64)).with("size", Attr::int(p.size as i64));
        if let Some(element) = &p.holds {
            fields.set("holds", Attr::Dense(element.clone()));
        }
        if !p.axes.is_empty() {
            fields.set("axes", Attr::Str(axes_text(&p.axes, mesh).into()));
        }
        Attr::Dict(fields)
    };
    Attr::Array(padding.iter().map(shown).collect())
}

fn axes_text(axes: &[AxisRef], mesh: Option<&Mesh>) -> String {
    axes.iter().map(|&a| axis_text(a, mesh)).collect::<Vec<_>>().join(",")
}

fn axis_text(axis: AxisRef, mesh: Option<&Mesh>) -> String {
    let name = mesh.and_then(|m| m.axes.get(axis.axis.index())).map(|a| &*a.name).filter(|n| is_plain_word(n));
    let name = name.map_or_else(|| format!("#{}", axis.axis.index()), str::to_string);
    match axis.sub {
        Some(sub) => format!("{name}:{sub}"),
        None => name,
    }
}

fn bytes(n: u64) -> Attr {
    Attr::Int { value: n as i64, dtype: Some(DType::U64) }
}

fn reason_attr(reason: &Reason) -> Attr {
    let (cause, index) = match reason.cause {
        ReasonCause::Operand { index } => ("operand", Some(index)),
        ReasonCause::Reduction => ("reduction", None),
        ReasonCause::Result => ("result", None),
        ReasonCause::Program => ("program", None),
        ReasonCause::Strategy => ("strategy", None),
    };
    let mut fields = Attrs::new().with("cause", Attr::str(cause)).with("bytes_received", bytes(reason.bytes_received));
    if let Some(index) = index {
        fields.set("index", Attr::int(index as i64));
    }
    let texts = [
        ("consumer", &reason.consumer),
        ("factor", &reason.factor),
        ("won", &reason.won),
        ("lost", &reason.lost),
        ("text", &reason.text),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        fields.set(name, Attr::Str(text.clone()));
    }
    if !reason.consumer_loc.is_unknown() {
        let mut text = "loc(".to_string();
        locs::write_loc(&mut text, &reason.consumer_loc);
        fields.set("consumer_loc", Attr::Opaque((text + ")").into()));
    }
    if let Some(a) = &reason.alternative {
        let alternative =
            Attrs::new().with("what", Attr::Str(a.what.clone())).with("bytes_received", bytes(a.bytes_received));
        fields.set("alternative", Attr::Dict(alternative));
    }
    for (name, moved) in [("reshard", &reason.reshard), ("forced", &reason.forced)] {
        if let Some(moved) = moved {
            fields.set(name, reshard_attr(moved));
        }
    }
    if reason.step > 0 {
        fields.set("step", Attr::int(reason.step as i64));
    }
    if !reason.changes.is_empty() {
        fields.set("changes", Attr::Array(reason.changes.iter().map(change_attr).collect()));
    }
    Attr::Dict(fields)
}

fn reshard_attr(moved: &Reshard) -> Attr {
    let fields = Attrs::new()
        .with("from", Attr::Sharding(moved.from.clone()))
        .with("to", Attr::Sharding(moved.to.clone()))
        .with("type", Attr::Type(Type::tensor(moved.dtype, moved.shape.clone())));
    Attr::Dict(fields)
}

fn change_attr(change: &LayoutChange) -> Attr {
    let fields = Attrs::new()
        .with("tensor", Attr::Str(change.tensor.clone()))
        .with("propagated", Attr::Str(change.propagated.clone()))
        .with("chosen", Attr::Str(change.chosen.clone()))
        .with("value_count", Attr::int(change.value_count as i64))
        .with("bytes_propagated", bytes(change.bytes_propagated))
        .with("bytes_chosen", bytes(change.bytes_chosen));
    Attr::Dict(fields)
}
