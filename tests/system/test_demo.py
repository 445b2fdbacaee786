"""`kedge demo` proves what it says, and leaves nothing behind."""

import os
import pathlib
import shlex
import signal
import tempfile

import pytest

import agent as agent_kit
import proc


@pytest.fixture
def demo(work, unique):
    """Starts it; gives the process, a function that waits for words, and the
    folder in which it makes its own."""
    started = []
    # a socket's path must be short, whatever the folder is called
    made = tempfile.TemporaryDirectory(prefix="kedge-")
    folder = pathlib.Path(made.name)

    def start(*options):
        log = work / "logs" / f"demo-{unique}.log"
        started.append(proc.spawn(
            [*shlex.split(agent_kit.KEDGE), "demo", *options], log,
            env={**os.environ, "TMPDIR": str(folder)}))

        def wait_said(words):
            def said():
                text = log.read_text()
                assert started[0].poll() is None or words in text, text
                return text if words in text else None
            return proc.wait_for(words, said, 60)
        return started[0], wait_said, folder
    yield start
    for process in started:
        proc.end(process)
    made.cleanup()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM,
                                    signal.SIGHUP])
def test_interrupted(demo, number):
    process, wait_said, folder = demo()
    wait_said("the link is cut in the middle")
    process.send_signal(number)
    assert process.wait(40) == 75
    assert list(folder.iterdir()) == []


def test_kept_until_it_is_told_to_end(demo):
    process, wait_said, folder = demo("--keep", "--records", "1000")
    text = wait_said("keeps running until Ctrl-C")
    assert "What was proven: every record arrived" in text
    assert "1 000 arrived, 0 missing" in text
    found = list(folder.glob("*/admin.sock"))
    assert len(found) == 1
    done = agent_kit.run("status", "--socket", found[0])
    assert done.returncode == 0
    assert "telemetry running 12/12" in done.stdout
    for line in done.stdout.splitlines()[2:]:
        assert len(line) <= 80, line
    process.send_signal(signal.SIGINT)
    assert process.wait(40) == 0
    assert list(folder.iterdir()) == []
