"""Ways in which a script can end, on either framework."""

from __future__ import annotations

from pathlib import Path

from ..environment import SOAK
from .running import python, record, without_runtime, write_script

TRAIN = """
import atexit, os, signal, sys, threading, time
import {framework} as torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters())
atexit.register(print, "at exit")
def step():
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
def steps(count):
    for _ in range(count):
        step()
steps(4)
print("trained", flush=True)
"""

# The end of the script, and how many steps are recorded by then.
ENDINGS = {
    "nothing": ("", 4),
    "exit": ("sys.exit(0)", 4),
    "exit-number": ("sys.exit(9)", 4),
    "exit-text": ("sys.exit('no luck')", 4),
    "raise": ("step.missing", 4),
    "raise-in-hook": (
        "def hook(*args): raise ValueError('in a hook')\n"
        "optimizer.register_step_post_hook(hook)\n"
        "steps(1)",
        4,
    ),
    "raise-in-backward": (
        "def hook(grad): raise ValueError('in backward')\nnet.weight.register_hook(hook)\nsteps(1)",
        4,
    ),
    "exit-at-once": ("os._exit(6)", 4),
    "abort": ("os.abort()", 4),
    "exec": ("sys.stdout.flush(); os.execv(sys.executable, [sys.executable, '-c', 'print(3)'])", 4),
    "exit-at-once-in-a-thread": (
        "thread = threading.Thread(target=lambda: os._exit(6)); thread.start()\n"
        "for _ in range(1000): time.sleep(0.02)",
        4,
    ),
    "terminate": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", 4),
    "terminate-handled": (
        "signal.signal(signal.SIGTERM, lambda *args: sys.exit(44))\n"
        "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)",
        4,
    ),
    "interrupt": ("os.kill(os.getpid(), signal.SIGINT); time.sleep(9)", 4),
    "closed-stdout": ("sys.stdout.flush(); os.close(1); steps(2)", 6),
    "closed-all": ("sys.stdout.flush(); os.closerange(0, 256); steps(2)", 6),
    "fork": (
        "child = os.fork()\nsteps(3)\nif not child: sys.exit(5)\nprint(os.waitpid(child, 0)[1])",
        7,
    ),
    "fork-and-exit-at-once": (
        "child = os.fork()\nif not child: steps(1); os._exit(5)\nprint(os.waitpid(child, 0)[1])",
        4,
    ),
    "threads": (
        "threads = [threading.Thread(target=steps, args=(1,)) for _ in range(2)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()",
        6,
    ),
    "thread-goes-on": ("threading.Timer(0.3, print, ['late']).start()", 4),
    "deleted-cwd": (
        "import tempfile, shutil\n"
        "place = tempfile.mkdtemp(); os.chdir(place); shutil.rmtree(place); steps(1)",
        5,
    ),
}
# Those in which the framework has a part: its hooks, its threads, its profiler's descriptors.
OF_THE_FRAMEWORK = "raise-in-backward", "exit-at-once-in-a-thread", "closed-all"
ON_PYTORCH = tuple(ENDINGS) if SOAK else OF_THE_FRAMEWORK
# The others, but for those that end as another one does.
_AS_ANOTHER = "exit", "exit-number", "closed-stdout", "fork-and-exit-at-once"
ON_THE_RUNTIME = tuple(
    name for name in ENDINGS if SOAK or name not in (*OF_THE_FRAMEWORK, *_AS_ANOTHER)
)


def check_ending(framework: str, name: str, folder: Path) -> None:
    """The script ends, and says, what it does without us; its steps are recorded and reported."""
    end, steps = ENDINGS[name]
    # Without us both frameworks end alike, but for their own lines of a traceback.
    is_quick = not SOAK and name != "raise-in-backward"
    plain = TRAIN.format(framework="tidy.runtime" if is_quick else framework)
    expected = python(write_script(folder, plain + end), cwd=folder)
    script = write_script(folder, TRAIN.format(framework=framework) + end)
    found = record("--warmup", "0", script, cwd=folder)
    assert found.out.startswith(expected.out)
    assert f", CPU run, {steps} steps of " in " ".join(found.out.split())
    if framework == "torch":
        assert found.err == expected.err
    else:
        assert without_runtime(found.err) == without_runtime(expected.err)
    assert found.code == expected.code
    assert [step.number for step in found.trace.steps] == list(range(steps))
