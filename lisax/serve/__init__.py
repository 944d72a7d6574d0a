"""`lisax serve`: a page that answers questions over tables, checks claims and collects feedback. Light to import."""
