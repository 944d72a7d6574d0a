"""Models on disk: checkpoints, cards, names, the Hub; `interop/` reads and writes other programs' checkpoints."""
