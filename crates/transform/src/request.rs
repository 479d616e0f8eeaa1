//! Transforms of programs by name: `value-and-grad{args=0+2}`.

use crate::{errors, jvp, value_and_gradient, vjp, vmap};
use shardwise_base::{Diagnostics, Loc};
use shardwise_ir::{Func, Module, symbols};
use std::collections::HashSet;

/// A transform of a program's [main function](Module::main), as it is written on a command line.
///
/// | text | the function becomes |
/// |---|---|
/// | `jvp{args=0+2}` | arguments, tangents of the named ones -> results, tangents of the results |
/// | `vjp{args=0+2}` | arguments, a cotangent for each result -> results, cotangents of the named arguments |
/// | `value-and-grad{args=0+2}` | arguments -> result, which must be one real scalar, and its gradients |
/// | `vmap{args=0+2,size=8}` | the named arguments and all results have a new leading dimension |
///
/// Tangents and cotangents exist for floats and complex numbers. Without `args`, all arguments are named. It is a
/// mistake to name an argument of another type, except that `vmap` takes all types but tuples. `vmap` needs `size`.
#[derive(Clone, Debug)]
pub struct Request {
    transform: Transform,
    args: Option<Vec<usize>>,
}

#[derive(Clone, Copy, Debug)]
enum Transform {
    Jvp,
    Vjp,
    ValueAndGrad,
    Vmap { size: usize },
}

impl Request {
    /// The names of the transforms, each with what it does.
    pub const LIST: [(&'static str, &'static str); 4] = [
        ("jvp", "adds the tangents of the arguments `args` to the arguments, and those of the results to the results"),
        (
            "vjp",
            "adds the cotangents of the results to the arguments, and those of the arguments `args` to the results",
        ),
        ("value-and-grad", "adds the gradients with respect to the arguments `args` to the result, a real scalar"),
        ("vmap", "adds a leading dimension of `size` to the arguments `args` and to all results"),
    ];

    /// Parses a request. Returns `None` if no transform has this name, and an error if the options are wrong.
    pub fn parse(text: &str) -> Option<Result<Request, Diagnostics>> {
        let (name, options) = text.split_at(text.find('{').unwrap_or(text.len()));
        let name = Request::LIST.into_iter().map(|(known, _)| known).find(|known| *known == name.trim())?;
        Some(Request::with_options(name, options).map_err(|why| errors::bad_request(text, &why).into()))
    }

    fn with_options(name: &str, options: &str) -> Result<Request, String> {
        let inner = match options.trim() {
            "" => "",
            options => {
                options.strip_prefix('{').and_then(|o| o.strip_suffix('}')).ok_or("it does not end with a brace")?
            }
        };
        let (mut args, mut size) = (None, None);
        let mut known = HashSet::new();
        for option in inner.split([',', ' ']).filter(|o| !o.is_empty()) {
            let (key, value) = option.split_once('=').ok_or(format!("`{option}` is not of the form `name=value`"))?;
            let number = |text: &str| {
                text.parse::<usize>().map_err(|_| format!("`{text}` is not a number from 0 to {}", usize::MAX))
            };
            if !known.insert(key) {
                return Err(format!("`{key}` is given twice"));
            }
            match (key, name) {
                ("args", _) => args = Some(distinct(value.split('+').map(number).collect::<Result<Vec<_>, _>>()?)?),
                ("size", "vmap") => size = Some(number(value)?),
                _ => return Err(format!("`{name}` has no option `{key}`")),
            }
        }
        let transform = match name {
            "jvp" => Transform::Jvp,
            "vjp" => Transform::Vjp,
            "value-and-grad" => Transform::ValueAndGrad,
            _ => Transform::Vmap { size: size.ok_or("the size of the batch is missing: `vmap{size=8}`")? },
        };
        Ok(Request { transform, args })
    }

    /// Returns the name of the transform.
    pub fn name(&self) -> &'static str {
        match self.transform {
            Transform::Jvp => "jvp",
            Transform::Vjp => "vjp",
            Transform::ValueAndGrad => "value-and-grad",
            Transform::Vmap { .. } => "vmap",
        }
    }

    /// Transforms the module's [main function](Module::main). The result has this function and those to which it
    /// refers.
    ///
    /// # Errors
    /// Those of the transform, `grad-scalar` if `value-and-grad` finds another number of results than 1, and
    /// `module-main` if the module has no function.
    pub fn run(&self, module: &Module) -> Result<Module, Diagnostics> {
        let Some(main) = module.main() else { return Err(errors::no_main(&module.loc).into()) };
        let all: Vec<usize> = (0..main.body.args().len()).collect();
        let args = self.args.as_ref().unwrap_or(&all);
        let mut added = vec![];
        let func = match self.transform {
            Transform::Jvp => jvp(module, main, args)?,
            Transform::Vjp => vjp(module, main, args)?,
            Transform::ValueAndGrad if main.result_types.len() != 1 => {
                return Err(errors::not_scalar(&main.result_types, &main.loc).into());
            }
            Transform::ValueAndGrad => value_and_gradient(module, main, args)?,
            Transform::Vmap { size } => {
                let made = vmap(module, main, args, size)?;
                added = made.added;
                made.func
            }
        };
        Ok(with_main(module, func, added))
    }
}

/// Returns a list of arguments. Fails if it names one of them twice.
fn distinct(args: Vec<usize>) -> Result<Vec<usize>, String> {
    let mut known = HashSet::new();
    if let Some(arg) = args.iter().find(|&&arg| !known.insert(arg)) {
        return Err(format!("`args` names argument {arg} twice"));
    }
    Ok(args)
}

/// Returns the module with `main` in place of its function of this name, and those of its functions and of `added` to
/// which `main` refers.
fn with_main(module: &Module, main: Func, added: Vec<Func>) -> Module {
    let mut all = module.without_funcs();
    let name = main.name.clone();
    all.funcs.push(main.clone());
    all.funcs.extend(module.funcs.iter().filter(|f| f.name != name).cloned().chain(added));
    let mut referred = module.without_funcs();
    referred.funcs.push(main);
    symbols::keep_referenced(&all, &mut referred);
    let mut out = module.without_funcs();
    out.funcs = all.funcs.iter().filter(|f| referred.func(&f.name).is_some()).cloned().collect();
    out
}

/// Splits a list of passes at the commas outside of braces: `a,b{x=1,y=2}` is `a` and `b{x=1,y=2}`. Spaces are kept. An
/// empty text is a list of one empty part.
pub fn split_list(text: &str) -> Vec<String> {
    let mut depth = 0usize;
    let mut parts = vec![String::new()];
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match c == ',' && depth == 0 {
            true => parts.push(String::new()),
            false => parts.last_mut().expect("there is always one").push(c),
        }
    }
    parts
}

/// The location of mistakes in the text of a command line: an unknown one.
pub(crate) const COMMAND_LINE: Loc = Loc::UNKNOWN;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_passes_are_split_outside_of_braces() {
        assert_eq!(split_list("vmap{args=0,size=2},propagate"), ["vmap{args=0,size=2}", "propagate"]);
    }

    #[test]
    fn wrong_options_are_named() {
        let message = |text: &str| Request::parse(text).unwrap().unwrap_err().to_string();
        assert!(message("vmap{args=0}").contains("size"));
        assert!(message("jvp{args=x}").contains("`x` is not a number"));
        for name in ["jvp", "vjp", "value-and-grad", "vmap"] {
            assert!(message(&format!("{name}{{args=1+0+1}}")).contains("`args` names argument 1 twice"));
        }
        assert!(message("vmap{args=0,size=3,size=4}").contains("`size` is given twice"));
        assert!(message("jvp{args=0,args=0}").contains("`args` is given twice"));
        assert!(message("vjp{size=3}").contains("no option `size`"));
        assert!(message("vjp{args=0").contains("brace"));
        assert!(Request::parse("hoist").is_none());
    }
}
