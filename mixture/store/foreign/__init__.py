"""Token files of other programs, read where they lie: one file a format."""
