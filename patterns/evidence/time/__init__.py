"""Time: whose it is, what waits for what, and which share of it is worth a word."""
