import contextvars
import threading

from training import step

number = contextvars.ContextVar("number", default=-1)


def work(n):
    token = number.set(n)
    step()
    before = number.get()
    number.reset(token)
    return before, number.get(), len(contextvars.copy_context())


for n in range(12):
    print(contextvars.copy_context().run(work, n), number.get())
thread = threading.Thread(target=lambda: print("thread", number.get()))
thread.start()
thread.join()
print([each.name for each in contextvars.copy_context()])
