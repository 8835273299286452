"""PGO profiles: text, pickles, mega-caches."""
