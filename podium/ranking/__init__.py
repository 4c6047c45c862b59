"""From many teams' metrics.json to a final table and how sure it is. Nothing here opens an image."""
