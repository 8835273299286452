"""What a recording holds in a form that survives moved lines and other ranks, and matching two of them."""
