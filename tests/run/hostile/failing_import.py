import traceback

with open("broken_module.py", "w") as file:
    file.write("import training\ntraining.steps(2)\nraise RuntimeError('while it is imported')\n")
try:
    pass
except RuntimeError:
    traceback.print_exc()
from training import torch

torch.no_such_name
