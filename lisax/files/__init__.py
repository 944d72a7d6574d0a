"""Files here and in buckets: read with bounds, written atomically, resumed."""
