"""Streams in the loaders of trainers, in `.torch`, `.datasets` and `.grain`, and losses by domain, in `.losses`.

Each takes what opens a stream, a function or a `functools.partial` of one: `partial(open_stream, "run.lock.json",
"store")` for a store at hand, `partial(open_remote_stream, url)` for a service. It is called with rank, world_size,
first_step, next_token and documents, once in each process that reads.
"""
