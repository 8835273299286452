"""`python -m pgo_advisor`."""

from pgo_advisor.cli import main

main(prog_name="pgo-advisor")
