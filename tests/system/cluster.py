"""Clusters of real brokers, KRaft, on loopback.

A source cluster has one plaintext listener.  A target cluster speaks TLS
alone, on four listeners of each broker:
  tls    the way the judge takes, and the brokers among themselves
  link   the same, advertised at a relay (`relay=`): the long or broken link
  sasl   with SCRAM and PLAIN users
  mtls   with a client certificate
"""

import pathlib
import signal
import socket
import uuid
import base64

import jars
import proc

USERS = {"edge": "S3cr3t-canary-91", "reader": "r3ader-pass"}

COMMON = """
process.roles=broker,controller
controller.listener.names=CONTROLLER
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=4
num.replica.fetchers=1
log.cleaner.threads=1
log.cleaner.backoff.ms=500
log.cleaner.dedupe.buffer.size=4194304
log.cleaner.io.buffer.size=262144
log.retention.ms=-1
log.retention.check.interval.ms=2000
log.initial.task.delay.ms=1000
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
replica.lag.time.max.ms=5000
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=1000
controlled.shutdown.enable=true
message.max.bytes=8388608
"""


class Cluster:
    """`n` brokers; start() returns at once, ready() waits for them."""

    def __init__(self, name, folder, n=1, pki=None, relay=None, heap="512m",
                 log_folder=None):
        self.name = name
        self.n = n
        self.pki = pki
        self.relay = relay
        self.heap = heap
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.logs = pathlib.Path(log_folder or folder)
        # not with a dash in front, which would look like an option
        self.id = "k" + base64.urlsafe_b64encode(
            uuid.uuid4().bytes).decode()[1:22]
        self._names = ["controller", "tls", "link", "sasl", "mtls"] if pki \
            else ["controller", "plain"]
        ports = iter(proc.free_ports(n * len(self._names)))
        self.ports = [{name: next(ports) for name in self._names}
                      for _ in range(n)]
        if relay:
            for ports in self.ports:
                ports["relay"] = relay.open(ports["link"])
        self.processes = [None] * n
        self._store = pki.keystore(name) if pki else None
        for i in range(n):
            self._write_config(i)

    def _config(self, i):
        return self.folder / f"{self.name}-{i + 1}.properties"

    def _write_config(self, i):
        ports, factor = self.ports[i], min(self.n, 3)
        voters = ",".join(f"{j + 1}@localhost:{p['controller']}"
                          for j, p in enumerate(self.ports))
        listeners = ",".join(f"{name.upper()}://127.0.0.1:{ports[name]}"
                             for name in self._names)
        advertised = ",".join(
            f"{name.upper()}://localhost:{self._advertised(ports, name)}"
            for name in self._names if name != "controller")
        kinds = {"plain": "PLAINTEXT", "controller": "PLAINTEXT",
                 "sasl": "SASL_SSL"}
        protocols = ",".join(f"{name.upper()}:{kinds.get(name, 'SSL')}"
                             for name in self._names)
        lines = [COMMON, f"node.id={i + 1}",
                 f"controller.quorum.voters={voters}",
                 f"listeners={listeners}",
                 f"advertised.listeners={advertised}",
                 f"listener.security.protocol.map={protocols}",
                 f"inter.broker.listener.name={self._names[1].upper()}",
                 f"log.dirs={self.folder}/{self.name}-{i + 1}",
                 f"default.replication.factor={factor}",
                 f"offsets.topic.replication.factor={factor}",
                 f"transaction.state.log.replication.factor={factor}",
                 f"transaction.state.log.min.isr={min(factor, 2)}",
                 f"min.insync.replicas={min(factor, 2)}"]
        lines += self._tls_lines() if self.pki else []
        lines += [
            "authorizer.class.name=org.apache.kafka.metadata.authorizer."
            "StandardAuthorizer",
            "allow.everyone.if.no.acl.found=true"]
        self._config(i).write_text("\n".join(lines) + "\n")

    @staticmethod
    def _advertised(ports, name):
        return ports.get("relay", ports[name]) if name == "link" \
            else ports[name]

    def _tls_lines(self):
        plain = " ".join(f'user_{user}="{password}"'
                         for user, password in USERS.items())
        module = "org.apache.kafka.common.security"
        return [
            "ssl.keystore.type=PEM", f"ssl.keystore.location={self._store}",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={self.pki.ca}",
            "listener.name.mtls.ssl.client.auth=required",
            "listener.name.sasl.sasl.enabled.mechanisms="
            "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
            *(f"listener.name.sasl.scram-sha-{n}.sasl.jaas.config="
              f"{module}.scram.ScramLoginModule required;"
              for n in (256, 512)),
            "listener.name.sasl.plain.sasl.jaas.config="
            f"{module}.plain.PlainLoginModule required {plain};",
            "super.users=User:ANONYMOUS"]

    def start(self, i=None):
        for k in range(self.n) if i is None else [i]:
            scram = []
            if self.pki:
                for user, password in USERS.items():
                    for kind in (256, 512):
                        scram += ["--add-scram", f"SCRAM-SHA-{kind}=[name="
                                  f"{user},password={password}]"]
            self.processes[k] = proc.spawn(
                ["java", f"-Xmx{self.heap}", "-Xms128m", "-XX:+UseSerialGC",
                 "-Xshare:auto", "-XX:-UsePerfData",
                 "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                 "-Dorg.slf4j.simpleLogger.showDateTime=true",
                 "-cp", jars.classpath(), "Broker", self._config(k), self.id,
                 *scram], self.logs / f"{self.name}-{k + 1}.log")

    def ready(self, i=None, timeout=120):
        """Until the broker accepts connections, which it does once it is
        registered, caught up and unfenced."""
        for k in range(self.n) if i is None else [i]:
            port = self.ports[k][self._names[1]]

            def up():
                if self.processes[k].poll() is not None:
                    raise RuntimeError(f"{self.name}-{k + 1} ended, see "
                                       f"{self.logs}")
                with socket.socket() as sock:
                    return sock.connect_ex(("127.0.0.1", port)) == 0
            proc.wait_for(f"{self.name}-{k + 1}", up, timeout)
        return self

    def kill(self, i=0):
        self.processes[i].kill()
        self.processes[i].wait()

    def freeze(self, i=0):
        """It keeps its connections and answers nothing."""
        self.processes[i].send_signal(signal.SIGSTOP)

    def thaw(self, i=0):
        self.processes[i].send_signal(signal.SIGCONT)

    def stop(self, i=None, grace=20):
        for k in range(self.n) if i is None else [i]:
            if self.processes[k]:
                self.processes[k].send_signal(signal.SIGCONT)
                self.processes[k].terminate()
        for k in range(self.n) if i is None else [i]:
            if self.processes[k]:
                proc.end(self.processes[k], grace)

    def end(self):
        """At the end of a session nothing has to be saved."""
        for process in self.processes:
            if process and process.poll() is None:
                process.kill()
        for process in self.processes:
            if process:
                process.wait()

    def bootstrap(self, listener=None):
        listener = listener or self._names[1]
        return [f"localhost:{self._advertised(ports, listener)}"
                for ports in self.ports]

    def client(self):
        """Properties of the Java clients of the kit."""
        config = {"bootstrap.servers": ",".join(self.bootstrap())}
        if self.pki:
            config |= {"security.protocol": "SSL",
                       "ssl.truststore.type": "PEM",
                       "ssl.truststore.location": str(self.pki.ca)}
        return config
