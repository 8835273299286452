"""`pgo-advisor completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_PROGRAM = "pgo-advisor"
_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    r"""Print what makes a shell complete commands, options and paths.

    \b
    bash: eval "$(pgo-advisor completion bash)"         in ~/.bashrc
    zsh:  eval "$(pgo-advisor completion zsh)"          in ~/.zshrc
    fish: pgo-advisor completion fish > ~/.config/fish/completions/pgo-advisor.fish
    """
    made = get_completion_class(shell)
    if made is None:
        raise click.BadParameter(f"{shell} is not supported by this version of click")
    commands = context.find_root().command
    click.echo(made(commands, {}, _PROGRAM, "_PGO_ADVISOR_COMPLETE").source(), nl=False)
