"""Checkpoints of other programs: T5X's two layouts and Hugging Face folders, read and written array by array."""
