"""Training: data, step, objectives, optimizers, gin, evaluation, inference, export."""
