"""Scripts that compute a forward again in the backward, by checkpoints and otherwise."""

from .cases import Case
from .look_alikes import LookAlike

_TRAINED = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList(
    [nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64)) for _ in range(4)]
)
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.01)
{before}
for step in range(6):
    optimizer.zero_grad()
    out = torch.ones(128, 64, requires_grad=True)
    for block in blocks:
        {call}
    {loss}.backward()
    optimizer.step()
"""
_PLAIN = "out = block(out)"


def _script(call: str = _PLAIN, loss: str = "out.square().mean()", before: str = "") -> str:
    return _TRAINED.format(call=call, loss=loss, before=before)


def _checkpoint(reentrant: bool) -> Case:
    call = f"out = checkpoint(block, out, use_reentrant={reentrant})"
    return Case(
        f"checkpoints-{'reentrant' if reentrant else 'by-hooks'}",
        "TDY710",
        _script(f"{call}  #!"),
        ((call, _PLAIN),),
    )


CHECKPOINT_CASES = [_checkpoint(True)]
_FUNCTION = """\
def double(out):
    return blocks[0][2](torch.sin(torch.relu(blocks[0][0](out)) * 2))
"""
_SECOND = "out = checkpoint(double, out, use_reentrant=False)"
# The runtime runs these forwards between nodes, where hooks run, too.
ON_PYTORCH_ALONE = [
    _checkpoint(False),
    Case(
        "checkpoints-of-a-function",
        "TDY710",
        _script(_SECOND, before=_FUNCTION.replace("* 2))", "* 2))  #!")),
        ((_SECOND, "out = double(out)"),),
    ),
]

_AGAIN = """\
out.square().mean().backward()
    out = torch.ones(128, 64, requires_grad=True)
    for block in blocks:
        out = checkpoint(block, out, use_reentrant=True)
    out.square().mean()"""
TWO_MICRO_BATCHES = _script("out = checkpoint(block, out, use_reentrant=True)", _AGAIN)

# The backward of a fixed point calls its module again, with or without a checkpoint.
_OWN_FUNCTION = """\
class Mixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, out, block):
        ctx.save_for_backward(out)
        ctx.block = block
        return block(out)

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        with torch.enable_grad():
            again = ctx.block(out.detach().requires_grad_())
        return grad * again.detach(), None
"""
_HOOKED = """\
def look(grad):
    with torch.no_grad():
        return grad + 0.0 * blocks[0](grad)
"""
_PENALTY = (
    "(out.square().mean() + torch.autograd.grad(out.sum(), first, create_graph=True)[0].sum())"
)

_UNPACKED = """\
decoder, projection = nn.Linear(16, 64), torch.randn(64, 16)

def pack(saved):
    return saved.detach() @ projection if saved.shape == (128, 64) else saved

def unpack(packed):
    with torch.no_grad():
        return decoder(packed) if packed.shape == (128, 16) else packed

hooks = torch.autograd.graph.saved_tensors_hooks(pack, unpack)
"""

_SCALED = """\
scaled = torch.autograd.graph.saved_tensors_hooks
hooks = scaled(lambda kept: kept * 2.0, lambda kept: kept * 0.5)
"""

CHECKPOINT_LOOK_ALIKES = [
    LookAlike(
        "TDY710",
        "a-function-of-its-own",
        _script("out = Mixed.apply(out, block) + block(out)", before=_OWN_FUNCTION),
        {"aten::linear": 140, "MixedBackward": 24},
    ),
    LookAlike(
        "TDY710",
        "a-hook-calls-a-module",
        _script("out = block(out)\n        out.register_hook(look)", before=_HOOKED),
        {"aten::linear": 90},
    ),
    LookAlike(
        "TDY710",
        "derivatives-of-derivatives",
        _script("out = block(out)\n        first = out if block is blocks[0] else first", _PENALTY),
        {"AddmmBackward0": 60},
    ),
    LookAlike(
        "TDY710",
        "a-checkpoint-that-takes-little",
        _script(
            before="small = nn.Linear(64, 1)",
            loss=(
                "(out @ torch.ones(64, 4096) @ torch.ones(4096, 64)"
                " + checkpoint(small, out[:1], use_reentrant=False)).square().mean()"
            ),
        ),
        {"aten::linear": 54},
    ),
    LookAlike(
        "TDY710",
        "hooks-that-unpack-with-a-module",
        _script("with hooks:\n            out = block(out)", before=_UNPACKED),
        {"aten::linear": 90},
    ),
    LookAlike(
        "TDY710",
        "hooks-that-scale",
        _script("with hooks:\n            out = block(out)", before=_SCALED),
        {"aten::linear": 40},
    ),
]
