import sys
import threading

from training import steps

sys.setswitchinterval(1e-6)
stop = threading.Event()


def spin():
    count = 0
    while not stop.is_set():
        count += 1


threads = [threading.Thread(target=spin, daemon=n > 0) for n in range(3)]
for thread in threads:
    thread.start()
steps(12)
stop.set()
for thread in threads:
    thread.join()
print(round(sys.getswitchinterval() * 1e6))
sys.setswitchinterval(100)
steps(12)
print(sys.getswitchinterval())
