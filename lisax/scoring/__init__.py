"""Probabilities, vectors and texts from a model, by JAX or by onnxruntime."""
