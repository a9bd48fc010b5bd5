"""Commands whose help lists options under headings, one that takes a script or files, the group."""

from __future__ import annotations

import sys
from typing import Any

import click

# The names of the parameters under each heading, in every command; what is under none is listed
# last. A command that has options of one heading alone has none.
HEADINGS = {
    "The script and how it is run": "module python framework device keep_running runs",
    "What is recorded": "steps warmup after every seconds max_size stop_after trace stack"
    " shapes memory quickest all_threads",
    "Which rules, and what counts": "codes select ignore patterns name step fail_on savings"
    " warn_from baseline prune add_ignores fail_on_regression allow",
    "The report": "form output top width jobs dask scheduler page_steps perfetto summaries quiet"
    " verbose",
    "Configuration": "config_file no_config",
}
_FEW = 8


class HeadedCommand(click.Command):
    """A command whose options have headings where they are many."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        under = {name: heading for heading, names in HEADINGS.items() for name in names.split()}
        listed: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        params = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        for param in params:
            record = param.get_help_record(ctx)
            if record is not None:
                heading = under.get(param.name or "", "Options")
                listed.setdefault(heading, []).append(record)
        if len(params) <= _FEW:
            listed = {"Options": [each for some in listed.values() for each in some]}
        for heading, records in listed.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class ScriptOrFiles(HeadedCommand):
    """With `--run` what stands behind the script is the script's; else options stand anywhere."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before, _, _ = self.make_parser(ctx).parse_args(list(args))
        ctx.allow_interspersed_args = not before.get("runs")
        return super().parse_args(ctx, args)


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
