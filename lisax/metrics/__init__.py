"""Figures: the FEVER score and its kin, ranking measures, calibration. Reads records, writes numbers."""
