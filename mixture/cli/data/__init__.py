"""Commands that make and check stores."""
