"""What is shown to hold, and by what: judges over traces of the simulated and of the real system."""
