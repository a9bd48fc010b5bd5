"""The group of commands: what it says where there is no such command, and who reads its output."""

from __future__ import annotations

import sys
from typing import Any

import click

from .command import HeadedCommand


class Commands(click.Group):
    """Commands whose output may be cut short by who reads it (`tidy rules | head`)."""

    command_class = HeadedCommand

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        is_option = args[0].startswith("-")
        if self.get_command(ctx, args[0]) is None and not is_option and not ctx.resilient_parsing:
            from ..errors import UsageError
            from .usage import no_such_command

            raise UsageError(no_such_command(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            ctx.exit(141)  # as a shell counts SIGPIPE
