// An endpoint of Dogear, with Node alone.
//
// CERT_DIR has tls.crt and tls.key; KEY_DIR has the entries of the signing Secret:
// key and, while keys are changed, previous. Both may be mounted Secrets: what is
// new in them is taken without a restart.
import { createHmac, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createSecureContext } from "node:tls";

const { CERT_DIR = "tls", KEY_DIR = "signing", ADDRESS, PORT = "8443" } = process.env;
const taken = new Map(); // uid of an object: idempotencyID of the state of it that was last taken in

// Replace this by what you have to do. It returns the response, without its uid.
function handle({ cause, idempotencyID, object }) {
  const { uid } = object.metadata;
  if (cause === "Delete") {
    taken.delete(uid); // calls may come again: what is gone already is no error
    return { outcome: "Succeeded" };
  }
  if (taken.get(uid) !== idempotencyID) {
    taken.set(uid, idempotencyID); // what must begin only once begins here
    return { outcome: "Retrying", reason: "Starting", message: "not up yet", status: { phase: "Pending" } };
  }
  return { outcome: "Succeeded", status: { phase: "Ready", names: object.spec.dnsNames ?? [] } };
}

function keys() {
  const found = ["key", "previous"].map((name) => `${KEY_DIR}/${name}`).filter((path) => existsSync(path))
    .map((path) => Buffer.from(readFileSync(path, "utf8").trim().replace(/^whsec_/, ""), "base64"));
  if (found.length === 0 || found.some((key) => key.length < 24)) throw new Error(`want keys in ${KEY_DIR}, of 24 bytes at least`);
  return found;
}

// verify is Standard Webhooks; by its library: new Webhook(key).verify(body, headers).
function verify(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": signatures = "" } = headers;
  if (!id || !/^[0-9]{1,12}$/.test(seconds) || Math.abs(Date.now() / 1000 - Number(seconds)) > 300) return false;
  return keys().some((key) => {
    const want = Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${seconds}.`).update(body).digest("base64"));
    return signatures.split(" ").map((one) => Buffer.from(one)).some((one) => one.length === want.length && timingSafeEqual(one, want));
  });
}

// answer returns a status and, with 200, a HandlerReview.
function answer(headers, body) {
  if (!verify(headers, body)) return [401];
  let review, what;
  try {
    review = JSON.parse(body);
    what = `${review.request.cause} ${review.request.object.metadata.name}`;
  } catch {
    return [400];
  }
  const { apiVersion, kind, request } = review;
  const response = { uid: request.uid, ...handle(request) };
  console.log(`${what}: ${response.outcome}`);
  return [200, JSON.stringify({ apiVersion, kind, response })];
}

async function serve(request, reply) {
  const parts = [];
  let status = 500, text = "", size = 0;
  try {
    for await (const part of request) {
      if ((size += part.length) > 8 << 20) return request.destroy();
      parts.push(part);
    }
    [status, text = ""] = request.method === "POST" ? answer(request.headers, Buffer.concat(parts)) : [405];
  } catch (error) {
    console.error(error);
  }
  reply.writeHead(status, { "Content-Type": "application/json" }).end(text);
}

const certificate = () => ({ cert: readFileSync(`${CERT_DIR}/tls.crt`), key: readFileSync(`${CERT_DIR}/tls.key`) });
const SNICallback = (_, done) => {
  try {
    done(null, createSecureContext(certificate()));
  } catch (error) {
    done(error);
  }
};
createServer({ ...certificate(), SNICallback, keepAliveTimeout: 60_000 }, serve).listen(Number(PORT), ADDRESS);
process.on("SIGTERM", () => process.exit());
