"""What to declare, in which way, at what cost."""
