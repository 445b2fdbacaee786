"""What is to be seen at the source, and what happens when it permits less."""

import proc

AGENT = "User:ANONYMOUS"


def allow(lab, resource, name, *operations):
    """From now on these and no other."""
    for operation in operations:
        lab.kit.acl(lab.source, AGENT, operation, resource, name)


def forbid(lab, resource, name):
    """Whatever has an entry is for those alone whom it names."""
    lab.kit.acl(lab.source, "User:nobody", "READ", resource, name)


def test_a_source_that_permits_less(lab):
    """The group is for nobody, and then a topic is taken away: records of the
    others flow, and what is missing is named."""
    taken, kept = lab.topic("taken"), lab.topic("kept")
    forbid(lab, "GROUP", lab.group)
    lab.load([taken, kept], 1, 200).wait()
    agent = lab.start()
    lab.delivered(taken, 100, repeats=False)
    lines = proc.wait_for("a line that says it",
                          lambda: agent.events("position.hidden"), 20)
    assert lines[0]["level"] == "info" and lines[0]["group"] == lab.group
    assert "Read on the group" in lines[0]["why"]
    agent.ready(5)

    allow(lab, "TOPIC", taken, "DESCRIBE", "WRITE")
    lab.load([taken, kept], 1, 200).wait()
    one = agent.wait_partition(lab.flow, taken, state="held")
    assert f"grant this client Read on topic {taken}" in one["reason"]
    lab.delivered(kept, 200, repeats=False)
    allow(lab, "TOPIC", taken, "READ", "DESCRIBE_CONFIGS")
    assert agent.tool("flow", "restart", lab.flow).returncode == 0
    lab.delivered(taken, 200, repeats=False)
    agent.ready(10)

    forbid(lab, "TOPIC", kept)
    proc.wait_for("the topic to be missed", lambda: [
        skip for skip in agent.flow(lab.flow)["skipped"]
        if skip["topic"] == kept and "Describe" in skip["reason"]], 20)
    assert len(agent.events("position.hidden")) == 1
    assert agent.stop() == 0


def test_records_that_unpack_to_much(lab):
    """Records take the memory that max_in_flight allows, however well they
    compress."""
    limit = 4 << 20
    peaks = {}
    for word, kind in [("plain", {"codec": "none"}),
                       ("packed", {"codec": "zstd", "zeros": 98})]:
        topic = lab.topic(word, partitions=4)
        lab.load([topic], 4, 12_000, size=10_000, **kind).wait()
        lab.flow = f"{lab.unique}-{word}"
        agent = lab.start([rf"{lab.unique}\.{word}"],
                          limits={"max_in_flight": "4MiB"},
                          producer={"compression.type": "zstd"})
        lab.delivered(topic, 12_000, repeats=False)
        peaks[word] = proc.peak_rss(agent.process.pid)
        assert agent.stop() == 0
    assert peaks["packed"] - peaks["plain"] < 5 * limit


def test_no_more_is_unpacked_than_there_is_room_for(lab):
    """An answer of 128 KiB has hundreds of these, 900 kB each."""
    limit = 4 << 20
    topic = lab.topic("zeros", partitions=4, max_message_bytes=2 << 20)
    lab.load([topic], 4, 400, size=900_000, codec="zstd", zeros=100).wait()
    agent = lab.start(limits={"max_in_flight": "4MiB"},
                      producer={"compression.type": "zstd"})
    lab.delivered(topic, 400, repeats=False)
    peak = proc.peak_rss(agent.process.pid)
    print(f"zeros: {peak >> 20} MiB")
    assert peak < (64 << 20) + 5 * limit
    assert agent.stop() == 0


def test_a_backlog_is_in_nobodys_way(lab):
    """Partitions that always have more to give, and room for few of them at a
    time: the others have their turn long before a backlog is through."""
    hot, cold = (lab.topic("a-hot", partitions=8),
                 lab.topic("b-cold", partitions=6))
    lab.load([hot], 8, 80_000, size=1000).wait()
    lab.load([cold], 6, 60, size=1000).wait()
    agent = lab.start(limits={"max_in_flight": "1MiB",
                              "bytes_per_second": "512KiB"})
    proc.wait_for("a turn for each", lambda: all(
        one.get("acked_next", 0) > 0
        for one in agent.partitions(lab.flow).values()), 90)
    done = [agent.partition(lab.flow, hot, i)["acked_next"] for i in range(8)]
    assert max(done) < 10_000, done
