"""Ingest: source files to a store. `ingest` in run.py is the whole of it; the other files are its steps."""
