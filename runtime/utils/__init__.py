"""torch.utils' names; its modules are loaded when first asked for."""
