"""Finding what a path holds: files, archives, URLs."""
