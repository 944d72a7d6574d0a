"""T5 in Flax linen, with T5X's parameter names and shapes."""
