//! One node of a structure.

/// What a node is. The numbers are written to pickles: they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A run of one or more neighbouring leaves of one container.
    Leaves = 0,
    /// `None` where it is a node without children.
    None = 1,
    List = 2,
    Tuple = 3,
    Dict = 4,
    OrderedDict = 5,
    DefaultDict = 6,
    Deque = 7,
    NamedTuple = 8,
    /// A class registered with a flatten and an unflatten function.
    Custom = 9,
    /// A dataclass registered by its fields.
    Dataclass = 10,
    /// A class whose instances are childless nodes that ride the structure.
    Static = 11,
}

impl Kind {
    const ALL: [Self; 12] = [
        Self::Leaves,
        Self::None,
        Self::List,
        Self::Tuple,
        Self::Dict,
        Self::OrderedDict,
        Self::DefaultDict,
        Self::Deque,
        Self::NamedTuple,
        Self::Custom,
        Self::Dataclass,
        Self::Static,
    ];

    /// The kind with this number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name under which Python sees it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Leaves => "leaf",
            Self::None => "none",
            Self::List => "list",
            Self::Tuple => "tuple",
            Self::Dict => "dict",
            Self::OrderedDict => "ordereddict",
            Self::DefaultDict => "defaultdict",
            Self::Deque => "deque",
            Self::NamedTuple => "namedtuple",
            Self::Custom => "custom",
            Self::Dataclass => "dataclass",
            Self::Static => "static",
        }
    }

    /// Whether its class was registered, so that its first slot holds the registration.
    pub(crate) fn is_registered(self) -> bool {
        matches!(self, Self::Custom | Self::Dataclass | Self::Static)
    }

    /// How many slots of Python objects a node of this kind has.
    ///
    /// dict, `OrderedDict`: the keys. defaultdict: the factory, then the keys. deque: `maxlen`. namedtuple: the class.
    /// custom: registration, context, entries (or nothing). dataclass: registration, meta values. static: registration,
    /// the object.
    pub(crate) fn slots(self, arity: usize) -> usize {
        match self {
            Self::Leaves | Self::None | Self::List | Self::Tuple => 0,
            Self::Dict | Self::OrderedDict => arity,
            Self::DefaultDict => arity + 1,
            Self::Deque | Self::NamedTuple => 1,
            Self::Custom => 3,
            Self::Dataclass | Self::Static => 2,
        }
    }

    /// Where the keys of a dict kind begin among its slots.
    pub(crate) fn first_key(self) -> Option<usize> {
        match self {
            Self::Dict | Self::OrderedDict => Some(0),
            Self::DefaultDict => Some(1),
            _ => None,
        }
    }
}

/// One container, or one run of leaves.
///
/// It has no padding: two nodes are equal just where their bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The context holds private copies of lists, dicts or sets: handed out as copies of their own.
    pub(crate) mutable_context: bool,
    pub(crate) unused: u16,
    /// The number of children; of a run, the number of leaves.
    pub(crate) arity: u32,
    /// The number of nodes of this subtree, this one among them.
    pub(crate) span: u32,
    /// Where its slots begin.
    pub(crate) slots_at: u32,
}

impl Node {
    /// A node that holds nothing yet but itself.
    #[inline]
    pub(crate) fn new(kind: Kind, arity: u32, slots_at: u32) -> Self {
        Self { kind, mutable_context: false, unused: 0, arity, span: 1, slots_at }
    }

    pub(crate) fn slot_range(&self) -> std::ops::Range<usize> {
        let start = self.slots_at as usize;
        start..start + self.kind.slots(self.arity as usize)
    }

    pub(crate) fn is_leaves(&self) -> bool {
        self.kind == Kind::Leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_kinds() {
        for (number, kind) in (0u8..).zip(Kind::ALL) {
            assert_eq!(kind as u8, number);
            assert_eq!(Kind::from_number(number), Some(kind));
        }
        assert_eq!(Kind::from_number(12), None);
    }

    #[test]
    fn a_node_is_sixteen_bytes() {
        assert_eq!(size_of::<Node>(), 16);
    }
}
