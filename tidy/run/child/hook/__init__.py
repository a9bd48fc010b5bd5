"""The folder that `tidy run` puts on PYTHONPATH for as long as the child's Python starts."""
