"""Whatever fails in the recorder ends the recording, and the script goes on."""

from __future__ import annotations

from .kept import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Method = TypeVar("Method", bound=Callable[..., Any])

_IMPORTLIB = "<frozen importlib._bootstrap_external>"


class Harmless:
    """What has methods that the script calls without knowing."""

    failure: BaseException | None = None  # for the next call: it could not be dealt with

    def fail(self, error: BaseException) -> None:
        """End because of an error. May set `failure` to be called again."""
        raise NotImplementedError


def harmless(method: Method) -> Method:
    """Let an exception in a method of a `Harmless` end in its `fail(error)`.

    Ctrl-C, SystemExit, and what a signal handler of the script raises meanwhile are the script's
    and pass.
    """

    def call(self: Harmless, *args: Any) -> Any:
        try:
            if self.failure is not None:
                _fail(self, self.failure)
            return method(self, *args)
        except Exception as error:
            try:
                is_ours = not _is_of_a_handler(error)
                if is_ours:
                    _fail(self, error)
            except Exception:  # near the limit of recursion nothing can be called
                self.failure = error
                is_ours = True
            if not is_ours:
                raise
            return None

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    guarded: Any = call
    return guarded  # type: ignore[no-any-return]


def has_room(calls: int = 200) -> bool:
    """Tell whether so many nested calls can be made here; a cut of a recording makes fewer."""
    try:
        return calls == 0 or has_room(calls - 1)
    except RecursionError:
        return False


def as_importlib(function: Method) -> Method:
    """Count a function that Python's import calls among those of importlib.

    Python takes their frames from the traceback of an import that fails, and tells them by their
    file. Where it does not (Ctrl-C while a module is looked for), they are there without us, too.
    """
    function.__code__ = function.__code__.replace(co_filename=_IMPORTLIB)
    return function


def _fail(one: Harmless, error: BaseException) -> None:
    one.failure = None
    one.fail(error)


def one_line(error: BaseException) -> str:
    """Return the text of an exception, also of one whose own text cannot be had."""
    try:
        strerror = getattr(error, "strerror", None)
        text = strerror.lower() if strerror else f"{type(error).__name__}: {error}"
        return " ".join(text.split())[:500]
    except Exception:
        return "an error that has no text"


def _is_of_a_handler(error: BaseException) -> bool:
    """Whether a signal handler of the script's is among what was running."""
    handlers = [signal.getsignal(number) for number in range(1, signal.NSIG)]
    codes = [getattr(each, "__code__", None) for each in handlers if callable(each)]
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False
