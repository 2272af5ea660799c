"""This stream beside the loaders of others, in one run: `python -m benchmarks.peers`."""
