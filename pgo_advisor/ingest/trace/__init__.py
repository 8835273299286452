"""TORCH_TRACE logs and what tlparse makes of them."""
