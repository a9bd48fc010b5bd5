"""What a script names and tidy.runtime lacks, read from the source: all of it, and nothing else."""

import pytest

from tidy import runtime
from tidy.run.child.lacking import lacking, lacking_in_files

NAMED = """
import torch, torch.nn.functional as F
import torch.distributions as D
import torch.optim as optim
from torch import nn, no_such_function
from torch.nn import Linear as L, NoSuchLayer as N
from torch.no_such_module.deeper import Thing
x = torch.ones(3).foo_()
F.no_such(x); D.NoSuchDistribution; D.Normal(0.0, 1.0).foo; optim.SGD; optim.NoSuch
nn.functional.relu(x); nn.utils.no_such_util; torch.Tensor.foo; L(2, 3).foo; x.bar()
def step(a=torch.no_such_default): return nn.Sequential(nn.NoSuchLayer2())
class Net(nn.NoSuchModule): pass
"""


def test_all_that_is_lacking_is_named_once_with_its_line():
    assert lacking(NAMED, runtime) == [
        (5, "torch.no_such_function"),
        (6, "torch.nn.NoSuchLayer"),
        (7, "torch.no_such_module"),
        (9, "torch.distributions.NoSuchDistribution"),
        (9, "torch.nn.functional.no_such"),
        (9, "torch.optim.NoSuch"),
        (10, "torch.nn.utils.no_such_util"),
        (11, "torch.nn.NoSuchLayer2"),
        (11, "torch.no_such_default"),
        (12, "torch.nn.NoSuchModule"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "from torch.utils import data\nfor data, target in loader: data.to(device)",
        "import torch.distributions as D\ndef train(G, D): D.no_such()",
        "from torch import optim\noptim = optim.SGD([p])\noptim.no_such_thing()",
        "import torch.nn.functional as F\nwith open(path) as F: F.readlines()",
        "from torch import nn\nsizes = [nn.no_such for nn in layers]",
        "import torch\nclass A:\n    def f(self): self.torch.no_such()",
        "import torch\ntry:\n    torch.no_such()\nexcept AttributeError: pass",
        "try:\n    from torch.no_such import Thing\nexcept ImportError:\n    Thing = None",
        "try:\n    from torch.no_such import Thing\nexcept (ImportError, OSError): Thing = None",
        "import torch\nif hasattr(torch, 'no_such'):\n    torch.no_such()",
        "import torch\nf = torch.no_such if hasattr(torch, 'no_such') else None",
        "import torch\ntorch.no_such = 3\nprint(torch.no_such)",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.no_such import Thing",
        "import torch\nx = torch.ones(3)\nx.foo_().bar\ntorch.Tensor.foo\ntorch.nn.Linear.foo",
        "import torch.utils.data as data, torch.nn.init as init\ninit.zeros_; data.DataLoader",
        "from torch.utils.data.dataloader import DataLoader, default_collate",
        "import torch\nif torch.cuda.is_available():\n    torch.no_such()",
        "import torch\nx = torch.no_such() if args.use_cuda else torch.ones(3)",
        "import torch\nif device == 'cuda': torch.no_such()",
        "import torch\nif not torch.cuda.is_available(): pass\nelse: torch.no_such()",
        "import torch\nif torch.__version__ >= '3':\n    torch.no_such()",
        "try:\n    from torch import inf\nexcept ImportError:\n    from torch.no_such import inf",
        "from __future__ import annotations\nimport torch\ndef f(x: torch.NoA) -> torch.B: 3",
        "import torch\ndef f():\n    x: torch.NoSuch = 3",
    ],
)
def test_no_false_alarm(source):
    assert lacking(source, runtime) == []


def test_what_a_guard_has_not_got_is_still_named():
    source = "import torch\ntry:\n    pass\nexcept ImportError:\n    torch.no_such()"
    assert lacking(source, runtime) == [(5, "torch.no_such")]


@pytest.mark.parametrize("count", [1_500, 5_000])
def test_what_is_nested_deeply(count):
    """Python runs both; of the longer one it makes no tree that can be looked at."""
    source = "import torch\nx = " + " + ".join(["torch.pi"] * count) + "\ntorch.no_such"
    assert lacking(source, runtime) in ([], [(3, "torch.no_such")])


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nif __name__ == '__main__':\n    torch.no_such()",
        "import torch\nif args.verbose:\n    torch.no_such()",
        "import torch\nif torch.cuda.is_available():\n    pass\nelse:\n    torch.no_such()",
        "import torch\nif not args.cuda:\n    torch.no_such()",
        "import torch\ndef f(x: torch.no_such): pass",
        "import torch\ntry:\n    torch.no_such()\nexcept KeyError: pass",
    ],
)
def test_what_may_be_reached_is_named(source):
    assert [name for _, name in lacking(source, runtime)] == ["torch.no_such"]


def test_modules_beside_the_script_are_read_and_others_are_not(tmp_path):
    files = {
        "train.py": "import torch, model\nfrom nets.deep import Net\nimport json\ntorch.no_first()",
        "model.py": "import torch\nfrom nets import base\ntorch.no_second(), torch.no_first()",
        "nets/__init__.py": "",
        "nets/deep.py": "from . import base\nfrom .parts import x\nfrom torch import no_third",
        "nets/base.py": "import torch, train\nx = torch.no_fourth",
        "nets/parts.py": "import torch as t\nx = t.no_fifth",
        "unused.py": "import torch\ntorch.no_sixth",
        "broken.py": "def",
    }
    (tmp_path / "nets").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = lacking_in_files(str(tmp_path / "train.py"), runtime)
    assert {(file[len(str(tmp_path)) + 1 :], line, name) for file, line, name in found} == {
        ("train.py", 4, "torch.no_first"),
        ("model.py", 3, "torch.no_second"),
        ("nets/deep.py", 3, "torch.no_third"),
        ("nets/base.py", 2, "torch.no_fourth"),
        ("nets/parts.py", 2, "torch.no_fifth"),
    }
    assert lacking_in_files(str(tmp_path / "nothing.py"), runtime) == []
