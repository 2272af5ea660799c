"""Pages that anyone can read: HTML made here, of the same figures that /v1 gives.

A page is a *view* (a frozen pydantic model that a pure function makes of library objects), a template, and one table.
The same address with `.json` gives the view, with `.csv` and `.parquet` its table. `render` makes HTML of a view with
`Links`, which know where things are: in a service, or in a folder of files.
"""
