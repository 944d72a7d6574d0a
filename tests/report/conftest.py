"""Beside `markup`, which tests here and below import: pytest puts the folder of a conftest on the path."""
