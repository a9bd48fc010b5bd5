from training import optimizer, steps


def inner(n):
    if n == 0:
        raise ValueError("in a hook")
    inner(n - 1)


steps(2)
optimizer.register_step_post_hook(lambda *args: inner(3))
try:
    steps(1)
except ValueError:
    import traceback

    traceback.print_exc()
steps(1)
