"""What TORCH_LOGS prints."""
