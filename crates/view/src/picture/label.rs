//! Lists of devices as short text.

/// The text of a cell.
#[derive(Clone, Copy, Debug)]
pub enum Label<'a> {
    /// Lists of devices, one for each summand.
    Devices(&'a [Vec<usize>]),
    Text(&'a str),
}

impl Label<'_> {
    /// Returns the label in at most `width` columns: the whole label if it fits. Otherwise, of lists, the first devices
    /// and the number of all, or this number, and of a text its start and `..`. If that does not fit either, returns
    /// `*`, or nothing if `width` is 0.
    ///
    /// ```text
    /// 0-3,8      0-3,..(64)      (64)
    /// ```
    pub fn fit(&self, width: usize) -> String {
        let whole = self.whole();
        if whole.len() <= width {
            return whole;
        }
        let short = match self {
            Label::Devices(holders) => cut(&whole, holders.iter().map(Vec::len).sum(), width),
            Label::Text(text) => text.chars().take(width.saturating_sub(2)).chain("..".chars()).collect(),
        };
        if short.len() <= width { short } else { "*".repeat(width.min(1)) }
    }

    /// Returns the whole label: the text, or the lists, as `0-3,8`, or as `0+4` or `(0,1)+(4,5)` if there are several
    /// summands.
    pub fn whole(&self) -> String {
        match self {
            Label::Devices([one]) => ranges(one),
            Label::Devices(lists) => lists.iter().map(|l| in_parentheses(&ranges(l))).collect::<Vec<_>>().join("+"),
            Label::Text(text) => text.to_string(),
        }
    }
}

/// Returns the start of `whole`, the text of a list, and `count`, as in `0-3,..(64)`, or only `(64)` if no start fits
/// into `width`. The list is cut behind a separator, so that no number is cut.
fn cut(whole: &str, count: usize, width: usize) -> String {
    let end = format!("..({count})");
    let room = width.saturating_sub(end.len());
    let separators = whole.char_indices().filter(|&(_, c)| c == ',' || c == '+').map(|(i, _)| i + 1);
    match separators.take_while(|&i| i <= room).last() {
        Some(at) => format!("{}{end}", &whole[..at]),
        None => format!("({count})"),
    }
}

fn in_parentheses(list: &str) -> String {
    if list.contains([',', '-']) { format!("({list})") } else { list.into() }
}

/// Returns numbers, which must be in ascending order, as ranges: `0-3,8,9`. Two neighbours are not written as a range.
pub fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let texts = runs.map(|run| match run {
        [first, .., last] if run.len() > 2 => format!("{first}-{last}"),
        _ => run.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
    });
    texts.collect::<Vec<_>>().join(",")
}
