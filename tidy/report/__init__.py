"""Reports: what the rules found, for people and for programs."""
