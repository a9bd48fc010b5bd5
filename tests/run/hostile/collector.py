import gc
import weakref

from training import steps

gc.disable()
gc.freeze()
steps(12)


class Thing:
    pass


thing = Thing()
reference = weakref.ref(thing)
del thing
print(gc.isenabled(), gc.get_threshold(), reference(), len(gc.callbacks), gc.get_debug())
