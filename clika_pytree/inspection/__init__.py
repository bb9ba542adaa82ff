"""Looking at trees: what differs between two, what is in one, whether a class is registered well."""

from .diff import tree_diff
from .node_check import check_node
from .summary import tree_summary

__all__ = ["check_node", "tree_diff", "tree_summary"]
