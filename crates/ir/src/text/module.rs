//! Reads modules, functions and meshes.

use super::lexer::TokenKind;
use super::mistakes;
use super::op::RegionArg;
use super::parser::{At, Failed, Parsed, Parser};
use super::types::FunctionType;
use crate::{Attr, Attrs, Body, Func, Module, Type, Visibility};
use shardwise_base::{AxisKind, Communicate, Mesh, Rates, Topology};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

const UNNAMED: &str = "";

/// The attributes in the generic form of a function that are stored in the function itself.
const FUNC_PROPERTIES: &[&str] = &["arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"];

// ── modules

impl<'t> Parser<'t> {
    /// Reads the text. Always returns `Some`: after mistakes, the module holds the meshes and functions that were read.
    pub(super) fn module(&mut self) -> Option<Module> {
        let outline = self.outline();
        let mut module = Module::new("", self.table);
        for at in outline.meshes {
            // A mesh that cannot be read is reported when the text reaches it.
            let found = self.found.clone();
            if let Ok((mesh, _)) = self.elsewhere(at, Self::mesh) {
                self.meshes.add(Arc::new(mesh));
            }
            self.found = found;
        }
        let has_wrapper = self.top(&mut module);
        if has_wrapper.is_err() {
            self.recover(&mut module);
        }
        if self.found.is_empty() {
            self.check_mesh_of_facts(&module);
        }
        Some(module)
    }

    /// Reads `module @name attributes {..} { .. }`, its generic form, or only the contents of a module, up to the end
    /// of the text. Definitions of aliases may be around it.
    fn top(&mut self, module: &mut Module) -> Parsed<()> {
        while self.is_alias_definition() {
            self.alias_definition()?;
        }
        module.loc = self.loc_of(self.at());
        if self.is("module") || self.is("builtin.module") {
            self.bump();
            self.module_head(module)?;
            self.expect("{")?;
            self.items(module)?;
            self.expect("}")?;
        } else if self.is_quoted("builtin.module") {
            self.generic_module(module)?;
        } else {
            self.items(module)?;
        }
        self.end(module)
    }

    /// Reads what may follow a module: its location, and aliases. Anything else before the end of the text is a
    /// mistake.
    fn end(&mut self, module: &mut Module) -> Parsed<()> {
        if let Some(loc) = self.optional_loc()? {
            module.loc = loc;
        }
        while self.is_alias_definition() {
            self.alias_definition()?;
        }
        if self.is("module") {
            return Err(self.refuse("several modules in one text", "put each module into its own file"));
        }
        if self.is("{-#") {
            return Err(self.refuse("dialect resources", "print the program with its constants inline"));
        }
        if self.is_kind(TokenKind::End) { Ok(()) } else { Err(self.unexpected("the end of the text")) }
    }

    fn refuse(&mut self, what: &str, way_out: &str) -> Failed {
        let at = self.at();
        self.report(at, |loc| mistakes::unsupported(loc, what, way_out));
        self.jump(self.text.len());
        Failed
    }

    fn is_alias_definition(&self) -> bool {
        matches!(self.tok.kind, TokenKind::Hash | TokenKind::Bang)
    }

    fn is_quoted(&self, name: &str) -> bool {
        self.is_kind(TokenKind::Str) && self.tok_text().trim_matches('"') == name
    }

    fn module_head(&mut self, module: &mut Module) -> Parsed<()> {
        if self.is_kind(TokenKind::At) {
            module.name = self.symbol()?;
        }
        let at = self.at();
        if self.eat("attributes") {
            module.attrs = self.dict()?;
        }
        self.check_free(at, &module.attrs, &["sym_name"])?;
        Ok(())
    }

    /// Reads `"builtin.module"() <{sym_name = "m"}> ({ .. }) {..} : () -> ()`.
    fn generic_module(&mut self, module: &mut Module) -> Parsed<()> {
        let at = self.at();
        self.bump();
        self.expect_all("()")?;
        let mut attrs = self.properties(|_, _| Ok(None))?;
        self.expect_all("({")?;
        if self.is_kind(TokenKind::Caret) {
            self.bump();
            self.expect(":")?;
        }
        self.items(module)?;
        self.expect_all("})")?;
        self.merge_dict(&mut attrs)?;
        self.expect_all(": () -> ()")?;
        match attrs.remove("sym_name") {
            Some(Attr::Str(name)) => module.name = name,
            Some(_) => {
                let message = "the `sym_name` of a module must be a string".to_string();
                return Err(self.fail(at, "text-attribute", message));
            }
            None => {}
        }
        module.attrs = attrs;
        Ok(())
    }

    /// Fails if `attrs` contains one of the names in `taken`, which the definition itself uses, and reports the first
    /// one.
    fn check_free(&mut self, at: At, attrs: &Attrs, taken: &[&str]) -> Parsed<()> {
        match taken.iter().find(|name| attrs.contains(name)) {
            Some(name) => {
                let message =
                    format!("attribute `{name}` cannot be in the dictionary: the definition has another place for it");
                Err(self.fail(at, "text-attribute", message))
            }
            None => Ok(()),
        }
    }

    /// Reads `<{..}>`, or returns an empty dictionary if there is none. `special` may read a value by the name of its
    /// attribute, as in [`Parser::dict_with`].
    fn properties(&mut self, special: impl FnMut(&mut Self, &str) -> Parsed<Option<Attr>>) -> Parsed<Attrs> {
        if !self.eat("<") {
            return Ok(Attrs::new());
        }
        let attrs = self.dict_with(special)?;
        self.expect(">")?;
        Ok(attrs)
    }

    /// Reads meshes, functions and aliases up to a `}` or the end. After a mistake in a mesh or function, continues
    /// with the next one. Fails if there is no next one, if there are too many mistakes, or if the definition of an
    /// alias has a mistake.
    fn items(&mut self, module: &mut Module) -> Parsed<()> {
        while !self.is("}") && !self.is_kind(TokenKind::End) {
            if self.is_alias_definition() {
                self.alias_definition()?;
                continue;
            }
            if self.item(module).is_ok() {
                continue;
            }
            self.skip_to_item();
            if self.has_too_many_mistakes() || self.is_kind(TokenKind::End) {
                return Err(Failed);
            }
        }
        Ok(())
    }

    fn item(&mut self, module: &mut Module) -> Parsed<()> {
        let at = self.at();
        if self.is("func.func") {
            self.bump();
            let func = self.func(at)?;
            return self.add_func(module, func, at);
        }
        if self.is_quoted("func.func") {
            let func = self.generic_func(at)?;
            return self.add_func(module, func, at);
        }
        if self.is("sdy.mesh") || self.is_quoted("sdy.mesh") {
            let (mesh, attrs) = self.mesh()?;
            return self.add_mesh(module, mesh, attrs, at);
        }
        if self.is("module") {
            return Err(self.refuse("modules inside modules", "put each module into its own file"));
        }
        if self.is("{-#") {
            return Err(self.refuse("dialect resources", "print the program with its constants inline"));
        }
        Err(self.unexpected("`func.func`, `sdy.mesh` or the end of the module"))
    }

    /// Goes to the next function or mesh after the current token, or to the end of the text, and discards the function
    /// that was being read. A mesh in generic form is skipped.
    fn skip_to_item(&mut self) {
        self.body = Body::new();
        self.scope = Default::default();
        self.deferred.clear();
        self.region_depth = 0;
        self.bump();
        while !self.is("func.func")
            && !self.is("sdy.mesh")
            && !self.is_quoted("func.func")
            && !self.is_kind(TokenKind::End)
        {
            self.bump();
        }
    }

    /// Reads the functions and meshes that can still be found after a mistake outside of functions. Does nothing if no
    /// mistake has been reported, or too many.
    fn recover(&mut self, module: &mut Module) {
        if self.found.is_empty() || self.has_too_many_mistakes() {
            return;
        }
        self.skip_to_item();
        let _ = self.items(module);
    }

    fn add_func(&mut self, module: &mut Module, func: Func, at: At) -> Parsed<()> {
        if module.func(&func.name).is_some() {
            return Err(self.fail(at, "text-function", format!("there are two functions `@{}`", func.name)));
        }
        module.funcs.push(func);
        Ok(())
    }
}

// ── meshes

impl<'t> Parser<'t> {
    /// Reads `sdy.mesh @mesh = <["x"=4]> {..}`, or its generic form. Returns the mesh, and the attributes that the mesh
    /// does not hold itself.
    fn mesh(&mut self) -> Parsed<(Mesh, Attrs)> {
        let at = self.at();
        let is_generic = self.is_kind(TokenKind::Str);
        self.bump();
        let (mesh, mut attrs) = if is_generic {
            self.generic_mesh(at)?
        } else {
            let name = self.symbol()?;
            self.expect("=")?;
            (self.mesh_body(name)?, self.optional_dict()?)
        };
        self.optional_loc()?;
        self.check_free(at, &attrs, &["mesh", "sym_name"])?;
        // This attribute repeats the mesh in StableHLO's notation.
        attrs.remove("stablehlo.mesh");
        let mesh = self.with_mesh_facts(mesh, &mut attrs, at)?;
        Ok((mesh, attrs))
    }

    /// Returns the mesh with the facts that our own attributes hold: the kinds of its axes, its communication setting,
    /// its topology and its rates. Removes these attributes from `attrs`.
    fn with_mesh_facts(&mut self, mut mesh: Mesh, attrs: &mut Attrs, at: At) -> Parsed<Mesh> {
        if let Some(attr) = attrs.remove(AXIS_KINDS) {
            let kinds = axis_kinds(&attr).filter(|kinds| kinds.len() == mesh.axes.len());
            let kinds = kinds.ok_or_else(|| self.bad_fact(at, AXIS_KINDS))?;
            mesh.axes.iter_mut().zip(kinds).for_each(|(axis, kind)| axis.kind = kind);
        }
        if let Some(attr) = attrs.remove(COMMUNICATE) {
            mesh.communicate = match attr.as_str() {
                Some("allow") => Communicate::Allow,
                Some("deny") => Communicate::Deny,
                Some("warn") => Communicate::Warn,
                _ => return Err(self.bad_fact(at, COMMUNICATE)),
            };
        }
        if let Some(attr) = attrs.remove(TOPOLOGY) {
            mesh.topology = Some(topology(&attr).ok_or_else(|| self.bad_fact(at, TOPOLOGY))?);
        }
        if let Some(attr) = attrs.remove(RATES) {
            let rates = rates(&attr).filter(|rates| rates.fit(mesh.axes.len()));
            mesh.rates = Some(rates.ok_or_else(|| self.bad_fact(at, RATES))?);
        }
        Ok(mesh)
    }

    /// Reads `() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "mesh"}> : () -> ()`.
    fn generic_mesh(&mut self, at: At) -> Parsed<(Mesh, Attrs)> {
        self.expect_all("()")?;
        let mut mesh = None;
        let mut special = |p: &mut Self, name: &str| {
            if name != "mesh" {
                return Ok(None);
            }
            mesh = Some(p.mesh_body("".into())?);
            Ok(Some(Attr::Unit))
        };
        let mut attrs = self.properties(&mut special)?;
        self.merge_dict_with(&mut attrs, special)?;
        self.expect_all(": () -> ()")?;
        attrs.remove("mesh");
        match (mesh, attrs.remove("sym_name")) {
            (Some(mesh), Some(Attr::Str(name))) => Ok((Mesh { name, ..mesh }, attrs)),
            _ => Err(self.fail(at, "mesh", "a mesh needs `sym_name`, a string, and `mesh`".to_string())),
        }
    }

    fn add_mesh(&mut self, module: &mut Module, mesh: Mesh, attrs: Attrs, at: At) -> Parsed<()> {
        if !self.meshes.reach(&mesh.name) {
            return Err(self.fail(at, "mesh", format!("there are two meshes `@{}`", mesh.name)));
        }
        let known = self.meshes.get(&mesh.name).cloned();
        let mesh = known.filter(|m| **m == mesh).unwrap_or_else(|| Arc::new(mesh));
        if !attrs.is_empty() {
            module.mesh_attrs.set(mesh.name.clone(), Attr::Dict(attrs));
        }
        self.meshes.add(mesh.clone());
        module.meshes.push(mesh);
        Ok(())
    }
}

/// The meshes that are known so far: those that are defined at the starts of lines, and those that have been reached.
#[derive(Default)]
pub(super) struct Meshes {
    list: Vec<Arc<Mesh>>,
    /// The position of the first mesh of each name in the list.
    by_name: HashMap<Arc<str>, usize>,
    /// The names of the meshes whose definitions the parser has reached as it reads the module in order.
    reached: HashSet<Arc<str>>,
}

impl Meshes {
    fn add(&mut self, mesh: Arc<Mesh>) {
        if let Entry::Vacant(place) = self.by_name.entry(mesh.name.clone()) {
            place.insert(self.list.len());
            self.list.push(mesh);
        }
    }

    /// Records that the definition of a mesh has been reached. Returns true, or false if a mesh of this name was
    /// reached before.
    fn reach(&mut self, name: &Arc<str>) -> bool {
        self.reached.insert(name.clone())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Mesh>> {
        self.by_name.get(name).map(|&i| &self.list[i])
    }

    pub fn list(&self) -> &[Arc<Mesh>] {
        &self.list
    }
}

/// The name of the attribute of a mesh that holds the kind of each axis.
const AXIS_KINDS: &str = "shardwise.axis_kinds";
/// The name of the attribute of a mesh that holds its [`Communicate`].
const COMMUNICATE: &str = "shardwise.communicate";
/// The name of the attribute of a mesh that holds its [`Topology`].
const TOPOLOGY: &str = "shardwise.topology";
/// The name of the attribute of a mesh that holds its [`Rates`].
const RATES: &str = "shardwise.rates";

fn axis_kinds(attr: &Attr) -> Option<Vec<AxisKind>> {
    let Attr::Array(items) = attr else {
        return None;
    };
    let kind = |item: &Attr| match item.as_str()? {
        "auto" => Some(AxisKind::Auto),
        "explicit" => Some(AxisKind::Explicit),
        "manual" => Some(AxisKind::Manual),
        _ => None,
    };
    items.iter().map(kind).collect()
}

fn topology(attr: &Attr) -> Option<Topology> {
    let Attr::Dict(fields) = attr else {
        return None;
    };
    let is_twisted = fields.get("twisted").map_or(Some(false), Attr::as_bool)?;
    let pods = fields.get("pods").map_or(Some(1), |_| fields.size("pods"))?;
    Some(Topology { kind: fields.str("kind")?.into(), grid: fields.sizes("grid")?, is_twisted, pods })
}

fn rates(attr: &Attr) -> Option<Rates> {
    let Attr::Dict(fields) = attr else {
        return None;
    };
    let number = |n: usize| u32::try_from(n).ok();
    let slowdowns = fields.sizes("slowdowns")?.into_iter().map(number).collect::<Option<_>>()?;
    Some(Rates {
        slowdowns,
        start: number(fields.size("start")?)?,
        flops: number(fields.size("flops")?)?,
        memory_bytes: number(fields.size("memory_bytes")?)?,
    })
}

/// Returns the attributes from which [`Parser::with_mesh_facts`] reads the facts of `mesh`. A fact that has its default
/// has no attribute.
pub(super) fn mesh_facts(mesh: &Mesh) -> Attrs {
    let mut attrs = Attrs::new();
    if mesh.axes.iter().any(|a| a.kind != AxisKind::Auto) {
        let kinds = mesh.axes.iter().map(|a| match a.kind {
            AxisKind::Auto => Attr::str("auto"),
            AxisKind::Explicit => Attr::str("explicit"),
            AxisKind::Manual => Attr::str("manual"),
        });
        attrs.set(AXIS_KINDS, Attr::Array(kinds.collect()));
    }
    let level = match mesh.communicate {
        Communicate::Warn => None,
        Communicate::Allow => Some("allow"),
        Communicate::Deny => Some("deny"),
    };
    if let Some(level) = level {
        attrs.set(COMMUNICATE, Attr::str(level));
    }
    if let Some(t) = &mesh.topology {
        let mut fields = Attrs::new().with("kind", Attr::Str(t.kind.clone())).with("grid", Attr::sizes(&t.grid));
        if t.is_twisted {
            fields.set("twisted", Attr::Bool(true));
        }
        if t.pods != 1 {
            fields.set("pods", Attr::int(t.pods as i64));
        }
        attrs.set(TOPOLOGY, Attr::Dict(fields));
    }
    if let Some(rates) = &mesh.rates {
        let number = |n: u32| Attr::int(i64::from(n));
        let slowdowns = Attr::ints(rates.slowdowns.iter().map(|&n| i64::from(n)));
        let fields = Attrs::new().with("slowdowns", slowdowns).with("start", number(rates.start));
        let fields = fields.with("flops", number(rates.flops)).with("memory_bytes", number(rates.memory_bytes));
        attrs.set(RATES, Attr::Dict(fields));
    }
    attrs
}

// ── functions

impl<'t> Parser<'t> {
    /// Reads everything after `func.func`, which is at `at`.
    fn func(&mut self, at: At) -> Parsed<Func> {
        let visibility = self.visibility();
        let mut func = Func::new(self.symbol()?, self.loc_of(at));
        (self.func_name, self.op_at) = (Some(func.name.clone()), At(0));
        func.visibility = visibility;
        self.body = Body::new();
        self.scope = Default::default();
        self.scope.open(true);
        let mut args = vec![];
        let arg_attrs = self.list("(", ")", |p| {
            let (arg, attrs) = p.func_arg()?;
            args.push(arg);
            Ok(attrs)
        })?;
        self.func_results(&mut func)?;
        if self.eat("attributes") {
            func.attrs = self.dict()?;
        }
        self.check_free(at, &func.attrs, FUNC_PROPERTIES)?;
        if !self.is("{") {
            return Err(self.no_body(at, &func.name));
        }
        self.func_args(&mut func, args, arg_attrs)?;
        let entry = self.body.entry();
        self.region_body(entry, vec![])?;
        self.finish_func(func)
    }

    fn visibility(&mut self) -> Visibility {
        for (word, visibility) in
            [("public", Visibility::Public), ("private", Visibility::Private), ("nested", Visibility::Private)]
        {
            if self.eat(word) {
                return visibility;
            }
        }
        Visibility::Public
    }

    fn no_body(&mut self, at: At, name: &str) -> Failed {
        self.report(at, |loc| mistakes::no_function_body(loc, name));
        Failed
    }

    fn finish_func(&mut self, mut func: Func) -> Parsed<Func> {
        if let Some(loc) = self.optional_loc()? {
            func.loc = loc;
        }
        self.scope.close();
        func.body = std::mem::take(&mut self.body);
        Ok(func)
    }

    /// Reads `%arg0: T {..} loc(..)`, of which only the type must be there. The name is [`UNNAMED`] if it is absent.
    fn func_arg(&mut self) -> Parsed<(RegionArg<'t>, Attrs)> {
        let at = self.at();
        let name = if self.is_operand() {
            let (name, _) = self.value_name()?;
            self.expect(":")?;
            name
        } else {
            UNNAMED
        };
        let ty = self.ty()?;
        let attrs = self.optional_dict()?;
        let loc = self.optional_loc()?;
        Ok((RegionArg { name, ty, loc, at }, attrs))
    }

    /// Reads `-> T` or `-> (T {..}, U)`, if there are results, and adds them to `func`.
    fn func_results(&mut self, func: &mut Func) -> Parsed<()> {
        if !self.eat("->") {
            return Ok(());
        }
        if !self.is("(") {
            let ty = self.ty()?;
            self.add_result(func, ty, Attrs::new(), self.at());
            return Ok(());
        }
        let results = self.list("(", ")", |p| {
            let at = p.at();
            let ty = p.ty()?;
            let attrs = p.optional_dict()?;
            p.optional_loc()?;
            Ok((ty, attrs, at))
        })?;
        for (ty, attrs, at) in results {
            self.add_result(func, ty, attrs, at);
        }
        Ok(())
    }

    fn add_result(&mut self, func: &mut Func, ty: Type, mut attrs: Attrs, at: At) {
        let sharding = self.take_result_sharding(&mut attrs, at).unwrap_or(None);
        if let Some(s) = &sharding {
            self.check_rank(at, &format!("result {}", func.result_types.len()), s, &ty);
        }
        func.result_types.push(ty);
        func.result_shardings.push(sharding);
        func.result_attrs.push(attrs);
    }

    fn func_args(&mut self, func: &mut Func, args: Vec<RegionArg<'t>>, arg_attrs: Vec<Attrs>) -> Parsed<()> {
        let entry = self.body.entry();
        for (arg, mut attrs) in args.into_iter().zip(arg_attrs) {
            let (at, name) = (arg.at, format!("`%{}`", arg.name));
            if arg.name == UNNAMED {
                return Err(self.fail(at, "text-syntax", "an argument of a function needs a name".to_string()));
            }
            let v = self.add_arg(entry, arg);
            self.apply_arg_facts(v, &name, &mut attrs, at)?;
            func.arg_attrs.push(attrs);
        }
        Ok(())
    }

    /// Reads `"func.func"() <{function_type = .., sym_name = ".."}> ({ ^bb0(..): .. }) {..} : () -> ()`. The properties
    /// may also be in the dictionary after the body.
    fn generic_func(&mut self, at: At) -> Parsed<Func> {
        self.bump();
        self.expect_all("()")?;
        let mut ty = None;
        let mut special = |p: &mut Self, name: &str| {
            if name != "function_type" {
                return Ok(None);
            }
            ty = Some(p.function_type()?);
            Ok(Some(Attr::Unit))
        };
        let mut attrs = self.properties(&mut special)?;
        (self.func_name, self.op_at) = (attrs.str("sym_name").map(Arc::from), At(0));
        let has_body = self.generic_body()?;
        self.merge_dict_with(&mut attrs, special)?;
        attrs.remove("function_type");
        let (Some(ty), Some(Attr::Str(name))) = (ty, attrs.remove("sym_name")) else {
            let message = "a function needs `sym_name`, a string, and `function_type`".to_string();
            return Err(self.fail(at, "text-function", message));
        };
        if !has_body {
            return Err(self.no_body(at, &name));
        }
        let mut func = Func::new(name, self.loc_of(at));
        self.generic_signature(&mut func, ty, &mut attrs, at)?;
        self.check_free(at, &attrs, FUNC_PROPERTIES)?;
        func.attrs = attrs;
        self.expect_all(": () -> ()")?;
        self.finish_func(func)
    }

    /// Adds the results, the attributes of the arguments and the visibility to a function whose body has been read.
    /// It is a mistake if the function's type has other arguments than the body.
    fn generic_signature(&mut self, func: &mut Func, ty: FunctionType, attrs: &mut Attrs, at: At) -> Parsed<()> {
        let args: Vec<&Type> = self.body.args().iter().map(|&v| self.body.ty(v)).collect();
        if !args.iter().copied().eq(&ty.operands) {
            let [taken, declared] = [shown(&args), shown(&ty.operands.iter().collect::<Vec<_>>())];
            self.report(at, |loc| mistakes::function_type(loc, &func.name, &declared, &taken));
            return Err(Failed);
        }
        let result_attrs = self.generic_dicts(func, attrs, "res_attrs", ty.results.len(), at)?;
        for (ty, attrs) in ty.results.into_iter().zip(result_attrs) {
            self.add_result(func, ty, attrs, at);
        }
        let args = self.body.args().to_vec();
        let arg_attrs = self.generic_dicts(func, attrs, "arg_attrs", args.len(), at)?;
        for (i, (v, mut attrs)) in args.into_iter().zip(arg_attrs).enumerate() {
            self.apply_arg_facts(v, &format!("argument {i}"), &mut attrs, at)?;
            func.arg_attrs.push(attrs);
        }
        if attrs.remove("sym_visibility").and_then(|v| v.as_str().map(|v| v != "public")).unwrap_or(false) {
            func.visibility = Visibility::Private;
        }
        Ok(())
    }

    /// Removes the property `key` from `attrs`, and returns its dictionaries, or empty ones if there is no such
    /// property. It is a mistake if it is no list of `count` dictionaries.
    fn generic_dicts(&mut self, func: &Func, attrs: &mut Attrs, key: &str, count: usize, at: At) -> Parsed<Vec<Attrs>> {
        let as_dict = |item| match item {
            Attr::Dict(fields) => Some(fields),
            _ => None,
        };
        let (given, dicts) = match attrs.remove(key) {
            None => return Ok(vec![Attrs::new(); count]),
            Some(Attr::Array(items)) => {
                (Some(items.len()), items.into_iter().map(as_dict).collect::<Option<Vec<Attrs>>>())
            }
            Some(_) => (None, None),
        };
        let Some(dicts) = dicts.filter(|dicts| dicts.len() == count) else {
            self.report(at, |loc| mistakes::function_dicts(loc, &func.name, key, given, count));
            return Err(Failed);
        };
        Ok(dicts)
    }

    /// Reads `({ ^bb0(..): .. })` into the parser's body. Returns false if it is `({})`, which stands for a function
    /// without a body.
    fn generic_body(&mut self) -> Parsed<bool> {
        self.body = Body::new();
        self.scope = Default::default();
        self.scope.open(true);
        self.expect("(")?;
        let has_body = !self.is_all("{}");
        let entry = self.body.entry();
        self.region_body(entry, vec![])?;
        self.expect(")")?;
        Ok(has_body)
    }
}

fn shown(types: &[&Type]) -> String {
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    format!("({})", types.join(", "))
}
