"""PyTorch as a runtime: one `torch.compile` over a flat list of tensors for each graph.

Imported when a tensor of PyTorch turns up.
"""
