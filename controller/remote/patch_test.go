package remote

import (
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

func TestAPatchComesWithEveryOutcome(t *testing.T) {
	t.Parallel()
	const patch = `"patch":{"labels":{"a":"1","b":null},"annotations":{"c":"2","d":null},"spec":{"x":{"y":[1,2.5],"z":null},"gone":null,"big":9007199254740993},"fields":{"data":{"k":"v"}}}`
	for outcome, kind := range map[string]handler.OutcomeKind{"Succeeded": handler.Succeeded, "Waiting": handler.Waiting, "Retrying": handler.Retrying, "Failed": handler.Failed} {
		server := serve(t, answering(`{"uid":"UID","outcome":"`+outcome+`",`+patch+`}`))
		got, p := runWith(t, handlerOf(t, to(server), loopback()), request())
		if got.Kind != kind {
			t.Errorf("%s: got %s", outcome, got.Kind)
		}
		merge, err := p.MergePatch()
		if err != nil {
			t.Fatal(err)
		}
		if big := merge["spec"].(map[string]any)["big"]; big != int64(9007199254740993) {
			t.Errorf("a great integer is %v", big)
		}
		delete(merge["spec"].(map[string]any), "big")
		merge["spec"].(map[string]any)["x"].(map[string]any)["y"].([]any)[0] = 1.0 // as the text has it
		wantJSON(t, merge, `
metadata: {labels: {a: "1", b: null}, annotations: {c: "2", d: null}}
spec: {x: {"y": [1, 2.5], z: null}, gone: null}
data: {k: v}
`)
	}
}

func TestAPatchThatIsRefusedFailsTheHandlerAndKeepsThePayload(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{"status", "metadata", "spec", "kind", "apiVersion"} {
		server := serve(t, answering(`{"uid":"UID","outcome":"Succeeded","status":{"a":"b"},"patch":{"labels":{"a":"1"},"fields":{"`+fields+`":{"a":1}}}}`))
		got, p := runWith(t, handlerOf(t, to(server), loopback()), request())
		want(t, got, handler.Failed, handler.ReasonBadPatch, "patch: ")
		wantJSON(t, got.Payload, "{a: b}")
		if !p.IsEmpty() {
			t.Errorf("%s: a part of the patch is kept", fields)
		}
	}
}

func TestARequestWithoutAPatchGetsOne(t *testing.T) {
	t.Parallel()
	r := request()
	r.Patch = nil
	server := serve(t, answering(`{"uid":"UID","outcome":"Succeeded","patch":{"labels":{"a":"1"}}}`))
	if _, p := runWith(t, handlerOf(t, to(server), loopback()), r); p.IsEmpty() {
		t.Error("the patch is lost")
	}
}
