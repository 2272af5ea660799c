"""Commands that read positions, batches, traces and samples."""
