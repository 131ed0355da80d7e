"""The implementations of the ports, one folder per technology. No other room imports from here but the wiring."""
