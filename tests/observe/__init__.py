"""What a process shows of itself."""
