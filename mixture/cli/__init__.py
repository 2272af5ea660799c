"""The command line: `mixture COMMAND …`. It parses, calls the library and prints."""

from mixture.cli.app import main

__all__ = ["main"]
