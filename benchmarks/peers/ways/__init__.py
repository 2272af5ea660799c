"""Each loader in a module of its own, which runs as a process of its own and answers on lines of JSON."""
