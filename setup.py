"""Puts `cli.py` where it is imported from, `tidy/cli.py`; all else stands in pyproject.toml."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithCli(build_py):
    """`build_py` that also builds the module `tidy.cli` from the top level's `cli.py`."""

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "tidy", "cli.py")
            self.mkpath(str(target.parent))
            self.copy_file("cli.py", str(target))

    def get_outputs(self, include_bytecode=1):
        outputs = super().get_outputs(include_bytecode)
        return [*outputs, str(Path(self.build_lib, "tidy", "cli.py"))]

    def get_source_files(self):
        return [*super().get_source_files(), "cli.py"]


setup(cmdclass={"build_py": BuildWithCli})
