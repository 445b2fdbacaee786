"""A policy for the tests: the smallest one that passes, with changes.

`text()` writes it as an operator would, in the flow style that YAML shares
with JSON, so that every value is exactly what the test said.
"""

import json
import re

REMOTE_PRODUCING = {
    "producer": {"acks": "all", "retries": "unlimited"},
    "errors.tolerance": "none",
}


BARE = re.compile(r"[A-Za-z/][\w./-]*|\d+(ms|s|m|h|d|KiB|MiB|GiB)")


def scalar(value):
    """Words, sizes and durations stand bare; the rest is quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return value if BARE.fullmatch(value) else json.dumps(value)


def inline(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {inline(v)}" for k, v in
                               value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(one) for one in value) + "]"
    return scalar(value)


def merge(base, more):
    """`more` wins; a None takes a key away."""
    out = dict(base)
    for key, value in more.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merge(out[key], value)
        else:
            out[key] = value
    return out


def source_side(cluster, listener=None):
    return {"site": "plant7", "bootstrap": cluster.bootstrap(listener),
            "tls": "off"}


def target_side(cluster, listener="tls", sasl=None, client=None, ca=None):
    """`sasl`: (mechanism, user, path of the password); `client`: (cert, key)."""
    tls = {"ca": str(ca or cluster.pki.ca)}
    if client:
        tls |= {"cert": str(client[0]), "key": str(client[1])}
    side = {"site": "eu-west-1", "bootstrap": cluster.bootstrap(listener),
            "tls": tls}
    if sasl:
        side["sasl"] = {"mechanism": sasl[0], "username": sasl[1],
                        "password": {"file": str(sasl[2])}}
    if cluster.n < 3:
        side["durability"] = {"replicas": cluster.n,
                              "because": "single-broker"}
    return side


def flow(include, source="plant7", target="cloud", **more):
    base = {"from": source, "to": target,
            "topics": {"include": include, "start": "earliest",
                       "refresh": "1s"}}
    if source == "plant7":
        base = merge(base, REMOTE_PRODUCING)
    return merge(base, more)


def text(clusters, flows, socket, site="plant7"):
    lines = ["version: 1", f"agent: {{site: {site}}}"]
    if any(clusters[one["from"]]["site"] == site for one in flows.values()):
        lines += ["placement: {because: firewall, outage_budget: 72h}"]
    lines += ["clusters:"]
    lines += [f"  {name}: {inline(one)}" for name, one in clusters.items()]
    lines += ["flows:"]
    for name, one in flows.items():
        lines += [f"  {name}:"]
        lines += [f"    {key}: {inline(value)}" for key, value in one.items()]
    lines += [f"admin: {{socket: {scalar(str(socket))}}}"]
    return "\n".join(lines) + "\n"
