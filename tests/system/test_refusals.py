"""What cannot go on stops, says why, and goes on when it is mended."""

import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import threading
import time

import pytest

import agent as agent_kit
import cluster
import pki as pki_module
import policyfile
import proc
from kit import record

MIB = 1 << 20


def large_in_the_middle(lab):
    """P26: 10 small, one of 2 MiB, 10 small; partition 1 has 20 small."""
    topic = lab.topic("large", partitions=2, max_message_bytes=5 * MIB)
    lab.kit.create(lab.target, f"plant7.{topic}", partitions=2,
                   max_message_bytes=MIB)
    small = [record(f"{i}", "k") for i in range(10)]
    lab.produce(topic, small + [record(os.urandom(2 * MIB), "k")] + small
                + [record(f"{i}", partition=1) for i in range(20)])
    return topic


def check_reason(reason, topic):
    """Topic, partition, offset, size, limit, and what to do."""
    for word in (topic, "10", "max.message.bytes"):
        assert word in reason, f"{word!r} is not in: {reason}"
    assert any(int(number) >= 2 * MIB
               for number in re.findall(r"\d{7,}", reason)), reason


def test_too_large_stops_its_flow(lab):
    """P26."""
    topic = large_in_the_middle(lab)
    agent = lab.start(ready=False)
    agent.wait_flow(lab.flow, 40, state="held")
    status = agent.status(lab.flow)
    assert status["connector"]["state"] == "FAILED"
    check_reason(status["connector"]["trace"], topic)
    assert not agent.is_ready()
    assert topic in agent.request("GET", "/readyz")[1]
    assert agent.metric("kedge_partitions_held") >= 1
    assert agent.events("record.refused") or agent.events("partition.held")
    # nothing behind it is sent, also not after a restart of the agent
    agent.stop()
    agent.start(ready=False)
    agent.wait_flow(lab.flow, 40, state="held")
    found = lab.kit.read(lab.target, f"plant7.{topic}")
    first = [one for one in found if one["partition"] == 0]
    assert [one["value"].decode() for one in first] == \
        [str(i) for i in range(10)], "all before it, nothing of what follows"
    lab.kit.configure(lab.target, f"plant7.{topic}",
                      max_message_bytes=5 * MIB)
    lab.delivered(topic, 41, repeats=False)  # nobody has to say restart
    agent.ready(40)


def test_too_large_holds_its_partition_alone(lab):
    """P26, and P46: one partition that is held is enough not to be ready."""
    topic = large_in_the_middle(lab)
    agent = lab.start(ready=False, failure_scope="partition")
    proc.wait_for("all but 11", lambda: lab.copied(topic) == 30, 40)
    one = agent.wait_partition(lab.flow, topic, 0, state="held")
    check_reason(one["reason"], topic)
    agent.wait_partition(lab.flow, topic, 0, acked_next=10)
    # the healthy partition goes on while the other is held
    lab.produce(topic, [record("more", partition=1)])
    agent.wait_partition(lab.flow, topic, 1, acked_next=21, state="running")
    answer = agent.request("GET", "/readyz")
    assert answer[0] == 503 and topic in answer[1], answer
    assert len([one for one in agent.events() if topic in str(one)
                and one["level"] != "info"]) <= 2, "a line for each try"
    lab.kit.configure(lab.target, f"plant7.{topic}",
                      max_message_bytes=5 * MIB)
    lab.delivered(topic, 42, repeats=False)
    agent.ready(30)


def test_a_key_that_a_compacted_topic_needs(lab):
    """P28: held with the right words, before anybody else's batch fails."""
    topic = lab.topic("keyless", partitions=2)
    lab.kit.create(lab.target, f"plant7.{topic}", partitions=2,
                   cleanup_policy="compact")
    lab.produce(topic, [record("a", "k"), record("b"), record("c", "k"),
                        record("d", "k", partition=1)])
    agent = lab.start(ready=False, failure_scope="partition")
    one = agent.wait_partition(lab.flow, topic, 0, 40, state="held")
    assert "key" in one["reason"] and "compact" in one["reason"], one
    proc.wait_for("the others", lambda: lab.copied(topic) == 2)


def test_a_position_that_is_gone_holds_its_partition(lab):
    topic = lab.topic("gone", partitions=2)
    lab.load([topic], 2, 200).wait()
    agent = lab.start()
    lab.delivered(topic, 200, repeats=False)
    assert agent.stop() == 0
    lab.load([topic], 2, 200).wait()
    lab.kit.delete_records(lab.source, topic, 0, 137)  # 37 are gone
    agent.start(ready=False)
    one = agent.wait_partition(lab.flow, topic, 0, 60, state="held")
    for word in ("37 offsets", "100 to 136", "nothing behind it is sent",
                 "a flow of another name", "shared_target: true"):
        assert word in one["reason"], one["reason"]
    agent.wait_partition(lab.flow, topic, 1, acked_next=200)
    assert not agent.is_ready()
    ends = lab.kit.ends(lab.target, f"plant7.{topic}")
    assert ends["stable"] == [100, 200], "not one record beyond the gap"
    assert agent.metric("kedge_source_offsets_lost_total") in (0, 37)


def test_a_second_site_does_not_disturb_the_first(lab, target3):
    """The same names, another source cluster: it does not join the group."""
    topic = lab.topic("orders", partitions=8)
    load = lab.load([topic], 8, 0, rate=500)
    right = lab.start(name="right")
    terms = right.wait_lanes(lab.flow, 8)
    members = set(lab.kit.group(lab.target, lab.group)["members"])

    lab.topic("orders", partitions=8, cluster=target3)
    side = policyfile.target_side(target3)
    side["site"] = "plant7"
    wrong = lab.start(name="wrong", ready=False, source_side=side)
    wrong.wait_flow(lab.flow, 40, state="held")
    reason = wrong.flow(lab.flow)["reason"]
    assert lab.source.id in reason or target3.id in reason, reason
    assert wrong.request("GET", "/readyz")[0] == 503
    assert set(lab.kit.group(lab.target, lab.group)["members"]) == members
    assert right.lanes(lab.flow) == terms
    assert right.metric("kedge_lane_fenced_total") == 0
    lab.delivered(topic, load.stop(), repeats=False)


def test_records_that_the_ledger_knows_nothing_of(lab):
    """4.1.7: a target with records and no ledger is not written to."""
    topic = lab.topic("known")
    lab.load([topic], 1, 100).wait()
    lab.kit.create(lab.target, f"plant7.{topic}")
    lab.kit.produce(lab.target, f"plant7.{topic}", [record("old")] * 7)
    agent = lab.start(ready=False)

    def held():
        one = agent.flow(lab.flow)
        return [one] if one.get("state") == "held" else [
            lane for lane in one.get("lanes", []) if lane["state"] == "held"]
    reasons = [one.get("reason", "") for one in
               proc.wait_for("it to be held", held, 60)]
    assert any("7" in reason for reason in reasons), reasons
    assert lab.copied(topic) == 7
    agent.stop()
    agent.write(lab.policy(shared_target=True))
    agent.start()
    proc.wait_for("the records", lambda: lab.copied(topic) == 107)


def test_the_ledger_is_deleted(lab):
    """4.1.7 while the agent runs: positions are gone.  Nothing is sent, and no
    ledger made, before an operator says restart; then what has copies is held,
    and all of it is sent again when those are deleted too."""
    old, new = lab.topic("old"), lab.name("new")
    lab.produce(old, [record("a")] * 50)
    agent = lab.start()
    agent.wait_partition(lab.flow, old, ledger_next=50)
    lab.kit.delete(lab.target, lab.ledger)
    proc.wait_for("not ready", lambda: not agent.is_ready())
    one = agent.wait_flow(lab.flow, state="held")
    for words in (f"{lab.ledger} was deleted at cloud", "nothing is sent",
                  f"'kedge flow restart {lab.flow}' makes it anew"):
        assert words in one["reason"], one["reason"]
    assert one["reason"] in agent.request("GET", "/readyz")[1]
    lab.produce(old, [record("b")] * 50)
    lab.topic("new", partitions=8)  # of which one is in the lane of the old
    lab.produce(new, [record("c", partition=i) for i in range(8)] * 10)
    assert agent.tool("flow", "restart", lab.flow).returncode == 0
    proc.wait_for("the new", lambda: sum(lab.copy_ends(new)) == 70)
    assert sorted(lab.copy_ends(new)) == [0] + [10] * 7
    assert lab.copied(old) == 50, "sent without a ledger"
    made = lab.kit.describe(lab.target, lab.ledger)
    assert made["configs"]["cleanup.policy"] == "compact"
    held, = proc.wait_for("its lane", lambda: [
        lane for lane in agent.flow(lab.flow)["lanes"]
        if lane["state"] == "held"])
    assert "the target has 50 records here" in held["reason"], held
    lab.kit.delete(lab.target, f"plant7.{old}")
    assert agent.tool("flow", "restart", lab.flow).returncode == 0
    lab.delivered(old, 100, repeats=False)
    lab.delivered(new, 80, repeats=False)
    agent.ready()
    assert agent.stop() == 0


# what keeps an agent from the target: the listener, and what must be said


def secret(folder, text, mode=0o600):
    path = pathlib.Path(folder) / "password"
    path.write_text(text)
    path.chmod(mode)
    return path


def wrong_password(lab, folder):
    return policyfile.target_side(
        lab.target, "sasl", ("SCRAM-SHA-512", "edge",
                             secret(folder, "not-the-password")))


def wrong_ca(lab, folder):
    other = pki_module.Pki(folder / "other", "Somebody else")
    return policyfile.target_side(lab.target, ca=other.ca)


def wrong_name(lab, folder):
    """A certificate of the right authority, for somebody else."""
    own = pki_module.Pki(folder / "own")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*own.issue("other", san="DNS:elsewhere.test"))
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            one, _ = listener.accept()
            with one, contextlib.suppress(OSError):
                context.wrap_socket(one, server_side=True).close()
    threading.Thread(target=serve, daemon=True).start()
    side = policyfile.target_side(lab.target, ca=own.ca)
    side["bootstrap"] = [f"127.0.0.1:{listener.getsockname()[1]}"]
    return side


def no_client_certificate(lab, _folder):
    return policyfile.target_side(lab.target, "mtls")


def nobody_listens(lab, _folder):
    side = policyfile.target_side(lab.target)
    side["bootstrap"] = [f"localhost:{proc.free_ports(1)[0]}"]
    return side


def not_tls_there(lab, _folder):
    side = policyfile.target_side(lab.target)
    side["bootstrap"] = [f"localhost:{lab.source.ports[0]['controller']}"]
    return side


def fewer_brokers(lab, _folder):
    """One, and the policy does not say that one is enough."""
    side = policyfile.target_side(lab.target)
    del side["durability"]
    return side


KEPT_OUT = {
    "a wrong password": (wrong_password, ("authenticat", "SASL", "password")),
    "another authority": (wrong_ca, (
        "leads to 'Test authority', a CA that is not trusted",)),
    "a name that is not in the certificate": (wrong_name, (
        "is not for that name, but for elsewhere.test",)),
    "a broker that wants a certificate": (no_client_certificate, (
        "look at tls.cert and tls.key in the policy",)),
    "nobody who listens": (nobody_listens, ("refused", "connect")),
    "a port without TLS": (not_tls_there, (
        "that port speaks TLS ('tls' in the policy)",)),
    "one broker for three replicas": (fewer_brokers, (
        "'durability: {replicas: 1, because: single-broker}' in that cluster",
    )),
}


@pytest.mark.parametrize("label", KEPT_OUT)
def test_a_target_that_cannot_be_reached(lab, work, label):
    """It waits, is alive and not ready, and says in one line what is wrong."""
    make, words = KEPT_OUT[label]
    folder = work / "agents" / lab.unique
    lab.topic("kept")
    agent = lab.start(ready=False, side=make(lab, folder))

    def said():
        return [line for line in agent.text().splitlines()
                if "cloud" in line and "level=" in line
                and ("level=warn" in line or "level=error" in line)
                and any(word.lower() in line.lower() for word in words)]
    proc.wait_for("a line that says it", said, 40)

    def told():
        body = (agent.request("GET", "/readyz") or (0, ""))[1].lower()
        return any(word.lower() in body for word in words)
    proc.wait_for("/readyz says it", told, 20)
    assert agent.alive(), agent.tail()
    assert agent.request("GET", "/livez")[0] == 200
    assert agent.request("GET", "/readyz")[0] == 503
    assert agent.flow(lab.flow).get("target_up") in (False, None)
    assert "not-the-password" not in agent.text()
    lines = len(agent.text().splitlines())
    assert lines < 60, f"{lines} lines is no clear line:\n{agent.tail()}"
    assert agent.stop() == 0


def test_clusters_that_come_late(lab, work, link):
    """Not reachable means wait, and then go on: first neither is there, then
    the target, in pieces at first, and at last the source (P46)."""
    folder = work / f"cluster-late-{lab.unique}"
    late = cluster.Cluster("late", folder, heap="256m",
                           log_folder=work / "logs")
    link.cut()
    agent = lab.start(ready=False, source_side=policyfile.source_side(late),
                      side=policyfile.target_side(lab.target, "link"))
    agent.wait_flow(lab.flow, state="connecting", source_up=False,
                    target_up=False)
    proc.wait_for("/readyz names one", lambda: "refused" in (
        agent.request("GET", "/readyz") or (0, ""))[1])
    late.start()
    try:
        for _ in range(4):
            link.restore()
            time.sleep(0.4)
            link.cut()
        link.restore()
        agent.wait_flow(lab.flow, 40, target_up=True)
        late.ready()
        topic = lab.topic("late", cluster=late)
        lab.kit.load(late, [topic], 1, 100).wait()
        agent.ready(60)
        lab.kit.compare(late, topic, lab.target, f"plant7.{topic}") \
            .assert_delivered(100, repeats=False)
        assert agent.metric("kedge_source_up") == 1
        assert agent.stop() == 0
    finally:
        late.end()


# what is wrong with the files

FILES = {
    # label: (what the side is given, exit status, a word that must be said)
    "a CA file that is missing":
        ({"tls": {"ca": "/nowhere/ca.pem"}}, 66, "/nowhere/ca.pem"),
    "a CA file that is none": ({"tls": {"ca": "{junk}"}}, 78, "junk"),
    "a key that is missing": ({"tls": {"cert": "{cert}",
                                       "key": "/nowhere/k.pem"}},
                              66, "/nowhere/k.pem"),
    "a password file that others can read":
        ({"sasl": {"mechanism": "PLAIN", "username": "edge",
                   "password": {"file": "{open}"}}}, 78, "open"),
    "a password file that is missing":
        ({"sasl": {"mechanism": "PLAIN", "username": "edge",
                   "password": {"file": "/nowhere/pw"}}}, 66, "/nowhere/pw"),
}


def fill(value, paths):
    if isinstance(value, dict):
        return {key: fill(one, paths) for key, one in value.items()}
    return value.format(**paths) if isinstance(value, str) else value


@pytest.mark.parametrize("label", FILES)
def test_files_that_stop_the_start(lab, work, pki, label):
    more, status, word = FILES[label]
    folder = work / "agents" / lab.unique
    paths = {"junk": folder / "junk", "open": folder / "open",
             "cert": pki.issue(lab.unique)[0]}
    paths["junk"].write_text("junk\n")
    paths["open"].write_text("secret\n")
    paths["open"].chmod(0o644)
    side = policyfile.merge(policyfile.target_side(lab.target),
                            fill(more, paths))
    agent = lab.start(ready=False, side=side)
    assert agent.process.wait(10) == status, agent.tail()
    assert agent.tail(1).startswith("kedge: ") and word in agent.tail(1)
    checked = agent_kit.run("check", agent.policy)
    assert checked.returncode == status
    findings = [line for line in checked.stdout.splitlines() if "[KP" in line]
    assert len(findings) == 1 and word in findings[0], checked.stdout
    assert findings[0] in agent.text().splitlines(), agent.tail()


def test_run_refuses_what_check_refuses(lab, work):
    """A remote producer that does not say what it must: 78, and no socket."""
    bad = lab.policy(producer=None)
    agent = lab.agents.start(bad, ready=False)
    assert agent.process.wait(10) == 78, agent.tail()
    checked = agent_kit.run("check", agent.policy)
    assert checked.returncode == 78
    for word in ("acks", "retries"):
        assert word in checked.stdout + checked.stderr
        assert word in agent.text()
    agent.write(lab.policy())
    assert agent_kit.run("check", agent.policy).returncode == 0
    assert agent_kit.run("run", work / "no-such.yaml").returncode == 66


def test_run_refuses_too_few_open_files(lab):
    """It would start, and then stand for want of sockets."""
    agent = lab.agents.new(lab.policy())

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    done = agent_kit.run("run", agent.policy, preexec_fn=few)
    assert done.returncode == 78
    assert "LimitNOFILE" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "SCRAM-SHA-256",
                                       "PLAIN"])
def test_sasl(lab, work, mechanism):
    path = secret(work / "agents" / lab.unique, cluster.USERS["edge"])
    topic = lab.topic("sasl")
    lab.load([topic], 1, 100).wait()
    agent = lab.start(side=policyfile.target_side(
        lab.target, "sasl", (mechanism, "edge", path)))
    lab.delivered(topic, 100, repeats=False)
    assert agent.stop() == 0


def test_p51_passwords_that_change_in_their_file(lab, work):
    """Corrected or renewed: SIGHUP is enough, with the policy as it was."""
    folder = work / "agents" / lab.unique
    path = secret(folder, "not-the-password")
    topic = lab.topic("typo")
    load = lab.load([topic], 1, 0, rate=100)
    agent = lab.start(ready=False, side=policyfile.target_side(
        lab.target, "sasl", ("SCRAM-SHA-512", lab.unique, path)))
    proc.wait_for("the reason", lambda: "uthentication" in (
        agent.request("GET", "/readyz") or (0, ""))[1])
    words = ["the-right-one", "its-successor"]
    for i, word in enumerate(words, 1):
        lab.kit.scram(lab.target, lab.unique, word)
        secret(folder, word)
        agent.process.send_signal(signal.SIGHUP)
        proc.wait_for("the reload", lambda: len(agent.events(
            "reload.accepted")) == i and agent.lanes(lab.flow))
        before = lab.copied(topic)
        proc.wait_for("records", lambda: lab.copied(topic) > before)
    agent.ready()
    lab.delivered(topic, load.stop(), repeats=False)
    for word in ["not-the-password", *words]:
        assert word not in agent.text()
    assert agent.stop() == 0


def test_client_certificate(lab, pki):
    topic = lab.topic("mtls")
    lab.load([topic], 1, 100).wait()
    lab.start(side=policyfile.target_side(lab.target, "mtls",
                                          client=pki.issue(lab.unique)))
    lab.delivered(topic, 100, repeats=False)


def test_a_topic_that_may_not_be_written(lab, work):
    """Not authorised: held and named; goes on once it is allowed."""
    path = secret(work / "agents" / lab.unique, cluster.USERS["edge"])
    topic = lab.topic("denied")
    name = f"plant7.{topic}"
    lab.kit.create(lab.target, name)
    for operation in ("DESCRIBE", "DESCRIBE_CONFIGS", "READ"):
        lab.kit.acl(lab.target, "User:edge", operation, "TOPIC", name)
    lab.load([topic], 1, 10).wait()
    agent = lab.start(ready=False, side=policyfile.target_side(
        lab.target, "sasl", ("SCRAM-SHA-512", "edge", path)))
    reason = agent.wait_flow(lab.flow, state="held")["reason"]
    assert topic in reason and "uthor" in reason, reason
    assert lab.copied(topic) == 0
    lab.kit.acl(lab.target, "User:edge", "WRITE", "TOPIC", name)
    assert agent.tool("flow", "restart", lab.flow).returncode == 0
    lab.delivered(topic, 10, repeats=False)
