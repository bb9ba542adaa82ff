"""What each library of tensors needs at a boundary, one package a runtime; nothing is imported before it is asked for."""
