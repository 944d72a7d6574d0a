"""Text formats: an example record becomes a model's input, the same in training and in inference.

`catalogue.FORMATS` has an entry for each (`format.Format`), whose `encode` tasks and inference call; the functions
under it are pure.
"""
