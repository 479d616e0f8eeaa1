//! Prints modules, functions and ops so that MLIR and [`super::parse`] can read them.

use super::attr_print::{filtered, is_property, write_attr, write_dict, write_symbol};
use super::facts;
use super::form::{Form, ResultShardings, Syntax, convert_numbered};
use super::locs::LocTable;
use super::module::mesh_facts;
use super::names::Names;
use super::types::{write_results, write_types};
use super::{records, sharding};
use crate::{Attr, Attrs, Body, Func, Module, Op, OpView, Region, Type, Value, Visibility};
use shardwise_base::{Loc, Sharding, budget};
use std::fmt::Write;

/// The parts of a module that are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrintOptions {
    /// Prints the locations of the module and of each function, op and argument, as aliases defined at the end.
    pub locations: bool,
    /// Prints the module, its meshes, its functions and every op in the generic form.
    pub generic: bool,
    /// Prints those facts of ops and values that are `shardwise.*` attributes in text, such as reasons and shardings of
    /// inner arguments. The varying axes also need `varying`. `shardwise.no_sharding` does not depend on this option,
    /// but on `as_mlir`.
    pub facts: bool,
    /// Prints as MLIR does: without the word `public` before a function's name, with the ops' own names for values, and
    /// without `shardwise.no_sharding`.
    pub as_mlir: bool,
    /// Prints `shardwise.varying` and `shardwise.arg_varying`, if facts are printed.
    pub varying: bool,
}

impl Default for PrintOptions {
    /// Returns the options that print the whole meaning of the module, in the ops' own forms where they can express the
    /// op, without locations.
    fn default() -> PrintOptions {
        PrintOptions { locations: false, generic: false, facts: true, varying: true, as_mlir: false }
    }
}

impl PrintOptions {
    /// Prints what the default options print, and locations too. Reading the text results in an equal module.
    pub const EXACT: PrintOptions =
        PrintOptions { locations: true, generic: false, facts: true, varying: true, as_mlir: false };

    /// Prints what MLIR prints, without the facts of values and ops that only this crate reads.
    pub const MLIR: PrintOptions =
        PrintOptions { locations: false, generic: false, facts: false, varying: false, as_mlir: true };

    /// Returns the options without varying axes, for readers who want to see how a program works.
    pub fn without_varying(self) -> PrintOptions {
        PrintOptions { varying: false, ..self }
    }

    pub fn with_locations(self) -> PrintOptions {
        PrintOptions { locations: true, ..self }
    }

    pub const fn as_generic(self) -> PrintOptions {
        PrintOptions { generic: true, ..self }
    }
}

/// Writes a text. The ops' own forms are printed through its public methods.
pub struct Printer<'m> {
    out: String,
    module: &'m Module,
    options: PrintOptions,
    indent: usize,
    names: Names,
    locs: LocTable,
    /// The attributes of the op being printed, with its facts.
    attrs: Attrs,
    /// True if the op being printed is in a function's own region, where `func.` is left out.
    is_in_func: bool,
}

/// Returns the text of a module.
pub fn print(module: &Module, options: &PrintOptions) -> String {
    let mut p = Printer::new(module, *options);
    p.module();
    p.out
}

/// Returns the text of an op and its regions, as it would be printed inside its function. The definitions of locations
/// are not printed.
pub fn print_op(module: &Module, body: &Body, op: Op, options: &PrintOptions) -> String {
    let mut p = Printer::new(module, *options);
    p.names = p.names_of(body);
    p.is_in_func = body[body.entry()].ops.contains(&op);
    p.op(&module.view(body, op));
    p.out
}

impl<'m> Printer<'m> {
    fn new(module: &'m Module, options: PrintOptions) -> Printer<'m> {
        Printer {
            out: String::new(),
            module,
            options,
            indent: 0,
            names: Names::of(&Body::new()),
            locs: LocTable::default(),
            attrs: Attrs::new(),
            is_in_func: false,
        }
    }

    fn names_of(&self, body: &Body) -> Names {
        if self.options.as_mlir { Names::as_mlir(self.module, body) } else { Names::of(body) }
    }

    // ── the parts of forms

    /// Writes text verbatim.
    pub fn write(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Starts a new line with the current indentation.
    pub fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.indent));
    }

    pub(super) fn trim_space(&mut self) {
        if self.out.ends_with(' ') {
            self.out.pop();
        }
    }

    /// Writes the name of a value, such as `%0`, `%arg1` or `%2#1`, or `%cst` if names are printed as MLIR prints them.
    pub fn operand(&mut self, v: Value) {
        self.names.write(&mut self.out, v);
    }

    /// Writes `%0, %1`.
    pub fn operands(&mut self, values: impl Iterator<Item = Value>) {
        for (i, v) in values.enumerate() {
            self.write(if i > 0 { ", " } else { "" });
            self.operand(v);
        }
    }

    pub fn attr(&mut self, attr: &Attr) {
        write_attr(&mut self.out, attr);
    }

    pub(super) fn float(&mut self, value: f64, dtype: shardwise_base::DType) {
        super::number::write_float(&mut self.out, value, dtype);
    }

    /// Writes `@name`.
    pub fn symbol(&mut self, name: &str) {
        write_symbol(&mut self.out, name);
    }

    /// Writes `[1, 2]`.
    pub fn ints(&mut self, values: &[i64]) {
        records::write_ints(&mut self.out, values);
    }

    pub(super) fn record_body(&mut self, name: &str, fields: &Attrs) {
        records::write_record_body(&mut self.out, name, fields);
    }

    /// Writes `[b, 0, f]x[0, i, o]->[b, 0, f]`. Returns `None`, and writes nothing, if the numbers are inconsistent, or
    /// one is missing.
    pub(super) fn conv_dimensions(&mut self, fields: &Attrs) -> Option<()> {
        records::write_conv_dimensions(&mut self.out, fields).then_some(())
    }

    pub(super) fn short_mesh_axes(&mut self, mesh: &shardwise_base::Mesh, axes: &[shardwise_base::AxisRef]) {
        sharding::write_short_mesh_axes(&mut self.out, mesh, axes);
    }

    /// Writes `dense<..>`, without its type.
    pub fn dense(&mut self, literal: &shardwise_base::Literal) {
        super::dense::write_dense(&mut self.out, literal);
    }

    /// Writes `<@mesh, [..]>`.
    pub fn sharding(&mut self, s: &Sharding) {
        sharding::write_sharding(&mut self.out, s);
    }

    /// Writes `[<@mesh, [..]>, ..]`.
    pub fn shardings<'a>(&mut self, list: impl Iterator<Item = &'a Sharding>) {
        sharding::write_shardings(&mut self.out, list);
    }

    /// Writes the shardings of all results: `[<..>, ..]`, open for those that have none. Returns `None`, and writes
    /// nothing, if there are results and none has a sharding.
    pub fn result_shardings(&mut self, op: &OpView<'_>) -> Option<()> {
        let list = result_shardings(op)?;
        self.shardings(list.iter());
        Some(())
    }

    /// Writes axes of a mesh: in braces, in brackets for each dimension, or with the dimensions between which they
    /// move. Returns `None`, and writes nothing, if `attr` is not a list of axes.
    pub fn axes(&mut self, attr: &Attr) -> Option<()> {
        match attr {
            Attr::Axes { mesh, axes } => sharding::write_axes(&mut self.out, mesh, axes),
            Attr::AxesPerDim { mesh, dims } => sharding::write_axes_per_dim(&mut self.out, mesh, dims),
            Attr::Array(items) => {
                let mut text = String::new();
                sharding::write_all_to_all_list(&mut text, items).then_some(())?;
                self.write(&text);
            }
            _ => return None,
        }
        Some(())
    }

    /// Writes `T, U`.
    pub fn types<'a>(&mut self, types: impl IntoIterator<Item = &'a Type>) {
        write_types(&mut self.out, types);
    }

    /// Writes `(T, U) -> V`.
    pub fn functional_type(&mut self, op: &OpView<'_>) {
        self.write("(");
        self.types(op.operands().iter().map(|&v| op.body.ty(v)));
        self.write(") -> ");
        self.result_types(op);
    }

    /// Writes the types of the results: `V`, or `(V, W)` if there is not exactly one.
    pub fn result_types(&mut self, op: &OpView<'_>) {
        write_results(&mut self.out, op.results().iter().map(|&v| op.body.ty(v)));
    }

    /// Writes ` {..}`: those of the op's attributes, including its facts, whose names `keep` accepts. Writes nothing if
    /// there are none.
    pub fn dict(&mut self, keep: impl Fn(&str) -> bool) {
        self.dict_after(" ", keep);
    }

    /// Does the same as [`Printer::dict`], with `word` in place of the space.
    pub fn dict_after(&mut self, word: &str, keep: impl Fn(&str) -> bool) {
        let attrs = std::mem::take(&mut self.attrs);
        if attrs.iter().any(|(name, _)| keep(name)) {
            self.write(word);
            write_dict(&mut self.out, filtered(&attrs, keep));
        }
        self.attrs = attrs;
    }

    /// Writes `%arg0: T`, with its location if locations are printed.
    pub fn region_arg(&mut self, body: &Body, v: Value) {
        self.operand(v);
        self.write(": ");
        self.types([body.ty(v)]);
        self.loc(&body[v].loc);
    }

    /// Writes `{ .. }`. The arguments are written inside if `with_args` is true. Otherwise, the form has written them.
    pub fn region(&mut self, body: &Body, region: Region, with_args: bool) {
        let outer = (std::mem::take(&mut self.attrs), std::mem::replace(&mut self.is_in_func, false));
        self.write("{");
        let data = &body[region];
        if with_args && !data.args.is_empty() {
            self.line();
            self.write("^bb0(");
            for (i, &v) in data.args.iter().enumerate() {
                self.write(if i > 0 { ", " } else { "" });
                self.region_arg(body, v);
            }
            self.write("):");
        }
        self.ops(body, region);
        self.write("}");
        (self.attrs, self.is_in_func) = outer;
    }

    fn ops(&mut self, body: &Body, region: Region) {
        self.indent += 1;
        for &op in &body[region].ops {
            self.line();
            self.op(&self.module.view(body, op));
        }
        self.indent -= 1;
        self.line();
    }

    pub fn shows_locations(&self) -> bool {
        self.options.locations
    }

    fn loc(&mut self, loc: &Loc) {
        if self.options.locations {
            self.write(" loc(");
            self.locs.write_alias(&mut self.out, loc);
            self.write(")");
        }
    }

    // ── ops

    fn op(&mut self, op: &OpView<'_>) {
        budget::poll();
        let data = op.data();
        let def = self.module.table.def(data.code);
        let syntax = def.syntax();
        if !data.results.is_empty() {
            self.names.write_results(&mut self.out, &data.results);
            self.write(" = ");
        }
        self.attrs = facts::with_facts(self.module, op.body, data, syntax, &self.options);
        if self.options.as_mlir {
            self.attrs.remove(facts::NO_SHARDING);
        }
        let start = self.out.len();
        if self.options.generic || self.own_form(op, def.name(), syntax.form).is_none() {
            self.out.truncate(start);
            self.write(&super::lexer::escape(def.name()));
            self.generic_parts(op, syntax);
        }
        self.loc(&data.loc);
    }

    fn own_form(&mut self, op: &OpView<'_>, name: &str, form: Form) -> Option<()> {
        let short = name.strip_prefix("func.").filter(|_| self.is_in_func);
        self.write(short.unwrap_or(name));
        match form {
            Form::Generic => None,
            Form::Pieces(pieces, types) => self.print_pieces(op, pieces, types),
            Form::Custom(form) => form.print(self, op),
        }
    }

    /// Writes `(%a) <{..}> ({..}) {..} : (T) -> U`.
    fn generic_parts(&mut self, op: &OpView<'_>, syntax: Syntax) {
        self.write("(");
        self.operands(op.operands().iter().copied());
        self.write(")");
        let mut attrs = with_shardys_axes(&std::mem::take(&mut self.attrs), syntax);
        add_property(&mut attrs, op, syntax);
        convert_numbered(syntax.form, &mut attrs, true);
        if attrs.iter().any(|(name, _)| is_property(name)) {
            self.write(" <");
            write_dict(&mut self.out, filtered(&attrs, is_property));
            self.write(">");
        }
        for (i, &region) in op.regions().iter().enumerate() {
            self.write(if i > 0 { ", " } else { " (" });
            self.region(op.body, region, true);
        }
        if !op.regions().is_empty() {
            self.write(")");
        }
        if attrs.iter().any(|(name, _)| !is_property(name)) {
            self.write(" ");
            write_dict(&mut self.out, filtered(&attrs, |name| !is_property(name)));
        }
        self.write(" : ");
        self.functional_type(op);
    }

    // ── functions and modules

    fn module(&mut self) {
        let module = self.module;
        let (open, close) = if self.options.generic { ("({", "})") } else { ("{", "}") };
        let start = self.out.len();
        if self.options.generic {
            self.generic_module_head()
        } else {
            self.module_head()
        }
        debug_assert!(self.out.len() > start);
        self.write(open);
        if self.options.generic && module.meshes.is_empty() && module.funcs.is_empty() {
            // A region without ops must be written with a block.
            self.line();
            self.write("^bb0:");
        }
        self.indent += 1;
        for mesh in &module.meshes {
            self.line();
            self.mesh(mesh);
        }
        for func in &module.funcs {
            self.line();
            if self.options.generic { self.generic_func(func) } else { self.func(func) }
        }
        self.indent -= 1;
        self.line();
        self.write(close);
        if self.options.generic {
            if !module.attrs.is_empty() {
                self.write(" ");
                write_dict(&mut self.out, module.attrs.iter());
            }
            self.write(" : () -> ()");
        }
        self.loc(&module.loc);
        self.write("\n");
        self.locs.write_definitions(&mut self.out);
    }

    fn module_head(&mut self) {
        self.write("module ");
        let module = self.module;
        if !module.name.is_empty() {
            self.symbol(&module.name);
            self.write(" ");
        }
        if !module.attrs.is_empty() {
            self.write("attributes ");
            write_dict(&mut self.out, module.attrs.iter());
            self.write(" ");
        }
    }

    fn generic_module_head(&mut self) {
        self.write("\"builtin.module\"() ");
        if !self.module.name.is_empty() {
            let name = super::lexer::escape(&self.module.name);
            write!(self.out, "<{{sym_name = {name}}}> ").expect("writing to a string");
        }
    }

    fn mesh(&mut self, mesh: &shardwise_base::Mesh) {
        let mut attrs = mesh_facts(mesh);
        if let Some(Attr::Dict(others)) = self.module.mesh_attrs.get(&mesh.name) {
            others.iter().for_each(|(name, attr)| drop(attrs.set(name, attr.clone())));
        }
        if self.options.generic {
            self.write("\"sdy.mesh\"() <{mesh = #sdy.mesh");
            sharding::write_mesh_body(&mut self.out, mesh);
            write!(self.out, ", sym_name = {}}}>", super::lexer::escape(&mesh.name)).expect("writing to a string");
        } else {
            self.write("sdy.mesh ");
            self.symbol(&mesh.name);
            self.write(" = ");
            sharding::write_mesh_body(&mut self.out, mesh);
        }
        if !attrs.is_empty() {
            self.write(" ");
            write_dict(&mut self.out, attrs.iter());
        }
        if self.options.generic {
            self.write(" : () -> ()");
        }
    }

    fn func(&mut self, func: &'m Func) {
        self.names = self.names_of(&func.body);
        self.write("func.func ");
        self.write(match func.visibility {
            Visibility::Public if self.options.as_mlir => "",
            Visibility::Public => "public ",
            Visibility::Private => "private ",
        });
        self.symbol(&func.name);
        self.func_signature(func);
        if !func.attrs.is_empty() {
            self.write(" attributes ");
            write_dict(&mut self.out, func.attrs.iter());
        }
        self.write(" {");
        self.is_in_func = true;
        self.ops(&func.body, func.body.entry());
        self.write("}");
        self.loc(&func.loc);
    }

    fn func_signature(&mut self, func: &Func) {
        self.write("(");
        for (i, &v) in func.body.args().iter().enumerate() {
            self.write(if i > 0 { ", " } else { "" });
            self.operand(v);
            self.write(": ");
            self.types([func.body.ty(v)]);
            self.spaced_dict(&self.arg_attrs(func, i, v));
            self.loc(&func.body[v].loc);
        }
        self.write(")");
        let results: Vec<Attrs> = (0..func.result_types.len()).map(|i| result_attrs(func, i)).collect();
        if results.is_empty() {
            return;
        }
        self.write(" -> ");
        if let ([ty], true) = (&func.result_types[..], results[0].is_empty()) {
            return self.types([ty]);
        }
        self.write("(");
        for (i, (ty, attrs)) in func.result_types.iter().zip(&results).enumerate() {
            self.write(if i > 0 { ", " } else { "" });
            self.types([ty]);
            self.spaced_dict(attrs);
        }
        self.write(")");
    }

    fn spaced_dict(&mut self, attrs: &Attrs) {
        if !attrs.is_empty() {
            self.write(" ");
            write_dict(&mut self.out, attrs.iter());
        }
    }

    fn arg_attrs(&self, func: &Func, i: usize, v: Value) -> Attrs {
        let empty = Attrs::new();
        let own = func.arg_attrs.get(i).unwrap_or(&empty);
        facts::with_arg_facts(self.module, &func.body, v, own, &self.options)
    }

    fn generic_func(&mut self, func: &'m Func) {
        self.names = self.names_of(&func.body);
        self.write("\"func.func\"() <{");
        let args: Vec<Attrs> = func.body.args().iter().enumerate().map(|(i, &v)| self.arg_attrs(func, i, v)).collect();
        let results: Vec<Attrs> = (0..func.result_types.len()).map(|i| result_attrs(func, i)).collect();
        self.attrs_list("arg_attrs", &args);
        self.write("function_type = (");
        self.types(func.body.args().iter().map(|&v| func.body.ty(v)));
        self.write(") -> ");
        write_results(&mut self.out, func.result_types.iter());
        self.write(", ");
        self.attrs_list("res_attrs", &results);
        let visibility = match func.visibility {
            Visibility::Public => "public",
            Visibility::Private => "private",
        };
        let name = super::lexer::escape(&func.name);
        write!(self.out, "sym_name = {name}, sym_visibility = \"{visibility}\"}}> (").expect("writing to a string");
        let entry = func.body.entry();
        if func.body[entry] == crate::RegionData::default() {
            // Without a block, it would be a declaration.
            self.write("{^bb0:}");
        } else {
            self.region(&func.body, entry, true);
        }
        self.write(")");
        self.spaced_dict(&func.attrs);
        self.write(" : () -> ()");
        self.loc(&func.loc);
    }

    /// Writes `name = [{..}, {}], `, unless all of them are empty.
    fn attrs_list(&mut self, name: &str, list: &[Attrs]) {
        if list.iter().all(Attrs::is_empty) {
            return;
        }
        self.write(name);
        self.write(" = ");
        self.attr(&Attr::Array(list.iter().cloned().map(Attr::Dict).collect()));
        self.write(", ");
    }
}

fn result_attrs(func: &Func, i: usize) -> Attrs {
    let empty = Attrs::new();
    let sharding = func.result_shardings.get(i).and_then(Option::as_ref);
    facts::with_sharding(func.result_attrs.get(i).unwrap_or(&empty), sharding)
}

fn result_shardings(op: &OpView<'_>) -> Option<Vec<Sharding>> {
    let of = |v: Value| op.body.sharding(v).cloned();
    let some = op.results().iter().find_map(|&v| of(v));
    match some {
        None if op.results().is_empty() => Some(vec![]),
        None => None,
        Some(s) => {
            Some(op.results().iter().map(|&v| of(v).unwrap_or_else(|| facts::open_sharding(&s, op.body, v))).collect())
        }
    }
}

/// Returns `attrs` with each list of axes ([`Attr::Axes`]) in the notation of Shardy's generic form, which does not
/// name the mesh. Only Shardy's ops have a property for the shardings of their results ([`ResultShardings`]). The
/// attributes of other ops are not changed.
fn with_shardys_axes(attrs: &Attrs, syntax: Syntax) -> Attrs {
    let name = match syntax.results {
        ResultShardings::Attribute => return attrs.clone(),
        ResultShardings::Property(_) => "axis_ref_list",
        ResultShardings::List(_) => "manual_axes",
    };
    attrs.iter().map(|(n, attr)| (n, shardys_axes(attr, name).unwrap_or_else(|| attr.clone()))).collect()
}

fn shardys_axes(attr: &Attr, name: &str) -> Option<Attr> {
    let (mesh, axes) = attr.as_axes()?;
    let mut text = String::new();
    sharding::write_named_axes(&mut text, name, mesh, axes);
    Some(Attr::Opaque(text.into()))
}

/// Adds the results' shardings as an attribute, if `syntax` prints them as a property and a result has a sharding. If
/// the property is a list and the op has no results, adds an empty list.
fn add_property(attrs: &mut Attrs, op: &OpView<'_>, syntax: Syntax) {
    let attr = match syntax.results {
        ResultShardings::Attribute => None,
        ResultShardings::Property(name) => {
            let first = op.results().first().and_then(|&v| op.body.sharding(v));
            first.map(|s| (name, Attr::Sharding(s.clone())))
        }
        ResultShardings::List(name) => result_shardings(op).map(|list| (name, Attr::Shardings(list))),
    };
    if let Some((name, attr)) = attr {
        attrs.set(name, attr);
    }
}
