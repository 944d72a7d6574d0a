"""`lisax serve`: a page to ask questions of tables, to check claims, and to say what was right. Imports nothing heavy."""
