//! Reads ops and regions.

use super::facts::Taken;
use super::form::{Form, OpParts, OperandAt, ResultShardings, Syntax, convert_numbered};
use super::lexer::TokenKind;
use super::mistakes;
use super::parser::{At, Failed, Parsed, Parser};
use super::scope::Named;
use crate::{Attr, MAX_REGION_DEPTH, Op, OpCode, Region, Type, Value};
use shardwise_base::{Loc, Mesh, Sharding, counted};
use smallvec::SmallVec;
use std::sync::Arc;

/// An argument of a region as it is written: its name without `%`, its type, its location and its position.
pub struct RegionArg<'t> {
    pub name: &'t str,
    pub ty: Type,
    /// The written location, or `None` if the argument's position is its location.
    pub loc: Option<Loc>,
    pub at: At,
}

/// A name for one result of an op, `%0`, or for several, `%0:2`.
struct ResultNames<'t> {
    name: &'t str,
    count: Option<usize>,
    at: At,
}

// ── operands

impl<'t> Parser<'t> {
    pub fn is_operand(&self) -> bool {
        self.is_kind(TokenKind::Percent)
    }

    /// Reads `%name`, and returns the name without the sigil, and its position.
    pub fn value_name(&mut self) -> Parsed<(&'t str, At)> {
        if !self.is_operand() {
            return Err(self.unexpected("a value such as %0"));
        }
        let (name, at) = (&self.tok_text()[1..], self.at());
        self.bump();
        Ok((name, at))
    }

    /// Reads `%name` or `%name#1`, and returns the value, and the position of the name. A name that is not in scope, or
    /// a number that it does not have, is a mistake.
    pub fn operand(&mut self) -> Parsed<OperandAt> {
        let (name, at) = self.value_name()?;
        let mut index = 0;
        if self.is_kind(TokenKind::Hash) && self.tok.start == self.last_end {
            index = self.tok_text()[1..].parse().map_err(|_| self.unexpected("a result's number such as #1"))?;
            self.bump();
        }
        match self.scope.get(name).map(|values| values.get(index).copied()) {
            Some(Some(v)) => Ok((v, at)),
            Some(None) => Err(self.fail(at, "text-value", format!("`%{name}` has no result {index}"))),
            None => {
                let known = self.scope.names();
                self.report(at, |loc| mistakes::unknown_value(loc, name, &known));
                Err(Failed)
            }
        }
    }

    /// Reads `%a, %b`. There may be no operands.
    pub fn operands(&mut self) -> Parsed<Vec<OperandAt>> {
        let mut operands = vec![];
        if !self.is_operand() {
            return Ok(operands);
        }
        operands.push(self.operand()?);
        while self.eat(",") {
            operands.push(self.operand()?);
        }
        Ok(operands)
    }

    /// Returns the type of a value.
    pub fn type_of(&self, v: Value) -> &Type {
        self.body.ty(v)
    }

    /// Fails if the number of operands is not that of `types`, or if the type of an operand differs from that in
    /// `types`. Reports the first such operand.
    pub fn check_operands(&mut self, at: At, operands: &[OperandAt], types: &[Type]) -> Parsed<()> {
        if operands.len() != types.len() {
            let message = format!("the op has {}, and types for {}", counted(operands.len(), "operand"), types.len());
            return Err(self.fail(at, "text-operands", message));
        }
        for (&(v, at), ty) in operands.iter().zip(types) {
            if self.body.ty(v) != ty {
                let (given, name) = (self.body.ty(v).to_string(), &self.text[at.0 + 1..]);
                let name: String = name.chars().take_while(|c| c.is_alphanumeric() || "_$.-#".contains(*c)).collect();
                self.report(at, |loc| mistakes::value_type(loc, &name, &given, &ty.to_string()));
                return Err(Failed);
            }
        }
        Ok(())
    }
}

// ── regions

impl<'t> Parser<'t> {
    /// Reads `{ .. }` with arguments that have been read already. Without such arguments, it may begin with a header
    /// such as `^bb0(%a: T):`. Returns the region, which no op holds yet. Nesting of more than [`MAX_REGION_DEPTH`]
    /// regions is a mistake, and so is a second block.
    pub fn region(&mut self, args: Vec<RegionArg<'t>>) -> Parsed<Region> {
        if self.region_depth >= MAX_REGION_DEPTH {
            let at = self.at();
            self.report(at, crate::verify::nested_too_deep);
            return Err(Failed);
        }
        let region = self.body.add_region();
        self.region_depth += 1;
        let is_isolated = self.is_op_isolated;
        self.scope.open(is_isolated);
        let result = self.region_body(region, args);
        self.scope.close();
        self.is_op_isolated = is_isolated;
        self.region_depth -= 1;
        result.map(|()| region)
    }

    pub(super) fn region_body(&mut self, region: Region, mut args: Vec<RegionArg<'t>>) -> Parsed<()> {
        self.expect("{")?;
        if args.is_empty() && self.is_kind(TokenKind::Caret) {
            args = self.block_header()?;
        }
        for arg in args {
            self.add_arg(region, arg);
        }
        while !self.eat("}") {
            if self.is_kind(TokenKind::Caret) {
                let at = self.at();
                let way_out = "write the control flow with `stablehlo.while`, `case` and `if`";
                self.report(at, |loc| mistakes::unsupported(loc, "regions of several blocks", way_out));
                return Err(Failed);
            }
            self.op(region)?;
        }
        Ok(())
    }

    pub(super) fn add_arg(&mut self, region: Region, arg: RegionArg<'t>) -> Value {
        let loc = arg.loc.unwrap_or_else(|| self.loc_of(arg.at));
        let v = self.body.add_arg(region, arg.ty, loc);
        self.define(arg.name, SmallVec::from_buf([v]), arg.at);
        v
    }

    /// Reads `^bb0(%a: T, %b: U):`, or `^bb0:` without arguments.
    fn block_header(&mut self) -> Parsed<Vec<RegionArg<'t>>> {
        self.bump();
        let args = if self.is("(") { self.region_args()? } else { vec![] };
        self.expect(":")?;
        Ok(args)
    }

    /// Reads `(%a: T, %b: U)`.
    pub fn region_args(&mut self) -> Parsed<Vec<RegionArg<'t>>> {
        self.list("(", ")", Self::region_arg)
    }

    /// Reads `%a: T` and the location after it, if there is one.
    pub fn region_arg(&mut self) -> Parsed<RegionArg<'t>> {
        let (name, at) = self.value_name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        if self.is("{") {
            return Err(self.unexpected("`,` or `)`: arguments of inner regions have no attributes"));
        }
        let loc = self.optional_loc()?;
        Ok(RegionArg { name, ty, loc, at })
    }

    fn define(&mut self, name: &'t str, values: Named, at: At) {
        if !self.scope.define(name, values) {
            self.report(at, |loc| mistakes::defined_twice(loc, name));
        }
    }

    /// Adds a region with two arguments of one type, an op that combines them, and a return of its result, for which
    /// the short form of a reducer stands. Returns the region, which no op holds yet.
    pub fn combining_region(&mut self, op: OpCode, ret: OpCode, ty: &Type, loc: &Loc) -> Region {
        let region = self.body.add_region();
        let args: Vec<Value> = (0..2).map(|_| self.body.add_arg(region, ty.clone(), loc.clone())).collect();
        let op = self.body.add_op(region, op, args, crate::Attrs::new(), [], [ty.clone()], loc.clone());
        let result = self.body[op].results[0];
        self.body.add_op(region, ret, [result], crate::Attrs::new(), [], [], loc.clone());
        region
    }

    pub fn find_op(&self, name: &str) -> Option<OpCode> {
        self.table.find(name)
    }

    /// Returns the location of the op that is being read if the text states none: the op's position. Must be called
    /// before regions of the op are read, because it is the position of the last op in them afterwards.
    pub fn op_loc(&self) -> Loc {
        self.loc_of(self.op_at)
    }
}

// ── ops

impl<'t> Parser<'t> {
    pub(super) fn op(&mut self, region: Region) -> Parsed<()> {
        let at = self.at();
        self.op_at = at;
        let names = self.result_names()?;
        let name_at = self.at();
        let outer = std::mem::take(&mut self.deferred);
        let (code, mut parts) =
            if self.is_kind(TokenKind::Str) { self.generic_op()? } else { self.own_form_op(name_at)? };
        let deferred = std::mem::replace(&mut self.deferred, outer);
        let behind = self.optional_loc()?;
        let loc = behind.or(parts.loc.take()).unwrap_or_else(|| self.loc_of(at));
        let op = self.add_op(region, code, parts, loc, name_at, deferred)?;
        self.name_results(op, &names, name_at)
    }

    /// Reads `%0, %1:2 = `, or nothing if the op does not name its results.
    fn result_names(&mut self) -> Parsed<Vec<ResultNames<'t>>> {
        let mut names = vec![];
        if !self.is_operand() {
            return Ok(names);
        }
        loop {
            let (name, at) = self.value_name()?;
            let count = if self.eat(":") { Some(self.size()?) } else { None };
            if count == Some(0) {
                return Err(self.fail(at, "text-results", format!("`%{name}:0` names no result")));
            }
            names.push(ResultNames { name, count, at });
            if !self.eat(",") {
                self.expect("=")?;
                return Ok(names);
            }
        }
    }

    fn name_results(&mut self, op: Op, names: &[ResultNames<'t>], at: At) -> Parsed<()> {
        let results = self.body[op].results.clone();
        let named: usize = names.iter().map(|n| n.count.unwrap_or(1)).fold(0, usize::saturating_add);
        if !names.is_empty() && named != results.len() {
            let message = format!("the op has {}, and names for {named}", counted(results.len(), "result"));
            return Err(self.fail(at, "text-results", message));
        }
        let mut rest = &results[..];
        for n in names {
            let (own, others) = rest.split_at(n.count.unwrap_or(1));
            rest = others;
            self.define(n.name, own.into(), n.at);
        }
        Ok(())
    }

    fn own_form_op(&mut self, at: At) -> Parsed<(OpCode, OpParts)> {
        let written = self.word("an op")?;
        let name = match written {
            "return" => "func.return",
            "call" => "func.call",
            other => other,
        };
        let Some(code) = self.table.find(name) else {
            return Err(self.unknown_op(at, written));
        };
        self.is_op_isolated = self.table.def(code).is_isolated();
        let parts = match self.table.def(code).syntax().form {
            Form::Pieces(pieces, types) => self.pieces(pieces, types)?,
            Form::Custom(form) => form.parse(self)?,
            Form::Generic => {
                self.report(at, |loc| mistakes::generic_only(loc, name));
                return Err(Failed);
            }
        };
        Ok((code, parts))
    }

    fn unknown_op(&mut self, at: At, name: &str) -> Failed {
        let known = self.table.names();
        self.report(at, |loc| mistakes::unknown_op(loc, name, &known));
        Failed
    }

    /// Reads `"name"(%a) <{..}> ({..}) {..} : (T) -> U`. Reports a name that the table does not have, and returns the
    /// parts as those of a `func.return`.
    fn generic_op(&mut self) -> Parsed<(OpCode, OpParts)> {
        let at = self.at();
        let name = self.string("an op's name")?;
        let code = self.table.find(&name);
        if code.is_none() {
            // The rest of the op can still be read, and after it the rest of the function.
            self.unknown_op(at, &name);
        }
        self.is_op_isolated = code.is_some_and(|code| self.table.def(code).is_isolated());
        let mut parts = self.generic_parts()?;
        if let Some(code) = code {
            convert_numbered(self.table.def(code).syntax().form, &mut parts.attrs, false);
        }
        Ok((code.unwrap_or(OpCode::RETURN), parts))
    }

    /// Reads everything after the name in the generic form.
    pub fn generic_parts(&mut self) -> Parsed<OpParts> {
        let mut parts = OpParts::default();
        self.expect("(")?;
        let operands = self.list_until(")", Self::operand)?;
        if self.eat("<") {
            parts.attrs = self.dict()?;
            self.expect(">")?;
        }
        if self.is("(") {
            parts.regions = self.list("(", ")", |p| p.region(vec![]))?;
        }
        self.merge_dict(&mut parts.attrs)?;
        self.expect(":")?;
        let at = self.at();
        parts.types = self.functional_types(at, &operands)?;
        parts.operands = operands.into_iter().map(|(v, _)| v).collect();
        Ok(parts)
    }

    fn add_op(
        &mut self,
        region: Region,
        code: OpCode,
        mut parts: OpParts,
        loc: Loc,
        at: At,
        deferred: Vec<(Arc<str>, At)>,
    ) -> Parsed<Op> {
        let syntax = self.table.def(code).syntax();
        let shardings = parts.shardings.take().or_else(|| take_property(&mut parts, syntax));
        self.resolve_deferred(&mut parts, shardings.as_deref(), deferred)?;
        let taken = Taken::from(&mut parts.attrs);
        let op = self.body.add_op(region, code, parts.operands, parts.attrs, parts.regions, parts.types, loc);
        if let Some(list) = shardings {
            self.set_result_shardings(op, list, at)?;
        }
        self.apply_facts(op, &taken, at)?;
        Ok(op)
    }

    /// Reads the axes at the positions in `deferred`, and sets the attributes with these names. The axes belong to the
    /// mesh of the op ([`Parser::mesh_of`]). It is a mistake if there are such axes and no mesh.
    fn resolve_deferred(
        &mut self,
        parts: &mut OpParts,
        shardings: Option<&[Option<Sharding>]>,
        deferred: Vec<(Arc<str>, At)>,
    ) -> Parsed<()> {
        let Some((_, first)) = deferred.first() else { return Ok(()) };
        let Some(mesh) = self.mesh_of(parts, shardings) else {
            self.report(*first, mistakes::no_mesh_for_axes);
            return Err(Failed);
        };
        for (name, at) in deferred {
            let attr = self.elsewhere(at, |p| p.axes_of_mesh(&mesh))?;
            parts.attrs.set(name, attr);
        }
        Ok(())
    }

    /// Returns the mesh of an op: that of the shardings in its attributes and of its results (one with axes, if
    /// possible), or else the main mesh ([`Parser::main_mesh`]). Returns `None` if there are no shardings, and no mesh
    /// has been read.
    pub(super) fn mesh_of(&self, parts: &OpParts, results: Option<&[Option<Sharding>]>) -> Option<Arc<Mesh>> {
        let of_results = results.into_iter().flatten().flatten();
        let of_operands = parts.attrs.iter().flat_map(|(_, attr)| match attr {
            Attr::Shardings(list) => &list[..],
            Attr::Sharding(s) => std::slice::from_ref(s),
            _ => &[],
        });
        let meshes = of_operands.chain(of_results).map(|s| &s.mesh);
        meshes.min_by_key(|m| m.axes.is_empty()).cloned().or_else(|| self.main_mesh())
    }

    /// Returns the mesh of an op of which only a part has been read: that of its shardings, or else the main mesh. It
    /// is a mistake if there is neither.
    pub fn mesh_of_parts(&mut self, parts: &OpParts) -> Parsed<Arc<Mesh>> {
        match self.mesh_of(parts, parts.shardings.as_deref()) {
            Some(mesh) => Ok(mesh),
            None => {
                let at = self.at();
                self.report(at, mistakes::no_mesh_for_axes);
                Err(Failed)
            }
        }
    }
}

/// Removes the property that holds the results' shardings, and returns these. Returns `None` if the op's results have
/// their shardings elsewhere, or if the property is absent or not a sharding.
fn take_property(parts: &mut OpParts, syntax: Syntax) -> Option<Vec<Option<Sharding>>> {
    let (ResultShardings::Property(name) | ResultShardings::List(name)) = syntax.results else {
        return None;
    };
    match parts.attrs.remove(name)? {
        Attr::Sharding(s) => Some(vec![Some(s)]),
        Attr::Shardings(list) => Some(list.into_iter().map(Some).collect()),
        other => {
            parts.attrs.set(name, other);
            None
        }
    }
}
