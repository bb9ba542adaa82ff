//! Steps through a structure one child at a time, as if every leaf were a node of its own.

use super::Node;

/// What stands at a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Leaf,
    /// A container, by its index.
    Container(usize),
}

/// A place in a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    nodes: &'a [Node],
    index: usize,
    /// How many leaves of the run at `index` are behind it.
    within: u32,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(nodes: &'a [Node]) -> Self {
        Self { nodes, index: 0, within: 0 }
    }

    /// What stands here, or nothing at the end. A container is entered: its first child comes next.
    pub(crate) fn enter(&mut self) -> Option<Step> {
        let node = self.nodes.get(self.index)?;
        if node.is_leaves() {
            self.pass_leaves(1);
            return Some(Step::Leaf);
        }
        self.index += 1;
        Some(Step::Container(self.index - 1))
    }

    /// Passes the leaves that both cursors have next to each other; gives their number.
    pub(crate) fn pass_leaves_with(&mut self, other: &mut Self) -> u32 {
        let count = self.leaves_here().min(other.leaves_here());
        self.pass_leaves(count);
        other.pass_leaves(count);
        count
    }

    /// How many leaves are left in the run at this place.
    fn leaves_here(&self) -> u32 {
        self.nodes.get(self.index).filter(|node| node.is_leaves()).map_or(0, |node| node.arity - self.within)
    }

    fn pass_leaves(&mut self, count: u32) {
        self.within += count;
        if count > 0 && self.within == self.nodes[self.index].arity {
            self.index += 1;
            self.within = 0;
        }
    }

    /// Passes the whole subtree of a container that was just entered.
    pub(crate) fn leave(&mut self, container: usize) {
        self.index = container + self.nodes[container].span as usize;
        self.within = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, ShapeBuilder};
    use super::*;

    #[test]
    fn leaves_come_one_by_one() {
        let mut builder = ShapeBuilder::default();
        builder.container(Kind::List, 3, false).unwrap();
        builder.leaves(2).unwrap();
        builder.container(Kind::Tuple, 0, false).unwrap();
        let nodes = builder.finish().unwrap();
        let mut cursor = Cursor::new(&nodes);
        let steps: Vec<_> = std::iter::from_fn(|| cursor.enter()).collect();
        assert_eq!(steps, [Step::Container(0), Step::Leaf, Step::Leaf, Step::Container(2)]);
    }

    #[test]
    fn common_leaves_are_passed_at_once() {
        let run_and_list = |run: u32| {
            let mut builder = ShapeBuilder::default();
            builder.container(Kind::List, 5, false).unwrap();
            builder.leaves(run).unwrap();
            (run..5).for_each(|_| builder.container(Kind::List, 0, false).unwrap());
            builder.finish().unwrap()
        };
        let (long, short) = (run_and_list(4), run_and_list(3));
        let (mut left, mut right) = (Cursor::new(&long), Cursor::new(&short));
        left.enter();
        right.enter();
        assert_eq!(left.pass_leaves_with(&mut right), 3);
        assert_eq!(left.pass_leaves_with(&mut right), 0);
        assert_eq!((left.enter(), right.enter()), (Some(Step::Leaf), Some(Step::Container(2))));
        assert_eq!(left.enter(), Some(Step::Container(2)));
    }
}
