"""What the shell offers for a word that is half typed: codes of rules, devices, files.

click asks these functions when the shell does (docs/shell-completion.md).
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def codes(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes and names of rules; after a comma the next one."""
    from ..errors import TidyError
    from ..patterns.registry import load_patterns

    before, comma, last = incomplete.rpartition(",")
    try:
        rules = load_patterns(ctx.params.get("patterns") or ())
    except TidyError:
        rules = load_patterns()
    names = [(name, rule.summary()) for rule in rules for name in (rule.code, rule.slug())]
    return [
        CompletionItem(f"{before}{comma}{name}", help=summary)
        for name, summary in names
        if name.lower().startswith(last.strip().lower())
    ]


def devices(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds of modelled devices."""
    from ..runtime.modelled.specs import SPECS

    return [CompletionItem(name) for name in SPECS if name.startswith(incomplete.lower())]


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the shell's own names of files."""
    return [CompletionItem(incomplete, type="file")]


def folders(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the shell's own names of folders."""
    return [CompletionItem(incomplete, type="dir")]
