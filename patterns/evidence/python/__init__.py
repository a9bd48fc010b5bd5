"""Files, operators and places of the source, as Python has them, and what repeats in it."""
