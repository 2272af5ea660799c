"""The parts of a plan that an amended run already has."""
