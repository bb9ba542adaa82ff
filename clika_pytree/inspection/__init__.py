"""Looking at trees: what differs between two, what is in one, whether a class is registered well.

The classes of the answers are here, too, for annotations and `match`.
"""

from .diff import tree_diff
from .difference import Difference as Difference
from .difference import TreeDiff as TreeDiff
from .node_check import NodeReport as NodeReport
from .node_check import check_node
from .node_subject import Problem as Problem
from .summary import tree_summary
from .table import SummaryRow as SummaryRow
from .table import TreeSummary as TreeSummary

__all__ = ["check_node", "tree_diff", "tree_summary"]
