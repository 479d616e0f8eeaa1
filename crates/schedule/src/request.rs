//! The pass as it is written on a command line: `schedule{topology=v5e:2x4,overlap=auto}`.

use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_sim::{Overlap, Topology};

/// A schedule that is asked for by name.
///
/// # Examples
///
/// ```
/// use shardwise_schedule::Request;
///
/// assert!(Request::parse("cleanup").is_none());
/// assert!(Request::parse("schedule{topology=v5e:2x4,overlap=force}").unwrap().is_ok());
/// let found = Request::parse("schedule{machine=v5e}").unwrap().unwrap_err();
/// assert!(found.to_string().contains("`schedule` has no option `machine`"));
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    /// The machine, or `None` for the one that the program's mesh states.
    pub topology: Option<Topology>,
    /// Which collectives run beside other ops. [`Overlap::Auto`] if the text does not say.
    pub overlap: Overlap,
}

impl Request {
    /// The name of the pass, and what it does.
    pub const LIST: (&'static str, &'static str) = (
        "schedule",
        "hides collectives behind other ops, as fast as predicted for `topology`; `overlap` is auto, force or off",
    );

    /// Parses a request. Returns `None` if the name of the pass is not `schedule`, and an error if the options are
    /// wrong. The last one counts of several options with one name.
    pub fn parse(text: &str) -> Option<Result<Request, Diagnostics>> {
        let (name, options) = text.split_at(text.find('{').unwrap_or(text.len()));
        (name.trim() == Request::LIST.0).then(|| Request::with_options(text, options.trim()))
    }

    fn with_options(text: &str, options: &str) -> Result<Request, Diagnostics> {
        let inner = match options {
            "" => "",
            options => options
                .strip_prefix('{')
                .and_then(|o| o.strip_suffix('}'))
                .ok_or_else(|| bad_request(text, "it does not end with a brace"))?,
        };
        let (mut topology, mut overlap) = (None, None);
        for option in inner.split([',', ' ']).filter(|o| !o.is_empty()) {
            let is_second = match option.split_once('=') {
                Some(("topology", value)) => topology.replace(Topology::parse(value)?).is_some(),
                Some(("overlap", value)) => overlap.replace(value.parse()?).is_some(),
                Some((key, _)) => return Err(bad_request(text, &format!("`schedule` has no option `{key}`")).into()),
                None => return Err(bad_request(text, &format!("`{option}` is not of the form `name=value`")).into()),
            };
            if is_second {
                return Err(bad_request(text, &format!("an option is given twice: `{option}`")).into());
            }
        }
        Ok(Request { topology, overlap: overlap.unwrap_or(Overlap::Auto) })
    }
}

fn bad_request(text: &str, why: &str) -> Diagnostic {
    Diagnostic::error("schedule-options", &Loc::UNKNOWN, format!("cannot read the pass `{text}`"))
        .note(why)
        .help("write `schedule{topology=v5e:2x4,overlap=auto}`")
}
