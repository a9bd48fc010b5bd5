"""A command whose help lists its options under headings, and one that takes a script or files."""

from __future__ import annotations

import click

# The names of the parameters under each heading, in every command; what is under none is listed
# last. A command that has options of one heading alone has none.
HEADINGS = {
    "The script and how it is run": "module python framework device keep_running runs",
    "What is recorded": "steps warmup after every seconds max_size stop_after trace no_stack"
    " no_shapes no_memory quickest all_threads",
    "Which rules, and what counts": "codes select ignore patterns name step fail_on savings"
    " warn_from baseline prune add_ignores fail_on_regression allow",
    "The report": "form output top width quiet verbose",
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
