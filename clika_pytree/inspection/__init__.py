"""Looking at trees: what differs between two, what is in one, whether a class is registered well.

The classes of the answers are here, too, for annotations and `match`; they are loaded when they are asked for.
"""

from clika_pytree.typing import TYPE_CHECKING

from .functions import check_node, tree_diff, tree_summary

__all__ = ["check_node", "tree_diff", "tree_summary"]

if TYPE_CHECKING:
    from .difference import Difference as Difference
    from .difference import TreeDiff as TreeDiff
    from .node_check import NodeReport as NodeReport
    from .node_subject import Problem as Problem
    from .table import SummaryRow as SummaryRow
    from .table import TreeSummary as TreeSummary
else:
    from clika_pytree.first_use import on_first_use

    __getattr__, __dir__ = on_first_use(
        globals(),
        {
            "difference": ("Difference", "TreeDiff"),
            "node_check": ("NodeReport",),
            "node_subject": ("Problem",),
            "table": ("SummaryRow", "TreeSummary"),
        },
    )
