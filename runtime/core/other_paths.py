"""Modules that PyTorch has at further paths: `torch.nn.modules.conv` has what `torch.nn` has."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .faces import WHY, face

_SAME = (
    (r"nn\.utils\.rnn", "nn.packed"),
    (r"nn\.utils\.parametriz\w+", "nn.parametrize"),
    (r"nn\.utils\.stateless", "nn.stateless"),
    (r"nn\.utils\.(clip_grad|convert_parameters|(weight|spectral)_norm)", "nn.utils"),
    (r"nn\.(modules(\.\w+)?|parameter|common_types)", "nn"),
    (r"optim\.(_functional|adam\w*|sgd|rmsprop|adagrad|adadelta|nadam|radam|rprop|asgd|lbfgs|"
     r"sparse_adam)", "optim"),
    (r"utils\.data\.(dataloader|dataset|sampler|distributed|_utils(\.\w+)?)", "data"),
    (r"autograd\.(variable|grad_mode|anomaly_mode)", "autograd"),
    (r"autograd\.function", "engine.function"),
    (r"autograd\.functional", "derivatives.functional"),
    (r"utils\.checkpoint", "derivatives.checkpoint"),
    (r"utils\.hooks", "engine.hooks"),
    (r"distributions\.(bernoulli|beta|categorical|dirichlet|distribution|gamma|independent|kl|laplace|"
     r"mixture_same_family|multivariate_normal|normal|uniform)",
     "distributions"),
    (r"(jit|compiler)", "compiling"),
    (r"sparse", "ops.sparse"),
    (r"(random|functional|types|_tensor|tensor)", ""),
)  # fmt: skip


def home_of(inner: str) -> str | None:
    """Return the module that has what PyTorch has at this path; None for no such path."""
    if inner in WHY:
        return "core.faces"
    return next((home for pattern, home in _SAME if re.fullmatch(pattern, inner)), None)


class OtherPaths:
    """Finds them, where nothing else is found; and loads them, which reads names elsewhere."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        inner = name.removeprefix(f"{self._package}.")
        home = home_of(inner) if inner != name else None
        if home is None:
            return None
        loader: Any = self
        state = f"{self._package}.{home}".rstrip(".")
        return ModuleSpec(name, loader, loader_state=state, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        made, home = ModuleType(spec.name), str(spec.loader_state)
        inner = spec.name.removeprefix(f"{self._package}.")
        if inner in WHY:
            made.__getattr__ = face(inner)  # type: ignore[method-assign]
            return made

        def find(name: str) -> Any:
            if name.startswith("__") and name != "__all__":
                raise AttributeError(name)
            module = import_module(home)
            if name == "__all__":  # for `import *`
                return [each for each in dir(module) if not each.startswith("_")]
            try:
                return getattr(module, name)
            except AttributeError:  # the script knows the path that it wrote
                told = f"module {spec.name!r} has no attribute {name!r}"
                raise AttributeError(told) from None

        made.__getattr__ = find  # type: ignore[method-assign]
        return made

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def install(package: str) -> None:
    finder: Any = OtherPaths(package)
    sys.meta_path.append(finder)
