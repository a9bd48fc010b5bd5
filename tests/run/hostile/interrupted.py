import _thread
import threading

from training import steps

for _ in range(4):
    steps(2)
    try:
        threading.Timer(0.05, _thread.interrupt_main).start()
        while True:
            steps(1)
    except KeyboardInterrupt:
        print("interrupted")
steps(2)
