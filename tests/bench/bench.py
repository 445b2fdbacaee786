#!/usr/bin/env python3
"""kedge, a bare librdkafka loop and MirrorMaker 2 side by side, as ratios.

    tests/bench/bench.py [--size 1G] [--codecs none,lz4,zstd] [--links 0,100]
        [--who loop,kedge,mm2,mm2-tuned] [--repeat 1] [--verify] [--keep]

Starts two real brokers on this machine (source plaintext, target TLS), writes
--size bytes of 1 kB records into four partitions, once for each codec, and
lets each candidate copy them: 0 is the direct way, 100 the way over a relay
with a round trip of 100 ms.  A run ends when the target has all records.

CPU is user and system time of the candidate's process from its start on; what
MirrorMaker 2 needs to start is shown apart.  Wall time is from the first record
at the target to the last.  Memory is the peak of the resident set.  Brokers,
relay and this script are not counted, but share the machine's cores.

Values look like JSON: half words (which compress), half hexadecimal noise.
The source's topic is compressed with the codec of the row, and so is what the
candidate writes.  MirrorMaker 2 is the brokers' version, with a heap of 2 GB,
as its script gives it.

The loop: KEDGE_LOOP or build/release/tests/loop.  kedge: KEDGE or
build/release/agent/kedge.
"""

import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/system"))

import agent as agent_kit  # noqa: E402
import cluster  # noqa: E402
import jars  # noqa: E402
import kit as kit_module  # noqa: E402
import pki as pki_module  # noqa: E402
import policyfile  # noqa: E402
import proc  # noqa: E402
import relay as relay_module  # noqa: E402

LOOP = os.environ.get("KEDGE_LOOP") or str(ROOT / "build/release/tests/loop")
PARTITIONS = 4
RECORD = 1000  # bytes of value
WHO = ["loop", "kedge", "mm2", "mm2-tuned"]
EVERY = 0.1  # seconds between two looks at a candidate


class Lab:
    """Brokers, a relay and the records, for all runs."""

    def __init__(self, args):
        self.args = args
        self.folder = pathlib.Path(tempfile.mkdtemp(
            prefix="kedge-bench-", dir=os.environ.get("KEDGE_TMP")))
        self.records = args.size // RECORD
        pki = pki_module.Pki(self.folder / "pki")
        self.relay = relay_module.Relay(self.folder)
        self.source = cluster.Cluster("source", self.folder / "source",
                                      heap="1g")
        self.target = cluster.Cluster("target", self.folder / "target",
                                      pki=pki, relay=self.relay, heap="1g")
        self.source.start()
        self.target.start()
        self.kit = kit_module.Kit(self.folder)
        self.source.ready()
        self.target.ready()

    def load(self, codec):
        topic = f"bench-{codec}"
        self.kit.create(self.source, topic, partitions=PARTITIONS)
        load = self.kit.load(self.source, [topic], PARTITIONS, self.records,
                             size=RECORD, codec=codec)
        load.wait(1800)
        return topic

    def arrived(self, topic):
        try:
            return sum(self.kit.ends(self.target, topic)["high"])
        except kit_module.KitError:
            return 0  # not created yet

    def end(self):
        self.kit.end()
        self.source.end()
        self.target.end()
        self.relay.end()
        if self.args.keep:
            print(f"kept: {self.folder}", file=sys.stderr)
        else:
            shutil.rmtree(self.folder)


class Candidate:
    """One process that copies `topic` to `copy` at the target."""

    def __init__(self, lab, topic, codec, listener, number):
        self.lab, self.topic, self.codec = lab, topic, codec
        self.listener = listener
        self.alias = f"{self.word}{number}"
        self.copy = f"{self.alias}.{topic}"
        self.process = None

    def start(self):
        raise NotImplementedError

    def end(self):
        proc.end(self.process)

    def _log(self):
        return self.lab.folder / f"{self.alias}.log"


class Loop(Candidate):
    word = "loop"

    def start(self):
        self.lab.kit.create(self.lab.target, self.copy, partitions=PARTITIONS)
        self.process = proc.spawn(
            [LOOP, "--from", ",".join(self.lab.source.bootstrap()),
             "--to", ",".join(self.lab.target.bootstrap(self.listener)),
             "--topic", self.topic, "--target", self.copy,
             "--count", self.lab.records, "--codec", self.codec,
             "--set-target", "security.protocol=ssl",
             "--set-target", f"ssl.ca.location={self.lab.target.pki.ca}"],
            self._log())


class Kedge(Candidate):
    word = "kedge"

    def start(self):
        policy = policyfile.text(
            {self.alias: policyfile.source_side(self.lab.source),
             "cloud": policyfile.target_side(self.lab.target, self.listener)},
            {"bench": policyfile.flow(
                [self.topic], self.alias, **policyfile.merge(
                    policyfile.REMOTE_PRODUCING,
                    {"producer": {"compression.type": self.codec}}))},
            "{socket}")
        self.agent = agent_kit.Agent(self.lab.folder, self.alias, policy)
        self.agent.start(ready=False)
        self.process = self.agent.process

    def end(self):
        self.agent.end()


class MirrorMaker(Candidate):
    word = "mm"
    tuning = ""

    def start(self):
        there, tls = self.alias, self.lab.target.client()
        lines = [
            f"clusters={there},cloud", f"{there}->cloud.enabled=true",
            f"{there}.bootstrap.servers="
            + ",".join(self.lab.source.bootstrap()),
            f"{there}->cloud.topics={self.topic}",
            *(f"cloud.{key}={value}" for key, value in tls.items()
              if key != "bootstrap.servers"),
            "cloud.bootstrap.servers="
            + ",".join(self.lab.target.bootstrap(self.listener)),
            f"cloud.producer.compression.type={self.codec}",
            *(f"{key}.replication.factor=1" for key in
              ("checkpoints.topic", "heartbeats.topic", "offset-syncs.topic",
               "offset.storage", "status.storage", "config.storage")),
            *(f"{cluster}.{key}.storage.replication.factor=1"
              for key in ("offset", "status", "config")
              for cluster in (there, "cloud")),
            "replication.factor=1", self.tuning.replace("SOURCE", there)]
        config = self.lab.folder / f"{self.alias}.properties"
        config.write_text("\n".join(lines) + "\n")
        self.process = proc.spawn(
            ["java", "-Xms256M", "-Xmx2G", "-XX:+UseG1GC",
             "-XX:MaxGCPauseMillis=20",
             "-XX:InitiatingHeapOccupancyPercent=35",
             "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
             "-cp", f"{jars.folder()}/*",
             "org.apache.kafka.connect.mirror.MirrorMaker", config],
            self._log())


class TunedMirrorMaker(MirrorMaker):
    """What its users are told to raise: a task for each partition, batches of
    1 MB that are given time to fill, and fetches to match."""

    word = "mmt"
    tuning = """
tasks.max=4
SOURCE.consumer.max.poll.records=4000
SOURCE.consumer.max.partition.fetch.bytes=4194304
SOURCE.consumer.fetch.max.bytes=67108864
SOURCE.consumer.fetch.min.bytes=65536
SOURCE.consumer.receive.buffer.bytes=1048576
cloud.producer.batch.size=1000000
cloud.producer.linger.ms=50
cloud.producer.buffer.memory=134217728
cloud.producer.max.request.size=8388608
cloud.producer.send.buffer.bytes=1048576
emit.heartbeats.enabled=false
emit.checkpoints.enabled=false
"""


KINDS = {"loop": Loop, "kedge": Kedge, "mm2": MirrorMaker,
         "mm2-tuned": TunedMirrorMaker}


def run(lab, who, topic, codec, listener, number):
    """Gives a row of figures."""
    one = KINDS[who](lab, topic, codec, listener, number)
    began = time.monotonic()
    one.start()
    pid, first = one.process.pid, None
    deadline = began + lab.args.limit
    cpu = start_cpu = peak = seen = 0
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        while seen < lab.records:
            if one.process.poll() not in (None, 0):
                raise RuntimeError(f"{who} ended, see {one._log()}")
            if one.process.poll() is None:
                cpu = max(cpu, proc.cpu_seconds(pid))
                peak = max(peak, proc.peak_rss(pid))
            seen = lab.arrived(one.copy)
            if seen and first is None:
                first, start_cpu = time.monotonic(), cpu
            if time.monotonic() > deadline:
                print(f"  {who}: cut off at {seen} of {lab.records} records",
                      file=sys.stderr)
                break
            time.sleep(EVERY)
        if not seen:
            raise TimeoutError(f"{who}: nothing arrived")
        last = time.monotonic()
        if one.process.poll() is None:
            cpu = max(cpu, proc.cpu_seconds(pid))
            peak = max(peak, proc.peak_rss(pid))
        else:  # it ended by itself, and was the only child to end
            all_of_it = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = (all_of_it.ru_utime + all_of_it.ru_stime
                   - others.ru_utime - others.ru_stime)
        if lab.args.verify and seen >= lab.records:
            verdict = lab.kit.compare(lab.source, topic, lab.target, one.copy)
            print(verdict, file=sys.stderr)
            verdict.assert_delivered(lab.records)
    except BaseException:
        lab.args.keep = True
        raise
    finally:
        one.end()
    share = min(seen, lab.records)
    gigabytes = share * RECORD / 1e9
    if lab.arrived(one.copy):
        lab.kit.delete(lab.target, one.copy)
    return {"who": who, "cpu": cpu / gigabytes, "start": start_cpu,
            "peak": peak, "wall": last - first, "lead": first - began,
            "rate": share * RECORD / 1e6 / max(last - first, EVERY),
            "cut": share < lab.records}


def best(rows):
    """Of several runs of one candidate the one with the least CPU."""
    return min(rows, key=lambda row: row["cpu"])


def table(rows, title):
    base = next((row for row in rows if row["who"] == "loop"), None)

    def ratio(row, key):
        return f"{row[key] / base[key]:.2f} x" \
            if base and base[key] else "-"
    lines = [f"### {title}", "",
             "| | CPU s per GB | of the loop's | before the first record, s "
             "| peak memory, MB | of the loop's | wall s | MB/s "
             "| of the loop's wall | until the first record, s |",
             "| --- |" + " ---: |" * 9]
    for row in rows:
        lines.append(
            f"| {row['who']}{' (cut off)' if row['cut'] else ''} "
            f"| {row['cpu']:.2f} | {ratio(row, 'cpu')} "
            f"| {row['start']:.1f} | {row['peak'] / 1e6:.0f} "
            f"| {ratio(row, 'peak')} | {row['wall']:.1f} | {row['rate']:.1f} "
            f"| {ratio(row, 'wall')} | {row['lead']:.1f} |")
    return "\n".join(lines) + "\n"


def size_of(text):
    match = re.fullmatch(r"(\d+)([MG]?)B?", text)
    if not match:
        raise argparse.ArgumentTypeError("as in 1G or 200M")
    return int(match[1]) * {"": 1, "M": 10**6, "G": 10**9}[match[2]]


def machine():
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":")[1].strip()
    version = subprocess.run([agent_kit.KEDGE, "version"],
                             capture_output=True, text=True) \
        if pathlib.Path(agent_kit.KEDGE).exists() else None
    what = version.stdout.split("\n")[:2] if version else []
    return (f"{os.cpu_count()} cores, {model}; Kafka {jars.version()}; "
            + "; ".join(what))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=size_of, default=10**9)
    parser.add_argument("--codecs", default="none,lz4,zstd")
    parser.add_argument("--links", default="0,100",
                        help="round trips in ms, 0 is the direct way")
    parser.add_argument("--who", default=",".join(WHO))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--limit", type=int, default=300,
                        help="seconds that one run may take; what is slower is "
                        "cut off and judged by what arrived")
    parser.add_argument("--verify", action="store_true",
                        help="compare both sides record by record as well")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    args = parser.parse_args()
    lab = Lab(args)
    number = 0
    try:
        print(f"{machine()}; {args.size / 1e9:g} GB in records of {RECORD} B, "
              f"{PARTITIONS} partitions\n", flush=True)
        topics = {codec: lab.load(codec) for codec in args.codecs.split(",")}
        for rtt in map(int, args.links.split(",")):
            lab.relay.delay(rtt / 2000, rtt / 2000)
            for codec, topic in topics.items():
                rows = []
                for who in args.who.split(","):
                    runs = []
                    for _ in range(args.repeat):
                        number += 1
                        runs.append(run(lab, who, topic, codec,
                                        "link" if rtt else "tls", number))
                        print(f"  {runs[-1]}", file=sys.stderr, flush=True)
                    rows.append(best(runs))
                print(table(rows, f"{codec}, " + (
                    f"round trip {rtt} ms" if rtt else "direct")), flush=True)
    finally:
        lab.end()


if __name__ == "__main__":
    main()
