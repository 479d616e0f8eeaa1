//! Circles of imports: files of a crate that need each other, directly or through other files.
//!
//! A file needs the files that define the names it mentions. A name that a module re-exports is followed to the file
//! that defines it, so a `pub use` in `mod.rs` is no circle by itself. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, Macro, UseTree};

/// The names of the modules from the root of the crate down to a module, or the segments of a path.
type Names = Vec<String>;

/// Returns the files that are in circles, given the sources of a crate by their paths below `src`. Panics if a source
/// cannot be parsed.
pub fn in_circles(sources: &BTreeMap<String, String>) -> Vec<String> {
    let mut modules: BTreeMap<Names, Mentions> = BTreeMap::new();
    let mut files: BTreeMap<Names, &String> = BTreeMap::new();
    for (file, source) in sources {
        modules.insert(module_of(file), Mentions::of(source));
        files.insert(module_of(file), file);
    }
    let tests: Vec<Names> = modules.iter().flat_map(|(m, found)| found.tests.iter().map(|t| child(m, t))).collect();
    modules.retain(|m, _| !tests.iter().any(|t| m.starts_with(t)));
    let needs: BTreeMap<&Names, BTreeSet<Names>> = modules.keys().map(|m| (m, needed(&modules, m))).collect();
    let is_in_circle = |m: &&Names| reached(&needs, m).contains(*m);
    modules.keys().filter(is_in_circle).map(|m| files[m].clone()).collect()
}

/// Returns the module that a file contains: `a/b.rs` and `a/b/mod.rs` are `a::b`, and `lib.rs` is the root.
fn module_of(file: &str) -> Names {
    let mut names: Names = file.trim_end_matches(".rs").split('/').map(str::to_string).collect();
    names.pop_if(|last| ["mod", "lib"].contains(&last.as_str()));
    names
}

fn child(module: &[String], name: &str) -> Names {
    module.iter().cloned().chain([name.to_string()]).collect()
}

fn needed(modules: &BTreeMap<Names, Mentions>, module: &Names) -> BTreeSet<Names> {
    let found = &modules[module];
    let paths = found.uses.iter().map(|u| &u.path).chain(&found.paths);
    paths.filter_map(|path| home(modules, module, path, 8)).filter(|m| m != module).collect()
}

/// Returns the modules that a module needs, directly or through others. The module itself is among them only if it is
/// in a circle.
fn reached<'a>(needs: &'a BTreeMap<&Names, BTreeSet<Names>>, from: &Names) -> BTreeSet<&'a Names> {
    let mut all = BTreeSet::new();
    let mut open: Vec<&Names> = needs[from].iter().collect();
    while let Some(next) = open.pop() {
        if all.insert(next) {
            open.extend(&needs[next]);
        }
    }
    all
}

/// Returns the module that defines what a path in `module` names. Returns `None` for a module, for a single name, and
/// for a path that starts with neither a module of the crate nor an imported name of the crate. At most `depth` imports
/// are followed.
fn home(modules: &BTreeMap<Names, Mentions>, module: &Names, path: &[String], depth: usize) -> Option<Names> {
    let imported = |at: &Names, names: &[String]| {
        let import = modules[at].uses.iter().find(|u| u.name == names[0])?;
        let path: Names = import.path.iter().chain(&names[1..]).cloned().collect();
        home(modules, at, &path, depth.checked_sub(1)?)
    };
    let supers = path.iter().take_while(|name| *name == "super").count();
    let (mut at, mut rest) = match path.first()?.as_str() {
        "crate" => (vec![], &path[1..]),
        "self" => (module.clone(), &path[1..]),
        "super" => (module[..module.len().checked_sub(supers)?].to_vec(), &path[supers..]),
        first if modules.contains_key(&child(module, first)) => (module.clone(), path),
        _ => return if path.len() > 1 { imported(module, path) } else { None },
    };
    while let Some(inner) = rest.first().map(|name| child(&at, name)).filter(|m| modules.contains_key(m)) {
        (at, rest) = (inner, &rest[1..]);
    }
    if rest.is_empty() || !modules.contains_key(&at) {
        return None;
    }
    imported(&at, rest).or(Some(at))
}

/// The imports and paths of a source, and its modules for tests.
#[derive(Default)]
struct Mentions {
    uses: Vec<Import>,
    /// The paths in code, also those in calls of macros.
    paths: Vec<Names>,
    /// The child modules that are compiled for tests alone.
    tests: Vec<String>,
}

/// A name that a `use` brings into a module, or `*` for all names of another module.
struct Import {
    name: String,
    path: Names,
}

impl Mentions {
    fn of(source: &str) -> Mentions {
        let mut found = Mentions::default();
        found.visit_file(&syn::parse_file(source).expect("a source that compiles"));
        found
    }

    fn import(&mut self, tree: &UseTree, mut path: Names) {
        match tree {
            UseTree::Path(p) => {
                path.push(p.ident.to_string());
                self.import(&p.tree, path);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, path.clone())),
            UseTree::Name(name) if name.ident == "self" => {
                self.uses.extend(path.last().cloned().map(|name| Import { name, path: path.clone() }));
            }
            UseTree::Name(name) => {
                self.uses.push(Import { name: name.ident.to_string(), path: child(&path, &name.ident.to_string()) })
            }
            UseTree::Rename(r) => {
                self.uses.push(Import { name: r.rename.to_string(), path: child(&path, &r.ident.to_string()) })
            }
            UseTree::Glob(_) => self.uses.push(Import { name: "*".into(), path: child(&path, "*") }),
        }
    }
}

impl Visit<'_> for Mentions {
    fn visit_item_mod(&mut self, node: &ItemMod) {
        if node.attrs.iter().any(is_test) {
            self.tests.push(node.ident.to_string());
        } else {
            visit::visit_item_mod(self, node);
        }
    }

    fn visit_item_use(&mut self, node: &ItemUse) {
        self.import(&node.tree, vec![]);
    }

    fn visit_path(&mut self, node: &syn::Path) {
        self.paths.push(node.segments.iter().map(|s| s.ident.to_string()).collect());
        visit::visit_path(self, node);
    }

    fn visit_macro(&mut self, node: &Macro) {
        self.paths.extend(paths_in(&node.tokens.to_string()));
        visit::visit_macro(self, node);
    }
}

fn is_test(attribute: &Attribute) -> bool {
    let list = attribute.meta.require_list();
    attribute.path().is_ident("cfg") && list.is_ok_and(|list| list.tokens.to_string().contains("test"))
}

/// Returns the paths in the tokens of a macro, which have blanks between them.
fn paths_in(tokens: &str) -> Vec<Names> {
    let is_in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || c.is_whitespace();
    let pieces = tokens.split(|c| !is_in_path(c)).map(|piece| piece.replace(" :: ", "::"));
    let paths = |piece: String| {
        piece.split_whitespace().map(|path| path.split("::").map(str::to_string).collect()).collect::<Vec<Names>>()
    };
    pieces.flat_map(paths).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        in_circles(&sources.iter().map(|(file, source)| (file.to_string(), source.to_string())).collect())
    }

    #[test]
    fn files_that_need_each_other_are_in_a_circle() {
        let root = ("lib.rs", "mod a; mod b; mod c; pub use a::A;");
        assert_eq!(
            found(&[
                root,
                ("a.rs", "use crate::b::B;"),
                ("b.rs", "fn f(x: super::a::A) {}"),
                ("c.rs", "use crate::b::B;")
            ]),
            ["a.rs", "b.rs"]
        );
        let b = ("b.rs", "fn f() { table! { [1, crate::c::g] } }");
        assert_eq!(
            found(&[root, ("a.rs", "use crate::b;\nfn f() -> b::B {}"), b, ("c.rs", "use crate::A;")]),
            ["a.rs", "b.rs", "c.rs"]
        );
    }

    #[test]
    fn re_exports_and_tests_are_no_circles() {
        let parent = ("m/mod.rs", "mod x; mod y; pub use x::X; pub use y::Y;\n#[cfg(test)] mod tests;");
        let tests = ("m/tests.rs", "use super::*; use crate::m::x::X;");
        let y = ("m/y.rs", "use super::X;\n#[cfg(test)] mod tests { use crate::m::*; }");
        assert_eq!(found(&[("lib.rs", "mod m;"), parent, tests, ("m/x.rs", "use std::fmt;"), y]), [""; 0]);
        assert_eq!(
            found(&[("lib.rs", "mod m;"), parent, tests, ("m/x.rs", "use super::*;"), y]),
            ["m/mod.rs", "m/x.rs", "m/y.rs"]
        );
    }
}
