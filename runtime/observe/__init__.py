"""Who sees operators, backward nodes and ranges: observers, and modes that act as observers."""
