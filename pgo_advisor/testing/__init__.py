"""Limits for compiles in code and in tests."""
