//! Colours of edges, by which exchanges between devices are put into rounds.

/// Stands in [`Colouring::at`] for a colour that no edge of a node has, and in [`Colouring::colours`] for an edge
/// without a colour.
const FREE: usize = usize::MAX;

/// Returns a colour for each edge from a source to a target, so that the edges of one source have different colours,
/// and those of one target too. Colours are numbers from 0. There are as many as the largest number of edges of a
/// source or target, which is the least possible number. Sources and targets are numbers below `node_count`; panics if
/// one is not.
///
/// The edges of one colour are a round: each source sends at most once, and each target receives at most once.
///
/// The edges `0 -> 1`, `0 -> 2` and `3 -> 1` get two colours: the last two edges have the same one.
pub(crate) fn coloured(edges: &[(usize, usize)], node_count: usize) -> Vec<usize> {
    let mut degrees = [vec![0; node_count], vec![0; node_count]];
    for &(source, target) in edges {
        degrees[0][source] += 1;
        degrees[1][target] += 1;
    }
    let count = degrees.iter().flatten().copied().max().unwrap_or(0);
    let at = [(); 2].map(|()| vec![FREE; node_count * count]);
    let mut colouring = Colouring { edges, count, at, colours: vec![FREE; edges.len()] };
    (0..edges.len()).for_each(|edge| colouring.add(edge));
    colouring.colours
}

struct Colouring<'a> {
    edges: &'a [(usize, usize)],
    count: usize,
    /// For the sources and for the targets, by node and then by colour: the edge of the node with the colour, or
    /// [`FREE`].
    at: [Vec<usize>; 2],
    colours: Vec<usize>,
}

impl Colouring<'_> {
    /// Colours an edge with a colour that is free at its source. If another edge of its target has this colour, the
    /// colours of a path of edges are exchanged first.
    fn add(&mut self, edge: usize) {
        let (source, target) = self.edges[edge];
        let (here, there) = (self.free(0, source), self.free(1, target));
        // The path does not reach the source: it would come there by an edge with the colour `here`.
        let path = self.path(target, [here, there]);
        for &e in &path {
            self.set(e, self.colours[e], FREE);
        }
        for e in path {
            self.set(e, here + there - self.colours[e], e);
        }
        self.set(edge, here, edge);
    }

    fn free(&self, side: usize, node: usize) -> usize {
        let colours = &self.at[side][node * self.count..][..self.count];
        colours.iter().position(|&e| e == FREE).expect("a node has at most as many edges as there are colours")
    }

    /// Returns the edges of the path from a target whose colours alternate between these two, beginning with
    /// `colours[0]`. The path is empty if both are equal, or if no edge of the target has the colour `colours[0]`.
    fn path(&self, target: usize, colours: [usize; 2]) -> Vec<usize> {
        let mut path = vec![];
        if colours[0] == colours[1] {
            return path;
        }
        let (mut side, mut node, mut next) = (1, target, 0);
        loop {
            let edge = self.at[side][node * self.count + colours[next]];
            if edge == FREE {
                return path;
            }
            path.push(edge);
            node = if side == 1 { self.edges[edge].0 } else { self.edges[edge].1 };
            (side, next) = (1 - side, 1 - next);
        }
    }

    /// Records `value` as the edge with this colour at both ends of an edge. If `value` is the edge itself, also
    /// records this as its colour.
    fn set(&mut self, edge: usize, colour: usize, value: usize) {
        let (source, target) = self.edges[edge];
        self.at[0][source * self.count + colour] = value;
        self.at[1][target * self.count + colour] = value;
        if value == edge {
            self.colours[edge] = colour;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[(usize, usize)], nodes: usize) {
        let colours = coloured(edges, nodes);
        let degree = |of: fn(&(usize, usize)) -> usize| {
            (0..nodes).map(|n| edges.iter().filter(|e| of(e) == n).count()).max().unwrap_or(0)
        };
        let most = degree(|e| e.0).max(degree(|e| e.1));
        for (i, a) in edges.iter().enumerate() {
            assert!(colours[i] < most, "{edges:?}: {colours:?}");
            for (j, b) in edges[..i].iter().enumerate() {
                let meet = a.0 == b.0 || a.1 == b.1;
                assert!(!meet || colours[i] != colours[j], "{edges:?}: {colours:?}");
            }
        }
    }

    #[test]
    fn edges_get_the_fewest_colours() {
        check(&[], 0);
        check(&[(0, 1), (0, 2), (3, 1)], 4);
        let mut state = 1usize;
        for nodes in 1..12 {
            for count in [1, 3, 10, 40] {
                let mut next = || {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (state >> 33) % nodes
                };
                let edges: Vec<(usize, usize)> = (0..count).map(|_| (next(), next())).collect();
                check(&edges, nodes);
            }
        }
    }

    #[test]
    fn all_pairs_take_one_round_for_each_device() {
        let edges: Vec<(usize, usize)> =
            (0..16).flat_map(|s| (0..16).map(move |t| (t, (s * 7 + t * 3) % 16))).collect();
        check(&edges, 16);
    }
}
