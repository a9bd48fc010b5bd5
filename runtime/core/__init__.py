"""What tensors are made of: dtypes, devices, and where memory is."""
