"""Forms that a fix replaces, and what it takes away from a recorded run."""
