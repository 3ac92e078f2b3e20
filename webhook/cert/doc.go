// Package cert keeps the serving certificate of the webhook: an own authority
// and a short-lived leaf in one Secret, renewed and rotated without a restart
// and without a moment in which the API server distrusts what is served.
//
// The rules are one pure function, [Next]; [Manager] applies it to the Secret,
// and [Source] serves what the Secret, or a pair of files, holds right now.
//
// A rotation of the authority takes two steps, at least [Policy].Overlap apart:
// first the new certificate is published beside the old one, which goes on
// signing; then the leaf moves to the new authority. What publishes the webhook
// configuration takes the bundle of each [Manager.Ensure], so that every API
// server has read both authorities before the first leaf of the new one.
//
// Why not open-policy-agent/cert-controller: it serves from a directory that
// the kubelet mounts from the Secret, so it needs one and waits up to a minute
// for it; it is at its safest when it exits the process after a renewal; and it
// publishes one authority only, so that a rotation is a gap in trust. With
// failurePolicy Ignore such a gap lets objects pass unmarked, silently.
package cert
