"""The sources of the project: where findings are in them, and which comments accept findings."""
