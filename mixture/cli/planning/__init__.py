"""Commands about specs, plans and locks."""
