"""`lisax serve`: a page to ask questions of tables, to check claims, and to say what is right. Light to import."""
