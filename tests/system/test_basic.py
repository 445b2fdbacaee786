"""Records arrive: all of them, as they were, where they belong."""

import itertools
import time

import pytest

import kit as kit_module
import policyfile
import proc
from kit import CODECS, record

NOW_MS = int(time.time() * 1000)


def test_two_topics_arrive(lab):
    orders = lab.topic("orders", partitions=3)
    alarms = lab.topic("alarms", partitions=1, retention_ms=123456789)
    lab.load([orders], 3, 3000, headers=2).wait()
    lab.load([alarms], 1, 500, codec="zstd").wait()
    agent = lab.start()
    lab.delivered(orders, 3000, repeats=False)
    lab.delivered(alarms, 500, repeats=False)
    made = lab.kit.describe(lab.target, f"plant7.{alarms}")
    assert len(made["leaders"]) == 1 and made["replicas"] == [1]
    assert made["configs"]["retention.ms"] == "123456789", \
        "the source's settings come along"
    # what comes while it runs arrives as well
    lab.load([orders], 3, 2000, codec="lz4").wait()
    lab.delivered(orders, 5000, repeats=False)
    assert "enable.gapless" not in agent.text(), "noise at each start"
    assert agent.stop() == 0
    # who looks at lag with the usual tools sees none, and nobody in the group
    seen = lab.kit.group(lab.source, lab.group)
    assert seen["members"] == {}
    assert seen["offsets"] == {
        f"{topic}-{i}": end for topic in (orders, alarms) for i, end in
        enumerate(lab.kit.ends(lab.source, topic)["stable"])}
    assert agent.events("position.hidden") == []


@pytest.mark.big
@pytest.mark.limit(240)
def test_a_million_records_of_all_codecs(lab):
    """3 topics, 12 partitions, the five codecs mixed in each of them."""
    topics = [lab.topic(f"big{i}", partitions=4) for i in range(3)]
    agent = lab.start(limits={"max_in_flight": "64MiB"})
    for i, codec in enumerate(CODECS):
        lab.load(topics, 4, 200_000, codec=codec, seed=i, size=150,
                 headers=i % 3).wait()
    sums = [lab.delivered(topic, repeats=False) for topic in topics]
    assert sum(one.source for one in sums) == 1_000_000
    assert agent.metric("kedge_records_acked_total") == 1_000_000
    assert agent.metric("kedge_records_repeated_total") == 0
    assert agent.stop() == 0


HEADERS = {
    "none": [],
    "one": [("h", "1")],
    "P12's": [("h", "1"), ("h", "2"), ("z", None), ("e", ""), ("h", "1")],
    "a thousand": [(f"h{i % 10}", str(i)) for i in range(1000)],
    "beyond ASCII": [("größe", b"\x00\xff\x80"), ("", "no name")],
}
CONTENTS = [None, "", "word", b"\x00\x01\xff"]


def test_headers_and_null_against_empty(lab):
    topic = lab.topic("matrix")
    records = [record(value, key, headers=headers, timestamp=NOW_MS + i)
               for i, (key, value, headers) in enumerate(itertools.product(
                   CONTENTS, CONTENTS, HEADERS.values()))]
    lab.produce(topic, records)
    lab.start()
    lab.delivered(topic, len(records), repeats=False)


def test_compacted_topic_keeps_its_tombstones(lab):
    """P13."""
    topic = lab.topic("state", cleanup_policy="compact")
    lab.produce(topic, [
        record("v", "k1"), record(None, "k1", headers=[("why", "gone")]),
        record("", "k2"), record("v2", "k2"), record(None, "k3")])
    lab.start()
    lab.delivered(topic, 5, repeats=False)
    made = lab.kit.describe(lab.target, f"plant7.{topic}")
    assert made["configs"]["cleanup.policy"] == "compact"
    ledger = lab.kit.describe(lab.target, lab.ledger)["configs"]
    assert ledger["cleanup.policy"] == "compact"
    assert ledger["message.timestamp.type"] == "LogAppendTime"
    found = lab.kit.read(lab.target, f"plant7.{topic}")
    assert [one["value"] for one in found] == [b"v", None, b"", b"v2", None]
    assert found[1]["headers"] == [("why", b"gone")]


def test_p13_a_deleted_key_is_gone_when_the_target_compacts(lab):
    """Which it can do only with tombstones that are some."""
    topic = lab.topic("state", cleanup_policy="compact")
    copy = f"plant7.{topic}"
    lab.kit.create(lab.target, copy, cleanup_policy="compact", segment_ms=100,
                   min_cleanable_dirty_ratio=0.001, delete_retention_ms=0)
    lab.produce(topic, [record("v", "k1"), record("", "k2"),
                        record(None, "k1"), record("v", "k3")])
    lab.start()
    lab.delivered(topic, 4, repeats=False)

    def kept():
        # the newest segment is not compacted: another record ends it
        lab.produce(topic, [record("on", "k4")])
        return [(one["key"], one["value"])
                for one in lab.kit.read(lab.target, copy)
                if one["key"] != b"k4"]
    proc.wait_for("a compaction of the target", lambda: kept() == [
        (b"k2", b""), (b"k3", b"v")], 60)


ODD = {
    "a timestamp of 0": record("v", timestamp=0),
    "a timestamp of long ago": record("v", timestamp=1),
    "a timestamp of the year 2100": record("v", timestamp=4102444800000),
    "a zero byte in a header's name": record("v", headers=[("a\0b", "1")]),
}


@pytest.mark.parametrize("label", ODD)
def test_what_cannot_be_carried_holds_its_partition(lab, label):
    """Unchanged or held with a reason; never changed, never left out."""
    topic = lab.topic("odd", message_timestamp_after_max_ms=2**62)
    lab.produce(topic, [record("before", timestamp=NOW_MS), ODD[label],
                        record("after", timestamp=NOW_MS + 1)])
    agent = lab.start(ready=False)

    def settled():
        one = agent.partition(lab.flow, topic)
        return one if one.get("state") == "held" or \
            lab.copied(topic) == 3 else None
    one = proc.wait_for(label, settled, 40)
    if one["state"] == "held":
        assert one["reason"], one
        agent.wait_partition(lab.flow, topic, acked_next=1)
        found = lab.kit.read(lab.target, f"plant7.{topic}")
        assert [r["value"] for r in found] == [b"before"]
    else:
        lab.delivered(topic, 3, repeats=False)


def test_aborted_and_open_transactions(lab):
    """P18: 10 committed, 10 aborted, 10 open for a while, then committed."""
    topic = lab.topic("bookings")
    agent = lab.start()

    def send(action, word, name):
        lab.kit.txn(lab.source, name, "begin")
        lab.kit.txn(lab.source, name, "send", topic,
                    [record(f"{word} {i}") for i in range(10)])
        if action:
            lab.kit.txn(lab.source, name, action)
    send("commit", "first", lab.name("a"))
    send("abort", "never", lab.name("a"))
    send(None, "open", lab.name("b"))
    proc.wait_for("the first ten", lambda: lab.copied(topic) == 10)
    # the brokers' own figures: behind the last stable offset 10 are open
    ends = lab.kit.ends(lab.source, topic)
    one = agent.wait_partition(lab.flow, topic, timeout=40, open=10,
                               true_lag=0)
    assert one["source_end"] == ends["stable"][0]
    assert lab.copied(topic) == 10, "nothing leaks while it is open"
    lab.kit.txn(lab.source, lab.name("b"), "commit")
    lab.delivered(topic, 20, repeats=False)
    found = lab.kit.read(lab.target, f"plant7.{topic}", "read_uncommitted")
    assert {one["value"].split()[0] for one in found} == {b"first", b"open"}
    # the position passes over markers and aborted records
    agent.wait_partition(lab.flow, topic, timeout=40, open=0, true_lag=0)
    for name in "ab":
        lab.kit.txn(lab.source, lab.name(name), "close")


def test_latest_is_for_what_exists_at_the_first_start(lab):
    """P10."""
    old = lab.topic("old")
    lab.load([old], 1, 50).wait()
    agent = lab.start(topics={"start": "latest"})
    agent.wait_partition(lab.flow, old, acked_next=50)
    fresh = lab.topic("new")
    lab.load([fresh], 1, 100).wait()
    lab.load([old], 1, 20).wait()
    lab.delivered(fresh, 100, repeats=False)
    lab.kit.grow(lab.source, fresh, 2)
    lab.load([fresh], 1, 100, first=1).wait()
    lab.delivered(fresh, 200, repeats=False)
    lab.delivered(old, 20, repeats=False, start={0: 50})
    # and a second start does not begin at the end again
    agent.stop()
    lab.load([old], 1, 30).wait()
    agent.start()
    lab.delivered(old, 50, repeats=False, start={0: 50})


def test_partitions_grow_with_the_source(lab):
    """P19: the partition's number is kept, key or no key."""
    topic = lab.topic("grow", partitions=3)
    load = lab.load([topic], 3, 0, rate=500)
    lab.start()
    proc.wait_for("records", lambda: lab.copied(topic) > 0)
    lab.kit.grow(lab.source, topic, 4)
    lab.load([topic], 1, 300, first=3).wait()
    written = load.stop()
    lab.delivered(topic, written + 300, repeats=False)
    assert len(lab.kit.describe(lab.target, f"plant7.{topic}")
               ["leaders"]) == 4


def test_fewer_partitions_at_a_target_that_may_not_be_changed(lab):
    """P19: partition 3 waits, 0 to 2 flow; it is not ready (P46)."""
    topic = lab.topic("narrow", partitions=4)
    lab.kit.create(lab.target, f"plant7.{topic}", partitions=3)
    lab.kit.create(lab.target, lab.ledger, partitions=8,
                   cleanup_policy="compact")  # that is not made either
    lab.load([topic], 4, 400).wait()
    agent = lab.start(ready=False, target_topics={"create": False})
    proc.wait_for("three partitions", lambda: lab.copied(topic) == 300)
    one = agent.partition(lab.flow, topic, 3)
    assert one["state"] in ("waiting", "held") and one["reason"], one
    proc.wait_for("not ready", lambda: not agent.is_ready(), 60)
    lab.kit.grow(lab.target, f"plant7.{topic}", 4)
    lab.delivered(topic, 400, repeats=False)


def test_names(lab):
    """Prefix with a separator, identity, the cycle rule, internal topics,
    and every topic that is skipped with its reason."""
    plain = lab.topic("orders")
    back = f"cloud.{lab.name('returned')}"
    lab.kit.create(lab.source, back)
    internal = f"kedge.plant7.{lab.unique}.fake.ledger"
    lab.kit.create(lab.source, internal)
    debug = lab.topic("debug")
    undecided = lab.topic("b" * 40 + "cd")
    lab.load([plain], 1, 100).wait()
    agent = lab.start([rf".*{lab.unique}\.[^b].*", rf".*{lab.unique}\.(b+)+c"],
                      topics={"exclude": [r".*\.debug"]})
    lab.delivered(plain, 100, repeats=False)
    skipped = {one["topic"]: one["reason"]
               for one in agent.flow(lab.flow)["skipped"]}
    assert {back, internal, debug, undecided} <= set(skipped), skipped
    assert all(skipped.values())
    assert "too much work" in skipped[undecided]
    assert plain not in skipped
    names = lab.kit.topics(lab.target)
    for name in (back, internal, debug, undecided):
        assert not any(name in one for one in names if one != lab.ledger)


@pytest.mark.parametrize("rename, copy", [
    ({"policy": "prefix", "separator": "_"}, "plant7_{}"),
    ({"policy": "identity"}, "{}"),
], ids=["another separator", "identity"])
def test_other_names(lab, rename, copy):
    topic = lab.topic("orders", partitions=2)
    lab.load([topic], 2, 200).wait()
    lab.start(rename=rename)
    lab.delivered(topic, 200, repeats=False, copy=copy.format(topic))


def test_two_flows_in_opposite_directions(lab):
    """One agent at the plant: it produces remotely, and consumes remotely.
    What came from the plant does not come back."""
    up = lab.topic("up", partitions=2)
    down = lab.topic("down", partitions=2, cluster=lab.target)
    lab.load([up], 2, 500).wait()
    lab.kit.load(lab.target, [down], 2, 700).wait()
    back = f"{lab.flow}-back"
    agent = lab.agents.start(policyfile.text(
        {"plant7": policyfile.merge(
            policyfile.source_side(lab.source),
            {"durability": {"replicas": 1, "because": "single-broker"}}),
         "cloud": policyfile.target_side(lab.target)},
        {lab.flow: policyfile.flow([rf"(cloud\.)?{lab.unique}\..*"]),
         back: policyfile.flow([rf"(plant7\.)?{lab.unique}\..*"], "cloud",
                               "plant7")},
        "{socket}"))
    lab.delivered(up, 500, repeats=False)
    kit_module.Kit.compare(lab.kit, lab.target, down, lab.source,
                           f"cloud.{down}").assert_delivered(700, False)
    assert agent.flow(lab.flow)["placement"] == "source"
    assert agent.flow(back)["placement"] == "target"
    assert f"plant7.{up}" in [one["topic"]
                              for one in agent.flow(back)["skipped"]]
    assert not [name for name in lab.kit.topics(lab.source)
                if name.startswith("cloud.plant7.")]
    assert agent.stop() == 0


def test_what_one_flow_brought_the_other_leaves(lab):
    """The way back keeps the names, and its pattern has the copies, too."""
    up = lab.topic("up")
    down = lab.topic("down", cluster=lab.target)
    lab.load([up], 1, 100).wait()
    back = f"{lab.flow}-back"
    agent = lab.agents.start(policyfile.text(
        {"plant7": policyfile.merge(
            policyfile.source_side(lab.source),
            {"durability": {"replicas": 1, "because": "single-broker"}}),
         "cloud": policyfile.target_side(lab.target)},
        {lab.flow: policyfile.flow([rf"{lab.unique}\.up"]),
         back: policyfile.flow([rf".*{lab.unique}\..*"], "cloud", "plant7",
                               rename={"policy": "identity"})},
        "{socket}"))
    lab.delivered(up, 100, repeats=False)

    def skipped():
        return [one["reason"] for one in agent.flow(back)["skipped"]
                if one["topic"] == f"plant7.{up}"]
    assert "another flow" in proc.wait_for("a copy that is skipped", skipped)[0]
    lab.kit.load(lab.target, [down], 1, 50).wait()
    kit_module.Kit.compare(lab.kit, lab.target, down, lab.source,
                           down).assert_delivered(50, False)
    assert f"plant7.{up}" not in lab.kit.topics(lab.source)


@pytest.mark.big
@pytest.mark.limit(240)
def test_two_thousand_partitions(lab):
    topics = [lab.topic(f"wide{i}", partitions=500) for i in range(4)]
    load = lab.load(topics, 500, 20_000)
    agent = lab.start(ready=False)
    load.wait()
    for topic in topics:
        lab.delivered(topic, 5000, repeats=False, idle=60)
    agent.ready()
    assert agent.metric("kedge_partitions_owned") == 2000
    assert agent.stop() == 0
    for topic in topics:  # the other tests shall not carry them along
        lab.kit.delete(lab.source, topic)
        lab.kit.delete(lab.target, f"plant7.{topic}")
