"""The judge itself: copies with one thing wrong, and what must be found.

None of these need an agent; they are why the other tests can be believed."""

import random

import pytest

import kit as kit_module

WORDS = ["plain", None, "", "words " * 50]
HEADERS = [[], [("h", "1"), ("h", "2"), ("z", None), ("e", ""), ("h", "1")]]
BASE_MS = 1700000000000


def made(n, partitions=2):
    """The same records every time, no two alike."""
    dice = random.Random(7)
    records = []
    for i in range(n):
        value = dice.choice(WORDS)
        records.append(kit_module.record(
            None if value is None else f"{value}{i}" if value else "",
            key=dice.choice([None, "", f"k{i}"]), partition=i % partitions,
            headers=dice.choice(HEADERS) + [("n", str(i))],
            timestamp=BASE_MS + i))
    return records


def swap(records):
    records[40], records[42] = records[42], records[40]


def drop(records):
    del records[50]


def drop_last(records):
    del records[-1]


def repeat_run(records):
    records[60:60] = records[40:60]


def interleave(records):
    """Two writers: the later part of a repeat comes without its start."""
    records[60:60] = [records[40], records[46], records[48]]


def stranger(records):
    records.insert(30, kit_module.record("from elsewhere"))


def null_to_empty(records):
    place = next(i for i, one in enumerate(records) if one["value"] is None)
    records[place]["value"] = ""


def empty_to_null_key(records):
    place = next(i for i, one in enumerate(records) if one["key"] == "")
    records[place]["key"] = None


def later(records):
    records[20]["timestamp"] += 1


def headers_sorted(records):
    place = next(i for i, one in enumerate(records)
                 if len(one["headers"]) > 4)
    records[place]["headers"].sort(key=str)


def header_null_to_empty(records):
    place = next(i for i, one in enumerate(records)
                 if len(one["headers"]) > 4)
    records[place]["headers"][2][1] = ""


def other_partition(records):
    records[70]["partition"] = 1 - records[70]["partition"]


CASES = [
    # label, what is done to the copy, what the judge must count
    ("a true copy", lambda records: None, {}),
    ("two records of a partition swapped", swap, {"missing": 1, "repeats": 1}),
    ("one record left out", drop, {"missing": 1}),
    ("the last record left out", drop_last, {"missing": 1}),
    ("a run sent again", repeat_run, {"repeats": 20, "runs": 2, "leaps": 0}),
    ("repeats of two writers", interleave, {"repeats": 3, "leaps": 2}),
    ("a record of somebody else", stranger, {"foreign": 1}),
    ("a tombstone became an empty value", null_to_empty, {"altered": 1}),
    ("an empty key became none", empty_to_null_key, {"altered": 1}),
    ("a timestamp off by one", later, {"altered": 1}),
    ("headers in another order", headers_sorted, {"altered": 1}),
    ("a null header became empty", header_null_to_empty, {"altered": 1}),
    ("a record in another partition", other_partition,
     {"missing": 1, "foreign": 1}),
]


@pytest.mark.parametrize("label, change, want", CASES,
                         ids=[case[0] for case in CASES])
def test_judge(kit, source, target, unique, label, change, want):
    kit.create(source, unique, partitions=2)
    kit.create(target, unique, partitions=2)
    kit.produce(source, unique, made(100))
    copy = made(100)
    change(copy)
    kit.produce(target, unique, copy)
    found = kit.compare(source, unique, target, unique, idle=0.5)
    expected = {"missing": 0, "altered": 0, "foreign": 0, "repeats": 0} | want
    assert {name: getattr(found, name) for name in expected} == expected, \
        f"{found}\n" + "\n".join(found.bad)
    assert bool(found.bad) == any(
        expected[name] for name in ("missing", "altered", "foreign"))


def test_judge_waits_for_what_is_still_to_come(kit, source, target, unique):
    """Also for a target topic that does not exist yet."""
    kit.create(source, unique, partitions=2)
    kit.produce(source, unique, made(50))
    verdict = kit.begin(
        "compare", source=source.client(), topic=unique,
        target=target.client(), target_topic=unique, idle_ms=20000)
    kit.create(target, unique, partitions=2)
    kit.produce(target, unique, made(50))
    kit_module.Verdict(unique, verdict.result(60)).assert_delivered(50, False)


def test_aborted_records_are_no_records(kit, source, target, unique):
    kit.create(source, unique)
    kit.create(target, unique)
    for action in ("commit", "abort", "commit"):
        kit.txn(source, unique, "begin")
        kit.txn(source, unique, "send", unique,
                [kit_module.record(f"{action} {i}", timestamp=BASE_MS)
                 for i in range(5)])
        kit.txn(source, unique, action)
    kit.txn(source, unique, "close")
    kit.produce(target, unique, [kit_module.record(f"commit {i}",
                                                   timestamp=BASE_MS)
                                 for i in [*range(5), *range(5)]])
    found = kit.compare(source, unique, target, unique, idle=0.5)
    found.assert_delivered(10, repeats=False)
