"""Files that lie elsewhere: URLs of object stores, local copies of what is there, and results that are sent there."""
