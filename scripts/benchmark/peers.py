"""The peers, each set up the way its own documentation says to for speed and for the durability it is compared at."""

import os
import pathlib
import re
import shutil
import subprocess

from harness.service import Service, ServiceFailed, free_port

BARE_LOOP = pathlib.Path(__file__).with_name("bare_loop.c")


class Nginx(Service):
    """Serves `files` (name to bytes) from memory-resident files over keep-alive connections, without a log."""

    SETUP = ("nginx: worker_processes auto, access_log off, sendfile, tcp_nopush, tcp_nodelay, open_file_cache, "
             "unlimited keep-alive")

    def __init__(self, folder, files, log="off", check=""):
        """`log` is the value of `access_log`; `check` is a statement of the server that can refuse a request."""
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        self.port = free_port()
        settings = folder / "nginx.conf"
        settings.write_text(f"""
            daemon off;
            {"user root;" if os.geteuid() == 0 else ""}
            worker_processes auto;
            pid {folder}/pid;
            error_log stderr notice;
            events {{ worker_connections 4096; use epoll; }}
            http {{
                access_log {log};
                sendfile on;
                tcp_nopush on;
                tcp_nodelay on;
                keepalive_timeout 600s;
                keepalive_requests 1000000000;
                open_file_cache max=1000 inactive=600s;
                open_file_cache_valid 600s;
                default_type application/json;
                client_body_temp_path {folder}/body;
                proxy_temp_path {folder}/proxy;
                fastcgi_temp_path {folder}/fastcgi;
                uwsgi_temp_path {folder}/uwsgi;
                scgi_temp_path {folder}/scgi;
                server {{ listen 127.0.0.1:{self.port}; root {folder}; {check} }}
            }}
        """)
        super().__init__("nginx", ["nginx", "-e", "stderr", "-p", folder, "-c", settings],
                         re.compile("start worker process "))


class ProtectedNginx(Nginx):
    """Serves files like `Nginx`, checks a token, and writes a buffered access log."""

    SETUP = "protected nginx: as nginx, with a comparison of the token and access_log combined buffer=64k flush=1s"

    def __init__(self, folder, files, token):
        super().__init__(folder, files, log=f"{folder}/access.log combined buffer=64k flush=1s",
                         check=f'if ($http_authorization != "Bearer {token}") {{ return 401; }}')


class BareLoop(Service):
    """Sends the bytes of `response` to every request, from one thread; compiled from C when it is made."""

    SETUP = "bare loop: one thread over epoll in C, sends the same bytes to each request without reading it further"

    def __init__(self, folder, response):
        folder.mkdir()
        (folder / "response").write_bytes(response)
        program = folder / "bare_loop"
        if (compiler := shutil.which("cc") or shutil.which("clang")) is None:
            raise ServiceFailed("the bare loop was not compiled: there is neither cc nor clang; install one")
        run = subprocess.run([compiler, "-O2", "-o", program, BARE_LOOP], capture_output=True, text=True)
        if run.returncode:
            raise ServiceFailed(f"the bare loop was not compiled: {compiler} ended with {run.returncode}:\n{run.stderr}")
        super().__init__("bare loop", [program, folder / "response"], re.compile(r"listening on port (\d+)"))

    @property
    def port(self):
        return int(self.match[1])


class Redis(Service):
    """Keeps an append-only file, synced at each write (`always`) or once a second (`everysec`)."""

    SETUP = "redis: appendonly yes, appendfsync as named, no RDB snapshots, no rewriting of the file meanwhile"

    def __init__(self, folder, appendfsync):
        folder.mkdir()
        self.port = free_port()
        super().__init__(
            f"redis ({appendfsync})",
            ["redis-server", "--bind", "127.0.0.1", "--port", self.port, "--dir", folder, "--save", "",
             "--appendonly", "yes", "--appendfsync", appendfsync, "--auto-aof-rewrite-percentage", "0"],
            re.compile("Ready to accept connections"))

    def changes(self):
        """The number of writes so far."""
        return int(re.search(r"rdb_changes_since_last_save:(\d+)", self.ask("info", "persistence"))[1])

    def ask(self, *words):
        run = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, check=True)
        return run.stdout


class Etcd(Service):
    """One member that answers the v2 API. Every write is synced before it is answered; etcd knows no other way."""

    SETUP = "etcd: one member, v2 API, everything else as it comes"

    def __init__(self, folder):
        folder.mkdir()
        self.port, peer_port = free_port(), free_port()
        peer = f"http://127.0.0.1:{peer_port}"
        super().__init__(
            "etcd",
            ["etcd", "--enable-v2", "--name", "one", "--data-dir", folder / "data", "--logger", "zap",
             "--log-level", "info",
             "--listen-client-urls", self.origin, "--advertise-client-urls", self.origin,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}"],
            re.compile("serving client traffic insecurely|serving insecure client requests"))
