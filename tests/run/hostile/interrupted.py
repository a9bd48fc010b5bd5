import _thread
import threading

from training import steps, torch

for _ in range(4):
    steps(2)
    try:
        threading.Timer(0.05, _thread.interrupt_main).start()
        while True:
            steps(1)
    except KeyboardInterrupt:
        print("interrupted")
    torch.set_grad_enabled(True)  # it stays off where an optimizer was interrupted
steps(2)
