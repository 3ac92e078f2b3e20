"""An endpoint of Dogear, with Python's standard library alone.

CERT_DIR has tls.crt and tls.key; KEY_DIR has the entries of the signing Secret: key and, while
keys are changed, previous. They may be mounted Secrets: changes are taken without a restart.
"""
import base64, hmac, json, logging, os, re, signal, ssl, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CERT_DIR, KEY_DIR = Path(os.environ.get("CERT_DIR", "tls")), Path(os.environ.get("KEY_DIR", "signing"))
taken = {}  # uid of an object: idempotencyID of the state of it that was last taken in


def handle(request):
    """Replace this by what you have to do. It returns the response, without its uid."""
    uid = request["object"]["metadata"]["uid"]
    if request["cause"] == "Delete":
        taken.pop(uid, None)  # calls may come again: what is gone already is no error
        return {"outcome": "Succeeded"}
    if taken.get(uid) != request["idempotencyID"]:
        taken[uid] = request["idempotencyID"]  # what must begin only once begins here
        return {"outcome": "Retrying", "reason": "Starting", "message": "not up yet", "status": {"phase": "Pending"}}
    return {"outcome": "Succeeded", "status": {"phase": "Ready", "names": request["object"]["spec"].get("dnsNames", [])}}


def keys():
    found = [base64.b64decode(path.read_text().strip().removeprefix("whsec_"), validate=True)
             for path in (KEY_DIR / "key", KEY_DIR / "previous") if path.exists()]
    if not found or min(map(len, found)) < 24:
        raise ValueError(f"want keys in {KEY_DIR}, of 24 bytes at least")
    return found


def sign(key, id, seconds, body):
    return b"v1," + base64.b64encode(hmac.digest(key, f"{id}.{seconds}.".encode() + body, "sha256"))


def verify(headers, body):
    """Standard Webhooks; by its library: standardwebhooks.Webhook(key).verify(body, headers)."""
    id, seconds, signatures = (headers.get("webhook-" + name, "") for name in ("id", "timestamp", "signature"))
    if not id or not re.fullmatch("[0-9]{1,12}", seconds) or abs(time.time() - int(seconds)) > 300:
        return False
    return any(hmac.compare_digest(sign(key, id, seconds, body), one.encode()) for key in keys() for one in signatures.split())


def answer(headers, body, handle):
    """Returns a status and, with 200, a HandlerReview."""
    if not verify(headers, body):
        return 401, None
    try:
        review = json.loads(body)
        request = review["request"]
        uid, what = request["uid"], f"{request['cause']} {request['object']['metadata']['name']}"
    except (ValueError, KeyError, TypeError):
        return 400, None
    response = handle(request)
    logging.info("%s: %s", what, response["outcome"])
    return 200, {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": {"uid": uid, **response}}


class Endpoint(BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 60

    def do_POST(self):
        length, status, review = self.headers.get("content-length", ""), 400, None
        try:
            if re.fullmatch("[0-9]{1,7}", length):
                status, review = answer(self.headers, self.rfile.read(int(length)), self.server.handle)
            else:
                self.close_connection = True  # the body is not read
        except Exception:
            logging.exception("the call failed")
            status = 500
        text = json.dumps(review).encode() if review else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    log_request = lambda *_: None  # answer prints what matters


def certificate():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERT_DIR / "tls.crt", CERT_DIR / "tls.key")
    return context


def serve(handle):
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer((os.environ.get("ADDRESS", ""), int(os.environ.get("PORT", 8443))), Endpoint)
    server.handle, context = handle, certificate()
    context.sni_callback = lambda connection, *_: setattr(connection, "context", certificate())
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    server.serve_forever()


if __name__ == "__main__":
    serve(handle)
