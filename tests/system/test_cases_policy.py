"""Cases that the policy alone decides: what `check` refuses, `run` refuses in
the same words, and the same file with the one thing mended passes."""

import json
import os

import pytest

import agent as agent_kit

GOOD = """\
version: 1
agent: {{site: plant7}}
placement: {{because: firewall, outage_budget: 72h}}
clusters:
  plant7: {{site: plant7, bootstrap: [127.0.0.1:1], tls: off}}
  cloud:
    site: eu-west-1
    bootstrap: [localhost:2]
    tls: {{ca: {ca}}}
flows:
  orders:
    from: plant7
    to: cloud
    topics: {{include: [orders]}}
    producer: {{acks: all, retries: unlimited}}
    errors.tolerance: none
admin: {{socket: {folder}/admin.sock}}
"""

PRODUCER = "{acks: all, retries: unlimited}"
INCLUDE = "{include: [orders]}"
SASL = "    sasl: {{mechanism: {}, username: edge, password: {{file: {}}}}}\n"

REFUSED = [
    # case, what stands there, what is written instead, {code: a word of it}
    ("P01 acks", "acks: all", "acks: 1", {"KP045": "acks"}),
    ("P01 no acks at all", "acks: all", "acks: 0", {"KP045": "acks"}),
    ("P01 retries", "unlimited", "10", {"KP046": "retries"}),
    ("P01 tolerance", "tolerance: none", "tolerance: all",
     {"KP047": "errors.tolerance"}),
    ("P01 all of it, and a dead letter topic",
     PRODUCER + "\n    errors.tolerance: none",
     "{acks: 1, retries: 10}\n    errors.tolerance: all\n"
     "    dead_letter_topic: edge.dlq",
     {"KP045": "acks", "KP046": "retries", "KP047": "errors.tolerance",
      "KP020": "dead_letter_topic"}),
    ("P02 at the cluster", "    site: eu-west-1\n",
     "    site: eu-west-1\n    max_request_size: 5242880\n",
     {"KP021": "flows.NAME.producer"}),
    ("P02 a prefix of Java's", "acks: all", "producer.acks: all, acks: all",
     {"KP020": "producer.acks"}),
    ("P03 a misspelt tolerance", "errors.tolerance", "error_tolerance",
     {"KP020": "errors.tolerance"}),
    ("P03 a key twice", "acks: all", "acks: all, acks: all",
     {"KP002": "acks"}),
    ("P03 a misspelt key far down", "{ca: ", "{min_vresion: '1.2', ca: ",
     {"KP020": "min_version"}),
    ("P03 a cluster that is not there", "from: plant7", "from: source",
     {"KP040": "source"}),
    ("P05 a star", INCLUDE, "{include: ['*']}", {"KP075": ".*"}),
    ("P05 a comma list", INCLUDE, "{include: ['orders,alarms']}",
     {"KP079": "list"}),
    ("P05 nothing", INCLUDE, "{include: []}", {"KP031": "include"}),
    ("P05 an internal topic by name", INCLUDE,
     "{include: [__consumer_offsets]}", {"KP073": "internal"}),
    ("P06 one broker for both", "localhost:2", "127.0.0.1:1",
     {"KP070": "cluster"}),
    ("P18 what is not committed", "acks: all",
     PRODUCER[1:-1] + "}\n    consumer: {isolation.level: read_uncommitted}\n#",
     {"KP059": "isolation.level"}),
    ("P21 a time after which a record is given up", "acks: all",
     "acks: all, delivery.timeout.ms: 300000",
     {"KP052": "delivery.timeout.ms"}),
    ("P21 the same by another name", "acks: all",
     "acks: all, delivery_timeout: 5m", {"KP020": "delivery.timeout.ms"}),
    ("P22 positions that are stored before the acks", "acks: all",
     PRODUCER[1:-1] + "}\n    consumer: {enable.auto.commit: true}\n#",
     {"KP055": "enable.auto.commit"}),
    ("P27 retries out of order", "acks: all",
     "acks: all, enable.idempotence: false",
     {"KP050": "enable.idempotence"}),
]


@pytest.fixture
def write(work, unique, pki):
    folder = work / "policies" / unique
    folder.mkdir(parents=True)

    def write(was="", now=""):
        text = GOOD.format(ca=pki.ca, folder=folder)
        assert was in text, "the row does not fit the policy"
        path = folder / "policy.yaml"
        path.write_text(text.replace(was, now, 1) if was else text)
        return path
    return write


def findings(path):
    done = agent_kit.run("check", path, "--format", "json")
    return done.returncode, json.loads(done.stdout)["findings"]


@pytest.mark.parametrize("case, was, now, want", REFUSED,
                         ids=[row[0] for row in REFUSED])
def test_refused(write, case, was, now, want):
    assert findings(write()) == (0, []), "the control"
    path = write(was, now)
    status, found = findings(path)
    assert status == 78
    assert sorted(one["code"] for one in found) == sorted(want), found
    for one in found:
        said = f"{one['text']}\n{one['remedy']}"
        assert want[one["code"]] in said, said
        assert one["severity"] == "refused" and one["line"] > 1
    ran = agent_kit.run("run", path, timeout=20)
    assert ran.returncode == 78
    for one in found:
        assert f"[{one['code']}]" in ran.stderr and one["text"] in ran.stderr
    assert not path.with_name("admin.sock").exists(), "it started something"


def test_p01_nothing_overrides_the_policy(write):
    """No option, and no variable of the environment."""
    path = write("acks: all", "acks: 1")
    for option in (["--acks", "1"], ["--force"], ["--errors-tolerance=all"]):
        done = agent_kit.run("run", path, *option)
        assert done.returncode == 64, done.stderr
    loud = {f"{prefix}{name}": value for prefix in ("", "KEDGE_", "KAFKA_")
            for name, value in [("ACKS", "all"), ("FORCE", "1"),
                                ("PRODUCER_ACKS", "all"),
                                ("ERRORS_TOLERANCE", "all")]}
    done = agent_kit.run("run", path, env={**os.environ, **loud})
    assert done.returncode == 78 and "[KP045]" in done.stderr


def test_p05_a_dot_that_says_too_much_is_a_warning(write):
    status, found = findings(write(INCLUDE, "{include: [a.b]}"))
    assert status == 0
    assert [one["code"] for one in found] == ["KP076"]
    assert r"a\.b" in found[0]["remedy"]
    assert findings(write(INCLUDE, r"{include: ['a\.b', '(?!t).*']}")) \
        == (0, [])


def test_p50_what_the_binary_was_built_with(write):
    """TLS and each mechanism are there, and a policy may use them."""
    done = agent_kit.run("version")
    assert done.returncode == 0
    for word in ("OpenSSL 3", "TLS", "PLAIN", "SCRAM-SHA-256", "-512",
                 "zstd"):
        assert word in done.stdout, done.stdout
    password = write().with_name("password")
    password.write_text("secret\n")
    password.chmod(0o600)
    flows = "flows:\n"
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        sasl = SASL.format(mechanism, password)
        assert findings(write(flows, sasl + flows)) == (0, []), mechanism
    status, found = findings(write(
        flows, SASL.format("GSSAPI", password) + flows))
    assert status == 78 and "GSSAPI" in found[0]["text"]


def test_p51_a_secret_in_the_policy(write):
    """It is refused, and is not shown while that is said."""
    word = "S3cr3t-canary-91"
    path = write("flows:\n", "    sasl: {mechanism: PLAIN, username: edge, "
                 f"password: {word}}}\nflows:\n")
    for args in (["check", path], ["check", path, "--format", "json"],
                 ["run", path], ["policy", "show", path]):
        done = agent_kit.run(*args)
        assert done.returncode == 78, done
        assert "KP033" in done.stdout + done.stderr
        assert word not in done.stdout + done.stderr, args
