"""Kafka's own client at the tests' service: load, reading, and the judge.

One Java process for a session (Kit.java); each request runs on a thread of
its own there, so a load can run while a test does something else.
"""

import base64
import concurrent.futures
import itertools
import json
import pathlib
import threading

import jars
import proc

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


class KitError(Exception):
    pass


def encode(data):
    """None stays None, text becomes UTF-8."""
    if data is None:
        return None
    if isinstance(data, str):
        data = data.encode()
    return base64.b64encode(data).decode()


def decode(text):
    return None if text is None else base64.b64decode(text)


def record(value, key=None, partition=0, headers=(), timestamp=None):
    node = {"partition": partition, "key": encode(key),
            "value": encode(value),
            "headers": [[name, encode(data)] for name, data in headers]}
    if timestamp is not None:
        node["timestamp"] = timestamp
    return node


class Load:
    """Records being written in the background."""

    def __init__(self, kit, name, future):
        self._kit, self._name, self._future = kit, name, future

    def wait(self, timeout=300):
        """Until all of them are written; gives how many."""
        return self._future.result(timeout)["records"]

    def stop(self):
        self._kit.ask("stop_load", name=self._name)
        return self.wait()

    def running(self):
        return not self._future.done()


class Verdict:
    """What the judge found in one topic; sums over its partitions."""

    def __init__(self, topic, parts):
        self.topic, self.parts = topic, parts
        for name in ("source", "seen", "repeats", "runs", "leaps", "missing",
                     "altered", "foreign"):
            setattr(self, name, sum(part[name] for part in parts))
        self.longest = max((part["longest"] for part in parts), default=0)
        self.bad = [f"{topic}[{i}]: {text}" for i, part in enumerate(parts)
                    for text in part["bad"]]

    def assert_delivered(self, records=None, repeats=True):
        """Nothing lost, changed, strange or out of order."""
        assert not self.bad, "\n".join(self.bad[:20])
        assert self.missing == self.altered == self.foreign == 0
        if records is not None:
            assert self.source == records, "the test's own count is wrong"
        assert self.seen == self.source + self.repeats
        if not repeats:
            assert self.repeats == 0, f"{self.topic}: {self.repeats} repeats"
        return self

    def __str__(self):
        return (f"{self.topic}: {self.source} records, {self.repeats} repeats "
                f"in {self.runs} runs (longest {self.longest}), "
                f"{self.leaps} leaps, {self.missing} missing, "
                f"{self.altered} altered, {self.foreign} foreign")


class Kit:
    def __init__(self, folder):
        self._log = pathlib.Path(folder) / "kit.log"
        self._process = proc.spawn_piped(
            ["java", "-Xmx1g", "-XX:+UseSerialGC", "-Xshare:auto",
             "-XX:-UsePerfData",
             "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
             "-cp", jars.classpath(), "Kit"], self._log)
        self._ids = itertools.count()
        self._waiting = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self._process.stdout:
            answer = json.loads(line)
            future = self._waiting.pop(answer["id"])
            if "error" in answer:
                future.set_exception(KitError(answer["error"]))
            else:
                future.set_result(answer.get("result"))
        for future in list(self._waiting.values()):
            future.set_exception(KitError(f"the kit ended, see {self._log}"))

    def begin(self, op, **args):
        future = concurrent.futures.Future()
        with self._lock:
            number = next(self._ids)
            self._waiting[number] = future
            self._process.stdin.write(
                json.dumps({"id": number, "op": op, **args}) + "\n")
        return future

    def ask(self, op, timeout=180, **args):
        return self.begin(op, **args).result(timeout)

    def create(self, cluster, *names, partitions=1, **configs):
        self.ask("create", cluster=cluster.client(), names=names,
                 partitions=partitions,
                 configs={k.replace("_", "."): str(v)
                          for k, v in configs.items()})

    def grow(self, cluster, topic, partitions):
        self.ask("grow", cluster=cluster.client(), topic=topic,
                 partitions=partitions)

    def delete(self, cluster, topic):
        self.ask("delete", cluster=cluster.client(), topic=topic)

    def configure(self, cluster, topic, **configs):
        self.ask("configure", cluster=cluster.client(), topic=topic,
                 configs={k.replace("_", "."): str(v)
                          for k, v in configs.items()})

    def configure_broker(self, cluster, broker, configs):
        self.ask("configure", cluster=cluster.client(), broker=str(broker),
                 configs=configs)

    def scram(self, cluster, user, password):
        self.ask("scram", cluster=cluster.client(), user=user,
                 password=password)

    def delete_records(self, cluster, topic, partition, before):
        self.ask("delete_records", cluster=cluster.client(), topic=topic,
                 partition=partition, before=before)

    def topics(self, cluster):
        return self.ask("topics", cluster=cluster.client())

    def describe(self, cluster, topic):
        return self.ask("describe", cluster=cluster.client(), topic=topic)

    def ends(self, cluster, topic):
        return self.ask("ends", cluster=cluster.client(), topic=topic)

    def group(self, cluster, group):
        return self.ask("group", cluster=cluster.client(), group=group)

    def evict(self, cluster, group):
        return self.ask("evict", cluster=cluster.client(), group=group)

    def acl(self, cluster, principal, operation, resource, name,
            permission="ALLOW"):
        self.ask("acl", cluster=cluster.client(), principal=principal,
                 operation=operation, resource=resource, name=name,
                 permission=permission)

    def produce(self, cluster, topic, records, codec="none"):
        return self.ask("produce", cluster=cluster.client(), topic=topic,
                        records=records, codec=codec)

    def txn(self, cluster, name, action, topic=None, records=()):
        return self.ask("txn", cluster=cluster.client(), name=name,
                        action=action, topic=topic, records=list(records))

    def load(self, cluster, topics, partitions, records, rate=0, **more):
        """Writes `records` (0: until stopped) round robin over all partitions
        of all topics.  more: size, codec, headers, seed, first,
        zeros."""
        name = f"load-{next(self._ids)}"
        return Load(self, name, self.begin(
            "load", cluster=cluster.client(), name=name, topics=list(topics),
            partitions=partitions, records=records, rate=rate, **more))

    def read(self, cluster, topic, isolation="read_committed"):
        found = self.ask("read", cluster=cluster.client(), topic=topic,
                         isolation=isolation)
        for one in found:
            one["key"], one["value"] = decode(one["key"]), decode(one["value"])
            one["headers"] = [(k, decode(v)) for k, v in one["headers"]]
        return found

    def compare(self, source, topic, target, target_topic, start=None,
                idle=30, timeout=300):
        """The judge.  `start`: offsets by partition to begin with."""
        return Verdict(target_topic, self.ask(
            "compare", timeout, source=source.client(), topic=topic,
            target=target.client(), target_topic=target_topic,
            idle_ms=int(idle * 1000),
            **({"from": start} if start else {})))

    def end(self):
        self._process.stdin.close()
        proc.end(self._process, 5)
