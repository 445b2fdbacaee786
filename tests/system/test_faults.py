"""Agents, brokers and links that die, and nothing that is lost."""

import itertools
import json
import os
import random
import signal
import time

import pytest

import policyfile
import proc

RATE = 3000  # records a second
SIZE = 200


def seeded(label):
    """Another run every time; KEDGE_SEED repeats one."""
    seed = int(os.environ.get("KEDGE_SEED") or random.randrange(1 << 30))
    print(f"{label}: KEDGE_SEED={seed}")
    return random.Random(seed)


class Entry:
    """How far a partition is, as an owner of its lane wrote it down."""

    def __init__(self, lane, value):
        self.lane, self.term = lane, int(value["term"])
        self.time = int(value["time"])
        self.next = int(value["next"])  # in the source
        self.acked = int(value["target_offset"])  # -1: not known

    def place(self):
        return self.next, self.acked


def ledger_terms(lab):
    """{(topic, partition): the entries of each owner in turn}"""
    found = {}
    for one in lab.kit.read(lab.target, lab.ledger):
        key, value = json.loads(one["key"]), json.loads(one["value"])
        if "topic" in key and "next" in value:
            found.setdefault((key["topic"], key["partition"]), []).append(
                Entry(one["partition"], value))
    return {part: [list(entries) for _, entries in
                   itertools.groupby(said, lambda entry: entry.term)]
            for part, said in found.items()}


def check_jumps(terms, backs, kills):
    """`terms`: of one partition; `backs`: the judge's jumps back in it, as
    (target offset where it begins, source offset before, and after)."""
    for before, after in itertools.pairwise(terms):
        assert after[0].place() == before[-1].place(), "not where it ended"
    nexts = [entry.next for entries in terms for entry in entries]
    assert nexts == sorted(nexts), "the ledger went back"
    assert len(backs) <= kills, "sent again without a kill"
    for at, _before, to in backs:
        assert any(entries[0].next == to and entries[0].acked < at
                   for entries in terms), f"nobody began with {to}"


def behind(terms, kills):
    """{(lane, term): records at the target behind the entries with which the
    lane's first owner after a kill began}; `kills`: (wall time, {partition:
    where it ended at the target when the agent was dead})."""
    found, firsts = {}, {}
    for part, owners in terms.items():
        for first in (entries[0] for entries in owners):
            before = [ends for time, ends in kills if time <= first.time]
            if not before:
                continue
            term = firsts.setdefault((first.lane, len(before)), first.term)
            if term == first.term:
                key = first.lane, term
                end = before[-1].get(part, 0)
                found[key] = found.get(key, 0) + max(0, end - 1 - first.acked)
    return found


@pytest.mark.big
@pytest.mark.limit(300)
def test_twenty_kills(lab, link):
    """P22: kill -9 at twenty random moments, half of them while the agent starts
    and half while records move; some while the target's answers are held up.

    What is sent again is exactly what lies behind the ledger: whoever takes a
    lane over begins with the last entry of the one before; each jump back of
    the target goes to the source offset of such an entry; and a partition has
    no more of them than there were kills.  And for each lane and kill: what
    was at the target behind the entries when the agent was dead, kedge has
    counted at the next taking over.  (What the broker took later still of what
    the dead agent had on the wire, it may have counted as well.)"""
    dice = seeded("twenty kills")
    topics = [lab.topic("a", partitions=8), lab.topic("b", partitions=2)]
    kills = []
    side = policyfile.target_side(lab.target, "link")
    load = lab.load(topics[:1], 8, 0, rate=RATE, size=SIZE, headers=1)
    slow = lab.load(topics[1:], 2, 0, rate=20)
    agent = lab.start(ready=False, side=side, limits={"max_in_flight": "1MiB"})
    for i in range(20):
        before = lab.copied(topics[0])
        if i % 2:  # while records move
            proc.wait_for("records", lambda: lab.copied(topics[0]) > before)
        time.sleep(dice.uniform(0.2, 2))
        if dice.random() < 0.5:
            link.stall(up=False, down=True)
            time.sleep(dice.uniform(0, 0.5))
        agent.kill()
        link.stall(up=False, down=False)
        lab.evict()
        kills.append((time.time() * 1000, {
            (topic, i): end for topic in topics
            for i, end in enumerate(lab.copy_ends(topic))}))
        agent.start(ready=False)
    written = [load.stop(), slow.stop()]
    found = [lab.delivered(*pair) for pair in zip(topics, written)]
    terms = ledger_terms(lab)
    for topic, one in zip(topics, found):
        for i, part in enumerate(one.parts):
            check_jumps(terms[topic, i], part["back"], len(kills))
    counted = {(int(event["lane"]), int(event["term"])): int(event["records"])
               for event in agent.events("lane.repeats")}
    seen = behind(terms, kills)
    print(f"{sum(seen.values())} seen behind the ledger, "
          f"{sum(counted.values())} counted")
    assert sum(seen.values()) > 0, "no kill left anything behind the ledger"
    for owner, records in seen.items():
        assert records <= counted.get(owner, 0), (owner, seen, counted)
    assert agent.metric("kedge_source_offsets_lost_total") == 0
    assert agent.metric("kedge_records_failed_total") == 0
    assert agent.stop() == 0


@pytest.mark.big
@pytest.mark.limit(300)
def test_three_agents(lab):
    """One is killed, one is stopped and goes on as a zombie, one is added,
    while records flow.  Sessions run out by themselves here."""
    topics = [lab.topic(f"s{i}", partitions=8) for i in range(2)]
    load = lab.load(topics, 8, 0, rate=RATE, size=SIZE)
    first, second = (lab.start(name=f"agent{i}") for i in (1, 2))
    for one in (first, second):
        one.wait_lanes(lab.flow)
    first.kill()
    second.freeze()
    third = lab.start(name="agent3", ready=False)
    # after its session (30 s) the frozen one's lanes are the third's
    third.wait_lanes(lab.flow, 8, 90)
    before = lab.copied(topics[0])
    proc.wait_for("records", lambda: lab.copied(topics[0]) > before)
    second.thaw()
    first.start(ready=False)
    for one in (first, second, third):
        one.wait_lanes(lab.flow, 1, 90)
    lanes = [lane for one in (first, second, third)
             for lane in one.lanes(lab.flow)]
    assert len(lanes) == len(set(lanes)), "a lane with two owners"
    written = load.stop()
    found = [lab.judge(topic) for topic in topics]
    assert sum(one.source for one in found) == written
    for one in found:
        one.assert_delivered()
    # what who was fenced had on the wire was sent by others, of which it cannot
    # be sure: the zombie, and whose lane it claimed when it woke up
    fenced = [second, *(agent for agent in (third, first) if any(
        "fenced" in event["why"] for event in agent.events("lane.phase")))]
    for agent in (third, first, second):
        assert agent.stop() in (
            (0, -signal.SIGTERM) if agent in fenced else (0,)), agent


@pytest.mark.limit(180)
def test_handovers_without_a_fault(lab):
    """P32: agents come and go in turn under load; nothing is repeated."""
    topic = lab.topic("turns", partitions=8)
    load = lab.load([topic], 8, 0, rate=RATE, size=SIZE)
    old = lab.start(name="agent1")
    for i in range(2, 6):
        new = lab.start(name=f"agent{i}")
        new.wait_lanes(lab.flow)
        assert old.stop() == 0
        old = new
    written = load.stop()
    lab.delivered(topic, written, repeats=False)
    assert old.stop() == 0


@pytest.mark.limit(200)
def test_a_broker_of_three_is_killed_and_comes_back(lab, target3):
    """A topic that wants all three in sync waits for it, neither held nor
    lost, and says so; the others go on."""
    topic = lab.topic("three", partitions=6)
    strict = lab.topic("strict", partitions=2)
    lab.kit.create(target3, f"plant7.{strict}", partitions=2,
                   min_insync_replicas=3)
    side = policyfile.target_side(target3)
    load = lab.load([topic], 6, 0, rate=RATE, size=SIZE)
    few = lab.load([strict], 2, 0, rate=100)
    agent = lab.start(side=side)
    made = lab.kit.describe(target3, f"plant7.{topic}")
    assert made["replicas"] == [3] * 6
    ledger = lab.kit.describe(target3, lab.ledger)
    assert ledger["replicas"] == [3] * 8
    assert ledger["configs"]["cleanup.policy"] == "compact"
    assert ledger["configs"]["min.insync.replicas"] == "2"
    victim = made["leaders"][0] - 1
    target3.kill(victim)
    time.sleep(7)  # longer than it takes to elect other leaders

    def acked(name):
        """Not while a lane that was lost with the broker is taken over."""
        page = proc.wait_for("every lane", lambda: (
            page := agent.partitions(lab.flow)) and all(
                "acked_next" in one for one in page.values()) and page)
        return sum(one["acked_next"] for (topic, _), one in page.items()
                   if topic == name)
    stood, before = acked(strict), acked(topic)
    proc.wait_for("the others", lambda: acked(topic) > before + RATE)
    assert acked(strict) == stood, "acks=all means min.insync.replicas"
    for i in range(2):
        agent.wait_partition(lab.flow, strict, i, state="running")
    one = proc.wait_for("the reason", lambda: agent.partition(
        lab.flow, strict).get("reason"), 40)
    for words in (f"plant7.{strict} [", "2 of 3 replicas in sync",
                  "min.insync.replicas 3: whoever runs the target"):
        assert words in one, one
    assert [event for event in agent.events("topic.stands")
            if event["topic"] == strict]
    target3.start(victim)
    target3.ready(victim)
    lab.delivered(topic, load.stop(), target=target3)
    lab.delivered(strict, few.stop(), target=target3)
    agent.ready()
    assert agent.metric("kedge_partitions_held") == 0
    assert agent.stop() == 0


@pytest.mark.limit(200)
def test_every_broker_of_three_restarts_in_turn(lab, target3):
    """An upgrade of the cloud: nothing lost, nothing repeated by a fault of
    ours, and in order (P27)."""
    topic = lab.topic("rolling", partitions=6)
    load = lab.load([topic], 6, 0, rate=1000, size=SIZE)
    agent = lab.start(side=policyfile.target_side(target3))
    for i in range(3):
        target3.stop(i)
        target3.start(i)
        target3.ready(i)
    written = load.stop()
    lab.delivered(topic, written, target=target3)
    assert agent.stop() == 0


@pytest.mark.big
@pytest.mark.limit(240)
def test_a_link_that_is_cut_for_a_minute(lab, link):
    """P21, P46: the source goes on; memory stays bounded; the agent says that
    nothing flows, and that it does again."""
    topic = lab.topic("cut", partitions=4)
    load = lab.load([topic], 4, 0, rate=5000, size=1000)
    agent = lab.start(side=policyfile.target_side(lab.target, "link"),
                      limits={"max_in_flight": "16MiB"})
    proc.wait_for("records", lambda: lab.copied(topic) > 0)
    link.cut()
    cut = time.monotonic()
    agent.wait_flow(lab.flow, 25, target_up=False)
    proc.wait_for("not ready", lambda: not agent.is_ready(), 45)
    answer = agent.request("GET", "/readyz")
    assert answer[0] == 503 and len(answer[1]) > 10, answer
    assert agent.request("GET", "/livez")[0] == 200
    assert agent.get(f"/connectors/{lab.flow}/status")
    time.sleep(max(0, cut + 60 - time.monotonic()))
    one = agent.flow(lab.flow)
    assert one["in_flight_bytes"] <= 16 << 20, one["in_flight_bytes"]
    assert agent.metric("kedge_target_up") == 0
    assert proc.peak_rss(agent.process.pid) < 150e6
    link.restore()
    agent.wait_flow(lab.flow, 25, target_up=True)
    assert {one["cluster"] for one in agent.events("cluster.down")} == {"cloud"}
    written = load.stop()
    lab.delivered(topic, written)
    agent.ready(30)
    assert agent.metric("kedge_source_offsets_lost_total") == 0
    assert agent.stop() == 0


@pytest.mark.limit(150)
def test_the_ledger_follows_again_after_a_cut(lab, link):
    """P21: a link that was cut for some seconds is no long one, over which
    the ledger would be written seldom.  Once it has gone on, a crash repeats
    what was acknowledged last, not everything since the cut."""
    topic = lab.topic("again", partitions=1)
    load = lab.load([topic], 1, 0, rate=1000, size=SIZE)
    agent = lab.start(side=policyfile.target_side(lab.target, "link"))

    def standing(key):
        return agent.partition(lab.flow, topic).get(key, 0)
    proc.wait_for("entries", lambda: standing("ledger_next") > 1000)
    link.cut()
    time.sleep(5)
    stood = standing("ledger_next")
    link.restore()
    proc.wait_for("an entry", lambda: standing("ledger_next") > stood)
    since = standing("acked_next")
    proc.wait_for("records", lambda: standing("acked_next") > since + 10_000)
    agent.kill()
    lab.evict()
    agent.start()
    written = load.stop()
    one = lab.delivered(topic, written)
    assert one.repeats < 5000, "acknowledged long before"
    assert agent.stop() == 0


@pytest.mark.limit(150)
def test_order_over_a_bad_link(lab, link):
    """P27: connections are reset every few seconds, answers come late."""
    dice = seeded("bad link")
    topic = lab.topic("bad", partitions=8)
    load = lab.load([topic], 8, 0, rate=2000, size=SIZE)
    agent = lab.start(side=policyfile.target_side(lab.target, "link"))
    for _ in range(8):
        link.delay(up=dice.uniform(0, 0.2), down=dice.uniform(0, 2))
        time.sleep(dice.uniform(1, 4))
        link.reset()
    link.clean()
    written = load.stop()
    lab.delivered(topic, written)
    assert agent.stop() == 0


def test_a_long_link_that_is_slow(lab, link):
    """Back-pressure reaches the source: memory stays bounded."""
    topic = lab.topic("slow", partitions=4)
    lab.load([topic], 4, 20_000, size=1000).wait()
    link.delay(0.05, 0.05)
    link.throttle(2_000_000)
    agent = lab.start(side=policyfile.target_side(lab.target, "link"),
                      limits={"max_in_flight": "4MiB"}, ready=False)
    most = 0

    def arrived():
        nonlocal most
        most = max(most, agent.flow(lab.flow).get("in_flight_bytes", 0))
        return lab.copied(topic) == 20_000
    proc.wait_for("all records", arrived, 90)
    assert 0 < most <= 4 << 20
    lab.delivered(topic, 20_000, repeats=False)


def test_rate_limit(lab):
    """3 MB at 500 KiB/s take 5 s at least, whatever else happens."""
    topic = lab.topic("paced", partitions=2)
    lab.load([topic], 2, 3000, size=1000).wait()
    start = time.monotonic()
    lab.start(limits={"bytes_per_second": "500KiB"})
    lab.delivered(topic, 3000, repeats=False)
    assert time.monotonic() - start > 4


DRAINS = {
    # label: what the way there is like, is everything drained?
    "a fine link": (lambda link, target: None, True),
    "a slow link": (lambda link, target: link.throttle(3_000_000), True),
    "a dead link": (lambda link, target: link.stall(), False),
    "a frozen target": (lambda link, target: target.freeze(), False),
}


@pytest.mark.limit(150)
@pytest.mark.parametrize("label", DRAINS)
def test_stop_under_load(lab, link, label):
    """P49: SIGTERM ends it within the limit, and nothing is lost; what could
    be drained is not sent again, and the status tells one from the other."""
    break_way, drained = DRAINS[label]
    topic = lab.topic("stop", partitions=4)
    side = policyfile.target_side(lab.target, "link")
    load = lab.load([topic], 4, 0, rate=5000, size=500)
    agent = lab.start(side=side, limits={"max_in_flight": "4MiB"})
    proc.wait_for("records", lambda: lab.copied(topic) > 1000)
    try:
        break_way(link, lab.target)
        time.sleep(1)
        code = agent.stop()
    finally:
        lab.target.thaw()
    assert code == (0 if drained else -signal.SIGTERM), agent.tail()
    assert agent.stopped[-1][1] < 30
    assert agent.events("agent.drained" if drained else "agent.cut")
    link.clean()
    lab.evict()
    agent.start()
    written = load.stop()
    lab.delivered(topic, written, repeats=not drained)


def test_a_second_term_does_not_wait(lab, link):
    topic = lab.topic("twice", partitions=2)
    load = lab.load([topic], 2, 0, rate=1000)
    agent = lab.start(side=policyfile.target_side(lab.target, "link"))
    proc.wait_for("records", lambda: lab.copied(topic) > 0)
    link.stall()
    agent.process.terminate()
    proc.wait_for("draining", lambda: agent.flow(lab.flow).get("state")
                  in ("draining", "stopped"), 10)
    agent.process.terminate()
    assert agent.process.wait(5) == -signal.SIGTERM
    link.clean()
    lab.evict()
    agent.start()
    lab.delivered(topic, load.stop())
