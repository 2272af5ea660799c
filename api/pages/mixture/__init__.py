"""The page of a mixture."""
