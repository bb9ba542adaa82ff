"""Modules to import in the place of another library's, in code that was written for it.

    import clika_pytree.compat.torch as pytree       # torch.utils._pytree
    import clika_pytree.compat.jax as tree_util      # jax.tree_util
    from clika_pytree.compat.jax import tree         # jax.tree
    import clika_pytree.compat.optree as optree      # optree

Each has that library's names, argument orders and defaults, and its reading of None and of the order of dicts. It
imports nothing of that library, and shares no registrations with it. Its docstring says what differs all the same.
"""
