"""A service with a certificate of its own, and clients that trust it."""
import http.client
import os
import shutil
import ssl
import subprocess

from harness import PATIENCE, Service

OPENSSL = shutil.which("openssl")


KINDS = {"ec": ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), "rsa": ("rsa:2048",)}


def make_certificate(folder, name, kind="ec"):
    """A certificate for 127.0.0.1 and its key, both of this name."""
    paths = os.path.join(folder, name + ".crt"), os.path.join(folder, name + ".key")
    subprocess.run([OPENSSL, "req", "-x509", "-newkey", *KINDS[kind],
                    "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout",
                    paths[1]], check=True, capture_output=True, timeout=PATIENCE)
    return paths


def trusting(certificate, version=None):
    """Trusts nothing but this certificate, and speaks any version of TLS or this one alone."""
    context = ssl.create_default_context(cafile=certificate)
    if version:
        context.minimum_version = context.maximum_version = version
    return context


class TlsService(Service):
    greeting = rb"listening on https://127\.0\.0\.1:(\d+)\n"

    def __init__(self, *options):
        super().__init__(*options)
        self.certificate, self.key = make_certificate(self.home, "first")
        self.options += ("--tls-cert", self.certificate, "--tls-key", self.key)
        self.context = trusting(self.certificate)

    def connection(self, context=None):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE,
                                           context=context or self.context)

    def replace(self, files):
        """Puts other files in the place of the certificate and the key, each at once."""
        for new, old in zip(files, (self.certificate, self.key)):
            shutil.copy(new, old + ".new")
            os.replace(old + ".new", old)
