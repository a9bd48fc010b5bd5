"""Training scripts in the style of public ones, each written once and run on both runtimes.

A script is a generator that takes `torch`, which is PyTorch or `tidy.runtime`, with its `nn` and
`F`. It builds its models and data and yields what is learned: modules, and tensors where weights
are made by hand. There the test gives both runtimes the same weights. Then it trains, and yields a
loss at each step.

All floating point is in the default dtype, which the test sets. What is random (data, noise,
dropout, actions) comes from numpy with a fixed seed; only first weights come from PyTorch.
"""
