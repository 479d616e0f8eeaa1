//! The core of the parser: the current token, the names that are defined, and the reporting of mistakes.
//!
//! A rule that fails has reported the mistake and returns [`Failed`]. The next function is parsed nevertheless, so the
//! mistakes of several functions are reported together. After some mistakes (an unknown axis), reading continues.

use super::alias::Aliases;
use super::lexer::{self, Token, TokenKind};
use super::module::Meshes;
use super::scope::Scope;
use crate::{Body, OpTable};
use shardwise_base::{Diagnostics, Loc, budget};
use std::sync::Arc;

/// The result of a rule that found and reported a mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// The result of a function that reads something from the text. If other text is there, the function has reported the
/// mistake and returns [`Failed`].
pub type Parsed<T> = Result<T, Failed>;

/// A position in the text, in bytes, at which mistakes are reported: mostly the one where a token starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At(pub(super) usize);

/// The largest nesting depth of attributes, types and lists of elements.
const MAX_NESTING: usize = 64;

/// The number of tokens that are read between two checks for cancellation.
const TOKENS_BETWEEN_POLLS: usize = 1024;

/// If this many mistakes have been found when a function or mesh cannot be read, the rest of the text is not read.
const MAX_MISTAKES: usize = 20;

/// Reads a text. The ops' own forms are read through its public methods.
pub struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) tok: Token,
    /// The position where the token before the current one ends, or to which [`Parser::jump`] went.
    pub(super) last_end: usize,
    pub(super) table: &'static dyn OpTable,
    pub(super) source: Arc<str>,
    line_starts: Vec<usize>,
    /// The last position whose column was computed, with its column. A line may contain thousands of positions.
    last_column: std::cell::Cell<(usize, usize)>,
    pub(super) found: Diagnostics,
    pub(super) aliases: Aliases<'t>,
    pub(super) meshes: Meshes,
    /// The position of the first facts of values whose axes were read as those of a mesh.
    pub(super) facts_at: Option<At>,
    /// The body of the function that is being read.
    pub(super) body: Body,
    pub(super) scope: Scope<'t>,
    /// Attributes of the op being read whose axes belong to a mesh that is not known yet: the name, and the value's
    /// position.
    pub(super) deferred: Vec<(Arc<str>, At)>,
    /// The position of the op whose reading began last, or 0 before the first op of a function.
    pub(super) op_at: At,
    /// True if the regions of the op being read are isolated: their names are their own.
    pub(super) is_op_isolated: bool,
    /// The name of the function that is being read, or was read last. `None` before the first one, and if the function
    /// is in generic form and its name comes after its body.
    pub(super) func_name: Option<Arc<str>>,
    nesting: usize,
    pub(super) region_depth: usize,
    /// The number of tokens read so far. Tokens that are read several times count each time.
    token_count: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(source: &str, text: &'t str, table: &'static dyn OpTable) -> Parser<'t> {
        let newlines = text.bytes().enumerate().filter(|&(i, b)| {
            lexer::poll_at(i);
            b == b'\n'
        });
        Parser {
            text,
            tok: lexer::token(text, 0),
            last_end: 0,
            table,
            source: source.into(),
            line_starts: std::iter::once(0).chain(newlines.map(|(i, _)| i + 1)).collect(),
            last_column: Default::default(),
            found: Diagnostics::default(),
            aliases: Aliases::default(),
            meshes: Meshes::default(),
            facts_at: None,
            body: Body::new(),
            scope: Scope::default(),
            deferred: vec![],
            op_at: At(0),
            is_op_isolated: false,
            func_name: None,
            nesting: 0,
            region_depth: 0,
            token_count: 0,
        }
    }

    // ── tokens

    /// Returns the position of the current token.
    pub fn at(&self) -> At {
        At(self.tok.start)
    }

    pub(super) fn tok_text(&self) -> &'t str {
        &self.text[self.tok.start..self.tok.end]
    }

    pub(super) fn bump(&mut self) {
        self.token_count += 1;
        if self.token_count.is_multiple_of(TOKENS_BETWEEN_POLLS) {
            budget::poll();
        }
        self.last_end = self.tok.end;
        self.tok = lexer::token(self.text, self.tok.end);
    }

    pub(super) fn is_on_new_line(&self) -> bool {
        self.text[self.last_end..self.tok.start].contains('\n')
    }

    pub(super) fn jump(&mut self, to: usize) {
        self.last_end = to;
        self.tok = lexer::token(self.text, to);
    }

    pub(super) fn elsewhere<T>(&mut self, place: At, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let saved = (self.tok, self.last_end);
        self.jump(place.0);
        let result = f(self);
        (self.tok, self.last_end) = saved;
        result
    }

    /// Returns true if the current token is this word or punctuation.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.tok.kind, TokenKind::Word | TokenKind::Punct) && self.tok_text() == text
    }

    pub(super) fn is_kind(&self, kind: TokenKind) -> bool {
        self.tok.kind == kind
    }

    /// Reads this word or punctuation if it is the current token. Returns true if it was.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.is(text);
        if found {
            self.bump();
        }
        found
    }

    /// Reads this word or punctuation. Anything else is a mistake.
    pub fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.eat(text) { Ok(()) } else { Err(self.unexpected(&format!("`{text}`"))) }
    }

    /// Reads several words and punctuation marks, such as `, dims =`. It is a mistake if another token follows instead.
    pub fn expect_all(&mut self, text: &str) -> Parsed<()> {
        let mut at = 0;
        loop {
            let part = lexer::token(text, at);
            if part.kind == TokenKind::End {
                return Ok(());
            }
            self.expect(&text[part.start..part.end])?;
            at = part.end;
        }
    }

    /// Returns true if these words and punctuation marks are the next tokens, from the current one on. Reads nothing.
    pub fn is_all(&self, text: &str) -> bool {
        let (mut at, mut here) = (0, self.tok);
        loop {
            let part = lexer::token(text, at);
            if part.kind == TokenKind::End {
                return true;
            }
            if self.text[here.start..here.end] != text[part.start..part.end] {
                return false;
            }
            at = part.end;
            here = lexer::token(self.text, here.end);
        }
    }

    /// Reads a word. Anything else is a mistake, whose message says that `what` was expected.
    pub fn word(&mut self, what: &str) -> Parsed<&'t str> {
        if !self.is_kind(TokenKind::Word) {
            return Err(self.unexpected(what));
        }
        let text = self.tok_text();
        self.bump();
        Ok(text)
    }

    /// Reads items that are separated by commas, and `close` after them. The opening bracket has been read.
    pub fn list_until<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![];
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(",") {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// Reads `open item, … close`.
    pub fn list<T>(&mut self, open: &str, close: &str, item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect(open)?;
        self.list_until(close, item)
    }

    /// Runs `f` one level deeper. More than [`MAX_NESTING`] levels are a mistake.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.nested_to(MAX_NESTING, f)
    }

    pub(super) fn nested_to<T>(&mut self, max: usize, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= max {
            let at = self.at();
            let message =
                format!("attributes, types, lists of elements, locations or aliases nest more than {max} deep");
            return Err(self.fail(at, "text-nesting", message));
        }
        self.nesting += 1;
        let result = f(self);
        self.nesting -= 1;
        result
    }

    // ── mistakes

    /// Returns the line and column of a position, from 1. The column counts characters.
    fn line_column(&self, at: At) -> (usize, usize) {
        let line = self.line_starts.partition_point(|&start| start <= at.0);
        let (mut from, mut column) = self.last_column.get();
        let start = self.line_starts[line - 1];
        if !(start..=at.0).contains(&from) || column == 0 {
            (from, column) = (start, 1);
        }
        column += self.text[from..at.0].chars().count();
        self.last_column.set((at.0, column));
        (line, column)
    }

    pub(super) fn loc_of(&self, at: At) -> Loc {
        let (line, column) = self.line_column(at);
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Loc::file(self.source.clone(), small(line), small(column))
    }

    /// Records a mistake at a position, with an excerpt of its line.
    pub fn report(&mut self, at: At, build: impl FnOnce(&Loc) -> shardwise_base::Diagnostic) {
        let loc = self.loc_of(at);
        let mut diagnostic = build(&loc);
        let excerpt = shardwise_base::Note { kind: shardwise_base::NoteKind::Facts, text: self.excerpt(at) };
        diagnostic.notes.insert(0, excerpt);
        self.found.push(diagnostic);
    }

    /// Returns the line that contains `at`, without its indentation, and a line with a caret below it. Of a long line,
    /// returns the part around `at`.
    fn excerpt(&self, at: At) -> String {
        const WIDTH: usize = 60;
        let (line, column) = self.line_column(at);
        let start = self.line_starts[line - 1];
        let end = self.text[start..].find('\n').map_or(self.text.len(), |n| start + n);
        let indent = self.text[start..end].chars().take_while(|c| c.is_whitespace()).count().min(column - 1);
        let skipped = indent.max((column - 1).saturating_sub(WIDTH));
        let dots = if skipped > indent { "…" } else { "" };
        let shown: String = self.text[start..end].trim_end().chars().skip(skipped).take(2 * WIDTH).collect();
        let cut = self.text[start..end].trim_end().chars().nth(skipped + 2 * WIDTH).is_some();
        let caret = " ".repeat(column - 1 - skipped + dots.chars().count());
        format!("{dots}{shown}{}\n{caret}^", if cut { "…" } else { "" })
    }

    /// Describes what is being read, for a message: "`stablehlo.add` in `@main`", or the function or the module if no
    /// op has been reached.
    pub(super) fn subject(&self) -> String {
        let func = self.func_name.as_ref().map_or("the module".to_string(), |name| format!("`@{name}`"));
        let mut at = self.op_at.0;
        loop {
            let token = lexer::token(self.text, at);
            match token.kind {
                _ if self.op_at.0 == 0 => return func,
                TokenKind::Word | TokenKind::Str => {
                    let name = self.text[token.start..token.end].trim_matches('"');
                    return format!("`{}` in {func}", shorten(name));
                }
                TokenKind::End | TokenKind::Error => return func,
                _ => at = token.end,
            }
        }
    }

    /// Records a mistake that needs only a message.
    pub fn fail(&mut self, at: At, code: &'static str, message: String) -> Failed {
        self.report(at, |loc| shardwise_base::Diagnostic::error(code, loc, message));
        Failed
    }

    /// Records that the current token is not what was expected.
    pub fn unexpected(&mut self, expected: &str) -> Failed {
        // What is missing at the end of a line is reported there, and not at the start of the next line.
        let missing = expected.starts_with("`:`") || expected.starts_with("`,`");
        let at = if missing && self.is_on_new_line() { At(self.last_end) } else { self.at() };
        let message = match self.tok.kind {
            TokenKind::End => "the text ends too early".to_string(),
            TokenKind::Error if self.tok_text().trim_start_matches('@').starts_with('"') => {
                "a string has no closing quote".to_string()
            }
            _ => format!("unexpected `{}`", shorten(self.tok_text())),
        };
        self.report(at, |loc| super::mistakes::unexpected(loc, message, expected));
        Failed
    }

    pub(super) fn has_too_many_mistakes(&self) -> bool {
        self.found.iter().count() >= MAX_MISTAKES
    }
}

/// Returns the text, cut to 40 characters and `…` if it is longer. A token may be a megabyte long.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
