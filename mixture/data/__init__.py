"""Text and tokens: where they are stored, how they are read, made and checked."""
