from training import step


def training():
    try:
        while True:
            step()
            yield "stepped"
    finally:
        step()
        print("closed")


for n, what in enumerate(training()):
    if n == 7:
        break


class Context:
    def __enter__(self):
        step()

    def __exit__(self, *args):
        step()
        return True


with Context():
    raise KeyError("swallowed")
raise GeneratorExit("of my own")
