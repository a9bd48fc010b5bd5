import sys

from training import steps


def work(n):
    return steps(n)


work(2)
monitoring = getattr(sys, "monitoring", None)
if monitoring is not None:
    seen = []
    monitoring.use_tool_id(monitoring.DEBUGGER_ID, "mine")

    def started(code, offset):
        if code.co_filename == __file__:
            seen.append(code.co_name)

    monitoring.register_callback(monitoring.DEBUGGER_ID, monitoring.events.PY_START, started)
    monitoring.set_events(monitoring.DEBUGGER_ID, monitoring.events.PY_START)
    work(12)
    monitoring.restart_events()
    work(2)
    monitoring.set_events(monitoring.DEBUGGER_ID, 0)  # some versions go on without it
    monitoring.free_tool_id(monitoring.DEBUGGER_ID)
    print(seen)
print("trained")
