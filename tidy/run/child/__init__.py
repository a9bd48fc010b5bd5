"""The recorder: what runs inside the script's own process.

Standard library alone, for any Python since 3.9, since that Python may be another environment's.
hook/sitecustomize.py loads this folder as the package `_tidy_child`; the script sees none of it.
"""
