"""From a position to its documents, and back."""
