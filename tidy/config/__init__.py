"""What a project says of itself: `tidy.toml`, or `[tool.tidy]` in pyproject.toml."""
