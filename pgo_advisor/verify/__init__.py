"""Running a program without and with the advice."""
