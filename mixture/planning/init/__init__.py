"""A first spec from a table of sizes."""

from mixture.planning.init.spec import FirstSpec, first_spec

__all__ = [
    "FirstSpec",
    "first_spec",
]
