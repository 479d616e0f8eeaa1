//! Distances, shortest ways and rings on grids of chips, whose dimensions may be rings, and on twisted tori.

/// A grid of chips, each of which is linked with its neighbours along each dimension. The chips along a dimension may
/// form a ring.
///
/// In a *twisted* torus, a short dimension has k chips and a long one 2k. The link from the last chip of a short
/// dimension leads to the first one of the chips that are k further along every long dimension. So no chip is far from
/// another one: the twist shortens the ways around the long dimensions.
///
/// # Examples
///
/// ```
/// use shardwise_view::Torus;
///
/// let plain = Torus::new(vec![4, 4, 8], vec![true; 3]);
/// let twisted = Torus::twisted(vec![4, 4, 8]).unwrap();
/// let ends = [[0, 0, 0], [2, 2, 4]];
/// assert_eq!(plain.distance(&ends[0], &ends[1]), 8);
/// assert_eq!(twisted.distance(&ends[0], &ends[1]), 4);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Torus {
    grid: Vec<usize>,
    wraps: Vec<bool>,
    /// The number of chips by which the wraps of the short dimensions are shifted along the long ones, or 0.
    twist: usize,
}

/// The largest number of chips among which a ring is searched.
const MOST_IN_RING: usize = 64;

/// The number of steps after which the search for a ring of neighbours ends.
const RING_STEPS: usize = 2_000;

impl Torus {
    /// Returns a grid of these sizes. `wraps` says for each dimension whether the chips along it form a ring, and must
    /// be as long as `grid`.
    pub fn new(grid: Vec<usize>, wraps: Vec<bool>) -> Torus {
        Torus { grid, wraps, twist: 0 }
    }

    /// Returns the twisted torus of these sizes. Returns `None` unless they are k x k x 2k or k x 2k x 2k in any order,
    /// with k of at least 2.
    pub fn twisted(grid: Vec<usize>) -> Option<Torus> {
        let (&short, &long) = (grid.iter().min()?, grid.iter().max()?);
        let is_twistable = short > 1 && long == 2 * short && grid.iter().all(|&n| n == short || n == long);
        let wraps = vec![true; grid.len()];
        (grid.len() == 3 && is_twistable).then_some(Torus { grid, wraps, twist: short })
    }

    /// Returns the number of chips along each dimension.
    pub fn grid(&self) -> &[usize] {
        &self.grid
    }

    /// Returns the number of chips by which the wraps of short dimensions are shifted, or 0 if the torus is plain.
    pub fn twist(&self) -> usize {
        self.twist
    }

    /// Returns true if the wraps of a dimension are shifted along others.
    ///
    /// # Panics
    /// Panics if the torus is twisted and has no such dimension.
    pub fn is_twisted(&self, dim: usize) -> bool {
        self.twist > 0 && self.grid[dim] == self.twist
    }

    /// Returns the dimensions along which the wraps of others are shifted.
    pub fn long_dims(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.grid.len()).filter(|&dim| self.twist > 0 && !self.is_twisted(dim))
    }

    /// Returns true if the chips along a dimension form a ring.
    ///
    /// # Panics
    /// Panics if there is no such dimension.
    pub fn is_ring(&self, dim: usize) -> bool {
        self.wraps[dim] && !self.is_twisted(dim)
    }

    /// Returns the coordinates of a chip. Chips are numbered from 0 on, along the first dimension first. A number that
    /// is too large stands for its remainder by the number of chips.
    ///
    /// # Panics
    /// Panics if a dimension has size 0.
    pub fn coordinates(&self, chip: usize) -> Vec<usize> {
        let mut rest = chip;
        self.grid.iter().map(|&n| (rest % n, rest /= n).0).collect()
    }

    /// Moves coordinates over the link of a dimension in one direction. At an end of a dimension without a link there,
    /// moves them to the other end as if there were one.
    ///
    /// # Panics
    /// Panics if there is no such dimension or its size is 0.
    pub fn step(&self, at: &mut [usize], dim: usize, is_up: bool) {
        let size = self.grid[dim];
        let is_wrap = at[dim] == if is_up { size - 1 } else { 0 };
        at[dim] = if is_up { (at[dim] + 1) % size } else { (at[dim] + size - 1) % size };
        if is_wrap && self.is_twisted(dim) {
            self.long_dims().for_each(|long| at[long] = (at[long] + self.twist) % self.grid[long]);
        }
    }

    /// Returns all shortest ways from one chip to another, each as the number of links along each dimension, which is
    /// negative against the direction of the coordinates.
    pub fn ways(&self, from: &[usize], to: &[usize]) -> Vec<Vec<isize>> {
        let mut ways = vec![from.iter().zip(to).map(|(&a, &b)| b as isize - a as isize).collect::<Vec<isize>>()];
        for dim in (0..self.grid.len()).filter(|&dim| self.is_twisted(dim)) {
            ways = ways.iter().flat_map(|way| [0, -1, 1].map(|turns| self.turned(way, dim, turns))).collect();
        }
        for dim in (0..self.grid.len()).filter(|&dim| self.is_ring(dim)) {
            ways = ways.iter().flat_map(|way| self.around(way, dim)).collect();
        }
        let least = ways.iter().map(|way| length(way)).min().unwrap_or(0);
        ways.retain(|way| length(way) == least);
        ways.sort_unstable();
        ways.dedup();
        ways
    }

    /// Returns a way to the same chip that goes around a short dimension `turns` times more.
    fn turned(&self, way: &[isize], dim: usize, turns: isize) -> Vec<isize> {
        let mut turned = way.to_vec();
        turned[dim] += turns * self.twist as isize;
        self.long_dims().for_each(|long| turned[long] += turns * self.twist as isize);
        turned
    }

    /// Returns the ways to the same chip that go around a ring in the shorter direction, or in both of them if they are
    /// equally long.
    fn around(&self, way: &[isize], dim: usize) -> Vec<Vec<isize>> {
        let size = self.grid[dim] as isize;
        let up = way[dim].rem_euclid(size);
        let with = |links: isize| {
            let mut way = way.to_vec();
            way[dim] = links;
            way
        };
        match (2 * up).cmp(&size) {
            std::cmp::Ordering::Less => vec![with(up)],
            std::cmp::Ordering::Equal => vec![with(up), with(up - size)],
            std::cmp::Ordering::Greater => vec![with(up - size)],
        }
    }

    /// Returns the number of links of a shortest way between two chips.
    pub fn distance(&self, from: &[usize], to: &[usize]) -> usize {
        self.ways(from, to).first().map_or(0, |way| length(way))
    }

    /// Returns the number of links between the halves of the torus, for the cut across a dimension that has the fewest.
    /// A link counts once, not once for each direction. Returns 0 if no dimension has an even size.
    ///
    /// # Panics
    /// Panics if a dimension has size 0.
    pub fn bisection(&self) -> usize {
        let chips: usize = self.grid.iter().product();
        let cuts = (0..self.grid.len()).filter(|&dim| self.grid[dim].is_multiple_of(2));
        let across = |dim: usize| {
            let plane = chips / self.grid[dim];
            // The wrap of two chips is the link between them, unless it is shifted.
            let has_own_wrap = self.wraps[dim] && (self.grid[dim] > 2 || self.is_twisted(dim));
            let own = plane * if has_own_wrap { 2 } else { 1 };
            let is_long = self.twist > 0 && !self.is_twisted(dim);
            // All wraps of short dimensions lead from one half of a long dimension to the other one.
            let shifted = (0..self.grid.len()).filter(|&short| is_long && self.is_twisted(short));
            own + shifted.map(|short| chips / self.grid[short]).sum::<usize>()
        };
        cuts.map(across).min().unwrap_or(0)
    }

    /// Returns an order of chips in which they form a ring: the indices of `chips`, from 0 on. If there is a ring of
    /// neighbours and it is found, it is that one. Otherwise no part of the ring can be reversed to make it shorter. Of
    /// more than 64 chips, the order is the given one.
    pub fn ring(&self, chips: &[Vec<usize>]) -> Vec<usize> {
        let given: Vec<usize> = (0..chips.len()).collect();
        if chips.len() < 4 || chips.len() > MOST_IN_RING {
            return given;
        }
        if pairs(&given).all(|(a, b)| self.distance(&chips[a], &chips[b]) <= 1) {
            return given;
        }
        let far: Vec<Vec<usize>> =
            chips.iter().map(|from| chips.iter().map(|to| self.distance(from, to)).collect()).collect();
        ring_of_neighbours(&far).unwrap_or_else(|| improved(given, &far))
    }
}

fn length(way: &[isize]) -> usize {
    way.iter().map(|links| links.unsigned_abs()).sum()
}

fn pairs(order: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..order.len()).map(|i| (order[i], order[(i + 1) % order.len()]))
}

/// Returns a ring in which all neighbours are at most one link apart, or `None` if the search finds none.
fn ring_of_neighbours(far: &[Vec<usize>]) -> Option<Vec<usize>> {
    let count = far.len();
    let near = |a: usize| (0..count).filter(|&b| b != a && far[a][b] <= 1).collect();
    let mut path = Path { near: (0..count).map(near).collect(), order: vec![0], is_free: vec![true; count] };
    path.is_free[0] = false;
    let mut open = vec![path.choices()];
    for _ in 0..RING_STEPS {
        if path.order.len() == count && far[path.end()][0] <= 1 {
            return Some(path.order);
        }
        match open.last_mut()?.pop() {
            Some(next) => {
                path.push(next);
                open.push(if path.can_be_closed() { path.choices() } else { vec![] });
            }
            None => {
                open.pop();
                path.pop();
            }
        }
    }
    None
}

/// The start of a ring.
struct Path {
    near: Vec<Vec<usize>>,
    order: Vec<usize>,
    is_free: Vec<bool>,
}

impl Path {
    fn end(&self) -> usize {
        self.order[self.order.len() - 1]
    }

    fn push(&mut self, next: usize) {
        self.order.push(next);
        self.is_free[next] = false;
    }

    fn pop(&mut self) {
        if let Some(last) = self.order.pop() {
            self.is_free[last] = true;
        }
    }

    fn free_near(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        self.near[at].iter().copied().filter(|&b| self.is_free[b])
    }

    /// Returns the chips that can be next, the best one last: that with the fewest free neighbours, so that no chip is
    /// left behind.
    fn choices(&self) -> Vec<usize> {
        let mut next: Vec<usize> = self.free_near(self.end()).collect();
        next.sort_by_key(|&b| std::cmp::Reverse((self.free_near(b).count(), b)));
        next
    }

    /// Returns false if a chip that is not in the path has no two neighbours between which the ring can pass it.
    fn can_be_closed(&self) -> bool {
        let is_end = |chip: usize| chip == self.end() || chip == self.order[0];
        let ways = |chip: usize| self.near[chip].iter().filter(|&&b| self.is_free[b] || is_end(b)).count();
        (0..self.near.len()).filter(|&chip| self.is_free[chip]).all(|chip| ways(chip) >= 2)
    }
}

/// Reverses parts of a ring as long as that makes it shorter.
fn improved(mut order: Vec<usize>, far: &[Vec<usize>]) -> Vec<usize> {
    let count = order.len();
    let mut is_better = true;
    while is_better {
        is_better = false;
        for i in 0..count - 1 {
            for j in i + 2..count {
                let (a, b, c, d) = (order[i], order[i + 1], order[j], order[(j + 1) % count]);
                if a != d && far[a][c] + far[b][d] < far[a][b] + far[c][d] {
                    order[i + 1..=j].reverse();
                    is_better = true;
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashSet, VecDeque};

    fn coordinates(torus: &Torus) -> Vec<Vec<usize>> {
        (0..torus.grid.iter().product::<usize>()).map(|chip| torus.coordinates(chip)).collect()
    }

    /// Returns the distances of all chips from one, by following the links.
    fn followed(torus: &Torus, from: &[usize]) -> Vec<usize> {
        let all = coordinates(torus);
        let index = |at: &[usize]| all.iter().position(|other| other == at).unwrap();
        let mut far = vec![usize::MAX; all.len()];
        far[index(from)] = 0;
        let mut queue = VecDeque::from([from.to_vec()]);
        while let Some(at) = queue.pop_front() {
            for (dim, is_up) in (0..torus.grid.len()).flat_map(|dim| [(dim, true), (dim, false)]) {
                let is_end = at[dim] == if is_up { torus.grid[dim] - 1 } else { 0 };
                if is_end && !torus.wraps[dim] {
                    continue;
                }
                let mut next = at.clone();
                torus.step(&mut next, dim, is_up);
                if far[index(&next)] == usize::MAX {
                    far[index(&next)] = far[index(&at)] + 1;
                    queue.push_back(next);
                }
            }
        }
        far
    }

    fn tori() -> Vec<Torus> {
        let twisted = [vec![4, 4, 8], vec![4, 8, 8], vec![8, 4, 4], vec![2, 4, 4]].map(|g| Torus::twisted(g).unwrap());
        let plain = [
            Torus::new(vec![4, 4, 8], vec![true; 3]),
            Torus::new(vec![3, 5], vec![true, false]),
            Torus::new(vec![2, 4], vec![false; 2]),
        ];
        twisted.into_iter().chain(plain).collect()
    }

    #[test]
    fn ways_follow_links() {
        for torus in tori() {
            let all = coordinates(&torus);
            for from in all.iter().step_by(7) {
                let far = followed(&torus, from);
                for (to, far) in all.iter().zip(far) {
                    let ways = torus.ways(from, to);
                    assert!(!ways.is_empty() && ways.iter().all(|way| length(way) == far), "{torus:?} {from:?} {to:?}");
                    for way in ways {
                        let mut at = from.clone();
                        for (dim, links) in way.into_iter().enumerate() {
                            (0..links.unsigned_abs()).for_each(|_| torus.step(&mut at, dim, links > 0));
                        }
                        assert_eq!(&at, to, "{torus:?} from {from:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn tori_are_symmetric() {
        for torus in tori().into_iter().filter(|torus| torus.wraps.iter().all(|&wraps| wraps)) {
            let all = coordinates(&torus);
            let sorted = |from: &Vec<usize>| {
                let mut far: Vec<usize> = all.iter().map(|to| torus.distance(from, to)).collect();
                far.sort_unstable();
                far
            };
            let first = sorted(&all[0]);
            for from in all.iter().step_by(5) {
                assert_eq!(sorted(from), first, "{torus:?} {from:?}");
                assert!(all.iter().all(|to| torus.distance(from, to) == torus.distance(to, from)));
            }
        }
    }

    /// From the first chip of 4x4x8: the chip at (2, 2, 4) is 8 links away in the plain torus. In the twisted one, two
    /// links against x are the wrap to (3, 0, 4) and one to (2, 0, 4), and two along y remain.
    #[test]
    fn distances_worked_by_hand() {
        let torus = Torus::twisted(vec![4, 4, 8]).unwrap();
        let far = |to: [usize; 3]| torus.distance(&[0, 0, 0], &to);
        assert_eq!([far([3, 0, 0]), far([3, 0, 4]), far([2, 0, 4]), far([2, 2, 4])], [3, 1, 2, 4]);
        // Around z alone, four links, or by x forward four times.
        assert_eq!((far([0, 0, 4]), torus.ways(&[0, 0, 0], &[0, 0, 4]).len()), (4, 6));
        assert_eq!([far([0, 0, 1]), far([0, 0, 7]), far([3, 3, 0])], [1, 1, 2]);
        let torus = Torus::twisted(vec![4, 8, 8]).unwrap();
        assert_eq!(torus.distance(&[0, 0, 0], &[3, 4, 4]), 1);
        assert_eq!(torus.distance(&[0, 0, 0], &[0, 4, 4]), 4);
        let diameter = |torus: &Torus| {
            let all = coordinates(torus);
            all.iter().map(|to| torus.distance(&all[0], to)).max().unwrap()
        };
        assert_eq!([diameter(&Torus::twisted(vec![4, 4, 8]).unwrap()), diameter(&tori()[4])], [6, 8]);
    }

    /// The twist doubles the links between the halves: 32 in a plain torus of 4x4x8, and 64 in one of 4x8x8.
    #[test]
    fn twists_double_the_bisection() {
        for (grid, plain) in [(vec![4, 4, 8], 32), (vec![4, 8, 8], 64), (vec![12, 12, 24], 288)] {
            assert_eq!(Torus::new(grid.clone(), vec![true; 3]).bisection(), plain, "{grid:?}");
            assert_eq!(Torus::twisted(grid.clone()).unwrap().bisection(), 2 * plain, "{grid:?}");
        }
        assert_eq!(Torus::new(vec![2, 4], vec![false; 2]).bisection(), 2);
        for grid in [vec![4, 4, 4], vec![4, 8, 16], vec![4, 8], vec![1, 1, 2], vec![4, 4, 12]] {
            assert_eq!(Torus::twisted(grid), None);
        }
    }

    /// Returns the number of links between the halves along a dimension, by following the links.
    fn links_across(torus: &Torus, dim: usize) -> usize {
        let mut links = HashSet::new();
        let half = |at: &[usize]| at[dim] < torus.grid[dim] / 2;
        for at in coordinates(torus) {
            for along in (0..torus.grid.len()).filter(|&d| torus.wraps[d] || at[d] + 1 < torus.grid[d]) {
                let mut next = at.clone();
                torus.step(&mut next, along, true);
                if half(&at) != half(&next) {
                    links.insert([at.clone().min(next.clone()), at.clone().max(next)]);
                }
            }
        }
        links.len()
    }

    #[test]
    fn bisections_count_links() {
        let small = Torus::twisted(vec![2, 2, 4]).unwrap();
        assert_eq!(small.bisection(), 16);
        for torus in tori().into_iter().chain([small, Torus::new(vec![2, 4, 4], vec![true; 3])]) {
            let cuts = (0..torus.grid.len()).filter(|&dim| torus.grid[dim].is_multiple_of(2));
            let fewest = cuts.map(|dim| links_across(&torus, dim)).min().unwrap_or(0);
            assert_eq!(torus.bisection(), fewest, "{torus:?}");
        }
    }

    #[test]
    fn rings_are_cycles_of_links() {
        let grid = |x: usize, y: usize| -> Vec<Vec<usize>> { (0..x * y).map(|i| vec![i % x, i / x]).collect() };
        let whole = |chips: &[Vec<usize>], torus: &Torus| -> usize {
            let order = torus.ring(chips);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..chips.len()).collect::<Vec<_>>());
            pairs(&order).map(|(a, b)| torus.distance(&chips[a], &chips[b])).sum()
        };
        let line = Torus::new(vec![6, 6], vec![false; 2]);
        for (x, y) in [(2, 2), (2, 4), (4, 4), (3, 4), (6, 5)] {
            assert_eq!(whole(&grid(x, y), &line), x * y, "{x}x{y}");
        }
        // An odd number of chips without wraps has no cycle of links, because each link changes the colour of a
        // chessboard: one hop has two links.
        assert_eq!(whole(&grid(3, 3), &line), 10);
        // A line goes there and back.
        assert_eq!(whole(&grid(6, 1), &line), 10);
        assert_eq!(line.ring(&grid(2, 2)), [0, 1, 3, 2]);
        // The short dimension of a twisted torus, and the same one half-way around the long dimension, are one ring.
        let twisted = Torus::twisted(vec![4, 4, 8]).unwrap();
        let chips: Vec<Vec<usize>> = (0..8).map(|i| vec![i / 2, 0, i % 2 * 4]).collect();
        assert_eq!(whole(&chips, &twisted), 8);
        let diagonal: Vec<Vec<usize>> = (0..8).map(|i| vec![i / 2, i % 2 * 4, i % 2 * 4]).collect();
        assert_eq!(whole(&diagonal, &Torus::twisted(vec![4, 8, 8]).unwrap()), 8);
    }
}
