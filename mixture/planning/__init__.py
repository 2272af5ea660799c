"""Specs, catalogs and what is computed from them: plans, amendments, comparisons, ladders. Reads no text."""
