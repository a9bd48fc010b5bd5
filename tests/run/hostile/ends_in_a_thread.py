import os
import threading
import time

from training import steps

steps(3)
print("soon", flush=True)
threading.Thread(target=lambda: (time.sleep(0.1), os._exit(6))).start()
while True:
    steps(1)
