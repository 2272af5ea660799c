"""What a plan finds: a code, a level, a place and the numbers."""
