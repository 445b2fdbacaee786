"""The relay does to a connection what it says, and nothing else."""

import contextlib
import socket
import threading
import time

import pytest

import relay as relay_module


def echo_server():
    server = socket.create_server(("127.0.0.1", 0))

    def serve(sock):
        with sock, contextlib.suppress(ConnectionError):
            while data := sock.recv(1 << 16):
                sock.sendall(data)

    def accept():
        while True:
            try:
                sock, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(sock,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return server


@pytest.fixture
def way(work):
    """(relay, its port) in front of an echo."""
    server = echo_server()
    one = relay_module.Relay(work / "logs")
    yield one, one.open(server.getsockname()[1])
    one.end()
    server.close()


def dial(port, timeout=5):
    return socket.create_connection(("127.0.0.1", port), timeout)


def round_trip(sock, data=b"x" * 1000):
    sock.sendall(data)
    back = b""
    while len(back) < len(data):
        more = sock.recv(1 << 16)
        if not more:
            raise ConnectionError("closed")
        back += more
    return back == data


def test_passes_and_counts(way):
    relay, port = way
    with dial(port) as sock:
        assert round_trip(sock, b"y" * 300_000)
    assert relay.stats() == {"up": 300_000, "down": 300_000, "connections": 1}


def test_delays_each_way(way):
    relay, port = way
    relay.delay(up=0.2, down=0.1)
    with dial(port) as sock:
        start = time.monotonic()
        assert round_trip(sock)
        assert time.monotonic() - start >= 0.3


def test_throttles(way):
    relay, port = way
    relay.throttle(1_000_000)
    with dial(port) as sock:
        start = time.monotonic()
        assert round_trip(sock, b"z" * 1_000_000)
        assert time.monotonic() - start >= 0.9


@pytest.mark.parametrize("ways", [{"up": True, "down": False},
                                  {"up": False, "down": True}])
def test_stalls_one_way_and_goes_on(way, ways):
    relay, port = way
    with dial(port, timeout=0.5) as sock:
        assert round_trip(sock)
        relay.stall(**ways)
        sock.sendall(b"late")
        with pytest.raises(TimeoutError):
            sock.recv(10)
        relay.restore()
        assert sock.recv(10) == b"late"


def test_cuts_and_restores(way):
    relay, port = way
    with dial(port) as sock:
        assert round_trip(sock)
        relay.cut()
        with pytest.raises(ConnectionError):
            round_trip(sock)
    with pytest.raises(ConnectionRefusedError):
        dial(port)
    relay.restore()
    with dial(port) as sock:
        assert round_trip(sock)


def test_resets_and_accepts_new_ones(way):
    relay, port = way
    with dial(port) as sock:
        assert round_trip(sock)
        relay.reset()
        with pytest.raises(ConnectionError):
            round_trip(sock)
    with dial(port) as sock:
        assert round_trip(sock)
