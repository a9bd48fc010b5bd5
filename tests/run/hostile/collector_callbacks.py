import gc

from training import step, steps

seen = []


def note(phase, info):
    if phase == "start" and info["generation"] == 2:
        seen.append(phase)
        step()


gc.callbacks.append(note)
for _ in range(6):
    gc.collect()
    step()
gc.freeze()
steps(6)
gc.unfreeze()
gc.disable()
steps(3)
gc.callbacks.clear()
gc.collect()
print(seen, gc.isenabled(), gc.get_debug())
