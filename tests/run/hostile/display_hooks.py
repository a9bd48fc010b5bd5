import code
import sys

from training import steps

sys.ps1 = "? "
sys.displayhook = lambda value: print("shown", value)
console = code.InteractiveConsole({"steps": steps})
for line in ("x = 3", "steps(3)", "x", "for i in range(2):", "    steps(1); i", "", "1 / 0"):
    console.push(line)
sys.breakpointhook = lambda *args: print("breakpoint", args)
breakpoint()
steps(6)
exec(compile("steps(2)\nprint(__name__)", "<made>", "exec"), {"steps": steps, "__name__": "made"})
eval("steps(1)")
