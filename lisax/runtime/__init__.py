"""The engine: train, score, generate, evaluate, checkpoints. It knows arrays and seqio tasks, not facts."""
