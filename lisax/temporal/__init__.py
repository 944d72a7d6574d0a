"""Dates in claims and evidence: what they mean, and what they decide (DeSePtion, section 5.2)."""
