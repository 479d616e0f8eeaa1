//! Parses the text of a [`Rule`], as [`Rule`]'s `Display` and Shardy's `#sdy.op_sharding_rule<…>` write it.

use crate::rule::LETTER_COUNT;
use crate::{DimFactors, Factor, FactorKind, FactorSpec, Mapping, Rule};
use std::fmt;
use std::str::FromStr;

/// The error of a text that is no rule, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleError {
    /// The position in bytes from the start of the text at which the error was found. A factor that is listed wrongly
    /// may be before it.
    pub offset: usize,
    kind: ErrorKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum ErrorKind {
    Expected(&'static str),
    /// The sizes are not listed in the order of the symbols.
    NotInOrder {
        expected: Factor,
    },
    NoSize(Factor),
    /// A dimension of several factors has one of size 1, which would split nothing.
    SizeOneInCompound(Factor),
    TwiceInTensor(Factor),
    TwoKinds(Factor),
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Expected(what) => write!(f, "expected {what}"),
            ErrorKind::NotInOrder { expected } => {
                write!(f, "factor sizes must be listed in order: expected `{expected}` here")
            }
            ErrorKind::NoSize(factor) => write!(f, "factor `{factor}` has no size"),
            ErrorKind::SizeOneInCompound(factor) => {
                write!(f, "factor `{factor}` has size 1 and shares its dimension with other factors")
            }
            ErrorKind::TwiceInTensor(factor) => write!(f, "factor `{factor}` stands twice in one tensor"),
            ErrorKind::TwoKinds(factor) => write!(f, "factor `{factor}` is given a kind twice"),
        }
    }
}

impl std::error::Error for RuleError {}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Rule, RuleError> {
        let mut p = Parser { text, at: 0 };
        let rule = p.rule()?;
        p.skip_space();
        if p.at < text.len() { Err(p.expected("the end of the rule")) } else { Ok(rule) }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn rule(&mut self) -> Result<Rule, RuleError> {
        let operands = self.mappings()?;
        self.expect("->", "`->`")?;
        let results = self.mappings()?;
        let factors = self.sizes()?;
        let mut rule = Rule { factors, operands, results, is_custom: false };
        self.check(&rule)?;
        self.kind(&mut rule, "reduction", FactorKind::Reduction)?;
        self.kind(&mut rule, "need_replication", FactorKind::NeedReplication)?;
        self.kind(&mut rule, "permutation", FactorKind::Permutation)?;
        for factor in self.factor_set(&rule, "blocked_propagation")? {
            rule.factors[factor.index()].is_blocked = true;
        }
        if self.eat(",") {
            self.expect("custom", "`custom`")?;
            rule.is_custom = true;
        }
        Ok(rule)
    }

    fn mappings(&mut self) -> Result<Vec<Mapping>, RuleError> {
        self.expect("(", "`(`")?;
        self.list(")", |p| {
            p.expect("[", "`[`")?;
            let dims = p.list("]", Parser::dim)?;
            Ok(Mapping { dims: dims.into() })
        })
    }

    fn dim(&mut self) -> Result<DimFactors, RuleError> {
        let mut factors = DimFactors::from_elem(self.factor()?, 1);
        while self.rest().starts_with(|c: char| c.is_ascii_lowercase()) {
            factors.push(self.factor()?);
        }
        Ok(factors)
    }

    fn sizes(&mut self) -> Result<Vec<FactorSpec>, RuleError> {
        if !self.eat("{") {
            return Ok(vec![]);
        }
        let mut count = 0;
        self.list("}", |p| {
            if count > usize::from(u16::MAX) {
                return Err(p.expected("at most 65536 factors"));
            }
            let expected = Factor::new(count);
            count += 1;
            p.skip_space();
            let start = p.at;
            if p.factor()? != expected {
                return Err(RuleError { offset: start, kind: ErrorKind::NotInOrder { expected } });
            }
            p.expect("=", "`=`")?;
            Ok(FactorSpec::pass_through(p.number()?))
        })
    }

    fn kind(&mut self, rule: &mut Rule, word: &'static str, kind: FactorKind) -> Result<(), RuleError> {
        for factor in self.factor_set(rule, word)? {
            if !rule.is_pass_through(factor) {
                return Err(self.error(ErrorKind::TwoKinds(factor)));
            }
            rule.factors[factor.index()].kind = kind;
        }
        Ok(())
    }

    fn factor_set(&mut self, rule: &Rule, word: &'static str) -> Result<Vec<Factor>, RuleError> {
        if !self.eat(word) {
            return Ok(vec![]);
        }
        self.expect("=", "`=`")?;
        self.expect("{", "`{`")?;
        self.list("}", |p| {
            let factor = p.factor()?;
            if factor.index() < rule.factors.len() { Ok(factor) } else { Err(p.error(ErrorKind::NoSize(factor))) }
        })
    }

    fn check(&self, rule: &Rule) -> Result<(), RuleError> {
        for mapping in rule.mappings() {
            let mut seen = vec![];
            for dim in &mapping.dims {
                for &factor in dim {
                    if factor.index() >= rule.factors.len() {
                        return Err(self.error(ErrorKind::NoSize(factor)));
                    }
                    if seen.contains(&factor) {
                        return Err(self.error(ErrorKind::TwiceInTensor(factor)));
                    }
                    if dim.len() > 1 && rule.size(factor) == 1 {
                        return Err(self.error(ErrorKind::SizeOneInCompound(factor)));
                    }
                    seen.push(factor);
                }
            }
        }
        Ok(())
    }

    fn factor(&mut self) -> Result<Factor, RuleError> {
        self.skip_space();
        if self.eat("z_") {
            return match self.number()? {
                0 => Err(self.expected("a number from 1 after `z_`")),
                n if n > usize::from(u16::MAX) - LETTER_COUNT => Err(self.expected("a smaller number after `z_`")),
                n => Ok(Factor::new(n + LETTER_COUNT - 1)),
            };
        }
        match self.rest().bytes().next() {
            Some(c @ b'i'..=b'z') => {
                self.at += 1;
                Ok(Factor::new(usize::from(c - b'i')))
            }
            _ => Err(self.expected("a factor (`i` to `z`, `z_1`, …)")),
        }
    }

    fn number(&mut self) -> Result<usize, RuleError> {
        self.skip_space();
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits].parse().map_err(|_| self.expected("a number less than 2^64"))?;
        self.at += digits;
        Ok(number)
    }

    fn list<T>(
        &mut self,
        end: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T, RuleError>,
    ) -> Result<Vec<T>, RuleError> {
        let mut items = vec![];
        if self.eat(end) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(end, "`,` or the end of the list")?;
        Ok(items)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str, what: &'static str) -> Result<(), RuleError> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(what)) }
    }

    fn expected(&self, what: &'static str) -> RuleError {
        self.error(ErrorKind::Expected(what))
    }

    fn error(&self, kind: ErrorKind) -> RuleError {
        RuleError { offset: self.at, kind }
    }
}
