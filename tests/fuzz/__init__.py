"""Random input by the million: damaged texts and states for the loaders, random trees beside other engines."""
