import os
import sys

from training import steps

steps(3)
sys.stdout.flush()
code = "import os; print([n for n in os.environ if 'TIDY' in n], os.environ.get('PYTHONPATH'))"
os.execv(sys.executable, [sys.executable, "-c", code])
