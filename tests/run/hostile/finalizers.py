import gc
import sys
import weakref

from training import step, steps


class Node:
    def __init__(self, n):
        self.n, self.me = n, self

    def __del__(self):
        if self.n < 3:
            step()
            print("trained in __del__", self.n)
        else:
            raise RuntimeError("in __del__")


def unraisable(args):
    print(args.exc_type.__name__, args.exc_value, file=sys.stderr)


sys.unraisablehook = unraisable
references = []
for n in range(5):
    node = Node(n)
    references.append(weakref.ref(node, lambda _: print("gone")))
    step()
    del node
    gc.collect()
steps(6)
print([reference() for reference in references], gc.garbage)
