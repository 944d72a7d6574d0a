"""Compiles a run for a TPU that is not attached, and searches its settings."""
