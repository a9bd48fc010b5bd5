"""The operators: one table of forwards and derivatives. See `table` for how one is declared."""
