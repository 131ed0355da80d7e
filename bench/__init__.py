"""Measurements: Drumline, its peers on the same work, and the limit of the machine, as ratios in one run."""
