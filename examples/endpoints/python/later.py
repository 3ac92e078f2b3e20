"""An endpoint whose work takes long: it answers Waiting, and sends the outcome when it is known.

Settings as in endpoint.py, on which it builds. DOGEAR_CA has the certificates of the authority
of Dogear's callback address; default: those of the system.
"""
import json, logging, os, ssl, threading, time, urllib.error, urllib.request

import endpoint

WORK_SECONDS = float(os.environ.get("WORK_SECONDS", 5))
jobs = {}  # idempotencyID: the last call about it, and the outcome once it is known


def handle(request):
    if request["cause"] == "Delete":
        return {"outcome": "Succeeded"}
    new = request["idempotencyID"] not in jobs
    job = jobs.setdefault(request["idempotencyID"], {"outcome": None})
    job["request"] = request  # the callback of an earlier call counts no more
    if job["outcome"]:  # the callback did not get through
        return job["outcome"]
    if new:
        threading.Thread(target=work, args=(job,), daemon=True).start()
    # Without a callback Dogear asks again soon; with one, in case that gets lost.
    return {"outcome": "Waiting", "after": "1h" if "callback" in request else "10s", "status": {"phase": "Working"}}


def work(job):
    time.sleep(WORK_SECONDS)  # replace this by what you have to do
    job["outcome"] = {"outcome": "Succeeded", "status": {"phase": "Done"}}
    if "callback" in job["request"]:
        send(job["request"], job["outcome"])


def send(request, outcome):
    body = json.dumps({"apiVersion": "dogear.dev/v1alpha1", "kind": "HandlerReview",
                       "response": {"uid": request["uid"], **outcome}}).encode()
    trust = ssl.create_default_context(cafile=os.environ.get("DOGEAR_CA"))
    for pause in (1, 2, 4, 8, 16, 32, 60, 60, 60):
        seconds = int(time.time())
        call = urllib.request.Request(request["callback"]["url"], body, {
            "Content-Type": "application/json", "webhook-id": request["uid"], "webhook-timestamp": str(seconds),
            "webhook-signature": endpoint.sign(endpoint.keys()[0], request["uid"], seconds, body).decode()})
        try:
            with urllib.request.urlopen(call, context=trust, timeout=30):
                return logging.info("%s: taken", request["object"]["metadata"]["name"])
        except urllib.error.HTTPError as refused:
            if refused.code not in (409, 500, 503):  # what it means is in docs/protocol.md
                return logging.error("%s: %s %s", request["object"]["metadata"]["name"], refused.code, refused.read())
            pause = float(refused.headers.get("Retry-After", pause))
        except OSError:  # no answer
            pass
        time.sleep(pause)


if __name__ == "__main__":
    endpoint.serve(handle)
