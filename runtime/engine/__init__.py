"""The autograd engine. Where to read first: plain_loop.py (one backward), node.py, tensor.py."""
