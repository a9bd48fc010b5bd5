"""Rooms of the runtime: who may know the modelled machine, and what packages load of each other."""

from tests.imports import SOURCES, Import, all_imports, circles, module_name

RUNTIME = "tidy.runtime"
MACHINE = f"{RUNTIME}.modelled"
FACES = [f"{RUNTIME}.{n}" for n in "autograd cuda amp linalg fft utils".split()]


def _is_in(module: str, *packages: str) -> bool:
    return f"{module}.".startswith(tuple(f"{package}." for package in packages))


def test_only_faces_know_the_modelled_machine():
    """The faces hold PyTorch's names; the runtime's own configures what TIDY_DEVICE asks for."""
    importers = {
        each.importer
        for each in all_imports()
        if _is_in(each.importer, RUNTIME) and _is_in(each.imported, MACHINE)
    }
    strangers = {each for each in importers if not _is_in(each, MACHINE, *FACES)}
    assert strangers <= {RUNTIME}
    assert importers & set(FACES)


def test_what_a_package_loads_closes_no_circle():
    """To import a.b.c runs a/b/__init__.py too, unless one stands in a.b oneself.

    The runtime's own __init__ is left out: it is a face that imports everything.
    """
    packages = {module_name(path) for path in SOURCES if path.name == "__init__.py"}
    imports = {each for each in all_imports() if each.kind != "type" and each.importer != RUNTIME}
    implied = {
        Import(each.importer, package, each.kind)
        for each in imports
        for package in packages - {RUNTIME}
        if _is_in(each.imported, package)
        and _is_in(package, RUNTIME)
        and not _is_in(each.importer, package)
    }
    inside = {each for each in imports if _is_in(each.importer, RUNTIME)}
    assert circles(inside | implied) == []
