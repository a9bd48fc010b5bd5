"""TDY105: a data set that tokenises or decodes each item when it is asked for it."""

from __future__ import annotations

from tidy.finding import NotApplicable, Obstacle, Severity
from tidy.trace import Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import devices, obstacles
from ..evidence.python import frames, places
from ..evidence.time.host_functions import prepares_repeatably, preparing_calls, short_name
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import LARGE_INFO, share, word_share

_TOKENIZE = "transformers/tokenization_utils_base.py(2790): __call__ 800us"
_COLLATE = "data.py(3): collate"
_LOADING = f"{frames.FETCH_ALONE} 900us > {FRAME}"
_FETCH = under(_LOADING, _TOKENIZE)
_SHORT = f"{frames.FETCH_ALONE} 90us"
_COLLATES = under(f"{_LOADING} > {_COLLATE} 850us", _TOKENIZE)


class UncachedPreprocessing(Pattern):
    """Most of loading a batch is spent on tokenising, decoding or transforming its items.

    What it does: It looks, within the fetches of a loader without workers, for functions that
    tokenise, decode or transform inputs, that take half of the time of loading or more, where
    loading is 5 % of the window (on a GPU: while it has no work). What makes a batch of items
    (`collate_fn`) or changes them at random (`augment`) is new each time, and does not count.
    Why it costs: The same items are prepared again in each epoch.
    Example: A data set whose `__getitem__` calls the tokeniser, recorded as

        enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
          data.py(12): __getitem__
            tokenization_utils_base.py(2790): __call__      most of the time

    Instead: Prepare what is the same each time once, before training, and store the result
    (`datasets.map`, arrays in files); what is random each time, workers or the device can do.
    Cannot see: It needs Python stacks. What worker processes do is not in the trace. What it costs
    is a part of what TDY101 says, so no saving of its own is estimated.
    """

    code = "TDY105"
    severity = Severity.INFO
    why_no_edit = "it is a part of what loading takes (TDY101)"
    fix = "store what is the same each time (tokens, images); leave the rest to workers"
    worth_a_word = word_share(LARGE_INFO, "loading")
    most_of_loading = share(0.5, "so much of the time of loading has to be in the function")
    examples = (
        Fires("tokenizer", steps(_FETCH, "aten::mm"), events=3, at=AT),
        Quiet("reads-alone", steps(under(_LOADING, "data.py(3): read_row 800us"), "aten::mm")),
        Quiet("a-part", steps(_FETCH.replace("800us", "300us"), "aten::mm")),
        Quiet("little", steps(_FETCH, "aten::mm 90000us", lasts_us=None)),
        Quiet("collates", steps(under(_LOADING, f"{_COLLATE} 800us"), "aten::mm")),
        Quiet("augments", steps(under(_LOADING, "data.py(9): augment 800us"), "aten::mm")),
        Fires("collates-and-tokenizes", steps(_COLLATES, "aten::mm"), events=3, at="data.py:3"),
        Quiet("in-the-step", steps(under(FRAME, _TOKENIZE), _SHORT, "aten::mm")),
        Abstains("no-stacks", steps(f"{frames.FETCH_ALONE} 900us", "aten::mm")),
        Abstains("no-loader", "aten::mm"),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        if not len(trace.rows_named(frames.FETCH_ALONE)):
            return NotApplicable("no batch was loaded without workers")
        return obstacles.without_functions(trace)

    def find(self, trace: Trace) -> Matches:
        fetching = trace.time_of(trace.rows_named(frames.FETCH_ALONE)) & trace.step_time
        waits = fetching - devices.any_busy(trace)
        if (trace.step_share(waits) or 0.0) < self.worth_a_word:
            return
        for same in places.by_line(preparing_calls(trace, fetching, prepares_repeatably)):
            time = trace.time_of(each.row for each in same) & fetching
            part = time.total_ns / fetching.total_ns
            if part >= self.most_of_loading:
                said = f"{part:.0%} of loading is {short_name(same[0])}, item by item"
                yield Match(same, said, time & waits)
