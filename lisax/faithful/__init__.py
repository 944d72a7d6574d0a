"""Checks of generated text against the data that it states, and repairs of its writing."""
