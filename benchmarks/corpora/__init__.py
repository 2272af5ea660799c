"""Real text of many kinds, fetched by the name of its package: what clusters and their pages are measured on."""
