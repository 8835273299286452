"""What two recordings differ in: recompiles, guards, seconds and advice."""
