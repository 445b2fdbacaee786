"""Looking at it, giving it orders, and what must never be seen."""

import json
import pathlib
import re
import signal
import time

import pytest

import agent as agent_kit
import cluster
import policyfile
import proc

CANARY = cluster.USERS["edge"]


def test_lags_agree_with_the_brokers(lab):
    """Paused after 60 records, 40 more written: the brokers say how many."""
    topic = lab.topic("lag")
    agent = lab.start()
    lab.load([topic], 1, 60).wait()
    agent.wait_partition(lab.flow, topic, acked_next=60, ledger_next=60)
    assert agent.tool("flow", "pause", lab.flow).returncode == 0
    agent.wait_flow(lab.flow, state="paused")
    lab.load([topic], 1, 40).wait()
    end = lab.kit.ends(lab.source, topic)["stable"][0]
    assert end == 100
    one = agent.wait_partition(lab.flow, topic, source_end=end)
    copied = lab.copied(topic)
    assert copied == 60
    assert one["true_lag"] == one["committed_lag"] == end - copied
    # what was prefetched before the pause counts as read or not, no more
    assert 0 <= one["read_lag"] <= end - copied
    assert one["open"] == 0 and one["acked_next"] == copied
    labels = {"flow": lab.flow, "topic": topic, "partition": "0"}
    assert agent.metric("kedge_partition_true_lag", **labels) == 40
    assert agent.metric("kedge_partition_committed_lag", **labels) == 40
    assert agent.status(lab.flow)["connector"]["state"] == "PAUSED"
    assert agent.tool("flow", "resume", lab.flow).returncode == 0
    lab.delivered(topic, 100, repeats=False)
    agent.wait_partition(lab.flow, topic, true_lag=0, committed_lag=0,
                         read_lag=0)


def test_the_ledger_says_what_the_judge_says(lab):
    """After a stop, entries stand at the source's end and count its records."""
    topic = lab.topic("books", partitions=4)
    lab.load([topic], 4, 400).wait()
    agent = lab.start()
    lab.delivered(topic, 400, repeats=False)
    assert agent.stop() == 0
    entries, headers = {}, {}
    for one in lab.kit.read(lab.target, lab.ledger):
        key = json.loads(one["key"])
        if "topic" in key and one["value"]:
            entries[key["partition"]] = json.loads(one["value"])
        elif "lane" in key:
            headers[key["lane"]] = json.loads(one["value"])
    assert sorted(headers) == list(range(8)), "lanes without partitions, too"
    assert sorted(entries) == [0, 1, 2, 3]
    for entry in entries.values():
        assert "100" in map(str, entry.values()), entry


def test_pause_resume_restart_by_http(lab):
    topic = lab.topic("orders")
    agent = lab.start()
    assert agent.get("/connectors") == [lab.flow]
    assert agent.get(f"/connectors/{lab.flow}")["name"] == lab.flow
    assert agent.request("PUT", f"/connectors/{lab.flow}/pause")[0] == 202
    proc.wait_for("the pause", lambda: agent.status(lab.flow)["connector"]
                  ["state"] == "PAUSED")
    lab.load([topic], 1, 50).wait()
    agent.wait_partition(lab.flow, topic, source_end=50)
    assert lab.copied(topic) == 0
    assert agent.request("PUT", f"/connectors/{lab.flow}/resume")[0] == 202
    lab.delivered(topic, 50, repeats=False)
    assert agent.request("POST",
                         f"/connectors/{lab.flow}/restart")[0] in (200, 202,
                                                                   204)
    lab.load([topic], 1, 50).wait()
    lab.delivered(topic, 100, repeats=False)
    for method, path, status in [
            ("GET", "/connectors/no-such/status", 404),
            ("GET", "/no/such/path", 404),
            ("DELETE", f"/connectors/{lab.flow}", 405),
            ("POST", "/metrics", 405)]:
        assert agent.request(method, path)[0] == status, (method, path)


def test_the_tool_shows_what_runs(lab):
    topic = lab.topic("orders", partitions=2)
    lab.load([topic], 2, 100).wait()
    agent = lab.start()
    lab.delivered(topic, 100, repeats=False)
    shown = agent.tool("status")
    assert shown.returncode == 0 and lab.flow in shown.stdout, shown
    data = json.loads(agent.tool("status", "--json").stdout)
    assert data[lab.flow]["status"]["connector"]["state"] == "RUNNING"
    assert agent.get("/health")["status"] == "healthy"
    assert agent.stop() == 0
    gone = agent.tool("status")
    assert gone.returncode == 69 and gone.stderr, gone
    assert agent_kit.run("no-such-command").returncode == 64


def test_metrics_page(lab):
    """Each sample has its HELP and TYPE, counters end in _total, and what
    was sent is counted right."""
    topic = lab.topic("counted", partitions=2)
    lab.load([topic], 2, 300, size=100).wait()
    agent = lab.start()
    lab.delivered(topic, 300, repeats=False)
    agent.wait_partition(lab.flow, topic, 0, true_lag=0)
    agent.wait_partition(lab.flow, topic, 1, true_lag=0)
    page = agent.request("GET", "/metrics")[1]
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.M))
    helps = dict(re.findall(r"^# HELP (\S+) (.+)$", page, re.M))
    found = agent_kit.parse_metrics(page)
    assert set(found) <= set(types) == set(helps)
    for name, kind in types.items():
        assert kind in ("counter", "gauge")
        assert (kind == "counter") == name.endswith("_total"), name
    assert agent.metric("kedge_records_read_total", flow=lab.flow) == 300
    assert agent.metric("kedge_records_acked_total", flow=lab.flow) == 300
    assert agent.metric("kedge_bytes_acked_total") >= 300 * 100
    assert agent.metric("kedge_records_repeated_total") == 0
    assert agent.metric("kedge_partitions_owned") == 2
    assert agent.metric("kedge_lanes_owned") == 8
    assert agent.metric("kedge_source_up") == 1
    assert agent.metric("kedge_target_up") == 1
    assert agent.metric("kedge_flow_ready") == 1
    assert abs(agent.metric("kedge_last_ack_timestamp_seconds")
               - time.time()) < 60


@pytest.mark.limit(150)
def test_not_ready_while_nothing_flows(lab, link):
    """P46: answers are swallowed, as a frozen broker does; the connection
    stays.  Within seconds the target is down, within 30 s nothing is ready,
    and it says the opposite once it flows again."""
    topic = lab.topic("quiet")
    load = lab.load([topic], 1, 0, rate=100)
    agent = lab.start(side=policyfile.target_side(lab.target, "link"))
    proc.wait_for("records", lambda: lab.copied(topic) > 0)
    link.stall(up=False, down=True)
    stalled = time.monotonic()
    agent.wait_flow(lab.flow, 25, target_up=False)
    assert agent.metric("kedge_target_up") == 0
    assert [one["cluster"] for one in agent.events("cluster.down")] == ["cloud"]
    proc.wait_for("not ready", lambda: not agent.is_ready(), 60)
    assert time.monotonic() - stalled < 45
    assert agent.request("GET", "/livez")[0] == 200
    assert agent.metric("kedge_flow_ready") == 0
    link.stall(up=False, down=False)
    agent.wait_flow(lab.flow, 25, target_up=True)
    assert [one["cluster"] for one in agent.events("cluster.up")] == ["cloud"]
    agent.ready(45)
    lab.delivered(topic, load.stop())


def test_zero_topics_is_not_ready(lab):
    agent = lab.start(ready=False)
    proc.wait_for("the socket", agent.socket.exists)
    agent.wait_flow(lab.flow, state="running")
    answer = agent.request("GET", "/readyz")
    assert answer[0] == 503 and "topic" in answer[1], answer
    lab.topic("at-last")
    agent.ready(30)


def test_secrets_are_seen_nowhere(lab, work):
    """P51, at the level that says most, with a failure on the way."""
    folder = work / "agents" / lab.unique
    path = folder / "password"
    path.write_text(CANARY + "\n")
    path.chmod(0o600)
    topic = lab.topic("quiet")
    lab.load([topic], 1, 100, headers=2).wait()
    side = policyfile.target_side(lab.target, "sasl",
                                  ("SCRAM-SHA-512", "edge", path))
    agent = lab.start(side=side, options=("--log-level", "debug"))
    lab.delivered(topic, 100, repeats=False)
    places = {"log": agent.text()}
    for name in ("cmdline", "environ"):
        places[name] = of_process(agent, name)
    for page in ("/", "/metrics", "/readyz", "/health", "/connectors",
                 f"/connectors/{lab.flow}", f"/connectors/{lab.flow}/status",
                 "/connectors?expand=status"):
        places[page] = agent.request("GET", page)[1]
    for args in (["policy", "show", agent.policy], ["check", agent.policy]):
        done = agent_kit.run(*args)
        places[" ".join(map(str, args))] = done.stdout + done.stderr
    for word in (CANARY, '"n\\":', "key-1"):
        for place, text in places.items():
            assert word not in text, f"{word} in {place}"
    found = [file for file in folder.rglob("*")
             if file.is_file() and CANARY in file.read_text(errors="replace")]
    assert found == [path]
    assert agent.stop() == 0


def of_process(agent, name):
    """A process that cannot be dumped does not even show all of it."""
    try:
        return pathlib.Path(f"/proc/{agent.process.pid}/{name}") \
            .read_bytes().decode(errors="replace")
    except PermissionError:
        return ""


def test_nothing_listens_but_the_admin_socket(lab):
    """The data path opens no listener."""
    lab.topic("orders")
    agent = lab.start()
    inodes = set()
    for fd in pathlib.Path(f"/proc/{agent.process.pid}/fd").iterdir():
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]",
                                     str(fd.readlink())))
        except FileNotFoundError:
            pass
    listening = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{agent.process.pid}/net/{table}") \
                .read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                listening.append(fields[1])
    assert listening == []


def test_reload(lab):
    """SIGHUP: a bad file is refused and the old one stays; a good one is in
    force without a record lost or repeated."""
    first, second = lab.topic("a.one"), lab.topic("b.two")
    load = lab.load([first], 1, 0, rate=200)
    agent = lab.start([rf"{lab.unique}\.a\..*"])
    good = lab.policy([rf"{lab.unique}\.[ab]\..*"])
    agent.write(good.replace("version: 1", "version: 1\nmisspelt: 1"))
    agent.process.send_signal(signal.SIGHUP)
    proc.wait_for("the refusal", lambda: agent.events("reload.refused"))
    assert agent.alive() and agent.is_ready()
    agent.write(good)
    agent.process.send_signal(signal.SIGHUP)
    proc.wait_for("the reload", lambda: agent.events("reload.accepted"))
    lab.load([second], 1, 100).wait()
    lab.delivered(second, 100, repeats=False)
    lab.delivered(first, load.stop(), repeats=False)
