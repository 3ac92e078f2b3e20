package remote

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// tolerance is how old or early a signature may be.
const tolerance = 5 * time.Minute

// sign sets the headers of Standard Webhooks: a signature by each key, so that
// a receiver that knows the old key or the new one accepts it.
func sign(header http.Header, keys []Key, id string, now time.Time, body []byte) error {
	header.Set(webhooks.HeaderWebhookID, id)
	header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	signatures := make([]string, 0, len(keys))
	for _, key := range keys {
		webhook, err := webhooks.NewWebhookRaw(key.bytes)
		if err != nil {
			return err
		}
		signature, err := webhook.Sign(id, now, body)
		if err != nil {
			return err
		}
		signatures = append(signatures, signature)
	}
	if len(signatures) > 0 {
		header.Set(webhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	}
	return nil
}

// verify tells why none of the keys has signed the body, or not lately.
func verify(header http.Header, keys []Key, now time.Time, body []byte) error {
	for _, name := range []string{webhooks.HeaderWebhookID, webhooks.HeaderWebhookTimestamp, webhooks.HeaderWebhookSignature} {
		if header.Get(name) == "" {
			return fmt.Errorf("the request is not signed: header %s is missing", name)
		}
	}
	seconds, err := strconv.ParseInt(header.Get(webhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil {
		return errors.New("header webhook-timestamp is no number of seconds")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("the signature is older or newer than %s", tolerance)
	}
	for _, key := range keys {
		webhook, err := webhooks.NewWebhookRaw(key.bytes)
		if err != nil {
			return err
		}
		if webhook.VerifyIgnoringTimestamp(body, header) == nil {
			return nil
		}
	}
	return errors.New("no signature in header webhook-signature is by a key of this handler")
}
