"""MLX as a runtime: an `mx.compile` over a flat list of arrays for each graph. Imported when an array turns up."""
