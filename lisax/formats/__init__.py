"""Text-to-text formats: a record becomes (inputs, targets), the same for training and inference.

`families.encode` is the one function that tasks and pipelines call; the functions under it are pure.
"""
