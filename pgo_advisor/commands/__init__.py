"""The commands, one module each: options in, renderings out; the work is done elsewhere."""
