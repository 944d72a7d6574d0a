"""Metrics: the FEVER score and related figures, ranking measures, calibration. Reads records, returns numbers."""
