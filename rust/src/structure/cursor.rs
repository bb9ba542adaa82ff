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
            self.within += 1;
            if self.within == node.arity {
                self.index += 1;
                self.within = 0;
            }
            return Some(Step::Leaf);
        }
        self.index += 1;
        Some(Step::Container(self.index - 1))
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
}
