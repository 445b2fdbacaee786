"""A kedge agent under test: a policy, a process, its socket and its logs."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

import proc

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEDGE = os.environ.get("KEDGE") or str(ROOT / "build/release/agent/kedge")

SANITIZERS = re.compile(
    r"ERROR: (Address|Leak|Thread)Sanitizer|WARNING: ThreadSanitizer|"
    r"runtime error:|Assertion .* failed")
LINE = re.compile(r'(\w[\w.]*)=("(?:[^"\\]|\\.)*"|\S*)')


class _UnixHttp(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Agent:
    """One `kedge run`.  A killed one can be started again."""

    def __init__(self, folder, name, policy, env=None, options=()):
        self.name = name
        self.log = pathlib.Path(folder) / f"{name}.log"
        self.policy = pathlib.Path(folder) / f"{name}.yaml"
        # a socket's path must be short, whatever the folder is called
        self._sockets = tempfile.TemporaryDirectory(prefix="kedge-")
        self.socket = pathlib.Path(self._sockets.name) / "admin.sock"
        self.process = None
        self.stopped = []  # (return code, seconds) of each life
        self._options = options
        self._env = {**os.environ, **(env or {})}
        self.write(policy)

    def write(self, policy):
        """`policy`: the text, with {socket} where the socket belongs."""
        self.policy.write_text(policy.replace("{socket}", str(self.socket)))
        self.policy.chmod(0o600)

    def start(self, ready=True, timeout=60):
        with contextlib.suppress(FileNotFoundError):
            self.socket.unlink()
        self.process = proc.spawn(
            [*shlex.split(KEDGE), "run", "--name", self.name, self.policy,
             *self._options], self.log, env=self._env)
        if ready:
            self.ready(timeout)
        return self

    # its socket

    def request(self, method, path, timeout=5):
        """(status, body) or None when nobody answers."""
        connection = _UnixHttp(self.socket, timeout)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def get(self, path):
        answer = self.request("GET", path)
        assert answer and answer[0] == 200, f"GET {path}: {answer}"
        return json.loads(answer[1])

    def is_ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended with "
                               f"{self.process.returncode}:\n{self.tail()}")
        answer = self.request("GET", "/readyz")
        return answer is not None and answer[0] == 200

    def ready(self, timeout=60):
        proc.wait_for(f"{self.name} ready", self.is_ready, timeout)
        return self

    def status(self, flow):
        """What Kafka Connect would say, and under "kedge" the rest."""
        return self.get(f"/connectors/{flow}/status")

    def flow(self, flow):
        """The part of the status that is kedge's own; {} while there is
        none, which is so in the first moments."""
        answer = self.request("GET", f"/connectors/{flow}/status")
        if answer is None or answer[0] != 200:
            return {}
        return json.loads(answer[1])["kedge"]

    def wait_flow(self, flow, timeout=40, **want):
        """Until the flow's status has these values; gives it."""
        found = {}

        def fits():
            nonlocal found
            if not self.alive():
                raise RuntimeError(f"{self.name} ended:\n{self.tail()}")
            found = self.flow(flow)
            return all(found.get(k) == v for k, v in want.items())
        try:
            proc.wait_for(f"{flow} {want}", fits, timeout)
        except TimeoutError as late:
            brief = {k: v for k, v in found.items()
                     if not isinstance(v, list)}
            raise AssertionError(f"{late}: {brief}") from None
        return found

    def lanes(self, flow):
        """{lane: term} of those that are taken over and in use."""
        return {one["lane"]: one["term"]
                for one in self.flow(flow).get("lanes", [])
                if one["state"] == "owned" and "term" in one}

    def wait_lanes(self, flow, n=1, timeout=60):
        """Until it has at least n lanes; gives them."""
        def enough():
            found = self.lanes(flow)
            return found if len(found) >= n else None
        return proc.wait_for(f"{n} lanes of {self.name}", enough, timeout)

    def partitions(self, flow):
        """{(topic, partition): what the status says of it}."""
        return {(one["topic"], one["partition"]): one
                for one in self.flow(flow).get("partitions", [])}

    def partition(self, flow, topic, partition=0):
        return self.partitions(flow).get((topic, partition), {})

    def wait_partition(self, flow, topic, partition=0, timeout=30, **want):
        """Until the partition's status has these values; gives it."""
        def fits():
            one = self.partition(flow, topic, partition)
            return one if all(one.get(k) == v for k, v in want.items()) \
                else None
        try:
            return proc.wait_for(f"{topic}[{partition}] {want}", fits, timeout)
        except TimeoutError as late:
            raise AssertionError(
                f"{late}: {self.partition(flow, topic, partition)}") from None

    def metrics(self):
        """{name: {labels as a frozenset of pairs: value}}"""
        answer = self.request("GET", "/metrics")
        assert answer and answer[0] == 200, f"/metrics: {answer}"
        return parse_metrics(answer[1])

    def metric(self, name, **labels):
        """The sum of the samples that have these labels."""
        wanted = set(labels.items())
        return sum(value for found, value in
                   self.metrics().get(name, {}).items() if wanted <= found)

    def tool(self, *args, timeout=30):
        """`kedge ARGS` with this agent's socket; gives the finished process."""
        return subprocess.run(
            [*shlex.split(KEDGE), *map(str, args), "--socket",
             str(self.socket)], capture_output=True, text=True, env=self._env,
            timeout=timeout)

    # its life

    def stop(self, timeout=40):
        """SIGTERM; gives the return code."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # a core says where
            self.process.wait()
            raise
        self.stopped.append((code, time.monotonic() - start))
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def end(self):
        if self.process:
            proc.end(self.process)
        self._sockets.cleanup()

    # its words

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() \
            else ""

    def tail(self, n=30):
        return "\n".join(self.text().splitlines()[-n:])

    def events(self, event=None):
        """Log lines as dictionaries."""
        found = []
        for line in self.text().splitlines():
            fields = {k: v[1:-1] if v.startswith('"') else v
                      for k, v in LINE.findall(line)}
            if "event" in fields and event in (None, fields["event"]):
                found.append(fields)
        return found


def parse_metrics(page):
    found = {}
    for line in page.splitlines():
        match = re.fullmatch(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)", line)
        if line.startswith("#") or not match:
            assert line == "" or line.startswith("#"), f"not a sample: {line}"
            continue
        labels = frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"',
                                      match[2] or ""))
        samples = found.setdefault(match[1], {})
        assert labels not in samples, f"twice on the page: {line}"
        samples[labels] = float(match[3])
    return found


class Crew:
    """The agents of one test."""

    def __init__(self, folder):
        self.folder = folder
        self.agents = []

    def new(self, policy, name=None, **more):
        name = name or f"agent{len(self.agents) + 1}"
        agent = Agent(self.folder, name, policy, **more)
        self.agents.append(agent)
        return agent

    def start(self, policy, name=None, ready=True, **more):
        return self.new(policy, name, **more).start(ready)

    def end(self):
        for agent in self.agents:
            agent.end()

    def look(self):
        """What those that still run say of themselves, into their logs'
        folder."""
        for agent in self.agents:
            answer = agent.alive() and agent.request(
                "GET", "/connectors?expand=status")
            if answer:
                path = agent.log.with_suffix(".status.json")
                path.write_text(json.dumps(json.loads(answer[1]), indent=1))

    def complaints(self):
        return [f"{agent.name}: {line}" for agent in self.agents
                for line in agent.text().splitlines()
                if SANITIZERS.search(line)]

    def show(self):
        for agent in self.agents:
            print(f"--- {agent.name} ({agent.log})\n{agent.tail()}",
                  file=sys.stderr)


def run(*args, timeout=60, **more):
    """`kedge ARGS` to its end."""
    return subprocess.run([*shlex.split(KEDGE), *map(str, args)],
                          capture_output=True, text=True, timeout=timeout,
                          **more)
