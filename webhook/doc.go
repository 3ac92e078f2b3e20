// Package webhook is the admission side of Dogear: it marks objects as they are
// admitted, and gives back state that a user's write would forge or wipe.
//
// It harms nobody when it is not there. The configuration that it generates
// ([Configuration]) names what is handled and nothing more, and fails open; the
// controller finds and marks what passed unseen.
//
//   - [Server] is a plain HTTPS server in front of an [Admitter].
//   - [Configuration] and [Publisher] tell the API server what to send.
//   - Package cert keeps the certificates.
package webhook
