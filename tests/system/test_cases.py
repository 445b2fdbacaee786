"""Cases that need brokers and stand in no other file: what two policies do to
one topic, topics that go away, and an agent's own surroundings.

The number of a case is in the name or the first line of the test that has it,
here and elsewhere."""

import os
import pathlib
import ssl
import struct
import subprocess
import time

import policyfile
import proc
from kit import record

ADMITTED = {"durability": {"replicas": 1, "because": "single-broker"}}
IDENTITY = {"policy": "identity"}


def lane_held(agent, flow, timeout=40):
    """Until a lane is held; gives why."""
    def held():
        return [one["reason"] for one in agent.flow(flow).get("lanes", [])
                if one["state"] == "held"]
    return proc.wait_for("a lane that is held", held, timeout)[0]


def circle(agents, flow, timeout=40):
    """Until one of them leaves a topic out since its records come back; gives
    why."""
    def found():
        return [f"{one['topic']}: {one['reason']}" for agent in agents
                for one in agent.flow(flow).get("skipped", [])
                if "in a circle" in one["reason"]]
    return proc.wait_for("a topic that goes in a circle", found, timeout)[0]


def both_ways(lab, there, back, refresh="1s"):
    """Two policies that know nothing of each other, with names unchanged."""
    clusters = {"plant7": policyfile.source_side(lab.source) | ADMITTED,
                "cloud": policyfile.target_side(lab.target)}
    return [policyfile.text(clusters, {lab.flow: policyfile.flow(
        include, *way, rename=IDENTITY, topics={"refresh": refresh})}, "{socket}")
        for include, way in [(there, ("plant7", "cloud")),
                             (back, ("cloud", "plant7"))]]


def test_p06_one_cluster_under_two_names(lab):
    """The policy cannot see it; the brokers can.  No topic gets a copy."""
    topic = lab.topic("orders")
    lab.load([topic], 1, 10).wait()
    side = policyfile.source_side(lab.source) | ADMITTED
    side["bootstrap"] = [one.replace("localhost", "127.0.0.1")
                         for one in side["bootstrap"]]
    agent = lab.start(ready=False, side=side)
    assert "same cluster" in agent.wait_flow(lab.flow, state="held")["reason"]
    answer = agent.request("GET", "/readyz")
    assert answer[0] == 503 and "same cluster" in answer[1]
    assert agent.request("GET", "/livez")[0] == 200
    assert f"plant7.{topic}" not in lab.kit.topics(lab.source)
    assert lab.kit.ends(lab.source, topic)["high"] == [10]
    assert agent.stop() == 0


def test_p06_there_and_back(lab):
    """What was brought does not go back; who came first goes on."""
    topic = lab.topic("orders")
    lab.produce(topic, [record("one")])
    there, back = both_ways(lab, [lab.pattern], [lab.pattern])
    first = lab.agents.start(there)
    lab.delivered(topic, 1, copy=topic, repeats=False)
    second = lab.agents.start(back, ready=False)
    reason = circle([second], lab.flow)
    assert topic in reason and lab.ledger in reason, reason
    assert second.request("GET", "/readyz")[0] == 503
    lab.produce(topic, [record("two")])
    lab.delivered(topic, 2, copy=topic, repeats=False)
    assert lab.kit.ends(lab.source, topic)["high"] == [2]
    assert first.is_ready() and not second.is_ready()


def test_p06_there_and_back_at_once(lab):
    """Neither sees the other's ledger when it begins: records go round until
    the look after the first of them.  What has one way only is not disturbed,
    and the topic goes on when one of the policies leaves it out."""
    topic, up = lab.topic("orders"), lab.topic("up")
    lab.topic("orders", cluster=lab.target)
    down = lab.topic("down", cluster=lab.target)
    there, back = both_ways(lab, [topic, up], [topic, down], "30s")
    first = lab.agents.start(there, ready=False)
    second = lab.agents.start(back, ready=False)
    for one, way in (first, up), (second, down):
        one.wait_partition(lab.flow, way, state="running")
    lab.produce(topic, [record("one")])
    assert topic in circle([first, second], lab.flow)

    lab.produce(up, [record("up")])
    lab.kit.produce(lab.target, down, [record("down")])

    def ends(name):
        return [lab.kit.ends(one, name)["high"][0]
                for one in (lab.source, lab.target)]

    def still():
        before = ends(topic)
        time.sleep(1)
        return before == ends(topic)
    proc.wait_for("an end of the copies", still, 20)
    for name in up, down:
        proc.wait_for(f"one {name}", lambda name=name: ends(name) == [1, 1])

    second.stop()
    second.write(both_ways(lab, [topic, up], [down])[1])
    second.start()
    first.request("POST", f"/connectors/{lab.flow}/restart")
    lab.produce(topic, [record("two")])
    lab.delivered(topic, ends(topic)[0], copy=topic, repeats=False)
    first.ready()


def test_two_sites_that_write_one_topic(lab):
    """Each has a ledger of its own; the second is told that the target is not
    empty, and writes when the policy admits it."""
    topic = lab.topic("orders")
    lab.load([topic], 1, 10).wait()
    lab.start(rename=IDENTITY)
    lab.delivered(topic, 10, copy=topic, repeats=False)

    def policy(**more):
        return policyfile.text(
            {"plant8": policyfile.source_side(lab.source),
             "cloud": policyfile.target_side(lab.target)},
            {lab.flow: policyfile.flow(
                [lab.pattern], "plant8", rename=IDENTITY,
                **policyfile.REMOTE_PRODUCING, **more)}, "{socket}")
    second = lab.agents.start(policy(), ready=False)
    reason = lane_held(second, lab.flow)
    for word in ("10 records", topic, "shared_target: true"):
        assert word in reason, reason
    assert second.metric("kedge_partitions_held") == 1
    assert second.metric("kedge_partitions_owned") == 0
    proc.wait_for("the other lanes",
                  lambda: second.metric("kedge_lanes_owned") == 7)
    answer = second.request("GET", "/readyz")
    assert answer[0] == 503 and topic in answer[1], answer
    assert lab.kit.ends(lab.target, topic)["high"] == [10]
    assert second.stop() == 0
    second.write(policy(shared_target=True))
    second.start()
    proc.wait_for("both sites' records", lambda: lab.kit.ends(
        lab.target, topic)["high"] == [20])


def test_p19_a_wider_target_and_a_source_that_outgrows_it(lab):
    """Numbers are kept while there are as many; the rest waits (P46)."""
    topic = lab.topic("wide", partitions=3)
    copy = f"plant7.{topic}"
    lab.kit.create(lab.target, copy, partitions=6)
    lab.kit.create(lab.target, lab.ledger, partitions=8,
                   cleanup_policy="compact")
    lab.load([topic], 3, 300).wait()
    load = lab.load([topic], 3, 0, rate=300)
    agent = lab.start(target_topics={"create": False})
    proc.wait_for("records", lambda: all(
        lab.kit.ends(lab.target, copy)["high"][:3]))
    lab.kit.grow(lab.source, topic, 7)
    lab.load([topic], 4, 40, first=3).wait()
    agent.wait_partition(lab.flow, topic, 5, acked_next=10)
    waits = agent.wait_partition(lab.flow, topic, 6, state="waiting")
    assert "too few partitions" in waits["reason"], waits
    written = load.stop()
    proc.wait_for("the others", lambda: lab.copied(topic) == written + 330)
    ends = lab.kit.ends(lab.target, copy)["high"]
    assert ends[3:] == [10, 10, 10]
    lab.kit.grow(lab.target, copy, 7)
    lab.delivered(topic, written + 340, repeats=False)
    agent.ready(40)


def test_topics_that_are_deleted_and_made_anew(lab):
    """At the source or at the target: told, and held with the ids where it is
    another one; the others go on."""
    kept, deleted, remade, lost = names = [
        lab.topic(word) for word in ("kept", "deleted", "remade", "lost")]
    lab.load(names, 1, 400).wait()
    agent = lab.start()
    for name in names:
        agent.wait_partition(lab.flow, name, ledger_next=100)
    for name in (deleted, remade):
        lab.kit.delete(lab.source, name)
    lab.kit.delete(lab.target, f"plant7.{lost}")
    lab.topic("remade")
    lab.load([kept, remade], 1, 100).wait()
    one = agent.wait_partition(lab.flow, remade, state="held", ledger_next=100)
    assert "made anew" in one["reason"], one
    one = agent.wait_partition(lab.flow, lost, state="held")
    assert "target topic was deleted and made anew" in one["reason"], one
    one = agent.wait_partition(lab.flow, deleted, state="waiting")
    assert "does not list it any more" in one["reason"], one
    agent.wait_partition(lab.flow, kept, ledger_next=150)
    assert lab.copied(remade) == lab.copied(deleted) == 100
    answer = agent.request("GET", "/readyz")
    assert answer[0] == 503 and "made anew" in answer[1], answer
    # the ledger says the same to the next one
    agent.stop()
    agent.start(ready=False)
    for name in (remade, lost):
        agent.wait_partition(lab.flow, name, state="held")
    lab.load([kept], 1, 50).wait()
    lab.delivered(kept, 200, repeats=False)
    assert lab.copied(remade) == 100


def test_topics_that_come_back_with_more_records(lab):
    """More than were read before, and the catalog looks later than the client
    does: nothing of them is sent as if it followed what was."""
    kept, *names = [lab.topic(word) for word in "kabc"]
    lab.load([kept, *names], 1, 400).wait()
    agent = lab.start(topics={"refresh": "10s"})
    for name in names:
        agent.wait_partition(lab.flow, name, ledger_next=100)
    agent.freeze()
    try:
        for name in names:
            lab.kit.delete(lab.source, name)
        lab.kit.create(lab.source, *names)
        lab.load(names, 1, 900).wait()
    finally:
        agent.thaw()
    lines = len(agent.text().splitlines())
    for name in names:
        one = agent.wait_partition(lab.flow, name, state="held",
                                   ledger_next=100)
        assert "made anew" in one["reason"], one
    assert len(agent.text().splitlines()) < lines + 5 * len(names)
    assert agent.tool("flow", "restart", lab.flow).returncode == 0
    lab.load([kept], 1, 50).wait()
    lab.delivered(kept, 150, repeats=False)
    for name in names:
        agent.wait_partition(lab.flow, name, state="held", ledger_next=100)
        assert lab.copied(name) == 100


def test_p32_topics_made_anew_before_they_are_taken_over(lab):
    """Whoever takes them has never read them, and knew the old ones by its
    newest list: it looks again before it sends."""
    names = [lab.topic(f"t{i}") for i in range(12)]
    lab.load(names, 1, 1200).wait()
    first, second = (lab.start(name=f"agent{i}", topics={"refresh": "10m"})
                     for i in (1, 2))
    second.wait_lanes(lab.flow, 4)

    def entered():
        mine = [one for (name, _), one in first.partitions(lab.flow).items()
                if one["state"] == "running"]
        return mine if all(one["ledger_next"] == 100 for one in mine) else None
    moving = [one["topic"] for one in proc.wait_for("entries", entered)]
    assert 0 < len(moving) < len(names), moving
    for name in moving:
        lab.kit.delete(lab.source, name)
    lab.kit.create(lab.source, *moving)
    lab.load(moving, 1, 300 * len(moving)).wait()
    assert first.stop() == 0
    for name in moving:
        one = second.wait_partition(lab.flow, name, state="held",
                                    ledger_next=100)
        assert "made anew" in one["reason"], one
        assert lab.copied(name) == 100


def test_p46_every_topic_is_deleted(lab):
    topic = lab.topic("gone")
    lab.load([topic], 1, 10).wait()
    agent = lab.start()
    lab.delivered(topic, 10, repeats=False)
    lab.kit.delete(lab.source, topic)
    proc.wait_for("not ready", lambda: not agent.is_ready())
    assert "no topic at plant7 matches" in agent.request("GET", "/readyz")[1]
    assert agent.request("GET", "/livez")[0] == 200
    assert agent.metric("kedge_flow_ready") == 0
    lab.topic("another")
    agent.ready(30)


def test_a_log_that_cannot_be_written(lab):
    """A disk that is full: records matter more than words about them."""
    topic = lab.topic("full")
    lab.load([topic], 1, 100).wait()
    agent = lab.agents.new(lab.policy())
    log, agent.log = agent.log, pathlib.Path("/dev/full")
    agent.start(ready=False)
    agent.log = log
    agent.ready()
    lab.delivered(topic, 100, repeats=False)
    assert agent.stop() == 0


class WallClock:
    """The wall clock of one agent, that a test sets."""

    def __init__(self, folder):
        library = folder / "wallclock.so"
        source = pathlib.Path(__file__).with_name("wallclock.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library,
                        source], check=True)
        self._path = folder / "wallclock"
        self._path.write_bytes(bytes(8))
        self.env = {"LD_PRELOAD": str(library), "WALLCLOCK": str(self._path)}

    def set(self, seconds):
        """How far it is ahead of the true time."""
        with open(self._path, "r+b") as file:
            file.write(struct.pack("q", seconds))


def test_a_wall_clock_that_is_set(lab, work):
    """A day forward, and back again: nothing waits for it, is held or lost."""
    topic = lab.topic("clock", partitions=2)
    load = lab.load([topic], 2, 0, rate=200)
    clock = WallClock(work / "agents" / lab.unique)
    agent = lab.agents.start(lab.policy(), env=clock.env)
    agent.wait_lanes(lab.flow, 8)
    for seconds in (86400, 0):
        clock.set(seconds)
        # what is acknowledged and written down now is more than there was
        end = sum(lab.kit.ends(lab.source, topic)["high"])

        def written():
            return sum(one.get("ledger_next", 0) for one in
                       agent.partitions(lab.flow).values()) > end
        proc.wait_for(f"entries at {seconds} s", written)
        assert agent.is_ready()
    assert agent.metric("kedge_partitions_held") == 0
    assert agent.stop() == 0
    agent.start()
    lab.delivered(topic, load.stop(), repeats=False)


def test_p21_records_as_large_as_what_may_be_in_flight(lab):
    """Little room is slow, and no reason to stand still."""
    topic = lab.topic("fat", partitions=4, max_message_bytes=2 << 20)
    lab.produce(topic, [record(os.urandom(900_000), "k", partition=i % 4)
                        for i in range(12)])
    agent = lab.start(limits={"max_in_flight": "1MiB"},
                      producer={"compression.type": "lz4"})
    lab.delivered(topic, 12, repeats=False)
    assert agent.metric("kedge_records_failed_total") == 0


def test_p51_a_password_that_the_broker_learns_late(lab, work):
    """It waits, is not heard more than once of it, and goes on by itself."""
    word = "right-0f-two"
    path = work / "agents" / lab.unique / "password"
    path.write_text(word + "\n")
    path.chmod(0o600)
    topic = lab.topic("late")
    lab.load([topic], 1, 10).wait()
    lab.kit.scram(lab.target, lab.unique, "wrong-of-two")
    agent = lab.start(ready=False, side=policyfile.target_side(
        lab.target, "sasl", ("SCRAM-SHA-512", lab.unique, path)))

    def said():
        answer = agent.request("GET", "/readyz") or (0, "")
        return answer[0] == 503 and "uthentication" in answer[1]
    proc.wait_for("the reason", said)
    assert agent.flow(lab.flow).get("target_up") in (False, None)
    lab.kit.scram(lab.target, lab.unique, word)
    agent.ready(60)
    lab.delivered(topic, 10, repeats=False)
    assert word not in agent.text() and len(agent.text().splitlines()) < 60
    assert agent.stop() == 0


def show_certificate(lab, store):
    """Until the listener behind the link has the one of this keystore."""
    lab.kit.configure_broker(lab.target, 1, {
        "listener.name.link.ssl.keystore.location": str(store)})
    port = lab.target.ports[0]["link"]
    proc.wait_for("the certificate", lambda: ssl.get_server_certificate(
        ("127.0.0.1", port)).strip() in store.read_text())


def test_p46_a_certificate_that_has_ended(lab, link, pki):
    """The target's own, while records flow; a new one mends it."""
    topic = lab.topic("ended")
    load = lab.load([topic], 1, 0, rate=100)
    agent = lab.start(side=policyfile.target_side(lab.target, "link"))
    proc.wait_for("records", lambda: lab.copied(topic) > 0)
    ended, good = (pki.keystore(f"{lab.unique}-{days}", subject="target",
                                days=days) for days in (-1, 20))
    try:
        show_certificate(lab, ended)
        link.reset()
        proc.wait_for("a line that says it", lambda: [
            one for one in agent.events("cluster.down")
            if one["cluster"] == "cloud" and "(notAfter): whoever runs cloud "
            "has to renew it" in one["error"]])
        one = agent.wait_flow(lab.flow, target_up=False)
        assert "expired on" in one["target_reason"], one
        assert "ssl.ca.location" not in agent.text(), "no setting of ours"
        assert agent.metric("kedge_target_up") == 0
        stood = lab.copied(topic)
    finally:
        show_certificate(lab, good)
    proc.wait_for("records again", lambda: lab.copied(topic) > stood, 60)
    lab.delivered(topic, load.stop())
    agent.ready(40)
    assert agent.metric("kedge_source_offsets_lost_total") == 0
