"""Commands that serve, publish and report."""
