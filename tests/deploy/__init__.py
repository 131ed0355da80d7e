"""What deploys Drumline: files that nobody runs here, held against what they speak of."""
