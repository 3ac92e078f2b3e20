"""Runs a command of the shell for each call of Dogear: serve.py PORT COMMAND

The command has the HandlerReview as its input, and CAUSE, NAMESPACE, NAME, UID, ATTEMPT and
IDEMPOTENCY_ID in its environment. It succeeds with exit status 0, has failed for good with 65
(EX_DATAERR), and is run again later after any other. What it prints goes to the log.
"""
import json, os, signal, subprocess, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


ThreadingHTTPServer.request_queue_size = 128


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            request = json.loads(body)["request"]
            meta = request["object"]["metadata"]
            told = {"CAUSE": request["cause"], "NAMESPACE": meta.get("namespace", ""), "NAME": meta["name"], "UID": meta["uid"],
                    "ATTEMPT": str(request["attempt"]), "IDEMPOTENCY_ID": request["idempotencyID"]}
        except (ValueError, KeyError, TypeError):
            return self.answer(400)
        try:
            ended = subprocess.run(["sh", "-c", sys.argv[2]], input=body, stdout=sys.stderr, env={**os.environ, **told}, timeout=25)
        except subprocess.TimeoutExpired:  # Dogear would give up after 30 s, and call again
            return self.answer(500)
        self.answer({0: 204, 65: 422}.get(ended.returncode, 500))  # a status without a body is an answer

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


signal.signal(signal.SIGTERM, lambda *_: sys.exit())
ThreadingHTTPServer((os.environ.get("ADDRESS", ""), int(sys.argv[1])), Endpoint).serve_forever()
