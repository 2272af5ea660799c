"""One file a resource, each with its `router`; `create_app` includes every module here."""
