//! "Did you mean" suggestions: the known name that is most similar to a misspelt one.

/// The bytes of the longest name that is compared. The cost of a comparison is the product of both lengths.
const MAX_NAME: usize = 128;

/// Returns the candidate with the smallest edit distance to `name`, or the first one if there are several. The distance
/// must be two at most, and less than the length of the candidate, or than 2 for a candidate of at most one character.
/// Returns `None` if there is no such candidate, or if `name` has more than 128 bytes. Case is ignored, and so are
/// candidates of more than 128 bytes.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    candidates
        .into_iter()
        .filter(|c| c.len().max(name.len()) <= MAX_NAME)
        .map(|c| (edit_distance(&wanted, &c.to_lowercase()), c))
        .filter(|&(d, c)| d <= 2 && d < c.chars().count().max(2))
        .min_by_key(|&(d, _)| d)
        .map(|(_, c)| c)
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_within_two_edits() {
        assert_eq!(did_you_mean("modle", ["data", "model"]), Some("model"));
        assert_eq!(did_you_mean("x", ["X", "Y"]), Some("X"));
        assert_eq!(did_you_mean("batch", ["X", "Y"]), None);
        let long = "x".repeat(MAX_NAME);
        assert_eq!(did_you_mean(&long[1..], [&*long]), Some(&*long));
        assert_eq!(did_you_mean(&long, [&*format!("{long}y")]), None);
    }
}
