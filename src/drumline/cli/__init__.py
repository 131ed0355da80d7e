"""The command line: the street in front of the house. Commands import what they need when they run."""
