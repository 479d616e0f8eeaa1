//! Finds where diagnostics are made: reads codes and messages from the syntax of the sources.
//!
//! A message is traced to its text: through `let`, `if` and `match`, from a function whose parameter is a code or
//! message to the calls of this function, from the parameter of a closure in `map_err` to the errors of the function
//! that was called, and from `self.to_string()` to what the type displays.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, Lit, Pat, Signature, Stmt, Token};

/// A diagnostic, and a file that makes it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Made {
    pub code: String,
    pub severity: &'static str,
    /// The message as in the source, with `{..}` for the values that are filled in. [`UNTRACED`] if it is not found.
    pub message: String,
    pub file: String,
}

/// Stands for a message that cannot be traced to its text. No source that is shipped has one.
pub const UNTRACED: &str = "(untraced)";

/// The largest number of calls through which a code or message is traced.
const MAX_CALLS: usize = 4;

/// Returns the diagnostics that these sources make. A source is a file's name and its text. Diagnostics whose codes
/// cannot be traced are left out, and so are those of functions and modules with `#[cfg(test)]`. Fails if a source
/// cannot be parsed.
pub fn diagnostics(sources: &[(String, String)]) -> Result<BTreeSet<Made>> {
    let mut found = Found::default();
    for (name, text) in sources {
        let syntax = syn::parse_file(text).with_context(|| format!("cannot parse {name}"))?;
        let scope = Scope::of_file(name.as_str().into());
        Finder { found: &mut found, scope, implemented: None }.visit_file(&syntax);
    }
    let mut made = BTreeSet::new();
    for (severity, call) in &found.diagnostics {
        let [code, _, message] = &call.arguments[..] else { continue };
        let pairs = pairs(&found.texts(code, &[], &call.scope), &found.texts(message, &[], &call.scope));
        pairs.into_iter().for_each(|pair| found.follow(severity, pair, &call.scope.file, 0, &mut made));
    }
    Ok(made)
}

// ── the findings
#[derive(Default)]
struct Found {
    functions: Vec<Function>,
    calls: Vec<Call>,
    /// Calls of `Diagnostic::error`, `Diagnostic::warning` and `Diagnostic::remark`.
    diagnostics: Vec<(&'static str, Call)>,
    /// The strings of words in implementations of `Display`, by the file and the name of the type.
    displays: BTreeMap<(Rc<str>, String), Vec<String>>,
}

/// A function, or a closure. The name of a closure is the one that it is bound to, or empty.
struct Function {
    name: String,
    file: Rc<str>,
    is_closure: bool,
    parameters: usize,
    /// The strings in the body that consist of words ([`words_of`]).
    says: Vec<String>,
    /// The names of the functions that the body calls by a path.
    callees: Vec<String>,
}

#[derive(Clone)]
struct Call {
    callee: String,
    /// The module before the name, if there is one: `mistakes` in `mistakes::shape(..)`.
    module: Option<String>,
    arguments: Vec<Expr>,
    scope: Scope,
}

/// The names that are visible at a place of a file. The last of equal names counts.
#[derive(Clone)]
struct Scope {
    file: Rc<str>,
    names: Rc<Vec<(String, Bound)>>,
}

#[derive(Clone)]
enum Bound {
    Parameter(Parameter),
    /// A part of a value, by its indices in nested tuples.
    Part(Rc<Expr>, Vec<usize>, Scope),
    /// A value of the type with this name, which has an implementation in the file of the scope.
    Instance(String),
}

/// A parameter of a function, by the indices of the function and the parameter. `self` has no index.
#[derive(Clone, Copy, PartialEq)]
struct Parameter {
    function: usize,
    index: usize,
}

#[derive(Clone)]
enum Text {
    Said(String),
    Given(Parameter),
    /// A text whose only words are a parameter, which replaces `{name}`.
    Around {
        text: String,
        name: String,
        given: Parameter,
    },
    Unknown,
}

impl Text {
    fn given(&self) -> Option<Parameter> {
        match self {
            Text::Given(given) | Text::Around { given, .. } => Some(*given),
            _ => None,
        }
    }
}

/// Inserts a text into another one in place of `{name}`. If it is a parameter, records that it has to be inserted
/// later. An unknown text leaves `{name}` as it is, and so does a text that is itself around a parameter.
fn around(text: &str, name: &str, inside: Text) -> Text {
    match inside {
        Text::Said(inside) => Text::Said(text.replace(&format!("{{{name}}}"), &inside)),
        Text::Given(given) => Text::Around { text: text.into(), name: name.into(), given },
        _ => Text::Said(text.into()),
    }
}

/// Returns the name between the last braces of a text without words outside of braces: `rule` in `{}: {rule}`. Returns
/// `None` if the text has such words, if it has no braces, or if the last ones are empty.
fn only_name(text: &str) -> Option<&str> {
    let has_words = |part: &str| part.rsplit('}').next().is_some_and(|t| t.contains(char::is_alphabetic));
    let name = text.rsplit_once('{')?.1.split_once('}')?.0;
    (!name.is_empty() && !text.split('{').any(has_words)).then_some(name)
}

impl Scope {
    fn of_file(file: Rc<str>) -> Scope {
        Scope { file, names: Rc::default() }
    }

    fn with(&self, names: impl IntoIterator<Item = (String, Bound)>) -> Scope {
        Scope { file: self.file.clone(), names: Rc::new(self.names.iter().cloned().chain(names).collect()) }
    }

    fn with_pattern(&self, pattern: &Pat, value: &Rc<Expr>) -> Scope {
        let part = |(name, path)| (name, Bound::Part(value.clone(), path, self.clone()));
        self.with(names(pattern, vec![]).into_iter().map(part))
    }
}

/// Returns the names of a pattern, each with its position in nested tuples. Names in patterns of structs, slices and
/// alternatives are left out.
fn names(pattern: &Pat, path: Vec<usize>) -> Vec<(String, Vec<usize>)> {
    match pattern {
        Pat::Ident(p) => vec![(p.ident.to_string(), path)],
        Pat::Type(p) => names(&p.pat, path),
        Pat::Reference(p) => names(&p.pat, path),
        Pat::TupleStruct(p) => p.elems.iter().flat_map(|part| names(part, path.clone())).collect(),
        Pat::Tuple(p) => {
            let parts = p.elems.iter().enumerate();
            parts.flat_map(|(i, part)| names(part, path.iter().copied().chain([i]).collect())).collect()
        }
        _ => vec![],
    }
}

// ── reading
struct Finder<'a> {
    found: &'a mut Found,
    scope: Scope,
    /// The name of the type whose implementation is read; `None` outside of implementations.
    implemented: Option<String>,
}

impl Finder<'_> {
    fn function(&mut self, name: String, parameters: Vec<&Pat>, is_closure: bool, body: Expr) {
        let function = self.found.functions.len();
        let given = parameters.iter().enumerate().flat_map(|(index, p)| {
            let parameter = Bound::Parameter(Parameter { function, index });
            names(p, vec![]).into_iter().map(move |(name, _)| (name, parameter.clone()))
        });
        let receiver = self.implemented.clone().map(|name| ("self".to_string(), Bound::Instance(name)));
        let outer =
            if is_closure { self.scope.clone() } else { Scope::of_file(self.scope.file.clone()).with(receiver) };
        let scope = outer.with(given);
        let parameters = parameters.len();
        let (says, callees) = (words_of(&body), callees_of(&body));
        self.found.functions.push(Function { name, file: scope.file.clone(), is_closure, parameters, says, callees });
        let outer = std::mem::replace(&mut self.scope, scope);
        self.visit_expr(&body);
        self.scope = outer;
    }

    fn item(&mut self, attrs: &[Attribute], sig: &Signature, block: &Block) {
        if is_test(attrs) {
            return;
        }
        let typed = sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(p) => Some(&*p.pat),
            syn::FnArg::Receiver(_) => None,
        });
        self.function(sig.ident.to_string(), typed.collect(), false, Expr::Block(block_of(block)));
    }
}

impl Call {
    fn new<'e>(names: &[String], arguments: impl IntoIterator<Item = &'e Expr>, scope: &Scope) -> Call {
        let (callee, before) = names.split_last().expect("a path has a part");
        let is_module =
            |name: &&String| name.starts_with(char::is_lowercase) && !["self", "super", "crate"].contains(&&***name);
        Call {
            callee: callee.clone(),
            module: before.last().filter(is_module).cloned(),
            arguments: arguments.into_iter().cloned().collect(),
            scope: scope.clone(),
        }
    }

    fn fits(&self, function: &Function) -> bool {
        self.callee == function.name && self.arguments.len() == function.parameters
    }
}

/// Returns the strings in an expression that are words, and not names: those with a space. Calls of `expect` are left
/// out, with what they are called on, and so are the arguments of `panic`, `unreachable` and `assert`. A string that is
/// an argument of a function, other than a method, is left out too: it is a part of the message that the function
/// makes, as `verb` in `format!("{verb} {axes}")`.
fn words_of(e: &Expr) -> Vec<String> {
    struct Words(Vec<String>);
    impl<'ast> Visit<'ast> for Words {
        fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
            if text.value().trim().contains(' ') {
                self.0.push(text.value());
            }
        }
        fn visit_macro(&mut self, m: &'ast syn::Macro) {
            if ["panic", "unreachable", "assert"].iter().any(|name| m.path.is_ident(name)) {
                return;
            }
            let arguments = m.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
            arguments.into_iter().flatten().for_each(|e| self.visit_expr(&e));
        }
        fn visit_expr_method_call(&mut self, e: &'ast syn::ExprMethodCall) {
            if e.method != "expect" {
                visit::visit_expr_method_call(self, e);
            }
        }
        fn visit_expr_call(&mut self, e: &'ast syn::ExprCall) {
            let is_part = |argument: &&Expr| is_function(&e.func) && matches!(argument, Expr::Lit(_));
            e.args.iter().filter(|argument| !is_part(argument)).for_each(|argument| self.visit_expr(argument));
        }
    }
    let mut words = Words(vec![]);
    words.visit_expr(e);
    words.0
}

/// Returns true for the path of a function other than `from`. The names of constructors, such as `Err`, start with a
/// capital letter.
fn is_function(callee: &Expr) -> bool {
    let Expr::Path(p) = callee else { return false };
    path_names(&p.path).last().is_some_and(|name| name != "from" && name.starts_with(char::is_lowercase))
}

fn callees_of(e: &Expr) -> Vec<String> {
    struct Callees(Vec<String>);
    impl<'ast> Visit<'ast> for Callees {
        fn visit_expr_call(&mut self, e: &'ast syn::ExprCall) {
            if let Expr::Path(p) = &*e.func {
                self.0.extend(path_names(&p.path).pop());
            }
            visit::visit_expr_call(self, e);
        }
    }
    let mut callees = Callees(vec![]);
    callees.visit_expr(e);
    callees.0
}

fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|a| a.path().is_ident("cfg") && a.parse_args::<syn::Path>().is_ok_and(|p| p.is_ident("test")))
}

fn is_conversion(method: &syn::Ident) -> bool {
    ["to_string", "into", "to_owned", "into_owned", "clone", "as_str", "as_ref"].iter().any(|name| method == name)
}

fn block_of(block: &Block) -> syn::ExprBlock {
    syn::ExprBlock { attrs: vec![], label: None, block: block.clone() }
}

fn path_names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|s| s.ident.to_string()).collect()
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let syn::Type::Path(ty) = &*item.self_ty else { return visit::visit_item_impl(self, item) };
        let Some(name) = path_names(&ty.path).pop() else { return };
        let displays = |(_, path, _): &(Option<Token![!]>, syn::Path, Token![for])| {
            path.segments.last().is_some_and(|s| s.ident == "Display")
        };
        if item.trait_.as_ref().is_some_and(displays) {
            let functions = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(f) => Some(Expr::Block(block_of(&f.block))),
                _ => None,
            });
            let said = functions.flat_map(|body| words_of(&body)).collect();
            self.found.displays.insert((self.scope.file.clone(), name.clone()), said);
        }
        let outer = self.implemented.replace(name);
        visit::visit_item_impl(self, item);
        self.implemented = outer;
    }

    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        self.item(&f.attrs, &f.sig, &f.block);
    }

    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        self.item(&f.attrs, &f.sig, &f.block);
    }

    fn visit_trait_item_fn(&mut self, f: &'ast syn::TraitItemFn) {
        if let Some(block) = &f.default {
            self.item(&f.attrs, &f.sig, block);
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        let outer = self.scope.clone();
        visit::visit_block(self, block);
        self.scope = outer;
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let Some(init) = &local.init else { return };
        match (&*init.expr, &local.pat) {
            (Expr::Closure(c), Pat::Ident(p)) => {
                self.function(p.ident.to_string(), c.inputs.iter().collect(), true, (*c.body).clone());
            }
            _ => self.visit_expr(&init.expr),
        }
        init.diverge.iter().for_each(|(_, expr)| self.visit_expr(expr));
        self.scope = self.scope.with_pattern(&local.pat, &Rc::new((*init.expr).clone()));
    }

    fn visit_expr_for_loop(&mut self, e: &'ast syn::ExprForLoop) {
        let inside = self.scope.with_pattern(&e.pat, &Rc::new((*e.expr).clone()));
        self.visit_expr(&e.expr);
        let outer = std::mem::replace(&mut self.scope, inside);
        self.visit_block(&e.body);
        self.scope = outer;
    }

    fn visit_expr_if(&mut self, e: &'ast syn::ExprIf) {
        let outer = self.scope.clone();
        visit::visit_expr_if(self, e);
        self.scope = outer;
    }

    fn visit_expr_let(&mut self, e: &'ast syn::ExprLet) {
        self.visit_expr(&e.expr);
        self.scope = self.scope.with_pattern(&e.pat, &Rc::new((*e.expr).clone()));
    }

    fn visit_expr_match(&mut self, e: &'ast syn::ExprMatch) {
        self.visit_expr(&e.expr);
        let (value, outer) = (Rc::new((*e.expr).clone()), self.scope.clone());
        for arm in &e.arms {
            self.scope = outer.with_pattern(&arm.pat, &value);
            visit::visit_arm(self, arm);
        }
        self.scope = outer;
    }

    fn visit_expr_closure(&mut self, c: &'ast syn::ExprClosure) {
        self.function(String::new(), c.inputs.iter().collect(), true, (*c.body).clone());
    }

    fn visit_expr_call(&mut self, e: &'ast syn::ExprCall) {
        if let Expr::Path(p) = &*e.func {
            let names = path_names(&p.path);
            let call = Call::new(&names, &e.args, &self.scope);
            let of_diagnostic = names.len() > 1 && names[names.len() - 2] == "Diagnostic";
            match call.callee.as_str() {
                "error" if of_diagnostic => self.found.diagnostics.push(("error", call)),
                "warning" if of_diagnostic => self.found.diagnostics.push(("warning", call)),
                "remark" if of_diagnostic => self.found.diagnostics.push(("note", call)),
                _ => self.found.calls.push(call),
            }
        }
        visit::visit_expr_call(self, e);
    }

    fn visit_expr_method_call(&mut self, e: &'ast syn::ExprMethodCall) {
        let call = Call::new(&[e.method.to_string()], &e.args, &self.scope);
        self.found.calls.push(call);
        let (Some(Expr::Closure(c)), true) = (e.args.first(), e.method == "map_err") else {
            return visit::visit_expr_method_call(self, e);
        };
        self.visit_expr(&e.receiver);
        let error = Rc::new((*e.receiver).clone());
        let inside = c.inputs.iter().fold(self.scope.clone(), |scope, pattern| scope.with_pattern(pattern, &error));
        let outer = std::mem::replace(&mut self.scope, inside);
        self.visit_expr(&c.body);
        self.scope = outer;
    }

    fn visit_macro(&mut self, m: &'ast syn::Macro) {
        let arguments = m.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        arguments.into_iter().flatten().for_each(|e| self.visit_expr(&e));
    }
}

// ── tracing
/// Pairs codes with messages: in order if there are equally many of both, and each code with each message otherwise.
fn pairs(codes: &[Text], messages: &[Text]) -> Vec<[Text; 2]> {
    if codes.len() == messages.len() {
        return codes.iter().zip(messages).map(|(c, m)| [c.clone(), m.clone()]).collect();
    }
    codes.iter().flat_map(|c| messages.iter().map(|m| [c.clone(), m.clone()])).collect()
}

impl Found {
    /// Adds to `made` a diagnostic with this code and message, made in `file`. If one of them is a parameter of a
    /// function that is called, and fewer than [`MAX_CALLS`] calls have been followed, adds the diagnostics of all its
    /// calls instead. Adds nothing if the code is not known. `calls` is the number of calls that have been followed.
    fn follow(&self, severity: &'static str, pair: [Text; 2], file: &str, calls: usize, made: &mut BTreeSet<Made>) {
        let function = pair.iter().find_map(Text::given).map(|given| given.function);
        let callers: Vec<&Call> = match function {
            Some(function) if calls < MAX_CALLS => self.calls_of(&self.functions[function]).collect(),
            _ => vec![],
        };
        for call in &callers {
            let [codes, messages] = pair.clone().map(|text| self.texts_at(call, function, text));
            for next in pairs(&codes, &messages) {
                // A call that adds no text is not the place where the diagnostic is made.
                let is_told = pair[0].given().is_some() || !matches!(next[1], Text::Unknown);
                self.follow(severity, next, if is_told { &call.scope.file } else { file }, calls + 1, made);
            }
        }
        if let ([Text::Said(code), message], true) = (&pair, callers.is_empty()) {
            let message = match message {
                Text::Said(text) | Text::Around { text, .. } => text.clone(),
                Text::Given(_) | Text::Unknown => UNTRACED.to_string(),
            };
            made.insert(Made { code: code.clone(), severity, message, file: file.to_string() });
        }
    }

    /// Returns the texts that `text` can have at a call of this function if it is one of the function's parameters.
    /// Otherwise, returns `text` itself.
    fn texts_at(&self, call: &Call, function: Option<usize>, text: Text) -> Vec<Text> {
        let Some(given) = text.given().filter(|given| Some(given.function) == function) else { return vec![text] };
        let inside = self.texts(&call.arguments[given.index], &[], &call.scope);
        match text {
            Text::Around { text, name, .. } => inside.into_iter().map(|i| around(&text, &name, i)).collect(),
            _ => inside,
        }
    }

    fn calls_of<'a>(&'a self, function: &'a Function) -> impl Iterator<Item = &'a Call> {
        self.calls.iter().filter(move |call| call.fits(function) && self.can_call(call, function))
    }

    /// Returns true if a call of this function's name can be one of this function, judged by their files and by the
    /// module that the call names.
    fn can_call(&self, call: &Call, function: &Function) -> bool {
        let is_in = |module: &String| function.file.split(['/', '.']).any(|part| part == module);
        if call.scope.file == function.file || function.is_closure {
            return call.scope.file == function.file && call.module.as_ref().is_none_or(is_in);
        }
        let is_hidden = || self.functions.iter().any(|f| f.file == call.scope.file && f.name == call.callee);
        let crate_of = |file: &str| file.split('/').nth(1).map(str::to_string);
        crate_of(&call.scope.file) == crate_of(&function.file)
            && call.module.as_ref().map_or_else(|| !is_hidden(), is_in)
    }

    /// Returns the texts that an expression can have, or those of a part of it. `part` has the indices in nested tuples
    /// that lead to the part, outermost first. A text that is not known is [`Text::Unknown`].
    fn texts(&self, e: &Expr, part: &[usize], scope: &Scope) -> Vec<Text> {
        match e {
            Expr::Lit(e) => match &e.lit {
                Lit::Str(text) => vec![Text::Said(text.value())],
                _ => vec![Text::Unknown],
            },
            Expr::Macro(e) if e.mac.path.is_ident("format") => self.texts_of_format(&e.mac, scope),
            Expr::Unary(e) => self.texts(&e.expr, part, scope),
            Expr::Tuple(e) => match part.split_first() {
                Some((&i, rest)) if i < e.elems.len() => self.texts(&e.elems[i], rest, scope),
                _ => vec![Text::Unknown],
            },
            Expr::Reference(e) => self.texts(&e.expr, part, scope),
            Expr::Paren(e) => self.texts(&e.expr, part, scope),
            Expr::MethodCall(e) if is_conversion(&e.method) => self.texts(&e.receiver, part, scope),
            Expr::Block(e) => self.texts_of_block(&e.block, part, scope),
            Expr::If(e) => {
                let other = e.else_branch.iter().flat_map(|(_, e)| self.texts(e, part, scope));
                self.texts_of_block(&e.then_branch, part, scope).into_iter().chain(other).collect()
            }
            Expr::Match(e) => e.arms.iter().flat_map(|arm| self.texts(&arm.body, part, scope)).collect(),
            Expr::Path(e) => self.texts_of_name(&path_names(&e.path), part, scope),
            Expr::MethodCall(e) => self.texts_of_call(&[e.method.to_string()], &e.args, scope),
            Expr::Call(e) => match &*e.func {
                Expr::Path(function) => self.texts_of_call(&path_names(&function.path), &e.args, scope),
                _ => vec![Text::Unknown],
            },
            _ => vec![Text::Unknown],
        }
    }

    fn texts_of_format(&self, m: &syn::Macro, scope: &Scope) -> Vec<Text> {
        let arguments = m.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated).unwrap_or_default();
        let texts = arguments.first().map(|text| self.texts(text, &[], scope)).unwrap_or_default();
        let filled = |text: Text| match &text {
            Text::Said(said) => match only_name(said) {
                Some(name) => {
                    let inside = self.texts_of_name(&[name.to_string()], &[], scope);
                    inside.into_iter().map(|inside| around(said, name, inside)).collect()
                }
                None => vec![text],
            },
            _ => vec![text],
        };
        texts.into_iter().flat_map(filled).collect()
    }

    fn texts_of_block(&self, block: &Block, part: &[usize], scope: &Scope) -> Vec<Text> {
        let scope = block.stmts.iter().fold(scope.clone(), |scope, stmt| match stmt {
            Stmt::Local(syn::Local { pat, init: Some(init), .. }) => {
                scope.with_pattern(pat, &Rc::new((*init.expr).clone()))
            }
            _ => scope,
        });
        match block.stmts.last() {
            Some(Stmt::Expr(e, None)) => self.texts(e, part, &scope),
            Some(Stmt::Macro(m)) => {
                self.texts(&Expr::Macro(syn::ExprMacro { attrs: vec![], mac: m.mac.clone() }), part, &scope)
            }
            _ => vec![],
        }
    }

    fn texts_of_name(&self, names: &[String], part: &[usize], scope: &Scope) -> Vec<Text> {
        let [name] = names else { return vec![Text::Unknown] };
        match scope.names.iter().rev().find(|(bound, _)| bound == name) {
            Some((_, Bound::Parameter(p))) => vec![Text::Given(*p)],
            Some((_, Bound::Part(e, of, scope))) => {
                let path: Vec<usize> = of.iter().chain(part).copied().collect();
                self.texts(e, &path, scope)
            }
            Some((_, Bound::Instance(ty))) => {
                let said = self.displays.get(&(scope.file.clone(), ty.clone())).into_iter().flatten();
                known(said.cloned().map(Text::Said).collect())
            }
            None => vec![Text::Unknown],
        }
    }

    /// Returns the strings of words in a function and in the functions of its file that it calls, directly or through
    /// other functions of the file.
    fn said_by<'a>(&'a self, function: &'a Function) -> Vec<&'a String> {
        let mut called = vec![function];
        let mut next = 0;
        while let Some(&f) = called.get(next) {
            let callees = self.functions.iter().filter(|g| g.file == f.file && f.callees.contains(&g.name));
            let new: Vec<&Function> = callees.filter(|g| !called.iter().any(|f| std::ptr::eq(*f, *g))).collect();
            called.extend(new);
            next += 1;
        }
        called.into_iter().flat_map(|f| &f.says).collect()
    }

    /// Returns the texts of the first argument of `Some(..)`, `Err(..)` or `String::from(..)`. For other calls, returns
    /// all strings of words in the functions that may be called ([`Found::said_by`]), or [`Text::Unknown`] if there are
    /// none.
    fn texts_of_call(&self, names: &[String], arguments: &Punctuated<Expr, Token![,]>, scope: &Scope) -> Vec<Text> {
        if let (Some("from" | "Some" | "Err"), Some(first)) = (names.last().map(String::as_str), arguments.first()) {
            return self.texts(first, &[], scope);
        }
        let call = Call::new(names, arguments, scope);
        let functions = self.functions.iter().filter(|function| call.fits(function) && self.can_call(&call, function));
        known(functions.flat_map(|f| self.said_by(f)).cloned().map(Text::Said).collect())
    }
}

fn known(texts: Vec<Text>) -> Vec<Text> {
    if texts.is_empty() { vec![Text::Unknown] } else { texts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(source: &str) -> Vec<String> {
        let sources = [("crates/a/src/mistakes.rs".to_string(), source.to_string())];
        let made = diagnostics(&sources).unwrap().into_iter();
        made.map(|m| format!("{} {}: {}", m.code, m.severity, m.message)).collect()
    }

    #[test]
    fn messages_are_found_where_they_are_made() {
        let source = r#"
            // Diagnostic::error("not", loc, "a comment")
            fn f() { Diagnostic::error("a-b", loc, format!("é `{x}` \"(so)\" a\
                                       b")).help("h"); }
            fn g() { let (code, message) = match x { 1 => ("c", "one"), _ => ("d", "two".to_string()) };
                     let message = message; vec![base::Diagnostic::warning(code, l, &*message)] }
            fn h() { let message = if x { "yes" } else { let y = "no"; y }; Diagnostic::error("e", l, message) }
            fn i() { Diagnostic::error("f", l, e.to_string()) }
            #[cfg(test)]
            mod tests { fn t() { Diagnostic::error("t", l, "in a test") } }
        "#;
        let expected = [
            "a-b error: é `{x}` \"(so)\" ab",
            "c warning: one",
            "d warning: two",
            "e error: no",
            "e error: yes",
            "f error: (untraced)",
        ];
        assert_eq!(told(source), expected);
    }

    #[test]
    fn errors_are_traced_to_their_words() {
        let source = r#"
            impl fmt::Display for Lost {
                fn fmt(&self, f: &mut Formatter) -> Result { write!(f, "the {} is lost", self.0) }
            }
            impl Lost { fn diagnostic(&self, loc: &Loc) -> Diagnostic { Diagnostic::error("a", loc, self.to_string()) } }
            fn read(x: &str) -> Result<u8, String> { inner(x)?; Ok(1) }
            fn inner(x: &str) -> Result<u8, String> { y.expect("not empty"); panic!("no way"); Err(format!("cannot read {x}")) }
            fn one() { read(x).map_err(|m| Diagnostic::error("b", l, m)) }
            fn two() { let y = match x { 1 => Err("no number".to_string()), _ => read(x) };
                       y.map_err(|message| Diagnostic::error("c", l, message)) }
        "#;
        let expected =
            ["a error: the {} is lost", "b error: cannot read {x}", "c error: cannot read {x}", "c error: no number"];
        assert_eq!(told(source), expected);
    }

    #[test]
    fn an_argument_of_a_message_is_no_message() {
        let source = r#"
            fn apply(x: &str) -> Result<u8, String> { take(x, "slices along")?; Err(String::from("an error")) }
            fn take(x: &str, verb: &str) -> Result<u8, String> { Err(format!("{verb} {x}, which is split")) }
            fn one() { apply(x).map_err(|m| Diagnostic::error("a", l, m)) }
        "#;
        assert_eq!(told(source), ["a error: an error", "a error: {verb} {x}, which is split"]);
    }

    #[test]
    fn what_is_given_is_found_at_the_calls() {
        let source = r#"
            fn shape(code: &'static str, message: String, loc: &Loc) -> Diagnostic { Diagnostic::error(code, loc, message) }
            fn one() { shape("a", format!("first"), l); self.shape("b", "second".into(), l); other::shape("x", "y", l) }
            fn between(message: &str) { mistakes::shape("c", message.to_string(), l) }
            fn that(code: &'static str, rule: &str) { Diagnostic::error(code, l, format!("`{}`: {rule}", op.name())) }
            fn three() { self.that("g", "the rule"); for fault in faults(x) { self.that("h", &fault) } }
            fn faults(x: &str) -> Vec<String> { vec![format!("one {x}"), "the other".to_string(), name("x")] }
            fn two() { between("third"); let wrong = |m: &str| shape("d", m.into(), l); wrong("fourth"); between("fifth") }
        "#;
        assert_eq!(
            told(source),
            [
                "a error: first",
                "b error: second",
                "c error: fifth",
                "c error: third",
                "d error: fourth",
                "g error: `{}`: the rule",
                "h error: `{}`: one {x}",
                "h error: `{}`: the other"
            ]
        );
    }
}
