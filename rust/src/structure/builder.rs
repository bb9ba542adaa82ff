//! Makes a structure node by node, closing each container when its last child is in.

use super::{Kind, Node};

/// Why a sequence of nodes is no structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapeError {
    /// A node came after the root was complete.
    TooMany,
    /// The root, or a container in it, is not complete.
    TooFew,
    /// A run without leaves, or with more than the container has places for.
    BadRun,
    /// More than 2^32 - 1 nodes, leaves in a run, or slots.
    TooLarge,
    /// There was no memory for it.
    NoMemory,
}

impl std::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooMany => "nodes are left over after the last one of the root",
            Self::TooFew => "the last container is not complete",
            Self::BadRun => "a run of leaves is empty or longer than its container",
            Self::TooLarge => "it has more than 4,294,967,295 nodes or keys",
            Self::NoMemory => "there is not enough memory for it",
        })
    }
}

/// Takes nodes in the order of a walk and gives the array of a structure.
#[derive(Debug, Default)]
pub(crate) struct ShapeBuilder {
    nodes: Vec<Node>,
    /// The containers that are open: their index, and how many children are missing.
    open: Vec<(u32, u32)>,
    slots: usize,
    /// Whether the last node is a run of leaves of the innermost open container.
    in_run: bool,
    complete: bool,
}

impl ShapeBuilder {
    /// Adds a container.
    pub(crate) fn container(&mut self, kind: Kind, arity: u32, mutable_context: bool) -> Result<(), ShapeError> {
        self.fill(1)?;
        let index = self.push(kind, arity, mutable_context)?;
        self.open.try_reserve(1).map_err(|_| ShapeError::NoMemory)?;
        self.open.push((index, arity));
        self.in_run = false;
        self.close_complete();
        Ok(())
    }

    /// Adds `count` neighbouring leaves.
    pub(crate) fn leaves(&mut self, count: u32) -> Result<(), ShapeError> {
        if count == 0 {
            return Err(ShapeError::BadRun);
        }
        self.fill(count)?;
        match self.nodes.last_mut() {
            // The sum fits: a container has no more places than that.
            Some(last) if self.in_run => last.arity += count,
            _ => {
                self.push(Kind::Leaves, count, false)?;
            }
        }
        self.in_run = true;
        self.close_complete();
        Ok(())
    }

    /// The number of nodes so far.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes, once the root is complete.
    pub(crate) fn finish(self) -> Result<Box<[Node]>, ShapeError> {
        if self.complete { Ok(self.nodes.into_boxed_slice()) } else { Err(ShapeError::TooFew) }
    }

    /// Takes places from the innermost open container.
    fn fill(&mut self, count: u32) -> Result<(), ShapeError> {
        if self.complete {
            return Err(ShapeError::TooMany);
        }
        match self.open.last_mut() {
            Some((_, missing)) => *missing = missing.checked_sub(count).ok_or(ShapeError::BadRun)?,
            None if count == 1 => {}
            None => return Err(ShapeError::BadRun),
        }
        Ok(())
    }

    fn push(&mut self, kind: Kind, arity: u32, mutable_context: bool) -> Result<u32, ShapeError> {
        let index = u32::try_from(self.nodes.len()).map_err(|_| ShapeError::TooLarge)?;
        let slots_at = u32::try_from(self.slots).map_err(|_| ShapeError::TooLarge)?;
        self.slots += kind.slots(arity as usize);
        self.nodes.try_reserve(1).map_err(|_| ShapeError::NoMemory)?;
        self.nodes.push(Node { mutable_context, ..Node::new(kind, arity, slots_at) });
        Ok(index)
    }

    fn close_complete(&mut self) {
        while let Some(&(index, 0)) = self.open.last() {
            self.open.pop();
            self.in_run = false;
            let span = self.nodes.len() - index as usize;
            // The length fits: every index was checked when its node was pushed.
            self.nodes[index as usize].span = u32::try_from(span).unwrap_or(u32::MAX);
        }
        self.complete = self.open.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_leaves_are_one_node() {
        let mut builder = ShapeBuilder::default();
        builder.container(Kind::List, 4, false).unwrap();
        builder.leaves(1).unwrap();
        builder.leaves(1).unwrap();
        builder.container(Kind::Tuple, 0, false).unwrap();
        builder.leaves(1).unwrap();
        let nodes = builder.finish().unwrap();
        let seen: Vec<_> = nodes.iter().map(|node| (node.kind, node.arity, node.span)).collect();
        assert_eq!(seen, [(Kind::List, 4, 4), (Kind::Leaves, 2, 1), (Kind::Tuple, 0, 1), (Kind::Leaves, 1, 1)]);
    }

    #[test]
    fn a_run_ends_with_its_container() {
        let mut builder = ShapeBuilder::default();
        builder.container(Kind::List, 2, false).unwrap();
        builder.container(Kind::List, 1, false).unwrap();
        builder.leaves(1).unwrap();
        builder.leaves(1).unwrap();
        let nodes = builder.finish().unwrap();
        assert_eq!(nodes.len(), 4);
        assert_eq!(nodes[1].span, 2);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut builder = ShapeBuilder::default();
        assert_eq!(builder.leaves(2), Err(ShapeError::BadRun));
        builder.container(Kind::List, 2, false).unwrap();
        assert_eq!(builder.leaves(3), Err(ShapeError::BadRun));
        assert_eq!(builder.finish(), Err(ShapeError::TooFew));
        let mut builder = ShapeBuilder::default();
        builder.leaves(1).unwrap();
        assert_eq!(builder.container(Kind::List, 0, false), Err(ShapeError::TooMany));
    }
}
