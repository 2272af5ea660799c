"""The page of a catalog."""
