"""The brokers' jars and our own Java classes, fetched or compiled once.

jars.folder() gives the folder with Kafka's jars: KEDGE_KAFKA_JARS when it is
set, else ~/.cache/kedge/kafka-VERSION, which Maven fills the first time.
jars.classpath() has our own classes in front, compiled when a source changed.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = sorted(HERE.glob("*.java"))


def _cache():
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "kedge"


def version():
    pom = (HERE / "pom.xml").read_text()
    return re.search(r"<kafka.version>(.*?)</kafka.version>", pom).group(1)


def folder():
    given = os.environ.get("KEDGE_KAFKA_JARS")
    if given:
        return pathlib.Path(given)
    jars = _cache() / f"kafka-{version()}"
    if not jars.is_dir():
        _fetch(jars)
    return jars


def _fetch(jars):
    """Beside the final name first, so that a broken download leaves nothing."""
    partial = jars.with_name(jars.name + f".{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    command = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"),
               "dependency:copy-dependencies", f"-DoutputDirectory={partial}",
               f"-DbuildDirectory={partial}.build"]
    for attempt in range(3):
        if subprocess.run(command, check=attempt == 2).returncode == 0:
            break
    shutil.rmtree(f"{partial}.build", ignore_errors=True)
    try:
        partial.rename(jars)
    except OSError:  # somebody else was faster
        shutil.rmtree(partial)


def classpath():
    jars = folder()
    digest = hashlib.sha256(str(jars).encode())
    for source in SOURCES:
        digest.update(source.read_bytes())
    classes = _cache() / f"classes-{digest.hexdigest()[:16]}"
    if not classes.is_dir():
        partial = classes.with_name(classes.name + f".{os.getpid()}")
        subprocess.run(["javac", "-nowarn", "-d", partial, "-cp", f"{jars}/*",
                        *SOURCES], check=True)
        try:
            partial.rename(classes)
        except OSError:
            shutil.rmtree(partial)
    return f"{classes}:{jars}/*"
