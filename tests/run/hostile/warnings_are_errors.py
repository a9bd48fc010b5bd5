import warnings

from training import steps

warnings.simplefilter("error")
steps(12)
print("trained", len(warnings.filters) > 0)
