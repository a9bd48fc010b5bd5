import os

from training import steps


def refused(*args, **kwargs):
    print("refused", args)
    raise PermissionError("patched")


kept = {
    name: getattr(os, name)
    for name in ("getpid", "replace", "mkdir", "makedirs", "symlink", "putenv", "kill")
}
for name in kept:
    setattr(os, name, refused)
path = {name: getattr(os.path, name) for name in ("join", "abspath", "dirname")}
steps(12)
for name in kept:
    setattr(os, name, kept[name])
print("trained")
