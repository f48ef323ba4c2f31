"""What is written waits for nobody, keeps its order, and says what it had to leave out."""

import errno
import os
import threading

import pytest

from place import wait_for
from ralphloop.cli.outlet import Outlet


def read_on(descriptor: int) -> bytearray:
    """What comes, read by another thread until nobody writes any more."""
    found = bytearray()

    def read() -> None:
        while data := os.read(descriptor, 1 << 16):
            found.extend(data)
        os.close(descriptor)

    threading.Thread(target=read).start()
    return found


def test_all_that_is_read_arrives_in_order() -> None:
    reading, writing = os.pipe()
    outlet = Outlet()
    for n in range(1000):
        outlet.put(writing, b"line %d\n" % n)
    found = read_on(reading)
    outlet.close(5)
    os.close(writing)
    every = b"".join(b"line %d\n" % n for n in range(1000))
    wait_for(lambda: len(found) == len(every))
    assert bytes(found) == every


def test_whoever_does_not_read_holds_nobody_and_is_told_what_is_missing() -> None:
    reading, writing = os.pipe()
    outlet = Outlet(most=300_000)
    for _ in range(100):
        outlet.put(writing, b"x" * 9_999 + b"\n")
    outlet.close(0.01)  # it is not waited for without end
    found = read_on(reading)
    outlet.close(5)
    outlet.put(writing, b"last\n")
    outlet.close(5)
    os.close(writing)
    wait_for(lambda: found.endswith(b"last\n"))
    left_out = 100 - found.count(b"x\n")
    assert left_out > 0
    assert found.endswith(b"... %d lines were left out: nobody read them\nlast\n" % left_out)


def test_a_reader_that_has_gone_is_told_once() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    outlet = Outlet()
    outlet.put(writing, b"to nobody\n")
    outlet.close(5)
    with pytest.raises(BrokenPipeError) as caught:
        outlet.put(writing, b"again\n")
    assert caught.value.errno == errno.EPIPE
    os.close(writing)


def test_a_stream_that_cannot_take_it_now_gets_it_later() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    outlet, content = Outlet(), b"y" * 1_000_000
    outlet.put(writing, content)
    found = read_on(reading)
    wait_for(lambda: len(found) == len(content))
    assert bytes(found) == content
    os.close(writing)
