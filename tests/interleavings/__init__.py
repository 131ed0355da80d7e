"""Orders of threads: the locked parts of worker code, run in every order in which it could make a difference."""
