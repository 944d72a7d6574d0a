"""Words, folding, numbers and dates of texts: one definition each."""
