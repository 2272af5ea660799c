"""The page of a step."""
