//! Broken texts: programs with a few bytes or words changed, reproducible from a seed.

/// Makes mutants of texts.
pub struct Mutator {
    state: u64,
}

/// Pieces of text to insert. Most have a meaning for the parser, and some have characters of several bytes.
const WORDS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "->",
    ":",
    "=",
    ",",
    "#",
    "%",
    "@",
    "!",
    "^",
    "\"",
    "\\",
    "//",
    "-",
    "0x",
    "1",
    "-1",
    "18446744073709551616",
    "0",
    "?",
    "x",
    "tensor<",
    "tensor<4xf32>",
    "dense<",
    "loc(",
    "#loc",
    "#loc1",
    "%0",
    "%0#1",
    "%arg0",
    "{-#",
    "::",
    "\n",
    " ",
    "array<i64: ",
    "\"stablehlo.add\"",
    "stablehlo.while",
    "func.func",
    "sdy.mesh",
    "module",
    "return",
    "#sdy.sharding<@mesh, [",
    "#stablehlo.gather<",
    "complex<f32>",
    "1.0e+99",
    "tuple<",
    "index",
    "f32",
    "i1",
    "true",
    "é",
    "\u{1F600}",
];

impl Mutator {
    pub fn new(seed: u64) -> Mutator {
        Mutator { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// Returns a number below `n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        // Xorshift. Any generator that is always the same would do.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % n.max(1) as u64) as usize
    }

    /// Returns `text` with one to four random changes, which may have no effect.
    pub fn mutant(&mut self, text: &str) -> String {
        let mut text = text.to_string();
        for _ in 0..=self.below(4) {
            self.change(&mut text);
        }
        text
    }

    fn change(&mut self, text: &mut String) {
        let (from, to) = (self.place(text), self.place(text));
        let (from, to) = (from.min(to), from.max(to));
        // Most changes are short, because long ones are rarely useful.
        let near = Self::boundary(text, from.saturating_add(self.below(24)));
        match self.below(7) {
            0 => text.replace_range(from..near, ""),
            1 => text.insert_str(from, WORDS[self.below(WORDS.len())]),
            2 => text.replace_range(from..near, WORDS[self.below(WORDS.len())]),
            3 => {
                let piece = text[from..near].to_string();
                text.insert_str(Self::boundary(text, to), &piece);
            }
            4 => text.truncate(from),
            5 => text.replace_range(from..to, ""),
            _ => {
                let piece = text[from..near].to_string();
                text.insert_str(near, &piece.repeat(1 + self.below(40)));
            }
        }
    }

    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        Self::boundary(text, at)
    }

    fn boundary(text: &str, at: usize) -> usize {
        text.floor_char_boundary(at.min(text.len()))
    }
}
