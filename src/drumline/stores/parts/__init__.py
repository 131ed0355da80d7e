"""The parts of a store, one file for each aggregate, the same for every database."""
