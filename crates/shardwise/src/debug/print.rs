//! Prints from inside programs.

use crate::error::Mistakes;
use crate::function::At;
use crate::manual::ManualType;
use crate::trace::{self, Traced};
use crate::{Array, DType, Shape, context, control, explicit, hlo, mistakes};
use shardwise_base::{AxisRef, AxisSet, print};
use shardwise_ir::Value;
use shardwise_ops::print::Print;
use shardwise_ops::{Opcode, make_collective};
use std::cell::RefCell;
use std::fmt;
use std::panic::Location;

/// Prints a line when the program runs, as `println!` formats it: `debug::print!("x = {}, y = {}", x, y)`.
///
/// Arrays are formatted as by their `Display`. Values of other types ([`PrintArg`]) are a part of the program: they are
/// formatted when the function is traced.
///
/// Prints run in the order of the program, in loops once in each turn, and in branches if the branch runs. Inside
/// [`shard_map`](crate::shard_map), each device prints its own value, with its coordinates before the text:
/// `[X=0,Y=1] x = ..`. Outside, the line is printed once, with the whole array. In a batch ([`vmap`](crate::vmap)), a
/// line is printed for each index. A function that is differentiated prints as it does otherwise. When
/// [`checkpoint`](crate::checkpoint()) computes values again, only prints in loops and branches run again.
///
/// The lines go to the standard error output, or where [`set_print_sink`] and [`with_print_sink`] say.
///
/// # Errors
///
/// A wrong number of arguments is an error of rustc, as is `{:?}`. Widths and other options of an array are the mistake
/// `print-format`, which ends the trace. Outside of a trace, this macro panics with it.
///
/// In a trace, a print of a mistake prints nothing. Outside of a trace, it prints the text of the mistake.
///
/// # Examples
///
/// ```
/// use shardwise::debug;
/// use shardwise::prelude::*;
///
/// # fn main() -> Result<()> {
/// set_mesh(Mesh::auto([("X", 2)])?);
/// let f = shard_map(|x: &Array| {
///     debug::print!("block {}", x);
///     x + 1
/// });
/// let f = f.in_specs(P!("X")).out_specs(P!("X"));
/// let (_, lines) = debug::captured(|| f(&arange(0..4, I32)));
/// assert_eq!(lines, ["[X=0] block [0 1]", "[X=1] block [2 3]"]);
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail
/// # use shardwise::prelude::*;
/// shardwise::debug::print!("{} and {}", &scalar(1, I32));
/// ```
///
/// ```compile_fail
/// # use shardwise::prelude::*;
/// shardwise::debug::print!("{:?}", &scalar(1, I32));
/// ```
///
/// ```compile_fail
/// # use shardwise::prelude::*;
/// let x = scalar(1, I32);
/// shardwise::debug::print!("{x}");
/// ```
#[macro_export]
macro_rules! __debug_print {
    ($format:literal $(, $arg:expr)* $(,)?) => {{
        let printing = $crate::debug::Printing::new();
        // Through `concat!`, the format cannot name variables, of which the macro would not know.
        let text = ::std::format!(::std::concat!($format) $(, printing.arg(&$arg))*);
        printing.finish(text);
    }};
}

/// Types of values that [`print!`](crate::debug::print!) accepts: arrays, and values that are known when a function is
/// traced.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed from inside a program",
    label = "expected an array, a number, a bool or a text"
)]
pub trait PrintArg {
    /// Returns the array. Any other value is returned as the error.
    #[doc(hidden)]
    fn part(&self) -> Result<Array, Box<dyn fmt::Display>>;
}

impl PrintArg for Array {
    fn part(&self) -> Result<Array, Box<dyn fmt::Display>> {
        Ok(self.clone())
    }
}

impl<T: PrintArg + ?Sized> PrintArg for &T {
    fn part(&self) -> Result<Array, Box<dyn fmt::Display>> {
        (**self).part()
    }
}

macro_rules! printed_at_once {
    ($own:ident: $($t:ty),*) => { $(
        impl PrintArg for $t {
            fn part(&self) -> Result<Array, Box<dyn fmt::Display>> {
                Err(Box::new(self.$own()))
            }
        }
    )* };
}
printed_at_once!(to_owned: i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, bool, char);
printed_at_once!(to_string: str, String, DType, Shape);

/// A print that is being built: the arrays for which its text has marks.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Printing {
    arrays: RefCell<Vec<Array>>,
}

/// A part of the text of a print: a mark for an array, or another value.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "`{:?}` is an error of rustc")]
pub struct Hole(Result<usize, Box<dyn fmt::Display>>);

/// The characters around the number of an array in the text of a print. A `!` in place of the number stands for a
/// format with options, which are not allowed.
const MARK: (char, char) = ('\u{1}', '\u{2}');

impl fmt::Display for Hole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Err(value) => value.fmt(f),
            Ok(_) if f.width().is_some() || f.precision().is_some() || f.alternate() || f.sign_plus() => {
                write!(f, "{}!{}", MARK.0, MARK.1)
            }
            Ok(number) => write!(f, "{}{number}{}", MARK.0, MARK.1),
        }
    }
}

impl Printing {
    /// Returns a print without arrays.
    pub fn new() -> Printing {
        Printing { arrays: RefCell::default() }
    }

    /// Returns the part of the text for a value. If the value is an array, the print keeps it.
    pub fn arg(&self, value: &dyn PrintArg) -> Hole {
        Hole(value.part().map(|array| {
            let mut arrays = self.arrays.borrow_mut();
            arrays.push(array);
            arrays.len() - 1
        }))
    }

    /// Adds the print to the active trace, or records the mistakes of its arrays instead. Outside of a trace, prints
    /// the line.
    ///
    /// # Panics
    ///
    /// Panics with the mistake `print-format` if an array has a format with options. In a trace, ends the trace
    /// instead.
    #[track_caller]
    pub fn finish(self, text: String) {
        let at = context::caller(Location::caller());
        let all = self.arrays.into_inner();
        let Some((texts, numbers)) = divided(&text, all.len()) else {
            control::give_up(mistakes::print_format(&context::loc(at)), at)
        };
        let arrays: Vec<&Array> = numbers.iter().map(|&i| &all[i]).collect();
        if trace::is_tracing() {
            return context::within(at, || append(&texts, &arrays, at));
        }
        let mut line = texts[0].clone();
        arrays.iter().zip(&texts[1..]).for_each(|(array, text)| line += &format!("{array}{text}"));
        print::line(&line);
    }
}

/// Returns the texts around the marks of a text, and the numbers of the marks, which are below `count`. Returns `None`
/// if a mark says that its format has options.
fn divided(text: &str, count: usize) -> Option<(Vec<String>, Vec<usize>)> {
    let (mut texts, mut numbers) = (vec![String::new()], vec![]);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK.0) {
        texts.last_mut()?.push_str(before);
        let Some((inside, after_mark)) = after.split_once(MARK.1) else {
            rest = after;
            continue;
        };
        if inside == "!" {
            return None;
        }
        match inside.parse().ok().filter(|&i| i < count) {
            Some(i) => {
                numbers.push(i);
                texts.push(String::new());
                rest = after_mark;
            }
            None => rest = after,
        }
    }
    texts.last_mut()?.push_str(rest);
    Some((texts, numbers))
}

/// Appends a print to the active trace. Inside per-device code, the print has the coordinates of the device. If an array
/// carries mistakes or cannot be used here, records the mistakes and appends no print.
fn append(texts: &[String], arrays: &[&Array], at: At) {
    // The mistakes of the arrays have been recorded where they were made.
    if let Some(wrong) = Mistakes::join(arrays.iter().filter_map(|a| a.mistakes())) {
        return trace::record(&wrong);
    }
    let scope = trace::with(|t| t.scope());
    let axes: Vec<_> = scope.iter().flat_map(|s| s.axes.iter().copied()).collect();
    let names: Vec<String> = scope.iter().flat_map(|s| axes.iter().map(|&a| s.name(a).to_string())).collect();
    let coordinate = |&axis| {
        let scope = scope.as_ref().expect("it has axes");
        let axis = AxisRef::full(axis);
        let state = ManualType::replicated(scope).with_varying(&AxisSet::new(&scope.mesh, [axis]));
        hlo::built(&[], Some(state), |b, _| make_collective::axis_index(b, &scope.mesh, &[axis]))
    };
    let coordinates: Vec<Array> = axes.iter().map(coordinate).collect();
    let operands: Vec<&Array> = coordinates.iter().chain(arrays.iter().copied()).collect();
    effect(Print::attrs(texts, &names), &operands, at);
}

/// Appends a custom call without results to the active trace. If an operand carries mistakes or cannot be used, records
/// the mistakes in its place.
pub(super) fn effect(attrs: shardwise_ir::Attrs, operands: &[&Array], at: At) {
    let loc = context::loc(at);
    let settled = trace::with(|t| {
        let traced: Vec<Traced> = operands.iter().filter_map(|a| a.traced()).collect();
        traced.into_iter().try_for_each(|v| explicit::settle(t, v))
    });
    if let Err(d) = settled {
        return trace::record(&Mistakes::one(d));
    }
    let values: Result<Vec<Value>, Mistakes> = trace::operands(operands, at);
    match values {
        Ok(values) => trace::with(|t| _ = t.op(Opcode::CustomCall.into(), &values, attrs, vec![], &[], &loc)),
        Err(wrong) => trace::record(&wrong),
    }
}

/// A function that takes a printed line.
pub type PrintSink = Box<dyn Fn(&str) + Send + Sync>;

/// Sets where the lines of [`print!`](crate::debug::print!) go in this process: to `sink`, or to the standard error
/// output for `None`. The sink gets each line without the line break at its end, on the thread that runs the program.
/// Lines that are printed inside [`with_print_sink`] or [`captured`] do not go there.
///
/// # Examples
///
/// ```
/// use shardwise::debug;
///
/// debug::set_print_sink(Some(Box::new(|line| eprintln!("program: {line}"))));
/// debug::set_print_sink(None);
/// ```
pub fn set_print_sink(sink: Option<PrintSink>) {
    print::set_sink(sink.map(print::Sink::from));
}

/// Runs `f`, in which the lines that this thread prints go to `sink`, and returns its result.
///
/// # Examples
///
/// ```
/// use shardwise::debug;
/// use shardwise::prelude::*;
/// use std::sync::{Arc, Mutex};
///
/// let lines: Arc<Mutex<Vec<String>>> = Arc::default();
/// let to = lines.clone();
/// let keep = move |line: &str| to.lock().unwrap().push(line.to_string());
/// debug::with_print_sink(keep, || debug::print!("{} elements", arange(0..3, I32).size()));
/// assert_eq!(*lines.lock().unwrap(), ["3 elements"]);
/// ```
pub fn with_print_sink<R>(sink: impl Fn(&str) + Send + Sync + 'static, f: impl FnOnce() -> R) -> R {
    print::with_sink(std::sync::Arc::new(sink), f)
}

/// Runs `f`, and returns its result and the lines that this thread printed meanwhile. Lines that went to another sink,
/// which `f` set with [`with_print_sink`] or by an inner call of this function, are not among them.
///
/// # Examples
///
/// ```
/// use shardwise::debug;
///
/// let (result, lines) = debug::captured(|| {
///     debug::print!("step {}", 1);
///     "done"
/// });
/// assert_eq!((result, lines), ("done", vec!["step 1".to_string()]));
/// ```
pub fn captured<R>(f: impl FnOnce() -> R) -> (R, Vec<String>) {
    print::captured(f)
}
