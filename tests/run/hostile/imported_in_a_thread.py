import threading


def work():
    from training import steps

    steps(3)


thread = threading.Thread(target=work)
thread.start()
thread.join()
from training import steps

steps(8)
print("trained")
