"""The pipelines, one folder per paper: its settings, stages and report."""
