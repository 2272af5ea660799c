"""The shares of a phase, exactly."""
