"""The servers that the benchmarks compare with the daemon. Each server has the configuration that its documentation recommends for
speed and for the durability of the comparison."""

import os
import pathlib
import re
import shutil
import subprocess

from harness.service import Service, ServiceFailed, free_port

BARE_LOOP = pathlib.Path(__file__).with_name("bare_loop.c")


class Nginx(Service):
    """nginx, which serves `files` (a map of names to bytes) over keep-alive connections. By default, it writes no access log."""

    SETUP = ("nginx: worker_processes auto, access_log off, sendfile, tcp_nopush, tcp_nodelay, open_file_cache, "
             "unlimited keep-alive")

    def __init__(self, folder, files, log="off", check=""):
        """`log` is the value of `access_log`. `check` is a statement for the `server` block that can refuse a request."""
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
    """nginx, which also checks a token and writes a buffered access log."""

    SETUP = "protected nginx: as nginx, but compares the token, and has access_log combined buffer=64k flush=1s"

    def __init__(self, folder, files, token):
        super().__init__(folder, files, log=f"{folder}/access.log combined buffer=64k flush=1s",
                         check=f'if ($http_authorization != "Bearer {token}") {{ return 401; }}')


class BareLoop(Service):
    """A server in C with one thread, which answers every request with `response`. The constructor compiles the server."""

    SETUP = "bare loop: a server in C with one thread and epoll, which answers without parsing the request"

    def __init__(self, folder, response):
        folder.mkdir()
        (folder / "response").write_bytes(response)
        program = folder / "bare_loop"
        if (compiler := shutil.which("cc") or shutil.which("clang")) is None:
            raise ServiceFailed("cannot compile bare_loop.c: neither cc nor clang is installed; install one of them")
        run = subprocess.run([compiler, "-O2", "-o", program, BARE_LOOP], capture_output=True, text=True)
        if run.returncode:
            raise ServiceFailed(f"cannot compile bare_loop.c: {compiler} ended with {run.returncode}:\n{run.stderr}")
        super().__init__("bare loop", [program, folder / "response"], re.compile(r"listening on port (\d+)"))

    @property
    def port(self):
        return int(self.match[1])


class Redis(Service):
    """Redis with an append-only file, which it syncs at each write (`always`) or once a second (`everysec`)."""

    SETUP = "redis: appendonly yes, appendfsync as in the row, no RDB snapshots, no rewriting of the append-only file"

    def __init__(self, folder, appendfsync):
        folder.mkdir()
        self.port = free_port()
        super().__init__(
            f"redis ({appendfsync})",
            ["redis-server", "--bind", "127.0.0.1", "--port", self.port, "--dir", folder, "--save", "",
             "--appendonly", "yes", "--appendfsync", appendfsync, "--auto-aof-rewrite-percentage", "0"],
            re.compile("Ready to accept connections"))

    def changes(self):
        """Returns the number of writes since the start."""
        return int(re.search(r"rdb_changes_since_last_save:(\d+)", self.run_command("info", "persistence"))[1])

    def run_command(self, *words):
        run = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, check=True)
        return run.stdout


class Etcd(Service):
    """etcd with one member and the v2 API. etcd always syncs a write before it answers."""

    SETUP = "etcd: one member, v2 API, default options"

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
