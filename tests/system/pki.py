"""Certificates for the tests, made on the spot with openssl."""

import pathlib
import subprocess


def _openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Pki:
    """One authority in a folder: ca.pem, and NAME.key/.pem for each name."""

    def __init__(self, folder, subject="Test authority"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ca = self.folder / "ca.pem"
        self._ca_key = self.folder / "ca.key"
        self._key(self._ca_key)
        _openssl("req", "-x509", "-new", "-key", self._ca_key, "-days", 30,
                 "-subj", f"/CN={subject}", "-out", self.ca,
                 "-addext", "basicConstraints=critical,CA:TRUE",
                 "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    @staticmethod
    def _key(path):
        _openssl("genpkey", "-algorithm", "EC", "-pkeyopt",
                 "ec_paramgen_curve:P-256", "-out", path)
        path.chmod(0o600)

    def issue(self, name, san="DNS:localhost,IP:127.0.0.1", subject=None,
              days=20):
        """Gives (certificate, key) for a server or a client; with days=-1 a
        certificate that ended yesterday."""
        key = self.folder / f"{name}.key"
        cert = self.folder / f"{name}.pem"
        request = self.folder / f"{name}.csr"
        extensions = self.folder / f"{name}.ext"
        self._key(key)
        extensions.write_text(f"subjectAltName={san}\n"
                              "extendedKeyUsage=serverAuth,clientAuth\n")
        _openssl("req", "-new", "-key", key, "-subj",
                 f"/CN={subject or name}", "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey",
                 self._ca_key, "-CAcreateserial", "-days", days,
                 "-extfile", extensions, "-out", cert)
        return cert, key

    def keystore(self, name, **more):
        """One file as Kafka's PEM keystores want it: key, certificate, CA."""
        cert, key = self.issue(name, **more)
        store = self.folder / f"{name}.store.pem"
        store.write_text(key.read_text() + cert.read_text() +
                         self.ca.read_text())
        store.chmod(0o600)
        return store
