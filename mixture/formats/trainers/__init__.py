"""The mixture formats of trainers, one file each."""
