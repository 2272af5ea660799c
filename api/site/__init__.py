"""The pages as files."""
