"""Budgets for compiles: what they allow, what of a recording goes beyond, and how that is told."""
