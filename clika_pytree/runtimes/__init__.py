"""What each library of tensors needs at a boundary, a package for each; none is imported before it is asked for."""
