from training import optimizer, steps


def limit(*args):
    limit(*args)


def at_the_limit(optimizer, *args):
    try:
        limit()
    except RecursionError:
        pass


optimizer.register_step_post_hook(at_the_limit)
optimizer.register_step_pre_hook(at_the_limit)
steps(12)
print("trained")
