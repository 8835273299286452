"""Running a program so that PyTorch leaves everything behind."""
