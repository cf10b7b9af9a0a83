"""The judges at hand, each in its own file."""
