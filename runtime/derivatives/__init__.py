"""What is computed with backward(): Jacobians, checks of gradients, checkpointing."""
