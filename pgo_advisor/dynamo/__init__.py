"""What PyTorch's texts mean: source names, the source list, releases, failed guards, guard expressions."""
