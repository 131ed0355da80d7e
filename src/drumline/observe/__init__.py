"""What Drumline says of itself. Set up once, by the process that starts everything."""
