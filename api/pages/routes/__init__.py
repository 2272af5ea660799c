"""The pages' addresses, one file a page."""
