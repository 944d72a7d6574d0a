"""Writes reports: one self-contained HTML file, and the same tables as plain text."""
