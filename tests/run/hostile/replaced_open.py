import builtins
import io


def replaced(*args, **kwargs):
    print("opened", args[:1])
    raise OSError("not today")


from training import steps

builtins.open = io.open = replaced
steps(12)
print("trained")
