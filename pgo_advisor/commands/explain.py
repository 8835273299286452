"""`pgo-advisor explain`."""

from __future__ import annotations

import click


@click.command()
@click.argument("rule", required=False)
def explain(rule: str | None) -> None:
    """Explain a rule or a cause of recompiles; without RULE, list them.

    RULE is a code, as PGO101, or a name.
    """
    from pgo_advisor.render.explain import explain_all, explain_one

    if rule is None:
        click.echo(explain_all(), nl=False)
        return
    text = explain_one(rule)
    if text is None:
        raise click.BadParameter(
            f"{rule!r} is no rule and no cause; pgo-advisor explain lists them", param_hint="RULE"
        )
    click.echo(text, nl=False)
