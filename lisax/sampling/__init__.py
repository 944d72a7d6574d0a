"""Builds training examples from runs: rank-window negatives, noise infusion, example builders.

Every draw is seeded by (seed, claim id), so it does not depend on the host, on the number of hosts, or on which other
claims are in the file.
"""
