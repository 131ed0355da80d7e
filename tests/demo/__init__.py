"""The demonstration: a story that can be told again."""
