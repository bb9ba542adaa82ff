"""JAX as a runtime: one `jax.jit` over a flat list of arrays for each graph. Imported when an array of JAX turns up."""
