"""Clusters for a whole session, topics and agents for each test.

What failed keeps its folder, whose name is printed at the end; with KEDGE_KEEP
in the environment everything does."""

import itertools
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import agent as agent_kit  # noqa: E402
import cluster  # noqa: E402
import kit as kit_module  # noqa: E402
import lab as lab_module  # noqa: E402
import pki as pki_module  # noqa: E402
import relay as relay_module  # noqa: E402

_numbers = itertools.count(1)
_FAILED = pytest.StashKey[bool]()


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "limit(seconds): how long the test may take at most")
    config.addinivalue_line("markers", "big: one of the full sizes")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        item.session.stash[_FAILED] = True
        item.stash[_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """No test waits for ever; the default leaves room for one long wait."""
    marker = item.get_closest_marker("limit")
    seconds = marker.args[0] if marker else 120

    def expired(_number, _frame):
        raise TimeoutError(f"the test took more than {seconds} s")
    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def work(request):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-system-",
                                           dir=os.environ.get("KEDGE_TMP")))
    folder.chmod(0o700)
    (folder / "logs").mkdir()
    yield folder
    if request.session.stash.get(_FAILED, False) or "KEDGE_KEEP" in os.environ:
        for path in folder.iterdir():
            if path.name.startswith("cluster-"):
                shutil.rmtree(path)  # the records are not needed, logs are
        print(f"\nlogs of this run: {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def pki(work):
    return pki_module.Pki(work / "pki")


@pytest.fixture(scope="session")
def relay(work):
    one = relay_module.Relay(work / "logs")
    yield one
    one.end()


@pytest.fixture(scope="session")
def _pair(work, pki, relay):
    """The source and the one-broker target start side by side."""
    source = cluster.Cluster("source", work / "cluster-source", heap="384m",
                             log_folder=work / "logs")
    target = cluster.Cluster("target", work / "cluster-target", pki=pki,
                             relay=relay, log_folder=work / "logs")
    source.start()
    target.start()
    try:
        yield source.ready(), target.ready()
    finally:
        source.end()
        target.end()


@pytest.fixture(scope="session")
def source(_pair):
    return _pair[0]


@pytest.fixture(scope="session")
def target(_pair):
    return _pair[1]


@pytest.fixture(scope="session")
def target3(work, pki):
    """Three brokers, for replication, leader changes and broken brokers."""
    relay3 = relay_module.Relay(work / "logs")
    three = cluster.Cluster("target3", work / "cluster-target3", n=3, pki=pki,
                            relay=relay3, heap="384m",
                            log_folder=work / "logs")
    three.start()
    try:
        yield three.ready()
    finally:
        three.end()
        relay3.end()


@pytest.fixture
def link(relay):
    """The link of the one-broker target, mended again after the test."""
    yield relay
    relay.clean()


@pytest.fixture(scope="session")
def kit(work):
    one = kit_module.Kit(work / "logs")
    yield one
    one.end()


@pytest.fixture
def unique(request):
    """A word that no other test of the session has, for topics and flows."""
    number = next(_numbers)
    return f"t{number}"


@pytest.fixture
def agents(request, work, unique):
    """Makes agents; ends them, and fails the test on a sanitizer's word."""
    folder = work / "agents" / unique
    folder.mkdir(parents=True)
    crew = agent_kit.Crew(folder)
    yield crew
    if request.node.stash.get(_FAILED, False):
        crew.look()
    crew.end()
    complaints = crew.complaints()
    if complaints:
        request.session.stash[_FAILED] = True
        pytest.fail("\n".join(complaints))
    if request.node.stash.get(_FAILED, False):
        crew.show()
    elif "KEDGE_KEEP" not in os.environ:
        shutil.rmtree(folder)


@pytest.fixture
def lab(source, target, kit, agents, unique):
    """All of it, with the names of this test."""
    return lab_module.Lab(source, target, kit, agents, unique)
