"""What is asked of the driver while launches are recorded, of a driver that only takes note."""

import ctypes
import gc
from types import SimpleNamespace

import pytest

from adjit.errors import Unsupported, WrongCall
from tests.cuda.compiled import needs_compiler

pytestmark = needs_compiler


class Noting:
    """Functions that note what they are given, and fail if they are told to."""

    def __init__(self, fails=()):
        self.fails, self.calls = fails, []

    def __getattr__(self, name):
        def call(*arguments):
            # as the driver's own: 64 bits of a handle are lost where it is given as a number
            assert not any(isinstance(a, int) and a > 2**31 for a in arguments)
            self.calls.append(name)
            if name == "cuStreamEndCapture":
                ctypes.cast(arguments[1], ctypes.POINTER(ctypes.c_void_p))[0] = 2**40
            if name == "cuStreamIsCapturing":
                ctypes.cast(arguments[1], ctypes.POINTER(ctypes.c_int))[0] = 1
            return 900 if name in self.fails else 0

        return call


@pytest.fixture
def noted(monkeypatch):
    from adjit.runtime.cuda import graph_capture

    found = Noting()
    monkeypatch.setattr(graph_capture, "driver", lambda: found)
    monkeypatch.setattr(graph_capture, "cuda", SimpleNamespace(stream=lambda: 2**40))
    return found


def test_what_is_recorded_is_launched(noted):
    from adjit.runtime.cuda import graph_capture, streams

    with graph_capture.recording() as found:
        assert streams.current() == found.stream == 2**40
        assert streams.recorded() is found
        with pytest.raises(WrongCall, match="a stream is selected"):
            streams.on(3)
        with pytest.raises(Unsupported, match="the host reads"):
            graph_capture.refuse_reading()
    assert streams.current() == 0
    assert streams.recorded() is None
    found.launch(0)
    found.launch(2**40)
    asked = ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphDestroy"]
    assert noted.calls == [*asked, "cuGraphLaunch", "cuGraphLaunch"]
    del found
    gc.collect()
    assert noted.calls[-1] == "cuGraphExecDestroy"


def test_what_goes_wrong_ends_the_capture(noted):
    from adjit.runtime.cuda import graph_capture, streams

    with pytest.raises(ZeroDivisionError), graph_capture.recording():
        raise ZeroDivisionError
    assert noted.calls == ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphDestroy"]
    noted.fails = ("cuStreamEndCapture",)
    with pytest.raises(WrongCall, match="cannot be recorded"), graph_capture.recording():
        pass
    with pytest.raises(ZeroDivisionError), graph_capture.recording():
        raise ZeroDivisionError
    assert noted.calls[-1] == "cuStreamEndCapture"
    assert streams.recorded() is None


def test_a_stream_that_others_capture_is_refused(noted):
    from adjit.runtime.cuda import graph_capture, streams

    graph_capture.check_ours()
    assert not noted.calls  # the default stream cannot be captured
    with streams.on(2**40), pytest.raises(WrongCall, match="its stream is captured"):
        graph_capture.check_ours()
    with graph_capture.recording():
        graph_capture.check_ours()
