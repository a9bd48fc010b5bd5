import builtins
import sys

from training import steps

real = builtins.__build_class__
names = []


def build(function, name, *bases, **options):
    names.append(name)
    return real(function, name, *bases, **options)


builtins.__build_class__ = build
imported = []
real_import = builtins.__import__


def importing(name, *args, **kwargs):
    imported.append(name)
    return real_import(name, *args, **kwargs)


builtins.__import__ = importing
steps(12)
builtins.__import__, builtins.__build_class__ = real_import, real
print([name for name in names if "tidy" in name.lower() or "piece" in name.lower()])
print([name for name in imported if "tidy_child" in name], sys.getrefcount(None) > 100)
