"""Processes that never outlive the test that started them."""

import atexit
import ctypes
import os
import random
import signal
import socket
import subprocess
import time
import weakref

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
PORTS = (15000, 32768)  # the kernel's own for clients begin behind them
_alive = weakref.WeakSet()


def _die_with_parent():
    """And with the signals of a program that somebody starts by hand, also
    where we run in the background."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def spawn(command, log, **more):
    """Starts a process whose output goes to the file `log`.  It ends when
    we end, however we end."""
    with open(log, "ab") as out:
        process = subprocess.Popen([str(word) for word in command], stdout=out,
                                   stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL,
                                   preexec_fn=_die_with_parent, **more)
    _alive.add(process)
    return process


def spawn_piped(command, log):
    """The same, with stdin and stdout as pipes of text."""
    with open(log, "ab") as err:
        process = subprocess.Popen([str(word) for word in command],
                                   stdin=subprocess.PIPE, text=True,
                                   stdout=subprocess.PIPE, stderr=err,
                                   bufsize=1, preexec_fn=_die_with_parent)
    _alive.add(process)
    return process


def end(process, grace=20):
    """TERM, then KILL; gives the return code."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


@atexit.register
def _end_all():
    for process in list(_alive):
        if process.poll() is None:
            process.kill()


def free_ports(n):
    """Ports that were free a moment ago, all different.

    None is of those that the system gives to clients: a broker that was ended
    finds its own again.  Where it begins to look is drawn, so that two runs at
    a time seldom meet."""
    ports, port = [], random.randrange(*PORTS)
    while len(ports) < n:
        port = port + 1 if port + 1 < PORTS[1] else PORTS[0]
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
    return ports


def wait_for(what, probe, timeout=30, every=0.1):
    """Calls probe() until it gives something true, and gives that."""
    deadline = time.monotonic() + timeout
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout} s")
        time.sleep(every)


def cpu_seconds(pid):
    """User and system time of all threads of a process so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_rss(pid):
    """Bytes."""
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
