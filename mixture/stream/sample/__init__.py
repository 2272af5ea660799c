"""Documents as a run reads them, as files."""
